//! Decodes bytes to instructions.
//!
//! The upper bits of the first word select the format; each format has its own module. The table
//! row says which operands a field may encode, and [`source`] decodes them.

mod lanes;
mod memory;
mod scalar;
mod source;
mod vector;
mod vop3;
mod vopd;

use crate::rows::Format;
use crate::{Chip, Family, Instruction, WaveSize};
use source::WordReader;

/// Why bytes are not a valid instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes end inside the instruction.
    #[error("the instruction is truncated: only {given} bytes are left")]
    Truncated {
        /// Number of bytes given.
        given: usize,
    },
    /// Not an instruction of the chip.
    #[error("{first:#010x} is not an instruction of this chip (next word: {second:#010x?})")]
    Invalid {
        /// First word.
        first: u32,
        /// Second word, if there is one.
        second: Option<u32>,
    },
    /// A graphics instruction (image, export, interpolation, typed buffer), which this crate does
    /// not decode.
    #[error("{first:#010x} is a graphics instruction of the format {format}, which is not supported")]
    Graphics {
        /// First word.
        first: u32,
        /// Name of the format.
        format: &'static str,
    },
}

/// Error of a format's decoder; [`decode`] adds the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Truncated,
    Invalid,
}

type Result<T, E = Fault> = std::result::Result<T, E>;

/// Decodes the instruction at the start of `bytes`.
///
/// Accepts what LLVM's disassembler accepts. In places that is more than the ISA allows, such as an
/// SGPR where only a VGPR makes sense; code that executes instructions must reject such operands.
///
/// # Errors
/// If the bytes are too few, are not an instruction of the chip, or are a graphics instruction.
pub fn decode(chip: Chip, wave: WaveSize, bytes: &[u8]) -> std::result::Result<Instruction, DecodeError> {
    let mut reader = WordReader::new(chip, wave, bytes);
    let first = reader.word().map_err(|_| DecodeError::Truncated { given: bytes.len() })?;
    if let Some(format) = graphics(chip.family(), first) {
        return Err(DecodeError::Graphics { first, format });
    }
    dispatch(&mut reader, first).map_err(|fault| match fault {
        Fault::Truncated => DecodeError::Truncated { given: bytes.len() },
        Fault::Invalid => {
            let second = bytes.get(4..8).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
            DecodeError::Invalid { first, second }
        }
    })
}

/// Name of the format, if it is a graphics format.
fn graphics(family: Family, first: u32) -> Option<&'static str> {
    Some(match (family, first >> 26, first >> 24) {
        (_, 0x3a, _) => "MTBUF",
        (_, 0x3c, _) => "MIMG",
        (_, 0x3e, _) => "EXP",
        (Family::Gfx10, 0x32, _) => "VINTRP",
        (Family::Gfx11, _, 0xcd) => "VINTERP",
        (Family::Gfx11, _, 0xce) => "LDSDIR",
        // Interpolation in the VOP3 encoding.
        (Family::Gfx10, 0x35, _) if matches!(first >> 16 & 0x3ff, 0x200..=0x202 | 0x342 | 0x343 | 0x35a) => "VINTRP",
        _ => return None,
    })
}

fn dispatch(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    match first >> 25 {
        0..=0x3d => return vector::decode(reader, Format::Vop2, first >> 25, first),
        0x3e => return vector::decode(reader, Format::Vopc, first >> 17 & 0xff, first),
        0x3f => return vector::decode(reader, Format::Vop1, first >> 9 & 0xff, first),
        _ => {}
    }
    match first >> 23 {
        0x17d => scalar::sop1(reader, first),
        0x17e => scalar::sopc(reader, first),
        0x17f => scalar::sopp(reader, first),
        0x160..=0x17c => scalar::sopk(reader, first),
        0x100..=0x15f => scalar::sop2(reader, first),
        0x198 => vop3::packed(reader, first),
        high => match high >> 3 {
            0x32 if reader.chip.family() == Family::Gfx11 => vopd::decode(reader, first),
            0x35 => vop3::decode(reader, first),
            0x36 => memory::ds(reader, first),
            0x37 => memory::flat(reader, first),
            0x38 => memory::mubuf(reader, first),
            0x3d => scalar::smem(reader, first),
            _ => Err(Fault::Invalid),
        },
    }
}
