//! VOPD: two operations in one instruction.

use super::source::WordReader;
use super::{Fault, Result};
use crate::rows::{Format, OperandType, Row, rows};
use crate::{Fields, Instruction, Operand, VopdHalf, WaveSize};

pub(super) fn decode(reader: &mut WordReader<'_>, first: u32) -> Result<Instruction> {
    let second = reader.word()?;
    if reader.wave == WaveSize::Wave64 {
        return Err(Fault::Invalid);
    }
    let chip = reader.chip;
    let (number, x) = rows(chip, Format::VopdX, first >> 22 & 0xf).next().ok_or(Fault::Invalid)?;
    let (_, y) = rows(chip, Format::VopdY, first >> 17 & 0x1f).next().ok_or(Fault::Invalid)?;
    let x_dst = (second >> 24) as u8;
    // The two destinations have opposite parity, so the lowest bit of the second is not stored.
    let y_dst = (second >> 16 & 0xfe) as u8 | !x_dst & 1;
    let x_half = half(reader, x, x_dst, first & 0x1ff, first >> 9 & 0xff)?;
    let y_half = half(reader, y, y_dst, second & 0x1ff, second >> 9 & 0xff)?;
    Ok(reader.finish(number, x, Fields::Dual { x: x_half, y: y_half }))
}

fn half(reader: &mut WordReader<'_>, row: &Row, dst: u8, src0: u32, src1: u32) -> Result<VopdHalf> {
    // A move has no second source, and its field must be zero.
    if row.src[1].operand_type == OperandType::None && src1 != 0 {
        return Err(Fault::Invalid);
    }
    let mut src = [Operand::None; 3];
    for (index, spec) in row.src.into_iter().enumerate() {
        src[index] = match spec.operand_type {
            OperandType::None => continue,
            OperandType::Vcc => Operand::VCC,
            OperandType::K32 => Operand::Literal(reader.literal()?),
            operand_type if index == 0 => reader.source(src0, operand_type, None)?,
            _ => Operand::Vgpr(src1 as u8),
        };
    }
    Ok(VopdHalf { op: row.op, dst: Operand::Vgpr(dst), src })
}
