//! Vector instructions: names with their suffixes, sources with their modifiers.

use std::fmt::{self, Write};

use super::operand::{has_halves, plain, write as operand};
use super::{Context, List, lanes};
use crate::rows::{Code, flag};
use crate::{Encoding, LaneControl, Op, Operand, Valu, VopdHalf};

pub(super) fn write(out: &mut String, context: &Context<'_>, valu: &Valu) -> fmt::Result {
    let row = context.row;
    out.write_str(row.name)?;
    out.write_str(suffix(context, valu))?;
    let mut list = List::new(out);
    if !matches!(row.dst[0].code, Code::None | Code::Exec) {
        operand(list.next()?, context, valu.dst, mask(row.dst[0].code))?;
    }
    if valu.sdst != Operand::None {
        operand(list.next()?, context, valu.sdst, mask(row.dst[1].code))?;
    }
    for place in 0..3 {
        if row.src[place].code != Code::None {
            source(list.next()?, context, valu, place)?;
        }
    }
    trailer(out, context, valu)
}

/// An implied mask is written like a named one.
fn mask(code: Code) -> Code {
    if matches!(code, Code::Vcc | Code::Exec) { Code::Mask } else { code }
}

fn suffix(context: &Context<'_>, valu: &Valu) -> &'static str {
    let row = context.row;
    let compare = matches!(row.dst[0].code, Code::Vcc | Code::Exec);
    match (valu.encoding, valu.lanes) {
        _ if row.src[0].code == Code::None => "",
        (Encoding::Short, LaneControl::Sdwa(_)) => "_sdwa",
        // LLVM names comparisons with DPP without a suffix.
        (Encoding::Short, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) if compare => "",
        (Encoding::Short, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) => "_dpp",
        (Encoding::Short, LaneControl::None) if row.flags & flag::BARE == 0 => "_e32",
        (Encoding::Vop3 | Encoding::Vop3p, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) => "_e64_dpp",
        (Encoding::Vop3, _) if row.flags & flag::E64 != 0 => "_e64",
        _ => "",
    }
}

/// Whether the modifiers of VOP3P are shown at the sources, as in the other encodings.
fn at_sources(context: &Context<'_>, valu: &Valu) -> bool {
    valu.encoding != Encoding::Vop3p || context.row.flags & flag::MIX != 0
}

/// What a source's place takes; DPP makes that of a mixed operation narrower, SDWA makes all of them wide.
fn source_code(context: &Context<'_>, valu: &Valu, place: usize) -> Code {
    let lanes = valu.lanes != LaneControl::None;
    match context.row.src[place].code {
        Code::OnlyV32 if matches!(valu.lanes, LaneControl::Sdwa(_)) => Code::B32,
        _ if place == 1 && lanes && context.row.flags & flag::MIX != 0 => Code::OnlyV32,
        code => mask(code),
    }
}

fn source(out: &mut String, context: &Context<'_>, valu: &Valu, place: usize) -> fmt::Result {
    let code = source_code(context, valu, place);
    let shown = at_sources(context, valu);
    let negate = shown && valu.neg >> place & 1 != 0;
    let absolute = shown && valu.abs >> place & 1 != 0;
    let extend = matches!(valu.lanes, LaneControl::Sdwa(ref sdwa) if place < 2 && sdwa.sext[place]);
    let mut text = String::new();
    operand(&mut text, context, valu.src[place], code)?;
    // A minus in front of a number would read as a part of it.
    let wrap = negate && !absolute && text.starts_with(|first: char| first.is_ascii_digit() || first == '-');
    if negate {
        out.write_str(if wrap { "neg(" } else { "-" })?;
    }
    if absolute {
        out.write_str("|")?;
    }
    if extend {
        out.write_str("sext(")?;
    }
    out.write_str(&text)?;
    if extend {
        out.write_str(")")?;
    }
    if absolute {
        out.write_str("|")?;
    }
    if wrap {
        out.write_str(")")?;
    }
    Ok(())
}

/// Everything behind the operands.
fn trailer(out: &mut String, context: &Context<'_>, valu: &Valu) -> fmt::Result {
    let row = context.row;
    let sources = row.src.iter().filter(|spec| !matches!(spec.code, Code::None | Code::Vcc)).count();
    if valu.encoding == Encoding::Vop3p {
        packed(out, context, valu, sources)?;
    } else if valu.encoding == Encoding::Vop3 {
        op_sel(out, context, valu, sources)?;
    }
    if valu.clamp {
        out.write_str(" clamp")?;
    }
    match valu.omod {
        1 => out.write_str(" mul:2")?,
        2 => out.write_str(" mul:4")?,
        3 => out.write_str(" div:2")?,
        _ => {}
    }
    match valu.lanes {
        LaneControl::None => Ok(()),
        LaneControl::Dpp16(ref dpp) => lanes::dpp16(out, context.chip, dpp),
        LaneControl::Dpp8 { lanes, fetch_inactive } => lanes::dpp8(out, lanes, fetch_inactive),
        LaneControl::Sdwa(ref sdwa) => {
            let compare = matches!(row.dst[0].code, Code::Vcc | Code::Exec);
            lanes::sdwa(out, sdwa, sources, compare)
        }
    }
}

/// ` name:[1,0]`
fn bits(out: &mut String, name: &str, value: u8, count: usize) -> fmt::Result {
    write!(out, " {name}:[")?;
    for place in 0..count {
        write!(out, "{}{}", if place == 0 { "" } else { "," }, value >> place & 1)?;
    }
    out.write_str("]")
}

fn op_sel(out: &mut String, context: &Context<'_>, valu: &Valu, sources: usize) -> fmt::Result {
    let pattern = &context.row.mods.as_bytes()[3..7];
    if valu.op_sel == 0 || !pattern.contains(&b's') {
        return Ok(());
    }
    let name = context.row.name;
    let lanes = valu.lanes != LaneControl::None;
    // Lists end with the destination's bit, unless the instruction has none; that of `v_fmac_f16` counts the addend.
    let has_destination = match context.row.dst[0].code {
        Code::Exec => false,
        Code::Mask => !lanes && has_halves(context),
        _ => !name.starts_with("v_permlane"),
    };
    let sources = match name {
        "v_fmac_f16" => 3,
        _ if name.starts_with("v_permlane") => 2,
        _ => sources,
    };
    let selected = valu.op_sel & ((1 << sources) - 1);
    let value = if has_destination { selected | (valu.op_sel >> 3 & 1) << sources } else { selected };
    bits(out, "op_sel", value, sources + usize::from(has_destination))
}

fn packed(out: &mut String, context: &Context<'_>, valu: &Valu, sources: usize) -> fmt::Result {
    let row = context.row;
    let pattern = row.mods.as_bytes();
    let all = (1u8 << sources) - 1;
    if pattern[3] == b'm' && valu.op_sel & all != 0 {
        bits(out, "op_sel", valu.op_sel, sources)?;
    }
    let default = if row.flags & flag::MIX != 0 { 0 } else { all };
    if pattern[6] == b'm' && valu.op_sel_hi & all != default {
        bits(out, "op_sel_hi", valu.op_sel_hi, sources)?;
    }
    if row.flags & flag::MIX != 0 {
        return Ok(());
    }
    if valu.neg & all != 0 {
        bits(out, "neg_lo", valu.neg, sources)?;
    }
    if valu.abs & all != 0 {
        bits(out, "neg_hi", valu.abs, sources)?;
    }
    Ok(())
}

pub(super) fn dual(out: &mut String, context: &Context<'_>, x: &VopdHalf, y: &VopdHalf) -> fmt::Result {
    half(out, context, x, false)?;
    out.write_str(" :: ")?;
    // Behind the literal of `v_dual_fmamk_f32`, LLVM shows the first source of another with a literal by its meaning.
    half(out, context, y, x.op == Op::VFmamkF32 && matches!(y.op, Op::VFmaakF32 | Op::VFmamkF32))
}

fn half(out: &mut String, context: &Context<'_>, half: &VopdHalf, by_meaning: bool) -> fmt::Result {
    write!(out, "v_dual_{}", half.op.name().trim_start_matches("v_"))?;
    let mut list = List::new(out);
    operand(list.next()?, context, half.dst, Code::V32)?;
    let code = match half.op {
        Op::VDot2accF32F16 => Code::Pf16,
        Op::VDot2accF32Bf16 => Code::Pb16,
        _ => Code::B32,
    };
    match half.src[0] {
        Operand::Literal(value) if by_meaning => plain(list.next()?, value)?,
        source => operand(list.next()?, context, source, code)?,
    }
    for source in half.src.into_iter().skip(1) {
        // The mask that a select reads is not shown.
        if source != Operand::None && source != Operand::VCC {
            operand(list.next()?, context, source, Code::K32)?;
        }
    }
    Ok(())
}
