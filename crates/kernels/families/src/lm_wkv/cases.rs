//! Test cases of `lm_wkv`.
//!
//! States must match bit for bit, although they are sums with exponentials. So the last token of
//! each sequence decays the state to zero, and has a rate of zero and integer keys and values. The
//! final state is then exact in any order of computation. The outputs depend on the states of all
//! other tokens.

use super::LmWkv;
use crate::NO_STATE;
use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};

/// Sequences: first token, tokens, slot to read, slot to write. The second one continues from its
/// own slot, the third one from another slot.
const SEQUENCES: [[u32; 4]; 3] = [[0, 1, NO_STATE, 3], [1, 9, 1, 1], [10, 4, 0, 2]];
const TOKENS: u32 = 14;
const SLOTS: u32 = 4;

pub(super) fn of(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |sequences: &[[u32; 4]], [heads, key_heads, length]: [u32; 3], kind: u32, mixes: bool| {
        let all = heads * length;
        let params = LmWkv {
            sequences: sequences.len() as u32,
            first: 5,
            heads,
            key_heads,
            length,
            lanes: LmWkv::lanes(length),
            kind,
            x_stride: 7 * all + 4,
            keys_offset: all + 4,
            values_offset: 6 * all + 4,
            decays_offset: 2 * all + 4,
            rates_offset: 3 * all + 4,
            mix_offset: if mixes { 4 * all + 4 } else { 0 },
            y_stride: 2 * all + 1,
            // Larger than that of models, so that the decay of the last token is zero.
            decay: -200.0,
            epsilon: 1e-12,
            scale: 0.25,
        };
        let inputs = [7; 5].into_iter().chain(sequences.iter().copied().flatten()).collect();
        let mut x = random.floats((TOKENS * params.x_stride) as usize, -1.0, 1.0);
        let decays = |offset: u32| params.decays_offset as usize + offset as usize;
        for row in x.chunks_mut(params.x_stride as usize) {
            // Decays of about 0.2 to 0.9.
            let shift = if kind == LmWkv::WKV7 { -6.0 } else { -1.0 };
            row[decays(0)..decays(all)].iter_mut().for_each(|score| *score += shift);
        }
        for &[first, tokens, ..] in sequences {
            let last = (first + tokens - 1) as usize;
            let x = &mut x[last * params.x_stride as usize..][..params.x_stride as usize];
            let ranges = [params.keys_offset, params.values_offset, params.mix_offset + all];
            for start in ranges.map(|start| start as usize) {
                x[start..start + all as usize].iter_mut().for_each(|value| *value = (*value * 4.0).round() + 5.0);
            }
            x[decays(0)..decays(all)].fill(if kind == LmWkv::WKV7 { 100.0 } else { 6.0 });
            x[params.rates_offset as usize..][..all as usize].fill(-100.0);
            if mixes {
                let scores = &mut x[params.mix_offset as usize..][..all as usize];
                scores.iter_mut().enumerate().for_each(|(at, score)| *score = [100.0, -100.0][at % 2]);
            }
        }
        // In quarters, so that products with integers are exact.
        let quarters = |value: f32| (value * 4.0).round() / 4.0;
        let vectors: Vec<f32> = random.floats(3 * all as usize, -1.0, 1.0).into_iter().map(quarters).collect();
        let states = random.floats((SLOTS * heads * length * length) as usize, -1.0, 1.0);
        let y = untouched((TOKENS * params.y_stride) as usize);
        let buffers = vec![inputs, words(&x), words(&vectors), words(&states), y];
        let label =
            format!("{} x {heads} heads of {key_heads}, {length} long, kind {kind}, mixes {mixes}", sequences.len());
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(&SEQUENCES, [3, 3, 64], LmWkv::WKV7, true),
        make(&SEQUENCES[1..2], [2, 2, 128], LmWkv::WKV7, false),
        // Invocations without a row, and some with fewer elements than others.
        make(&SEQUENCES, [1, 1, 8], LmWkv::WKV7, true),
        make(&SEQUENCES[2..], [2, 2, 40], LmWkv::WKV7, false),
        make(&SEQUENCES, [2, 2, 64], LmWkv::WKV6, false),
        make(&SEQUENCES[1..], [1, 1, 20], LmWkv::WKV6, false),
        make(&SEQUENCES, [4, 2, 64], LmWkv::GATED, false),
    ]
}
