//! Normalization over rows: layer, Lp, and mean-variance normalization.

use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, shape};

/// Normalizes to mean 0 and variance 1 in place; returns mean and reciprocal standard deviation.
pub(super) fn standardize(row: &mut [f64], epsilon: f64, rms: bool) -> (f64, f64) {
    let count = row.len() as f64;
    let mean = if rms { 0.0 } else { row.iter().sum::<f64>() / count };
    let variance = row.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / count;
    let reciprocal = 1.0 / (variance + epsilon).sqrt();
    row.iter_mut().for_each(|one| *one = (*one - mean) * reciprocal);
    (mean, reciprocal)
}

/// The shape of the statistics.
pub(super) fn check_layer(axis: i64, inputs: &Facts<'_>) -> Result<Option<Vec<usize>>, OpError> {
    inputs.get(1)?;
    let Some(sizes) = inputs.get(0)?.shape.as_deref() else { return Ok(None) };
    let axis = shape::axis(axis, sizes.len())?;
    for index in 1..3 {
        let found = inputs.optional(index).and_then(|fact| fact.shape.as_deref());
        if let Some(found) = found
            && shape::broadcast(&[sizes, found])? != sizes
        {
            return Err(OpError::invalid(format!(
                "operand {index} has shape {found:?}, which does not broadcast to the input's shape {sizes:?}"
            )));
        }
    }
    let mut statistics = sizes.to_vec();
    statistics[axis..].fill(1);
    Ok(Some(statistics))
}

pub(super) fn layer(inputs: &Inputs<'_>, axis: usize, epsilon: f64, rms: bool) -> Result<Vec<Vec<f64>>, OpError> {
    let x = inputs.tensor(0)?;
    let mut data = x.floats()?;
    let outer = shape::count_bounded(&x.shape()[..axis])?;
    let size = shape::count(&x.shape()[axis..])?;
    let (mut means, mut reciprocals) = (vec![f64::NAN; outer], vec![f64::NAN; outer]);
    if size > 0 {
        for (index, row) in data.chunks_mut(size).enumerate() {
            (means[index], reciprocals[index]) = standardize(row, epsilon, rms);
        }
    }
    let mut apply = |index: usize, each: fn(&mut f64, f64)| -> Result<(), OpError> {
        if let Some(parameter) = inputs.optional(index)? {
            let (values, steps) = (parameter.floats()?, shape::broadcast_strides(parameter.shape(), x.shape()));
            data.iter_mut().zip(shape::offsets(x.shape(), &steps)).for_each(|(one, place)| each(one, values[place]));
        }
        Ok(())
    };
    apply(1, |one, scale| *one *= scale)?;
    apply(2, |one, bias| *one += bias)?;
    Ok(vec![data, means, reciprocals])
}

/// Applies a function to each set of elements along axes.
fn each_set(x: &Tensor, axes: &[usize], mut each: impl FnMut(&mut [f64])) -> Result<Vec<f64>, OpError> {
    let mut data = x.floats()?;
    if data.is_empty() {
        return Ok(data);
    }
    let (starts, taken) = shape::fold_offsets(x.shape(), axes);
    let mut row = vec![0.0; taken.len()];
    for start in starts {
        row.iter_mut().zip(&taken).for_each(|(into, offset)| *into = data[start + offset]);
        each(&mut row);
        row.iter().zip(&taken).for_each(|(from, offset)| data[start + offset] = *from);
    }
    Ok(data)
}

pub(super) fn lp(x: &Tensor, axis: usize, euclidean: bool) -> Result<Vec<f64>, OpError> {
    each_set(x, &[axis], |row| {
        let norm = match euclidean {
            true => row.iter().map(|one| one * one).sum::<f64>().sqrt(),
            false => row.iter().map(|one| one.abs()).sum(),
        };
        // ONNX keeps zeros.
        if norm != 0.0 {
            row.iter_mut().for_each(|one| *one /= norm);
        }
    })
}

pub(super) fn mean_variance(x: &Tensor, axes: &[usize]) -> Result<Vec<f64>, OpError> {
    each_set(x, axes, |row| {
        let mean = row.iter().sum::<f64>() / row.len() as f64;
        let variance = row.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / row.len() as f64;
        // The constant is part of ONNX's definition, added to the deviation.
        row.iter_mut().for_each(|one| *one = (*one - mean) / (variance.sqrt() + 1e-9));
    })
}
