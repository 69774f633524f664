//! Windows that slide.

use roci_graph::ops::Pool;
use roci_graph::ops::indexing::Scatter;
use roci_graph::ops::pool::{PoolKind, pooled};
use roci_graph::ops::window::{Axis, Count, Window};
use roci_graph::{DType, shape};
use roci_kernels::params::{self, ChainOp, ChainOperand};

use super::build::{A, B, Step::Do, Step::With, float};
use super::{Context, Operand, three, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Pool, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    if let Pool::MaxUnpool { window } = op {
        return Ok(vec![unpool(context, window)?]);
    }
    let given = context.operand(0)?;
    // Bytes are exact as floats.
    let x = context.as_floats(&given)?;
    let spatial = x.shape.len().saturating_sub(2);
    let (kind, axes) = match op {
        Pool::Slide { kind, window, ceil } if (1..=3).contains(&spatial) => {
            (*kind, window.axes(&x.shape[2..], &window.kernel, Count::of_pool(*ceil))?)
        }
        Pool::Global { kind } if spatial >= 1 => {
            // One axis of all elements: their order means nothing here.
            let input = x.shape[2..].iter().product();
            let whole = Axis { input, output: 1, kernel: input, stride: 1, dilation: 1, before: 0, after: 0 };
            (*kind, vec![whole])
        }
        other => return Err(Refusal::unsupported(format!("{other:?} over {spatial} dimensions"))),
    };
    let (kernel, flags, norm) = match kind {
        PoolKind::Max { column_major } => ("pool_max", if column_major { params::Pool::COLUMN_MAJOR } else { 0 }, 0),
        PoolKind::Average { with_padding } => {
            ("pool_average", if with_padding { params::Pool::COUNT_PAD } else { 0 }, 0)
        }
        PoolKind::Lp { order } if order >= 1.0 && order.fract() == 0.0 => ("pool_lp", 0, order as u32),
        PoolKind::Lp { order } => return Err(Refusal::unsupported(format!("a norm of order {order}"))),
    };
    let params = params::Pool {
        planes: word(x.shape[0] * x.shape[1])?,
        input: three(axes.iter().map(|axis| axis.input), 1)?,
        output: three(axes.iter().map(|axis| axis.output), 1)?,
        kernel: three(axes.iter().map(|axis| axis.kernel), 1)?,
        stride: three(axes.iter().map(|axis| axis.stride), 1)?,
        dilation: three(axes.iter().map(|axis| axis.dilation), 1)?,
        pad: three(axes.iter().map(|axis| axis.before), 0)?.map(|pad| pad as i32),
        pad_end: three(axes.iter().map(|axis| axis.after), 0)?.map(|pad| pad as i32),
        flags,
        norm,
    };
    let shape = context.output(0)?.shape()?.to_vec();
    let mut target = context.new_tensor(x.dtype, shape.clone());
    context.segment().run(kernel, &params, &[x.slot], target.slot);
    if !given.dtype.is_float() {
        let code = [With(ChainOp::Load, A), With(ChainOp::Max, float(-128.0)), Do(ChainOp::F32ToI32)];
        target = context.map(&code, &[&target], given.dtype, &shape)?;
    }
    let mut made = vec![target];
    if context.outputs() > 1 && context.wants(1) {
        let places = context.new_output(1)?;
        debug_assert_eq!(places.dtype, DType::I64);
        context.segment().run("pool_max_indices", &params, &[x.slot], places.slot);
        made.push(places);
    }
    Ok(made)
}

/// Elements back to where pooling took them from.
fn unpool(context: &mut Context<'_, '_>, window: &Window) -> Result<Operand, Refusal> {
    let (x, places) = (context.operand(0)?, context.operand(1)?);
    let to = context.output(0)?.shape()?.to_vec();
    let own = pooled(window, &x.shape)?;
    let mut index = places.reshaped([places.count(), 1]);
    if own != to {
        // Places count in the shape that the window tells, which is a corner of the result.
        let (steps, into) = (shape::strides(&own), shape::strides(&to));
        let mut sum = context.filled(DType::I32, &index.shape, 0)?;
        for axis in 0..own.len() {
            let [step, size, into] = [steps[axis], own[axis], into[axis]].map(word);
            let code = [
                With(ChainOp::Load, A),
                With(ChainOp::DivU32, ChainOperand::Word(step?)),
                With(ChainOp::ModU32, ChainOperand::Word(size?)),
                With(ChainOp::MulI32, ChainOperand::Word(into?)),
                With(ChainOp::AddI32, B),
            ];
            sum = context.map(&code, &[&index, &sum], DType::I32, &sum.shape.clone())?;
        }
        index = sum;
    }
    let count = to.iter().product::<usize>();
    let target = context.filled(x.dtype, &[count], 0)?;
    context.scatter_nd(&target, &index, &x.reshaped([x.count()]), Scatter::Replace)?;
    Ok(target.reshaped(to))
}
