//! Attention and rotary embeddings.

use roci_graph::DType;
use roci_graph::ops::Attend;
use roci_graph::ops::attend::{Attention, Rotary, Scores};
use roci_kernels::params::{ChainOp as Op, Softmax};

use super::build::{A, B, C, Step::Do, Step::Save, Step::With, float, temporary};
use super::strided::{dense, dimensions};
use super::{Context, Operand, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Attend, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Attend::Attention(op) => attention(context, op),
        Attend::Rotary(op) => Ok(vec![rotary(context, op)?]),
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

/// `[batch, heads, length, size]` of a tensor that is that, or `[batch, length, heads * size]`.
fn heads_first(context: &mut Context<'_, '_>, x: &Operand, heads: Option<usize>) -> Result<Operand, Refusal> {
    match x.shape[..] {
        [batch, length, width] => {
            let heads = heads.filter(|heads| *heads > 0).ok_or_else(|| Refusal::unsupported("no number of heads"))?;
            context.transposed(&x.reshaped([batch, length, heads, width / heads]), &[0, 2, 1, 3])
        }
        _ => Ok(x.clone()),
    }
}

fn attention(context: &mut Context<'_, '_>, op: &Attention) -> Result<Vec<Operand>, Refusal> {
    let (q, k, v) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let flat = q.shape.len() == 3;
    let queries = heads_first(context, &q, op.heads.0)?;
    let mut keys = heads_first(context, &k, op.heads.1)?;
    let mut values = heads_first(context, &v, op.heads.1)?;
    let mut past = 0;
    if let (Some(old_keys), Some(old_values)) = (context.optional(4)?, context.optional(5)?) {
        past = old_keys.shape[2];
        keys = context.joined(&[&old_keys, &keys], 2)?;
        values = context.joined(&[&old_values, &values], 2)?;
    }
    let &[batch, heads, rows, size] = &queries.shape[..] else { return Err(Refusal::unsupported("no heads")) };
    let (groups, total, width) = (keys.shape[1], keys.shape[2], values.shape[3]);
    let shape = [batch, heads, rows, total];
    // Heads that share keys are rows of one product.
    let shared = heads / groups.max(1) * rows;
    let turned = context.transposed(&keys, &[0, 1, 3, 2])?;
    let grouped = queries.reshaped([batch * groups, shared, size]);
    let product = context.product(&grouped, &turned.reshaped([batch * groups, size, total]), [shared, total, size])?;
    let scale = op.scale.unwrap_or(1.0 / (size as f32).sqrt());
    let mut scores = context.map(
        &[With(Op::Load, A), With(Op::Mul, float(scale))],
        &[&product.reshaped(shape)],
        DType::F32,
        &shape,
    )?;
    let mut kept = None;
    let mut keep = |stage: Scores, scores: &Operand| {
        if op.scores == stage {
            kept = Some(scores.clone());
        }
    };
    keep(Scores::Products, &scores);
    scores = masked(context, &scores, op, past)?;
    keep(Scores::Masked, &scores);
    if op.softcap > 0.0 {
        let cap = float(op.softcap);
        let code = [With(Op::Load, A), With(Op::Div, cap), Do(Op::Tanh), With(Op::Mul, cap)];
        scores = context.map(&code, &[&scores], DType::F32, &shape)?;
    }
    keep(Scores::Capped, &scores);
    let weights = context.new_tensor(DType::F32, shape);
    let params = Softmax { rows: word(batch * heads * rows)?, columns: word(total)? };
    context.segment().run("softmax", &params, &[scores.slot], weights.slot);
    // A query that sees no key gets nothing.
    let top = context.folded(&scores, "reduce_max", &[3])?.reshaped([batch, heads, rows, 1]);
    let code = [
        With(Op::Load, A),
        Save(3),
        With(Op::Load, float(0.0)),
        Save(0),
        With(Op::Load, B),
        Do(Op::IsNegativeInfinity),
        With(Op::Select, temporary(0)),
    ];
    let weights = context.map(&code, &[&weights, &top], DType::F32, &shape)?;
    keep(Scores::Weights, &weights);
    let (left, right) =
        (weights.reshaped([batch * groups, shared, total]), values.reshaped([batch * groups, total, width]));
    let mut result = context.product(&left, &right, [shared, width, total])?.reshaped([batch, heads, rows, width]);
    if flat {
        result = context.transposed(&result, &[0, 2, 1, 3])?.reshaped([batch, rows, heads * width]);
    }
    let typed = |operand: Operand, dtype: DType| Operand { dtype, ..operand };
    let scores = typed(kept.unwrap_or(scores), q.dtype);
    let mut made = vec![typed(result, q.dtype), typed(keys, k.dtype), typed(values, v.dtype), scores];
    made.truncate(context.outputs());
    Ok(made)
}

/// Scores with the mask, and minus infinity where a query sees no key.
fn masked(context: &mut Context<'_, '_>, scores: &Operand, op: &Attention, past: usize) -> Result<Operand, Refusal> {
    let &[batch, _, rows, total] = &scores.shape[..] else { return Err(Refusal::unsupported("no scores")) };
    let shape = scores.shape.clone();
    let mut scores = scores.clone();
    if let Some(mask) = context.optional(3)? {
        let width = mask.shape.last().copied().unwrap_or(0);
        let mut bias = mask.clone();
        if mask.dtype == DType::Bool {
            let code = [
                With(Op::Load, float(f32::NEG_INFINITY)),
                Save(3),
                With(Op::Load, float(0.0)),
                Save(0),
                With(Op::Load, A),
                With(Op::Select, temporary(0)),
            ];
            bias = context.map(&code, &[&mask], DType::F32, &mask.shape)?;
        }
        if width < total {
            // Keys that the mask does not reach are not seen.
            let mut more = mask.shape.clone();
            let last = more.len() - 1;
            more[last] = total - width;
            let unseen = context.filled(DType::F32, &more, f32::NEG_INFINITY.to_bits())?;
            bias = context.joined(&[&Operand { dtype: DType::F32, ..bias }, &unseen], last)?;
        }
        scores = context.map(&[With(Op::Load, A), With(Op::Add, B)], &[&scores, &bias], DType::F32, &shape)?;
    }
    // What is seen, as a word: the others are minus infinity whatever they were.
    let hide = [With(Op::Load, float(f32::NEG_INFINITY)), Save(3), With(Op::Load, B), With(Op::Select, A)];
    if op.causal {
        let seen: Vec<i32> = (0..rows * total).map(|at| i32::from(at % total <= at / total + past)).collect();
        let seen = context.integers(&seen, [rows, total])?;
        scores = context.map(&hide, &[&scores, &seen], DType::F32, &shape)?;
    }
    if let Some(counting) = context.optional(6)? {
        let ramp = context.ramp(4, 3, total)?;
        let code = [With(Op::Load, A), With(Op::LessI32, B)];
        let counting = counting.reshaped([batch, 1, 1, 1]);
        let seen = context.map(&code, &[&ramp, &counting], DType::I32, &[batch, 1, 1, total])?;
        scores = context.map(&hide, &[&scores, &seen], DType::F32, &shape)?;
    }
    Ok(scores)
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
