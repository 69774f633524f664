//! Gradients of reductions, softmax and losses.

use super::BackwardNode;
use crate::ValueId;
use crate::interpreter::RunError;
use crate::ops::elementwise::{Compare, Unary};
use crate::ops::reduction::{LossReduction, ReduceKind, SoftmaxKind};
use crate::ops::{Elementwise, Indexing, Reduction};
use crate::{Tensor, shape};

pub(super) fn backward(op: &Reduction, backward: &mut BackwardNode<'_>) -> Result<(), RunError> {
    match op {
        Reduction::Reduce { fold, noop_with_empty_axes, .. } => reduce(backward, *fold, *noop_with_empty_axes),
        Reduction::Softmax { kind, axis, to_end } => softmax(backward, *kind, *axis, *to_end),
        Reduction::NegativeLogLikelihood { reduction, ignore } => likelihood(backward, *reduction, *ignore),
        _ => Err(backward.no_gradient()),
    }
}

fn reduce(backward: &mut BackwardNode<'_>, fold: ReduceKind, noop_with_empty_axes: bool) -> Result<(), RunError> {
    let (x, g, y) = (backward.input(0)?, backward.output_gradient()?, backward.output()?);
    let own = backward.shape(x)?;
    let axes = match backward.has_input(1) {
        true => backward.elements(1)?.integers().map_err(|error| backward.error(error))?,
        false => Vec::new(),
    };
    let axes = match axes.is_empty() && !noop_with_empty_axes {
        true => (0..own.len()).collect(),
        false => shape::axes(&axes, own.len()).map_err(|error| backward.error(error))?,
    };
    let count: usize = axes.iter().map(|&axis| own[axis]).product();
    let reduced_shape: Vec<usize> =
        own.iter().enumerate().map(|(axis, &size)| if axes.contains(&axis) { 1 } else { size }).collect();
    let b = &mut *backward.builder;
    let (g, y) = (b.reshape(g, &reduced_shape)?, b.reshape(y, &reduced_shape)?);
    let result = match fold {
        ReduceKind::Sum => g,
        ReduceKind::Mean => b.scale(g, 1.0 / count as f64)?,
        ReduceKind::SumSquare => {
            let twice = b.scale(x, 2.0)?;
            b.mul(g, twice)?
        }
        ReduceKind::L1 => {
            let sign = b.map(Unary::Sign, x)?;
            b.mul(g, sign)?
        }
        ReduceKind::L2 => {
            let part = b.div(x, y)?;
            b.mul(g, part)?
        }
        ReduceKind::LogSumExp => {
            let part = b.sub(x, y)?;
            let part = b.map(Unary::Exp, part)?;
            b.mul(g, part)?
        }
        ReduceKind::Max | ReduceKind::Min => {
            // Equal maxima share the gradient.
            let equal = b.op(Compare::Equal, &[x, y])?;
            let equal = b.op(Elementwise::CastLike, &[equal, x])?;
            let many = b.fold(equal, ReduceKind::Sum, &axes)?;
            let part = b.div(g, many)?;
            b.mul(part, equal)?
        }
        ReduceKind::Product | ReduceKind::LogSum => return Err(backward.no_gradient()),
    };
    let result = backward.builder.expand(result, &own)?;
    backward.add_gradient(0, result)
}

fn softmax(backward: &mut BackwardNode<'_>, kind: SoftmaxKind, axis: i64, to_end: bool) -> Result<(), RunError> {
    let (g, y) = (backward.output_gradient()?, backward.output()?);
    let rank = backward.shape(y)?.len();
    let axis = shape::axis(axis, rank).map_err(|error| backward.error(error))?;
    let axes: Vec<usize> = if to_end { (axis..rank).collect() } else { vec![axis] };
    let b = &mut *backward.builder;
    let result = match kind {
        // y (g - sum(g y)).
        SoftmaxKind::Softmax => {
            let part = b.mul(g, y)?;
            let sum = b.fold(part, ReduceKind::Sum, &axes)?;
            let rest = b.sub(g, sum)?;
            b.mul(y, rest)?
        }
        // g - exp(y) sum(g).
        SoftmaxKind::LogSoftmax => {
            let sum = b.fold(g, ReduceKind::Sum, &axes)?;
            let share = b.map(Unary::Exp, y)?;
            let part = b.mul(share, sum)?;
            b.sub(g, part)?
        }
        SoftmaxKind::Hardmax => return Err(backward.no_gradient()),
    };
    backward.add_gradient(0, result)
}

/// Each sample's class gets minus its weight, divided by the sum of weights if the loss is a mean.
fn likelihood(backward: &mut BackwardNode<'_>, reduction: LossReduction, ignore: Option<i64>) -> Result<(), RunError> {
    if backward.needs_gradient(2) {
        return Err(backward.unsupported("the gradient with respect to class weights"));
    }
    let (x, target, g) = (backward.input(0)?, backward.input(1)?, backward.output_gradient()?);
    let own = backward.shape(x)?;
    let samples = backward.shape(target)?;
    let counts = weights(backward, x, target, ignore)?;
    let b = &mut *backward.builder;
    // Each sample's part of the gradient.
    let part = match (reduction, counts) {
        (LossReduction::Mean, None) => b.scale(g, 1.0 / samples.iter().product::<usize>() as f64)?,
        (LossReduction::Mean, Some(counts)) => {
            let all: Vec<usize> = (0..samples.len()).collect();
            let total = b.fold(counts, ReduceKind::Sum, &all)?;
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
    let result = b.mul(hit, part)?;
    backward.add_gradient(0, result)
}

/// The weight of each sample; `None` if all are 1.
fn weights(
    backward: &mut BackwardNode<'_>,
    x: ValueId,
    target: ValueId,
    ignore: Option<i64>,
) -> Result<Option<ValueId>, RunError> {
    let given = if backward.has_input(2) { Some(backward.input(2)?) } else { None };
    let b = &mut *backward.builder;
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
            // An ignored class may be out of range.
            let first = b.number_like(target, 0.0)?;
            let class = b.op(Elementwise::Where, &[ignored, first, target])?;
            b.op(Indexing::Gather { axis: 0 }, &[given, class])?
        }
    };
    let Some(ignored) = ignored else { return Ok(Some(counts)) };
    let nothing = b.number_like(x, 0.0)?;
    b.op(Elementwise::Where, &[ignored, nothing, counts]).map(Some)
}
