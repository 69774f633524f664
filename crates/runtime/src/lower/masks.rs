//! Operations that are about where an element is: its coordinates are compared with something.

use roci_graph::{DType, shape};
use roci_kernels::params::{ArgReduce, ChainOp as Op};

use super::build::{A, B, C, Step::Do, Step::Save, Step::With, along, integer, temporary};
use super::strided::dimensions;
use super::{Context, Operand, numbers, word};
use crate::error::Refusal;

/// Zeros below or above a diagonal.
pub(super) fn trilu(context: &mut Context<'_, '_>, upper: bool) -> Result<Operand, Refusal> {
    let x = context.operand(0)?;
    let diagonal = match context.fact(1) {
        Some(_) => context.value(1)?.integer()?,
        None => 0,
    };
    let rank = x.shape.len();
    // Beyond these no diagonal of a tensor that fits lies.
    let diagonal = integer(diagonal.clamp(-(1 << 30), 1 << 30) as i32);
    let (rows, columns) =
        (context.ramp(rank, rank - 2, x.shape[rank - 2])?, context.ramp(rank, rank - 1, x.shape[rank - 1])?);
    let keep = if upper { Op::GreaterEqualI32 } else { Op::LessEqualI32 };
    let code = [
        With(Op::Load, integer(0)),
        Save(3),
        With(Op::Load, C),
        With(Op::SubI32, B),
        With(keep, diagonal),
        With(Op::Select, A),
    ];
    context.map(&code, &[&x, &rows, &columns], x.dtype, &x.shape)
}

/// The front of each sequence reversed.
pub(super) fn reverse(context: &mut Context<'_, '_>, time_axis: usize) -> Result<Operand, Refusal> {
    let (x, lengths) = (context.operand(0)?, context.operand(1)?);
    let (first, second) = (x.shape[0], x.shape[1]);
    let block: usize = x.shape[2..].iter().product();
    let times = context.ramp(2, time_axis, x.shape[time_axis])?;
    let sequences = lengths.reshaped(along(2, 1 - time_axis, lengths.count()));
    // For each place the time that it takes from, then the row of both axes that this is.
    let code = [
        With(Op::Load, A),
        Save(3),
        With(Op::Load, B),
        With(Op::SubI32, A),
        With(Op::SubI32, integer(1)),
        Save(0),
        With(Op::Load, A),
        With(Op::LessI32, B),
        With(Op::Select, temporary(0)),
    ];
    let time = context.map(&code, &[&times, &sequences], DType::I32, &[first, second])?;
    let others = context.ramp(2, 1 - time_axis, x.shape[1 - time_axis])?;
    let row = match time_axis {
        0 => [With(Op::Load, A), With(Op::MulI32, integer(second as i32)), With(Op::AddI32, B)],
        _ => [With(Op::Load, B), With(Op::MulI32, integer(second as i32)), With(Op::AddI32, A)],
    };
    let rows = context.map(&row, &[&time, &others], DType::I32, &[first, second])?;
    let made = context.taken(&x.reshaped([first * second, block]), 0, &rows.reshaped([first * second]))?;
    Ok(made.reshaped(x.shape))
}

/// A new axis with one value where an index points, and another elsewhere.
pub(super) fn one_hot(context: &mut Context<'_, '_>, axis: i64) -> Result<Operand, Refusal> {
    let (indices, values) = (context.operand(0)?, context.operand(2)?);
    let made = context.output(0)?.shape()?.to_vec();
    let axis = shape::axis(axis, made.len())?;
    let depth = i32::try_from(made[axis]).map_err(|_| Refusal::unsupported("an axis of that length"))?;
    let mut unsqueezed = indices.shape.clone();
    unsqueezed.insert(axis, 1);
    let ramp = context.ramp(made.len(), axis, made[axis])?;
    let mut code = vec![With(Op::Load, A)];
    if indices.dtype.is_float() {
        code.push(Do(Op::F32ToI32));
    }
    // Those below zero count from the end; what points outside has no place.
    code.extend([
        Save(3),
        With(Op::AddI32, integer(depth)),
        Save(0),
        With(Op::Load, temporary(3)),
        With(Op::LessI32, integer(0)),
        With(Op::Select, temporary(0)),
        With(Op::EqualWord, B),
    ]);
    let mask = context.map(&code, &[&indices.reshaped(unsqueezed), &ramp], DType::Bool, &made)?;
    let value = |context: &mut Context<'_, '_>, at: usize| context.arranged(&values, at, &dimensions(&[1], [1]), []);
    let (off, on) = (value(context, 0)?, value(context, 1)?);
    let code = [With(Op::Load, C), Save(3), With(Op::Load, A), With(Op::Select, B)];
    context.map(&code, &[&mask, &on, &off], values.dtype, &made)
}

/// One for the first of the largest of each row, zero for the rest.
pub(super) fn hardmax(context: &mut Context<'_, '_>, x: &Operand, axis: i64, to_end: bool) -> Result<Operand, Refusal> {
    let rank = x.shape.len();
    let (outer, size, inner) = if to_end {
        let first = if axis == rank as i64 { rank } else { shape::axis(axis, rank)? };
        (x.shape[..first].iter().product(), x.shape[first..].iter().product(), 1)
    } else {
        shape::around(&x.shape, shape::axis(axis, rank)?)
    };
    let params = ArgReduce {
        outer: word(outer)?,
        axis: word(size)?,
        inner: word(inner)?,
        numbers: numbers(x.dtype)?.word(),
        last: 0,
    };
    let best = context.new_tensor(DType::I32, [outer, 1, inner]);
    context.segment().run("arg_max", &params, &[x.slot], best.slot);
    let ramp = context.ramp(3, 1, size)?;
    let code = [With(Op::Load, A), With(Op::EqualWord, B), Do(Op::U32ToF32)];
    Ok(context.map(&code, &[&best, &ramp], x.dtype, &[outer, size, inner])?.reshaped(x.shape.clone()))
}
