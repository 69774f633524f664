//! Inputs of the kernels that process a whole axis: short and long ones, ties, NaN.

use super::Random;
use crate::Numbers;

/// Shapes with small, large and empty inner dimensions.
pub(crate) const SHAPES: [(u32, u32, u32); 10] = [
    (1, 1, 1),
    (3, 5, 1),
    (2, 300, 1),
    (4, 7, 3),
    (2, 9, 40),
    (3, 17, 100),
    (5, 1000, 1),
    (2, 0, 3),
    (2, 0, 50),
    (0, 5, 1),
];

/// Values with many duplicates.
pub(crate) fn few(random: &mut Random, count: usize, numbers: Numbers) -> Vec<u32> {
    let special =
        [-0.0, 0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1.5, -1.5, 1e-40, 2.0, 1.0, 3.0, 4.0];
    let mut word = || match numbers {
        // NaN in a few rows only, because it hides all other elements of its row.
        Numbers::F32 if random.word().is_multiple_of(64) => special[random.word() as usize % special.len()].to_bits(),
        Numbers::F32 => ((random.word() % 40) as f32 - 20.0).to_bits(),
        Numbers::I32 | Numbers::U32 => (random.word() % 40).wrapping_sub(20),
    };
    (0..count).map(|_| word()).collect()
}

pub(crate) const NUMBERS: [Numbers; 3] = [Numbers::F32, Numbers::I32, Numbers::U32];
