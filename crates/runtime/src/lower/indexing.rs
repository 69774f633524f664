//! Elements chosen by indices that are data.

use roci_graph::ops::Indexing;
use roci_graph::{DType, OpError, shape};
use roci_kernels::params::{Params, Take, TakeElements, TakeNd, TopK};

use super::scatter::{Lines, joined};
use super::{Context, Operand, masks, numbers, region, scatter, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Indexing, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let made = match op {
        Indexing::Gather { axis } => {
            let index = context.operand(1)?;
            let (outer, size, inner) = shape::around(&x.shape, shape::axis(*axis, x.shape.len())?);
            if let Some(known) = context.fact(1).and_then(|fact| fact.value.as_ref())
                && let Some(index) = known.integers()?.iter().find(|index| !within(**index, size))
            {
                return Err(OpError::invalid(format!("index {index} on an axis of {size}")).into());
            }
            let params =
                Take { outer: word(outer)?, axis: word(size)?, inner: word(inner)?, count: word(index.count())? };
            let target = context.new_output(0)?;
            context.segment().run("take", &params, &[x.slot, index.slot], target.slot);
            target
        }
        Indexing::GatherElements { axis } => {
            let index = context.operand(1)?;
            let axis = shape::axis(*axis, x.shape.len())?;
            let (own, steps) = (shape::strides(&x.shape), shape::strides(&index.shape));
            let one = |at: usize| Lines {
                size: index.shape[at],
                of_data: if at == axis { 0 } else { own[at] },
                of_index: steps[at],
            };
            let lines = joined((0..x.shape.len()).map(one));
            if lines.len() > 5 {
                return Err(Refusal::unsupported(format!("indices of shape {:?} for {:?}", index.shape, x.shape)));
            }
            let (mut sizes, mut strides) = ([1; 5], [0; 5]);
            let first = 5 - lines.len();
            for (at, line) in lines.iter().enumerate() {
                sizes[first + at] = word(line.size)?;
                strides[first + at] = word(line.of_data)?;
            }
            let params = TakeElements {
                count: word(index.count())?,
                shape: sizes,
                strides,
                axis: word(x.shape[axis])?,
                axis_stride: word(own[axis])?,
            };
            let target = context.new_output(0)?;
            context.segment().run("take_elements", &params, &[x.slot, index.slot], target.slot);
            target
        }
        Indexing::GatherNd { batch_dims } => {
            let index = context.operand(1)?;
            let depth = index.shape.last().copied().unwrap_or(0);
            if depth > 5 {
                return Err(Refusal::unsupported(format!("tuples of {depth} indices")));
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
            let params = TakeNd {
                batches: word(batches)?,
                count: word(count)?,
                slice: word(slice)?,
                depth: word(depth)?,
                sizes,
                strides,
                batch_stride: word(x.shape[*batch_dims..].iter().product())?,
            };
            context.segment().run("take_nd", &params, &[x.slot, index.slot], target.slot);
            target
        }
        Indexing::ScatterElements { axis, reduction } => scatter::elements(context, *axis, *reduction)?,
        Indexing::ScatterNd { reduction } => scatter::nd(context, *reduction)?,
        Indexing::TensorScatter { axis, circular } => scatter::cache(context, *axis, *circular)?,
        Indexing::OneHot { axis } => masks::one_hot(context, *axis)?,
        Indexing::TopK { axis, largest } => return top(context, &x, *axis, *largest),
        Indexing::Compress { axis } => {
            let marks = context.value(1)?.slice::<bool>()?;
            let places: Vec<usize> = marks.iter().enumerate().filter(|(_, mark)| **mark).map(|(at, _)| at).collect();
            match axis {
                None => context.picked(&x.reshaped([x.count()]), 0, &places)?,
                Some(axis) => context.picked(&x, shape::axis(*axis, x.shape.len())?, &places)?,
            }
        }
        Indexing::RoiAlign(roi) => region::align(context, roi)?,
        Indexing::MaxRoiPool(roi) => region::pool(context, roi)?,
        other => return Err(Refusal::unsupported(format!("{other:?}"))),
    };
    Ok(vec![made])
}

/// Whether an index points at one of so many elements, perhaps from their end.
fn within(index: i64, size: usize) -> bool {
    let size = size as i64;
    (-size..size).contains(&index)
}

/// The first in order along an axis, and their indices.
fn top(context: &mut Context<'_, '_>, x: &Operand, axis: i64, largest: bool) -> Result<Vec<Operand>, Refusal> {
    let rank = x.shape.len();
    let axis = shape::axis(axis, rank)?;
    let k = context.output(0)?.shape()?[axis];
    // Rows lie along the last axis.
    let perm: Vec<usize> = (0..rank).filter(|&at| at != axis).chain([axis]).collect();
    let rows = context.transposed(x, &perm)?;
    let mut shape = rows.shape.clone();
    shape[rank - 1] = k;
    let (values, indices) = (context.new_tensor(x.dtype, shape.clone()), context.new_tensor(DType::I64, shape));
    let params = TopK {
        rows: word(x.count() / x.shape[axis].max(1))?,
        columns: word(x.shape[axis])?,
        k: word(k)?,
        numbers: numbers(x.dtype)?.word(),
        largest: u32::from(largest),
    };
    let outputs = [values.slot, indices.slot];
    context.segment().run_with("top_k", params.grid(), bytemuck::bytes_of(&params), &[rows.slot], &outputs);
    let mut back: Vec<usize> = (0..rank - 1).collect();
    back.insert(axis, rank - 1);
    Ok(vec![context.transposed(&values, &back)?, context.transposed(&indices, &back)?])
}
