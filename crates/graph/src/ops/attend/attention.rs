//! Scaled dot-product attention.

use super::{heads_first, split, swap};
use crate::ops::{Facts, Inputs};
use crate::{Fact, OpError, Tensor, Value, shape};

/// Which scores come out as the fourth output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scores {
    /// The scaled products of queries and keys.
    Products,
    /// Capped.
    Capped,
    /// Capped, and with the mask: what is hidden stays hidden.
    Masked,
    /// Behind softmax.
    Weights,
}

/// Attention. Operands: queries, keys, values, each `[batch, heads, length, size]` or `[batch, length, heads * size]`;
/// a mask that is broadcast to `[batch, heads, queries, keys]`; keys and values from before; how many keys of each
/// batch count. Makes the result in the form of the queries, all keys, all values, and scores.
#[derive(Clone, Debug)]
pub struct Attention {
    /// What products are multiplied with; one over the square root of the size where missing.
    pub scale: Option<f32>,
    /// Whether a query sees no keys behind its own place.
    pub causal: bool,
    /// The numbers of heads of queries and of keys, where shapes do not tell.
    pub heads: (Option<usize>, Option<usize>),
    /// The bound that scores come near to; none where 0.
    pub softcap: f32,
    /// Which scores come out.
    pub scores: Scores,
}

/// All sizes: `[batch, heads, length, size]` of each operand, and how many keys are from before.
struct Sizes {
    q: [usize; 4],
    k: [usize; 4],
    v: [usize; 4],
    past: usize,
}

impl Attention {
    fn sizes(&self, shapes: [&[usize]; 3], past: [Option<&[usize]>; 2]) -> Result<Sizes, OpError> {
        let (q, k) = (split(shapes[0], self.heads.0)?, split(shapes[1], self.heads.1)?);
        let v = split(shapes[2], self.heads.1)?;
        let wrong = || {
            let [q, k, v] = shapes;
            OpError::invalid(format!("queries {q:?}, keys {k:?} and values {v:?} do not go together"))
        };
        let grouped = k[1] > 0 && q[1] % k[1] == 0 || q[1] == 0;
        if q[0] != k[0] || k[..3] != v[..3] || q[3] != k[3] || !grouped {
            return Err(wrong());
        }
        let past = match past {
            [None, None] => 0,
            [Some(&[kb, kh, length, ks]), Some(&[vb, vh, same, vs])]
                if length == same && [kb, kh, ks] == [k[0], k[1], k[3]] && [vb, vh, vs] == [v[0], v[1], v[3]] =>
            {
                length
            }
            [key, value] => {
                let text = format!("keys {key:?} and values {value:?} from before do not fit {:?} and {:?}", k, v);
                return Err(OpError::invalid(text));
            }
        };
        past.checked_add(k[2]).ok_or_else(wrong)?;
        Ok(Sizes { q, k, v, past })
    }

    /// The shapes of all outputs.
    fn shapes(sizes: &Sizes, queries: &[usize]) -> [Vec<usize>; 4] {
        let Sizes { q, k, v, past } = sizes;
        let total = past + k[2];
        let result = match *queries {
            [batch, length, _] => vec![batch, length, q[1].saturating_mul(v[3])],
            _ => vec![q[0], q[1], q[2], v[3]],
        };
        [result, vec![k[0], k[1], total, k[3]], vec![v[0], v[1], total, v[3]], vec![q[0], q[1], q[2], total]]
    }

    pub(super) fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let operands = [inputs.get(0)?, inputs.get(1)?, inputs.get(2)?];
        let past = [inputs.optional(4), inputs.optional(5)];
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
        let shapes = Self::shapes(&sizes, q);
        Ok(types.into_iter().zip(shapes).map(|(dtype, shape)| Fact::new(dtype, shape)).collect())
    }

    pub(super) fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let [q, k, v] = [inputs.tensor(0)?, inputs.tensor(1)?, inputs.tensor(2)?];
        let past = [inputs.optional(4)?, inputs.optional(5)?];
        if let Some(wrong) = [q, k, v].into_iter().chain(past.into_iter().flatten()).find(|one| !one.dtype().is_float())
        {
            return Err(OpError::dtype("Attention", wrong.dtype()));
        }
        let sizes = self.sizes([q.shape(), k.shape(), v.shape()], past.map(|one| one.map(Tensor::shape)))?;
        let shapes = Self::shapes(&sizes, q.shape());
        for shape in &shapes {
            shape::count(shape)?;
        }
        let keys = behind(past[0], heads_first(k, sizes.k)?, sizes.k)?;
        let values = behind(past[1], heads_first(v, sizes.v)?, sizes.v)?;
        let bias = self.bias(inputs, &sizes, &shapes[3])?;
        let (mut result, scores) = self.attend(&heads_first(q, sizes.q)?, &keys, &values, &bias, &sizes)?;
        if q.rank() == 3 {
            result = swap(&result, [sizes.q[0], sizes.q[1], sizes.q[2], sizes.v[3]]);
        }
        let types = [q.dtype(), k.dtype(), v.dtype(), q.dtype()];
        let all = [result, keys, values, scores].into_iter().zip(shapes).zip(types);
        all.map(|((all, shape), dtype)| Ok(Tensor::from_floats(dtype, shape, &all)?.into())).collect()
    }

    /// What is added to the scores: the mask, and minus infinity where a query sees no key.
    fn bias(&self, inputs: &Inputs<'_>, sizes: &Sizes, shape: &[usize]) -> Result<Vec<f64>, OpError> {
        let &[batch, heads, queries, total] = shape else { return Err(OpError::invalid("no scores")) };
        let mut bias = vec![0.0; shape::count(shape)?];
        if let Some(mask) = inputs.optional(3)? {
            let wrong =
                || OpError::invalid(format!("a mask of shape {:?} for scores of shape {shape:?}", mask.shape()));
            let given = mask.floats()?;
            let boolean = mask.dtype() == crate::DType::Bool;
            let (&width, outer) = mask.shape().split_last().ok_or_else(wrong)?;
            if width > total || shape::broadcast(&[outer, &shape[..3]])? != shape[..3] {
                return Err(wrong());
            }
            let mut strides = shape::broadcast_strides(outer, &shape[..3]);
            strides.iter_mut().for_each(|stride| *stride *= width);
            for (row, start) in bias.chunks_exact_mut(total.max(1)).zip(shape::offsets(&shape[..3], &strides)) {
                for (index, into) in row.iter_mut().enumerate() {
                    // Keys that the mask does not reach are not seen.
                    *into = match (index < width).then(|| given[start + index]) {
                        Some(one) if !boolean => one,
                        Some(one) if one != 0.0 => 0.0,
                        _ => f64::NEG_INFINITY,
                    };
                }
            }
        }
        let counting = inputs.optional(6)?.map(Tensor::integers).transpose()?;
        if let Some(counting) = &counting
            && counting.len() != batch
        {
            return Err(OpError::invalid(format!("{} lengths for a batch of {batch}", counting.len())));
        }
        for (row, scores) in bias.chunks_exact_mut(total.max(1)).enumerate() {
            let query = row % queries;
            let end = counting.as_ref().map_or(i64::MAX, |counting| counting[row / (heads * queries)]);
            for (index, into) in scores.iter_mut().enumerate() {
                if self.causal && index > query + sizes.past || index as i64 >= end {
                    *into = f64::NEG_INFINITY;
                }
            }
        }
        Ok(bias)
    }

    /// The result and the scores, both by heads.
    fn attend(
        &self,
        queries: &[f64],
        keys: &[f64],
        values: &[f64],
        bias: &[f64],
        sizes: &Sizes,
    ) -> Result<(Vec<f64>, Vec<f64>), OpError> {
        let [batch, heads, rows, size] = sizes.q;
        let (kv_heads, total, width) = (sizes.k[1], sizes.past + sizes.k[2], sizes.v[3]);
        let scale = self.scale.map_or(1.0 / (size as f64).sqrt(), f64::from);
        let cap = f64::from(self.softcap);
        let mut result = vec![0.0; shape::count(&[batch, heads, rows, width])?];
        let mut kept = Vec::with_capacity(bias.len());
        let mut scores = vec![0.0; total];
        for row in 0..shape::count(&[batch, heads, rows])? {
            let (at, head) = (row / (heads * rows), row / rows % heads);
            let group = at * kv_heads + head / (heads / kv_heads);
            let query = &queries[row * size..][..size];
            for (index, score) in scores.iter_mut().enumerate() {
                let key = &keys[(group * total + index) * size..][..size];
                *score = query.iter().zip(key).map(|(query, key)| query * key).sum::<f64>() * scale;
            }
            let keep = |stage: Scores, scores: &[f64], kept: &mut Vec<f64>| {
                if self.scores == stage {
                    kept.extend_from_slice(scores);
                }
            };
            keep(Scores::Products, &scores, &mut kept);
            if cap > 0.0 {
                scores.iter_mut().for_each(|score| *score = cap * (*score / cap).tanh());
            }
            keep(Scores::Capped, &scores, &mut kept);
            scores.iter_mut().zip(&bias[row * total..]).for_each(|(score, bias)| *score += bias);
            keep(Scores::Masked, &scores, &mut kept);
            softmax(&mut scores);
            keep(Scores::Weights, &scores, &mut kept);
            let into = &mut result[row * width..][..width];
            for (index, weight) in scores.iter().enumerate() {
                let value = &values[(group * total + index) * width..][..width];
                into.iter_mut().zip(value).for_each(|(into, value)| *into += weight * value);
            }
        }
        Ok((result, kept))
    }
}

/// Exponentials divided by their sum.
fn softmax(scores: &mut [f64]) {
    // A query that sees no key gets nothing.
    if scores.iter().all(|score| *score == f64::NEG_INFINITY) {
        return scores.fill(0.0);
    }
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    scores.iter_mut().for_each(|score| *score = (*score - most).exp());
    let sum: f64 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}

/// What was there before, with what is new behind it along the third axis.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn what_is_hidden_stays_hidden_behind_a_cap() -> Result<(), OpError> {
        let numbers = |from: f32| -> Result<Value, OpError> {
            Ok(Tensor::new([1, 1, 2, 2], (0..4).map(|at| from + at as f32).collect::<Vec<_>>())?.into())
        };
        let op = Attention { scale: None, causal: true, heads: (None, None), softcap: 2.0, scores: Scores::Masked };
        let (queries, keys, values) = (numbers(1.0)?, numbers(-1.0)?, numbers(5.0)?);
        let made = op.eval(&Inputs::new(&[Some(&queries), Some(&keys), Some(&values)], 4))?;
        // The first query sees the first key alone.
        assert_eq!(made[0].tensor()?.floats()?[..2], [5.0, 6.0]);
        assert_eq!(made[3].tensor()?.floats()?[1], f64::NEG_INFINITY);
        Ok(())
    }
}
