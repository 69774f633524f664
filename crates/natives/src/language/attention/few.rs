//! The queries of one token, where they would fill no vector: scores of all its keys, then their values.

use super::super::linear::dot;
use super::{Text, capped, load};
use crate::simd::{Simd, Task};

/// Memory that is kept from token to token.
#[derive(Default)]
pub(super) struct Scratch {
    scores: Vec<f32>,
    line: Vec<f32>,
    sum: Vec<f32>,
}

/// The heads of one token that share a head of keys.
pub(super) struct Token<'a> {
    pub(super) text: &'a Text<'a>,
    pub(super) token: usize,
    pub(super) scratch: &'a mut Scratch,
}

impl Task for Token<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { text, token, .. } = self;
        let (p, bytes) = (text.p, text.bytes);
        let Scratch { scores, line, sum } = self.scratch;
        let [keys, values] = [p.key_length, p.value_length].map(|length| length as usize);
        let positions = text.seen(token);
        let (shared, seen) = (text.shared(), positions.len());
        scores.resize(shared * seen, 0.0);
        line.resize(keys.max(values), 0.0);
        sum.clear();
        sum.resize(shared * values, 0.0);
        for (at, position) in positions.clone().enumerate() {
            load(simd, bytes, text.inputs[2], text.place(position), &mut line[..keys]);
            for head in 0..shared {
                let score = dot(text.query(token, head), &line[..keys]) * p.scale;
                scores[head * seen + at] = if p.soft_cap > 0.0 { capped(score, p.soft_cap) } else { score };
            }
        }
        let mut totals = Vec::with_capacity(shared);
        for scores in scores.chunks_exact_mut(seen) {
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|score| *score = crate::single::exp(*score - most));
            totals.push((most, scores.iter().sum::<f32>()));
        }
        for (at, position) in positions.enumerate() {
            load(simd, bytes, text.inputs[3], text.place(position), &mut line[..values]);
            for head in 0..shared {
                let weight = scores[head * seen + at];
                let sum = &mut sum[head * values..][..values];
                sum.iter_mut().zip(&*line).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        for (head, total) in totals.into_iter().enumerate() {
            text.finish(token, head, |d| sum[head * values + d], total);
        }
    }
}
