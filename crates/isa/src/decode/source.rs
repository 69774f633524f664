//! Words, literals, and what the number in an operand's field names.

use super::{Fault, Result};
use crate::rows::{Code, Row};
use crate::{Chip, Family, Fields, Instruction, Operand, WaveSize};

/// Takes words off the bytes.
pub(super) struct Reader<'a> {
    /// The chip whose instructions these are.
    pub(super) chip: Chip,
    /// How wide masks are.
    pub(super) wave: WaveSize,
    bytes: &'a [u8],
    taken: usize,
    literal: Option<u32>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(chip: Chip, wave: WaveSize, bytes: &'a [u8]) -> Self {
        Self { chip, wave, bytes, taken: 0, literal: None }
    }

    /// The next word, which is left there.
    pub(super) fn peek(&self) -> Option<u32> {
        let word = self.bytes.get(self.taken..self.taken + 4)?;
        word.try_into().ok().map(u32::from_le_bytes)
    }

    /// The next word.
    pub(super) fn word(&mut self) -> Result<u32> {
        let word = self.peek().ok_or(Fault::Truncated)?;
        self.taken += 4;
        Ok(word)
    }

    /// The literal behind the instruction; an instruction has at most one.
    pub(super) fn literal(&mut self) -> Result<u32> {
        if let Some(literal) = self.literal {
            return Ok(literal);
        }
        let literal = self.word()?;
        self.literal = Some(literal);
        Ok(literal)
    }

    /// Puts the instruction together.
    pub(super) fn finish(&self, row: u16, found: &Row, fields: Fields) -> Instruction {
        Instruction { op: found.op, size: self.taken as u8, fields, row }
    }

    /// What a source field of nine bits (or eight, without vector registers) names, being `code`. `high` picks the half of
    /// a 16-bit operand in 64-bit encodings.
    pub(super) fn source(&mut self, field: u32, code: Code, high: Option<bool>) -> Result<Operand> {
        if field >= 256 {
            return Ok(vector(field as u8, code, high));
        }
        if field == 255 {
            return self.literal().map(Operand::Literal);
        }
        scalar(self.chip.family(), field, code.bits(self.wave))
    }
}

/// The vector register of this number. A half is told by `high`, or in 32-bit encodings by the number's top bit.
pub(super) fn vector(number: u8, code: Code, high: Option<bool>) -> Operand {
    match (code, high) {
        (Code::V16 | Code::Tf16 | Code::Ti16 | Code::Tb16 | Code::OnlyV16, Some(high)) => {
            Operand::VgprHalf { index: number, high }
        }
        (Code::V16 | Code::Tf16 | Code::Ti16 | Code::Tb16 | Code::OnlyV16, None) => {
            Operand::VgprHalf { index: number & 0x7f, high: number & 0x80 != 0 }
        }
        _ => Operand::Vgpr(number),
    }
}

/// What a number below 255 names, `bits` wide.
pub(super) fn scalar(family: Family, field: u32, bits: u32) -> Result<Operand> {
    // gfx10 has these two the other way round.
    let field = match (family, field) {
        (Family::Gfx10, 124) => 125,
        (Family::Gfx10, 125) => 124,
        _ => field,
    };
    let number = field as u8;
    // Several registers begin at an even number, four and more at a multiple of four; LLVM rounds down.
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

impl Code {
    /// How wide what stands there is.
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
