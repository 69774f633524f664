//! Batch normalization.

use crate::OpError;
use crate::ops::{Facts, Inputs};

/// Scale, bias, mean and variance have the shape of the channels, or of a sample.
pub(super) fn check(inputs: &Facts<'_>) -> Result<(), OpError> {
    let x = inputs.get(0)?;
    for index in 1..5 {
        let parameter = inputs.get(index)?;
        if let (Some(x), Some(shape)) = (x.shape.as_deref(), parameter.shape.as_deref()) {
            // A vector is samples of one channel.
            let sample = if x.len() < 2 { &[1][..] } else { &x[1..] };
            if x.is_empty() {
                return Err(OpError::invalid("the input is a scalar, expected at least one dimension"));
            }
            if shape != &sample[..1] && shape != sample {
                let channels = &sample[..1];
                return Err(OpError::invalid(format!(
                    "operand {index} has shape {shape:?}, expected {channels:?}, one element per channel"
                )));
            }
            if inputs.get(1)?.shape.as_deref().is_some_and(|first| first != shape) {
                return Err(OpError::invalid(format!("operands 1 and {index} have different shapes")));
            }
        }
    }
    Ok(())
}

pub(super) fn eval(inputs: &Inputs<'_>, epsilon: f64, momentum: Option<f64>) -> Result<Vec<Vec<f64>>, OpError> {
    let x = inputs.tensor(0)?;
    let mut data = x.floats()?;
    let of = |index: usize| inputs.tensor(index)?.floats();
    let (scale, bias, given_mean, given_variance) = (of(1)?, of(2)?, of(3)?, of(4)?);
    let sets = scale.len();
    let rank = inputs.tensor(1)?.rank();
    let behind = x.shape().get(1 + rank..).unwrap_or_default();
    let inner = behind.iter().fold(1usize, |all, &size| all.saturating_mul(size));
    // The parameter index of each element, in order.
    let members = |length: usize| (0..length).map(move |index| index / inner % sets);
    let mut more = Vec::new();
    let (mean, variance) = match momentum {
        None => (given_mean, given_variance),
        Some(momentum) => {
            let count = (data.len() / sets.max(1)) as f64;
            let mut mean = vec![0.0; sets];
            members(data.len()).zip(&data).for_each(|(set, one)| mean[set] += one);
            mean.iter_mut().for_each(|sum| *sum /= count);
            let mut variance = vec![0.0; sets];
            members(data.len()).zip(&data).for_each(|(set, one)| variance[set] += (one - mean[set]).powi(2));
            variance.iter_mut().for_each(|sum| *sum /= count);
            let moved = |old: &[f64], new: &[f64]| -> Vec<f64> {
                old.iter().zip(new).map(|(old, new)| old * momentum + new * (1.0 - momentum)).collect()
            };
            more = vec![moved(&given_mean, &mean), moved(&given_variance, &variance), mean.clone(), variance.clone()];
            (mean, variance)
        }
    };
    members(data.len()).zip(&mut data).for_each(|(set, one)| {
        *one = (*one - mean[set]) / (variance[set] + epsilon).sqrt() * scale[set] + bias[set];
    });
    more.insert(0, data);
    Ok(more)
}
