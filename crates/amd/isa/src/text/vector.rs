//! Text of vector instructions: suffixes and source modifiers.

use std::fmt::{self, Write};

use super::operand::{has_halves, plain, write as operand};
use super::{Context, OperandList, lanes};
use crate::rows::{OperandType, flag};
use crate::{Encoding, LaneControl, Op, Operand, Valu, VopdHalf};

pub(super) fn write(out: &mut String, context: &Context<'_>, valu: &Valu) -> fmt::Result {
    let row = context.row;
    out.write_str(row.name)?;
    out.write_str(suffix(context, valu))?;
    let mut list = OperandList::new(out);
    if !matches!(row.dst[0].operand_type, OperandType::None | OperandType::Exec) {
        operand(list.next()?, context, valu.dst, mask(row.dst[0].operand_type))?;
    }
    if valu.sdst != Operand::None {
        operand(list.next()?, context, valu.sdst, mask(row.dst[1].operand_type))?;
    }
    for index in 0..3 {
        if row.src[index].operand_type != OperandType::None {
            source(list.next()?, context, valu, index)?;
        }
    }
    trailer(out, context, valu)
}

/// An implied mask is printed like an explicit one.
fn mask(operand_type: OperandType) -> OperandType {
    if matches!(operand_type, OperandType::Vcc | OperandType::Exec) { OperandType::Mask } else { operand_type }
}

fn suffix(context: &Context<'_>, valu: &Valu) -> &'static str {
    let row = context.row;
    let compare = matches!(row.dst[0].operand_type, OperandType::Vcc | OperandType::Exec);
    match (valu.encoding, valu.lanes) {
        _ if row.src[0].operand_type == OperandType::None => "",
        (Encoding::Short, LaneControl::Sdwa(_)) => "_sdwa",
        // LLVM prints comparisons with DPP without a suffix.
        (Encoding::Short, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) if compare => "",
        (Encoding::Short, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) => "_dpp",
        (Encoding::Short, LaneControl::None) if row.flags & flag::BARE == 0 => "_e32",
        (Encoding::Vop3 | Encoding::Vop3p, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. }) => "_e64_dpp",
        (Encoding::Vop3, _) if row.flags & flag::E64 != 0 => "_e64",
        _ => "",
    }
}

/// Whether VOP3P modifiers are printed with the sources, as in other encodings.
fn at_sources(context: &Context<'_>, valu: &Valu) -> bool {
    valu.encoding != Encoding::Vop3p || context.row.flags & flag::MIX != 0
}

/// Operand type of a source. DPP narrows that of a mixed-precision operation, SDWA widens all.
fn source_code(context: &Context<'_>, valu: &Valu, index: usize) -> OperandType {
    let lanes = valu.lanes != LaneControl::None;
    match context.row.src[index].operand_type {
        OperandType::OnlyV32 if matches!(valu.lanes, LaneControl::Sdwa(_)) => OperandType::B32,
        _ if index == 1 && lanes && context.row.flags & flag::MIX != 0 => OperandType::OnlyV32,
        operand_type => mask(operand_type),
    }
}

fn source(out: &mut String, context: &Context<'_>, valu: &Valu, index: usize) -> fmt::Result {
    let operand_type = source_code(context, valu, index);
    let shown = at_sources(context, valu);
    let negate = shown && valu.neg >> index & 1 != 0;
    let absolute = shown && valu.abs >> index & 1 != 0;
    let extend = matches!(valu.lanes, LaneControl::Sdwa(ref sdwa) if index < 2 && sdwa.sext[index]);
    let mut text = String::new();
    operand(&mut text, context, valu.src[index], operand_type)?;
    // A minus sign before a number would look like part of it.
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

/// Everything after the operands.
fn trailer(out: &mut String, context: &Context<'_>, valu: &Valu) -> fmt::Result {
    let row = context.row;
    let sources =
        row.src.iter().filter(|spec| !matches!(spec.operand_type, OperandType::None | OperandType::Vcc)).count();
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
            let compare = matches!(row.dst[0].operand_type, OperandType::Vcc | OperandType::Exec);
            lanes::sdwa(out, sdwa, sources, compare)
        }
    }
}

/// ` name:[1,0]`
fn bits(out: &mut String, name: &str, value: u8, count: usize) -> fmt::Result {
    write!(out, " {name}:[")?;
    for index in 0..count {
        write!(out, "{}{}", if index == 0 { "" } else { "," }, value >> index & 1)?;
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
    // The list ends with the destination's bit, if it has one; for `v_fmac_f16` the list includes
    // the addend.
    let has_destination = match context.row.dst[0].operand_type {
        OperandType::Exec => false,
        OperandType::Mask => !lanes && has_halves(context),
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
    // After the literal of `v_dual_fmamk_f32`, LLVM prints the first source of a second literal
    // instruction as an inline constant.
    half(out, context, y, x.op == Op::VFmamkF32 && matches!(y.op, Op::VFmaakF32 | Op::VFmamkF32))
}

fn half(out: &mut String, context: &Context<'_>, half: &VopdHalf, by_meaning: bool) -> fmt::Result {
    write!(out, "v_dual_{}", half.op.name().trim_start_matches("v_"))?;
    let mut list = OperandList::new(out);
    operand(list.next()?, context, half.dst, OperandType::V32)?;
    let operand_type = match half.op {
        Op::VDot2accF32F16 => OperandType::Pf16,
        Op::VDot2accF32Bf16 => OperandType::Pb16,
        _ => OperandType::B32,
    };
    match half.src[0] {
        Operand::Literal(value) if by_meaning => plain(list.next()?, value)?,
        source => operand(list.next()?, context, source, operand_type)?,
    }
    for source in half.src.into_iter().skip(1) {
        // The mask of a select is not printed.
        if source != Operand::None && source != Operand::VCC {
            operand(list.next()?, context, source, OperandType::K32)?;
        }
    }
    Ok(())
}
