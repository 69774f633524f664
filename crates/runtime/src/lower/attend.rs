//! Rotary embeddings; attention is next door.

use roci_graph::DType;
use roci_graph::ops::Attend;
use roci_graph::ops::attend::Rotary;
use roci_kernels::params::ChainOp as Op;

use super::attention::{attention, heads_first};
use super::build::{A, B, C, Step::With};
use super::strided::{dense, dimensions};
use super::{Context, Operand};
use crate::error::Refusal;

pub(super) fn lower(op: &Attend, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Attend::Attention(op) => attention(context, op),
        Attend::Rotary(op) => Ok(vec![rotary(context, op)?]),
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

fn rotary(context: &mut Context<'_, '_>, op: &Rotary) -> Result<Operand, Refusal> {
    let (x, cosines, sines) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let heads = heads_first(context, &x, op.heads)?;
    let &[batch, count, length, size] = &heads.shape[..] else { return Err(Refusal::unsupported("no heads")) };
    let turned = if op.turned == 0 { size } else { op.turned };
    let pairs = turned / 2;
    // The table's row of each place of each batch.
    let mut tables = Vec::new();
    for table in [cosines, sines] {
        tables.push(match context.optional(3)? {
            None => table.reshaped([batch, 1, length, pairs]),
            Some(positions) => {
                context.taken(&table, 0, &positions.reshaped([batch * length]))?.reshaped([batch, 1, length, pairs])
            }
        });
    }
    let shape = [batch, count, length, pairs];
    let mut strides = dense(&heads.shape);
    let (second, step) = if op.interleaved { (1, 2) } else { (pairs, 1) };
    strides[3] = step;
    let left = context.arranged(&heads, 0, &dimensions(&shape, strides.clone()), shape)?;
    let right = context.arranged(&heads, second, &dimensions(&shape, strides), shape)?;
    let times = [With(Op::Load, A), With(Op::Mul, B)];
    let turn = |context: &mut Context<'_, '_>, one: usize, other: usize, join: Op| -> Result<Operand, Refusal> {
        let part = context.map(&times, &[&right, &tables[other]], DType::F32, &shape)?;
        let code = [With(Op::Load, A), With(Op::Mul, B), With(join, C)];
        context.map(&code, &[&left, &tables[one], &part], x.dtype, &shape)
    };
    let (first, second) = (turn(context, 0, 1, Op::Sub)?, turn(context, 1, 0, Op::Add)?);
    let mut made = if op.interleaved {
        let one = |part: &Operand| part.reshaped([batch, count, length, pairs, 1]);
        context.joined(&[&one(&first), &one(&second)], 4)?.reshaped([batch, count, length, turned])
    } else {
        context.joined(&[&first, &second], 3)?
    };
    if turned < size {
        let rest = context.part(&heads, 3, turned, size - turned)?;
        made = context.joined(&[&made, &rest], 3)?;
    }
    if x.shape.len() == 3 {
        made = context.transposed(&made, &[0, 2, 1, 3])?.reshaped(x.shape);
    }
    Ok(made)
}
