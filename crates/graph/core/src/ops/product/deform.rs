//! Deformable convolution.

use super::conv::{axes, check_bias};
use super::{common_float, pieces};
use crate::ops::window::Window;
use crate::ops::{Facts, Inputs};
use crate::{Fact, OpError, Tensor, shape};

pub(super) fn infer(window: &Window, groups: usize, offset_groups: usize, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let dtype = common_float(inputs)?;
    let (x, w, offsets) = (inputs.get(0)?, inputs.get(1)?, inputs.get(2)?);
    let (Some(x), Some(w)) = (x.shape.as_deref(), w.shape.as_deref()) else { return Ok(Fact::unknown(dtype)) };
    let axes = axes(window, groups, x, w)?;
    if axes.len() != 2 {
        return Err(OpError::unsupported(format!("a deformable convolution of {} spatial axes", axes.len())));
    }
    if x[1].checked_rem(offset_groups) != Some(0) {
        return Err(OpError::invalid(format!(
            "{} channels are not divisible into {offset_groups} offset groups",
            x[1]
        )));
    }
    check_bias(inputs.optional(3), w[0])?;
    let spatial = [axes[0].output, axes[1].output];
    let taps = shape::count(&[offset_groups, axes[0].kernel, axes[1].kernel])?;
    for (name, found, each) in [("the offset tensor", Some(offsets), 2), ("the mask", inputs.optional(4), 1)] {
        let expected = [x[0], taps * each, spatial[0], spatial[1]];
        if let Some(found) = found.and_then(|fact| fact.shape.as_deref())
            && found != expected
        {
            return Err(OpError::invalid(format!("{name} has shape {found:?}, expected {expected:?}")));
        }
    }
    let to = [x[0], w[0], spatial[0], spatial[1]];
    shape::count(&to)?;
    Ok(Fact::new(dtype, to))
}

pub(super) fn eval(
    window: &Window,
    groups: usize,
    offset_groups: usize,
    inputs: &Inputs<'_>,
    to: &[usize],
) -> Result<Tensor, OpError> {
    let (x, w) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let (data, weights, offsets) = (x.floats()?, w.floats()?, inputs.tensor(2)?.floats()?);
    let bias = inputs.optional(3)?.map(Tensor::floats).transpose()?;
    let mask = inputs.optional(4)?.map(Tensor::floats).transpose()?;
    let axes = axes(window, groups, x.shape(), w.shape())?;
    let (rows, columns) = (axes[0], axes[1]);
    let (plane, from_plane) = (rows.output * columns.output, rows.input * columns.input);
    let (channels, outputs, per_group) = (x.shape()[1], w.shape()[0], w.shape()[1]);
    let taps = rows.kernel * columns.kernel;
    let mut result = shape::filled(to, 0.0)?;
    let work = result.len().saturating_mul(per_group).saturating_mul(taps);
    pieces(&mut result, plane, work, |index, into| {
        let (sample, output) = (index / outputs, index % outputs);
        for (place, into) in into.iter_mut().enumerate() {
            let (row, column) = (place / columns.output, place % columns.output);
            let mut sum = bias.as_ref().map_or(0.0, |bias| bias[output]);
            for within in 0..per_group {
                let channel = output / (outputs / groups) * per_group + within;
                let from = &data[(sample * channels + channel) * from_plane..][..from_plane];
                let group = channel / (channels / offset_groups);
                for tap in 0..taps {
                    let which = (sample * offset_groups + group) * taps + tap;
                    let moved = |axis: usize| offsets[(which * 2 + axis) * plane + place];
                    let at = |axis: &crate::ops::window::Axis, output: usize, tap: usize| {
                        (output * axis.stride + tap * axis.dilation) as f64 - axis.before as f64
                    };
                    let y = at(&rows, row, tap / columns.kernel) + moved(0);
                    let x = at(&columns, column, tap % columns.kernel) + moved(1);
                    let sampled = between(from, [rows.input, columns.input], y, x);
                    let sampled = sampled * mask.as_ref().map_or(1.0, |mask| mask[which * plane + place]);
                    sum += sampled * weights[(output * per_group + within) * taps + tap];
                }
            }
            *into = sum;
        }
    });
    Tensor::from_floats(x.dtype(), to, &result)
}

/// Bilinear interpolation, with zeros outside.
fn between(plane: &[f64], [rows, columns]: [usize; 2], y: f64, x: f64) -> f64 {
    if !(y > -1.0 && x > -1.0 && y < rows as f64 && x < columns as f64) {
        return 0.0;
    }
    let (top, left) = (y.floor(), x.floor());
    let at = |row: f64, column: f64| {
        let inside = row >= 0.0 && column >= 0.0 && row < rows as f64 && column < columns as f64;
        if inside { plane[row as usize * columns + column as usize] } else { 0.0 }
    };
    let (down, right) = (y - top, x - left);
    at(top, left) * (1.0 - down) * (1.0 - right)
        + at(top, left + 1.0) * (1.0 - down) * right
        + at(top + 1.0, left) * down * (1.0 - right)
        + at(top + 1.0, left + 1.0) * down * right
}
