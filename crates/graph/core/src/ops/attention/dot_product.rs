//! Scaled dot-product attention.

use super::{heads_first, split, swap};
use crate::ops::{Facts, Inputs};
use crate::{DType, Fact, OpError, Tensor, Value, shape};

/// Which scores are the fourth output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// The scaled products of queries and keys.
    Products,
    /// After the soft cap.
    Capped,
    /// After the soft cap and the mask: hidden keys stay hidden.
    Masked,
    /// After softmax.
    Weights,
}

/// Attention. Operands: queries, keys, values, each `[batch, heads, length, size]` or `[batch,
/// length, heads * size]`; a mask that broadcasts to `[batch, heads, queries, keys]`; past keys and
/// values, or, if the keys are a whole KV cache, the number of valid keys of each batch. Outputs:
/// the result in the layout of the queries, all keys, all values, and scores.
#[derive(Clone, Debug)]
pub struct Attention {
    /// The factor of the products; `1 / sqrt(size)` if `None`.
    pub scale: Option<f32>,
    /// Whether keys after a query's own position are hidden. The first query follows the past keys.
    /// With numbers of valid keys, the last query is at the last valid key of its batch.
    pub causal: bool,
    /// Whether keys beyond the mask's width are hidden (opset 24). Otherwise the mask is broadcast
    /// (opset 23).
    pub pads_mask: bool,
    /// The numbers of heads of queries and of keys, if the shapes do not contain them.
    pub heads: (Option<usize>, Option<usize>),
    /// The soft cap: scores approach this bound. 0 disables it.
    pub softcap: f32,
    /// Which scores are an output.
    pub scores: Scores,
}

/// All sizes: `[batch, heads, length, size]` of each operand, and the number of past keys.
struct AttentionSizes {
    q: [usize; 4],
    k: [usize; 4],
    v: [usize; 4],
    past: usize,
}

impl AttentionSizes {
    /// `[batch, heads, queries, keys]`.
    fn scores(&self) -> [usize; 4] {
        let [batch, heads, queries, _] = self.q;
        [batch, heads, queries, self.past + self.k[2]]
    }
}

impl Attention {
    fn sizes(&self, shapes: [&[usize]; 3], past: [Option<&[usize]>; 2]) -> Result<AttentionSizes, OpError> {
        let (q, k) = (split(shapes[0], self.heads.0)?, split(shapes[1], self.heads.1)?);
        let v = split(shapes[2], self.heads.1)?;
        let wrong = || {
            let [q, k, v] = shapes;
            OpError::invalid(format!("the shapes of queries {q:?}, keys {k:?} and values {v:?} do not match"))
        };
        let grouped = k[1] > 0 && q[1] % k[1] == 0 || q[1] == 0;
        let same_rank = shapes.iter().all(|shape| shape.len() == shapes[0].len());
        if !same_rank || q[0] != k[0] || k[..3] != v[..3] || q[3] != k[3] || !grouped {
            return Err(wrong());
        }
        let past = match past {
            [None, None] => 0,
            [Some(&[kb, kh, length, ks]), Some(&[vb, vh, same, vs])]
                if length == same && [kb, kh, ks] == [k[0], k[1], k[3]] && [vb, vh, vs] == [v[0], v[1], v[3]] =>
            {
                length
            }
            [Some(key), Some(value)] => {
                return Err(OpError::invalid(format!(
                    "past keys have shape {key:?} and past values {value:?}, expected the same length, \
                     and the other sizes of keys {k:?} and values {v:?}"
                )));
            }
            _ => return Err(OpError::invalid("past keys and past values must be given together")),
        };
        past.checked_add(k[2]).ok_or_else(wrong)?;
        Ok(AttentionSizes { q, k, v, past })
    }

    /// The shapes of all outputs.
    fn shapes(sizes: &AttentionSizes, queries: &[usize]) -> [Vec<usize>; 4] {
        let AttentionSizes { q, k, v, past } = sizes;
        let total = past + k[2];
        let result = match *queries {
            [batch, length, _] => vec![batch, length, q[1].saturating_mul(v[3])],
            _ => vec![q[0], q[1], q[2], v[3]],
        };
        [result, vec![k[0], k[1], total, k[3]], vec![v[0], v[1], total, v[3]], sizes.scores().to_vec()]
    }

    /// Fails if a mask of this shape does not broadcast to the scores.
    fn check_mask(&self, mask: &[usize], scores: &[usize; 4]) -> Result<(), OpError> {
        let (total, outer) = (scores[3], &scores[..3]);
        let fits = mask.split_last().is_some_and(|(&width, own)| {
            let reaches = if self.pads_mask { width <= total } else { width == total || width == 1 };
            reaches && shape::broadcast(&[own, outer]).is_ok_and(|both| both == outer)
        });
        let wrong = || {
            OpError::invalid(format!(
                "the mask has shape {mask:?}, expected one that broadcasts to the scores' shape {scores:?}"
            ))
        };
        fits.then_some(()).ok_or_else(wrong)
    }

    pub(super) fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let operands = [inputs.get(0)?, inputs.get(1)?, inputs.get(2)?];
        let past = [inputs.optional(4), inputs.optional(5)];
        let (mask, lengths) = (inputs.optional(3), inputs.optional(6));
        if lengths.is_some() && past.iter().any(Option::is_some) {
            return Err(OpError::invalid("`nonpad_kv_seqlen` cannot be given together with past keys and values"));
        }
        if let Some(wrong) = lengths.filter(|fact| fact.dtype != DType::I64) {
            return Err(OpError::dtype("Attention", wrong.dtype));
        }
        for fact in operands.into_iter().chain(past.into_iter().flatten()) {
            if !fact.dtype.is_float() {
                return Err(OpError::dtype("Attention", fact.dtype));
            }
        }
        let types = [operands[0].dtype, operands[1].dtype, operands[2].dtype, operands[0].dtype];
        let known = operands.map(|fact| fact.shape.as_deref());
        let unknown_past = past.into_iter().flatten().any(|fact| fact.shape.is_none());
        let ([Some(q), Some(k), Some(v)], false) = (known, unknown_past) else {
            return Ok(types.map(Fact::unknown).to_vec());
        };
        let sizes = self.sizes([q, k, v], past.map(|fact| fact.and_then(|fact| fact.shape.as_deref())))?;
        if let Some(mask) = mask.and_then(|fact| fact.shape.as_deref()) {
            self.check_mask(mask, &sizes.scores())?;
        }
        if let Some(lengths) = lengths.and_then(|fact| fact.shape.as_deref())
            && lengths != [sizes.q[0]]
        {
            return Err(OpError::invalid(format!(
                "`nonpad_kv_seqlen` has shape {lengths:?}, expected [{}]",
                sizes.q[0]
            )));
        }
        let shapes = Self::shapes(&sizes, q);
        Ok(types.into_iter().zip(shapes).map(|(dtype, shape)| Fact::new(dtype, shape)).collect())
    }

    pub(super) fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        self.infer(&Facts::new(&inputs.facts()?, inputs.outputs()))?;
        let [q, k, v] = [inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?];
        let past = [inputs.optional(4)?, inputs.optional(5)?];
        let sizes = self.sizes([q.shape(), k.shape(), v.shape()], past.map(|one| one.map(Tensor::shape)))?;
        let shapes = Self::shapes(&sizes, q.shape());
        for shape in &shapes {
            shape::count(shape)?;
        }
        let keys = behind(past[0], heads_first(k, sizes.k)?, sizes.k)?;
        let values = behind(past[1], heads_first(v, sizes.v)?, sizes.v)?;
        let bias = self.bias(inputs, &sizes)?;
        let (mut result, scores) = self.attend(&heads_first(q, sizes.q)?, &keys, &values, &bias, &sizes)?;
        if q.rank() == 3 {
            result = swap(&result, [sizes.q[0], sizes.q[1], sizes.q[2], sizes.v[3]]);
        }
        let types = [q.dtype(), k.dtype(), v.dtype(), q.dtype()];
        let all = [result, keys, values, scores].into_iter().zip(shapes).zip(types);
        all.map(|((all, shape), dtype)| Ok(Tensor::from_floats(dtype, shape, &all)?.into())).collect()
    }

    /// The mask to add to the scores, with minus infinity for hidden keys.
    fn bias(&self, inputs: &Inputs<'_>, sizes: &AttentionSizes) -> Result<Vec<f64>, OpError> {
        let shape = sizes.scores();
        let [_, heads, queries, total] = shape;
        let mut bias = vec![0.0; shape::count(&shape)?];
        if let Some(mask) = inputs.optional(3)? {
            let mask_values = mask.floats()?;
            let boolean = mask.dtype() == DType::Bool;
            let (&width, outer) =
                mask.shape().split_last().ok_or_else(|| OpError::invalid("the mask has no key dimension"))?;
            let is_repeated = width == 1 && !self.pads_mask;
            let mut strides = shape::broadcast_strides(outer, &shape[..3]);
            strides.iter_mut().for_each(|stride| *stride *= width);
            for (row, start) in bias.chunks_exact_mut(total.max(1)).zip(shape::offsets(&shape[..3], &strides)) {
                for (index, into) in row.iter_mut().enumerate() {
                    let index = if is_repeated { 0 } else { index };
                    // Keys beyond the mask's width are hidden.
                    *into = match (index < width).then(|| mask_values[start + index]) {
                        Some(one) if !boolean => one,
                        Some(one) if one != 0.0 => 0.0,
                        _ => f64::NEG_INFINITY,
                    };
                }
            }
        }
        let lengths = inputs.optional(6)?.map(Tensor::integers).transpose()?;
        for (row, scores) in bias.chunks_exact_mut(total.max(1)).enumerate() {
            let query = row % queries;
            // The first key that is hidden from the query.
            let end = match &lengths {
                Some(lengths) => {
                    let later = if self.causal { queries - 1 - query } else { 0 };
                    lengths[row / (heads * queries)].saturating_sub_unsigned(later as u64)
                }
                None if self.causal => (sizes.past + query + 1) as i64,
                None => i64::MAX,
            };
            let end = usize::try_from(end.max(0)).map_or(total, |end| end.min(total));
            scores[end..].fill(f64::NEG_INFINITY);
        }
        Ok(bias)
    }

    /// The result and the scores, both by head.
    fn attend(
        &self,
        queries: &[f64],
        keys: &[f64],
        values: &[f64],
        bias: &[f64],
        sizes: &AttentionSizes,
    ) -> Result<(Vec<f64>, Vec<f64>), OpError> {
        let [batch, heads, rows, size] = sizes.q;
        let (kv_heads, total, width) = (sizes.k[1], sizes.past + sizes.k[2], sizes.v[3]);
        let scale = self.scale.map_or(1.0 / (size as f64).sqrt(), f64::from);
        let cap = f64::from(self.softcap);
        let mut result = vec![0.0; shape::count(&[batch, heads, rows, width])?];
        let mut stored_scores = Vec::with_capacity(bias.len());
        let mut scores = vec![0.0; total];
        for row in 0..shape::count(&[batch, heads, rows])? {
            let (at, head) = (row / (heads * rows), row / rows % heads);
            let group = at * kv_heads + head / (heads / kv_heads);
            let query = &queries[row * size..][..size];
            for (index, score) in scores.iter_mut().enumerate() {
                let key = &keys[(group * total + index) * size..][..size];
                *score = query.iter().zip(key).map(|(query, key)| query * key).sum::<f64>() * scale;
            }
            let keep = |stage: Scores, scores: &[f64], stored: &mut Vec<f64>| {
                if self.scores == stage {
                    stored.extend_from_slice(scores);
                }
            };
            keep(Scores::Products, &scores, &mut stored_scores);
            if cap > 0.0 {
                scores.iter_mut().for_each(|score| *score = cap * (*score / cap).tanh());
            }
            keep(Scores::Capped, &scores, &mut stored_scores);
            scores.iter_mut().zip(&bias[row * total..]).for_each(|(score, bias)| *score += bias);
            keep(Scores::Masked, &scores, &mut stored_scores);
            softmax(&mut scores);
            keep(Scores::Weights, &scores, &mut stored_scores);
            let into = &mut result[row * width..][..width];
            for (index, weight) in scores.iter().enumerate() {
                let value = &values[(group * total + index) * width..][..width];
                into.iter_mut().zip(value).for_each(|(into, value)| *into += weight * value);
            }
        }
        Ok((result, stored_scores))
    }
}

/// Softmax in place.
fn softmax(scores: &mut [f64]) {
    // A query without visible keys gets zeros.
    if scores.iter().all(|score| *score == f64::NEG_INFINITY) {
        return scores.fill(0.0);
    }
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = (*score - most).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// Appends new elements to past ones along the third axis.
fn behind(past: Option<&Tensor>, new: Vec<f64>, [batch, heads, length, size]: [usize; 4]) -> Result<Vec<f64>, OpError> {
    let Some(past) = past else { return Ok(new) };
    let before = past.floats()?;
    let (each, old) = (length * size, before.len().checked_div(batch * heads).unwrap_or(0));
    let mut all = Vec::with_capacity(before.len() + new.len());
    for head in 0..batch * heads {
        all.extend_from_slice(&before[head * old..][..old]);
        all.extend_from_slice(&new[head * each..][..each]);
    }
    Ok(all)
}
