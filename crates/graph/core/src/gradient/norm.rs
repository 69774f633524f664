//! Gradients of normalization.

use super::BackwardNode;
use crate::ValueId;
use crate::interpreter::RunError;
use crate::ops::Norm;
use crate::ops::elementwise::Unary;
use crate::ops::reduction::ReduceKind;
use crate::shape;

pub(super) fn backward(op: &Norm, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    match op {
        Norm::Batch { epsilon, momentum } => batch(backward, (*epsilon).into(), momentum.is_some()),
        Norm::Layer { axis, epsilon, rms, .. } => layer(backward, *axis, (*epsilon).into(), *rms),
        _ => Err(backward.no_gradient()),
    }
}

/// `1 / sqrt(variance + epsilon)`.
fn inverse(backward: &mut BackwardNode<'_>, variance: ValueId, epsilon: f64) -> Result<ValueId, RunError> {
    let b = &mut *backward.builder;
    let epsilon = b.number_like(variance, epsilon)?;
    let sum = b.add(variance, epsilon)?;
    let root = b.map(Unary::Sqrt, sum)?;
    b.map(Unary::Reciprocal, root)
}

/// In training, mean and variance come from the batch and depend on every element.
fn batch(backward: &mut BackwardNode<'_>, epsilon: f64, training: bool) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let x = backward.input(0)?;
    let (own, each) = (backward.shape(x)?, backward.shape(backward.input(1)?)?);
    // One value per channel, or per element of a sample.
    let spread = match own.len() {
        0 | 1 => vec![1],
        rank => [&each[..], &vec![1; rank - 1 - each.len()]].concat(),
    };
    let axes: Vec<usize> = (0..own.len()).filter(|&axis| axis == 0 || axis > each.len()).collect();
    let count: usize = axes.iter().map(|&axis| own[axis]).product();
    let (mean, variance) = match training {
        true => (backward.builder.output_of(backward.index, 3)?, backward.builder.output_of(backward.index, 4)?),
        false => (backward.input(3)?, backward.input(4)?),
    };
    let inverse = inverse(backward, variance, epsilon)?;
    let scale = backward.input(1)?;
    let b = &mut *backward.builder;
    let factor = b.mul(scale, inverse)?;
    let [mean, inverse_wide, factor_wide] =
        [b.reshape(mean, &spread)?, b.reshape(inverse, &spread)?, b.reshape(factor, &spread)?];
    let centered = b.sub(x, mean)?;
    let normal = b.mul(centered, inverse_wide)?;
    let weighted = b.mul(g, normal)?;
    let by_scale = b.fold(weighted, ReduceKind::Sum, &axes)?;
    let by_bias = b.fold(g, ReduceKind::Sum, &axes)?;
    if backward.needs_gradient(0) {
        let b = &mut *backward.builder;
        let rest = match training {
            true => {
                let along = b.mul(normal, by_scale)?;
                let moved = b.add(along, by_bias)?;
                let moved = b.scale(moved, 1.0 / count as f64)?;
                b.sub(g, moved)?
            }
            false => g,
        };
        let result = b.mul(rest, factor_wide)?;
        backward.add_gradient(0, result)?;
    }
    for (index, sum) in [(1, by_scale), (2, by_bias)] {
        if backward.needs_gradient(index) {
            let result = backward.builder.reshape(sum, &each)?;
            backward.add_gradient(index, result)?;
        }
    }
    // In training, the running mean and variance do not affect the result, so they have no
    // gradient.
    if !training && backward.needs_gradient(3) {
        let sum = backward.builder.reshape(by_bias, &each)?;
        let result = backward.builder.mul(sum, factor)?;
        let result = backward.builder.map(Unary::Neg, result)?;
        backward.add_gradient(3, result)?;
    }
    if !training && backward.needs_gradient(4) {
        let sum = backward.builder.reshape(by_scale, &each)?;
        let result = backward.builder.mul(sum, factor)?;
        let result = backward.builder.mul(result, inverse)?;
        let result = backward.builder.scale(result, -0.5)?;
        backward.add_gradient(4, result)?;
    }
    Ok(())
}

/// Rows of all axes from one on.
fn layer(backward: &mut BackwardNode<'_>, axis: i64, epsilon: f64, rms: bool) -> Result<(), RunError> {
    let g = backward.output_gradient()?;
    let x = backward.input(0)?;
    let rank = backward.shape(x)?.len();
    let first = shape::axis(axis, rank).map_err(|error| backward.error(error))?;
    let axes: Vec<usize> = (first..rank).collect();
    let b = &mut *backward.builder;
    let centered = match rms {
        true => x,
        false => {
            let mean = b.fold(x, ReduceKind::Mean, &axes)?;
            b.sub(x, mean)?
        }
    };
    let square = b.mul(centered, centered)?;
    let variance = b.fold(square, ReduceKind::Mean, &axes)?;
    let inverse = inverse(backward, variance, epsilon)?;
    let scale = backward.input(1)?;
    let b = &mut *backward.builder;
    let normal = b.mul(centered, inverse)?;
    if backward.needs_gradient(0) {
        let b = &mut *backward.builder;
        let part = b.mul(g, scale)?;
        let along = b.mul(part, normal)?;
        let along = b.fold(along, ReduceKind::Mean, &axes)?;
        let along = b.mul(normal, along)?;
        let mut rest = b.sub(part, along)?;
        if !rms {
            let mean = b.fold(part, ReduceKind::Mean, &axes)?;
            rest = b.sub(rest, mean)?;
        }
        let result = b.mul(rest, inverse)?;
        backward.add_gradient(0, result)?;
    }
    if backward.needs_gradient(1) {
        let result = backward.builder.mul(g, normal)?;
        backward.add_gradient(1, result)?;
    }
    if backward.needs_gradient(2) {
        backward.add_gradient(2, g)?;
    }
    Ok(())
}
