//! VOP1, VOP2 and VOPC in their 32-bit encodings, with DPP and SDWA.

use super::source::{WordReader, scalar, vector};
use super::{Fault, Result, lanes};
use crate::rows::{Format, OperandType, Row, flag, rows};
use crate::{Encoding, Family, Fields, Instruction, LaneControl, Op, Operand, Valu};

pub(super) fn decode(reader: &mut WordReader<'_>, format: Format, opcode: u32, first: u32) -> Result<Instruction> {
    let (number, row) = rows(reader.chip, format, opcode).next().ok_or(Fault::Invalid)?;
    let field = first & 0x1ff;
    let mut valu = Valu {
        encoding: Encoding::Short,
        dst: destination(reader, row, first)?,
        sdst: if row.dst[1].operand_type == OperandType::Vcc { Operand::VCC } else { Operand::None },
        src: [Operand::None; 3],
        neg: 0,
        abs: 0,
        op_sel: 0,
        op_sel_hi: 0,
        omod: 0,
        clamp: false,
        lanes: LaneControl::None,
    };
    if row.src[0].operand_type == OperandType::None {
        // `v_illegal` is the all-zeros word. `v_nop` and similar instructions ignore their source.
        if row.opcode == 0 && format == Format::Vop2 && first != 0 {
            return Err(Fault::Invalid);
        }
        if row.op == Op::VNop && reader.chip.family() == Family::Gfx10 {
            valu.lanes = idle_lanes(reader, field)?;
        }
        return Ok(reader.finish(number, row, Fields::Vector(valu)));
    }
    let word = match field {
        lanes::DPP16 if row.flags & flag::DPP16 != 0 => Some(reader.word()?),
        lanes::DPP8 | lanes::DPP8_INACTIVE if row.flags & flag::DPP8 != 0 => Some(reader.word()?),
        lanes::SDWA if row.flags & flag::SDWA != 0 => Some(reader.word()?),
        _ => None,
    };
    valu.src = sources(reader, row, first, word)?;
    match (word, field) {
        (Some(word), lanes::DPP16) => {
            (valu.neg, valu.abs) = lanes::dpp16_modifiers(word, row.dpp16)?;
            valu.lanes = lanes::dpp16(word);
        }
        (Some(word), lanes::SDWA) => lanes::sdwa(&mut valu, row, word, format == Format::Vopc, reader.wave)?,
        (Some(word), _) => valu.lanes = lanes::dpp8(word, field),
        (None, _) => {}
    }
    Ok(reader.finish(number, row, Fields::Vector(valu)))
}

/// Lane control of a gfx10 `v_nop`: a word follows only if it decodes to a control without effect.
fn idle_lanes(reader: &mut WordReader<'_>, field: u32) -> Result<LaneControl> {
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

fn destination(reader: &mut WordReader<'_>, row: &Row, first: u32) -> Result<Operand> {
    let field = first >> 17 & 0xff;
    match row.dst[0].operand_type {
        OperandType::None if field == 0 => Ok(Operand::None),
        OperandType::None => Err(Fault::Invalid),
        OperandType::Vcc => Ok(Operand::VCC),
        OperandType::Exec => Ok(Operand::EXEC),
        operand_type @ OperandType::OnlyD32 => reader.source(field, operand_type, None),
        operand_type => Ok(vector(field as u8, operand_type, None)),
    }
}

fn sources(reader: &mut WordReader<'_>, row: &Row, first: u32, word: Option<u32>) -> Result<[Operand; 3]> {
    let mut sources = [Operand::None; 3];
    for (index, spec) in row.src.into_iter().enumerate() {
        sources[index] = match spec.operand_type {
            OperandType::None => continue,
            OperandType::Vcc => Operand::VCC,
            OperandType::K16 | OperandType::K32 => Operand::Literal(reader.literal()?),
            operand_type if index == 0 => match word {
                Some(word) => lanes::source(word, operand_type, None),
                None => reader.source(first & 0x1ff, operand_type, None)?,
            },
            operand_type => vector((first >> 9) as u8, operand_type, None),
        };
    }
    Ok(sources)
}

/// The mask register in a 7-bit field.
pub(super) fn mask(reader: &WordReader<'_>, field: u32) -> Result<Operand> {
    scalar(reader.chip.family(), field, OperandType::Mask.bits(reader.wave))
}
