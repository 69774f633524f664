//! How far a result may be from its reference: a ladder of rungs with names, so that no test holds a bare number.

/// A rung of the ladder, from strict to lax.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerance {
    /// The same value: data is moved, or one correctly rounded operation is done.
    Exact,
    /// At most 4 units in the last place: a short chain of operations, or a function of the language's library, whose
    /// bound in OpenCL is 3 to 4 units.
    FewUlps,
    /// At most 32 units in the last place: several library functions in a chain.
    ManyUlps,
    /// 1e-5 of the value, or 1e-6 near zero: short sums in another order, results with cancellation.
    Close,
    /// 1e-4 of the value, or 1e-4 near zero: long sums in another order.
    Approximate,
    /// 2e-3 of the value, or 1e-3 near zero: results stored as f16.
    Half,
}

/// Where and how far two results differ.
#[derive(Debug, thiserror::Error)]
pub enum Mismatch {
    /// Different lengths.
    #[error("{got} results where {want} were expected")]
    Length {
        /// Length of the result.
        got: usize,
        /// Length of the reference.
        want: usize,
    },
    /// Values out of tolerance.
    #[error(
        "{wrong} of {count} differ beyond {tolerance:?}; worst at {index}: got {got:e}, want {want:e} ({ulps} ulps)"
    )]
    Values {
        /// How many are out of tolerance.
        wrong: usize,
        /// How many there are.
        count: usize,
        /// The rung that was asked for.
        tolerance: Tolerance,
        /// Index of the one farthest off.
        index: usize,
        /// The result there.
        got: f32,
        /// The reference there.
        want: f32,
        /// The distance there.
        ulps: u32,
    },
}

/// Distance in representable values; a NaN is near no number, and all NaNs are one.
pub fn ulps(a: f32, b: f32) -> u32 {
    if a.is_nan() || b.is_nan() {
        return if a.is_nan() && b.is_nan() { 0 } else { u32::MAX };
    }
    // Makes the order of the bits the order of the numbers, both zeros in the middle.
    let line = |v: f32| {
        let bits = i64::from(v.to_bits() & 0x7fff_ffff);
        if v.is_sign_negative() { -bits } else { bits }
    };
    line(a).abs_diff(line(b)).min(u64::from(u32::MAX)) as u32
}

impl Tolerance {
    /// Whether one result is near enough.
    pub fn allows(self, got: f32, want: f32) -> bool {
        let distance = ulps(got, want);
        // Of numbers, only finite ones can be nearly right.
        let near = |relative: f32, absolute: f32| {
            got.is_finite() && want.is_finite() && (got - want).abs() <= absolute.max(relative * want.abs())
        };
        match self {
            Tolerance::Exact => distance == 0,
            Tolerance::FewUlps => distance <= 4,
            Tolerance::ManyUlps => distance <= 32,
            Tolerance::Close => distance == 0 || near(1e-5, 1e-6),
            Tolerance::Approximate => distance == 0 || near(1e-4, 1e-4),
            Tolerance::Half => distance == 0 || near(2e-3, 1e-3),
        }
    }

    /// Compares whole results; the error names the value that is farthest off.
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
            (Tolerance::FewUlps, Tolerance::ManyUlps, 1.0 + 32.0 * f32::EPSILON),
            (Tolerance::ManyUlps, Tolerance::Close, 1.0 + 9e-6),
            (Tolerance::Close, Tolerance::Approximate, 1.0 + 9e-5),
            (Tolerance::Approximate, Tolerance::Half, 1.0 + 1.9e-3),
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
    fn the_worst_value_is_reported() {
        let error = Tolerance::Exact.compare(&[1.0, 2.5, 2.0], &[1.0, 2.0, 1.5]).expect_err("two differ");
        assert!(matches!(error, Mismatch::Values { wrong: 2, index: 2, .. }), "{error}");
        assert!(matches!(Tolerance::Half.compare(&[], &[1.0]), Err(Mismatch::Length { .. })));
    }
}
