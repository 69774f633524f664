//! Pooling.

use roci_graph::ops::Pool;
use roci_graph::ops::indexing::Scatter;
use roci_graph::ops::pool::{PoolKind, pooled};
use roci_graph::ops::window::{Axis, Count, Window};
use roci_graph::{DType, shape};
use roci_kernels::params::{self, ElementwiseOp, ElementwiseOperand};

use super::build::{A, B, Instr::Apply, Instr::ApplyWith, float};
use super::{Context, padded_sizes, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn lower(op: &Pool, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    if let Pool::MaxUnpool { window } = op {
        return Ok(vec![unpool(context, window)?]);
    }
    let input = context.operand(0)?;
    // f32 represents bytes exactly.
    let x = context.as_floats(&input)?;
    let spatial = x.shape.len().saturating_sub(2);
    let (kind, axes) = match op {
        Pool::Slide { kind, window, ceil } if (1..=3).contains(&spatial) => {
            (*kind, window.axes(&x.shape[2..], &window.kernel, Count::of_pool(*ceil))?)
        }
        Pool::Global { kind } if spatial >= 1 => {
            // Global pooling does not depend on the order, so all spatial axes become one.
            let input = x.shape[2..].iter().product();
            let whole = Axis { input, output: 1, kernel: input, stride: 1, dilation: 1, before: 0, after: 0 };
            (*kind, vec![whole])
        }
        other => return Err(LoweringError::unsupported(format!("{other:?} over {spatial} dimensions"))),
    };
    let (kernel, flags, norm) = match kind {
        PoolKind::Max { column_major } => ("pool_max", if column_major { params::Pool::COLUMN_MAJOR } else { 0 }, 0),
        PoolKind::Average { with_padding } => {
            ("pool_average", if with_padding { params::Pool::COUNT_PAD } else { 0 }, 0)
        }
        PoolKind::Lp { order } if order >= 1.0 && order.fract() == 0.0 => ("pool_lp", 0, order as u32),
        PoolKind::Lp { order } => return Err(LoweringError::unsupported(format!("a norm of order {order}"))),
    };
    let params = params::Pool {
        planes: word(x.shape[0] * x.shape[1])?,
        input: padded_sizes(axes.iter().map(|axis| axis.input), 1)?,
        output: padded_sizes(axes.iter().map(|axis| axis.output), 1)?,
        kernel: padded_sizes(axes.iter().map(|axis| axis.kernel), 1)?,
        stride: padded_sizes(axes.iter().map(|axis| axis.stride), 1)?,
        dilation: padded_sizes(axes.iter().map(|axis| axis.dilation), 1)?,
        pad: padded_sizes(axes.iter().map(|axis| axis.before), 0)?.map(|pad| pad as i32),
        pad_end: padded_sizes(axes.iter().map(|axis| axis.after), 0)?.map(|pad| pad as i32),
        flags,
        norm,
    };
    let shape = context.output(0)?.shape()?.to_vec();
    let mut target = context.new_tensor(x.dtype, shape.clone());
    context.segment().dispatch(kernel, &params, &[x.tensor_id], target.tensor_id);
    if !input.dtype.is_float() {
        let code = [
            ApplyWith(ElementwiseOp::Load, A),
            ApplyWith(ElementwiseOp::Max, float(-128.0)),
            Apply(ElementwiseOp::F32ToI32),
        ];
        target = context.map(&code, &[&target], input.dtype, &shape)?;
    }
    let mut result = vec![target];
    if context.output_count() > 1 && context.uses_output(1) {
        let places = context.new_output(1)?;
        debug_assert_eq!(places.dtype, DType::I64);
        context.segment().dispatch("pool_max_indices", &params, &[x.tensor_id], places.tensor_id);
        result.push(places);
    }
    Ok(result)
}

/// Scatters elements back to the indices that max pooling reported.
fn unpool(context: &mut Context<'_, '_>, window: &Window) -> Result<DeviceTensor, LoweringError> {
    let (x, places) = (context.operand(0)?, context.operand(1)?);
    let to = context.output(0)?.shape()?.to_vec();
    let own = pooled(window, &x.shape)?;
    let mut index = places.reshaped([places.count(), 1]);
    if own != to {
        // Indices refer to the shape that the window implies, which is a corner of the result.
        let (steps, into) = (shape::strides(&own), shape::strides(&to));
        let mut sum = context.fill(DType::I32, &index.shape, 0)?;
        for axis in 0..own.len() {
            let [step, size, into] = [steps[axis], own[axis], into[axis]].map(word);
            let code = [
                ApplyWith(ElementwiseOp::Load, A),
                ApplyWith(ElementwiseOp::DivU32, ElementwiseOperand::Word(step?)),
                ApplyWith(ElementwiseOp::ModU32, ElementwiseOperand::Word(size?)),
                ApplyWith(ElementwiseOp::MulI32, ElementwiseOperand::Word(into?)),
                ApplyWith(ElementwiseOp::AddI32, B),
            ];
            sum = context.map(&code, &[&index, &sum], DType::I32, &sum.shape.clone())?;
        }
        index = sum;
    }
    let count = to.iter().product::<usize>();
    let target = context.fill(x.dtype, &[count], 0)?;
    context.scatter_nd(&target, &index, &x.reshaped([x.count()]), Scatter::Replace)?;
    Ok(target.reshaped(to))
}
