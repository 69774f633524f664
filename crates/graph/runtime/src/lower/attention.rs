//! Attention: one kernel if no output needs the scores, and several kernels otherwise.

use roci_graph::ops::attention::{Attention, Scores};
use roci_graph::{DType, shape};
use roci_kernels::params::{self, ElementwiseOp as Op, Softmax};

use super::build::{A, B, C, Instr::Apply, Instr::ApplyWith, Instr::Save, float, integer, temporary};
use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

/// Returns `[batch, heads, length, size]` from the same layout, or from `[batch, length, heads *
/// size]`.
pub(super) fn heads_first(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    heads: Option<usize>,
) -> Result<DeviceTensor, LoweringError> {
    match x.shape[..] {
        [batch, length, width] => {
            let heads = heads
                .filter(|heads| *heads > 0)
                .ok_or_else(|| LoweringError::unsupported("an unknown number of heads"))?;
            context.transpose(&x.reshaped([batch, length, heads, width / heads]), &[0, 2, 1, 3])
        }
        _ => Ok(x.clone()),
    }
}

/// A tensor of heads in either layout, read through strides.
struct Heads {
    operand: DeviceTensor,
    count: usize,
    rows: usize,
    size: usize,
    /// Strides of batch, head and row.
    strides: [u32; 3],
}

impl Heads {
    /// From `[batch, heads, length, size]`, or `[batch, length, heads * size]`.
    fn of(operand: &DeviceTensor, heads: Option<usize>) -> Result<Self, LoweringError> {
        let (count, rows, size, strides) = match operand.shape[..] {
            [_, rows, width] => {
                let heads = heads
                    .filter(|heads| *heads > 0)
                    .ok_or_else(|| LoweringError::unsupported("an unknown number of heads"))?;
                (heads, rows, width / heads, [rows * width, width / heads, width])
            }
            [_, heads, rows, size] => (heads, rows, size, [heads * rows * size, rows * size, size]),
            _ => return Err(LoweringError::unsupported("a tensor without heads")),
        };
        let [batch, head, row] = strides.map(word);
        Ok(Self { operand: operand.clone(), count, rows, size, strides: [batch?, head?, row?] })
    }
}

/// Attention as one kernel; `None` if the scores are an output or the kernel does not support the
/// operation.
fn fused_attention(context: &mut Context<'_, '_>, op: &Attention) -> Result<Option<Vec<DeviceTensor>>, LoweringError> {
    let is_wide = context.fact(3).map(|_| context.shape_of(3)).transpose()?.is_some_and(|mask| mask.len() > 4);
    if op.softcap > 0.0 || context.uses_output(3) || is_wide {
        return Ok(None);
    }
    let (q, k, v) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let (mut keys, mut values) = (k.clone(), v.clone());
    let mut past = 0;
    if context.fact(4).is_some() || context.uses_output(1) || context.uses_output(2) {
        keys = heads_first(context, &k, op.heads.1)?;
        values = heads_first(context, &v, op.heads.1)?;
    }
    let of_queries = Heads::of(&q, op.heads.0)?;
    if of_queries.size == 0 || Heads::of(&v, op.heads.1)?.size > params::Attention::MAX_WIDTH as usize {
        return Ok(None);
    }
    if let (Some(old_keys), Some(old_values)) = (context.optional(4)?, context.optional(5)?) {
        past = old_keys.shape[2];
        keys = context.concat(&[&old_keys, &keys], 2)?;
        values = context.concat(&[&old_values, &values], 2)?;
    }
    let (of_keys, of_values) = (Heads::of(&keys, op.heads.1)?, Heads::of(&values, op.heads.1)?);
    let (batch, heads, rows, width) = (q.shape[0], of_queries.count, of_queries.rows, of_values.size);
    let shape = [batch, heads, rows, of_keys.rows];
    if shape.contains(&0) || of_keys.count == 0 || width == 0 {
        return Ok(None);
    }
    let mask = combined_mask(context, op, shape)?;
    let result = context.new_tensor(
        q.dtype,
        if q.shape.len() == 3 { vec![batch, rows, heads * width] } else { vec![batch, heads, rows, width] },
    );
    // The kernel has one diagonal for all batches. With a length per batch, the mask contains the
    // diagonal.
    let causal = if op.causal && context.fact(6).is_none() { params::Attention::CAUSAL } else { 0 };
    let params = params::Attention {
        batch: word(batch)?,
        heads: word(heads)?,
        gqa_ratio: word(heads / of_keys.count)?,
        rows: word(rows)?,
        keys: word(of_keys.rows)?,
        size: word(of_queries.size)?,
        width: word(width)?,
        past: word(past)?,
        q: of_queries.strides,
        k: of_keys.strides,
        v: of_values.strides,
        y: Heads::of(&result, Some(heads))?.strides,
        mask: mask.as_ref().map_or(Ok([0; 4]), |mask| broadcast_strides(mask, &shape))?,
        scale: op.scale.unwrap_or(1.0 / (of_queries.size as f32).sqrt()),
        flags: causal | if mask.is_some() { params::Attention::MASK } else { 0 },
    };
    if !params.fits_groups() {
        return Ok(None);
    }
    let mask = mask.unwrap_or_else(|| q.clone());
    let inputs = [of_queries.operand.tensor_id, of_keys.operand.tensor_id, of_values.operand.tensor_id, mask.tensor_id];
    context.segment().dispatch("attention", &params, &inputs, result.tensor_id);
    let mut output = vec![result, DeviceTensor { dtype: k.dtype, ..keys }, DeviceTensor { dtype: v.dtype, ..values }];
    // The scores are not used, but every output needs a tensor.
    output.push(q);
    output.truncate(context.output_count());
    Ok(Some(output))
}

/// Strides of a tensor that is broadcast to a shape.
fn broadcast_strides(x: &DeviceTensor, to: &[usize; 4]) -> Result<[u32; 4], LoweringError> {
    let strides = super::strided::dense(&x.shape);
    let mut output = [0; 4];
    for (at, (&size, &stride)) in x.shape.iter().zip(&strides).enumerate() {
        let at = 4 - x.shape.len() + at;
        if size != 1 || to[at] == 1 {
            output[at] = word(usize::try_from(stride).unwrap_or(usize::MAX))?;
        }
    }
    Ok(output)
}

/// The mask to add to the scores, with minus infinity for keys beyond a batch's length.
fn combined_mask(
    context: &mut Context<'_, '_>,
    op: &Attention,
    shape: [usize; 4],
) -> Result<Option<DeviceTensor>, LoweringError> {
    let bias = float_mask(context, op, shape[3])?;
    let Some(visible) = visible_by_length(context, op, shape)? else { return Ok(bias) };
    let code = [
        ApplyWith(Op::Load, float(f32::NEG_INFINITY)),
        Save(3),
        ApplyWith(Op::Load, float(0.0)),
        Save(0),
        ApplyWith(Op::Load, A),
        ApplyWith(Op::Select, temporary(0)),
    ];
    let hidden = context.map(&code, &[&visible], DType::F32, &visible.shape)?;
    let Some(bias) = bias else { return Ok(Some(hidden)) };
    let both = shape::broadcast(&[&bias.shape, &hidden.shape])?;
    context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)], &[&bias, &hidden], DType::F32, &both).map(Some)
}

/// Which scores are within the batches' lengths, as words that broadcast to the scores; `None`
/// without lengths.
fn visible_by_length(
    context: &mut Context<'_, '_>,
    op: &Attention,
    [batch, _, rows, total]: [usize; 4],
) -> Result<Option<DeviceTensor>, LoweringError> {
    let Some(lengths) = context.optional(6)? else { return Ok(None) };
    let lengths = lengths.reshaped([batch, 1, 1, 1]);
    let keys = context.iota(4, 3, total)?;
    if !op.causal {
        let code = [ApplyWith(Op::Load, A), ApplyWith(Op::LessI32, B)];
        return context.map(&code, &[&keys, &lengths], DType::I32, &[batch, 1, 1, total]).map(Some);
    }
    // The last query is at the last valid key: key + rows - query <= length.
    let queries = context.iota(4, 2, rows)?;
    let code = [
        ApplyWith(Op::Load, A),
        ApplyWith(Op::AddI32, integer(rows as i32)),
        ApplyWith(Op::SubI32, B),
        ApplyWith(Op::LessEqualI32, C),
    ];
    context.map(&code, &[&keys, &queries, &lengths], DType::I32, &[batch, 1, rows, total]).map(Some)
}

pub(super) fn attention(context: &mut Context<'_, '_>, op: &Attention) -> Result<Vec<DeviceTensor>, LoweringError> {
    if let Some(output) = fused_attention(context, op)? {
        return Ok(output);
    }
    let (q, k, v) = (context.operand(0)?, context.operand(1)?, context.operand(2)?);
    let flat = q.shape.len() == 3;
    let queries = heads_first(context, &q, op.heads.0)?;
    let mut keys = heads_first(context, &k, op.heads.1)?;
    let mut values = heads_first(context, &v, op.heads.1)?;
    let mut past = 0;
    if let (Some(old_keys), Some(old_values)) = (context.optional(4)?, context.optional(5)?) {
        past = old_keys.shape[2];
        keys = context.concat(&[&old_keys, &keys], 2)?;
        values = context.concat(&[&old_values, &values], 2)?;
    }
    let &[batch, heads, rows, size] = &queries.shape[..] else {
        return Err(LoweringError::unsupported("a tensor without heads"));
    };
    let (groups, total, width) = (keys.shape[1], keys.shape[2], values.shape[3]);
    let shape = [batch, heads, rows, total];
    // Heads that share keys are rows of one product.
    let shared = heads / groups.max(1) * rows;
    let transposed = context.transpose(&keys, &[0, 1, 3, 2])?;
    let grouped = queries.reshaped([batch * groups, shared, size]);
    let product =
        context.product(&grouped, &transposed.reshaped([batch * groups, size, total]), [shared, total, size])?;
    let scale = op.scale.unwrap_or(1.0 / (size as f32).sqrt());
    let mut scores = context.map(
        &[ApplyWith(Op::Load, A), ApplyWith(Op::Mul, float(scale))],
        &[&product.reshaped(shape)],
        DType::F32,
        &shape,
    )?;
    let mut stored_scores = None;
    let mut keep = |stage: Scores, scores: &DeviceTensor| {
        if op.scores == stage {
            stored_scores = Some(scores.clone());
        }
    };
    keep(Scores::Products, &scores);
    if op.softcap > 0.0 {
        let cap = float(op.softcap);
        let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Div, cap), Apply(Op::Tanh), ApplyWith(Op::Mul, cap)];
        scores = context.map(&code, &[&scores], DType::F32, &shape)?;
    }
    keep(Scores::Capped, &scores);
    scores = mask_scores(context, &scores, op, past)?;
    keep(Scores::Masked, &scores);
    let weights = context.new_tensor(DType::F32, shape);
    let params = Softmax { rows: word(batch * heads * rows)?, columns: word(total)? };
    context.segment().dispatch("softmax", &params, &[scores.tensor_id], weights.tensor_id);
    // A query without visible keys gets zeros.
    let top = context.reduce(&scores, "reduce_max", &[3])?.reshaped([batch, heads, rows, 1]);
    let code = [
        ApplyWith(Op::Load, A),
        Save(3),
        ApplyWith(Op::Load, float(0.0)),
        Save(0),
        ApplyWith(Op::Load, B),
        Apply(Op::IsNegativeInfinity),
        ApplyWith(Op::Select, temporary(0)),
    ];
    let weights = context.map(&code, &[&weights, &top], DType::F32, &shape)?;
    keep(Scores::Weights, &weights);
    let (left, right) =
        (weights.reshaped([batch * groups, shared, total]), values.reshaped([batch * groups, total, width]));
    let mut result = context.product(&left, &right, [shared, width, total])?.reshaped([batch, heads, rows, width]);
    if flat {
        result = context.transpose(&result, &[0, 2, 1, 3])?.reshaped([batch, rows, heads * width]);
    }
    let typed = |operand: DeviceTensor, dtype: DType| DeviceTensor { dtype, ..operand };
    let scores = typed(stored_scores.unwrap_or(scores), q.dtype);
    let mut output = vec![typed(result, q.dtype), typed(keys, k.dtype), typed(values, v.dtype), scores];
    output.truncate(context.output_count());
    Ok(output)
}

/// Adds the mask, and sets scores of hidden keys to minus infinity.
fn mask_scores(
    context: &mut Context<'_, '_>,
    scores: &DeviceTensor,
    op: &Attention,
    past: usize,
) -> Result<DeviceTensor, LoweringError> {
    let &[batch, heads, rows, total] = &scores.shape[..] else {
        return Err(LoweringError::unsupported("a tensor without scores"));
    };
    let shape = [batch, heads, rows, total];
    let mut scores = scores.clone();
    if let Some(bias) = float_mask(context, op, total)? {
        scores =
            context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)], &[&scores, &bias], DType::F32, &shape)?;
    }
    let mut visible = visible_by_length(context, op, shape)?;
    if op.causal && visible.is_none() {
        let words: Vec<i32> = (0..rows * total).map(|at| i32::from(at % total <= at / total + past)).collect();
        visible = Some(context.i32_table(&words, [rows, total])?);
    }
    let Some(visible) = visible else { return Ok(scores) };
    // Hidden scores are minus infinity even if they were NaN.
    let hide =
        [ApplyWith(Op::Load, float(f32::NEG_INFINITY)), Save(3), ApplyWith(Op::Load, B), ApplyWith(Op::Select, A)];
    context.map(&hide, &[&scores, &visible], DType::F32, &shape)
}

/// The mask as floats for all keys; `None` without a mask.
fn float_mask(
    context: &mut Context<'_, '_>,
    op: &Attention,
    total: usize,
) -> Result<Option<DeviceTensor>, LoweringError> {
    let Some(mask) = context.optional(3)? else { return Ok(None) };
    let width = mask.shape.last().copied().unwrap_or(0);
    let mut bias = if mask.dtype == DType::Bool {
        let code = [
            ApplyWith(Op::Load, float(f32::NEG_INFINITY)),
            Save(3),
            ApplyWith(Op::Load, float(0.0)),
            Save(0),
            ApplyWith(Op::Load, A),
            ApplyWith(Op::Select, temporary(0)),
        ];
        context.map(&code, &[&mask], DType::F32, &mask.shape)?
    } else {
        context.as_floats(&mask)?
    };
    if op.pads_mask && width < total {
        // Keys beyond the mask's width are hidden.
        let mut more = mask.shape.clone();
        let last = more.len() - 1;
        more[last] = total - width;
        let unseen = context.fill(DType::F32, &more, f32::NEG_INFINITY.to_bits())?;
        bias = context.concat(&[&DeviceTensor { dtype: DType::F32, ..bias }, &unseen], last)?;
    }
    Ok(Some(bias))
}
