//! VOP3 and VOP3P.

use super::source::{Reader, vector};
use super::vector::mask;
use super::{Fault, Result, lanes};
use crate::rows::{Code, Format, Row, flag, rows};
use crate::{Encoding, Fields, Instruction, LaneControl, Operand, Valu};

/// The modifier bits of a 64-bit encoding, each as wide as its field.
struct Bits {
    neg: u8,
    abs: u8,
    op_sel: u8,
    clamp: u8,
    omod: u8,
}

pub(super) fn decode(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let bits = Bits {
        neg: (second >> 29) as u8,
        abs: (first >> 8 & 7) as u8,
        op_sel: (first >> 11 & 0xf) as u8,
        clamp: (first >> 15 & 1) as u8,
        omod: (second >> 27 & 3) as u8,
    };
    let (number, found) =
        rows(reader.chip, Format::Vop3, first >> 16 & 0x3ff).find(|(_, row)| fits(row, &bits)).ok_or(Fault::Invalid)?;
    let shown = |place: usize, bit: u8| -> u8 { if found.mods.as_bytes()[place] == b'.' { 0 } else { bit } };
    let mut valu = Valu {
        encoding: Encoding::Vop3,
        dst: Operand::None,
        sdst: Operand::None,
        src: [Operand::None; 3],
        neg: (0..3).fold(0, |all, place| all | shown(place, bits.neg & 1 << place)),
        abs: (0..3).fold(0, |all, place| all | shown(place, bits.abs & 1 << place)),
        op_sel: (0..4).fold(0, |all, place| all | shown(3 + place, bits.op_sel & 1 << place)),
        op_sel_hi: 0,
        omod: shown(8, bits.omod),
        clamp: bits.clamp != 0,
        lanes: LaneControl::None,
    };
    if found.dst[1].code == Code::Mask {
        valu.sdst = mask(reader, first >> 8 & 0x7f)?;
        valu.abs = 0;
        valu.op_sel = 0;
    }
    valu.dst = match found.dst[0].code {
        Code::None if first & 0xff == 0 => Operand::None,
        // The field should name it, but LLVM only warns when it does not.
        Code::Exec => Operand::EXEC,
        Code::None => return Err(Fault::Invalid),
        code @ (Code::Mask | Code::OnlyD32) => reader.source(first & 0xff, code, None)?,
        code => vector(first as u8, code, Some(valu.op_sel & 8 != 0)),
    };
    sources(reader, found, second, &mut valu)?;
    Ok(reader.finish(number, found, Fields::Vector(valu)))
}

/// Whether the row allows these modifiers.
fn fits(row: &Row, bits: &Bits) -> bool {
    let second_destination = row.dst[1].code == Code::Mask;
    row.mods.bytes().enumerate().all(|(place, what)| {
        let bit = match place {
            0..=2 if second_destination => bits.neg >> place & 1,
            0..=2 => (bits.neg | bits.abs) >> place & 1,
            3..=6 => bits.op_sel >> (place - 3) & 1,
            7 => bits.clamp,
            _ => bits.omod,
        };
        bit == 0 || !matches!(what, b'x' | b'f')
    })
}

/// Reads the sources, the first one through a DPP word if there is one.
fn sources(reader: &mut Reader<'_>, found: &Row, second: u32, valu: &mut Valu) -> Result<()> {
    let field = second & 0x1ff;
    let word = match field {
        lanes::DPP16 if found.flags & flag::DPP16 != 0 => {
            let word = reader.word()?;
            valu.lanes = lanes::dpp16(word);
            Some(word)
        }
        lanes::DPP8 | lanes::DPP8_INACTIVE if found.flags & flag::DPP8 != 0 => {
            let word = reader.word()?;
            valu.lanes = lanes::dpp8(word, field);
            Some(word)
        }
        _ => None,
    };
    for (place, spec) in found.src.into_iter().enumerate() {
        let high = Some(valu.op_sel >> place & 1 != 0);
        valu.src[place] = match (spec.code, place, word) {
            (Code::None, ..) => continue,
            (code, 0, Some(word)) => lanes::source(word, code, high),
            (code, ..) => reader.source(second >> (9 * place) & 0x1ff, code, high)?,
        };
    }
    Ok(())
}

pub(super) fn packed(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    let neg = (second >> 29) as u8;
    let neg_hi = (first >> 8 & 7) as u8;
    let op_sel = (first >> 11 & 7) as u8;
    let op_sel_hi = (second >> 27 & 3 | first >> 12 & 4) as u8;
    let clamp = (first >> 15 & 1) as u8;
    let fits = |row: &Row| {
        row.mods.bytes().enumerate().all(|(place, what)| {
            let bit = match place {
                0..=2 => (neg | neg_hi) >> place & 1,
                3..=5 => op_sel >> (place - 3) & 1,
                6..=8 => op_sel_hi >> (place - 6) & 1,
                _ => clamp,
            };
            bit == 0 || what != b'x'
        })
    };
    let (number, found) =
        rows(reader.chip, Format::Vop3p, first >> 16 & 0x7f).find(|(_, row)| fits(row)).ok_or(Fault::Invalid)?;
    let mut valu = Valu {
        encoding: Encoding::Vop3p,
        dst: vector(first as u8, found.dst[0].code, None),
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
    sources(reader, found, second, &mut valu)?;
    Ok(reader.finish(number, found, Fields::Vector(valu)))
}
