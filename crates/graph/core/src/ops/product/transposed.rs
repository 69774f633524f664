//! Transposed convolutions.

use super::conv::{add, check_bias, levels};
use super::{common_float, pieces};
use crate::ops::window::{Axis, Padding, Window, justified};
use crate::ops::{Facts, Inputs};
use crate::{Fact, OpError, Tensor, shape};

/// The windows of the convolution whose gradient this is: its input is the output here.
pub fn transposed_axes(
    window: &Window,
    groups: usize,
    output_padding: &[usize],
    output_shape: Option<&[usize]>,
    x: &[usize],
    w: &[usize],
) -> Result<Vec<Axis>, OpError> {
    let wrong = || {
        OpError::invalid(format!(
            "the input has shape {x:?} and the weights {w:?}, expected [N, C, sizes] and [C, M / {groups}, sizes] \
             with C a multiple of {groups}"
        ))
    };
    let ([_, channels, spatial @ ..], [inputs, _, kernel @ ..]) = (x, w) else {
        return Err(wrong());
    };
    let rank = spatial.len();
    let fits = |list: &[usize]| list.is_empty() || list.len() == rank;
    if rank == 0 || inputs != channels || channels.checked_rem(groups) != Some(0) || kernel.len() != rank {
        return Err(wrong());
    }
    let fine = fits(&window.strides) && fits(&window.dilations) && fits(output_padding);
    if !fine || !window.kernel.is_empty() && window.kernel != kernel {
        return Err(OpError::invalid(format!(
            "strides {:?}, dilations {:?} and output padding {output_padding:?} must have one entry per spatial axis \
             ({rank}), and `kernel_shape` {:?} must match the weights' {kernel:?}",
            window.strides, window.dilations, window.kernel
        )));
    }
    // The list may also contain the sizes of batch and channels.
    let output_shape = output_shape.map(|sizes| if sizes.len() == rank + 2 { &sizes[2..] } else { sizes });
    if let Some(sizes) = output_shape.filter(|sizes| sizes.len() != rank) {
        return Err(OpError::invalid(format!("the output shape is {sizes:?}, expected {rank} spatial sizes")));
    }
    let one = |axis: usize| {
        let more = output_padding.get(axis).copied().unwrap_or(0);
        let expected = output_shape.map(|sizes| sizes[axis]);
        one_axis(window, axis, spatial[axis], kernel[axis], more, expected).ok_or_else(|| {
            OpError::invalid(format!("a kernel of {kernel:?} does not fit on {spatial:?} with {window}"))
        })
    };
    (0..rank).map(one).collect()
}

fn one_axis(
    window: &Window,
    axis: usize,
    size: usize,
    kernel: usize,
    more: usize,
    expected: Option<usize>,
) -> Option<Axis> {
    let (stride, dilation) = (window.stride(axis)?, window.dilation(axis)?);
    let extent = Axis::extent(kernel, dilation)?;
    // Larger attributes would allocate much memory for small operands.
    if !justified(extent.max(more), kernel) || !justified(stride, 1) {
        return None;
    }
    let full = size.checked_sub(1)?.checked_mul(stride)?.checked_add(more)?.checked_add(extent)?;
    let same = match &window.padding {
        Padding::Explicit(pads) if !pads.is_empty() && pads.get(axis).is_none() => return None,
        Padding::Explicit(_) => None,
        _ => Some(size.checked_mul(stride)?),
    };
    let (before, output) = match (expected.or(same), &window.padding) {
        (None, Padding::Explicit(pads)) => {
            let (before, after) = pads.get(axis).copied().unwrap_or((0, 0));
            (before, full.checked_sub(before)?.checked_sub(after)?)
        }
        (target, padding) => {
            let target = target.filter(|target| justified(*target, full))?;
            let total = full.saturating_sub(target);
            let before = if *padding == Padding::SameUpper { total / 2 } else { total - total / 2 };
            // Without an output shape, the size follows from the padding.
            (before, if expected.is_some() { target } else { full - total })
        }
    };
    Some(Axis { input: output, output: size, kernel, stride, dilation, before, after: 0 })
}

pub(super) fn infer(
    window: &Window,
    groups: usize,
    output_padding: &[usize],
    output_shape: Option<&[usize]>,
    inputs: &Facts<'_>,
) -> Result<Fact, OpError> {
    let dtype = common_float(inputs)?;
    let (x, w) = (inputs.get(0)?, inputs.get(1)?);
    let (Some(x), Some(w)) = (x.shape.as_deref(), w.shape.as_deref()) else { return Ok(Fact::unknown(dtype)) };
    let axes = transposed_axes(window, groups, output_padding, output_shape, x, w)?;
    let channels = w[1].checked_mul(groups).ok_or_else(|| OpError::TooLarge(w.to_vec()))?;
    check_bias(inputs.optional(2), channels)?;
    let mut to = vec![x[0], channels];
    to.extend(axes.iter().map(|axis| axis.input));
    if x.contains(&0) {
        shape::count_bounded(&to)?;
    }
    shape::count(&to)?;
    Ok(Fact::new(dtype, to))
}

pub(super) fn eval(
    window: &Window,
    groups: usize,
    output_padding: &[usize],
    output_shape: Option<&[usize]>,
    inputs: &Inputs<'_>,
    to: &[usize],
) -> Result<Tensor, OpError> {
    let (x, w) = (inputs.tensor(0)?, inputs.tensor(1)?);
    let axes = transposed_axes(window, groups, output_padding, output_shape, x.shape(), w.shape())?;
    let bias = inputs.optional(2)?.map(Tensor::floats).transpose()?;
    let mut result = shape::filled(to, 0.0)?;
    let (data, weights) = (x.floats()?, w.floats()?);
    if result.is_empty() {
        return Tensor::from_floats(x.dtype(), to, &result);
    }
    // Weights without channels may have any kernel size.
    let levels = if data.is_empty() { Vec::new() } else { levels(&axes, true)? };
    let (plane, from_plane) = (shape::count(&to[2..])?, shape::count(&x.shape()[2..])?);
    let (channels, per_group) = (x.shape()[1], w.shape()[1]);
    let work = data.len().saturating_mul(per_group).saturating_mul(levels.len());
    pieces(&mut result, plane, work, |index, into| {
        let (sample, output) = (index / to[1], index % to[1]);
        into.fill(bias.as_ref().map_or(0.0, |bias| bias[output]));
        let (group, within) = (output / per_group, output % per_group);
        for channel in group * (channels / groups)..(group + 1) * (channels / groups) {
            let from = &data[(sample * channels + channel) * from_plane..][..from_plane];
            let weights = &weights[(channel * per_group + within) * levels.len()..];
            levels.iter().zip(weights).for_each(|(levels, weight)| add(levels, *weight, from, into));
        }
    });
    Tensor::from_floats(x.dtype(), to, &result)
}
