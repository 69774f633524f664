//! VOPD: two operations in one instruction.

use super::source::Reader;
use super::{Fault, Result};
use crate::rows::{Code, Format, Row, rows};
use crate::{Fields, Instruction, Operand, VopdHalf, WaveSize};

pub(super) fn decode(reader: &mut Reader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    if reader.wave == WaveSize::Wave64 {
        return Err(Fault::Invalid);
    }
    let chip = reader.chip;
    let (number, x) = rows(chip, Format::VopdX, first >> 22 & 0xf).next().ok_or(Fault::Invalid)?;
    let (_, y) = rows(chip, Format::VopdY, first >> 17 & 0x1f).next().ok_or(Fault::Invalid)?;
    let x_dst = (second >> 24) as u8;
    // The second destination has the parity that the first has not, so that its lowest bit need not be stored.
    let y_dst = (second >> 16 & 0xfe) as u8 | !x_dst & 1;
    let x_half = half(reader, x, x_dst, first & 0x1ff, first >> 9 & 0xff)?;
    let y_half = half(reader, y, y_dst, second & 0x1ff, second >> 9 & 0xff)?;
    Ok(reader.finish(number, x, Fields::Dual { x: x_half, y: y_half }))
}

fn half(reader: &mut Reader<'_>, found: &Row, dst: u8, src0: u32, src1: u32) -> Result<VopdHalf> {
    // A move has no second source, and its field is empty.
    if found.src[1].code == Code::None && src1 != 0 {
        return Err(Fault::Invalid);
    }
    let mut src = [Operand::None; 3];
    for (place, spec) in found.src.into_iter().enumerate() {
        src[place] = match spec.code {
            Code::None => continue,
            Code::Vcc => Operand::VCC,
            Code::K32 => Operand::Literal(reader.literal()?),
            code if place == 0 => reader.source(src0, code, None)?,
            _ => Operand::Vgpr(src1 as u8),
        };
    }
    Ok(VopdHalf { op: found.op, dst: Operand::Vgpr(dst), src })
}
