//! SOP1, SOP2, SOPC, SOPK, SOPP and SMEM.

use super::source::{Reader, scalar};
use super::{Fault, Result};
use crate::rows::{Code, Format, Imm, Row, rows};
use crate::{Family, Fields, Instruction, Operand};

fn row(reader: &Reader<'_>, format: Format, opcode: u32) -> Result<(u16, &'static Row)> {
    rows(reader.chip, format, opcode).next().ok_or(Fault::Invalid)
}

/// The register that a destination's field names.
fn destination(reader: &Reader<'_>, field: u32, code: Code) -> Result<Operand> {
    match code {
        Code::None => Ok(Operand::None),
        _ => scalar(reader.chip.family(), field, code.bits(reader.wave)),
    }
}

/// The sources, those with a field taking the next of `fields`.
fn sources(reader: &mut Reader<'_>, found: &Row, fields: [u32; 2]) -> Result<[Operand; 3]> {
    let mut sources = [Operand::None; 3];
    let mut fields = fields.into_iter();
    for (source, spec) in sources.iter_mut().zip(found.src) {
        *source = match spec.code {
            Code::None => continue,
            Code::K32 => Operand::Literal(reader.literal()?),
            code => {
                let field = fields.next().ok_or(Fault::Invalid)?;
                if code == Code::Msg { Operand::Integer(0) } else { reader.source(field, code, None)? }
            }
        };
    }
    Ok(sources)
}

fn register_form(reader: &mut Reader<'_>, format: Format, opcode: u32, first: u32) -> Result<Instruction> {
    let (number, found) = row(reader, format, opcode)?;
    let dst = destination(reader, first >> 16 & 0x7f, found.dst[0].code)?;
    let src = sources(reader, found, [first & 0xff, first >> 8 & 0xff])?;
    // The message of `s_sendmsg_rtn` is the number in the field of the source itself.
    let simm = if found.src[0].code == Code::Msg { (first & 0xff) as u16 } else { 0 };
    let src = if found.src[0].code == Code::Msg { [Operand::None; 3] } else { src };
    Ok(reader.finish(number, found, Fields::Scalar { dst, src, simm }))
}

pub(super) fn sop1(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    register_form(reader, Format::Sop1, first >> 8 & 0xff, first)
}

pub(super) fn sop2(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    register_form(reader, Format::Sop2, first >> 23 & 0x7f, first)
}

pub(super) fn sopc(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    register_form(reader, Format::Sopc, first >> 16 & 0x7f, first)
}

pub(super) fn sopk(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    let (number, found) = row(reader, Format::Sopk, first >> 23 & 0x1f)?;
    let register = first >> 16 & 0x7f;
    let dst = destination(reader, register, found.dst[0].code)?;
    let src = match found.src[0].code {
        Code::K32 => Operand::Literal(reader.literal()?),
        code => destination(reader, register, code)?,
    };
    let src = [src, Operand::None, Operand::None];
    Ok(reader.finish(number, found, Fields::Scalar { dst, src, simm: first as u16 }))
}

pub(super) fn sopp(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    let (number, found) = row(reader, Format::Sopp, first >> 16 & 0x7f)?;
    if found.imm == Imm::None && first as u16 != 0 {
        return Err(Fault::Invalid);
    }
    let fields = Fields::Scalar { dst: Operand::None, src: [Operand::None; 3], simm: first as u16 };
    Ok(reader.finish(number, found, fields))
}

pub(super) fn smem(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let (number, found) = row(reader, Format::Smem, first >> 18 & 0xff)?;
    let family = reader.chip.family();
    let (glc, dlc) = match family {
        Family::Gfx10 => (first >> 16 & 1 != 0, first >> 14 & 1 != 0),
        Family::Gfx11 => (first >> 14 & 1 != 0, first >> 13 & 1 != 0),
    };
    let data = match found.dst[0].code {
        Code::Imm => Operand::Integer((first >> 6 & 0x7f) as i8),
        code => destination(reader, first >> 6 & 0x7f, code)?,
    };
    let base = destination(reader, (first & 0x3f) << 1, found.src[0].code)?;
    let mut offset = 0;
    let mut soffset = Operand::None;
    if found.src[1].code == Code::Off {
        offset = (second << 11) as i32 >> 11;
        soffset = scalar(family, second >> 25, 32)?;
        // No register is written as the one that reads as zero; LLVM shows that one only where nothing else is to be shown.
        if soffset == Operand::NULL && offset != 0 {
            soffset = Operand::None;
        }
    }
    // What moves no data has no use for the cache policy: gfx10 ignores it, gfx11 wants zero.
    let moves = found.src[1].code == Code::Off && !matches!(found.dst[0].code, Code::None | Code::Imm);
    if !moves && family == Family::Gfx11 && (glc || dlc) {
        return Err(Fault::Invalid);
    }
    let (glc, dlc) = (glc && moves, dlc && moves);
    Ok(reader.finish(number, found, Fields::ScalarMemory { data, base, offset, soffset, glc, dlc }))
}
