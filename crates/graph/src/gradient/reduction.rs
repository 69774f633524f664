//! Gradients of folds, softmax and losses.

use super::Back;
use crate::ValueId;
use crate::interpreter::RunError;
use crate::ops::elementwise::{Compare, Unary};
use crate::ops::reduction::{Fold, LossReduction, SoftmaxKind};
use crate::ops::{Elementwise, Indexing, Reduction};
use crate::{Tensor, shape};

pub(super) fn back(op: &Reduction, back: &mut Back<'_>) -> Result<(), RunError> {
    match op {
        Reduction::Reduce { fold, none_is_none, .. } => reduce(back, *fold, *none_is_none),
        Reduction::Softmax { kind, axis, to_end } => softmax(back, *kind, *axis, *to_end),
        Reduction::NegativeLogLikelihood { reduction, ignore } => likelihood(back, *reduction, *ignore),
        _ => Err(back.without()),
    }
}

fn reduce(back: &mut Back<'_>, fold: Fold, none_is_none: bool) -> Result<(), RunError> {
    let (x, g, y) = (back.input(0)?, back.got()?, back.output()?);
    let own = back.shape(x)?;
    let axes = match back.has(1) {
        true => back.known(1)?.integers().map_err(|error| back.error(error))?,
        false => Vec::new(),
    };
    let axes = match axes.is_empty() && !none_is_none {
        true => (0..own.len()).collect(),
        false => shape::axes(&axes, own.len()).map_err(|error| back.error(error))?,
    };
    let count: usize = axes.iter().map(|&axis| own[axis]).product();
    let kept: Vec<usize> =
        own.iter().enumerate().map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect();
    let b = &mut *back.builder;
    let (g, y) = (b.reshape(g, &kept)?, b.reshape(y, &kept)?);
    let made = match fold {
        Fold::Sum => g,
        Fold::Mean => b.scale(g, 1.0 / count as f64)?,
        Fold::SumSquare => {
            let twice = b.scale(x, 2.0)?;
            b.mul(g, twice)?
        }
        Fold::L1 => {
            let sign = b.map(Unary::Sign, x)?;
            b.mul(g, sign)?
        }
        Fold::L2 => {
            let part = b.div(x, y)?;
            b.mul(g, part)?
        }
        Fold::LogSumExp => {
            let part = b.sub(x, y)?;
            let part = b.map(Unary::Exp, part)?;
            b.mul(g, part)?
        }
        Fold::Max | Fold::Min => {
            // Equals share it.
            let equal = b.op(Compare::Equal, &[x, y])?;
            let equal = b.op(Elementwise::CastLike, &[equal, x])?;
            let many = b.fold(equal, Fold::Sum, &axes)?;
            let part = b.div(g, many)?;
            b.mul(part, equal)?
        }
        Fold::Product | Fold::LogSum => return Err(back.without()),
    };
    let made = back.builder.expand(made, &own)?;
    back.give(0, made)
}

fn softmax(back: &mut Back<'_>, kind: SoftmaxKind, axis: i64, to_end: bool) -> Result<(), RunError> {
    let (g, y) = (back.got()?, back.output()?);
    let rank = back.shape(y)?.len();
    let axis = shape::axis(axis, rank).map_err(|error| back.error(error))?;
    let axes: Vec<usize> = if to_end { (axis..rank).collect() } else { vec![axis] };
    let b = &mut *back.builder;
    let made = match kind {
        // y (g - sum(g y)).
        SoftmaxKind::Softmax => {
            let part = b.mul(g, y)?;
            let sum = b.fold(part, Fold::Sum, &axes)?;
            let rest = b.sub(g, sum)?;
            b.mul(y, rest)?
        }
        // g - exp(y) sum(g).
        SoftmaxKind::LogSoftmax => {
            let sum = b.fold(g, Fold::Sum, &axes)?;
            let share = b.map(Unary::Exp, y)?;
            let part = b.mul(share, sum)?;
            b.sub(g, part)?
        }
        SoftmaxKind::Hardmax => return Err(back.without()),
    };
    back.give(0, made)
}

/// Each sample's class gets minus its weight, over the sum of weights where the loss is a mean.
fn likelihood(back: &mut Back<'_>, reduction: LossReduction, ignore: Option<i64>) -> Result<(), RunError> {
    if back.wants(2) {
        return Err(back.refuse("the gradient by the weights of classes"));
    }
    let (x, target, g) = (back.input(0)?, back.input(1)?, back.got()?);
    let own = back.shape(x)?;
    let samples = back.shape(target)?;
    let counts = weights(back, x, target, ignore)?;
    let b = &mut *back.builder;
    // By sample: how much of the gradient it gets.
    let part = match (reduction, counts) {
        (LossReduction::Mean, None) => b.scale(g, 1.0 / samples.iter().product::<usize>() as f64)?,
        (LossReduction::Mean, Some(counts)) => {
            let all: Vec<usize> = (0..samples.len()).collect();
            let total = b.fold(counts, Fold::Sum, &all)?;
            let total = b.reshape(total, &[])?;
            let each = b.div(g, total)?;
            b.mul(counts, each)?
        }
        (_, Some(counts)) => b.mul(counts, g)?,
        (_, None) => g,
    };
    let part = b.map(Unary::Neg, part)?;
    let part = b.expand(part, &samples)?;
    let wide = [&samples[..1], &[1], &samples[1..]].concat();
    let part = b.reshape(part, &wide)?;
    let depth = b.constant(Tensor::scalar(own[1] as i64));
    let (no, yes) = (b.number_like(x, 0.0)?, b.number_like(x, 1.0)?);
    let (no, yes) = (b.reshape(no, &[1])?, b.reshape(yes, &[1])?);
    let values = b.op(crate::ops::Movement::Concat { axis: 0 }, &[no, yes])?;
    let hit = b.op(Indexing::OneHot { axis: 1 }, &[target, depth, values])?;
    let made = b.mul(hit, part)?;
    back.give(0, made)
}

/// What each sample counts; `None` where that is one.
fn weights(back: &mut Back<'_>, x: ValueId, target: ValueId, ignore: Option<i64>) -> Result<Option<ValueId>, RunError> {
    let given = if back.has(2) { Some(back.input(2)?) } else { None };
    let b = &mut *back.builder;
    let ignored = match ignore {
        None => None,
        Some(class) => {
            let class = b.number_like(target, class as f64)?;
            Some(b.op(Compare::Equal, &[target, class])?)
        }
    };
    let counts = match (given, ignored) {
        (None, None) => return Ok(None),
        (None, Some(_)) => b.number_like(x, 1.0)?,
        (Some(given), None) => b.op(Indexing::Gather { axis: 0 }, &[given, target])?,
        (Some(given), Some(ignored)) => {
            // What is ignored may be no class at all.
            let first = b.number_like(target, 0.0)?;
            let class = b.op(Elementwise::Where, &[ignored, first, target])?;
            b.op(Indexing::Gather { axis: 0 }, &[given, class])?
        }
    };
    let Some(ignored) = ignored else { return Ok(Some(counts)) };
    let nothing = b.number_like(x, 0.0)?;
    b.op(Elementwise::Where, &[ignored, nothing, counts]).map(Some)
}
