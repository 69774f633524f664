//! `lm_rope_kv_store_*`: normalizes and rotates heads, and writes keys and values to the KV cache.

use std::borrow::Cow;
use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt as _;

use super::ReferenceKernel;
use super::rows::scale;
use super::{AtomicWords, Reference, WorkSize, floats, word};
use crate::KernelFactory;
use roci_families::LmRopeKvStore as Params;
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("lm_rope_kv_store_f16", |level| Arc::new(ReferenceKernel::<RopeKvStore<false>>::new(level))),
    ("lm_rope_kv_store_q8", |level| Arc::new(ReferenceKernel::<RopeKvStore<true>>::new(level))),
];

/// `BYTES` selects the q8_0 KV cache, otherwise it is f16.
pub(crate) struct RopeKvStore<const BYTES: bool>;

impl<const BYTES: bool> Reference for RopeKvStore<BYTES> {
    type Params = Params;
    const INPUTS: usize = 4;
    const OUTPUTS: usize = 3;

    fn work_size(p: &Params) -> Result<WorkSize, String> {
        let step = if BYTES { 32 } else { 2 };
        if [p.key_length, p.value_length].iter().any(|length| *length > Params::LONGEST || length % step != 0) {
            return Err(format!(
                "head sizes {} and {} are not supported by the KV cache",
                p.key_length, p.value_length
            ));
        }
        if p.page == 0 || p.pairs * 2 > p.key_length {
            return Err(format!("{} rotated pairs of {} elements, {} tokens per page", p.pairs, p.key_length, p.page));
        }
        let heads = u64::from(p.heads) + 2 * u64::from(p.kv_heads);
        Ok(WorkSize { units: p.tokens.into(), cost: 16 * heads * u64::from(p.key_length.max(p.value_length)) })
    }

    fn compute(level: Level, p: &Params, inputs: &[&[u32]], outputs: &[AtomicWords<'_>], units: Range<usize>) {
        let [heads, kv_heads] = [p.heads, p.kv_heads].map(|count| count as usize);
        let [keys, values] = [p.key_length, p.value_length].map(|length| length as usize);
        let mut head = vec![0.0; keys.max(values)];
        let after_rope = p.flags & Params::AFTER_ROPE != 0;
        let (used, part_stride) = (p.used as usize, p.part_stride as usize);
        let weights_at = |index: usize| match p.flags & Params::EACH_HEAD {
            0 => usize::from(index >= heads) * keys,
            _ => index * keys,
        };
        let part = |at: usize| inputs[3].get(at).map_or(0.0, |word| f32::from_bits(*word));
        let element = |token: usize, at: usize| match used {
            0 => outputs[0].get(token * p.stride as usize + at),
            _ => (token * used..(token + 1) * used).map(|row| part(row * part_stride + at)).sum(),
        };
        for token in units {
            let position = word(inputs[0], token);
            let page = word(inputs[0], word(inputs[0], p.tokens as usize + token) + position / p.page as usize);
            let row = (page * p.page as usize + position % p.page as usize) * kv_heads;
            let start = token * p.stride as usize;
            let rotations = rotations(p, inputs, token, position);
            let temperature = temperature(p, position);
            for index in 0..heads + kv_heads {
                let head = &mut head[..keys];
                let from = start + index * keys;
                head.iter_mut().enumerate().for_each(|(i, value)| *value = element(token, index * keys + i));
                if p.flags & Params::NORMS != 0 {
                    if p.flags & Params::CENTERED != 0 {
                        let mean = head.iter().sum::<f32>() / keys as f32;
                        head.iter_mut().for_each(|value| *value -= mean);
                    }
                    let factors = floats(inputs[1], weights_at(index), keys);
                    let scale = scale(level, head, p.epsilon);
                    head.iter_mut().for_each(|value| *value *= scale);
                    if !after_rope {
                        head.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
                    }
                }
                rotate(p, &rotations, head);
                if p.flags & Params::NORMS != 0 && after_rope {
                    let factors = floats(inputs[1], weights_at(index), keys);
                    head.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
                }
                if index < heads {
                    head.iter().enumerate().for_each(|(i, value)| outputs[0].set(from + i, *value * temperature));
                } else {
                    store::<BYTES>(&outputs[1], row + index - heads, head);
                }
            }
            let first = (heads + kv_heads) * keys;
            let value_heads = if p.flags & Params::VALUES_IN_KEYS == 0 { kv_heads } else { 0 };
            for index in 0..value_heads {
                let head = &mut head[..values];
                head.iter_mut().enumerate().for_each(|(i, value)| *value = element(token, first + index * values + i));
                if p.flags & Params::VALUE_NORMS != 0 {
                    let scale = scale(level, head, p.epsilon);
                    head.iter_mut().for_each(|value| *value *= scale);
                }
                store::<BYTES>(&outputs[2], row + index, head);
            }
        }
    }
}

/// Cosines and sines of the pairs of a token.
fn rotations<'a>(p: &Params, inputs: &[&'a [u32]], token: usize, position: usize) -> Cow<'a, [f32]> {
    let (pairs, offset) = (p.pairs as usize, (p.flags >> Params::OFFSET_SHIFT) as usize);
    if offset == 0 {
        return Cow::Borrowed(floats(inputs[2], position * pairs * 2, pairs * 2));
    }
    let pair = |pair: usize| {
        let section = word(inputs[0], offset + pair);
        let position = word(inputs[0], offset + pairs + section * p.tokens as usize + token);
        floats(inputs[2], (position * pairs + pair) * 2, 2)
    };
    Cow::Owned((0..pairs).flat_map(pair).copied().collect())
}

/// The factor of queries at a position.
fn temperature(p: &Params, position: usize) -> f32 {
    if p.temperature_interval == 0 {
        return 1.0;
    }
    let steps = (position as u64 + u64::from(p.temperature_offset)) / u64::from(p.temperature_interval);
    1.0 + p.temperature_scale * (steps as f32 + 1.0).ln()
}

fn rotate(p: &Params, rotations: &[f32], head: &mut [f32]) {
    for (i, rotation) in rotations.as_chunks::<2>().0.iter().enumerate() {
        let interleaved = p.flags & Params::INTERLEAVED != 0;
        let (i0, i1) = if interleaved { (2 * i, 2 * i + 1) } else { (i, i + p.pairs as usize) };
        let (a, b) = (head[i0], head[i1]);
        head[i0] = a * rotation[0] - b * rotation[1];
        head[i1] = a * rotation[1] + b * rotation[0];
    }
}

/// Writes a head to its row of a cache.
fn store<const BYTES: bool>(cache: &AtomicWords<'_>, row: usize, head: &[f32]) {
    if !BYTES {
        // Converts all elements at once: converting one at a time would detect the CPU's features
        // each time.
        let mut halves = [f16::ZERO; Params::LONGEST as usize];
        let Some(halves) = halves.get_mut(..head.len()) else { return };
        halves.convert_from_f32_slice(head);
        for (i, pair) in halves.as_chunks::<2>().0.iter().enumerate() {
            let [low, high] = pair.map(|half| u32::from(half.to_bits()));
            cache.set_word(row * (head.len() / 2) + i, low | high << 16);
        }
        return;
    }
    let start = row * (head.len() / 4 + head.len() / 32);
    for (block, values) in head.as_chunks::<32>().0.iter().enumerate() {
        let max_abs = values.iter().fold(0f32, |max_abs, value| max_abs.max(value.abs()));
        let scale = max_abs / 127.0;
        let inverse = if scale > 0.0 { 1.0 / scale } else { 0.0 };
        for (i, four) in values.as_chunks::<4>().0.iter().enumerate() {
            let bytes = four.map(|value| (value * inverse).round_ties_even() as i8 as u8);
            cache.set_word(start + block * 8 + i, u32::from_le_bytes(bytes));
        }
        cache.set(start + head.len() / 4 + block, scale);
    }
}
