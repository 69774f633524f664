//! Windows that slide.

use roci_graph::ops::pool::PoolKind;
use roci_graph::ops::window::Axis;
use roci_graph::DType;
use roci_graph::ops::Pool;
use roci_kernels::params;

use super::{Context, Operand, three, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Pool, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    if !x.dtype.is_float() {
        return Err(Refusal::unsupported(format!("pooling of {}", x.dtype)));
    }
    let spatial = x.shape.len().saturating_sub(2);
    let (kind, axes) = match op {
        Pool::Slide { kind, window, ceil } if (1..=3).contains(&spatial) => {
            (*kind, window.axes(&x.shape[2..], &window.kernel, *ceil)?)
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
    let target = context.new_output(0)?;
    if target.count() > 0 {
        context.segment().run(kernel, &params, &[x.slot], target.slot);
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
