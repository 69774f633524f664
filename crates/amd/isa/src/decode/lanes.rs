//! The DPP or SDWA word that follows a vector instruction.

use super::source::{scalar, vector};
use super::{Fault, Result};
use crate::rows::{OperandType, Row};
use crate::{Dpp16, Family, LaneControl, Operand, Sdwa, SdwaPart, Valu, WaveSize};

/// Source 0 encoding that announces an SDWA word.
pub(super) const SDWA: u32 = 249;
/// The same for DPP16.
pub(super) const DPP16: u32 = 250;
/// The same for DPP8.
pub(super) const DPP8: u32 = 233;
/// The same for DPP8 with `fetch_inactive`.
pub(super) const DPP8_INACTIVE: u32 = 234;

pub(super) fn dpp16(word: u32) -> LaneControl {
    LaneControl::Dpp16(Dpp16 {
        control: (word >> 8 & 0x1ff) as u16,
        row_mask: (word >> 28) as u8,
        bank_mask: (word >> 24 & 0xf) as u8,
        bound_control: word >> 19 & 1 != 0,
        fetch_inactive: word >> 18 & 1 != 0,
    })
}

pub(super) fn dpp8(word: u32, field: u32) -> LaneControl {
    LaneControl::Dpp8 { lanes: word >> 8, fetch_inactive: field == DPP8_INACTIVE }
}

/// Source modifiers in the DPP16 word of a 32-bit encoding: negations and absolute values.
pub(super) fn dpp16_modifiers(word: u32, pattern: &str) -> Result<(u8, u8)> {
    let (mut negate, mut absolute) = (0, 0);
    for source in 0..2 {
        let neg = (word >> (20 + 2 * source) & 1) as u8;
        let abs = (word >> (21 + 2 * source) & 1) as u8;
        match pattern.as_bytes().get(source) {
            Some(b'm') => {
                negate |= neg << source;
                absolute |= abs << source;
            }
            Some(b'.') => {}
            _ if neg | abs != 0 => return Err(Fault::Invalid),
            _ => {}
        }
    }
    Ok((negate, absolute))
}

/// Decodes an SDWA word. `compare`: the destination is scalar rather than part of a VGPR.
pub(super) fn sdwa(valu: &mut Valu, row: &Row, word: u32, compare: bool, wave: WaveSize) -> Result<()> {
    let pattern = row.sdwa.as_bytes();
    let sources =
        row.src.iter().filter(|spec| !matches!(spec.operand_type, OperandType::None | OperandType::Vcc)).count();
    let mut control = Sdwa { dst: SdwaPart::Dword, dst_unused: 0, src: [SdwaPart::Dword; 2], sext: [false; 2] };
    if !compare {
        control.dst = part(word >> 8 & 7)?;
        control.dst_unused = (word >> 11 & 3) as u8;
        // LLVM treats the reserved value like zero padding.
        if control.dst_unused == 3 {
            control.dst_unused = 0;
        }
        valu.clamp = word >> 13 & 1 != 0;
        valu.omod = (word >> 14 & 3) as u8;
        if valu.omod != 0 && !pattern.contains(&b'o') || valu.clamp && pattern.contains(&b'-') {
            return Err(Fault::Invalid);
        }
    } else if word >> 15 & 1 != 0 {
        if valu.dst == Operand::EXEC {
            return Err(Fault::Invalid);
        }
        valu.dst = scalar(Family::Gfx10, word >> 8 & 0x7f, OperandType::Mask.bits(wave))?;
    }
    for source in 0..2 {
        let bits = word >> (16 + 8 * source);
        if source >= sources {
            if bits & 0xff != 0 {
                return Err(Fault::Invalid);
            }
            continue;
        }
        let (sext, neg, abs) = (bits >> 3 & 1, bits >> 4 & 1, bits >> 5 & 1);
        let allowed = match pattern.get(source) {
            Some(b'f') => sext == 0,
            Some(b'i') => neg | abs == 0,
            Some(b'.') => true,
            _ => sext | neg | abs == 0,
        };
        if !allowed {
            return Err(Fault::Invalid);
        }
        control.src[source] = part(bits & 7)?;
        control.sext[source] = sext != 0;
        valu.neg |= (neg as u8) << source;
        valu.abs |= (abs as u8) << source;
        if bits >> 7 & 1 != 0 {
            let number = match valu.src[source] {
                Operand::Vgpr(number) => number,
                _ => return Err(Fault::Invalid),
            };
            valu.src[source] =
                scalar(Family::Gfx10, u32::from(number), row.src[source].operand_type.bits(wave).min(32))?;
        }
    }
    valu.lanes = LaneControl::Sdwa(control);
    Ok(())
}

fn part(field: u32) -> Result<SdwaPart> {
    Ok(match field {
        0..=3 => SdwaPart::Byte(field as u8),
        4 | 5 => SdwaPart::Word(field as u8 - 4),
        6 => SdwaPart::Dword,
        _ => return Err(Fault::Invalid),
    })
}

/// Source 0 in a DPP or SDWA word: a VGPR.
pub(super) fn source(word: u32, operand_type: OperandType, high: Option<bool>) -> Operand {
    vector(word as u8, operand_type, high)
}
