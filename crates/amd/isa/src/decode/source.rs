//! Instruction words, literals and source operands.

use super::{Fault, Result};
use crate::rows::{OperandType, Row};
use crate::{Chip, Family, Fields, Instruction, Operand, WaveSize};

/// A cursor over the words of an instruction.
pub(super) struct WordReader<'a> {
    /// Chip to decode for.
    pub(super) chip: Chip,
    /// Wavefront size, which determines the width of masks.
    pub(super) wave: WaveSize,
    bytes: &'a [u8],
    taken: usize,
    literal: Option<u32>,
}

impl<'a> WordReader<'a> {
    pub(super) fn new(chip: Chip, wave: WaveSize, bytes: &'a [u8]) -> Self {
        Self { chip, wave, bytes, taken: 0, literal: None }
    }

    /// The next word, without consuming it.
    pub(super) fn peek(&self) -> Option<u32> {
        let word = self.bytes.get(self.taken..self.taken + 4)?;
        word.try_into().ok().map(u32::from_le_bytes)
    }

    /// Consumes the next word.
    pub(super) fn word(&mut self) -> Result<u32> {
        let word = self.peek().ok_or(Fault::Truncated)?;
        self.taken += 4;
        Ok(word)
    }

    /// The literal that follows the instruction. An instruction has at most one.
    pub(super) fn literal(&mut self) -> Result<u32> {
        if let Some(literal) = self.literal {
            return Ok(literal);
        }
        let literal = self.word()?;
        self.literal = Some(literal);
        Ok(literal)
    }

    /// Builds the instruction.
    pub(super) fn finish(&self, index: u16, row: &Row, fields: Fields) -> Instruction {
        Instruction { op: row.op, size: self.taken as u8, fields, row: index }
    }

    /// Decodes a source field of nine bits (or eight, for SGPRs and constants only). `high` selects
    /// the half of a 16-bit operand in 64-bit encodings.
    pub(super) fn source(&mut self, field: u32, operand_type: OperandType, high: Option<bool>) -> Result<Operand> {
        if field >= 256 {
            return Ok(vector(field as u8, operand_type, high));
        }
        if field == 255 {
            return self.literal().map(Operand::Literal);
        }
        scalar(self.chip.family(), field, operand_type.bits(self.wave))
    }
}

/// A VGPR. `high` selects its half; in 32-bit encodings the top bit of `number` does.
pub(super) fn vector(number: u8, operand_type: OperandType, high: Option<bool>) -> Operand {
    match (operand_type, high) {
        (
            OperandType::V16 | OperandType::Tf16 | OperandType::Ti16 | OperandType::Tb16 | OperandType::OnlyV16,
            Some(high),
        ) => Operand::VgprHalf { index: number, high },
        (OperandType::V16 | OperandType::Tf16 | OperandType::Ti16 | OperandType::Tb16 | OperandType::OnlyV16, None) => {
            Operand::VgprHalf { index: number & 0x7f, high: number & 0x80 != 0 }
        }
        _ => Operand::Vgpr(number),
    }
}

/// Decodes a field below 255: an SGPR or constant, `bits` wide.
pub(super) fn scalar(family: Family, field: u32, bits: u32) -> Result<Operand> {
    // gfx10 swaps these two.
    let field = match (family, field) {
        (Family::Gfx10, 124) => 125,
        (Family::Gfx10, 125) => 124,
        _ => field,
    };
    let number = field as u8;
    // Register pairs are aligned to 2, larger groups to 4. LLVM rounds down.
    let step: u8 = match bits {
        0..=32 => 1,
        64 => 2,
        _ => 4,
    };
    let words = (bits / 32).max(1) as u8;
    match number {
        0..=105 => {
            let first = number / step * step;
            if first + words <= 106 { Ok(Operand::Scalar(first)) } else { Err(Fault::Invalid) }
        }
        108..=123 => {
            let first = 108 + (number - 108) / step * step;
            if first + words <= 124 { Ok(Operand::Scalar(first)) } else { Err(Fault::Invalid) }
        }
        124 => Ok(Operand::NULL),
        106 | 126 if words <= 2 => Ok(Operand::Scalar(number)),
        107 | 125 | 127 if words == 1 => Ok(Operand::Scalar(number)),
        128..=192 => Ok(Operand::Integer((number - 128) as i8)),
        193..=208 => Ok(Operand::Integer(-((number - 192) as i8))),
        230 | 235..=239 | 251..=253 if words <= 2 => Ok(Operand::Special(number)),
        231 | 254 if words == 1 => Ok(Operand::Special(number)),
        240..=248 => Ok(Operand::Float(number)),
        _ => Err(Fault::Invalid),
    }
}

impl OperandType {
    /// Width of the operand in bits.
    pub(crate) fn bits(self, wave: WaveSize) -> u32 {
        match self {
            Self::None | Self::Msg | Self::Imm | Self::Off => 0,
            Self::V16 | Self::F16 | Self::I16 | Self::Tf16 | Self::Ti16 | Self::Tb16 | Self::OnlyV16 | Self::K16 => 16,
            Self::V32
            | Self::B32
            | Self::Pf16
            | Self::Pb16
            | Self::P16
            | Self::OnlyV32
            | Self::OnlyL32
            | Self::OnlyS32
            | Self::OnlyW32
            | Self::OnlyD32
            | Self::R32
            | Self::K32 => 32,
            Self::V64 | Self::B64 | Self::F64 | Self::OnlyV64 | Self::R64 => 64,
            Self::V96 => 96,
            Self::V128 | Self::OnlyV128 | Self::R128 => 128,
            Self::OnlyV256 | Self::R256 => 256,
            Self::R512 => 512,
            Self::Vacc | Self::OnlyCacc => match wave {
                WaveSize::Wave32 => 256,
                WaveSize::Wave64 => 128,
            },
            Self::Mask | Self::Vcc | Self::Exec => match wave {
                WaveSize::Wave32 => 32,
                WaveSize::Wave64 => 64,
            },
        }
    }
}
