//! SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.

use super::source::{WordReader, scalar};
use super::{Fault, Result};
use crate::rows::{Format, Imm, OperandType, Row, rows};
use crate::{Family, Fields, Instruction, Operand};

fn row(reader: &WordReader<'_>, format: Format, opcode: u32) -> Result<(u16, &'static Row)> {
    rows(reader.chip, format, opcode).next().ok_or(Fault::Invalid)
}

/// The SGPR in a destination field.
fn destination(reader: &WordReader<'_>, field: u32, operand_type: OperandType) -> Result<Operand> {
    match operand_type {
        OperandType::None => Ok(Operand::None),
        _ => scalar(reader.chip.family(), field, operand_type.bits(reader.wave)),
    }
}

/// The sources. Those with a field of their own take the next of `fields`.
fn sources(reader: &mut WordReader<'_>, row: &Row, fields: [u32; 2]) -> Result<[Operand; 3]> {
    let mut sources = [Operand::None; 3];
    let mut fields = fields.into_iter();
    for (source, spec) in sources.iter_mut().zip(row.src) {
        *source = match spec.operand_type {
            OperandType::None => continue,
            OperandType::K32 => Operand::Literal(reader.literal()?),
            operand_type => {
                let field = fields.next().ok_or(Fault::Invalid)?;
                if operand_type == OperandType::Msg {
                    Operand::Integer(0)
                } else {
                    reader.source(field, operand_type, None)?
                }
            }
        };
    }
    Ok(sources)
}

fn register_form(reader: &mut WordReader<'_>, format: Format, opcode: u32, first: u32) -> Result<Instruction> {
    let (number, row) = row(reader, format, opcode)?;
    let dst = destination(reader, first >> 16 & 0x7f, row.dst[0].operand_type)?;
    let src = sources(reader, row, [first & 0xff, first >> 8 & 0xff])?;
    // The source field of `s_sendmsg_rtn` itself has the message number.
    let simm = if row.src[0].operand_type == OperandType::Msg { (first & 0xff) as u16 } else { 0 };
    let src = if row.src[0].operand_type == OperandType::Msg { [Operand::None; 3] } else { src };
    Ok(reader.finish(number, row, Fields::Scalar { dst, src, simm }))
}

pub(super) fn sop1(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    register_form(reader, Format::Sop1, first >> 8 & 0xff, first)
}

pub(super) fn sop2(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    register_form(reader, Format::Sop2, first >> 23 & 0x7f, first)
}

pub(super) fn sopc(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    register_form(reader, Format::Sopc, first >> 16 & 0x7f, first)
}

pub(super) fn sopk(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let (number, row) = row(reader, Format::Sopk, first >> 23 & 0x1f)?;
    let register = first >> 16 & 0x7f;
    let dst = destination(reader, register, row.dst[0].operand_type)?;
    let src = match row.src[0].operand_type {
        OperandType::K32 => Operand::Literal(reader.literal()?),
        operand_type => destination(reader, register, operand_type)?,
    };
    let src = [src, Operand::None, Operand::None];
    Ok(reader.finish(number, row, Fields::Scalar { dst, src, simm: first as u16 }))
}

pub(super) fn sopp(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let (number, row) = row(reader, Format::Sopp, first >> 16 & 0x7f)?;
    if row.imm == Imm::None && first as u16 != 0 {
        return Err(Fault::Invalid);
    }
    let fields = Fields::Scalar { dst: Operand::None, src: [Operand::None; 3], simm: first as u16 };
    Ok(reader.finish(number, row, fields))
}

pub(super) fn smem(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let (number, row) = row(reader, Format::Smem, first >> 18 & 0xff)?;
    let family = reader.chip.family();
    let (glc, dlc) = match family {
        Family::Gfx10 => (first >> 16 & 1 != 0, first >> 14 & 1 != 0),
        Family::Gfx11 => (first >> 14 & 1 != 0, first >> 13 & 1 != 0),
    };
    let data = match row.dst[0].operand_type {
        OperandType::Imm => Operand::Integer((first >> 6 & 0x7f) as i8),
        operand_type => destination(reader, first >> 6 & 0x7f, operand_type)?,
    };
    let base = destination(reader, (first & 0x3f) << 1, row.src[0].operand_type)?;
    let mut offset = 0;
    let mut soffset = Operand::None;
    if row.src[1].operand_type == OperandType::Off {
        offset = (second << 11) as i32 >> 11;
        soffset = scalar(family, second >> 25, 32)?;
        // A missing register is encoded as the null register; LLVM prints it only if there is no
        // offset to print either.
        if soffset == Operand::NULL && offset != 0 {
            soffset = Operand::None;
        }
    }
    // Instructions that move no data ignore the cache policy on gfx10 and require zero on gfx11.
    let moves = row.src[1].operand_type == OperandType::Off
        && !matches!(row.dst[0].operand_type, OperandType::None | OperandType::Imm);
    if !moves && family == Family::Gfx11 && (glc || dlc) {
        return Err(Fault::Invalid);
    }
    let (glc, dlc) = (glc && moves, dlc && moves);
    Ok(reader.finish(number, row, Fields::ScalarMemory { data, base, offset, soffset, glc, dlc }))
}
