//! Elements that indices name, changed.

use roci_graph::ops::indexing::Scatter;
use roci_graph::{DType, shape};
use roci_kernels::params::{ChainOp as Op, Combine, ScatterElements, ScatterNd};

use super::build::{A, B, Step::With, along, integer};
use super::{Context, Operand, numbers, word};
use crate::error::Refusal;

/// A dimension of indices: its size, and elements between neighbours in the data and among the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) size: usize,
    pub(super) of_data: usize,
    pub(super) of_index: usize,
}

/// The same dimensions in as few as can be.
pub(super) fn joined(all: impl Iterator<Item = Lines>) -> Vec<Lines> {
    let mut made: Vec<Lines> = Vec::new();
    for one in all.filter(|one| one.size != 1) {
        match made.last_mut() {
            Some(outer) if outer.of_data == one.size * one.of_data && outer.of_index == one.size * one.of_index => {
                *outer = Lines { size: outer.size * one.size, ..one };
            }
            _ => made.push(one),
        }
    }
    made
}

/// How a kernel combines elements of a type.
fn combine(reduction: Scatter, dtype: DType) -> Result<u32, Refusal> {
    let truth = dtype == DType::Bool;
    if dtype.is_integer() && dtype.size() == Some(8) && matches!(reduction, Scatter::Add | Scatter::Multiply) {
        return Err(Refusal::integers(format!("{reduction:?} of 64-bit integers")));
    }
    let combine = match reduction {
        Scatter::Replace => Combine::Replace,
        // Of truth the sum is `or`, and the product `and`.
        Scatter::Add if truth => Combine::Max,
        Scatter::Multiply if truth => Combine::Min,
        Scatter::Add => Combine::Add,
        Scatter::Multiply => Combine::Mul,
        Scatter::Max => Combine::Max,
        Scatter::Min => Combine::Min,
    };
    Ok(combine.word())
}

pub(super) fn elements(context: &mut Context<'_, '_>, axis: i64, reduction: Scatter) -> Result<Operand, Refusal> {
    let (data, indices, updates) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let axis = shape::axis(axis, data.shape.len())?;
    let made = scattered(context, &data, &indices, &updates, axis, reduction)?;
    context.narrowed(made)
}

/// `indices` and `updates` have the same shape.
fn scattered(
    context: &mut Context<'_, '_>,
    data: &Operand,
    indices: &Operand,
    updates: &Operand,
    axis: usize,
    reduction: Scatter,
) -> Result<Operand, Refusal> {
    let rank = data.shape.len();
    let combine = combine(reduction, data.dtype)?;
    let target = context.copied(data)?;
    let (own, steps) = (shape::strides(&data.shape), shape::strides(&indices.shape));
    let one = |at: usize| Lines { size: indices.shape[at], of_data: own[at], of_index: steps[at] };
    let lines = joined((0..rank).filter(|&at| at != axis).map(one));
    if lines.len() > 4 {
        return Err(Refusal::unsupported(format!("indices of shape {:?} for {:?}", indices.shape, data.shape)));
    }
    let (mut sizes, mut strides, mut update_strides) = ([1; 4], [0; 4], [0; 4]);
    let first = 4 - lines.len();
    for (at, line) in lines.iter().enumerate() {
        sizes[first + at] = word(line.size)?;
        strides[first + at] = word(line.of_data)?;
        update_strides[first + at] = word(line.of_index)?;
    }
    let params = ScatterElements {
        lines: sizes.iter().product(),
        shape: sizes,
        strides,
        update_strides,
        axis: word(data.shape[axis])?,
        axis_stride: word(own[axis])?,
        steps: word(indices.shape[axis])?,
        step_stride: word(steps[axis])?,
        combine,
        numbers: numbers(data.dtype)?.word(),
        apart: 0,
    };
    if indices.count() > 0 {
        context.segment().run("scatter_elements", &params, &[indices.slot, updates.slot], target.slot);
    }
    Ok(target)
}

pub(super) fn nd(context: &mut Context<'_, '_>, reduction: Scatter) -> Result<Operand, Refusal> {
    let (data, indices, updates) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let target = context.copied(&data)?;
    context.scatter_nd(&target, &indices, &updates, reduction)?;
    context.narrowed(target)
}

impl Context<'_, '_> {
    /// Changes slices of `target` in place.
    pub(super) fn scatter_nd(
        &mut self,
        target: &Operand,
        indices: &Operand,
        updates: &Operand,
        reduction: Scatter,
    ) -> Result<(), Refusal> {
        let depth = indices.shape.last().copied().unwrap_or(0);
        if depth > 5 {
            return Err(Refusal::unsupported(format!("tuples of {depth} indices")));
        }
        let own = shape::strides(&target.shape);
        let (mut sizes, mut strides) = ([1; 5], [0; 5]);
        for at in 0..depth {
            sizes[at] = word(target.shape[at])?;
            strides[at] = word(own[at])?;
        }
        let params = ScatterNd {
            count: word(indices.shape[..indices.shape.len() - 1].iter().product())?,
            slice: word(target.shape[depth..].iter().product())?,
            depth: word(depth)?,
            sizes,
            strides,
            combine: combine(reduction, target.dtype)?,
            numbers: numbers(target.dtype)?.word(),
            apart: 0,
        };
        if updates.count() > 0 {
            self.segment().run("scatter_nd", &params, &[indices.slot, updates.slot], target.slot);
        }
        Ok(())
    }
}

/// An update written into each sample of a batch.
pub(super) fn cache(context: &mut Context<'_, '_>, axis: i64, circular: bool) -> Result<Operand, Refusal> {
    let (data, update) = (context.operand(0)?, context.operand(1)?);
    let rank = data.shape.len();
    let axis = shape::axis(axis, rank)?;
    let (size, steps) = (integer(word(data.shape[axis])? as i32), update.shape[axis]);
    let starts = match context.optional(2)? {
        Some(places) => places.reshaped(along(rank, 0, data.shape[0])),
        None => context.filled(DType::I32, &vec![1; rank], 0)?,
    };
    let ramp = context.ramp(rank, axis, steps)?;
    let mut code = vec![With(Op::Load, A), With(Op::AddI32, B)];
    if circular {
        code.push(With(Op::ModuloI32, size));
    }
    let mut shape = vec![1; rank];
    (shape[0], shape[axis]) = (data.shape[0], steps);
    let places = context.map(&code, &[&starts, &ramp], DType::I32, &shape)?;
    let places = context.broadcast(&places, &update.shape)?;
    scattered(context, &data, &places, &update, axis, Scatter::Replace)
}
