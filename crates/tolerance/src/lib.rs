//! Tolerances for all comparisons with a reference: an ordered set of named levels, so that tests
//! and commands contain no magic numbers. [`Tolerance`] is for elements, [`NormTolerance`] for
//! whole vectors.
//!
//! A result `got` passes if `|got - want| <= (ulps * 2^-23 + relative) * magnitude + absolute`. The
//! magnitude is `|want|`. For a sum it is the sum of the magnitudes of its terms: cancellation
//! makes a sum small, but not its rounding error. NaN matches NaN, and an infinity matches only
//! itself.
//!
//! | level | ulps | relative | absolute | used for |
//! | --- | --- | --- | --- | --- |
//! | `Exact` | 0 | 0 | 0 | data that is moved or selected, integers |
//! | `Rounded` | 1 | 0 | 0 | one correctly rounded operation |
//! | `FewUlps` | 4 | 0 | 0 | a division, a square root, a short chain of operations |
//! | `ManyUlps` | 64 | 0 | 0 | exponentials and values computed from them |
//! | `Sum` | 0 | 1e-5 | 0 | sums in f32 in any order, given the sum of magnitudes |
//! | `SumF16` | 0 | 1e-5 | 0 | such a sum, rounded to f16 |
//! | `Close` | 0 | 1e-5 | 1e-5 | a short sum, one operation of a graph in f32 |
//! | `Approximate` | 0 | 1e-4 | 1e-4 | sums of a few hundred products in f32 |
//! | `Trigonometric` | 0 | 0 | 2^-11 | sine and cosine |
//! | `Native` | 0 | 5e-4 | 5e-4 | functions that a GPU may approximate |
//! | `Layers` | 0 | 1e-3 | 1e-3 | several layers in f32 |
//! | `Half` | 0 | 2e-3 | 2e-3 | results stored as f16 |
//! | `HalfSums` | 0 | 8e-3 | 8e-3 | sums of a few hundred products of f16 |
//! | `Bfloat` | 0 | 1.6e-2 | 1.6e-2 | results stored as bf16 |
//! | `HalfLayers` | 0 | 2e-2 | 2e-2 | several layers in f16 |
//! | `BfloatSums` | 0 | 6e-2 | 6e-2 | sums of a few hundred products of bf16 |
//! | `BfloatLayers` | 0 | 1e-1 | 1e-1 | several layers in bf16 |
//! | `OnnxBackend` | 0 | 1e-3 | 1e-7 | the ONNX backend tests |

#![deny(unsafe_code)]

mod norm;

pub use norm::{NormTolerance, distance};

/// A tolerance level, ordered from strict to lax by relative error. The module documentation lists
/// the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerance {
    /// Bit-exact values: data is moved, or one exact operation is applied.
    Exact,
    /// One correctly rounded operation in f32.
    Rounded,
    /// A short chain of operations, or a built-in function of OpenCL or WGSL with a bound of 3 to 4
    /// ULP.
    FewUlps,
    /// A chain of several built-in functions; exponentials with the error that WGSL allows.
    ManyUlps,
    /// A sum in f32, in any order. The magnitude is the sum of the terms' magnitudes.
    Sum,
    /// Short sums in another order, results with cancellation, one operation of a graph in f32.
    Close,
    /// Sums of a few hundred products in f32.
    Approximate,
    /// The absolute error that WGSL allows for sine and cosine.
    Trigonometric,
    /// Functions that drivers may approximate: Vulkan requires 2^-11 for sine and cosine, and 4096
    /// ULP for inverse trigonometric functions.
    Native,
    /// [`Tolerance::Sum`], then rounded to f16.
    SumF16,
    /// Several consecutive layers in f32.
    Layers,
    /// The default of the ONNX project's backend tests.
    OnnxBackend,
    /// Results stored as f16.
    Half,
    /// Sums of a few hundred products of f16.
    HalfSums,
    /// Results stored as bf16.
    Bfloat,
    /// Several layers in f16.
    HalfLayers,
    /// Sums of a few hundred products of bf16.
    BfloatSums,
    /// Several layers in bf16.
    BfloatLayers,
}

/// The coefficients of a tolerance level.
#[derive(Clone, Copy)]
struct Bound {
    ulps: f64,
    relative: f64,
    absolute: f64,
}

impl Bound {
    const fn ulps(ulps: f64) -> Self {
        Self { ulps, relative: 0.0, absolute: 0.0 }
    }

    /// Equal relative and absolute error, no ULP term.
    const fn both(both: f64) -> Self {
        Self { ulps: 0.0, relative: both, absolute: both }
    }
}

/// How two results differ.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// The lengths differ.
    #[error("{got} results where {want} were expected")]
    Length {
        /// Length of the result.
        got: usize,
        /// Length of the reference.
        want: usize,
    },
    /// At least one value is out of tolerance.
    #[error(
        "{wrong} of {count} differ beyond {tolerance:?}; worst at {index}: got {got:e}, want {want:e} ({ulps} ulps)"
    )]
    Values {
        /// Number of values out of tolerance.
        wrong: usize,
        /// Number of values compared.
        count: usize,
        /// The tolerance that was requested.
        tolerance: Tolerance,
        /// Index of the value with the largest error.
        index: usize,
        /// The result at this index.
        got: f32,
        /// The reference at this index.
        want: f32,
        /// Their distance in ULP.
        ulps: u32,
    },
}

/// Distance in representable f32 values. The distance from NaN to any number is `u32::MAX`; NaN
/// payloads are ignored.
pub fn ulps(a: f32, b: f32) -> u32 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u32::MAX };
    }
    // Maps bits to integers in the order of the floats; both zeros map to 0.
    let ordered = |v: f32| {
        let bits = i64::from(v.to_bits() & 0x7fff_ffff);
        if v.is_sign_negative() { -bits } else { bits }
    };
    ordered(a).abs_diff(ordered(b)).min(u64::from(u32::MAX)) as u32
}

impl Tolerance {
    fn bound(self) -> Bound {
        match self {
            Self::Exact => Bound::ulps(0.0),
            Self::Rounded => Bound::ulps(1.0),
            Self::FewUlps => Bound::ulps(4.0),
            Self::ManyUlps => Bound::ulps(64.0),
            Self::Sum | Self::SumF16 => Bound { ulps: 0.0, relative: 1e-5, absolute: 0.0 },
            Self::Close => Bound::both(1e-5),
            Self::Approximate => Bound::both(1e-4),
            Self::Trigonometric => Bound { ulps: 0.0, relative: 0.0, absolute: 1.0 / 2048.0 },
            Self::Native => Bound::both(5e-4),
            Self::Layers => Bound::both(1e-3),
            Self::Half => Bound::both(2e-3),
            Self::HalfSums => Bound::both(8e-3),
            Self::Bfloat => Bound::both(1.6e-2),
            Self::HalfLayers => Bound::both(2e-2),
            Self::BfloatSums => Bound::both(6e-2),
            Self::BfloatLayers => Bound::both(1e-1),
            Self::OnnxBackend => Bound { ulps: 0.0, relative: 1e-3, absolute: 1e-7 },
        }
    }

    /// The allowed absolute error of `value`. Rounding errors are proportional to `magnitude`.
    pub fn allowed(self, value: f64, magnitude: f64) -> f64 {
        const ULP: f64 = f32::EPSILON as f64;
        // The smallest f32 subnormal: an ULP is never smaller.
        const SMALLEST: f64 = 1.0 / (1u64 << 63) as f64 / (1u128 << 86) as f64;
        // Half an ULP of f16, relative for normal numbers and absolute for subnormals.
        const F16_ROUNDING: f64 = 1.0 / 2048.0;
        const F16_SMALLEST: f64 = 1.0 / (1u64 << 25) as f64;
        let bound = self.bound();
        let stored = if self == Self::SumF16 { F16_ROUNDING * value.abs() + F16_SMALLEST } else { 0.0 };
        let ulps = bound.ulps * (ULP * magnitude).max(if bound.ulps > 0.0 { SMALLEST } else { 0.0 });
        ulps + bound.relative * magnitude + bound.absolute + stored
    }

    /// The error as a multiple of the allowed error: above 1 is out of tolerance.
    pub fn error_ratio(self, got: f64, want: f64) -> f64 {
        if got == want || (got.is_nan() && want.is_nan()) {
            return 0.0;
        }
        let error = (got - want).abs();
        // An infinity matches only itself, and NaN only NaN.
        if error.is_nan() || want.is_infinite() {
            return f64::INFINITY;
        }
        error / self.allowed(want, want.abs())
    }

    /// Whether a result is within the tolerance.
    pub fn allows(self, got: f32, want: f32) -> bool {
        // Counted in representable values, the largest finite number is one ulp from infinity.
        let ulps = f64::from(ulps(got, want));
        self.error_ratio(f64::from(got), f64::from(want)) <= 1.0 || ulps <= self.bound().ulps
    }

    /// Compares whole results. The error reports the value that is farthest off.
    pub fn compare(self, got: &[f32], want: &[f32]) -> Result<(), Mismatch> {
        if got.len() != want.len() {
            return Err(Mismatch::Length { got: got.len(), want: want.len() });
        }
        let pairs = || got.iter().zip(want).enumerate().filter(|(_, (got, want))| !self.allows(**got, **want));
        let Some((index, (&got_there, &want_there))) = pairs().max_by_key(|(_, (got, want))| ulps(**got, **want))
        else {
            return Ok(());
        };
        Err(Mismatch::Values {
            wrong: pairs().count(),
            count: got.len(),
            tolerance: self,
            index,
            got: got_there,
            want: want_there,
            ulps: ulps(got_there, want_there),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_count_representable_values() {
        assert_eq!(ulps(1.0, 1.0 + f32::EPSILON), 1);
        assert_eq!(ulps(0.0, -0.0), 0);
        assert_eq!(ulps(f32::from_bits(1), -f32::from_bits(1)), 2);
        assert_eq!(ulps(f32::MAX, f32::INFINITY), 1);
        assert_eq!(ulps(f32::NAN, -f32::NAN), 0);
        assert_eq!(ulps(f32::NAN, 0.0), u32::MAX);
    }

    #[test]
    fn each_rung_allows_what_the_one_below_refuses() {
        let rungs = [
            (Tolerance::Exact, Tolerance::FewUlps, 1.0 + 4.0 * f32::EPSILON),
            (Tolerance::FewUlps, Tolerance::ManyUlps, 1.0 + 64.0 * f32::EPSILON),
            (Tolerance::ManyUlps, Tolerance::Close, 1.0 + 9e-6),
            (Tolerance::Close, Tolerance::Approximate, 1.0 + 9e-5),
            (Tolerance::Approximate, Tolerance::Native, 1.0 + 9e-4),
            (Tolerance::Native, Tolerance::Layers, 1.0 + 1.9e-3),
            (Tolerance::Layers, Tolerance::Half, 1.0 + 3e-3),
            (Tolerance::Half, Tolerance::HalfSums, 1.0 + 1e-2),
            (Tolerance::HalfSums, Tolerance::Bfloat, 1.0 + 3e-2),
            (Tolerance::Bfloat, Tolerance::HalfLayers, 1.0 + 3.9e-2),
            (Tolerance::HalfLayers, Tolerance::BfloatSums, 1.0 + 1e-1),
            (Tolerance::BfloatSums, Tolerance::BfloatLayers, 1.0 + 1.9e-1),
        ];
        for (strict, lax, value) in rungs {
            assert!(!strict.allows(value, 1.0), "{strict:?} allows {value}");
            assert!(lax.allows(value, 1.0), "{lax:?} refuses {value}");
        }
    }

    #[test]
    fn only_itself_is_near_an_infinity_or_a_nan() {
        for rung in [Tolerance::Close, Tolerance::Approximate, Tolerance::Half] {
            assert!(rung.allows(f32::INFINITY, f32::INFINITY));
            assert!(!rung.allows(f32::MAX, f32::INFINITY));
            assert!(!rung.allows(0.0, f32::NAN));
            assert!(rung.allows(f32::NAN, f32::NAN));
        }
    }

    #[test]
    fn units_in_the_last_place_are_those_of_f32() {
        assert!(Tolerance::Rounded.allows(1.0 + f32::EPSILON, 1.0));
        assert!(!Tolerance::Rounded.allows(1.0 + 2.0 * f32::EPSILON, 1.0));
        assert!(
            Tolerance::FewUlps.allows(f32::from_bits(4), 0.0) && !Tolerance::FewUlps.allows(f32::from_bits(5), 0.0)
        );
    }

    #[test]
    fn sums_are_compared_by_the_magnitude_of_their_terms() {
        assert!(Tolerance::Sum.allowed(0.0, 773.0) > 7e-3 && Tolerance::Sum.allowed(0.0, 0.0) == 0.0);
        let stored = Tolerance::SumF16.allowed(1.0, 1.0) - Tolerance::Sum.allowed(1.0, 1.0);
        assert!((4.8e-4..4.9e-4).contains(&stored), "{stored}");
    }

    #[test]
    fn the_worst_value_is_reported() {
        let error = Tolerance::Exact.compare(&[1.0, 2.5, 2.0], &[1.0, 2.0, 1.5]).expect_err("two differ");
        assert!(matches!(error, Mismatch::Values { wrong: 2, index: 2, .. }), "{error}");
        assert!(matches!(Tolerance::Half.compare(&[], &[1.0]), Err(Mismatch::Length { .. })));
    }
}
