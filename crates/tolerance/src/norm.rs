//! Tolerances for whole vectors, such as the logits of a language model. Rounding errors of many
//! layers spread over all elements, so small elements have no tolerance of their own.

/// A tolerance of [`distance`], ordered from strict to lax.
///
/// | level | distance | used for |
/// | --- | --- | --- |
/// | `Reordered` | 3e-6 | a model in f32, the same operations in another order |
/// | `Model` | 1e-4 | a model in f32, by other kernels |
/// | `HalfTable` | 1e-3 | a model in f32 with a function from a table of f16 |
/// | `Half` | 2e-3 | weights, activations, keys or values in f16 |
/// | `HalfScales` | 3e-3 | quantized weights whose scales are rounded to f16 once more |
/// | `HalfProducts` | 5e-3 | products of f16; offsets of 9 or 15 times a scale, rounded to f16 |
/// | `Bfloat` | 1e-2 | activations in bf16; the scales and offsets of 2-bit blocks, rounded to f16 |
/// | `Cache8` | 2e-2 | keys and values in 8 bits |
/// | `Activations8` | 5e-2 | activations in 8 bits |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NormTolerance {
    /// The same operations in f32, in another order.
    Reordered,
    /// A whole model in f32.
    Model,
    /// A function is looked up in a table of f16, such as llama.cpp's GELU.
    HalfTable,
    /// Values are stored as f16.
    Half,
    /// Scales of quantized weights are rounded to f16.
    HalfScales,
    /// Weights and activations are multiplied as f16.
    HalfProducts,
    /// Values are stored as bf16.
    Bfloat,
    /// The KV cache has blocks of 8-bit integers.
    Cache8,
    /// Activations are rounded to blocks of 8-bit integers.
    Activations8,
}

impl NormTolerance {
    /// The largest distance that passes.
    pub fn bound(self) -> f64 {
        match self {
            Self::Reordered => 3e-6,
            Self::Model => 1e-4,
            Self::HalfTable => 1e-3,
            Self::Half => 2e-3,
            Self::HalfScales => 3e-3,
            Self::HalfProducts => 5e-3,
            Self::Bfloat => 1e-2,
            Self::Cache8 => 2e-2,
            Self::Activations8 => 5e-2,
        }
    }

    /// Whether a [`distance`] passes; NaN does not.
    pub fn allows(self, distance: f64) -> bool {
        distance <= self.bound()
    }
}

/// The norm of the error, relative to the norm of the reference. NaN if the lengths differ or the
/// reference is zero or empty.
pub fn distance(got: &[f32], want: &[f32]) -> f64 {
    if got.len() != want.len() {
        return f64::NAN;
    }
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    let error = norm(&mut got.iter().zip(want).map(|(&got, &want)| f64::from(got) - f64::from(want)));
    let length = norm(&mut want.iter().map(|&want| want.into()));
    if length == 0.0 { f64::NAN } else { error / length }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_relative_to_the_reference() {
        assert_eq!(distance(&[3.0, 5.0], &[3.0, 4.0]), 0.2);
        assert_eq!(distance(&[3.0, 4.0], &[3.0, 4.0]), 0.0);
        assert!(NormTolerance::Model.allows(distance(&[1.000_09], &[1.0])));
        assert!(!NormTolerance::Model.allows(distance(&[1.000_2], &[1.0])));
    }

    #[test]
    fn what_cannot_be_compared_never_passes() {
        for (got, want) in [(&[1.0][..], &[1.0, 2.0][..]), (&[f32::NAN], &[1.0]), (&[0.0], &[0.0]), (&[], &[])] {
            assert!(!NormTolerance::Activations8.allows(distance(got, want)), "{got:?} and {want:?}");
        }
    }

    #[test]
    fn levels_are_ordered() {
        use NormTolerance::{
            Activations8, Bfloat, Cache8, Half, HalfProducts, HalfScales, HalfTable, Model, Reordered,
        };
        let all = [Reordered, Model, HalfTable, Half, HalfScales, HalfProducts, Bfloat, Cache8, Activations8];
        assert!(all.is_sorted_by(|a, b| a < b && a.bound() < b.bound()));
    }
}
