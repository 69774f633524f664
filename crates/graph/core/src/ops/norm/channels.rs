//! Normalization over groups of channels, and over neighboring channels.

use super::rows::standardize;
use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, shape};

/// Checks that the number of groups divides the channels, and that scale and bias match.
pub(super) fn check_group(groups: Option<usize>, by_group: bool, inputs: &Facts<'_>) -> Result<(), OpError> {
    let Some(sizes) = inputs.get(0)?.shape.as_deref() else { return Ok(()) };
    let channels = *sizes.get(1).ok_or_else(|| OpError::invalid(format!("shape {sizes:?} has no channels")))?;
    let groups = groups.unwrap_or(channels);
    if channels.checked_rem(groups).unwrap_or(channels) != 0 {
        return Err(OpError::invalid(format!("{channels} channels are not divisible into {groups} groups")));
    }
    let expected = if by_group { groups } else { channels };
    for index in 1..3 {
        if let Some(found) = inputs.get(index)?.shape.as_deref()
            && found != [expected]
        {
            return Err(OpError::invalid(format!("operand {index} has shape {found:?}, expected [{expected}]")));
        }
    }
    Ok(())
}

pub(super) fn group(
    inputs: &Inputs<'_>,
    groups: Option<usize>,
    epsilon: f64,
    by_group: bool,
) -> Result<Vec<f64>, OpError> {
    let x = inputs.tensor(0)?;
    let mut data = x.floats()?;
    if data.is_empty() {
        return Ok(data);
    }
    let (scale, bias) = (inputs.tensor(1)?.floats()?, inputs.tensor(2)?.floats()?);
    let (_, channels, inner) = shape::around(x.shape(), 1);
    let groups = groups.unwrap_or(channels);
    let by = channels / groups;
    for row in data.chunks_mut(by * inner) {
        standardize(row, epsilon, false);
    }
    for (index, one) in data.iter_mut().enumerate() {
        let channel = index / inner % channels;
        let parameter = if by_group { channel / by } else { channel };
        *one = *one * scale[parameter] + bias[parameter];
    }
    Ok(data)
}

pub(super) fn local_response(x: &Tensor, size: usize, [alpha, beta, bias]: [f64; 3]) -> Result<Vec<f64>, OpError> {
    let data = x.floats()?;
    if data.is_empty() {
        return Ok(data);
    }
    let (_, channels, inner) = shape::around(x.shape(), 1);
    let (before, after) = ((size - 1) / 2, (size - 1).div_ceil(2));
    let one = |(index, one): (usize, &f64)| {
        let channel = index / inner % channels;
        let start = index - channel * inner;
        let near = channel.saturating_sub(before)..=channel.saturating_add(after).min(channels - 1);
        let squares: f64 = near.map(|channel| data[start + channel * inner].powi(2)).sum();
        one / (bias + alpha / size as f64 * squares).powf(beta)
    };
    Ok(data.iter().enumerate().map(one).collect())
}
