//! Einsum: multiplies the operands in one after the other, as matrix products.

use roci_graph::OpError;
use roci_graph::ops::product::Subscript;
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::build::{A, B, Instr::ApplyWith};
use super::strided::{dense, dimensions};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// The label of an axis. Axes of an ellipsis are counted from the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Name(char),
    Dot(usize),
}

fn labels(names: &Subscript, dots: usize) -> Vec<Label> {
    let named = |names: &[char]| names.iter().map(|&name| Label::Name(name)).collect::<Vec<_>>();
    let dots = if names.dots { (0..dots).rev().map(Label::Dot).collect() } else { Vec::new() };
    [named(&names.before), dots, named(&names.after)].concat()
}

/// A tensor whose axes have distinct labels.
struct Term {
    tensor: DeviceTensor,
    labels: Vec<Label>,
}

impl Term {
    fn size(&self, label: Label) -> usize {
        self.labels.iter().position(|other| *other == label).map_or(1, |axis| self.tensor.shape[axis])
    }
}

pub(super) fn einsum(
    context: &mut Context<'_, '_>,
    names: &[Subscript],
    output: &Subscript,
) -> Result<DeviceTensor, LoweringError> {
    let dots = |context: &Context<'_, '_>, index: usize| {
        let rank = context.fact(index).and_then(|fact| fact.shape.as_ref()).map_or(0, Vec::len);
        rank.saturating_sub(names[index].before.len() + names[index].after.len())
    };
    let most = (0..names.len()).map(|index| dots(context, index)).max().unwrap_or(0);
    let expected = labels(output, most);
    let mut terms = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let tensor = context.operand(index)?;
        if !tensor.dtype.is_float() {
            let text = format!("a sum of products of {}", tensor.dtype);
            return Err(if tensor.dtype.size() == Some(8) {
                LoweringError::wide_integers(text)
            } else {
                LoweringError::unsupported(text)
            });
        }
        terms.push(take_diagonal(context, &tensor, &labels(name, dots(context, index)))?);
    }
    let mut terms = terms.into_iter();
    let mut result = terms.next().ok_or_else(|| LoweringError::from(OpError::MissingInput(0)))?;
    let rest: Vec<Term> = terms.collect();
    for (index, term) in rest.iter().enumerate() {
        // Labels that are not needed later are summed now.
        let later = |label: Label| {
            expected.contains(&label) || rest[index + 1..].iter().any(|other| other.labels.contains(&label))
        };
        result = multiply(context, result, term, later)?;
    }
    let summed: Vec<usize> =
        (0..result.labels.len()).filter(|&axis| !expected.contains(&result.labels[axis])).collect();
    if !summed.is_empty() {
        result = sum_axes(context, result, &summed)?;
    }
    let order = permute(context, &result, &expected)?;
    let to = context.output(0)?.shape()?.to_vec();
    context.broadcast(&order, &to)
}

/// Takes the diagonal of axes with the same label.
fn take_diagonal(context: &mut Context<'_, '_>, tensor: &DeviceTensor, all: &[Label]) -> Result<Term, LoweringError> {
    let own = dense(&tensor.shape);
    let mut labels: Vec<Label> = Vec::new();
    for label in all {
        if !labels.contains(label) {
            labels.push(*label);
        }
    }
    if labels.len() == all.len() {
        return Ok(Term { tensor: tensor.clone(), labels });
    }
    let axes = |label: Label| (0..all.len()).filter(move |&axis| all[axis] == label);
    let shape: Vec<usize> =
        labels.iter().map(|&label| axes(label).map(|axis| tensor.shape[axis]).max().unwrap_or(1)).collect();
    let stride =
        |&label: &Label| axes(label).filter(|&axis| tensor.shape[axis] != 1).map(|axis| own[axis]).sum::<i64>();
    let walk = dimensions(&shape, labels.iter().map(stride));
    Ok(Term { tensor: context.strided_copy(tensor, 0, &walk, shape)?, labels })
}

/// Sums along axes, which are removed.
fn sum_axes(context: &mut Context<'_, '_>, term: Term, axes: &[usize]) -> Result<Term, LoweringError> {
    let labels = (0..term.labels.len()).filter(|axis| !axes.contains(axis)).map(|axis| term.labels[axis]).collect();
    let shape: Vec<usize> =
        (0..term.labels.len()).filter(|axis| !axes.contains(axis)).map(|axis| term.tensor.shape[axis]).collect();
    Ok(Term { tensor: context.sum(&term.tensor, axes)?.reshaped(shape), labels })
}

/// Permutes axes to these labels. Missing ones have size 1.
fn permute(context: &mut Context<'_, '_>, term: &Term, expected: &[Label]) -> Result<DeviceTensor, LoweringError> {
    let perm: Vec<usize> =
        expected.iter().filter_map(|label| term.labels.iter().position(|other| other == label)).collect();
    let moved = context.transpose(&term.tensor, &perm)?;
    Ok(moved.reshaped(expected.iter().map(|&label| term.size(label)).collect::<Vec<_>>()))
}

fn multiply(
    context: &mut Context<'_, '_>,
    mut left: Term,
    right: &Term,
    later: impl Fn(Label) -> bool,
) -> Result<Term, LoweringError> {
    let mut right = Term { tensor: right.tensor.clone(), labels: right.labels.clone() };
    // Labels of one operand that are not needed later are summed first.
    for (one, other) in [(true, false), (false, true)] {
        let (term, labels) = if one { (&left, &right.labels) } else { (&right, &left.labels) };
        let alone: Vec<usize> = (0..term.labels.len())
            .filter(|&axis| !labels.contains(&term.labels[axis]) && !later(term.labels[axis]))
            .collect();
        debug_assert_ne!(one, other);
        if !alone.is_empty() {
            let term = Term { tensor: term.tensor.clone(), labels: term.labels.clone() };
            let term = sum_axes(context, term, &alone)?;
            if one {
                left = term;
            } else {
                right = term;
            }
        }
    }
    let both = |label: &Label| right.labels.contains(label);
    let shared: Vec<Label> = left.labels.iter().copied().filter(|label| both(label)).collect();
    // An axis of size 1 that meets a longer one is broadcast, which needs an elementwise product.
    let repeated = shared.iter().any(|&label| left.size(label) != right.size(label));
    let batch: Vec<Label> = shared.iter().copied().filter(|&label| later(label)).collect();
    let depth: Vec<Label> = shared.iter().copied().filter(|&label| !later(label)).collect();
    let rows: Vec<Label> = left.labels.iter().copied().filter(|label| !both(label)).collect();
    let columns: Vec<Label> = right.labels.iter().copied().filter(|label| !left.labels.contains(label)).collect();
    if repeated {
        let all = [&batch[..], &rows, &columns, &depth].concat();
        let (a, b) = (permute(context, &left, &all)?, permute(context, &right, &all)?);
        let shape = roci_graph::shape::broadcast(&[&a.shape, &b.shape])?;
        let tensor = context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)], &[&a, &b], a.dtype, &shape)?;
        let axes: Vec<usize> = (all.len() - depth.len()..all.len()).collect();
        let term = Term { tensor, labels: all };
        return if axes.is_empty() { Ok(term) } else { sum_axes(context, term, &axes) };
    }
    let sizes = |term: &Term, labels: &[Label]| labels.iter().map(|&label| term.size(label)).product::<usize>();
    let (m, n, k) = (sizes(&left, &rows), sizes(&right, &columns), sizes(&left, &depth));
    let batches = sizes(&left, &batch);
    let a = permute(context, &left, &[&batch[..], &rows, &depth].concat())?.reshaped([batches, m, k]);
    let b = permute(context, &right, &[&batch[..], &depth, &columns].concat())?.reshaped([batches, k, n]);
    let product = context.product(&a, &b, [m, n, k])?;
    let labels = [&batch[..], &rows, &columns].concat();
    let size = |&label: &Label| {
        if rows.contains(&label) || batch.contains(&label) { left.size(label) } else { right.size(label) }
    };
    let shape: Vec<usize> = labels.iter().map(size).collect();
    Ok(Term { tensor: product.reshaped(shape), labels })
}
