//! Text of DPP and SDWA controls.

use std::fmt::{self, Write};

use crate::{Chip, Dpp16, Sdwa, SdwaPart};

/// ` quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf`
pub(super) fn dpp16(out: &mut String, chip: Chip, dpp: &Dpp16) -> fmt::Result {
    out.write_str(" ")?;
    control(out, chip, dpp.control)?;
    write!(out, " row_mask:{:#x} bank_mask:{:#x}", dpp.row_mask, dpp.bank_mask)?;
    if dpp.bound_control {
        out.write_str(" bound_ctrl:1")?;
    }
    if dpp.fetch_inactive {
        out.write_str(" fi:1")?;
    }
    Ok(())
}

fn control(out: &mut String, _chip: Chip, control: u16) -> fmt::Result {
    let amount = control & 0xf;
    match control {
        0..=0xff => {
            let lane = |index: u16| control >> (2 * index) & 3;
            write!(out, "quad_perm:[{},{},{},{}]", lane(0), lane(1), lane(2), lane(3))
        }
        0x101..=0x10f => write!(out, "row_shl:{amount}"),
        0x111..=0x11f => write!(out, "row_shr:{amount}"),
        0x121..=0x12f => write!(out, "row_ror:{amount}"),
        0x130 => out.write_str("/* wave_shl is not supported starting from GFX10 */"),
        0x134 => out.write_str("/* wave_rol is not supported starting from GFX10 */"),
        0x138 => out.write_str("/* wave_shr is not supported starting from GFX10 */"),
        0x13c => out.write_str("/* wave_ror is not supported starting from GFX10 */"),
        0x140 => out.write_str("row_mirror"),
        0x141 => out.write_str("row_half_mirror"),
        0x142 | 0x143 => out.write_str("/* row_bcast is not supported starting from GFX10 */"),
        0x150..=0x15f => write!(out, "row_share:{amount}"),
        0x160..=0x16f => write!(out, "row_xmask:{amount}"),
        _ => out.write_str("/* Invalid dpp_ctrl value */"),
    }
}

/// ` dpp8:[7,6,5,4,3,2,1,0]`
pub(super) fn dpp8(out: &mut String, lanes: u32, fetch_inactive: bool) -> fmt::Result {
    out.write_str(" dpp8:[")?;
    for lane in 0..8 {
        write!(out, "{}{}", if lane == 0 { "" } else { "," }, lanes >> (3 * lane) & 7)?;
    }
    out.write_str(if fetch_inactive { "] fi:1" } else { "]" })
}

/// ` dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD`; a comparison has no `dst_sel`.
pub(super) fn sdwa(out: &mut String, sdwa: &Sdwa, sources: usize, compare: bool) -> fmt::Result {
    if !compare {
        let unused = ["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"].get(usize::from(sdwa.dst_unused));
        write!(out, " dst_sel:{} dst_unused:{}", part(sdwa.dst), unused.ok_or(fmt::Error)?)?;
    }
    for (index, source) in sdwa.src.iter().take(sources).enumerate() {
        write!(out, " src{index}_sel:{}", part(*source))?;
    }
    Ok(())
}

fn part(part: SdwaPart) -> String {
    match part {
        SdwaPart::Byte(number) => format!("BYTE_{number}"),
        SdwaPart::Word(number) => format!("WORD_{number}"),
        SdwaPart::Dword => "DWORD".to_owned(),
    }
}
