//! IQ types: indices into a grid of eight or four values, signs, and a scale for each 32 or 16.
//! Blocks have 256 values.

use super::{BIAS, CodeGroup, ONE, each, f16_at, grid, u16_at, u32_at};

/// Eight magnitudes, all positive, with their signs.
#[inline]
fn signed(magnitudes: u64, signs: u8) -> u64 {
    let mask = grid::MASKS[usize::from(signs)];
    // No byte carries: a magnitude is at least 1.
    ((magnitudes ^ mask) + (mask & ONE)) ^ BIAS
}

/// Eight signs from seven: an even number of them is negative.
#[inline]
fn even(seven: u32) -> u8 {
    let seven = seven & 0x7f;
    (seven | (seven.count_ones() & 1) << 7) as u8
}

/// The two nibbles of a byte.
#[inline]
fn nibbles(byte: u8) -> [f32; 2] {
    [byte & 0xf, byte >> 4].map(f32::from)
}

/// IQ2_XXS: 64 bits per group: four indices, four times seven signs and the scale.
#[inline]
pub fn iq2_xxs(block: &[u8; 66], group: usize) -> CodeGroup {
    let at = 2 + 8 * group;
    let rest = u32_at(block, at + 4);
    let scale = f16_at(block, 0) * (0.5 + (rest >> 28) as f32) * 0.25;
    let words = each!(j => signed(grid::IQ2_XXS[usize::from(block[at + j])], even(rest >> (7 * j))));
    CodeGroup { words, scales: [scale; 2] }
}

/// IQ2_XS: an index of nine bits and seven signs for each eight values.
#[inline]
pub fn iq2_xs(block: &[u8; 74], group: usize) -> CodeGroup {
    let words = each!(j => {
        let both = u16_at(block, 2 + 8 * group + 2 * j);
        signed(grid::IQ2_XS[usize::from(both & 511)], even(u32::from(both >> 9)))
    });
    let scale = f16_at(block, 0);
    CodeGroup { words, scales: nibbles(block[66 + group]).map(|own| scale * (0.5 + own) * 0.25) }
}

/// IQ2_S: low bytes of the indices, all signs, two more bits of the indices, scales.
#[inline]
pub fn iq2_s(block: &[u8; 82], group: usize) -> CodeGroup {
    let high = usize::from(block[66 + group]);
    let words = each!(j => {
        let index = usize::from(block[2 + 4 * group + j]) | (high >> (2 * j) & 3) << 8;
        signed(grid::IQ2_S[index], block[34 + 4 * group + j])
    });
    let scale = f16_at(block, 0);
    CodeGroup { words, scales: nibbles(block[74 + group]).map(|own| scale * (0.5 + own) * 0.25) }
}

/// Two entries of four values.
#[inline]
fn pair(first: u32, last: u32) -> u64 {
    u64::from(first) | u64::from(last) << 32
}

/// IQ3_XXS: all indices, then four times seven signs and the scale of each group.
#[inline]
pub fn iq3_xxs(block: &[u8; 98], group: usize) -> CodeGroup {
    let rest = u32_at(block, 66 + 4 * group);
    let scale = f16_at(block, 0) * (0.5 + (rest >> 28) as f32) * 0.5;
    let entry = |at: usize| grid::IQ3_XXS[usize::from(block[2 + 8 * group + at])];
    let words = each!(j => signed(pair(entry(2 * j), entry(2 * j + 1)), even(rest >> (7 * j))));
    CodeGroup { words, scales: [scale; 2] }
}

/// IQ3_S: low bytes of the indices, their ninth bits, all signs, and a scale for each group.
#[inline]
pub fn iq3_s(block: &[u8; 110], group: usize) -> CodeGroup {
    let high = usize::from(block[66 + group]);
    let entry = |at: usize| grid::IQ3_S[usize::from(block[2 + 8 * group + at]) | (high >> at & 1) << 8];
    let words = each!(j => signed(pair(entry(2 * j), entry(2 * j + 1)), block[74 + 4 * group + j]));
    let own = block[106 + group / 2] >> (group % 2 * 4) & 0xf;
    CodeGroup { words, scales: [f16_at(block, 0) * f32::from(1 + 2 * own); 2] }
}

/// Eight values of a 1-bit type, which are an entry plus or minus an eighth, as codes in eighths.
#[inline]
fn eighths(index: usize, minus: bool) -> u64 {
    let entry = grid::IQ1[index];
    if minus { entry - ONE } else { entry + ONE }
}

/// IQ1_S: low bytes of the indices; for each group their high bits, the scale and the sign of the
/// eighth.
#[inline]
pub fn iq1_s(block: &[u8; 50], group: usize) -> CodeGroup {
    let high = usize::from(u16_at(block, 34 + 2 * group));
    let words = each!(j => {
        let index = usize::from(block[2 + 4 * group + j]) | (high >> (3 * j) & 7) << 8;
        eighths(index, high >> 15 == 1)
    });
    let own = (2 * (high >> 12 & 7) + 1) as f32;
    CodeGroup { words, scales: [f16_at(block, 0) * own * 0.125; 2] }
}

/// IQ1_M: low bytes of the indices; their high bits with the sign of the eighth, two in a byte;
/// 3-bit scales, whose 16-bit words have the block's f16 scale in their highest four bits.
#[inline]
pub fn iq1_m(block: &[u8; 56], group: usize) -> CodeGroup {
    let words = each!(j => {
        let high = usize::from(block[32 + 2 * group + j / 2] >> (j % 2 * 4));
        eighths(usize::from(block[4 * group + j]) | (high & 7) << 8, high & 8 != 0)
    });
    let mut bits = 0;
    for word in 0..4 {
        bits |= u16_at(block, 48 + 2 * word) >> 12 << (4 * word);
    }
    let scale = half::f16::from_bits(bits).to_f32();
    let own = u16_at(block, 48 + group / 2 * 2) >> (group % 2 * 6);
    CodeGroup { words, scales: [own, own >> 3].map(|own| scale * f32::from(2 * (own & 7) + 1) * 0.125) }
}
