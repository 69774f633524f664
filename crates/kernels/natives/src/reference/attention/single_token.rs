//! The queries of one token, too few to fill a vector: scores of all its keys, then the weighted
//! sum of values.

use super::super::linear::dot;
use super::{SequenceTokens, apply_soft_cap, load};
use roci_simd::{Simd, Task};

/// Buffers that are reused for the next token.
#[derive(Default)]
pub(super) struct Scratch {
    scores: Vec<f32>,
    row: Vec<f32>,
    sum: Vec<f32>,
}

/// The query heads of one token that share a KV head.
pub(super) struct TokenAttention<'a> {
    pub(super) sequence: &'a SequenceTokens<'a>,
    pub(super) token: usize,
    pub(super) scratch: &'a mut Scratch,
}

impl Task for TokenAttention<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { sequence, token, .. } = self;
        let (p, bytes) = (sequence.p, sequence.bytes);
        let Scratch { scores, row, sum } = self.scratch;
        let [keys, values] = [p.key_length, p.value_length].map(|length| length as usize);
        let positions = sequence.visible(token);
        let (query_heads, visible) = (sequence.query_heads(), positions.len());
        scores.resize(query_heads * visible, 0.0);
        row.resize(keys.max(values), 0.0);
        sum.clear();
        sum.resize(query_heads * values, 0.0);
        for (at, position) in positions.clone().enumerate() {
            load(simd, bytes, sequence.inputs[2], sequence.cache_row(position), &mut row[..keys]);
            for head in 0..query_heads {
                let score = dot(sequence.query(token, head), &row[..keys]) * p.scale;
                let score = if p.soft_cap > 0.0 { apply_soft_cap(score, p.soft_cap) } else { score };
                let distance = position.abs_diff(sequence.position(token));
                scores[head * visible + at] = score - sequence.slope(head) * distance as f32;
            }
        }
        let mut totals = Vec::with_capacity(query_heads);
        for scores in scores.chunks_exact_mut(visible) {
            let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|score| *score = crate::fast_math::exp(*score - max));
            totals.push((max, scores.iter().sum::<f32>()));
        }
        let (cache, pitch) = if p.values_in_keys == 0 { (3, values) } else { (2, keys) };
        for (at, position) in positions.enumerate() {
            load(simd, bytes, sequence.inputs[cache], sequence.cache_row(position), &mut row[..pitch]);
            let row = &row[pitch - values..pitch];
            for head in 0..query_heads {
                let weight = scores[head * visible + at];
                let sum = &mut sum[head * values..][..values];
                sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        for (head, total) in totals.into_iter().enumerate() {
            sequence.finish(token, head, |d| sum[head * values + d], total);
        }
    }
}
