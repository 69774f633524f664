//! Pooling windows.

use super::{Pool, PoolKind};
use crate::ops::accumulator::{Accumulator, wide};
use crate::ops::window::{Axis, Count, justified};
use crate::{DType, OpError, Tensor, shape};

impl Pool {
    /// The windows on an input of this shape.
    pub(super) fn axes(&self, x: &[usize]) -> Result<Vec<Axis>, OpError> {
        let [_, _, spatial @ ..] = x else {
            return Err(OpError::invalid(format!("the input has shape {x:?}, expected [N, C, sizes]")));
        };
        let Self::Slide { window, ceil, .. } = self else {
            let whole =
                |&input: &usize| Axis { input, output: 1, kernel: input, stride: 1, dilation: 1, before: 0, after: 0 };
            return Ok(spatial.iter().map(whole).collect());
        };
        let axes = window.axes(spatial, &window.kernel, Count::of_pool(*ceil))?;
        for axis in &axes {
            // Other runtimes require it too; windows on padding only have no value.
            let extent = Axis::extent(axis.kernel, axis.dilation).unwrap_or(0);
            if axis.before >= extent || axis.after >= extent || !justified(axis.kernel, axis.input) {
                return Err(OpError::invalid(format!(
                    "a window of {:?} with {window} does not fit an input of shape {x:?}; \
                     each pad must be smaller than the window",
                    window.kernel
                )));
            }
        }
        Ok(axes)
    }
}

pub(super) fn shape(axes: Vec<Axis>, x: &[usize]) -> Result<Vec<usize>, OpError> {
    let mut to = x[..2].to_vec();
    to.extend(axes.iter().map(|axis| axis.output));
    if x.contains(&0) {
        shape::count_bounded(&to)?;
    }
    shape::count(&to)?;
    Ok(to)
}

pub(super) fn eval(
    kind: PoolKind,
    axes: &[Axis],
    x: &Tensor,
    to: &[usize],
    indices: bool,
) -> Result<Vec<Tensor>, OpError> {
    wide!(x.dtype(), eval_in(kind, axes, x, to, indices))
}

fn eval_in<W: Accumulator>(
    kind: PoolKind,
    axes: &[Axis],
    x: &Tensor,
    to: &[usize],
    indices: bool,
) -> Result<Vec<Tensor>, OpError> {
    let data = W::read(x)?;
    let count = shape::count(to)?;
    let (mut result, mut places) = (shape::reserve(to)?, Vec::new());
    // The value of a window on padding only.
    let least = W::of(if x.dtype() == DType::I8 { i8::MIN.into() } else { f64::NEG_INFINITY });
    let windows = shape::count(&to[2..])?.max(1);
    let from_plane = shape::count(&x.shape()[2..])?;
    let steps = shape::strides(&x.shape()[2..]);
    let digits = shape::strides(&to[2..]);
    // Offsets of a window's elements in C order, and their numbering.
    let mut offsets = Vec::new();
    for index in 0..count {
        let (plane, place) = (index / windows, index % windows);
        let output = |axis: usize| place / digits[axis] % to[2 + axis];
        offsets.clear();
        offsets.push(0);
        for (axis, figures) in axes.iter().enumerate() {
            let (at, step) = (output(axis), steps[axis]);
            let taps = figures.taps(at);
            offsets = offsets
                .iter()
                .flat_map(|&start| taps.clone().map(move |tap| start + figures.position(at, tap) * step))
                .collect();
        }
        let start = plane * from_plane;
        let elements = offsets.iter().map(|offset| data[start + offset]);
        match kind {
            PoolKind::Max { column_major } => {
                let mut best: Option<(usize, W)> = None;
                for (&offset, one) in offsets.iter().zip(elements) {
                    if best.is_none_or(|(_, most)| !most.is_nan() && (one > most || one.is_nan())) {
                        best = Some((offset, one));
                    }
                }
                let (offset, most) = best.unwrap_or((0, least));
                result.push(most);
                if indices {
                    let within = if column_major { reversed(offset, &x.shape()[2..]) } else { offset };
                    places.push((start + within) as i64);
                }
            }
            PoolKind::Average { with_padding } => {
                let sum = elements.fold(W::ZERO, W::plus);
                let all = axes.iter().enumerate().map(|(axis, figures)| figures.taps_with_padding(output(axis)));
                result.push(sum.over(if with_padding { all.fold(1, usize::saturating_mul) } else { offsets.len() }));
            }
            PoolKind::Lp { order } => {
                let order = f64::from(order);
                let sum: f64 = elements.map(|one| one.float().abs().powf(order)).sum();
                result.push(W::of(sum.powf(1.0 / order)));
            }
        }
    }
    let mut produced = vec![W::write(x.dtype(), to, result)?];
    if indices {
        produced.push(Tensor::new(to, places)?);
    }
    Ok(produced)
}

/// Converts a C-order offset to column-major order.
fn reversed(offset: usize, sizes: &[usize]) -> usize {
    let (mut left, mut result) = (offset, 0);
    for size in sizes.iter().rev() {
        result = result * size + left % size;
        left /= size;
    }
    result
}
