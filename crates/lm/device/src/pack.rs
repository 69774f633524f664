//! Conversion of GGUF blocks to planar codes and scales, the layout of the `lm_*` kernels.
//!
//! A GGUF block mixes scales with codes, and few blocks are a whole number of words. In planar
//! layout, the codes of 32 columns are whole words, and types keep their size, except Q4_K, Q5_K
//! and NVFP4, which grow slightly, and TQ1_0, whose digits become two bits ([`WeightFormat`]).
//! No code and no scale is rounded, except the scales of NVFP4.
//!
//! This file has the formats with 4-bit and 8-bit codes, [`pack_compact`] the others.

use half::f16;
use roci_gguf::Type;
use roci_kernels::params::WeightFormat;

use crate::pack_compact;

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
        Type::IQ4_NL => WeightFormat::Q4Nl,
        Type::IQ4_XS => WeightFormat::Iq4Xs,
        Type::MXFP4 => WeightFormat::Q4E2m1,
        Type::NVFP4 => WeightFormat::Nvfp4,
        Type::Q8_0 => WeightFormat::Q8,
        _ => return pack_compact::format_of(kind),
    })
}

/// Converts a row. `codes` and `scales` cover all its groups and are zero-initialized, so that
/// padding is zero. `scale` is a factor of all weights; types without code groups have none.
pub(crate) fn pack_row(kind: Type, scale: f32, row: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    match kind {
        Type::F32 | Type::F16 | Type::BF16 => codes[..row.len()].copy_from_slice(row),
        Type::Q4_0 => blocks::<18, 16, 2>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::Q4_1 => blocks::<20, 16, 4>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[4..]);
            scales.copy_from_slice(&block[..4]);
        }),
        Type::Q8_0 => blocks::<34, 32, 2>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::IQ4_NL => blocks::<18, 16, 2>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::MXFP4 => blocks::<17, 16, 1>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[1..]);
            scales[0] = block[0];
        }),
        Type::Q4_K => blocks::<144, 128, 20>(row, codes, scales, q4_k),
        Type::IQ4_XS => blocks::<136, 128, 8>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[8..]);
            // An f16 scale, then the low bits of the group scales, then their high bits.
            scales[..2].copy_from_slice(&block[..2]);
            scales[2..6].copy_from_slice(&block[4..8]);
            scales[6..].copy_from_slice(&block[2..4]);
        }),
        Type::NVFP4 => nvfp4(scale, row, codes, scales),
        _ => pack_compact::pack_row(kind, scale, row, codes, scales),
    }
}

/// Converts the blocks of a row, each with its codes and scales.
pub(crate) fn blocks<const BLOCK: usize, const CODES: usize, const SCALES: usize>(
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

/// Writes sixteen codes to the low or high nibbles of sixteen bytes.
fn nibbles(values: impl Iterator<Item = u8>, codes: &mut [u8], high: bool) {
    for (code, value) in codes.iter_mut().zip(values) {
        *code |= value << if high { 4 } else { 0 };
    }
}

/// The six-bit scale and minimum of a group of Q4_K and Q5_K, from twelve bytes.
pub(crate) fn scale_and_min(block: &[u8], group: usize) -> [u8; 2] {
    let scales = &block[4..16];
    if group < 4 {
        return [scales[group] & 63, scales[group + 4] & 63];
    }
    let both = scales[group + 4];
    [both & 0xf | (scales[group - 4] >> 6) << 4, both >> 4 | (scales[group] >> 6) << 4]
}

fn q4_k(block: &[u8; 144], codes: &mut [u8; 128], scales: &mut [u8; 20]) {
    for group in 0..8 {
        let numbers = block[16 + group / 2 * 32..][..32].iter().map(|byte| byte >> (group % 2 * 4) & 0xf);
        let codes = &mut codes[group * 16..][..16];
        nibbles(numbers.clone().take(16), codes, false);
        nibbles(numbers.skip(16), codes, true);
        scales[4 + 2 * group..][..2].copy_from_slice(&scale_and_min(block, group));
    }
    scales[..4].copy_from_slice(&block[..4]);
}

/// Converts a row of NVFP4, whose blocks have 64 values.
fn nvfp4(scale: f32, row: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    blocks::<36, 32, 8>(row, codes, scales, |block, codes, scales| {
        for half in 0..4 {
            // Low nibbles are the first eight values of sixteen.
            let source = &block[4 + 8 * half..][..8];
            let values = source.iter().map(|byte| byte & 0xf).chain(source.iter().map(|byte| byte >> 4));
            nibbles(values, &mut codes[half / 2 * 16..][..16], half % 2 == 1);
            let own = Type::NVFP4.code_group(block, half / 2).map_or(0.0, |group| group.scales[half % 2]);
            scales[2 * half..][..2].copy_from_slice(&f16::from_f32(scale * own).to_le_bytes());
        }
    });
}
