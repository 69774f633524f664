//! Convolutions.

use super::{byte, common_float, pieces, wrapped};
use crate::ops::window::{Axis, Count, Window};
use crate::ops::{Facts, Inputs};
use crate::{DType, Fact, OpError, Tensor, shape};

/// The windows of a convolution, after checking the shapes of input and weights.
pub(super) fn axes(window: &Window, groups: usize, x: &[usize], w: &[usize]) -> Result<Vec<Axis>, OpError> {
    let wrong = || {
        OpError::invalid(format!(
            "the input has shape {x:?} and the weights {w:?}, expected [N, C, sizes] and [M, C / {groups}, sizes] \
             with M a multiple of {groups}"
        ))
    };
    let ([_, channels, spatial @ ..], [outputs, per_group, kernel @ ..]) = (x, w) else {
        return Err(wrong());
    };
    if spatial.is_empty() || per_group.checked_mul(groups) != Some(*channels) || outputs.checked_rem(groups) != Some(0)
    {
        return Err(wrong());
    }
    window.axes(spatial, kernel, Count::Whole)
}

fn shapes(window: &Window, groups: usize, dtype: DType, bias: usize, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let (x, w) = (inputs.get(0)?, inputs.get(1)?);
    let (Some(x), Some(w)) = (x.shape.as_deref(), w.shape.as_deref()) else { return Ok(Fact::unknown(dtype)) };
    let axes = axes(window, groups, x, w)?;
    check_bias(inputs.optional(bias), w[0])?;
    let mut to = vec![x[0], w[0]];
    to.extend(axes.iter().map(|axis| axis.output));
    if x.contains(&0) {
        shape::count_bounded(&to)?;
    }
    shape::count(&to)?;
    Ok(Fact::new(dtype, to))
}

pub(super) fn check_bias(bias: Option<&Fact>, channels: usize) -> Result<(), OpError> {
    match bias.and_then(|bias| bias.shape.as_deref()) {
        Some(found) if found != [channels] => {
            Err(OpError::invalid(format!("the bias has shape {found:?}, expected [{channels}]")))
        }
        _ => Ok(()),
    }
}

pub(super) fn infer(window: &Window, groups: usize, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    shapes(window, groups, common_float(inputs)?, 2, inputs)
}

pub(super) fn eval(window: &Window, groups: usize, inputs: &Inputs<'_>, to: &[usize]) -> Result<Tensor, OpError> {
    let (x, w) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let axes = axes(window, groups, x.shape(), w.shape())?;
    let bias = inputs.optional(2)?.map(Tensor::floats).transpose()?;
    let sums = convolve(&axes, groups, (x.shape(), &x.floats()?), (w.shape(), &w.floats()?), bias, to)?;
    Tensor::from_floats(x.dtype(), to, &sums)
}

pub(super) fn infer_integer(window: &Window, groups: usize, inputs: &Facts<'_>) -> Result<Fact, OpError> {
    (0..4).try_for_each(|index| byte(inputs, index))?;
    if let Some(bias) = inputs.optional(4).filter(|bias| bias.dtype != DType::I32) {
        return Err(OpError::dtype("a bias", bias.dtype));
    }
    shapes(window, groups, DType::I32, 4, inputs)
}

pub(super) fn eval_integer(
    window: &Window,
    groups: usize,
    inputs: &Inputs<'_>,
    to: &[usize],
) -> Result<Tensor, OpError> {
    let (x, w) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let axes = axes(window, groups, x.shape(), w.shape())?;
    // Padding consists of zero points, which are zeros after the subtraction.
    let less = |tensor: &Tensor, zero: Option<&Tensor>| -> Result<Vec<f64>, OpError> {
        let mut data = tensor.floats()?;
        if let Some(zero) = zero {
            let (zeros, steps) = (zero.floats()?, super::requantize::steps(zero.shape(), tensor.shape(), 0)?);
            let places = shape::offsets(tensor.shape(), &steps);
            data.iter_mut().zip(places).for_each(|(one, place)| *one -= zeros[place]);
        }
        Ok(data)
    };
    if let Some(zero) = inputs.optional(2)?
        && zero.len() != 1
    {
        return Err(OpError::unsupported(format!("a per-channel input zero point ({} elements)", zero.len())));
    }
    let (left, right) = (less(x, inputs.optional(2)?)?, less(w, inputs.optional(3)?)?);
    let bias = inputs.optional(4)?.map(Tensor::floats).transpose()?;
    wrapped(to, &convolve(&axes, groups, (x.shape(), &left), (w.shape(), &right), bias, to)?)
}

/// Where an element of the kernel meets input and output along one axis: start positions, number of
/// steps, and strides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    count: usize,
    from: usize,
    from_step: usize,
    into: usize,
    into_step: usize,
}

impl Level {
    /// Whether steps of the outer level start where those of this one end.
    fn precedes(&self, outer: &Self) -> bool {
        self.count * self.from_step == outer.from_step && self.count * self.into_step == outer.into_step
    }
}

/// The levels of every element of the kernel. `from` is what [`Axis`] calls input, or the output if
/// `transposed`.
pub(super) fn levels(axes: &[Axis], transposed: bool) -> Result<Vec<Vec<Level>>, OpError> {
    let kernel: Vec<usize> = axes.iter().map(|axis| axis.kernel).collect();
    let inner = shape::strides(&axes.iter().map(|axis| axis.input).collect::<Vec<_>>());
    let outer = shape::strides(&axes.iter().map(|axis| axis.output).collect::<Vec<_>>());
    let digits = shape::strides(&kernel);
    let one = |position: usize| {
        let mut levels: Vec<Level> = Vec::with_capacity(axes.len());
        for (index, axis) in axes.iter().enumerate().rev() {
            let tap = position / digits[index] % kernel[index];
            let windows = axis.windows(tap);
            let place = if windows.is_empty() { 0 } else { axis.position(windows.start, tap) };
            let mut level = Level {
                count: windows.len(),
                from: place * inner[index],
                from_step: axis.stride.saturating_mul(inner[index]),
                into: windows.start * outer[index],
                into_step: outer[index],
            };
            if transposed {
                std::mem::swap(&mut level.from, &mut level.into);
                std::mem::swap(&mut level.from_step, &mut level.into_step);
            }
            // Merge rows that are contiguous on both sides.
            match levels.last_mut().filter(|row| row.precedes(&level)) {
                Some(row) => {
                    row.count *= level.count;
                    row.from += level.from;
                    row.into += level.into;
                }
                None => levels.push(level),
            }
        }
        levels.reverse();
        levels
    };
    Ok((0..shape::count(&kernel)?).map(one).collect())
}

/// Adds a kernel element times all input elements that it meets.
pub(super) fn add(levels: &[Level], weight: f64, from: &[f64], into: &mut [f64]) {
    match levels {
        [] => {}
        [row] if row.count == 0 => {}
        [row] if row.from_step == 1 && row.into_step == 1 => {
            let from = &from[row.from..][..row.count];
            into[row.into..][..row.count].iter_mut().zip(from).for_each(|(into, from)| *into += weight * from);
        }
        [row] => {
            let from = from[row.from..].iter().step_by(row.from_step).take(row.count);
            into[row.into..]
                .iter_mut()
                .step_by(row.into_step)
                .zip(from)
                .for_each(|(into, from)| *into += weight * from);
        }
        [first, rest @ ..] => {
            for index in 0..first.count {
                let (from, into) = (&from[first.from + index * first.from_step..], &mut *into);
                add(rest, weight, from, &mut into[first.into + index * first.into_step..]);
            }
        }
    }
}

fn convolve(
    axes: &[Axis],
    groups: usize,
    (x_shape, x): (&[usize], &[f64]),
    (w_shape, w): (&[usize], &[f64]),
    bias: Option<Vec<f64>>,
    to: &[usize],
) -> Result<Vec<f64>, OpError> {
    let mut result = shape::filled(to, 0.0)?;
    if result.is_empty() {
        return Ok(result);
    }
    let plane = shape::count(&to[2..])?;
    let from_plane = shape::count(&x_shape[2..])?;
    let (outputs, channels) = (w_shape[0], w_shape[1]);
    // Weights without channels may have any kernel size.
    let levels = if channels == 0 { Vec::new() } else { levels(axes, false)? };
    let work = result.len().saturating_mul(channels).saturating_mul(levels.len());
    pieces(&mut result, plane, work, |index, into| {
        let (sample, output) = (index / outputs, index % outputs);
        into.fill(bias.as_ref().map_or(0.0, |bias| bias[output]));
        let first = sample * x_shape[1] + output / (outputs / groups) * channels;
        for channel in 0..channels {
            let from = &x[(first + channel) * from_plane..][..from_plane];
            let weights = &w[(output * channels + channel) * levels.len()..];
            levels.iter().zip(weights).for_each(|(levels, weight)| add(levels, *weight, from, into));
        }
    });
    Ok(result)
}
