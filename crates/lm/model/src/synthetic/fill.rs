//! Random tensor data, as floats or directly as quantized blocks.

use roci_gguf::{Error, Type};

use crate::sample::Random;

/// Distribution of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fill {
    /// Values around 0 that preserve the magnitude of the input.
    Matrix {
        /// Length of the input.
        inputs: usize,
    },
    /// Values around 1.
    Norm,
    /// Values around 0.4, smaller for long heads: norms of queries and keys whose products are not
    /// scaled.
    SmallNorm {
        /// Length of a head.
        length: usize,
    },
    /// Values around 0.
    Bias,
    /// Values from 1 up.
    Factors,
    /// Ones, then values so large that the pair does not rotate.
    PartialFactors {
        /// Number of ones.
        rotated: usize,
    },
    /// Values from -1 to 0, most of them close to 0.
    Decay,
}

/// Random blocks: all bits are random except the scales.
struct Blocks {
    /// Offsets of the 16-bit scales, each with its ratio to the first.
    scales: &'static [(usize, f32)],
    /// Mean absolute value for a first scale of one.
    spread: f32,
}

fn blocks(kind: Type) -> Option<Blocks> {
    let (scales, spread): (&[(usize, f32)], f32) = match kind {
        Type::Q4_0 => (&[(0, 1.0)], 4.6),
        Type::Q4_1 => (&[(0, 1.0), (2, -7.5)], 4.6),
        Type::Q5_0 => (&[(0, 1.0)], 9.2),
        Type::Q5_1 => (&[(0, 1.0), (2, -15.5)], 9.2),
        Type::Q8_0 => (&[(0, 1.0)], 74.0),
        Type::Q2_K => (&[(80, 1.0), (82, 1.5)], 14.0),
        Type::Q3_K => (&[(108, 1.0)], 43.0),
        Type::Q4_K => (&[(0, 1.0), (2, 7.5)], 290.0),
        Type::Q5_K => (&[(0, 1.0), (2, 15.5)], 590.0),
        Type::Q6_K => (&[(208, 1.0)], 1370.0),
        Type::IQ4_NL => (&[(0, 1.0)], 70.0),
        Type::IQ4_XS => (&[(0, 1.0)], 1300.0),
        Type::IQ1_S => (&[(0, 1.0)], 7.2),
        Type::IQ2_XXS => (&[(0, 1.0)], 53.0),
        Type::IQ2_XS => (&[(0, 1.0)], 56.0),
        Type::IQ2_S => (&[(0, 1.0)], 56.0),
        Type::IQ3_XXS => (&[(0, 1.0)], 143.0),
        Type::IQ3_S => (&[(0, 1.0)], 140.0),
        Type::TQ1_0 => (&[(52, 1.0)], 0.82),
        Type::TQ2_0 => (&[(64, 1.0)], 1.2),
        Type::Q1_0 => (&[(0, 1.0)], 1.0),
        Type::Q2_0 => (&[(0, 1.0)], 1.2),
        // Scales that are no f16 at one place are set separately below.
        Type::MXFP4 => (&[], 2.9),
        Type::IQ1_M => (&[], 7.2),
        Type::NVFP4 => (&[], 8.6),
        _ => return None,
    };
    Some(Blocks { scales, spread })
}

impl Fill {
    /// The bytes of this number of values.
    pub(super) fn bytes(self, kind: Type, count: usize, random: Random) -> Result<Vec<u8>, Error> {
        let unit = |at: usize| random.unit(at as u64) as f32;
        match (self, blocks(kind)) {
            (Self::Matrix { inputs }, Some(layout)) => {
                let size = (1.0 / inputs as f32).sqrt() / layout.spread;
                Ok((0..count / kind.block_size())
                    .flat_map(|block| layout.block(kind, size, block as u64, random))
                    .collect())
            }
            _ => {
                // The root mean square of uniform values from -w to w is w / √3.
                let even = |at: usize, width: f32| (2.0 * unit(at) - 1.0) * width;
                let value = |at: usize| match self {
                    Self::Matrix { inputs } => even(at, (3.0 / inputs as f32).sqrt()),
                    Self::Norm => 1.0 + even(at, 0.25),
                    Self::SmallNorm { length } => (32.0 / length.max(32) as f32).powf(0.25) * (0.4 + even(at, 0.1)),
                    Self::Bias => even(at, 0.5),
                    Self::Factors => 1.0 + 8.0 * unit(at),
                    Self::PartialFactors { rotated } => {
                        if at < rotated {
                            1.0
                        } else {
                            1e30
                        }
                    }
                    Self::Decay => -unit(at).powi(3),
                };
                let values: Vec<f32> = (0..count).map(value).collect();
                let mut bytes = Vec::new();
                kind.quantize(&values, &mut bytes)?;
                Ok(bytes)
            }
        }
    }
}

impl Blocks {
    fn block(&self, kind: Type, size: f32, number: u64, random: Random) -> Vec<u8> {
        /// More words than any block has.
        const WORDS: u64 = 64;
        let words = (0..WORDS).flat_map(|word| random.bits(number * WORDS + word).to_le_bytes());
        let mut block: Vec<u8> = words.take(kind.block_bytes()).collect();
        // The scales of blocks differ by up to a quarter.
        let size = size * (0.75 + 0.5 * random.unit(u64::MAX / 2 + number) as f32);
        for &(at, factor) in self.scales {
            block[at..at + 2].copy_from_slice(&half::f16::from_f32(size * factor).to_le_bytes());
        }
        match kind {
            // A power of two.
            Type::MXFP4 => block[0] = (127.0 + size.log2().round()) as u8,
            // The highest four bits of each of the last four words.
            Type::IQ1_M => {
                let scale = half::f16::from_f32(size).to_bits();
                for (word, high) in block[48..].chunks_mut(2).zip([scale, scale >> 4, scale >> 8, scale >> 12]) {
                    word[1] = word[1] & 0xf | (high as u8) << 4;
                }
            }
            // Four bits of exponent, three of mantissa.
            Type::NVFP4 => {
                let exponent = (8.0 + size.log2().round()).clamp(0.0, 15.0) as u8;
                block[..4].iter_mut().for_each(|scale| *scale = exponent << 3 | *scale & 7);
            }
            _ => {}
        }
        block
    }
}
