//! Reductions along axes.

use super::ReduceKind;
use crate::ops::accumulator::Accumulator;
use crate::{DType, OpError, Tensor, shape};

/// Whether the first is more extreme than the second; NaN is the most extreme.
fn beyond<W: Accumulator>(largest: bool, one: W, other: W) -> bool {
    !other.is_nan() && (one.is_nan() || if largest { one > other } else { one < other })
}

/// Reduces the axes into a tensor of shape `to`.
pub(super) fn reduce<W: Accumulator>(
    fold: ReduceKind,
    x: &Tensor,
    axes: &[usize],
    to: &[usize],
) -> Result<Tensor, OpError> {
    let data = W::read(x)?;
    let count = if data.is_empty() { shape::count_bounded(to)? } else { shape::count(to)? };
    if count == 0 {
        return W::write(x.dtype(), to, Vec::new());
    }
    let (starts, taken) = shape::fold_offsets(x.shape(), axes);
    let bounds = bounds(x.dtype());
    let one = |start: &usize| fold_one(fold, taken.len(), bounds, taken.iter().map(|offset| data[start + offset]));
    W::write(x.dtype(), to, starts.iter().map(one).collect())
}

/// The minimum and maximum of a type.
fn bounds<W: Accumulator>(dtype: DType) -> [W; 2] {
    let (low, high) = match dtype {
        DType::Bool => (0.0, 1.0),
        DType::U8 => (0.0, u8::MAX.into()),
        DType::U16 => (0.0, u16::MAX.into()),
        DType::U32 => (0.0, u32::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        // The largest 64-bit integers round up when converted to floats.
        DType::U64 => return [W::ZERO, W::of(u64::MAX as f64).plus(W::of(-1.0))],
        DType::I64 => return [W::of(i64::MIN as f64), W::of(i64::MAX as f64).plus(W::of(-1.0))],
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    [W::of(low), W::of(high)]
}

fn fold_one<W: Accumulator>(
    fold: ReduceKind,
    count: usize,
    [low, high]: [W; 2],
    elements: impl Iterator<Item = W> + Clone,
) -> W {
    let sum = |each: fn(W) -> W| elements.clone().fold(W::ZERO, |sum, one| sum.plus(each(one)));
    let extreme = |largest: bool| {
        let best = elements.clone().reduce(|best, one| if beyond(largest, one, best) { one } else { best });
        best.unwrap_or(if largest { low } else { high })
    };
    // The logarithm of zero becomes the minimum of an integer type.
    let rounded = |float: f64| {
        let one = W::of(float);
        if one < low { low } else { one }
    };
    match fold {
        ReduceKind::Sum => sum(|one| one),
        ReduceKind::Mean => sum(|one| one).over(count),
        ReduceKind::Max => extreme(true),
        ReduceKind::Min => extreme(false),
        ReduceKind::Product => elements.fold(W::ONE, W::times),
        ReduceKind::L1 => sum(W::absolute),
        ReduceKind::L2 => W::of(sum(|one| one.times(one)).float().sqrt()),
        ReduceKind::SumSquare => sum(|one| one.times(one)),
        ReduceKind::LogSum => rounded(sum(|one| one).float().ln()),
        ReduceKind::LogSumExp => {
            let floats = elements.map(W::float);
            let most = floats.clone().fold(f64::NEG_INFINITY, f64::max);
            // An infinite maximum would make the differences NaN.
            let most = if most.is_finite() { most } else { 0.0 };
            rounded(floats.map(|one| (one - most).exp()).sum::<f64>().ln() + most)
        }
    }
}

/// Indices of the extrema along an axis.
pub(super) fn arg_extreme<W: Accumulator>(
    x: &Tensor,
    axis: usize,
    largest: bool,
    last: bool,
    to: &[usize],
) -> Result<Tensor, OpError> {
    let data = W::read(x)?;
    if shape::count(to)? == 0 {
        return Tensor::zeros(DType::I64, to);
    }
    let (starts, taken) = shape::fold_offsets(x.shape(), &[axis]);
    let one = |start: &usize| {
        let mut best = 0;
        for index in 1..taken.len() {
            let (new, old) = (data[start + taken[index]], data[start + taken[best]]);
            if beyond(largest, new, old) || last && new == old {
                best = index;
            }
        }
        best as i64
    };
    Tensor::new(to, starts.iter().map(one).collect())
}

/// Cumulative sums or products along an axis.
pub(super) fn cumulate<W: Accumulator>(
    x: &Tensor,
    axis: usize,
    product: bool,
    exclusive: bool,
    reverse: bool,
) -> Result<Tensor, OpError> {
    let data = W::read(x)?;
    if data.is_empty() {
        return Ok(x.clone());
    }
    let mut result = vec![W::ZERO; data.len()];
    let (starts, mut taken) = shape::fold_offsets(x.shape(), &[axis]);
    if reverse {
        taken.reverse();
    }
    for start in starts {
        let mut running = if product { W::ONE } else { W::ZERO };
        for offset in taken.iter().map(|offset| start + offset) {
            let before = running;
            running = if product { running.times(data[offset]) } else { running.plus(data[offset]) };
            result[offset] = if exclusive { before } else { running };
        }
    }
    W::write(x.dtype(), x.shape(), result)
}
