//! Conversion of types with code groups to planar codes and scales.
//!
//! Their blocks are indices into grids, digits of base 3 or 4-bit floats. The kernels know neither,
//! so codes become four bits where they are sixteen values with equal steps or fewer, else bytes:
//! 4.5 to 10 bits per weight. Scales that are a product of two numbers are rounded to 16 bits.

use half::f16;
use roci_gguf::Type;
use roci_gguf::codes::CodeGroup;
use roci_kernels::params::WeightFormat;

use crate::pack::{GROUP, nibbles, pair};

/// The planar format of a type with code groups.
pub(crate) fn format_of(kind: Type) -> Option<WeightFormat> {
    Some(match kind {
        Type::TQ1_0 | Type::TQ2_0 | Type::Q1_0 | Type::Q2_0 => WeightFormat::Q4,
        Type::IQ1_S | Type::IQ3_S => WeightFormat::Q4Affine,
        Type::IQ1_M => WeightFormat::Q4Affine16,
        Type::IQ2_XXS | Type::IQ3_XXS => WeightFormat::Q8,
        Type::IQ2_XS | Type::IQ2_S | Type::NVFP4 => WeightFormat::Q8Affine16,
        _ => return None,
    })
}

/// Whether scales are rounded, so that single rows differ from those of the file.
pub(crate) fn rounds_scales(kind: Type) -> bool {
    matches!(kind, Type::IQ2_XXS | Type::IQ3_XXS)
}

/// Largest code of a type whose codes are all odd numbers from its negative to it.
fn largest_odd(kind: Type) -> i8 {
    if kind == Type::IQ3_S { 15 } else { 9 }
}

/// Converts a row, multiplied by `scale`. `codes` and `scales` cover all its groups and are
/// zero-initialized.
pub(crate) fn pack_row(kind: Type, scale: f32, row: &[u8], codes: &mut [u8], scales: &mut [u8]) {
    let Some(format) = format_of(kind) else { return };
    let groups = kind.block_size() / GROUP;
    let source = row.chunks_exact(kind.block_bytes()).flat_map(|block| (0..groups).map(move |group| (block, group)));
    let targets = codes.chunks_exact_mut(format.code_bytes()).zip(scales.chunks_exact_mut(format.scale_bytes(1)));
    for ((block, group), (codes, scales)) in source.zip(targets) {
        if let Some(mut group) = kind.code_group(block, group) {
            group.scales.iter_mut().for_each(|own| *own *= scale);
            pack_group(kind, format, &group, codes, scales);
        }
    }
}

fn pack_group(kind: Type, format: WeightFormat, group: &CodeGroup, codes: &mut [u8], scales: &mut [u8]) {
    let numbers = group.codes();
    let mut four_bits = |code: &dyn Fn(i8) -> u8| {
        nibbles(numbers[..GROUP / 2].iter().map(|&number| code(number)), codes, false);
        nibbles(numbers[GROUP / 2..].iter().map(|&number| code(number)), codes, true);
    };
    let most = largest_odd(kind);
    let halved = |number: i8| ((number + most) / 2).cast_unsigned();
    let steps = |scale: f32| pair(2.0 * scale, -f32::from(most) * scale);
    match format {
        WeightFormat::Q4 => {
            four_bits(&|number| (number + 8).cast_unsigned());
            scales.copy_from_slice(&f16::from_f32(group.scales[0]).to_le_bytes());
        }
        WeightFormat::Q4Affine => {
            four_bits(&halved);
            scales.copy_from_slice(&steps(group.scales[0]));
        }
        WeightFormat::Q4Affine16 => {
            four_bits(&halved);
            scales[..4].copy_from_slice(&steps(group.scales[0]));
            scales[4..].copy_from_slice(&steps(group.scales[1]));
        }
        _ => {
            codes.copy_from_slice(&numbers.map(i8::cast_unsigned));
            if format == WeightFormat::Q8 {
                scales.copy_from_slice(&f16::from_f32(group.scales[0]).to_le_bytes());
            } else {
                scales[..4].copy_from_slice(&pair(group.scales[0], 0.0));
                scales[4..].copy_from_slice(&pair(group.scales[1], 0.0));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [Type; 12] = [
        Type::IQ1_S,
        Type::IQ1_M,
        Type::IQ2_XXS,
        Type::IQ2_XS,
        Type::IQ2_S,
        Type::IQ3_XXS,
        Type::IQ3_S,
        Type::TQ1_0,
        Type::TQ2_0,
        Type::Q1_0,
        Type::Q2_0,
        Type::NVFP4,
    ];

    /// The values of one packed group, as the kernels compute them.
    fn unpack(format: WeightFormat, codes: &[u8], scales: &[u8]) -> Vec<f32> {
        let at = |word: usize| f16::from_le_bytes([scales[2 * word], scales[2 * word + 1]]).to_f32();
        let four_bits = |index: usize| f32::from(codes[index % 16] >> (index / 16 * 4) & 0xf);
        let eight_bits = |index: usize| f32::from(codes[index].cast_signed());
        let value = |index: usize| match format {
            WeightFormat::Q4 => (four_bits(index) - 8.0) * at(0),
            WeightFormat::Q4Affine => four_bits(index) * at(0) + at(1),
            WeightFormat::Q4Affine16 => four_bits(index) * at(index / 16 * 2) + at(index / 16 * 2 + 1),
            WeightFormat::Q8 => eight_bits(index) * at(0),
            _ => eight_bits(index) * at(index / 16 * 2) + at(index / 16 * 2 + 1),
        };
        (0..GROUP).map(value).collect()
    }

    /// Each value is within the rounding of its scale, and of its offset if it has one.
    #[test]
    fn packed_groups_are_those_of_the_file() {
        let mut random = fastrand::Rng::with_seed(1);
        for kind in TYPES {
            let format = format_of(kind).expect("every type has a format");
            let groups = kind.block_size() / GROUP;
            let mut checked = 0;
            for _ in 0..400 {
                let block: Vec<u8> = (0..kind.block_bytes()).map(|_| random.u8(..)).collect();
                let mut codes = vec![0; groups * format.code_bytes()];
                let mut scales = vec![0; groups * format.scale_bytes(1)];
                pack_row(kind, 1.0, &block, &mut codes, &mut scales);
                for group in 0..groups {
                    let expected = kind.code_group(&block, group).expect("the block has this group");
                    // Only scales far from the ends of the range of f16.
                    if !expected.scales.iter().all(|scale| (1e-3..1e3).contains(&scale.abs())) {
                        continue;
                    }
                    let found =
                        unpack(format, &codes[group * format.code_bytes()..], &scales[group * format.scale_bytes(1)..]);
                    for (index, (found, expected_value)) in found.iter().zip(expected.values()).enumerate() {
                        let scale = expected.scales[index / 16].abs();
                        let most = f32::from(largest_odd(kind)) * scale;
                        let size = match format {
                            WeightFormat::Q4Affine | WeightFormat::Q4Affine16 => 3.0 * most,
                            _ => expected_value.abs(),
                        };
                        let distance = (found - expected_value).abs();
                        assert!(distance <= size / 2048.0, "{kind:?}: {found} for {expected_value}, scale {scale}");
                    }
                    checked += 1;
                }
            }
            assert!(checked > 100, "{kind:?}: {checked} groups");
        }
    }
}
