//! Gather, scatter and other operations on indices.

use roci_graph::ops::Indexing;
use roci_graph::{DType, OpError, shape};
use roci_kernels::params::{Gather, GatherElements, GatherNd, Params, TopK};

use super::scatter::{IndexDimension, merge_dimensions};
use super::{Context, element_type, masks, region, scatter, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn lower(op: &Indexing, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let x = context.operand(0)?;
    let result = match op {
        Indexing::Gather { axis } => {
            let index = context.operand(1)?;
            let (outer, size, inner) = shape::around(&x.shape, shape::axis(*axis, x.shape.len())?);
            if let Some(known) = context.fact(1).and_then(|fact| fact.value.as_ref())
                && let Some(index) = known.integers()?.iter().find(|index| !is_in_range(**index, size))
            {
                return Err(
                    OpError::invalid(format!("index {index} is out of range for an axis of size {size}")).into()
                );
            }
            let params =
                Gather { outer: word(outer)?, axis: word(size)?, inner: word(inner)?, count: word(index.count())? };
            let target = context.new_output(0)?;
            context.segment().dispatch("gather", &params, &[x.tensor_id, index.tensor_id], target.tensor_id);
            target
        }
        Indexing::GatherElements { axis } => {
            let index = context.operand(1)?;
            let axis = shape::axis(*axis, x.shape.len())?;
            let (own, steps) = (shape::strides(&x.shape), shape::strides(&index.shape));
            let one = |at: usize| IndexDimension {
                size: index.shape[at],
                of_data: if at == axis { 0 } else { own[at] },
                of_index: steps[at],
            };
            let lines = merge_dimensions((0..x.shape.len()).map(one));
            if lines.len() > 5 {
                return Err(LoweringError::unsupported(format!(
                    "indices of shape {:?} for {:?}",
                    index.shape, x.shape
                )));
            }
            let (mut sizes, mut strides) = ([1; 5], [0; 5]);
            let first = 5 - lines.len();
            for (at, line) in lines.iter().enumerate() {
                sizes[first + at] = word(line.size)?;
                strides[first + at] = word(line.of_data)?;
            }
            let params = GatherElements {
                count: word(index.count())?,
                shape: sizes,
                strides,
                axis: word(x.shape[axis])?,
                axis_stride: word(own[axis])?,
            };
            let target = context.new_output(0)?;
            context.segment().dispatch("gather_elements", &params, &[x.tensor_id, index.tensor_id], target.tensor_id);
            target
        }
        Indexing::GatherNd { batch_dims } => {
            let index = context.operand(1)?;
            let depth = index.shape.last().copied().unwrap_or(0);
            if depth > 5 {
                return Err(LoweringError::unsupported(format!("tuples of {depth} indices")));
            }
            let batches: usize = x.shape[..*batch_dims].iter().product();
            let own = shape::strides(&x.shape);
            let (mut sizes, mut strides) = ([1; 5], [0; 5]);
            for at in 0..depth {
                sizes[at] = word(x.shape[batch_dims + at])?;
                strides[at] = word(own[batch_dims + at])?;
            }
            let target = context.new_output(0)?;
            let slice: usize = x.shape[batch_dims + depth..].iter().product();
            let count = index.count().checked_div(batches * depth.max(1)).unwrap_or(0);
            let params = GatherNd {
                batches: word(batches)?,
                count: word(count)?,
                slice: word(slice)?,
                depth: word(depth)?,
                sizes,
                strides,
                batch_stride: word(x.shape[*batch_dims..].iter().product())?,
            };
            context.segment().dispatch("gather_nd", &params, &[x.tensor_id, index.tensor_id], target.tensor_id);
            target
        }
        Indexing::ScatterElements { axis, reduction } => scatter::elements(context, *axis, *reduction)?,
        Indexing::ScatterNd { reduction } => scatter::nd(context, *reduction)?,
        Indexing::TensorScatter { axis, circular } => scatter::cache(context, *axis, *circular)?,
        Indexing::OneHot { axis } => masks::one_hot(context, *axis)?,
        Indexing::TopK { axis, largest } => return top_k(context, &x, *axis, *largest),
        Indexing::Compress { axis } => {
            let marks = context.value(1)?.slice::<bool>()?;
            let places: Vec<usize> = marks.iter().enumerate().filter(|(_, mark)| **mark).map(|(at, _)| at).collect();
            match axis {
                None => context.gather_known(&x.reshaped([x.count()]), 0, &places)?,
                Some(axis) => context.gather_known(&x, shape::axis(*axis, x.shape.len())?, &places)?,
            }
        }
        Indexing::RoiAlign(roi) => region::align(context, roi)?,
        Indexing::MaxRoiPool(roi) => region::pool(context, roi)?,
        other => return Err(LoweringError::unsupported(format!("{other:?}"))),
    };
    Ok(vec![result])
}

/// Whether an index is in range; negative ones count from the end.
fn is_in_range(index: i64, size: usize) -> bool {
    let size = size as i64;
    (-size..size).contains(&index)
}

/// TopK: the largest or smallest elements along an axis, and their indices.
fn top_k(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    axis: i64,
    largest: bool,
) -> Result<Vec<DeviceTensor>, LoweringError> {
    let rank = x.shape.len();
    let axis = shape::axis(axis, rank)?;
    let k = context.output(0)?.shape()?[axis];
    // Make the axis the last one.
    let perm: Vec<usize> = (0..rank).filter(|&at| at != axis).chain([axis]).collect();
    let rows = context.transpose(x, &perm)?;
    let mut shape = rows.shape.clone();
    shape[rank - 1] = k;
    let (values, indices) = (context.new_tensor(x.dtype, shape.clone()), context.new_tensor(DType::I64, shape));
    let params = TopK {
        rows: word(x.count() / x.shape[axis].max(1))?,
        columns: word(x.shape[axis])?,
        k: word(k)?,
        numbers: element_type(x.dtype)?.word(),
        largest: u32::from(largest),
    };
    let outputs = [values.tensor_id, indices.tensor_id];
    context.segment().dispatch_with("top_k", params.grid(), bytemuck::bytes_of(&params), &[rows.tensor_id], &outputs);
    let mut back: Vec<usize> = (0..rank - 1).collect();
    back.insert(axis, rank - 1);
    Ok(vec![context.transpose(&values, &back)?, context.transpose(&indices, &back)?])
}
