//! Attention (in `attention`) and rotary embeddings.

use roci_graph::DType;
use roci_graph::ops::AttentionOp;
use roci_graph::ops::attention::Rotary;
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::attention::{attention, heads_first};
use super::build::{A, B, C, Instr::ApplyWith};
use super::strided::{dense, dimensions};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

pub(super) fn lower(op: &AttentionOp, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    match op {
        AttentionOp::Attention(op) => attention(context, op),
        AttentionOp::Rotary(op) => Ok(vec![rotary(context, op)?]),
        other => Err(LoweringError::unsupported(format!("{other:?}"))),
    }
}

fn rotary(context: &mut Context<'_, '_>, op: &Rotary) -> Result<DeviceTensor, LoweringError> {
    let (x, cosines, sines) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let heads = heads_first(context, &x, op.heads)?;
    let &[batch, count, length, size] = &heads.shape[..] else {
        return Err(LoweringError::unsupported("a tensor without heads"));
    };
    let rotary_dim = if op.rotary_dim == 0 { size } else { op.rotary_dim };
    let pairs = rotary_dim / 2;
    // Rows of the table, by batch and position.
    let mut tables = Vec::new();
    for table in [cosines, sines] {
        tables.push(match context.optional(3)? {
            None => table.reshaped([batch, 1, length, pairs]),
            Some(positions) => {
                context.gather(&table, 0, &positions.reshaped([batch * length]))?.reshaped([batch, 1, length, pairs])
            }
        });
    }
    let shape = [batch, count, length, pairs];
    let mut strides = dense(&heads.shape);
    let (second, step) = if op.interleaved { (1, 2) } else { (pairs, 1) };
    strides[3] = step;
    let left = context.strided_copy(&heads, 0, &dimensions(&shape, strides.clone()), shape)?;
    let right = context.strided_copy(&heads, second, &dimensions(&shape, strides), shape)?;
    let times = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)];
    let turn =
        |context: &mut Context<'_, '_>, one: usize, other: usize, join: Op| -> Result<DeviceTensor, LoweringError> {
            let part = context.map(&times, &[&right, &tables[other]], DType::F32, &shape)?;
            let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B), ApplyWith(join, C)];
            context.map(&code, &[&left, &tables[one], &part], x.dtype, &shape)
        };
    let (first, second) = (turn(context, 0, 1, Op::Sub)?, turn(context, 1, 0, Op::Add)?);
    let mut result = if op.interleaved {
        let one = |part: &DeviceTensor| part.reshaped([batch, count, length, pairs, 1]);
        context.concat(&[&one(&first), &one(&second)], 4)?.reshaped([batch, count, length, rotary_dim])
    } else {
        context.concat(&[&first, &second], 3)?
    };
    if rotary_dim < size {
        let rest = context.slice(&heads, 3, rotary_dim, size - rotary_dim)?;
        result = context.concat(&[&result, &rest], 3)?;
    }
    if x.shape.len() == 3 {
        result = context.transpose(&result, &[0, 2, 1, 3])?.reshaped(x.shape);
    }
    Ok(result)
}
