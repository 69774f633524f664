//! Text of registers, constants and literals, with LLVM's remarks on invalid operands.

use std::fmt::{self, Write};

use super::Context;
use crate::rows::OperandType;
use crate::{Family, Operand};

/// The inline floats 240 to 248, with their bits as f16, bf16, f32, and the upper half of f64.
const FLOATS: [(&str, u16, u16, u32, u32); 9] = [
    ("0.5", 0x3800, 0x3f00, 0x3f00_0000, 0x3fe0_0000),
    ("-0.5", 0xb800, 0xbf00, 0xbf00_0000, 0xbfe0_0000),
    ("1.0", 0x3c00, 0x3f80, 0x3f80_0000, 0x3ff0_0000),
    ("-1.0", 0xbc00, 0xbf80, 0xbf80_0000, 0xbff0_0000),
    ("2.0", 0x4000, 0x4000, 0x4000_0000, 0x4000_0000),
    ("-2.0", 0xc000, 0xc000, 0xc000_0000, 0xc000_0000),
    ("4.0", 0x4400, 0x4080, 0x4080_0000, 0x4010_0000),
    ("-4.0", 0xc400, 0xc080, 0xc080_0000, 0xc010_0000),
    // The lower half of this f64 is not zero, so no literal equals it.
    ("0.15915494", 0x3118, 0x3e22, 0x3e22_f983, 0),
];

/// Writes an operand whose position has the type `operand_type`.
pub(super) fn write(
    out: &mut String,
    context: &Context<'_>,
    operand: Operand,
    operand_type: OperandType,
) -> fmt::Result {
    let bits = operand_type.bits(context.wave);
    match operand {
        Operand::None => out.write_str("off")?,
        Operand::Vgpr(number) => range(out, "v", number.into(), bits)?,
        Operand::VgprHalf { index, high } => write!(out, "v{index}.{}", if high { 'h' } else { 'l' })?,
        Operand::Scalar(number) => scalar(out, number, bits)?,
        Operand::Integer(value @ 65..) => write!(out, "{value:#x}")?,
        Operand::Integer(value) => write!(out, "{value}")?,
        Operand::Float(encoding) => float(out, encoding, operand_type, bits)?,
        // LLVM treats the accumulator as f64 in wave32, but not in wave64.
        Operand::Literal(value) if operand_type == OperandType::OnlyCacc && bits == 128 => {
            literal(out, value, OperandType::B32)?
        }
        Operand::Literal(value) => literal(out, value, operand_type)?,
        Operand::Special(encoding) => out.write_str(special(encoding))?,
    }
    remark(out, operand, operand_type, bits)
}

/// `v[2:3]`, or `v2` alone.
pub(super) fn range(out: &mut String, prefix: &str, first: u32, bits: u32) -> fmt::Result {
    if bits <= 32 {
        return write!(out, "{prefix}{first}");
    }
    write!(out, "{prefix}[{first}:{}]", first + bits / 32 - 1)
}

fn scalar(out: &mut String, number: u8, bits: u32) -> fmt::Result {
    let pair = bits > 32;
    match number {
        0..=105 => range(out, "s", number.into(), bits),
        108..=123 => range(out, "ttmp", u32::from(number) - 108, bits),
        106 => out.write_str(if pair { "vcc" } else { "vcc_lo" }),
        107 => out.write_str("vcc_hi"),
        124 => out.write_str("null"),
        125 => out.write_str("m0"),
        126 => out.write_str(if pair { "exec" } else { "exec_lo" }),
        _ => out.write_str("exec_hi"),
    }
}

fn special(encoding: u8) -> &'static str {
    match encoding {
        230 => "src_flat_scratch_base_lo",
        231 => "src_flat_scratch_base_hi",
        235 => "src_shared_base",
        236 => "src_shared_limit",
        237 => "src_private_base",
        238 => "src_private_limit",
        239 => "src_pops_exiting_wave_id",
        251 => "src_vccz",
        252 => "src_execz",
        253 => "src_scc",
        _ => "src_lds_direct",
    }
}

fn float(out: &mut String, encoding: u8, operand_type: OperandType, bits: u32) -> fmt::Result {
    let Some((text, half, ..)) = FLOATS.get(usize::from(encoding) - 240) else { return Err(fmt::Error) };
    match operand_type {
        OperandType::I16 | OperandType::Ti16 => write!(out, "{half:#x}"),
        _ if encoding == 248 && bits > 32 && bits != 128 && !operand_type.is_register_only() => {
            out.write_str("0.15915494309189532")
        }
        _ => out.write_str(text),
    }
}

/// Writes a literal. One that has an inline encoding is marked as `lit(…)`.
fn literal(out: &mut String, value: u32, operand_type: OperandType) -> fmt::Result {
    let small = |value: i32| (-16..=64).contains(&value);
    let low = value as u16;
    let single = || small(value as i32) || FLOATS.iter().any(|float| float.3 == value);
    let packed = |halves: fn(&(&str, u16, u16, u32, u32)) -> u16| {
        small(value as i32) || FLOATS.iter().any(|float| u32::from(halves(float)) == value)
    };
    let (inline, shown) = match operand_type {
        OperandType::K16 | OperandType::K32 => (false, value),
        OperandType::F16 | OperandType::Tf16 => {
            (small((low as i16).into()) || FLOATS.iter().any(|float| float.1 == low), low.into())
        }
        OperandType::Tb16 => (small((low as i16).into()) || FLOATS.iter().any(|float| float.2 == low), value),
        OperandType::I16 | OperandType::Ti16 => (single(), low.into()),
        OperandType::Pf16 => (packed(|float| float.1), value),
        OperandType::Pb16 => (packed(|float| float.2), value),
        OperandType::P16 => (small(value as i32), value),
        OperandType::B64 => (value <= 64, value),
        OperandType::F64 | OperandType::OnlyCacc => {
            return match FLOATS.iter().find(|float| float.4 == value) {
                _ if value == 0 => out.write_str("0"),
                Some(float) => out.write_str(float.0),
                None => write!(out, "{value:#x}"),
            };
        }
        _ if operand_type.is_register_only() => return plain(out, value),
        _ => (single(), value),
    };
    if inline { write!(out, "lit({value:#x})") } else { write!(out, "{shown:#x}") }
}

/// A 32-bit literal where LLVM does not expect one: printed as the inline constant of the same
/// value, if any.
pub(super) fn plain(out: &mut String, value: u32) -> fmt::Result {
    match FLOATS.iter().find(|float| float.3 == value) {
        _ if (-16..=64).contains(&(value as i32)) => write!(out, "{}", value as i32),
        Some(float) => out.write_str(float.0),
        None => write!(out, "{value:#x}"),
    }
}

impl OperandType {
    /// Whether only a register is valid here.
    fn is_register_only(self) -> bool {
        matches!(
            self,
            Self::Mask
                | Self::OnlyD32
                | Self::OnlyL32
                | Self::OnlyV16
                | Self::OnlyV32
                | Self::OnlyV64
                | Self::OnlyV128
                | Self::OnlyV256
                | Self::R32
                | Self::R64
        )
    }
}

/// The register class that LLVM expects, if it is restricted.
fn class(operand_type: OperandType, bits: u32) -> Option<&'static str> {
    Some(match operand_type {
        OperandType::OnlyV16 => "VGPR_16_Lo128",
        OperandType::OnlyV32 => "VGPR_32",
        OperandType::OnlyV64 => "VReg_64",
        OperandType::OnlyV128 => "VReg_128",
        OperandType::OnlyV256 => "VReg_256",
        OperandType::OnlyCacc if bits == 128 => "VReg_128",
        OperandType::OnlyCacc => "VReg_256",
        OperandType::OnlyL32 => "VRegOrLds_32",
        OperandType::OnlyS32 => "SReg_32",
        OperandType::OnlyW32 => "SRegOrLds_32",
        OperandType::OnlyD32 => "SReg_32_XM0",
        _ => return None,
    })
}

/// LLVM's remark after an operand that is invalid in this position.
fn remark(out: &mut String, operand: Operand, operand_type: OperandType, bits: u32) -> fmt::Result {
    let constant = matches!(operand, Operand::Integer(_) | Operand::Float(_) | Operand::Literal(_));
    if constant {
        return if operand_type.is_register_only() { out.write_str("/*Invalid immediate*/") } else { Ok(()) };
    }
    let vector = matches!(operand, Operand::Vgpr(_) | Operand::VgprHalf { .. });
    // Null and special values are accepted in every position.
    let value = operand == Operand::NULL || matches!(operand, Operand::Special(230..=253));
    let lds = operand == Operand::Special(254);
    let fits = match operand_type {
        OperandType::OnlyV16
        | OperandType::OnlyV32
        | OperandType::OnlyV64
        | OperandType::OnlyV128
        | OperandType::OnlyV256
        | OperandType::OnlyCacc => vector,
        OperandType::OnlyL32 => vector || lds,
        OperandType::OnlyS32 => !vector && !lds,
        OperandType::OnlyW32 => !vector,
        OperandType::OnlyD32 => !vector && !lds && operand != Operand::M0,
        _ => true,
    };
    if fits || value {
        return Ok(());
    }
    match class(operand_type, bits) {
        Some(name) => invalid(out, name),
        None => Ok(()),
    }
}

/// LLVM's remark for a register of the wrong class.
pub(super) fn invalid(out: &mut String, class: &str) -> fmt::Result {
    write!(out, "/*Invalid register, operand has '{class}' register class*/")
}

/// Writes a source of a scalar instruction. LDS is invalid there.
pub(super) fn write_scalar(
    out: &mut String,
    context: &Context<'_>,
    operand: Operand,
    operand_type: OperandType,
) -> fmt::Result {
    write(out, context, operand, operand_type)?;
    if operand == Operand::Special(254) {
        invalid(out, "SReg_32")?;
    }
    Ok(())
}

/// Whether the family names halves of VGPRs.
pub(super) fn has_halves(context: &Context<'_>) -> bool {
    context.chip.family() == Family::Gfx11
}
