//! Attention: one kernel where nobody asks for what is in between, else the kernels that it is made of.

use roci_graph::ops::attend::{Attention, Scores};
use roci_graph::{DType, shape};
use roci_kernels::params::{self, ChainOp as Op, Softmax};

use super::build::{A, B, C, Step::Do, Step::Save, Step::With, float, integer, temporary};
use super::{Context, Operand, word};
use crate::error::Refusal;

/// `[batch, heads, length, size]` of a tensor that is that, or `[batch, length, heads * size]`.
pub(super) fn heads_first(
    context: &mut Context<'_, '_>,
    x: &Operand,
    heads: Option<usize>,
) -> Result<Operand, Refusal> {
    match x.shape[..] {
        [batch, length, width] => {
            let heads = heads.filter(|heads| *heads > 0).ok_or_else(|| Refusal::unsupported("no number of heads"))?;
            context.transposed(&x.reshaped([batch, length, heads, width / heads]), &[0, 2, 1, 3])
        }
        _ => Ok(x.clone()),
    }
}

/// A tensor that is read head by head where it lies.
struct Heads {
    operand: Operand,
    count: usize,
    rows: usize,
    size: usize,
    /// By batch, head and row.
    strides: [u32; 3],
}

impl Heads {
    /// Of `[batch, heads, length, size]`, or `[batch, length, heads * size]`.
    fn of(operand: &Operand, heads: Option<usize>) -> Result<Self, Refusal> {
        let (count, rows, size, strides) = match operand.shape[..] {
            [_, rows, width] => {
                let heads =
                    heads.filter(|heads| *heads > 0).ok_or_else(|| Refusal::unsupported("no number of heads"))?;
                (heads, rows, width / heads, [rows * width, width / heads, width])
            }
            [_, heads, rows, size] => (heads, rows, size, [heads * rows * size, rows * size, size]),
            _ => return Err(Refusal::unsupported("no heads")),
        };
        let [batch, head, row] = strides.map(word);
        Ok(Self { operand: operand.clone(), count, rows, size, strides: [batch?, head?, row?] })
    }
}

/// Attention as one kernel; `None` where somebody asks for scores, or the kernel does not take it.
fn at_once(context: &mut Context<'_, '_>, op: &Attention) -> Result<Option<Vec<Operand>>, Refusal> {
    let is_wide = context.fact(3).map(|_| context.shape_of(3)).transpose()?.is_some_and(|mask| mask.len() > 4);
    if op.softcap > 0.0 || context.wants(3) || is_wide {
        return Ok(None);
    }
    let (q, k, v) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let (mut keys, mut values) = (k.clone(), v.clone());
    let mut past = 0;
    if context.fact(4).is_some() || context.wants(1) || context.wants(2) {
        keys = heads_first(context, &k, op.heads.1)?;
        values = heads_first(context, &v, op.heads.1)?;
    }
    let of_queries = Heads::of(&q, op.heads.0)?;
    if of_queries.size == 0 || Heads::of(&v, op.heads.1)?.size > params::Attention::MOST_WIDTH as usize {
        return Ok(None);
    }
    if let (Some(old_keys), Some(old_values)) = (context.optional(4)?, context.optional(5)?) {
        past = old_keys.shape[2];
        keys = context.joined(&[&old_keys, &keys], 2)?;
        values = context.joined(&[&old_values, &values], 2)?;
    }
    let (of_keys, of_values) = (Heads::of(&keys, op.heads.1)?, Heads::of(&values, op.heads.1)?);
    let (batch, heads, rows, width) = (q.shape[0], of_queries.count, of_queries.rows, of_values.size);
    let shape = [batch, heads, rows, of_keys.rows];
    if shape.contains(&0) || of_keys.count == 0 || width == 0 {
        return Ok(None);
    }
    let mask = added(context, op, shape)?;
    let result = context.new_tensor(
        q.dtype,
        if q.shape.len() == 3 { vec![batch, rows, heads * width] } else { vec![batch, heads, rows, width] },
    );
    // The kernel has one diagonal for all batches; where each has its own, the mask holds it.
    let causal = if op.causal && context.fact(6).is_none() { params::Attention::CAUSAL } else { 0 };
    let params = params::Attention {
        batch: word(batch)?,
        heads: word(heads)?,
        shared_by: word(heads / of_keys.count)?,
        rows: word(rows)?,
        keys: word(of_keys.rows)?,
        size: word(of_queries.size)?,
        width: word(width)?,
        past: word(past)?,
        q: of_queries.strides,
        k: of_keys.strides,
        v: of_values.strides,
        y: Heads::of(&result, Some(heads))?.strides,
        mask: mask.as_ref().map_or(Ok([0; 4]), |mask| spread(mask, &shape))?,
        scale: op.scale.unwrap_or(1.0 / (of_queries.size as f32).sqrt()),
        flags: causal | if mask.is_some() { params::Attention::MASK } else { 0 },
    };
    if !params.fits_groups() {
        return Ok(None);
    }
    let mask = mask.unwrap_or_else(|| q.clone());
    let inputs = [of_queries.operand.slot, of_keys.operand.slot, of_values.operand.slot, mask.slot];
    context.segment().run("attention", &params, &inputs, result.slot);
    let mut made = vec![result, Operand { dtype: k.dtype, ..keys }, Operand { dtype: v.dtype, ..values }];
    // Nobody wants the scores, and every output needs something.
    made.push(q);
    made.truncate(context.outputs());
    Ok(Some(made))
}

/// Strides of a tensor in a shape to which it is broadcast.
fn spread(x: &Operand, to: &[usize; 4]) -> Result<[u32; 4], Refusal> {
    let strides = super::strided::dense(&x.shape);
    let mut made = [0; 4];
    for (at, (&size, &stride)) in x.shape.iter().zip(&strides).enumerate() {
        let at = 4 - x.shape.len() + at;
        if size != 1 || to[at] == 1 {
            made[at] = word(usize::try_from(stride).unwrap_or(usize::MAX))?;
        }
    }
    Ok(made)
}

/// What is added to scores of a shape: the mask as it is given, and minus infinity where lengths hide keys.
fn added(context: &mut Context<'_, '_>, op: &Attention, shape: [usize; 4]) -> Result<Option<Operand>, Refusal> {
    let bias = bias(context, op, shape[3])?;
    let Some(seen) = seen_by_lengths(context, op, shape)? else { return Ok(bias) };
    let code = [
        With(Op::Load, float(f32::NEG_INFINITY)),
        Save(3),
        With(Op::Load, float(0.0)),
        Save(0),
        With(Op::Load, A),
        With(Op::Select, temporary(0)),
    ];
    let hidden = context.map(&code, &[&seen], DType::F32, &seen.shape)?;
    let Some(bias) = bias else { return Ok(Some(hidden)) };
    let both = shape::broadcast(&[&bias.shape, &hidden.shape])?;
    context.map(&[With(Op::Load, A), With(Op::Add, B)], &[&bias, &hidden], DType::F32, &both).map(Some)
}

/// Which scores of a shape the lengths of the batches leave, as words that are broadcast to it; `None` without lengths.
fn seen_by_lengths(
    context: &mut Context<'_, '_>,
    op: &Attention,
    [batch, _, rows, total]: [usize; 4],
) -> Result<Option<Operand>, Refusal> {
    let Some(lengths) = context.optional(6)? else { return Ok(None) };
    let lengths = lengths.reshaped([batch, 1, 1, 1]);
    let keys = context.ramp(4, 3, total)?;
    if !op.causal {
        let code = [With(Op::Load, A), With(Op::LessI32, B)];
        return context.map(&code, &[&keys, &lengths], DType::I32, &[batch, 1, 1, total]).map(Some);
    }
    // The last query is at the last valid key: key + rows - query <= length.
    let queries = context.ramp(4, 2, rows)?;
    let code =
        [With(Op::Load, A), With(Op::AddI32, integer(rows as i32)), With(Op::SubI32, B), With(Op::LessEqualI32, C)];
    context.map(&code, &[&keys, &queries, &lengths], DType::I32, &[batch, 1, rows, total]).map(Some)
}

pub(super) fn attention(context: &mut Context<'_, '_>, op: &Attention) -> Result<Vec<Operand>, Refusal> {
    if let Some(made) = at_once(context, op)? {
        return Ok(made);
    }
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
    if op.softcap > 0.0 {
        let cap = float(op.softcap);
        let code = [With(Op::Load, A), With(Op::Div, cap), Do(Op::Tanh), With(Op::Mul, cap)];
        scores = context.map(&code, &[&scores], DType::F32, &shape)?;
    }
    keep(Scores::Capped, &scores);
    scores = masked(context, &scores, op, past)?;
    keep(Scores::Masked, &scores);
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
    let &[batch, heads, rows, total] = &scores.shape[..] else { return Err(Refusal::unsupported("no scores")) };
    let shape = [batch, heads, rows, total];
    let mut scores = scores.clone();
    if let Some(bias) = bias(context, op, total)? {
        scores = context.map(&[With(Op::Load, A), With(Op::Add, B)], &[&scores, &bias], DType::F32, &shape)?;
    }
    let mut seen = seen_by_lengths(context, op, shape)?;
    if op.causal && seen.is_none() {
        let words: Vec<i32> = (0..rows * total).map(|at| i32::from(at % total <= at / total + past)).collect();
        seen = Some(context.integers(&words, [rows, total])?);
    }
    let Some(seen) = seen else { return Ok(scores) };
    // What is hidden is minus infinity whatever it was.
    let hide = [With(Op::Load, float(f32::NEG_INFINITY)), Save(3), With(Op::Load, B), With(Op::Select, A)];
    context.map(&hide, &[&scores, &seen], DType::F32, &shape)
}

/// The mask as numbers for all keys; `None` where there is none.
fn bias(context: &mut Context<'_, '_>, op: &Attention, total: usize) -> Result<Option<Operand>, Refusal> {
    let Some(mask) = context.optional(3)? else { return Ok(None) };
    let width = mask.shape.last().copied().unwrap_or(0);
    let mut bias = if mask.dtype == DType::Bool {
        let code = [
            With(Op::Load, float(f32::NEG_INFINITY)),
            Save(3),
            With(Op::Load, float(0.0)),
            Save(0),
            With(Op::Load, A),
            With(Op::Select, temporary(0)),
        ];
        context.map(&code, &[&mask], DType::F32, &mask.shape)?
    } else {
        context.as_floats(&mask)?
    };
    if op.pads_mask && width < total {
        // Keys that the mask does not reach are not seen.
        let mut more = mask.shape.clone();
        let last = more.len() - 1;
        more[last] = total - width;
        let unseen = context.filled(DType::F32, &more, f32::NEG_INFINITY.to_bits())?;
        bias = context.joined(&[&Operand { dtype: DType::F32, ..bias }, &unseen], last)?;
    }
    Ok(Some(bias))
}
