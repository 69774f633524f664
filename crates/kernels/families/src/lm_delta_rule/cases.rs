//! Test cases of `lm_delta_rule`.
//!
//! States must match bit for bit, although they are sums with exponentials. So the last token of
//! each sequence decays the state to zero, and has a rate of one, an integer value, and a key whose
//! norm is a power of two. The final state is then exact in any order of computation. The outputs
//! depend on the states of all other tokens.

use super::LmDeltaRule;
use crate::NO_STATE;
use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};

/// Sequences: first token, tokens, slot to read, slot to write. The second one continues from its
/// own slot, the third one from another slot.
const SEQUENCES: [[u32; 4]; 3] = [[0, 1, NO_STATE, 3], [1, 9, 1, 1], [10, 4, 0, 2]];
const TOKENS: u32 = 14;
const SLOTS: u32 = 4;

pub(super) fn of(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |sequences: &[[u32; 4]], heads: u32, key_heads: u32, length: u32, tiled: u32| {
        let channels = (2 * key_heads + heads) * length;
        let params = LmDeltaRule {
            sequences: sequences.len() as u32,
            first: 5,
            heads,
            key_heads,
            length,
            tiled,
            lanes: LmDeltaRule::lanes(length),
            x_stride: channels + 4,
            scores_stride: 2 * heads + 3,
            rates_offset: 1,
            decays_offset: heads + 2,
            y_stride: heads * length + 1,
            epsilon: 1e-7,
            scale: 0.25,
        };
        let inputs = [7; 5].into_iter().chain(sequences.iter().copied().flatten()).collect();
        let mut x = random.floats((TOKENS * params.x_stride) as usize, -1.0, 1.0);
        let mut scores = random.floats((TOKENS * params.scores_stride) as usize, -3.0, 3.0);
        for &[first, tokens, ..] in sequences {
            // Keys and queries whose norm is close to the epsilon.
            let start = (first * params.x_stride) as usize;
            x[start..][..(2 * key_heads * length) as usize].iter_mut().for_each(|x| *x *= 1e-4);
            let last = (first + tokens - 1) as usize;
            let x = &mut x[last * params.x_stride as usize..][..channels as usize];
            let (keys, values) = x[(key_heads * length) as usize..].split_at_mut((key_heads * length) as usize);
            keys.chunks_mut(length as usize).for_each(|key| make_exact(key, random));
            values.iter_mut().for_each(|value| *value = (*value * 8.0).round() + 9.0);
            let scores = &mut scores[last * params.scores_stride as usize..][..params.scores_stride as usize];
            scores[params.rates_offset as usize..][..heads as usize].fill(100.0);
            scores[params.decays_offset as usize..][..heads as usize].fill(100.0);
        }
        let mut decays = random.floats(heads as usize, -1.0, 1.0);
        decays.extend(random.floats(heads as usize, -3.0, -2.0));
        let states = random.floats((SLOTS * heads * length * length) as usize, -1.0, 1.0);
        let y = untouched((TOKENS * params.y_stride) as usize);
        let buffers = vec![inputs, words(&x), words(&scores), words(&decays), words(&states), y];
        let label = format!("{} x {heads} heads of {key_heads}, {length} long, tiled {tiled}", sequences.len());
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(&SEQUENCES, 4, 2, 16, 0),
        make(&SEQUENCES, 4, 2, 16, 1),
        make(&SEQUENCES[1..2], 2, 2, 128, 0),
        make(&SEQUENCES, 6, 2, 64, 1),
        // Invocations without a row, and some with fewer elements than others.
        make(&SEQUENCES, 1, 1, 8, 0),
        make(&SEQUENCES, 2, 1, 40, 0),
        make(&SEQUENCES[2..], 1, 1, 256, 1),
    ]
}

/// A key of ones and threes with random signs, whose norm is a power of two. The length is a
/// multiple of 8.
fn make_exact(key: &mut [f32], random: &mut Random) {
    let mut squares = 1;
    while squares < key.len() {
        squares *= 4;
    }
    let threes = (squares - key.len()) / 8;
    for (at, element) in key.iter_mut().enumerate() {
        let magnitude = if at < threes { 3.0 } else { 1.0 };
        *element = if random.word() & 1 == 0 { magnitude } else { -magnitude };
    }
}
