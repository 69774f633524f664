//! Storage of F32 and BF16 weights as 16-bit floats, which matrix units multiply.
//!
//! BF16 has eight bits of precision and f16 has eleven, so a conversion is exact except for tiny
//! values. BF16 matrix units would also round activations to eight bits. The range of f16 is
//! smaller: a matrix outside it keeps its type, and f32 kernels multiply it.

use half::f16;
use roci_gguf::Type;

use crate::features::Features;
use crate::options::Options;

/// Which float types a device stores as 16-bit floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HalfFloats {
    /// None: the device has no matrix units.
    #[default]
    None,
    /// BF16.
    Bf16,
    /// BF16 and F32.
    All,
}

impl HalfFloats {
    pub(crate) fn of(features: &Features, options: &Options) -> Self {
        match (features.coopmat, options.exact) {
            (false, _) => Self::None,
            (true, true) => Self::Bf16,
            (true, false) => Self::All,
        }
    }

    /// For a matrix whose results are compared with each other, such as the scores of experts: F32
    /// is not rounded.
    pub(crate) fn exact(self) -> Self {
        if self == Self::All { Self::Bf16 } else { self }
    }

    /// Whether matrices of a type become 16-bit floats where [`Magnitudes::fits`] allows it.
    pub(crate) fn includes(self, kind: Type) -> bool {
        match kind {
            Type::BF16 => self != Self::None,
            Type::F32 => self == Self::All,
            _ => false,
        }
    }
}

/// Magnitudes of weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Magnitudes {
    /// Bits of the largest magnitude. NaN and infinity have larger bits than any number.
    largest: u32,
    squares: f64,
    /// Number of nonzero weights that are subnormal as f16.
    subnormal: u64,
}

impl Magnitudes {
    /// The smallest normal f16.
    const F16_MIN_NORMAL: f32 = 6.103_515_6e-5;
    /// The largest f16.
    const F16_MAX: f32 = 65504.0;
    /// The square of the largest error of a subnormal f16, 2^-25.
    const SUBNORMAL_ERROR: f64 = 1.0 / (1u64 << 50) as f64;
    /// The square of the allowed error, relative to the norm of the matrix: a quarter of the error
    /// of rounded f16.
    const ALLOWED_ERROR: f64 = 1.0 / (1u64 << 26) as f64;

    /// Of a row of a type of [`HalfFloats`].
    pub(crate) fn of_row(kind: Type, row: &[u8]) -> Self {
        let mut range = Self::default();
        // Sums of a few values in f32 keep the loop fast.
        for values in row.chunks(4 * 256) {
            let (mut largest, mut squares, mut subnormal) = (0, 0.0, 0u32);
            let mut add = |value: f32| {
                let bits = value.to_bits() & 0x7fff_ffff;
                largest = largest.max(bits);
                squares += value * value;
                subnormal += u32::from(bits != 0 && bits < Self::F16_MIN_NORMAL.to_bits());
            };
            match kind {
                Type::BF16 => values.as_chunks().0.iter().for_each(|bytes| add(from_bf16(*bytes))),
                _ => values.as_chunks().0.iter().for_each(|bytes| add(f32::from_le_bytes(*bytes))),
            }
            range.largest = range.largest.max(largest);
            range.squares += f64::from(squares);
            range.subnormal += u64::from(subnormal);
        }
        range
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            squares: self.squares + other.squares,
            subnormal: self.subnormal + other.subnormal,
        }
    }

    /// Whether the range of f16 suffices: no weight is too large, and subnormal ones lose little.
    pub(crate) fn fits(self) -> bool {
        let error = self.subnormal as f64 * Self::SUBNORMAL_ERROR;
        self.largest <= Self::F16_MAX.to_bits() && error <= Self::ALLOWED_ERROR * self.squares
    }
}

fn from_bf16(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
}

/// Converts a row to 16-bit floats. The rest of `codes` becomes zero.
pub(crate) fn convert_row(kind: Type, row: &[u8], codes: &mut [u8]) {
    let codes = codes.as_chunks_mut::<2>().0.iter_mut();
    match kind {
        Type::BF16 => codes
            .zip(row.as_chunks().0)
            .for_each(|(code, bytes)| *code = f16::from_f32(from_bf16(*bytes)).to_le_bytes()),
        _ => codes
            .zip(row.as_chunks().0)
            .for_each(|(code, bytes)| *code = f16::from_f32(f32::from_le_bytes(*bytes)).to_le_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(kind: Type, values: &[f32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        kind.quantize(values, &mut bytes).expect("floats have no blocks");
        bytes
    }

    fn fits(kind: Type, values: &[f32]) -> bool {
        Magnitudes::of_row(kind, &bytes(kind, values)).fits()
    }

    #[test]
    fn weights_beyond_the_range_of_f16_keep_their_type() {
        for kind in [Type::F32, Type::BF16] {
            assert!(fits(kind, &[0.0; 8]), "{kind}");
            assert!(fits(kind, &[0.02, -0.5, 0.0, 1e-6]), "{kind}");
            assert!(fits(kind, &[65024.0, 1.0]), "{kind}");
            for large in [65536.0, 1e30, f32::INFINITY, f32::NAN] {
                assert!(!fits(kind, &[0.02, -large]), "{kind}, {large}");
            }
            // Most of a matrix of such weights would be lost.
            assert!(!fits(kind, &[1e-6; 64]), "{kind}");
            assert!(!fits(kind, &[1e-30; 64]), "{kind}");
        }
        let large = Magnitudes::of_row(Type::BF16, &bytes(Type::BF16, &[1e6]));
        assert!(!Magnitudes::of_row(Type::BF16, &bytes(Type::BF16, &[0.5])).and(large).fits());
    }

    #[test]
    fn bf16_is_converted_exactly() {
        // All positive numbers with an exponent of a normal f16.
        let values: Vec<f32> = (113 << 7..143 << 7).map(|bits: u32| f32::from_bits(bits << 16)).collect();
        let row = bytes(Type::BF16, &values);
        let mut codes = vec![0; row.len()];
        convert_row(Type::BF16, &row, &mut codes);
        let found: Vec<f32> = codes.as_chunks().0.iter().map(|bytes| f16::from_le_bytes(*bytes).to_f32()).collect();
        assert_eq!(found, values);
    }

    #[test]
    fn exact_results_keep_f32() {
        assert!(HalfFloats::All.includes(Type::F32) && HalfFloats::All.includes(Type::BF16));
        assert!(!HalfFloats::All.exact().includes(Type::F32) && HalfFloats::All.exact().includes(Type::BF16));
        assert!(!HalfFloats::None.exact().includes(Type::BF16));
        assert!(!HalfFloats::All.includes(Type::Q4_0) && !HalfFloats::All.includes(Type::F16));
    }
}
