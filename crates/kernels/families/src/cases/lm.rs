//! Inputs of the language model kernels.
//!
//! The last output is compared as floats. Other outputs must match bit for bit; inputs are chosen
//! so that no intermediate value of them is rounded.

use roci_tolerance::Tolerance;

use super::{Random, halves, words};
use crate::WeightFormat;

pub(crate) const APPROXIMATE: Tolerance = Tolerance::Approximate;

/// Random codes and scales of `groups` groups.
pub(crate) fn weights(random: &mut Random, format: WeightFormat, groups: usize) -> (Vec<u32>, Vec<u32>) {
    let count = groups * format.code_bytes() / 4;
    let codes = match format {
        WeightFormat::F32 => words(&random.floats(count, -1.0, 1.0)),
        WeightFormat::F16 => halves(&random.floats(2 * count, -1.0, 1.0)),
        WeightFormat::Bf16 => {
            let upper = words(&random.floats(2 * count, -1.0, 1.0));
            upper.chunks(2).map(|two| two[0] >> 16 | two[1] & 0xffff_0000).collect()
        }
        _ => (0..count).map(|_| random.word()).collect(),
    };
    let grid: Vec<u32> = (0..format.grid_words()).map(|_| random.word() & 0x3f3f_3f3f | 0x0101_0101).collect();
    // Halfwords that are an f16 rather than bits, in blocks of this many.
    let (block, floats) = match format {
        WeightFormat::F32 | WeightFormat::F16 | WeightFormat::Bf16 => return (codes, vec![0; 4]),
        WeightFormat::Q4E2m1 => (1, 0),
        WeightFormat::Q4Superblock | WeightFormat::Q5K | WeightFormat::Q2K => (10, 2),
        WeightFormat::Iq4Xs => (4, 1),
        WeightFormat::Q6K | WeightFormat::Iq1S | WeightFormat::Iq2S => (9, 1),
        WeightFormat::Q3K | WeightFormat::Iq3S => (7, 1),
        WeightFormat::Iq1M => (12, 1),
        WeightFormat::Iq2Xs => (5, 1),
        _ => (1, 1),
    };
    let halfwords = 2 * format.scale_bytes(groups).div_ceil(4);
    // In blocks it is multiplied by an integer scale.
    let largest = if block > 1 { 0.0002 } else { 0.001 };
    let scale = halves(&random.floats(2 * halfwords, 0.0001, largest));
    let scales = (0..halfwords).map(|at| match (at % block < floats, format) {
        (true, _) => scale[at] & 0xffff,
        // Exponents of about 2^-7.
        (false, WeightFormat::Q4E2m1) => random.word() & 0x0101 | 0x7878,
        // Offsets and scales of six bits.
        (false, WeightFormat::Q4Superblock | WeightFormat::Q5K) => random.word() & 0x3f3f,
        (false, _) => random.word() & 0xffff,
    });
    let scales: Vec<u32> = scales.collect();
    let scales = grid.into_iter().chain(scales.chunks(2).map(|two| two[0] | two[1] << 16)).collect();
    (codes, scales)
}

/// The `inputs` buffer: positions, then the page table offset of each token, blocks of `block`
/// tokens, and the page tables of two sequences.
pub(crate) fn inputs(positions: &[u32], block: u32, text: impl Fn(u32) -> u32) -> Vec<u32> {
    let tokens = positions.len() as u32;
    let blocks = tokens.div_ceil(block);
    let tables = 2 * tokens + 2 * blocks;
    let mut inputs = positions.to_vec();
    inputs.extend((0..tokens).map(|token| tables + text(token) * 4));
    inputs.extend((0..blocks).flat_map(|at| [at * block, block.min(tokens - at * block)]));
    inputs.extend([3, 0, 5, 7, 1, 6, 2, 4]);
    inputs
}

/// Tokens alternate between the two sequences.
pub(crate) fn in_turn(token: u32) -> u32 {
    token % 2
}

/// Random KV cache content of `lines` rows.
pub(crate) fn cache(random: &mut Random, bytes: bool, lines: usize, length: u32) -> Vec<u32> {
    if !bytes {
        return halves(&random.floats(lines * length as usize, -1.0, 1.0));
    }
    let mut all = Vec::new();
    for _ in 0..lines {
        all.extend((0..length / 4).map(|_| random.word()));
        all.extend(words(&random.floats(length as usize / 32, 0.005, 0.01)));
    }
    all
}

/// Rotations by multiples of a quarter turn, for `positions` positions.
pub(crate) fn quarters(positions: u32, pairs: u32) -> Vec<u32> {
    let turn = |at: u32| [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][at as usize % 4];
    words(&(0..positions * pairs).flat_map(turn).collect::<Vec<f32>>())
}

/// Integers whose maximum in each block makes the scale one, so that no rounding occurs in any
/// order of computation.
pub(crate) fn whole(random: &mut Random, count: u32) -> Vec<u32> {
    let mut all: Vec<f32> = random.floats(count as usize, -9.0, 9.0).into_iter().map(f32::round).collect();
    (0..all.len()).step_by(16).for_each(|at| all[at] = 127.0);
    words(&all)
}

/// Values times one factor per group of 32.
pub(crate) fn scaled(mut numbers: Vec<u32>, factor: impl Fn(i32) -> f32) -> Vec<u32> {
    for (number, at) in numbers.iter_mut().zip(0..) {
        *number = (f32::from_bits(*number) * factor(at / 32)).to_bits();
    }
    numbers
}
