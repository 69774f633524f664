//! Conversion of GGUF blocks to the compact formats, whose codes have a fractional number of bytes
//! per 32 values.
//!
//! `lm_weights_compact.wgsl` has the layouts. A unit is sixteen values. Nothing is rounded.

use half::f16;
use roci_gguf::Type;
use roci_gguf::codes::Grid;
use roci_kernels::params::WeightFormat;

use crate::pack::{blocks, scale_and_min};

/// Values of a unit.
const UNIT: usize = 16;

/// The compact format of a type.
pub(crate) fn format_of(kind: Type) -> Option<WeightFormat> {
    Some(match kind {
        Type::Q5_0 => WeightFormat::Q50,
        Type::Q5_1 => WeightFormat::Q51,
        Type::Q5_K => WeightFormat::Q5K,
        Type::Q6_K => WeightFormat::Q6K,
        Type::Q2_K => WeightFormat::Q2K,
        Type::Q3_K => WeightFormat::Q3K,
        Type::TQ1_0 | Type::TQ2_0 => WeightFormat::Tq20,
        Type::Q2_0 => WeightFormat::Q20,
        Type::Q1_0 => WeightFormat::Q10,
        Type::IQ1_S => WeightFormat::Iq1S,
        Type::IQ1_M => WeightFormat::Iq1M,
        Type::IQ2_XXS => WeightFormat::Iq2Xxs,
        Type::IQ2_XS => WeightFormat::Iq2Xs,
        Type::IQ2_S => WeightFormat::Iq2S,
        Type::IQ3_XXS => WeightFormat::Iq3Xxs,
        Type::IQ3_S => WeightFormat::Iq3S,
        _ => return None,
    })
}

/// The grid that precedes the scales of a type.
pub(crate) fn grid(kind: Type) -> &'static [u8] {
    match kind.grid() {
        Some(Grid::Eight(entries)) => bytemuck::cast_slice(entries),
        Some(Grid::Four(entries)) => bytemuck::cast_slice(entries),
        None => &[],
    }
}

/// Converts a row. `scale` is a factor of all weights; scales are rounded unless it is 1. `codes`
/// and `scales` cover all groups of the row and are zero-initialized.
pub(crate) fn pack_row(kind: Type, scale: f32, row: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let times = |own: [u8; 2]| {
        if scale == 1.0 { own } else { f16::from_f32(f16::from_le_bytes(own).to_f32() * scale).to_le_bytes() }
    };
    match kind {
        Type::Q5_0 => blocks::<22, 20, 2>(row, codes, scales, |block, codes, scales| {
            five_bits(codes, |at| nibble(&block[6..], at) | bit(&block[2..], at) << 4);
            scales.copy_from_slice(&block[..2]);
        }),
        Type::Q5_1 => blocks::<24, 20, 4>(row, codes, scales, |block, codes, scales| {
            five_bits(codes, |at| nibble(&block[8..], at) | bit(&block[4..], at) << 4);
            scales.copy_from_slice(&block[..4]);
        }),
        Type::Q5_K => blocks::<176, 160, 20>(row, codes, scales, q5_k),
        Type::Q6_K => blocks::<210, 192, 18>(row, codes, scales, q6_k),
        Type::Q2_K => blocks::<84, 64, 20>(row, codes, scales, |block, codes, scales| {
            for (unit, codes) in codes.as_chunks_mut().0.iter_mut().enumerate() {
                *codes = two_bits(|at| k_two_bits(&block[16..80], unit, at));
            }
            scales[..4].copy_from_slice(&block[80..]);
            scales[4..].copy_from_slice(&block[..16]);
        }),
        Type::Q3_K => blocks::<110, 96, 14>(row, codes, scales, q3_k),
        Type::TQ1_0 => ternary::<54, 64>(kind, row, codes, scales, |block| times([block[52], block[53]])),
        Type::TQ2_0 => ternary::<66, 64>(kind, row, codes, scales, |block| times([block[64], block[65]])),
        Type::Q2_0 => ternary::<18, 16>(kind, row, codes, scales, |block| times([block[0], block[1]])),
        Type::Q1_0 => blocks::<18, 16, 2>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..]);
            *scales = times([block[0], block[1]]);
        }),
        Type::IQ1_S => blocks::<50, 32, 18>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..34]);
            scales[..2].copy_from_slice(&times([block[0], block[1]]));
            scales[2..].copy_from_slice(&block[34..]);
        }),
        Type::IQ1_M => {
            blocks::<56, 32, 24>(row, codes, scales, |block, codes, scales| iq1_m(block, codes, scales, times))
        }
        Type::IQ2_XXS => blocks::<66, 64, 2>(row, codes, scales, |block, codes, scales| {
            for (group, codes) in codes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
                *codes = iq2_xxs(&block[2 + 8 * group..]);
            }
            *scales = times([block[0], block[1]]);
        }),
        Type::IQ2_XS => blocks::<74, 64, 10>(row, codes, scales, |block, codes, scales| {
            codes.copy_from_slice(&block[2..66]);
            scales[..2].copy_from_slice(&times([block[0], block[1]]));
            scales[2..].copy_from_slice(&block[66..]);
        }),
        Type::IQ2_S => blocks::<82, 64, 18>(row, codes, scales, |block, codes, scales| {
            for (unit, codes) in codes.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let (index, sign) = (2 + 2 * unit, 34 + 2 * unit);
                *codes = [block[index], block[index + 1], block[sign], block[sign + 1]];
            }
            scales[..2].copy_from_slice(&times([block[0], block[1]]));
            for (group, scales) in scales[2..].as_chunks_mut().0.iter_mut().enumerate() {
                *scales = [block[66 + group], block[74 + group]];
            }
        }),
        Type::IQ3_XXS => blocks::<98, 96, 2>(row, codes, scales, |block, codes, scales| {
            for (group, codes) in codes.as_chunks_mut::<12>().0.iter_mut().enumerate() {
                codes[..8].copy_from_slice(&block[2 + 8 * group..][..8]);
                codes[8..].copy_from_slice(&block[66 + 4 * group..][..4]);
            }
            *scales = times([block[0], block[1]]);
        }),
        Type::IQ3_S => blocks::<110, 96, 14>(row, codes, scales, |block, codes, scales| {
            for (group, codes) in codes.as_chunks_mut::<12>().0.iter_mut().enumerate() {
                codes[..8].copy_from_slice(&block[2 + 8 * group..][..8]);
                codes[8..].copy_from_slice(&block[74 + 4 * group..][..4]);
            }
            scales[..2].copy_from_slice(&times([block[0], block[1]]));
            scales[2..10].copy_from_slice(&block[66..74]);
            scales[10..].copy_from_slice(&block[106..]);
        }),
        _ => {}
    }
}

/// Value `at` of 32 nibbles in Q4_0 order.
fn nibble(bytes: &[u8], at: usize) -> u8 {
    bytes[at % 16] >> (at / 16 * 4) & 0xf
}

fn bit(bytes: &[u8], at: usize) -> u8 {
    bytes[at / 8] >> (at % 8) & 1
}

/// Four-bit numbers of a unit.
fn four_bits(value: impl Fn(usize) -> u8) -> [u8; 8] {
    std::array::from_fn(|byte| {
        let at = byte % 4 + byte / 4 * 4;
        value(at) & 0xf | value(8 + at) << 4
    })
}

/// Two-bit numbers of a unit.
fn two_bits(value: impl Fn(usize) -> u8) -> [u8; 4] {
    std::array::from_fn(|byte| (0..4).fold(0, |all, k| all | (value(4 * k + byte) & 3) << (2 * k)))
}

/// Bits of a unit or a group.
fn bits<const BYTES: usize>(value: impl Fn(usize) -> u8) -> [u8; BYTES] {
    std::array::from_fn(|byte| (0..8).fold(0, |all, k| all | (value(8 * byte + k) & 1) << k))
}

/// Five-bit numbers of a group.
fn five_bits(codes: &mut [u8; 20], value: impl Fn(usize) -> u8) {
    for (unit, codes) in codes[..16].as_chunks_mut().0.iter_mut().enumerate() {
        *codes = four_bits(|at| value(UNIT * unit + at));
    }
    codes[16..].copy_from_slice(&bits::<4>(|at| value(at) >> 4));
}

fn q5_k(block: &[u8; 176], codes: &mut [u8; 160], scales: &mut [u8; 20]) {
    let (high, low) = (&block[16..48], &block[48..]);
    for (group, codes) in codes.as_chunks_mut().0.iter_mut().enumerate() {
        five_bits(codes, |at| {
            let nibble = low[group / 2 * 32 + at] >> (group % 2 * 4) & 0xf;
            nibble | (high[at] >> group & 1) << 4
        });
        scales[4 + 2 * group..][..2].copy_from_slice(&scale_and_min(block, group));
    }
    scales[..4].copy_from_slice(&block[..4]);
}

fn q6_k(block: &[u8; 210], codes: &mut [u8; 192], scales: &mut [u8; 18]) {
    for (unit, codes) in codes.as_chunks_mut::<12>().0.iter_mut().enumerate() {
        let (part, within) = (unit / 8, unit % 8);
        let low = &block[part * 64 + within % 4 * 16..];
        let high = &block[128 + part * 32 + within % 2 * 16..];
        codes[..8].copy_from_slice(&four_bits(|at| low[at] >> (within / 4 * 4)));
        codes[8..].copy_from_slice(&two_bits(|at| high[at] >> (within / 2 * 2)));
    }
    scales[..2].copy_from_slice(&block[208..]);
    scales[2..].copy_from_slice(&block[192..208]);
}

/// Value `at` of a unit of 2-bit codes of Q2_K and Q3_K.
fn k_two_bits(numbers: &[u8], unit: usize, at: usize) -> u8 {
    numbers[unit / 8 * 32 + unit % 2 * 16 + at] >> (unit % 8 / 2 * 2) & 3
}

fn q3_k(block: &[u8; 110], codes: &mut [u8; 96], scales: &mut [u8; 14]) {
    let (high, numbers, own) = (&block[..32], &block[32..96], &block[96..108]);
    for (group, codes) in codes.as_chunks_mut::<12>().0.iter_mut().enumerate() {
        for half in 0..2 {
            let unit = 2 * group + half;
            codes[4 * half..][..4].copy_from_slice(&two_bits(|at| k_two_bits(numbers, unit, at)));
            codes[8 + 2 * half..][..2].copy_from_slice(&bits::<2>(|at| high[16 * half + at] >> group));
            // The scale of the unit: four low bits, two high bits.
            scales[2 + group] |= (own[unit % 8] >> (unit / 8 * 4) & 0xf) << (4 * half);
            scales[10 + group / 2] |= (own[8 + unit % 4] >> (unit / 4 * 2) & 3) << (group % 2 * 4 + 2 * half);
        }
    }
    scales[..2].copy_from_slice(&block[108..]);
}

/// Converts a row of values from -1 to 2, with one scale per block.
fn ternary<const BLOCK: usize, const CODES: usize>(
    kind: Type,
    row: &[u8],
    codes: &mut [u8],
    scales: &mut [u8],
    scale: impl Fn(&[u8; BLOCK]) -> [u8; 2],
) {
    blocks::<BLOCK, CODES, 2>(row, codes, scales, |block, codes, scales| {
        for (group, codes) in codes.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let Some(values) = kind.code_group(block, group) else { return };
            let values = values.codes();
            for (half, codes) in codes.as_chunks_mut().0.iter_mut().enumerate() {
                *codes = two_bits(|at| (values[UNIT * half + at] + 1).cast_unsigned());
            }
        }
        *scales = scale(block);
    });
}

/// The scale of a block, from the highest bits of four words. Their other 48 bits are 3-bit scales
/// and high bits of the indices.
fn iq1_m(block: &[u8; 56], codes: &mut [u8; 32], scales: &mut [u8; 24], times: impl Fn([u8; 2]) -> [u8; 2]) {
    codes.copy_from_slice(&block[..32]);
    let (mut scale, mut own) = (0u16, 0u64);
    for word in 0..4 {
        let bits = u16::from_le_bytes([block[48 + 2 * word], block[49 + 2 * word]]);
        scale |= bits >> 12 << (4 * word);
        own |= u64::from(bits & 0xfff) << (12 * word);
    }
    scales[..2].copy_from_slice(&times(scale.to_le_bytes()));
    scales[2..8].copy_from_slice(&own.to_le_bytes()[..6]);
    scales[8..].copy_from_slice(&block[32..48]);
}

/// A group: for each unit two indices of eight bits, two times seven signs, and two bits of the
/// scale.
fn iq2_xxs(group: &[u8]) -> [u8; 8] {
    let rest = u32::from_le_bytes([group[4], group[5], group[6], group[7]]);
    let unit = |half: usize| {
        let indices = u32::from(group[2 * half]) | u32::from(group[2 * half + 1]) << 8;
        let signs = rest >> (14 * half) & 0x3fff;
        indices | signs << 16 | (rest >> (28 + 2 * half) & 3) << 30
    };
    (u64::from(unit(0)) | u64::from(unit(1)) << 32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use roci_kernels::native::dequantize_group;

    use super::*;
    use crate::pack::{self, GROUP};

    const TYPES: [Type; 24] = [
        Type::Q4_0,
        Type::Q4_1,
        Type::Q5_0,
        Type::Q5_1,
        Type::Q8_0,
        Type::Q2_K,
        Type::Q3_K,
        Type::Q4_K,
        Type::Q5_K,
        Type::Q6_K,
        Type::IQ4_NL,
        Type::IQ4_XS,
        Type::MXFP4,
        Type::NVFP4,
        Type::IQ1_S,
        Type::IQ1_M,
        Type::IQ2_XXS,
        Type::IQ2_XS,
        Type::IQ2_S,
        Type::IQ3_XXS,
        Type::IQ3_S,
        Type::TQ2_0,
        Type::Q1_0,
        Type::Q2_0,
    ];

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks(4).map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))).collect()
    }

    /// The values of two rows of random blocks as the kernels read them, and as the file defines
    /// them.
    fn both(kind: Type, random: &mut fastrand::Rng) -> (Vec<f32>, Vec<f32>) {
        let format = pack::format_of(kind).expect("every type has a format");
        let groups = 8;
        let row_bytes = kind.bytes((groups * GROUP) as u64).expect("rows are whole blocks") as usize;
        let (code_row, scale_row) = (groups * format.code_bytes(), format.scale_bytes(groups));
        let (mut codes, mut scales) = (vec![0; 2 * code_row], vec![0; 2 * scale_row]);
        let mut expected = Vec::new();
        for row in 0..2 {
            let bytes: Vec<u8> = (0..row_bytes).map(|_| random.u8(..)).collect();
            let (codes, scales) = (&mut codes[row * code_row..][..code_row], &mut scales[row * scale_row..]);
            pack::pack_row(kind, 1.0, &bytes, codes, &mut scales[..scale_row]);
            expected.extend(kind.to_f32(&bytes).expect("the blocks are whole"));
        }
        let scales = [grid(kind), &scales].concat();
        let (codes, scales) = (words(&codes), words(&scales));
        let found = (0..2 * groups).flat_map(|group| dequantize_group(format, &codes, &scales, group)).collect();
        (found, expected)
    }

    #[test]
    fn packed_rows_have_the_values_of_the_file() {
        let mut random = fastrand::Rng::with_seed(1);
        for kind in TYPES {
            let mut checked = 0;
            for _ in 0..200 {
                let (found, expected) = both(kind, &mut random);
                // Scales of random bytes may be infinite, and scales of NVFP4 too small for an f16.
                let size = expected.iter().fold(0f32, |size, value| size.max(value.abs()));
                if !(1e-3..1e30).contains(&size) || expected.iter().any(|value| value.is_nan()) {
                    continue;
                }
                for (found, expected) in found.iter().zip(&expected) {
                    // A scale and an offset may cancel out.
                    let error = (found - expected).abs() / size;
                    let limit = if kind == Type::NVFP4 { 0.5 * f16::EPSILON.to_f32() } else { 4.0 * f32::EPSILON };
                    assert!(error <= limit, "{kind}: {found} for {expected}");
                }
                checked += 1;
            }
            // Few exponents of MXFP4 are in this range.
            assert!(checked > 5, "{kind}: {checked} rows");
        }
    }

    #[test]
    fn no_type_grows_by_more_than_three_percent() {
        for kind in TYPES {
            let format = pack::format_of(kind).expect("every type has a format");
            let packed = 8 * format.code_bytes() + format.scale_bytes(8);
            let file = kind.bytes(256).expect("256 values are whole blocks") as usize;
            let limit = if kind == Type::NVFP4 { 112 } else { 103 };
            assert!(100 * packed <= limit * file, "{kind}: {packed} bytes for {file}");
        }
    }
}
