//! Text of 16-bit immediates with fields: wait counters, hardware registers, messages, delays.

use std::fmt::{self, Write};

use super::Context;
use crate::{Chip, Family};

/// `s_waitcnt` counters. Counters at their maximum are omitted, unless all are.
pub(super) fn waitcnt(out: &mut String, context: &Context<'_>, value: u16) -> fmt::Result {
    let (vm, exp, lgkm) = match context.chip.family() {
        Family::Gfx10 => (value & 0xf | value >> 10 & 0x30, value >> 4 & 7, value >> 8 & 0x3f),
        Family::Gfx11 => (value >> 10, value & 7, value >> 4 & 0x3f),
    };
    write_fields(out, &[("vmcnt", vm, 0x3f), ("expcnt", exp, 7), ("lgkmcnt", lgkm, 0x3f)])
}

/// `s_waitcnt_depctr` counters.
pub(super) fn depctr(out: &mut String, context: &Context<'_>, value: u16) -> fmt::Result {
    let counts_holds = !matches!(context.chip, Chip::Gfx1010 | Chip::Gfx1012 | Chip::Gfx1013);
    let unused: u16 = if counts_holds { 0x0060 } else { 0x00e0 };
    if value & unused != 0 {
        return write!(out, " {value:#x}");
    }
    let all = [
        ("depctr_hold_cnt", value >> 7 & 1, 1),
        ("depctr_sa_sdst", value & 1, 1),
        ("depctr_va_vdst", value >> 12, 0xf),
        ("depctr_va_sdst", value >> 9 & 7, 7),
        ("depctr_va_ssrc", value >> 8 & 1, 1),
        ("depctr_va_vcc", value >> 1 & 1, 1),
        ("depctr_vm_vsrc", value >> 2 & 7, 7),
    ];
    write_fields(out, if counts_holds { &all } else { &all[1..] })
}

/// Each field: name, value and maximum. The maximum means "no wait".
fn write_fields(out: &mut String, fields: &[(&str, u16, u16)]) -> fmt::Result {
    let all = fields.iter().all(|(_, value, greatest)| value == greatest);
    fields
        .iter()
        .filter(|(_, value, greatest)| all || value != greatest)
        .try_for_each(|(name, value, _)| write!(out, " {name}({value})"))
}

/// `hwreg(HW_REG_MODE, 0, 4)`
pub(super) fn hwreg(out: &mut String, context: &Context<'_>, value: u16) -> fmt::Result {
    let (id, offset, size) = (value & 0x3f, value >> 6 & 0x1f, (value >> 11) + 1);
    out.write_str("hwreg(")?;
    match hwreg_name(context.chip, id) {
        Some(name) => write!(out, "HW_REG_{name}")?,
        None => write!(out, "{id}")?,
    }
    if offset != 0 || size != 32 {
        write!(out, ", {offset}, {size}")?;
    }
    out.write_str(")")
}

fn hwreg_name(chip: Chip, id: u16) -> Option<&'static str> {
    let gfx10 = chip.family() == Family::Gfx10;
    Some(match id {
        1 => "MODE",
        2 => "STATUS",
        3 => "TRAPSTS",
        5 => "GPR_ALLOC",
        6 => "LDS_ALLOC",
        7 => "IB_STS",
        15 => "SH_MEM_BASES",
        16 if gfx10 => "TBA_LO",
        17 if gfx10 => "TBA_HI",
        18 if gfx10 => "TMA_LO",
        19 if gfx10 => "TMA_HI",
        18 => "PERF_SNAPSHOT_PC_LO",
        19 => "PERF_SNAPSHOT_PC_HI",
        20 => "FLAT_SCR_LO",
        21 => "FLAT_SCR_HI",
        22 if gfx10 && chip != Chip::Gfx1030 => "XNACK_MASK",
        23 => "HW_ID1",
        24 => "HW_ID2",
        25 if gfx10 => "POPS_PACKER",
        27 if !gfx10 => "PERF_SNAPSHOT_DATA",
        29 if !gfx10 || chip == Chip::Gfx1030 => "SHADER_CYCLES",
        _ => return None,
    })
}

/// `sendmsg(MSG_INTERRUPT)`
pub(super) fn message(out: &mut String, context: &Context<'_>, value: u16) -> fmt::Result {
    if context.chip.family() == Family::Gfx11 {
        let id = value & 0xff;
        return match message_of_gfx11(id) {
            Some(name) => write!(out, "sendmsg(MSG_{name})"),
            None if value < 256 => write!(out, "sendmsg({id}, 0, 0)"),
            None => write!(out, "{value}"),
        };
    }
    let (id, operation, stream) = (value & 0xf, value >> 4 & 7, value >> 8 & 3);
    match (id, operation, stream) {
        (2 | 3, 1..=3, _) => {
            let name = if id == 2 { "GS" } else { "GS_DONE" };
            let operation = ["CUT", "EMIT", "EMIT_CUT"][usize::from(operation) - 1];
            write!(out, "sendmsg(MSG_{name}, GS_OP_{operation}, {stream})")
        }
        (3, 0, 0) => out.write_str("sendmsg(MSG_GS_DONE, GS_OP_NOP)"),
        (15, 1..=2 | 4, 0) => {
            let operation = ["ECC_ERR_INTERRUPT", "REG_RD", "", "TTRACE_PC"][usize::from(operation) - 1];
            write!(out, "sendmsg(MSG_SYSMSG, SYSMSG_OP_{operation})")
        }
        _ => match message_of_gfx10(id) {
            Some(name) if operation == 0 && stream == 0 => write!(out, "sendmsg(MSG_{name})"),
            _ if value & !0x37f == 0 => write!(out, "sendmsg({id}, {operation}, {stream})"),
            _ => write!(out, "{value}"),
        },
    }
}

fn message_of_gfx10(id: u16) -> Option<&'static str> {
    Some(match id {
        1 => "INTERRUPT",
        4 => "SAVEWAVE",
        5 => "STALL_WAVE_GEN",
        6 => "HALT_WAVES",
        7 => "ORDERED_PS_DONE",
        8 => "EARLY_PRIM_DEALLOC",
        9 => "GS_ALLOC_REQ",
        10 => "GET_DOORBELL",
        11 => "GET_DDID",
        _ => return None,
    })
}

fn message_of_gfx11(id: u16) -> Option<&'static str> {
    Some(match id {
        1 => "INTERRUPT",
        2 => "HS_TESSFACTOR",
        3 => "DEALLOC_VGPRS",
        5 => "STALL_WAVE_GEN",
        6 => "HALT_WAVES",
        9 => "GS_ALLOC_REQ",
        128 => "RTN_GET_DOORBELL",
        129 => "RTN_GET_DDID",
        130 => "RTN_GET_TMA",
        131 => "RTN_GET_REALTIME",
        132 => "RTN_SAVE_WAVE",
        133 => "RTN_GET_TBA",
        134 => "RTN_GET_TBA_TO_PC",
        _ => return None,
    })
}

/// Operand of `s_delay_alu`.
pub(super) fn delay(out: &mut String, value: u16) -> fmt::Result {
    const INSTRUCTIONS: [&str; 12] = [
        "NO_DEP",
        "VALU_DEP_1",
        "VALU_DEP_2",
        "VALU_DEP_3",
        "VALU_DEP_4",
        "TRANS32_DEP_1",
        "TRANS32_DEP_2",
        "TRANS32_DEP_3",
        "FMA_ACCUM_CYCLE_1",
        "SALU_CYCLE_1",
        "SALU_CYCLE_2",
        "SALU_CYCLE_3",
    ];
    const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];
    let parts = [
        ("instid0", value & 0xf, &INSTRUCTIONS[..], "/* invalid instid value */"),
        ("instskip", value >> 4 & 7, &SKIPS[..], "/* invalid instskip value */"),
        ("instid1", value >> 7 & 0xf, &INSTRUCTIONS[..], "/* invalid instid value */"),
    ];
    let mut separator = " ";
    for (name, number, names, unknown) in parts {
        if number != 0 {
            write!(out, "{separator}{name}({})", names.get(usize::from(number)).unwrap_or(&unknown))?;
            separator = " | ";
        }
    }
    if separator == " " { out.write_str(" 0") } else { Ok(()) }
}

/// Operand of `s_version`.
pub(super) fn version(out: &mut String, value: u16) -> fmt::Result {
    let bits = [("UC_VERSION_W64_BIT", 0x2000), ("UC_VERSION_W32_BIT", 0x4000), ("UC_VERSION_MDP_BIT", 0x8000)];
    let number = value & 0x1fff;
    if number & 0x1f00 != 0 {
        return write!(out, "{value:#x}");
    }
    let mut text = match number {
        0 => "UC_VERSION_GFX7".to_owned(),
        4 => "UC_VERSION_GFX10".to_owned(),
        6 => "UC_VERSION_GFX11".to_owned(),
        9 => "UC_VERSION_GFX12".to_owned(),
        _ => number.to_string(),
    };
    for (name, _) in bits.iter().filter(|(_, bit)| value & bit != 0) {
        let left = if text.contains('|') { format!("({text})") } else { text };
        text = format!("{left}|{name}");
    }
    out.write_str(&text)
}
