//! Bytes to instructions.
//!
//! The first word's upper bits say the format; each format has its file here. What a field may hold is said by the row of
//! the tables, and [`source`] reads it.

mod lanes;
mod memory;
mod scalar;
mod source;
mod vector;
mod vop3;
mod vopd;

use crate::rows::Format;
use crate::{Chip, Family, Instruction, WaveSize};
use source::Reader;

/// Why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The instruction goes on behind the last byte.
    #[error("{given} bytes are too few for the instruction that begins there")]
    Truncated {
        /// Bytes there were.
        given: usize,
    },
    /// The chip has no such instruction.
    #[error("{first:#010x} does not begin an instruction of this chip (the next word is {second:#010x?})")]
    Invalid {
        /// The first word.
        first: u32,
        /// The second word, if there is one.
        second: Option<u32>,
    },
    /// An instruction of graphics (images, exports, interpolation, typed buffers), which this crate does not read.
    #[error("{first:#010x} begins an instruction of the format {format}, which is not read here")]
    Graphics {
        /// The first word.
        first: u32,
        /// The format.
        format: &'static str,
    },
}

/// Why a format's decoder gives up; the words are added by [`decode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Truncated,
    Invalid,
}

type Result<T, E = Fault> = std::result::Result<T, E>;

/// Reads the instruction at the start of `bytes`.
///
/// Accepts what LLVM's disassembler accepts, which is at places more than the hardware's manual allows: a scalar register
/// where only a vector register makes sense, for one. Whoever runs instructions meets such operands and must refuse them.
///
/// # Errors
/// If there are too few bytes, or they are no instruction of this chip, or one of graphics.
pub fn decode(chip: Chip, wave: WaveSize, bytes: &[u8]) -> std::result::Result<Instruction, DecodeError> {
    let mut reader = Reader::new(chip, wave, bytes);
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

/// The name of the format, if it is one of graphics.
fn graphics(family: Family, first: u32) -> Option<&'static str> {
    Some(match (family, first >> 26, first >> 24) {
        (_, 0x3a, _) => "MTBUF",
        (_, 0x3c, _) => "MIMG",
        (_, 0x3e, _) => "EXP",
        (Family::Gfx10, 0x32, _) => "VINTRP",
        (Family::Gfx11, _, 0xcd) => "VINTERP",
        (Family::Gfx11, _, 0xce) => "LDSDIR",
        // Interpolation in the encoding of VOP3.
        (Family::Gfx10, 0x35, _) if matches!(first >> 16 & 0x3ff, 0x200..=0x202 | 0x342 | 0x343 | 0x35a) => "VINTRP",
        _ => return None,
    })
}

fn dispatch(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
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
