//! Gradients of normalisations.

use super::Back;
use crate::ValueId;
use crate::interpreter::RunError;
use crate::ops::Norm;
use crate::ops::elementwise::Unary;
use crate::ops::reduction::Fold;
use crate::shape;

pub(super) fn back(op: &Norm, back: &mut Back<'_>) -> Result<(), RunError> {
    match op {
        Norm::Batch { epsilon, momentum } => batch(back, (*epsilon).into(), momentum.is_some()),
        Norm::Layer { axis, epsilon, rms, .. } => layer(back, *axis, (*epsilon).into(), *rms),
        _ => Err(back.without()),
    }
}

/// `1 / sqrt(variance + epsilon)`.
fn inverse(back: &mut Back<'_>, variance: ValueId, epsilon: f64) -> Result<ValueId, RunError> {
    let b = &mut *back.builder;
    let epsilon = b.number_like(variance, epsilon)?;
    let sum = b.add(variance, epsilon)?;
    let root = b.map(Unary::Sqrt, sum)?;
    b.map(Unary::Reciprocal, root)
}

/// In training, mean and variance are the batch's, and depend on every element.
fn batch(back: &mut Back<'_>, epsilon: f64, training: bool) -> Result<(), RunError> {
    let g = back.got()?;
    let x = back.input(0)?;
    let (own, each) = (back.shape(x)?, back.shape(back.input(1)?)?);
    // A value by channel, or by place in a sample.
    let spread = match own.len() {
        0 | 1 => vec![1],
        rank => [&each[..], &vec![1; rank - 1 - each.len()]].concat(),
    };
    let axes: Vec<usize> = (0..own.len()).filter(|&axis| axis == 0 || axis > each.len()).collect();
    let count: usize = axes.iter().map(|&axis| own[axis]).product();
    let (mean, variance) = match training {
        true => (back.builder.output_of(back.index, 3)?, back.builder.output_of(back.index, 4)?),
        false => (back.input(3)?, back.input(4)?),
    };
    let inverse = inverse(back, variance, epsilon)?;
    let scale = back.input(1)?;
    let b = &mut *back.builder;
    let factor = b.mul(scale, inverse)?;
    let [mean, inverse_wide, factor_wide] =
        [b.reshape(mean, &spread)?, b.reshape(inverse, &spread)?, b.reshape(factor, &spread)?];
    let centred = b.sub(x, mean)?;
    let normal = b.mul(centred, inverse_wide)?;
    let weighted = b.mul(g, normal)?;
    let by_scale = b.fold(weighted, Fold::Sum, &axes)?;
    let by_bias = b.fold(g, Fold::Sum, &axes)?;
    if back.wants(0) {
        let b = &mut *back.builder;
        let rest = match training {
            true => {
                let along = b.mul(normal, by_scale)?;
                let moved = b.add(along, by_bias)?;
                let moved = b.scale(moved, 1.0 / count as f64)?;
                b.sub(g, moved)?
            }
            false => g,
        };
        let made = b.mul(rest, factor_wide)?;
        back.give(0, made)?;
    }
    for (index, sum) in [(1, by_scale), (2, by_bias)] {
        if back.wants(index) {
            let made = back.builder.reshape(sum, &each)?;
            back.give(index, made)?;
        }
    }
    // In training the given ones only move, which no gradient comes through.
    if !training && back.wants(3) {
        let sum = back.builder.reshape(by_bias, &each)?;
        let made = back.builder.mul(sum, factor)?;
        let made = back.builder.map(Unary::Neg, made)?;
        back.give(3, made)?;
    }
    if !training && back.wants(4) {
        let sum = back.builder.reshape(by_scale, &each)?;
        let made = back.builder.mul(sum, factor)?;
        let made = back.builder.mul(made, inverse)?;
        let made = back.builder.scale(made, -0.5)?;
        back.give(4, made)?;
    }
    Ok(())
}

/// Rows of all axes from one on.
fn layer(back: &mut Back<'_>, axis: i64, epsilon: f64, rms: bool) -> Result<(), RunError> {
    let g = back.got()?;
    let x = back.input(0)?;
    let rank = back.shape(x)?.len();
    let first = shape::axis(axis, rank).map_err(|error| back.error(error))?;
    let axes: Vec<usize> = (first..rank).collect();
    let b = &mut *back.builder;
    let centred = match rms {
        true => x,
        false => {
            let mean = b.fold(x, Fold::Mean, &axes)?;
            b.sub(x, mean)?
        }
    };
    let square = b.mul(centred, centred)?;
    let variance = b.fold(square, Fold::Mean, &axes)?;
    let inverse = inverse(back, variance, epsilon)?;
    let scale = back.input(1)?;
    let b = &mut *back.builder;
    let normal = b.mul(centred, inverse)?;
    if back.wants(0) {
        let b = &mut *back.builder;
        let part = b.mul(g, scale)?;
        let along = b.mul(part, normal)?;
        let along = b.fold(along, Fold::Mean, &axes)?;
        let along = b.mul(normal, along)?;
        let mut rest = b.sub(part, along)?;
        if !rms {
            let mean = b.fold(part, Fold::Mean, &axes)?;
            rest = b.sub(rest, mean)?;
        }
        let made = b.mul(rest, inverse)?;
        back.give(0, made)?;
    }
    if back.wants(1) {
        let made = back.builder.mul(g, normal)?;
        back.give(1, made)?;
    }
    if back.wants(2) {
        back.give(2, g)?;
    }
    Ok(())
}
