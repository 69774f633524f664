//! SOP1, SOP2, SOPC, SOPK, SOPP.

use std::fmt::{self, Write};

use super::operand::{plain, write as operand, write_scalar};
use super::{Context, OperandList, immediate};
use crate::Operand;
use crate::rows::{Imm, OperandType};

pub(super) fn write(
    out: &mut String,
    context: &Context<'_>,
    dst: Operand,
    src: [Operand; 3],
    simm: u16,
) -> fmt::Result {
    let row = context.row;
    out.write_str(row.name)?;
    match row.imm {
        Imm::None => {}
        Imm::Waitcnt => return immediate::waitcnt(out, context, simm),
        Imm::Depctr => return immediate::depctr(out, context, simm),
        Imm::Delay => return immediate::delay(out, simm),
        Imm::End if simm == 0 => return Ok(()),
        _ => {}
    }
    let mut list = OperandList::new(out);
    // `s_setreg_b32` has its register operand last: `s_setreg_b32 hwreg(…), s0`.
    let register_first = !(row.imm == Imm::Hwreg && dst == Operand::None);
    if dst != Operand::None {
        operand(list.next()?, context, dst, row.dst[0].operand_type)?;
    }
    if register_first {
        sources(&mut list, context, src)?;
    }
    match row.imm {
        Imm::None if row.src[0].operand_type == OperandType::Msg => immediate::message(list.next()?, context, simm)?,
        Imm::None => {}
        Imm::I16 | Imm::Hex => write!(list.next()?, "{simm:#x}")?,
        Imm::Dec if simm > 64 => write!(list.next()?, "{simm:#x}")?,
        Imm::Dec | Imm::End => write!(list.next()?, "{simm}")?,
        Imm::Branch => match context.target {
            Some(target) => list.next()?.write_str(target)?,
            None => write!(list.next()?, "{simm}")?,
        },
        Imm::Hwreg => immediate::hwreg(list.next()?, context, simm)?,
        Imm::Version => immediate::version(list.next()?, simm)?,
        Imm::Msg => immediate::message(list.next()?, context, simm)?,
        Imm::Waitcnt | Imm::Depctr | Imm::Delay => {}
    }
    if !register_first {
        match src[0] {
            Operand::Literal(value) => plain(list.next()?, value)?,
            register => operand(list.next()?, context, register, row.src[0].operand_type)?,
        }
    }
    Ok(())
}

fn sources(list: &mut OperandList<'_>, context: &Context<'_>, src: [Operand; 3]) -> fmt::Result {
    for (source, spec) in src.into_iter().zip(context.row.src) {
        if source != Operand::None {
            write_scalar(list.next()?, context, source, spec.operand_type)?;
        }
    }
    Ok(())
}
