//! `lm_attention_*` and `lm_join`: queries against pages of keys and values.

use std::ops::Range;

use half::f16;

use super::linear::dot;
use super::{Cells, Plan, Work, floats, word};
use crate::params::{LmAttention, LmJoin};
use crate::simd::{Level, Simd, Task};

/// `BYTES` for a cache of bytes with scales, 16-bit floats otherwise.
pub(crate) struct Attention<const BYTES: bool>;
/// Splits made one.
pub(crate) struct Join;

impl<const BYTES: bool> Work for Attention<BYTES> {
    type Params = LmAttention;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 1;

    /// A unit is a token and a head of keys.
    fn plan(p: &LmAttention) -> Result<Plan, String> {
        if p.page == 0 || p.kv_heads == 0 || !p.heads.is_multiple_of(p.kv_heads) || p.splits == 0 {
            return Err(format!(
                "{} heads of {}, {} tokens to a page, {} splits",
                p.heads, p.kv_heads, p.page, p.splits
            ));
        }
        let cost = 512 * u64::from(p.key_length) * u64::from(p.heads / p.kv_heads);
        Ok(Plan { units: u64::from(p.tokens) * u64::from(p.kv_heads), cost })
    }

    fn compute(level: Level, p: &LmAttention, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        let mut scratch = Scratch::default();
        for unit in units {
            let (token, head) = (unit / p.kv_heads as usize, unit % p.kv_heads as usize);
            level.run(Head { p, bytes: BYTES, inputs, y: outputs[0], token, head, scratch: &mut scratch });
        }
    }
}

/// Memory that is kept from head to head.
#[derive(Default)]
struct Scratch {
    scores: Vec<f32>,
    line: Vec<f32>,
    sum: Vec<f32>,
}

struct Head<'a> {
    p: &'a LmAttention,
    bytes: bool,
    inputs: &'a [&'a [u32]],
    y: Cells<'a>,
    token: usize,
    head: usize,
    scratch: &'a mut Scratch,
}

impl Task for Head<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { p, inputs, y, token, .. } = self;
        let Scratch { scores, line, sum } = self.scratch;
        let [keys, values] = [p.key_length, p.value_length].map(|length| length as usize);
        let shared = (p.heads / p.kv_heads) as usize;
        let position = word(inputs[0], token);
        let table = word(inputs[0], p.tokens as usize + token);
        let first = if p.window == 0 { 0 } else { (position + 1).saturating_sub(p.window as usize) };
        let seen = position + 1 - first;
        let place = |position: usize| {
            let page = word(inputs[0], table + position / p.page as usize);
            (page * p.page as usize + position % p.page as usize) * p.kv_heads as usize + self.head
        };
        scores.resize(shared * seen, 0.0);
        line.resize(keys.max(values), 0.0);
        sum.resize(shared * values, 0.0);
        let query =
            |head: usize| floats(inputs[1], token * p.q_stride as usize + (self.head * shared + head) * keys, keys);
        for at in 0..seen {
            load(simd, self.bytes, inputs[2], place(first + at), &mut line[..keys]);
            for head in 0..shared {
                let score = dot(query(head), &line[..keys]) * p.scale;
                let capped = if p.soft_cap > 0.0 { p.soft_cap * (score / p.soft_cap).tanh() } else { score };
                scores[head * seen + at] = capped;
            }
        }
        let mut totals = Vec::with_capacity(shared);
        for scores in scores.chunks_exact_mut(seen) {
            let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            scores.iter_mut().for_each(|score| *score = crate::single::exp(*score - most));
            totals.push((most, scores.iter().sum::<f32>()));
        }
        sum.fill(0.0);
        for at in 0..seen {
            load(simd, self.bytes, inputs[3], place(first + at), &mut line[..values]);
            for head in 0..shared {
                let weight = scores[head * seen + at];
                let sum = &mut sum[head * values..][..values];
                sum.iter_mut().zip(&*line).for_each(|(sum, value)| *sum += weight * value);
            }
        }
        for (head, (sum, (most, total))) in sum.chunks_exact(values).zip(totals).enumerate() {
            let head = self.head * shared + head;
            if p.splits == 1 {
                let start = token * p.y_stride as usize + head * values;
                sum.iter().enumerate().for_each(|(d, sum)| y.set(start + d, sum / total));
                continue;
            }
            // All of it in the first split; the others weigh nothing.
            let start = (token * p.heads as usize + head) * p.splits as usize * (values + 2);
            for split in 0..p.splits as usize {
                let start = start + split * (values + 2);
                let whole = split == 0;
                sum.iter().enumerate().for_each(|(d, sum)| y.set(start + d, if whole { *sum } else { 0.0 }));
                y.set(start + values, if whole { most } else { -3.0e38 });
                y.set(start + values + 1, if whole { total } else { 0.0 });
            }
        }
    }
}

/// A line of a cache as numbers.
#[inline(always)]
fn load<S: Simd>(_: S, bytes: bool, cache: &[u32], line: usize, to: &mut [f32]) {
    let length = to.len();
    if !bytes {
        let words = cache.get(line * (length / 2)..(line + 1) * (length / 2)).unwrap_or(&[]);
        let halves: &[f16] = bytemuck::cast_slice(words);
        for (to, half) in to.iter_mut().zip(halves) {
            *to = half.to_f32();
        }
        return;
    }
    let words = length / 4 + length / 32;
    let Some(words) = cache.get(line * words..(line + 1) * words) else { return };
    let (codes, scales) = words.split_at(length / 4);
    let codes: &[i8] = bytemuck::cast_slice(codes);
    for ((to, codes), scale) in to.chunks_exact_mut(32).zip(codes.chunks_exact(32)).zip(scales) {
        let scale = f32::from_bits(*scale);
        to.iter_mut().zip(codes).for_each(|(to, code)| *to = scale * f32::from(*code));
    }
}

impl Work for Join {
    type Params = LmJoin;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn plan(p: &LmJoin) -> Result<Plan, String> {
        let cost = 4 * u64::from(p.value_length) * u64::from(p.splits);
        Ok(Plan { units: u64::from(p.tokens) * u64::from(p.heads), cost })
    }

    fn compute(_: Level, p: &LmJoin, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        let [splits, length] = [p.splits, p.value_length].map(|count| count as usize);
        for unit in units {
            let parts = floats(inputs[0], unit * splits * (length + 2), splits * (length + 2));
            let parts = || parts.chunks_exact(length + 2);
            let most = parts().map(|part| part[length]).fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = parts().map(|part| (part[length] - most).exp() * part[length + 1]).sum();
            let (token, head) = (unit / p.heads as usize, unit % p.heads as usize);
            for d in 0..length {
                let sum: f32 = parts().map(|part| (part[length] - most).exp() * part[d]).sum();
                outputs[0].set(token * p.y_stride as usize + head * length + d, sum / total);
            }
        }
    }
}
