//! `lm_attention_*` and `lm_combine_splits`: queries against pages of keys and values.
//!
//! Consecutive tokens of one sequence are computed as a block (`block`). If they have too few
//! queries to fill half a vector, they are computed one at a time (`single_token`).

mod block;
mod single_token;

use std::ops::Range;

use half::f16;

use super::ReferenceKernel;
use super::rows::pack_f16;
use super::{AtomicWords, Reference, WorkSize, floats, word};
use crate::KernelFactory;
use roci_families::{LmAttention, LmCombineSplits};
use roci_simd::gemm::convert;
use roci_simd::{Level, Simd};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_flash_attention_64", |level| Arc::new(ReferenceKernel::<Attention<false>>::new(level))),
    ("lm_flash_attention_128", |level| Arc::new(ReferenceKernel::<Attention<false>>::new(level))),
    ("lm_attention_f16", |level| Arc::new(ReferenceKernel::<Attention<false>>::new(level))),
    ("lm_attention_q8", |level| Arc::new(ReferenceKernel::<Attention<true>>::new(level))),
    ("lm_combine_splits", |level| Arc::new(ReferenceKernel::<CombineSplits>::new(level))),
];

/// `BYTES` selects the q8_0 KV cache, otherwise it is f16.
pub(crate) struct Attention<const BYTES: bool>;
/// Merges the splits of the keys.
pub(crate) struct CombineSplits;

/// Maximum queries of a unit, which share the dequantized keys and values.
const ROWS: u32 = 192;
/// Units per KV head for a short prompt, so that threads share it.
const PROMPT_UNITS: u32 = 8;

/// Tokens of a unit.
fn unit_tokens(p: &LmAttention) -> usize {
    let max = ROWS / (p.heads / p.kv_heads).max(1);
    (p.tokens / PROMPT_UNITS).clamp(1, max.max(1)) as usize
}

impl<const BYTES: bool> Reference for Attention<BYTES> {
    type Params = LmAttention;
    const INPUTS: usize = 5;
    const OUTPUTS: usize = 1;

    /// A unit is some tokens and a KV head.
    fn work_size(p: &LmAttention) -> Result<WorkSize, String> {
        if p.page == 0 || p.kv_heads == 0 || !p.heads.is_multiple_of(p.kv_heads) || p.splits == 0 {
            return Err(format!(
                "{} heads of {}, {} tokens to a page, {} splits",
                p.heads, p.kv_heads, p.page, p.splits
            ));
        }
        if p.values_in_keys != 0 && p.value_length > p.key_length {
            return Err(format!("values of {} in keys of {}", p.value_length, p.key_length));
        }
        let tokens = unit_tokens(p);
        let cost = 512 * u64::from(p.key_length) * u64::from(p.heads / p.kv_heads) * tokens as u64;
        Ok(WorkSize { units: u64::from(p.tokens).div_ceil(tokens as u64) * u64::from(p.kv_heads), cost })
    }

    fn compute(level: Level, p: &LmAttention, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let (tokens, each) = (p.tokens as usize, unit_tokens(p));
        let mut scratch = Scratch::default();
        for unit in units {
            // The last tokens of a prompt attend to the most keys. Units alternate between both
            // ends, so that consecutive units cost about the same.
            let (turn, count) = (unit / p.kv_heads as usize, tokens.div_ceil(each));
            let first = each * if turn.is_multiple_of(2) { count - 1 - turn / 2 } else { turn / 2 };
            let head = unit % p.kv_heads as usize;
            let mut remaining = first..(first + each).min(tokens);
            while let Some(start) = remaining.next() {
                let table = word(inputs[0], tokens + start);
                while remaining.start < remaining.end && word(inputs[0], tokens + remaining.start) == table {
                    remaining.next();
                }
                let sequence = SequenceTokens {
                    p,
                    level,
                    bytes: BYTES,
                    inputs,
                    y: outputs[0],
                    table,
                    head,
                    tokens: start..remaining.start,
                };
                sequence.compute(&mut scratch);
            }
        }
    }
}

/// Buffers that are reused for the next head.
#[derive(Default)]
struct Scratch {
    few: single_token::Scratch,
    block: block::Scratch,
}

/// Tokens of one sequence, and a KV head.
struct SequenceTokens<'a> {
    p: &'a LmAttention,
    level: Level,
    bytes: bool,
    inputs: &'a [&'a [u32]],
    y: AtomicWords<'a>,
    /// The offset of the sequence's page table.
    table: usize,
    head: usize,
    tokens: Range<usize>,
}

impl SequenceTokens<'_> {
    fn compute(&self, scratch: &mut Scratch) {
        if 2 * self.tokens.len() * self.query_heads() >= self.level.lanes() {
            return self.block(&mut scratch.block);
        }
        for token in self.tokens.clone() {
            self.level.run(single_token::TokenAttention { sequence: self, token, scratch: &mut scratch.few });
        }
    }

    /// Query heads that share the KV head.
    fn query_heads(&self) -> usize {
        (self.p.heads / self.p.kv_heads) as usize
    }

    /// The positions that a token attends to.
    #[inline(always)]
    fn visible(&self, token: usize) -> Range<usize> {
        let position = self.position(token);
        let visible = self.p.visible(position as u32, word(self.inputs[0], token) as u32);
        let chunk = if self.p.chunk == 0 { 0 } else { position - position % self.p.chunk as usize };
        chunk.max(visible.start as usize)..visible.end as usize
    }

    /// The position of a token.
    #[inline(always)]
    fn position(&self, token: usize) -> usize {
        word(self.inputs[0], self.p.own as usize + token)
    }

    /// ALiBi slope of one of the query heads that share the KV head.
    #[inline(always)]
    fn slope(&self, head: usize) -> f32 {
        self.p.slope((self.head * self.query_heads() + head) as u32)
    }

    /// The row of a position in the caches.
    #[inline(always)]
    fn cache_row(&self, position: usize) -> usize {
        let page = self.p.page as usize;
        let found = word(self.inputs[0], self.table + position / page);
        (found * page + position % page) * self.p.kv_heads as usize + self.head
    }

    /// A query; shorter if the binding ends.
    #[inline(always)]
    fn query(&self, token: usize, head: usize) -> &[f32] {
        let keys = self.p.key_length as usize;
        floats(self.inputs[1], token * self.p.q_stride as usize + (self.head * self.query_heads() + head) * keys, keys)
    }

    /// Includes the sink in the maximum score and the sum of weights of a head. Also returns the
    /// factor for sums that were computed without it.
    #[inline(always)]
    fn with_sink(&self, head: usize, (max, total): (f32, f32)) -> (f32, f32, f32) {
        if self.p.sinks == 0 {
            return (max, total, 1.0);
        }
        let sink = self.inputs[4].get(head).map_or(f32::NEG_INFINITY, |word| f32::from_bits(*word));
        let top = max.max(sink);
        let factor = (max - top).exp();
        (top, total * factor + (sink - top).exp(), factor)
    }

    /// Writes the result of a query: weighted sums of values, the maximum score and the sum of
    /// weights.
    #[inline(always)]
    fn finish(&self, token: usize, head: usize, sums: impl Fn(usize) -> f32, ends: (f32, f32)) {
        let (p, y) = (self.p, self.y);
        let values = p.value_length as usize;
        let head = self.head * self.query_heads() + head;
        let (max, total, factor) = self.with_sink(head, ends);
        let sums = |d: usize| sums(d) * factor;
        if p.splits == 1 {
            let start = token * p.y_stride as usize + head * values;
            if p.packed != 0 {
                return (0..values).step_by(2).for_each(|d| {
                    y.set_word((start + d) / 2, pack_f16([d, d + 1].map(|d| sums(d) / total)));
                });
            }
            (0..values).for_each(|d| y.set(start + d, sums(d) / total));
            return;
        }
        // The first split has the whole result; the others have weight zero.
        let start = (token * p.heads as usize + head) * p.splits as usize * (values + 2);
        for split in 0..p.splits as usize {
            let start = start + split * (values + 2);
            let whole = split == 0;
            (0..values).for_each(|d| y.set(start + d, if whole { sums(d) } else { 0.0 }));
            y.set(start + values, if whole { max } else { -3.0e38 });
            y.set(start + values + 1, if whole { total } else { 0.0 });
        }
    }
}

/// `cap * tanh(score / cap)`, computed with the exponential of a non-positive number.
#[inline(always)]
fn apply_soft_cap(score: f32, cap: f32) -> f32 {
    let small = crate::fast_math::exp(-2.0 * (score / cap).abs());
    (cap * (1.0 - small) / (1.0 + small)).copysign(score)
}

/// A row of a cache as floats; zeros where it is out of range.
#[inline(always)]
fn load<S: Simd>(simd: S, bytes: bool, cache: &[u32], row: usize, to: &mut [f32]) {
    let length = to.len();
    let words = if bytes { length / 4 + length / 32 } else { length / 2 };
    let Some(words) = cache.get(row * words..(row + 1) * words) else { return to.fill(0.0) };
    if !bytes {
        let halves: &[f16] = bytemuck::cast_slice(words);
        // SAFETY: both slices are live, and no more is converted than the shorter has.
        return unsafe { convert(simd, halves.len().min(length), halves.as_ptr(), to.as_mut_ptr()) };
    }
    let (codes, scales) = words.split_at(length / 4);
    let codes: &[i8] = bytemuck::cast_slice(codes);
    for ((to, codes), scale) in to.as_chunks_mut::<32>().0.iter_mut().zip(codes.as_chunks::<32>().0).zip(scales) {
        let scale = f32::from_bits(*scale);
        to.iter_mut().zip(codes).for_each(|(to, code)| *to = scale * f32::from(*code));
    }
}

impl Reference for CombineSplits {
    type Params = LmCombineSplits;
    const INPUTS: usize = 1;
    const OUTPUTS: usize = 1;

    fn work_size(p: &LmCombineSplits) -> Result<WorkSize, String> {
        let cost = 4 * u64::from(p.value_length) * u64::from(p.splits);
        Ok(WorkSize { units: u64::from(p.tokens) * u64::from(p.heads), cost })
    }

    fn compute(_: Level, p: &LmCombineSplits, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [splits, length] = [p.splits, p.value_length].map(|count| count as usize);
        for unit in units {
            let parts = floats(inputs[0], unit * splits * (length + 2), splits * (length + 2));
            let parts = || parts.chunks_exact(length + 2);
            let max = parts().map(|part| part[length]).fold(f32::NEG_INFINITY, f32::max);
            let total: f32 = parts().map(|part| (part[length] - max).exp() * part[length + 1]).sum();
            let (token, head) = (unit / p.heads as usize, unit % p.heads as usize);
            let value = |d: usize| parts().map(|part| (part[length] - max).exp() * part[d]).sum::<f32>() / total;
            let to = token * p.y_stride as usize + head * length;
            if p.packed != 0 {
                (0..length).step_by(2).for_each(|d| {
                    outputs[0].set_word((to + d) / 2, pack_f16([value(d), value(d + 1)]));
                });
            } else {
                (0..length).for_each(|d| outputs[0].set(to + d, value(d)));
            }
        }
    }
}
