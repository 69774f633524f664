//! Scatter operations.

use roci_graph::ops::indexing::Scatter;
use roci_graph::{DType, shape};
use roci_kernels::params::{Combine, ElementwiseOp as Op, ScatterElements, ScatterNd};

use super::build::{A, B, Instr::ApplyWith, along_axis, integer};
use super::{Context, element_type, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// A dimension of indices: its size, and its strides in the data and in the indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexDimension {
    pub(super) size: usize,
    pub(super) of_data: usize,
    pub(super) of_index: usize,
}

/// Merges dimensions that are contiguous in the data and in the indices.
pub(super) fn merge_dimensions(all: impl Iterator<Item = IndexDimension>) -> Vec<IndexDimension> {
    let mut result: Vec<IndexDimension> = Vec::new();
    for one in all.filter(|one| one.size != 1) {
        match result.last_mut() {
            Some(outer) if outer.of_data == one.size * one.of_data && outer.of_index == one.size * one.of_index => {
                *outer = IndexDimension { size: outer.size * one.size, ..one };
            }
            _ => result.push(one),
        }
    }
    result
}

/// The kernel's code for combining elements of a type.
fn combine(reduction: Scatter, dtype: DType) -> Result<u32, LoweringError> {
    let truth = dtype == DType::Bool;
    if dtype.is_integer() && dtype.size() == Some(8) && matches!(reduction, Scatter::Add | Scatter::Multiply) {
        return Err(LoweringError::wide_integers(format!("{reduction:?} of 64-bit integers")));
    }
    let combine = match reduction {
        Scatter::Replace => Combine::Replace,
        // For `bool`, the sum is `or` and the product is `and`.
        Scatter::Add if truth => Combine::Max,
        Scatter::Multiply if truth => Combine::Min,
        Scatter::Add => Combine::Add,
        Scatter::Multiply => Combine::Mul,
        Scatter::Max => Combine::Max,
        Scatter::Min => Combine::Min,
    };
    Ok(combine.word())
}

pub(super) fn elements(
    context: &mut Context<'_, '_>,
    axis: i64,
    reduction: Scatter,
) -> Result<DeviceTensor, LoweringError> {
    let (data, indices, updates) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let axis = shape::axis(axis, data.shape.len())?;
    let result = scatter_along_axis(context, &data, &indices, &updates, axis, reduction)?;
    context.round_to_dtype(result)
}

/// Scatters `updates`, which have the shape of `indices`, into a copy of `data`.
fn scatter_along_axis(
    context: &mut Context<'_, '_>,
    data: &DeviceTensor,
    indices: &DeviceTensor,
    updates: &DeviceTensor,
    axis: usize,
    reduction: Scatter,
) -> Result<DeviceTensor, LoweringError> {
    let rank = data.shape.len();
    let combine = combine(reduction, data.dtype)?;
    let target = context.copy(data)?;
    let (own, steps) = (shape::strides(&data.shape), shape::strides(&indices.shape));
    let one = |at: usize| IndexDimension { size: indices.shape[at], of_data: own[at], of_index: steps[at] };
    let lines = merge_dimensions((0..rank).filter(|&at| at != axis).map(one));
    if lines.len() > 4 {
        return Err(LoweringError::unsupported(format!("indices of shape {:?} for {:?}", indices.shape, data.shape)));
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
        numbers: element_type(data.dtype)?.word(),
        unique_indices: 0,
    };
    if indices.count() > 0 {
        context.segment().dispatch(
            "scatter_elements",
            &params,
            &[indices.tensor_id, updates.tensor_id],
            target.tensor_id,
        );
    }
    Ok(target)
}

pub(super) fn nd(context: &mut Context<'_, '_>, reduction: Scatter) -> Result<DeviceTensor, LoweringError> {
    let (data, indices, updates) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let target = context.copy(&data)?;
    context.scatter_nd(&target, &indices, &updates, reduction)?;
    context.round_to_dtype(target)
}

impl Context<'_, '_> {
    /// Updates slices of `target` in place.
    pub(super) fn scatter_nd(
        &mut self,
        target: &DeviceTensor,
        indices: &DeviceTensor,
        updates: &DeviceTensor,
        reduction: Scatter,
    ) -> Result<(), LoweringError> {
        let depth = indices.shape.last().copied().unwrap_or(0);
        if depth > 5 {
            return Err(LoweringError::unsupported(format!("tuples of {depth} indices")));
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
            numbers: element_type(target.dtype)?.word(),
            unique_indices: 0,
        };
        if updates.count() > 0 {
            self.segment().dispatch("scatter_nd", &params, &[indices.tensor_id, updates.tensor_id], target.tensor_id);
        }
        Ok(())
    }
}

/// TensorScatter: writes an update into the cache of each sample of a batch.
pub(super) fn cache(context: &mut Context<'_, '_>, axis: i64, circular: bool) -> Result<DeviceTensor, LoweringError> {
    let (data, update) = (context.operand(0)?, context.operand(1)?);
    let rank = data.shape.len();
    let axis = shape::axis(axis, rank)?;
    let (size, steps) = (integer(word(data.shape[axis])? as i32), update.shape[axis]);
    let starts = match context.optional(2)? {
        Some(places) => places.reshaped(along_axis(rank, 0, data.shape[0])),
        None => context.fill(DType::I32, &vec![1; rank], 0)?,
    };
    let ramp = context.iota(rank, axis, steps)?;
    let mut code = vec![ApplyWith(Op::Load, A), ApplyWith(Op::AddI32, B)];
    if circular {
        code.push(ApplyWith(Op::ModuloI32, size));
    }
    let mut shape = vec![1; rank];
    (shape[0], shape[axis]) = (data.shape[0], steps);
    let places = context.map(&code, &[&starts, &ramp], DType::I32, &shape)?;
    let places = context.broadcast(&places, &update.shape)?;
    scatter_along_axis(context, &data, &places, &update, axis, Scatter::Replace)
}
