//! `lm_attention_*` and `lm_join`: queries against pages of keys and values.
//!
//! Tokens of one text that stand together are taken as a block (`block`), a few queries one after the other (`few`).

mod block;
mod few;

use std::ops::Range;

use half::f16;

use super::rows::halves;
use super::{Cells, Plan, Work, floats, word};
use crate::matmul::tile::convert;
use crate::params::{LmAttention, LmJoin};
use crate::simd::{Level, Simd};

/// `BYTES` for a cache of bytes with scales, 16-bit floats otherwise.
pub(crate) struct Attention<const BYTES: bool>;
/// Splits made one.
pub(crate) struct Join;

/// Most queries of a unit: what keys and values are made numbers for.
const ROWS: u32 = 192;
/// Units into which even a short prompt falls, for each head of keys: threads share them.
const PIECES: u32 = 8;

/// Tokens of a unit.
fn unit_tokens(p: &LmAttention) -> usize {
    let most = ROWS / (p.heads / p.kv_heads).max(1);
    (p.tokens / PIECES).clamp(1, most.max(1)) as usize
}

impl<const BYTES: bool> Work for Attention<BYTES> {
    type Params = LmAttention;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 1;

    /// A unit is some tokens and a head of keys.
    fn plan(p: &LmAttention) -> Result<Plan, String> {
        if p.page == 0 || p.kv_heads == 0 || !p.heads.is_multiple_of(p.kv_heads) || p.splits == 0 {
            return Err(format!(
                "{} heads of {}, {} tokens to a page, {} splits",
                p.heads, p.kv_heads, p.page, p.splits
            ));
        }
        let tokens = unit_tokens(p);
        let cost = 512 * u64::from(p.key_length) * u64::from(p.heads / p.kv_heads) * tokens as u64;
        Ok(Plan { units: u64::from(p.tokens).div_ceil(tokens as u64) * u64::from(p.kv_heads), cost })
    }

    fn compute(level: Level, p: &LmAttention, inputs: &[&[u32]], outputs: &[Cells<'_>], units: Range<usize>) {
        let (tokens, each) = (p.tokens as usize, unit_tokens(p));
        let mut scratch = Scratch::default();
        for unit in units {
            // The last tokens of a prompt see the most. Taken by turns from both ends, units next to each other are as much work
            // as any others.
            let (turn, count) = (unit / p.kv_heads as usize, tokens.div_ceil(each));
            let first = each * if turn.is_multiple_of(2) { count - 1 - turn / 2 } else { turn / 2 };
            let head = unit % p.kv_heads as usize;
            let mut left = first..(first + each).min(tokens);
            while let Some(start) = left.next() {
                let table = word(inputs[0], tokens + start);
                while left.start < left.end && word(inputs[0], tokens + left.start) == table {
                    left.next();
                }
                let texts =
                    Text { p, level, bytes: BYTES, inputs, y: outputs[0], table, head, tokens: start..left.start };
                texts.compute(&mut scratch);
            }
        }
    }
}

/// Memory that is kept from head to head.
#[derive(Default)]
struct Scratch {
    few: few::Scratch,
    block: block::Scratch,
}

/// Tokens of one text, and a head of its keys.
struct Text<'a> {
    p: &'a LmAttention,
    level: Level,
    bytes: bool,
    inputs: &'a [&'a [u32]],
    y: Cells<'a>,
    /// Where the pages of the text are named.
    table: usize,
    head: usize,
    tokens: Range<usize>,
}

impl Text<'_> {
    fn compute(&self, scratch: &mut Scratch) {
        if 2 * self.tokens.len() * self.shared() >= self.level.lanes() {
            return self.block(&mut scratch.block);
        }
        for token in self.tokens.clone() {
            self.level.run(few::Token { text: self, token, scratch: &mut scratch.few });
        }
    }

    /// Heads of queries that share the head of keys.
    fn shared(&self) -> usize {
        (self.p.heads / self.p.kv_heads) as usize
    }

    /// The positions that a token sees.
    #[inline(always)]
    fn seen(&self, token: usize) -> Range<usize> {
        let end = word(self.inputs[0], token) + 1;
        (if self.p.window == 0 { 0 } else { end.saturating_sub(self.p.window as usize) })..end
    }

    /// The line of a position in the caches.
    #[inline(always)]
    fn place(&self, position: usize) -> usize {
        let page = self.p.page as usize;
        let found = word(self.inputs[0], self.table + position / page);
        (found * page + position % page) * self.p.kv_heads as usize + self.head
    }

    /// A query; shorter if the binding ends.
    #[inline(always)]
    fn query(&self, token: usize, head: usize) -> &[f32] {
        let keys = self.p.key_length as usize;
        floats(self.inputs[1], token * self.p.q_stride as usize + (self.head * self.shared() + head) * keys, keys)
    }

    /// Writes what a query gives: sums of values, the greatest score and the sum of weights.
    #[inline(always)]
    fn finish(&self, token: usize, head: usize, sums: impl Fn(usize) -> f32, (most, total): (f32, f32)) {
        let (p, y) = (self.p, self.y);
        let values = p.value_length as usize;
        let head = self.head * self.shared() + head;
        if p.splits == 1 {
            let start = token * p.y_stride as usize + head * values;
            if p.packed != 0 {
                return (0..values).step_by(2).for_each(|d| {
                    y.set_word((start + d) / 2, halves([d, d + 1].map(|d| sums(d) / total)));
                });
            }
            (0..values).for_each(|d| y.set(start + d, sums(d) / total));
            return;
        }
        // All of it in the first split; the others weigh nothing.
        let start = (token * p.heads as usize + head) * p.splits as usize * (values + 2);
        for split in 0..p.splits as usize {
            let start = start + split * (values + 2);
            let whole = split == 0;
            (0..values).for_each(|d| y.set(start + d, if whole { sums(d) } else { 0.0 }));
            y.set(start + values, if whole { most } else { -3.0e38 });
            y.set(start + values + 1, if whole { total } else { 0.0 });
        }
    }
}

/// `cap * tanh(score / cap)`, by the exponential of what is not positive.
#[inline(always)]
fn capped(score: f32, cap: f32) -> f32 {
    let small = crate::single::exp(-2.0 * (score / cap).abs());
    (cap * (1.0 - small) / (1.0 + small)).copysign(score)
}

/// A line of a cache as numbers; zeros behind its end.
#[inline(always)]
fn load<S: Simd>(simd: S, bytes: bool, cache: &[u32], line: usize, to: &mut [f32]) {
    let length = to.len();
    let words = if bytes { length / 4 + length / 32 } else { length / 2 };
    let Some(words) = cache.get(line * words..(line + 1) * words) else { return to.fill(0.0) };
    if !bytes {
        let halves: &[f16] = bytemuck::cast_slice(words);
        // SAFETY: both slices are there, and no more is taken than the shorter has.
        return unsafe { convert(simd, halves.len().min(length), halves.as_ptr(), to.as_mut_ptr()) };
    }
    let (codes, scales) = words.split_at(length / 4);
    let codes: &[i8] = bytemuck::cast_slice(codes);
    for ((to, codes), scale) in to.as_chunks_mut::<32>().0.iter_mut().zip(codes.as_chunks::<32>().0).zip(scales) {
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
