//! DS, FLAT (with GLOBAL and SCRATCH) and MUBUF.

use super::source::{WordReader, scalar};
use super::{Fault, Result};
use crate::rows::{Format, OperandType, flag, rows};
use crate::{Chip, Family, Fields, Instruction, Op, Operand, Segment};

pub(super) fn ds(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let (number, row) = rows(reader.chip, Format::Ds, first >> 18 & 0xff).next().ok_or(Fault::Invalid)?;
    let [addr, data0, data1, dst] = second.to_le_bytes();
    // Unused fields must be zero.
    let register = |operand_type, field| match operand_type {
        OperandType::None if field == 0 => Ok(Operand::None),
        OperandType::None => Err(Fault::Invalid),
        _ => Ok(Operand::Vgpr(field)),
    };
    let fields = Fields::Lds {
        dst: register(row.dst[0].operand_type, dst)?,
        addr: register(row.src[0].operand_type, addr)?,
        data: [register(row.src[1].operand_type, data0)?, register(row.src[2].operand_type, data1)?],
        offset: first as u16,
        gds: first >> 17 & 1 != 0,
    };
    let wrong = if first >> 17 & 1 != 0 { flag::NOGDS } else { flag::GDS };
    if row.flags & wrong != 0 || row.op == Op::DsNop && first as u16 != 0 {
        return Err(Fault::Invalid);
    }
    Ok(reader.finish(number, row, fields))
}

pub(super) fn flat(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let family = reader.chip.family();
    let bit = |index: u32| first >> index & 1 != 0;
    let (segment, glc, slc, dlc, lds) = match family {
        Family::Gfx10 => (first >> 14 & 3, bit(16), bit(17), bit(12), bit(13)),
        Family::Gfx11 => (first >> 16 & 3, bit(14), bit(15), bit(13), false),
    };
    let (segment, format) = match segment {
        0 => (Segment::Flat, Format::Flat),
        1 => (Segment::Scratch, Format::Scratch),
        2 => (Segment::Global, Format::Global),
        _ => return Err(Fault::Invalid),
    };
    let (number, row) = rows(reader.chip, format, first >> 18 & 0x7f).next().ok_or(Fault::Invalid)?;
    let [addr, data, _, dst] = second.to_le_bytes();
    if lds && row.flags & flag::LDS == 0 {
        return Err(Fault::Invalid);
    }
    let saddr_field = second >> 16 & 0x7f;
    let vector_too = second >> 23 & 1 != 0;
    let (addr, saddr) = address(reader.chip, segment, addr, saddr_field, vector_too, row.flags)?;
    let atomic = row.flags & flag::ATOMIC != 0;
    let offset_bits = if family == Family::Gfx10 { 12 } else { 13 };
    let offset = match segment {
        Segment::Flat => (first & ((1 << offset_bits) - 1)) as i32,
        _ => (first << (32 - offset_bits)) as i32 >> (32 - offset_bits),
    };
    let writes = row.dst[0].operand_type != OperandType::None && (!atomic || glc) && !lds;
    let fields = Fields::Flat {
        segment,
        dst: if writes { Operand::Vgpr(dst) } else { Operand::None },
        addr,
        data: if row.src[0].operand_type == OperandType::None { Operand::None } else { Operand::Vgpr(data) },
        saddr,
        offset,
        glc,
        slc,
        dlc,
        lds,
    };
    Ok(reader.finish(number, row, fields))
}

/// The vector and scalar parts of the address.
fn address(
    chip: Chip,
    segment: Segment,
    addr: u8,
    saddr: u32,
    vector_too: bool,
    flags: u16,
) -> Result<(Operand, Operand)> {
    let family = chip.family();
    let vector = Operand::Vgpr(addr);
    let bits = if segment == Segment::Global { 64 } else { 32 };
    let scalar = match scalar(family, saddr, bits)? {
        Operand::NULL => Operand::None,
        scalar => scalar,
    };
    if vector_too && (segment != Segment::Scratch || family == Family::Gfx10) {
        return Err(Fault::Invalid);
    }
    match segment {
        Segment::Flat if scalar == Operand::None => Ok((vector, scalar)),
        Segment::Flat => Err(Fault::Invalid),
        Segment::Global if flags & flag::ADDTID != 0 => Ok((Operand::None, scalar)),
        Segment::Global => Ok((vector, scalar)),
        Segment::Scratch if family == Family::Gfx11 => Ok((if vector_too { vector } else { Operand::None }, scalar)),
        // RDNA 2 encodes "no address" as the upper half of `exec`.
        Segment::Scratch if chip == Chip::Gfx1030 && saddr == 127 => Ok((Operand::None, Operand::None)),
        Segment::Scratch if scalar == Operand::None => Ok((vector, scalar)),
        Segment::Scratch => Ok((Operand::None, scalar)),
    }
}

pub(super) fn mubuf(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let family = reader.chip.family();
    let low = |index: u32| first >> index & 1 != 0;
    let high = |index: u32| second >> index & 1 != 0;
    let opcode = match family {
        Family::Gfx10 => first >> 18 & 0x7f | first >> 25 << 7 & 0x80,
        Family::Gfx11 => first >> 18 & 0xff,
    };
    let (number, row) = rows(reader.chip, Format::Mubuf, opcode).next().ok_or(Fault::Invalid)?;
    let (offen, idxen, glc, slc, dlc, tfe, lds) = match family {
        Family::Gfx10 => (low(12), low(13), low(14), high(22), low(15), high(23), low(16)),
        Family::Gfx11 => (high(22), high(23), low(14), low(12), low(13), high(21), false),
    };
    let fields = if row.dst[0].operand_type == OperandType::None {
        if offen | idxen | glc | dlc | tfe | lds {
            return Err(Fault::Invalid);
        }
        Fields::Buffer {
            data: Operand::None,
            vaddr: Operand::None,
            resource: Operand::None,
            soffset: Operand::None,
            offset: 0,
            offen: false,
            idxen: false,
            glc: false,
            slc: false,
            dlc: false,
            tfe: false,
            lds: false,
        }
    } else {
        let atomic = row.flags & flag::ATOMIC != 0;
        let no_policy = dlc && atomic && family == Family::Gfx10;
        if lds && row.flags & flag::LDS == 0 || tfe && (atomic || lds) || no_policy {
            return Err(Fault::Invalid);
        }
        Fields::Buffer {
            data: if lds { Operand::None } else { Operand::Vgpr((second >> 8) as u8) },
            vaddr: if offen | idxen { Operand::Vgpr(second as u8) } else { Operand::None },
            resource: scalar(family, (second >> 16 & 0x1f) << 2, 128)?,
            soffset: reader.source(second >> 24, OperandType::B32, None)?,
            offset: (first & 0xfff) as u16,
            offen,
            idxen,
            glc,
            slc,
            dlc,
            tfe,
            lds,
        }
    };
    Ok(reader.finish(number, row, fields))
}
