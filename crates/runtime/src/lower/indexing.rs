//! Elements chosen by indices that are data.

use roci_graph::ops::Indexing;
use roci_graph::shape;
use roci_kernels::params::{Take, TakeElements, TakeNd};

use super::{Context, Operand, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Indexing, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let made = match op {
        Indexing::Gather { axis } => {
            let index = context.operand(1)?;
            let (outer, size, inner) = shape::around(&x.shape, shape::axis(*axis, x.shape.len())?);
            let params =
                Take { outer: word(outer)?, axis: word(size)?, inner: word(inner)?, count: word(index.count())? };
            let target = context.new_output(0)?;
            context.segment().run("take", &params, &[x.slot, index.slot], target.slot);
            target
        }
        Indexing::GatherElements { axis } if x.shape.len() <= 5 => {
            let index = context.operand(1)?;
            let axis = shape::axis(*axis, x.shape.len())?;
            let own = shape::strides(&x.shape);
            let (mut sizes, mut strides) = ([1; 5], [0; 5]);
            let first = 5 - x.shape.len();
            for at in 0..x.shape.len() {
                sizes[first + at] = word(index.shape[at])?;
                strides[first + at] = if at == axis { 0 } else { word(own[at])? };
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
        other => return Err(Refusal::unsupported(format!("{other:?}"))),
    };
    Ok(vec![made])
}
