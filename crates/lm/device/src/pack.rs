//! Conversion of GGUF blocks to planar codes and scales, the layout of the `lm_*` kernels.
//!
//! A GGUF block mixes scales with codes, and few blocks are a whole number of words. In planar
//! layout, the codes of 32 columns take one to eight loads of 16 bytes, and their scale one more
//! load. Most types keep their size. Codes of five and six bits are widened to eight, codes of two
//! and three bits to four ([`WeightFormat`]). Only the scales of Q2_K, Q3_K and Q6_K are rounded,
//! to 16 bits. [`pack_codes`] has the IQ types of one to three bits, ternary types and NVFP4.

use half::f16;
use roci_gguf::Type;
use roci_kernels::params::WeightFormat;

use crate::pack_codes;

/// Columns of a group.
pub(crate) const GROUP: usize = 32;

/// The planar format of a type; `None` for types that are not supported as weights.
pub(crate) fn format_of(kind: Type) -> Option<WeightFormat> {
    Some(match kind {
        Type::F32 => WeightFormat::F32,
        Type::F16 => WeightFormat::F16,
        Type::BF16 => WeightFormat::Bf16,
        Type::Q4_0 => WeightFormat::Q4,
        Type::Q4_1 => WeightFormat::Q4Affine,
        Type::Q4_K => WeightFormat::Q4Superblock,
        Type::Q2_K | Type::Q3_K => WeightFormat::Q4Affine16,
        Type::IQ4_NL | Type::IQ4_XS => WeightFormat::Q4Nl,
        Type::MXFP4 => WeightFormat::Q4E2m1,
        Type::Q8_0 | Type::Q5_0 => WeightFormat::Q8,
        Type::Q5_1 | Type::Q6_K => WeightFormat::Q8Affine16,
        Type::Q5_K => WeightFormat::Q8Affine,
        _ => return pack_codes::format_of(kind),
    })
}

/// Converts a row. `codes` and `scales` cover all its groups and are zero-initialized, so that
/// padding is zero. `scale` is a factor of all weights, which types without code groups do not
/// have.
pub(crate) fn pack_row(kind: Type, scale: f32, row: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    match kind {
        Type::F32 | Type::F16 | Type::BF16 => codes[..row.len()].copy_from_slice(row),
        Type::Q4_0 => small::<18, 16, 2>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::Q4_1 => small::<20, 16, 4>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[4..]);
            scales.copy_from_slice(&block[..4]);
        }),
        Type::Q8_0 => small::<34, 32, 2>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::Q5_0 => small::<22, 32, 2>(row, codes, scales, |block, codes, scales| {
            five_bits(&block[2..6], &block[6..], codes, 16);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::Q5_1 => small::<24, 32, 8>(row, codes, scales, |block, codes, scales| {
            five_bits(&block[4..8], &block[8..], codes, 0);
            scales[..4].copy_from_slice(&block[..4]);
            scales[4..].copy_from_slice(&block[..4]);
        }),
        Type::IQ4_NL => small::<18, 16, 4>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            scales.copy_from_slice(&f16_at(block, 0).to_le_bytes());
        }),
        Type::MXFP4 => small::<17, 16, 4>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[1..]);
            // Half of 2^(exponent - 127); subnormal for the two smallest exponents.
            let bits = if block[0] < 2 { 0x0020_0000 << block[0] } else { u32::from(block[0] - 1) << 23 };
            scales.copy_from_slice(&bits.to_le_bytes());
        }),
        _ if kind.has_code_groups() => pack_codes::pack_row(kind, scale, row, codes, scales),
        _ => large(kind, row, codes, scales),
    }
}

/// Converts a row of a type with blocks of 32 values.
fn small<const BLOCK: usize, const CODES: usize, const SCALES: usize>(
    row: &[u8],
    codes: &mut [u8],
    scales: &mut [u8],
    each: impl Fn(&[u8; BLOCK], &mut [u8; CODES], &mut [u8; SCALES]),
) {
    let blocks = row.as_chunks::<BLOCK>().0.iter();
    for ((block, codes), scales) in blocks.zip(codes.as_chunks_mut().0).zip(scales.as_chunks_mut().0) {
        each(block, codes, scales);
    }
}

fn f16_at(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Widens five-bit codes to bytes and subtracts `zero`.
fn five_bits(high: &[u8], low: &[u8], codes: &mut [u8], zero: u8) {
    for (at, code) in codes.iter_mut().enumerate() {
        let nibble = low[at % 16] >> (at / 16 * 4) & 0xf;
        let bit = high[at / 8] >> (at % 8) & 1;
        *code = (nibble | bit << 4).wrapping_sub(zero);
    }
}

/// A scale and an offset as 16-bit floats.
pub(crate) fn pair(scale: f32, offset: f32) -> [u8; 4] {
    let [a, b] = f16::from_f32(scale).to_le_bytes();
    let [c, d] = f16::from_f32(offset).to_le_bytes();
    [a, b, c, d]
}

/// Writes sixteen codes to the low or high nibbles of sixteen bytes.
pub(crate) fn nibbles(values: impl Iterator<Item = u8>, codes: &mut [u8], high: bool) {
    for (code, value) in codes.iter_mut().zip(values) {
        *code |= value << if high { 4 } else { 0 };
    }
}

/// Converts a row of a type with blocks of 256 values: eight groups, or sixteen half groups.
fn large(kind: Type, row: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let Some(format) = format_of(kind) else { return };
    let groups = 256 / GROUP;
    let targets =
        codes.chunks_exact_mut(groups * format.code_bytes()).zip(scales.chunks_exact_mut(format.scale_bytes(groups)));
    for (block, (codes, scales)) in row.chunks_exact(kind.block_bytes()).zip(targets) {
        match kind {
            Type::Q4_K => q4_k(block, codes, scales),
            Type::Q5_K => q5_k(block, codes, scales),
            Type::Q6_K => q6_k(block, codes, scales),
            Type::Q2_K => q2_k(block, codes, scales),
            Type::Q3_K => q3_k(block, codes, scales),
            _ => iq4_xs(block, codes, scales),
        }
    }
}

/// The six-bit scale and minimum of a group of Q4_K and Q5_K, from twelve bytes.
fn scale_and_min(block: &[u8], group: usize) -> (u8, u8) {
    let scales = &block[4..16];
    if group < 4 {
        return (scales[group] & 63, scales[group + 4] & 63);
    }
    let both = scales[group + 4];
    (both & 0xf | (scales[group - 4] >> 6) << 4, both >> 4 | (scales[group] >> 6) << 4)
}

fn q4_k(block: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    for group in 0..8 {
        let numbers = block[16 + group / 2 * 32..][..32].iter().map(|byte| byte >> (group % 2 * 4) & 0xf);
        let codes = &mut codes[group * 16..][..16];
        codes.fill(0);
        nibbles(numbers.clone().take(16), codes, false);
        nibbles(numbers.skip(16), codes, true);
        let (scale, min) = scale_and_min(block, group);
        scales[4 + 2 * group] = scale;
        scales[5 + 2 * group] = min;
    }
    scales[..4].copy_from_slice(&block[..4]);
}

fn q5_k(block: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let (high, low) = (&block[16..48], &block[48..]);
    for group in 0..8 {
        for (at, code) in codes[group * 32..][..32].iter_mut().enumerate() {
            let nibble = low[group / 2 * 32 + at] >> (group % 2 * 4) & 0xf;
            *code = nibble | (high[at] >> group & 1) << 4;
        }
        let (scale, min) = scale_and_min(block, group);
        let (scale, offset) = (f16_at(block, 0) * f32::from(scale), -f16_at(block, 2) * f32::from(min));
        scales[group * 8..][..4].copy_from_slice(&scale.to_le_bytes());
        scales[group * 8 + 4..][..4].copy_from_slice(&offset.to_le_bytes());
    }
}

fn q6_k(block: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let (low, high, own) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = f16_at(block, 208);
    for half in 0..16 {
        let (part, within) = (half / 8, half % 8);
        let low = &low[part * 64 + within % 4 * 16..];
        let high = &high[part * 32 + within % 2 * 16..];
        for (at, code) in codes[half * 16..][..16].iter_mut().enumerate() {
            let number = low[at] >> (within / 4 * 4) & 0xf | (high[at] >> (within / 2 * 2) & 3) << 4;
            *code = number.wrapping_sub(32);
        }
        scales[half * 4..][..4].copy_from_slice(&pair(scale * f32::from(own[half] as i8), 0.0));
    }
}

/// Byte offset and shift of the two-bit codes of a half group.
fn two_bits(half: usize) -> (usize, usize) {
    (half / 8 * 32 + half % 2 * 16, half % 8 / 2 * 2)
}

fn q2_k(block: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let (own, numbers) = (&block[..16], &block[16..80]);
    codes.fill(0);
    for half in 0..16 {
        let (start, shift) = two_bits(half);
        let numbers = numbers[start..start + 16].iter().map(|byte| byte >> shift & 3);
        nibbles(numbers, &mut codes[half / 2 * 16..][..16], half % 2 == 1);
        let scale = f16_at(block, 80) * f32::from(own[half] & 0xf);
        let min = f16_at(block, 82) * f32::from(own[half] >> 4);
        scales[half * 4..][..4].copy_from_slice(&pair(scale, -min));
    }
}

fn q3_k(block: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let (high, numbers, own) = (&block[..32], &block[32..96], &block[96..108]);
    codes.fill(0);
    for half in 0..16 {
        let low_bits = own[half % 8] >> (half / 8 * 4) & 0xf;
        let high_bits = own[8 + half % 4] >> (half / 4 * 2) & 3;
        let scale = f16_at(block, 108) * f32::from((low_bits | high_bits << 4) as i8 - 32);
        let (start, shift) = two_bits(half);
        let highs = &high[half % 2 * 16..][..16];
        let numbers = numbers[start..start + 16]
            .iter()
            .zip(highs)
            .map(|(byte, high)| byte >> shift & 3 | (high >> (half / 2) & 1) << 2);
        nibbles(numbers, &mut codes[half / 2 * 16..][..16], half % 2 == 1);
        scales[half * 4..][..4].copy_from_slice(&pair(scale, -4.0 * scale));
    }
}

fn iq4_xs(block: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let high = u16::from_le_bytes([block[2], block[3]]);
    for group in 0..8 {
        let low_bits = block[4 + group / 2] >> (group % 2 * 4) & 0xf;
        let high_bits = (high >> (2 * group) & 3) as u8;
        let scale = f16_at(block, 0) * f32::from((low_bits | high_bits << 4) as i8 - 32);
        codes[group * 16..][..16].copy_from_slice(&block[8 + group * 16..][..16]);
        scales[group * 4..][..4].copy_from_slice(&scale.to_le_bytes());
    }
}
