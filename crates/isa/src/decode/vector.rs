//! VOP1, VOP2 and VOPC in their 32-bit encodings, with DPP and SDWA.

use super::source::{Reader, scalar, vector};
use super::{Fault, Result, lanes};
use crate::rows::{Code, Format, Row, flag, rows};
use crate::{Encoding, Family, Fields, Instruction, LaneControl, Op, Operand, Valu};

pub(super) fn decode(reader: &mut Reader<'_>, format: Format, opcode: u32, first: u32) -> Result<Instruction> {
    let (number, found) = rows(reader.chip, format, opcode).next().ok_or(Fault::Invalid)?;
    let field = first & 0x1ff;
    let mut valu = Valu {
        encoding: Encoding::Short,
        dst: destination(reader, found, first)?,
        sdst: if found.dst[1].code == Code::Vcc { Operand::VCC } else { Operand::None },
        src: [Operand::None; 3],
        neg: 0,
        abs: 0,
        op_sel: 0,
        op_sel_hi: 0,
        omod: 0,
        clamp: false,
        lanes: LaneControl::None,
    };
    if found.src[0].code == Code::None {
        // `v_illegal` is the word of all zeroes; `v_nop` and its kin ignore the source.
        if found.opcode == 0 && format == Format::Vop2 && first != 0 {
            return Err(Fault::Invalid);
        }
        if found.op == Op::VNop && reader.chip.family() == Family::Gfx10 {
            valu.lanes = idle_lanes(reader, field)?;
        }
        return Ok(reader.finish(number, found, Fields::Vector(valu)));
    }
    let word = match field {
        lanes::DPP16 if found.flags & flag::DPP16 != 0 => Some(reader.word()?),
        lanes::DPP8 | lanes::DPP8_INACTIVE if found.flags & flag::DPP8 != 0 => Some(reader.word()?),
        lanes::SDWA if found.flags & flag::SDWA != 0 => Some(reader.word()?),
        _ => None,
    };
    valu.src = sources(reader, found, first, word)?;
    match (word, field) {
        (Some(word), lanes::DPP16) => {
            (valu.neg, valu.abs) = lanes::dpp16_modifiers(word, found.dpp16)?;
            valu.lanes = lanes::dpp16(word);
        }
        (Some(word), lanes::SDWA) => lanes::sdwa(&mut valu, found, word, format == Format::Vopc, reader.wave)?,
        (Some(word), _) => valu.lanes = lanes::dpp8(word, field),
        (None, _) => {}
    }
    Ok(reader.finish(number, found, Fields::Vector(valu)))
}

/// The lane control of a `v_nop`, which has one on gfx10: a word follows only if it reads as one without effect.
fn idle_lanes(reader: &mut Reader<'_>, field: u32) -> Result<LaneControl> {
    let Some(word) = reader.peek() else { return Ok(LaneControl::None) };
    let control = match field {
        lanes::DPP16 if word & 0x00f0_0000 == 0 => lanes::dpp16(word),
        lanes::DPP8 | lanes::DPP8_INACTIVE => lanes::dpp8(word, field),
        lanes::SDWA if word & 0xbf3f_e000 == 0 => LaneControl::None,
        _ => return Ok(LaneControl::None),
    };
    reader.word()?;
    Ok(control)
}

fn destination(reader: &mut Reader<'_>, found: &Row, first: u32) -> Result<Operand> {
    let field = first >> 17 & 0xff;
    match found.dst[0].code {
        Code::None if field == 0 => Ok(Operand::None),
        Code::None => Err(Fault::Invalid),
        Code::Vcc => Ok(Operand::VCC),
        Code::Exec => Ok(Operand::EXEC),
        code @ Code::OnlyD32 => reader.source(field, code, None),
        code => Ok(vector(field as u8, code, None)),
    }
}

fn sources(reader: &mut Reader<'_>, found: &Row, first: u32, word: Option<u32>) -> Result<[Operand; 3]> {
    let mut sources = [Operand::None; 3];
    for (place, spec) in found.src.into_iter().enumerate() {
        sources[place] = match spec.code {
            Code::None => continue,
            Code::Vcc => Operand::VCC,
            Code::K16 | Code::K32 => Operand::Literal(reader.literal()?),
            code if place == 0 => match word {
                Some(word) => lanes::source(word, code, None),
                None => reader.source(first & 0x1ff, code, None)?,
            },
            code => vector((first >> 9) as u8, code, None),
        };
    }
    Ok(sources)
}

/// The mask register in a field of seven bits.
pub(super) fn mask(reader: &Reader<'_>, field: u32) -> Result<Operand> {
    scalar(reader.chip.family(), field, Code::Mask.bits(reader.wave))
}
