//! SMEM, DS, FLAT and MUBUF.

use std::fmt::{self, Write};

use super::operand::{invalid, range, write as operand, write_scalar};
use super::{Context, OperandList, flags};
use crate::rows::{OperandType, flag};
use crate::{Fields, Operand, Segment};

pub(super) fn scalar(out: &mut String, context: &Context<'_>, fields: &Fields) -> fmt::Result {
    let Fields::ScalarMemory { data, base, offset, soffset, glc, dlc } = *fields else { return Err(fmt::Error) };
    let row = context.row;
    out.write_str(row.name)?;
    let mut list = OperandList::new(out);
    if row.dst[0].operand_type != OperandType::None {
        let operand_type = row.dst[0].operand_type;
        operand(list.next()?, context, data, operand_type)?;
        let bits = operand_type.bits(context.wave);
        if bits == 32 && matches!(data, Operand::Scalar(125..=127)) {
            invalid(list.out, "SReg_32_XM0_XEXEC")?;
        } else if bits == 64 && data == Operand::EXEC {
            invalid(list.out, "SReg_64_XEXEC")?;
        }
    }
    if base != Operand::None {
        operand(list.next()?, context, base, row.src[0].operand_type)?;
    }
    if row.src[1].operand_type == OperandType::Off {
        match soffset {
            Operand::None => hex(list.next()?, offset)?,
            register => {
                operand(list.next()?, context, register, OperandType::R32)?;
                if offset != 0 {
                    out.write_str(" offset:")?;
                    hex(out, offset)?;
                }
            }
        }
        return flags(out, &[("glc", glc), ("dlc", dlc)]);
    }
    Ok(())
}

fn hex(out: &mut String, value: i32) -> fmt::Result {
    write!(out, "{}{:#x}", if value < 0 { "-" } else { "" }, value.unsigned_abs())
}

pub(super) fn lds(out: &mut String, context: &Context<'_>, fields: &Fields) -> fmt::Result {
    let Fields::Lds { dst, addr, data, offset, gds } = *fields else { return Err(fmt::Error) };
    let row = context.row;
    out.write_str(row.name)?;
    let mut list = OperandList::new(out);
    let codes = [row.dst[0].operand_type, row.src[0].operand_type, row.src[1].operand_type, row.src[2].operand_type];
    for (register, operand_type) in [dst, addr, data[0], data[1]].into_iter().zip(codes) {
        if register != Operand::None {
            operand(list.next()?, context, register, operand_type)?;
        }
    }
    let [low, high] = offset.to_le_bytes();
    if row.flags & flag::SWIZZLE != 0 {
        swizzle(out, offset)?;
    } else if row.flags & flag::TWO != 0 {
        for (name, value) in [("offset0", low), ("offset1", high)] {
            if value != 0 {
                write!(out, " {name}:{value}")?;
            }
        }
    } else if offset != 0 {
        write!(out, " offset:{offset}")?;
    }
    flags(out, &[("gds", gds)])
}

/// The pattern of `ds_swizzle_b32`, in the most specific notation that fits.
fn swizzle(out: &mut String, pattern: u16) -> fmt::Result {
    if pattern == 0 {
        return Ok(());
    }
    out.write_str(" offset:")?;
    if pattern & 0x8000 != 0 {
        if pattern & 0xff00 == 0x8000 {
            let lane = |index: u16| pattern >> (2 * index) & 3;
            return write!(out, "swizzle(QUAD_PERM,{},{},{},{})", lane(0), lane(1), lane(2), lane(3));
        }
        return match pattern >> 13 {
            0b111 => write!(out, "swizzle(FFT,{})", pattern & 0x1f),
            0b110 => write!(out, "swizzle(ROTATE,{},{})", pattern >> 10 & 1, pattern >> 5 & 0x1f),
            _ => write!(out, "{pattern}"),
        };
    }
    let (and, or, xor) = (pattern & 0x1f, pattern >> 5 & 0x1f, pattern >> 10 & 0x1f);
    if and == 0x1f && or == 0 && xor.count_ones() == 1 {
        return write!(out, "swizzle(SWAP,{xor})");
    }
    if and == 0x1f && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        return write!(out, "swizzle(REVERSE,{})", xor + 1);
    }
    let group = 32 - and;
    if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        return write!(out, "swizzle(BROADCAST,{group},{or})");
    }
    out.write_str("swizzle(BITMASK_PERM,\"")?;
    for index in (0..5).rev() {
        let bit = |value: u16| value >> index & 1;
        out.write_char(match (bit(and), bit(or), bit(xor)) {
            (0, 0, 0) => '0',
            (0, _, 0) | (1, 1, 0) => '1',
            (0, 0, _) => '1',
            (0, _, _) | (1, 1, _) => '0',
            (_, 0, 0) => 'p',
            _ => 'i',
        })?;
    }
    out.write_str("\")")
}

pub(super) fn flat(out: &mut String, context: &Context<'_>, fields: &Fields) -> fmt::Result {
    let Fields::Flat { segment, dst, addr, data, saddr, offset, glc, slc, dlc, lds } = *fields else {
        return Err(fmt::Error);
    };
    let row = context.row;
    out.write_str(row.name)?;
    let mut list = OperandList::new(out);
    if dst != Operand::None {
        operand(list.next()?, context, dst, row.dst[0].operand_type)?;
    }
    let address = match segment {
        Segment::Flat => OperandType::V64,
        Segment::Global if saddr == Operand::None => OperandType::V64,
        _ => OperandType::V32,
    };
    if row.flags & flag::ADDTID == 0 {
        operand(list.next()?, context, addr, address)?;
    }
    if data != Operand::None {
        operand(list.next()?, context, data, row.src[0].operand_type)?;
    }
    if segment != Segment::Flat {
        let (operand_type, excluded, class) = match segment {
            Segment::Global => (OperandType::R64, Operand::EXEC, "SReg_64_XEXEC_XNULL"),
            _ => (OperandType::R32, Operand::Scalar(127), "SReg_32_XEXEC_HI"),
        };
        operand(list.next()?, context, saddr, operand_type)?;
        if saddr == excluded && row.flags & flag::ADDTID == 0 {
            invalid(out, class)?;
        }
    }
    if offset != 0 {
        write!(out, " offset:{offset}")?;
    }
    flags(out, &[("glc", glc), ("slc", slc), ("dlc", dlc), ("lds", lds)])
}

pub(super) fn buffer(out: &mut String, context: &Context<'_>, fields: &Fields) -> fmt::Result {
    let Fields::Buffer { data, vaddr, resource, soffset, offset, offen, idxen, glc, slc, dlc, tfe, lds } = *fields
    else {
        return Err(fmt::Error);
    };
    let row = context.row;
    out.write_str(row.name)?;
    if row.dst[0].operand_type == OperandType::None {
        return Ok(());
    }
    let mut list = OperandList::new(out);
    if let Operand::Vgpr(number) = data {
        let status = if tfe { 32 } else { 0 };
        range(list.next()?, "v", number.into(), row.dst[0].operand_type.bits(context.wave) + status)?;
    }
    operand(list.next()?, context, vaddr, if offen && idxen { OperandType::V64 } else { OperandType::V32 })?;
    operand(list.next()?, context, resource, OperandType::R128)?;
    write_scalar(list.next()?, context, soffset, OperandType::B32)?;
    flags(out, &[("idxen", idxen), ("offen", offen)])?;
    if offset != 0 {
        write!(out, " offset:{offset}")?;
    }
    flags(out, &[("glc", glc), ("slc", slc), ("dlc", dlc), ("tfe", tfe), ("lds", lds)])
}
