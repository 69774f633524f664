//! `lm_attention_*` against plain sums in f64, at every instruction set of this CPU: tokens of one
//! sequence and of several, whose pages are in any order.

use bytemuck::Pod;
use half::f16;
use roci_families::LmAttention;
use roci_hal::native::{NativeBinding, NativeLaunch};
use roci_natives::{Level, find_for};
use roci_tolerance::Tolerance;

/// Tokens per KV page.
const PAGE: usize = 16;

/// Reproducible values from -1 to 1.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..count).map(|_| random.f32() * 2.0 - 1.0).collect()
}

/// A test case.
#[derive(Clone, Copy)]
struct Case<'a> {
    heads: usize,
    kv_heads: usize,
    lengths: [usize; 2],
    /// The first position and the number of tokens of each sequence.
    sequences: &'a [(usize, usize)],
    window: usize,
    soft_cap: f32,
    bytes: bool,
}

const PLAIN: Case<'static> =
    Case { heads: 8, kv_heads: 2, lengths: [64, 64], sequences: &[(0, 70)], window: 0, soft_cap: 0.0, bytes: false };

/// Rows of a cache, as stored and as values.
fn cache(lines: usize, length: usize, bytes: bool, seed: u64) -> (Vec<u32>, Vec<f64>) {
    let (mut words, mut values) = (Vec::new(), Vec::new());
    for line in numbers(lines * length, seed).chunks(length) {
        if bytes {
            let codes: Vec<i8> = line.iter().map(|value| (value * 127.0) as i8).collect();
            let scales: Vec<f32> = line.chunks(32).map(|group| group[0].abs() / 64.0).collect();
            values.extend(codes.iter().zip(0..).map(|(code, at)| f64::from(*code) * f64::from(scales[at / 32])));
            words.extend(codes.as_chunks::<4>().0.iter().map(|four| u32::from_le_bytes(four.map(i8::cast_unsigned))));
            words.extend(scales.iter().map(|scale| scale.to_bits()));
        } else {
            let halves: Vec<f16> = line.iter().map(|value| f16::from_f32(*value)).collect();
            values.extend(halves.iter().map(|half| half.to_f64()));
            let pair = |pair: &[f16; 2]| u32::from(pair[0].to_bits()) | u32::from(pair[1].to_bits()) << 16;
            words.extend(halves.as_chunks::<2>().0.iter().map(pair));
        }
    }
    (words, values)
}

fn bound<T: Pod>(values: &mut [T]) -> NativeBinding {
    NativeBinding { pointer: values.as_mut_ptr().cast(), length: size_of_val(values) }
}

/// Runs the case with one split and with three, and compares both with plain sums.
fn check(case: Case<'_>) {
    let [keys, values] = case.lengths;
    let tokens: usize = case.sequences.iter().map(|(_, tokens)| tokens).sum();
    let pages: usize = case.sequences.iter().map(|(first, tokens)| (first + tokens).div_ceil(PAGE)).sum();
    let lines = pages * PAGE * case.kv_heads;
    let (mut key_words, key_values) = cache(lines, keys, case.bytes, 1);
    let (mut value_words, value_values) = cache(lines, values, case.bytes, 2);
    // Positions, page table offsets, page tables: pages in reverse order, sequences interleaved.
    let (mut positions, mut tables, mut named) = (Vec::new(), Vec::new(), Vec::new());
    for (first, count) in case.sequences {
        for at in 0..*count {
            positions.push((first + at) as u32);
            tables.push((2 * tokens + named.len()) as u32);
        }
        (0..(first + count).div_ceil(PAGE)).for_each(|_| named.push((pages - 1 - named.len()) as u32));
    }
    let mut inputs: Vec<u32> = positions.iter().chain(&tables).chain(&named).copied().collect();
    let q_stride = case.heads * keys + 16;
    let mut q = numbers(tokens * q_stride, 3);
    let scale = 0.3;
    let mut expected = vec![0.0; tokens * case.heads * values];
    for token in 0..tokens {
        let last = positions[token] as usize;
        let first = if case.window == 0 { 0 } else { (last + 1).saturating_sub(case.window) };
        for head in 0..case.heads {
            let line = |position: usize| {
                let page = inputs[tables[token] as usize + position / PAGE] as usize;
                (page * PAGE + position % PAGE) * case.kv_heads + head / (case.heads / case.kv_heads)
            };
            let query = &q[token * q_stride + head * keys..][..keys];
            let weights: Vec<f64> = (first..=last)
                .map(|position| {
                    let key = &key_values[line(position) * keys..][..keys];
                    let score = query.iter().zip(key).map(|(q, k)| f64::from(*q) * k).sum::<f64>() * scale;
                    let cap = f64::from(case.soft_cap);
                    (if cap > 0.0 { cap * (score / cap).tanh() } else { score }).exp()
                })
                .collect();
            let total: f64 = weights.iter().sum();
            for d in 0..values {
                let sum = |(at, weight): (usize, &f64)| weight * value_values[line(first + at) * values + d];
                expected[(token * case.heads + head) * values + d] =
                    weights.iter().enumerate().map(sum).sum::<f64>() / total;
            }
        }
    }
    for level in Level::available() {
        for splits in [1, 3] {
            let p = LmAttention {
                tokens: tokens as u32,
                heads: case.heads as u32,
                kv_heads: case.kv_heads as u32,
                key_length: keys as u32,
                value_length: values as u32,
                q_stride: q_stride as u32,
                y_stride: (case.heads * values) as u32,
                page: PAGE as u32,
                splits,
                scale: scale as f32,
                soft_cap: case.soft_cap,
                window: case.window as u32,
                ..LmAttention::default()
            };
            let piece = if splits == 1 { values } else { splits as usize * (values + 2) };
            let mut y = vec![f32::NAN; tokens * case.heads * piece];
            let name = if case.bytes { "lm_attention_q8" } else { "lm_attention_f16" };
            let kernel = find_for(name, *level).expect("the kernel exists");
            let mut sinks = [0_f32; 4];
            let bindings = [
                bound(&mut inputs),
                bound(&mut q),
                bound(&mut key_words),
                bound(&mut value_words),
                bound(&mut sinks),
                bound(&mut y),
            ];
            let launch =
                NativeLaunch { grid: [1; 3], bindings: &bindings, constants: bytemuck::bytes_of(&p), workers: 2 };
            let parts = kernel.prepare(&launch).expect("the launch is valid");
            for part in 0..parts {
                // SAFETY: the bindings are live buffers that only this thread uses; `prepare`
                // accepted the launch.
                unsafe { kernel.run(&launch, part, parts) };
            }
            for (at, expected) in expected.iter().enumerate() {
                let (row, d) = (at / values, at % values);
                let piece = &y[row * piece..][..piece];
                // The first split has the whole result.
                let got = if splits == 1 { piece[d] } else { piece[d] / piece[values + 1] };
                let is_close = Tolerance::Close.error_ratio(got.into(), *expected) <= 1.0;
                assert!(is_close, "{level}, {splits} splits, row {row}, number {d}: {got}, expected {expected}");
            }
        }
    }
}

#[test]
fn prompt_from_position_zero() {
    check(PLAIN);
}

#[test]
fn prompt_after_cached_tokens() {
    check(Case { sequences: &[(61, 37)], ..PLAIN });
}

#[test]
fn single_token() {
    check(Case { sequences: &[(150, 1)], ..PLAIN });
    check(Case { sequences: &[(150, 1)], heads: 16, kv_heads: 1, ..PLAIN });
    check(Case { sequences: &[(0, 1)], kv_heads: 8, ..PLAIN });
}

#[test]
fn several_sequences_in_one_launch() {
    check(Case { sequences: &[(130, 1), (0, 33), (5, 1), (70, 29), (0, 1)], ..PLAIN });
}

#[test]
fn sliding_window_masks_old_keys() {
    check(Case { sequences: &[(0, 200)], window: 50, ..PLAIN });
    check(Case { sequences: &[(180, 1)], window: 70, heads: 4, ..PLAIN });
}

#[test]
fn soft_cap_is_applied() {
    check(Case { soft_cap: 1.5, ..PLAIN });
    check(Case { soft_cap: 1.5, sequences: &[(90, 1)], heads: 2, ..PLAIN });
}

#[test]
fn q8_0_cache() {
    check(Case { bytes: true, sequences: &[(40, 45), (100, 1)], ..PLAIN });
}

#[test]
fn head_sizes_that_are_not_whole_vectors() {
    check(Case { lengths: [36, 20], heads: 6, kv_heads: 2, ..PLAIN });
    check(Case { lengths: [36, 20], heads: 2, kv_heads: 2, sequences: &[(90, 3)], ..PLAIN });
}

#[test]
fn multi_head_attention_of_a_long_prompt() {
    check(Case { kv_heads: 8, sequences: &[(0, 230)], ..PLAIN });
}
