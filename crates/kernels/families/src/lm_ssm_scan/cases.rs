//! Test cases of `lm_ssm_scan`.
//!
//! States must match bit for bit, although they are sums with exponentials. So the last token of
//! each sequence decays the state to zero, and has a step, values and an input vector whose
//! products are exact. The final state is then exact in any order of computation. The outputs
//! depend on the states of all other tokens.

use super::LmSsmScan;
use crate::NO_STATE;
use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};

/// Sequences: first token, tokens, slot to read, slot to write. The second one continues from its
/// own slot, the third one from another slot.
const SEQUENCES: [[u32; 4]; 3] = [[0, 1, NO_STATE, 3], [1, 9, 1, 1], [10, 4, 0, 2]];
const TOKENS: u32 = 14;
const SLOTS: u32 = 4;

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    if kernel == "lm_ssm_scan_rows" {
        return of_rows(random);
    }
    let mut make = |sequences: &[[u32; 4]], heads: u32, groups: u32, length: u32, state: u32| {
        let channels = heads * length + 2 * groups * state;
        let params = LmSsmScan {
            sequences: sequences.len() as u32,
            first: 5,
            heads,
            groups,
            length,
            state,
            lanes: LmSsmScan::lanes(state),
            x_stride: channels + 4,
            steps_stride: heads + 3,
            steps_offset: 2,
            y_stride: heads * length + 1,
            vectors_offset: 0,
        };
        let inputs = [7; 5].into_iter().chain(sequences.iter().copied().flatten()).collect();
        let mut x = random.floats((TOKENS * params.x_stride) as usize, -1.0, 1.0);
        let mut steps = random.floats((TOKENS * params.steps_stride) as usize, -3.0, 3.0);
        for &[first, tokens, ..] in sequences {
            let last = (first + tokens - 1) as usize;
            let x = &mut x[last * params.x_stride as usize..][..channels as usize];
            x.iter_mut().for_each(|value| *value = (*value * 8.0).round());
            let steps = &mut steps[last * params.steps_stride as usize..][params.steps_offset as usize..];
            steps[..heads as usize].fill(100.0);
        }
        // Biases in eighths, decays, and factors of the values.
        let mut parameters: Vec<f32> =
            random.floats(heads as usize, -8.0, 8.0).into_iter().map(|bias| bias.round() / 8.0).collect();
        parameters.extend(random.floats(heads as usize, -3.0, -2.0));
        parameters.extend(random.floats(heads as usize, -1.0, 1.0));
        let states = random.floats((SLOTS * heads * length * state) as usize, -1.0, 1.0);
        let y = untouched((TOKENS * params.y_stride) as usize);
        let buffers = vec![inputs, words(&x), words(&steps), words(&parameters), words(&states), y];
        let label = format!("{} x {heads} heads in {groups} groups, {length} x {state}", sequences.len());
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(&SEQUENCES, 4, 2, 16, 16),
        make(&SEQUENCES[1..2], 2, 1, 64, 128),
        make(&SEQUENCES, 6, 3, 24, 32),
        // Invocations without a row, and some with fewer elements than others.
        make(&SEQUENCES, 1, 1, 4, 8),
        make(&SEQUENCES, 2, 1, 18, 40),
        make(&SEQUENCES[2..], 1, 1, 8, 256),
    ]
}

/// Mamba 1.
fn of_rows(random: &mut Random) -> Vec<Case> {
    let mut make = |sequences: &[[u32; 4]], length: u32, state: u32| {
        let params = LmSsmScan {
            sequences: sequences.len() as u32,
            first: 5,
            heads: 1,
            groups: 1,
            length,
            state,
            lanes: LmSsmScan::lanes(state),
            x_stride: length + 4,
            steps_stride: length + 2 * state + 5,
            steps_offset: 2,
            y_stride: length + 1,
            vectors_offset: length + 3,
        };
        let inputs = [7; 5].into_iter().chain(sequences.iter().copied().flatten()).collect();
        let mut x = random.floats((TOKENS * params.x_stride) as usize, -1.0, 1.0);
        let mut steps = random.floats((TOKENS * params.steps_stride) as usize, -3.0, 3.0);
        for &[first, tokens, ..] in sequences {
            let last = (first + tokens - 1) as usize;
            let x = &mut x[last * params.x_stride as usize..][..length as usize];
            // Small, so that no sum of them is much larger than the outputs.
            x.iter_mut().for_each(|value| *value = value.round());
            let steps = &mut steps[last * params.steps_stride as usize..][..params.steps_stride as usize];
            steps[params.vectors_offset as usize..]
                .iter_mut()
                .for_each(|value| *value = value.round().clamp(-1.0, 1.0));
            steps[params.steps_offset as usize..][..length as usize].fill(100.0);
        }
        // Biases in eighths, decays, and factors of the values.
        let mut parameters: Vec<f32> =
            random.floats(length as usize, -8.0, 8.0).into_iter().map(|bias| bias.round() / 8.0).collect();
        parameters.extend(random.floats((length * state) as usize, -3.0, -2.0));
        parameters.extend(random.floats(length as usize, -1.0, 1.0));
        let states = random.floats((SLOTS * length * state) as usize, -1.0, 1.0);
        let y = untouched((TOKENS * params.y_stride) as usize);
        let buffers = vec![inputs, words(&x), words(&steps), words(&parameters), words(&states), y];
        let label = format!("{} x {length} rows of {state}", sequences.len());
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(&SEQUENCES, 256, 16),
        make(&SEQUENCES[1..2], 128, 128),
        make(&SEQUENCES, 72, 24),
        // Invocations without a row, and some with fewer elements than others.
        make(&SEQUENCES, 4, 8),
        make(&SEQUENCES[2..], 36, 40),
    ]
}
