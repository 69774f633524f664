//! Operations on coordinates: triangles, reversal, one-hot and hardmax.

use roci_graph::{DType, shape};
use roci_kernels::params::{ArgReduce, ElementwiseOp as Op};

use super::build::{A, B, C, Instr::Apply, Instr::ApplyWith, Instr::Save, along_axis, integer, temporary};
use super::strided::dimensions;
use super::{Context, element_type, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// Sets elements below or above a diagonal to zero.
pub(super) fn trilu(context: &mut Context<'_, '_>, upper: bool) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let diagonal = match context.fact(1) {
        Some(_) => context.value(1)?.integer()?,
        None => 0,
    };
    let rank = x.shape.len();
    // A larger offset is outside of every tensor that fits.
    let diagonal = integer(diagonal.clamp(-(1 << 30), 1 << 30) as i32);
    let (rows, columns) =
        (context.iota(rank, rank - 2, x.shape[rank - 2])?, context.iota(rank, rank - 1, x.shape[rank - 1])?);
    let keep = if upper { Op::GreaterEqualI32 } else { Op::LessEqualI32 };
    let code = [
        ApplyWith(Op::Load, integer(0)),
        Save(3),
        ApplyWith(Op::Load, C),
        ApplyWith(Op::SubI32, B),
        ApplyWith(keep, diagonal),
        ApplyWith(Op::Select, A),
    ];
    context.map(&code, &[&x, &rows, &columns], x.dtype, &x.shape)
}

/// Reverses the first elements of each sequence.
pub(super) fn reverse(context: &mut Context<'_, '_>, time_axis: usize) -> Result<DeviceTensor, LoweringError> {
    let (x, lengths) = (context.operand(0)?, context.operand(1)?);
    let (first, second) = (x.shape[0], x.shape[1]);
    let block: usize = x.shape[2..].iter().product();
    let times = context.iota(2, time_axis, x.shape[time_axis])?;
    let sequences = lengths.reshaped(along_axis(2, 1 - time_axis, lengths.count()));
    // For each element the time step that it is taken from, then the row in both axes.
    let code = [
        ApplyWith(Op::Load, A),
        Save(3),
        ApplyWith(Op::Load, B),
        ApplyWith(Op::SubI32, A),
        ApplyWith(Op::SubI32, integer(1)),
        Save(0),
        ApplyWith(Op::Load, A),
        ApplyWith(Op::LessI32, B),
        ApplyWith(Op::Select, temporary(0)),
    ];
    let time = context.map(&code, &[&times, &sequences], DType::I32, &[first, second])?;
    let others = context.iota(2, 1 - time_axis, x.shape[1 - time_axis])?;
    let row = match time_axis {
        0 => [ApplyWith(Op::Load, A), ApplyWith(Op::MulI32, integer(second as i32)), ApplyWith(Op::AddI32, B)],
        _ => [ApplyWith(Op::Load, B), ApplyWith(Op::MulI32, integer(second as i32)), ApplyWith(Op::AddI32, A)],
    };
    let rows = context.map(&row, &[&time, &others], DType::I32, &[first, second])?;
    let result = context.gather(&x.reshaped([first * second, block]), 0, &rows.reshaped([first * second]))?;
    Ok(result.reshaped(x.shape))
}

/// Inserts an axis with one value at the index and another elsewhere.
pub(super) fn one_hot(context: &mut Context<'_, '_>, axis: i64) -> Result<DeviceTensor, LoweringError> {
    let (indices, values) = (context.operand(0)?, context.operand(2)?);
    let result = context.output(0)?.shape()?.to_vec();
    let axis = shape::axis(axis, result.len())?;
    let depth = i32::try_from(result[axis]).map_err(|_| LoweringError::unsupported("an axis of that length"))?;
    let mut unsqueezed = indices.shape.clone();
    unsqueezed.insert(axis, 1);
    let ramp = context.iota(result.len(), axis, result[axis])?;
    let mut code = vec![ApplyWith(Op::Load, A)];
    if indices.dtype.is_float() {
        code.push(Apply(Op::F32ToI32));
    }
    // Negative indices count from the end. Indices out of range select nothing.
    code.extend([
        Save(3),
        ApplyWith(Op::AddI32, integer(depth)),
        Save(0),
        ApplyWith(Op::Load, temporary(3)),
        ApplyWith(Op::LessI32, integer(0)),
        ApplyWith(Op::Select, temporary(0)),
        ApplyWith(Op::EqualWord, B),
    ]);
    let mask = context.map(&code, &[&indices.reshaped(unsqueezed), &ramp], DType::Bool, &result)?;
    let value =
        |context: &mut Context<'_, '_>, at: usize| context.strided_copy(&values, at, &dimensions(&[1], [1]), []);
    let (off, on) = (value(context, 0)?, value(context, 1)?);
    let code = [ApplyWith(Op::Load, C), Save(3), ApplyWith(Op::Load, A), ApplyWith(Op::Select, B)];
    context.map(&code, &[&mask, &on, &off], values.dtype, &result)
}

/// 1 for the first maximum of each row, 0 for the other elements.
pub(super) fn hardmax(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    axis: i64,
    to_end: bool,
) -> Result<DeviceTensor, LoweringError> {
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
        numbers: element_type(x.dtype)?.word(),
        last: 0,
    };
    let best = context.new_tensor(DType::I32, [outer, 1, inner]);
    context.segment().dispatch("arg_max", &params, &[x.tensor_id], best.tensor_id);
    let ramp = context.iota(3, 1, size)?;
    let code = [ApplyWith(Op::Load, A), ApplyWith(Op::EqualWord, B), Apply(Op::U32ToF32)];
    Ok(context.map(&code, &[&best, &ramp], x.dtype, &[outer, size, inner])?.reshaped(x.shape.clone()))
}
