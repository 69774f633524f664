//! VOP3 and VOP3P.

use super::source::{WordReader, vector};
use super::vector::mask;
use super::{Fault, Result, lanes};
use crate::rows::{Format, OperandType, Row, flag, rows};
use crate::{Encoding, Fields, Instruction, LaneControl, Operand, Valu};

/// Modifier fields of a 64-bit encoding.
struct ModifierBits {
    neg: u8,
    abs: u8,
    op_sel: u8,
    clamp: u8,
    omod: u8,
}

pub(super) fn decode(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let bits = ModifierBits {
        neg: (second >> 29) as u8,
        abs: (first >> 8 & 7) as u8,
        op_sel: (first >> 11 & 0xf) as u8,
        clamp: (first >> 15 & 1) as u8,
        omod: (second >> 27 & 3) as u8,
    };
    let (number, row) =
        rows(reader.chip, Format::Vop3, first >> 16 & 0x3ff).find(|(_, row)| fits(row, &bits)).ok_or(Fault::Invalid)?;
    let shown = |index: usize, bit: u8| -> u8 { if row.mods.as_bytes()[index] == b'.' { 0 } else { bit } };
    let mut valu = Valu {
        encoding: Encoding::Vop3,
        dst: Operand::None,
        sdst: Operand::None,
        src: [Operand::None; 3],
        neg: (0..3).fold(0, |all, index| all | shown(index, bits.neg & 1 << index)),
        abs: (0..3).fold(0, |all, index| all | shown(index, bits.abs & 1 << index)),
        op_sel: (0..4).fold(0, |all, index| all | shown(3 + index, bits.op_sel & 1 << index)),
        op_sel_hi: 0,
        omod: shown(8, bits.omod),
        clamp: bits.clamp != 0,
        lanes: LaneControl::None,
    };
    if row.dst[1].operand_type == OperandType::Mask {
        valu.sdst = mask(reader, first >> 8 & 0x7f)?;
        valu.abs = 0;
        valu.op_sel = 0;
    }
    valu.dst = match row.dst[0].operand_type {
        OperandType::None if first & 0xff == 0 => Operand::None,
        // The field should encode `exec`, but LLVM only warns if it does not.
        OperandType::Exec => Operand::EXEC,
        OperandType::None => return Err(Fault::Invalid),
        operand_type @ (OperandType::Mask | OperandType::OnlyD32) => reader.source(first & 0xff, operand_type, None)?,
        operand_type => vector(first as u8, operand_type, Some(valu.op_sel & 8 != 0)),
    };
    sources(reader, row, second, &mut valu)?;
    Ok(reader.finish(number, row, Fields::Vector(valu)))
}

/// Whether the row allows these modifiers.
fn fits(row: &Row, bits: &ModifierBits) -> bool {
    let second_destination = row.dst[1].operand_type == OperandType::Mask;
    row.mods.bytes().enumerate().all(|(index, what)| {
        let bit = match index {
            0..=2 if second_destination => bits.neg >> index & 1,
            0..=2 => (bits.neg | bits.abs) >> index & 1,
            3..=6 => bits.op_sel >> (index - 3) & 1,
            7 => bits.clamp,
            _ => bits.omod,
        };
        bit == 0 || !matches!(what, b'x' | b'f')
    })
}

/// Decodes the sources, the first one through a DPP word if there is one.
fn sources(reader: &mut WordReader<'_>, row: &Row, second: u32, valu: &mut Valu) -> Result<()> {
    let field = second & 0x1ff;
    let word = match field {
        lanes::DPP16 if row.flags & flag::DPP16 != 0 => {
            let word = reader.word()?;
            valu.lanes = lanes::dpp16(word);
            Some(word)
        }
        lanes::DPP8 | lanes::DPP8_INACTIVE if row.flags & flag::DPP8 != 0 => {
            let word = reader.word()?;
            valu.lanes = lanes::dpp8(word, field);
            Some(word)
        }
        _ => None,
    };
    for (index, spec) in row.src.into_iter().enumerate() {
        let high = Some(valu.op_sel >> index & 1 != 0);
        valu.src[index] = match (spec.operand_type, index, word) {
            (OperandType::None, ..) => continue,
            (operand_type, 0, Some(word)) => lanes::source(word, operand_type, high),
            (operand_type, ..) => reader.source(second >> (9 * index) & 0x1ff, operand_type, high)?,
        };
    }
    Ok(())
}

pub(super) fn packed(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let neg = (second >> 29) as u8;
    let neg_hi = (first >> 8 & 7) as u8;
    let op_sel = (first >> 11 & 7) as u8;
    let op_sel_hi = (second >> 27 & 3 | first >> 12 & 4) as u8;
    let clamp = (first >> 15 & 1) as u8;
    let fits = |row: &Row| {
        row.mods.bytes().enumerate().all(|(index, what)| {
            let bit = match index {
                0..=2 => (neg | neg_hi) >> index & 1,
                3..=5 => op_sel >> (index - 3) & 1,
                6..=8 => op_sel_hi >> (index - 6) & 1,
                _ => clamp,
            };
            bit == 0 || what != b'x'
        })
    };
    let (number, row) =
        rows(reader.chip, Format::Vop3p, first >> 16 & 0x7f).find(|(_, row)| fits(row)).ok_or(Fault::Invalid)?;
    let mut valu = Valu {
        encoding: Encoding::Vop3p,
        dst: vector(first as u8, row.dst[0].operand_type, None),
        sdst: Operand::None,
        src: [Operand::None; 3],
        neg,
        abs: neg_hi,
        op_sel,
        op_sel_hi,
        omod: 0,
        clamp: clamp != 0,
        lanes: LaneControl::None,
    };
    sources(reader, row, second, &mut valu)?;
    Ok(reader.finish(number, row, Fields::Vector(valu)))
}
