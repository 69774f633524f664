//! Minimum, maximum and median.
//!
//! A number takes precedence over NaN, and -0 is less than +0. In IEEE mode a signaling NaN
//! propagates, quieted.

use ::half::f16;

use super::shapes::{either, long};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// The functions of three sources, which f64 lacks. Extends a module of [`selection!`].
macro_rules! three_sources {
    ($type:ty, $bits:ty, $infinity:expr) => {
        #[inline(always)]
        fn is_nan(value: $type) -> bool {
            value.to_bits() & (<$bits>::MAX >> 1) > $infinity
        }

        /// Minimum of three.
        #[inline(always)]
        pub(super) fn min3(ieee: bool, a: $type, b: $type, c: $type) -> $type {
            min(ieee, min(ieee, a, b), c)
        }

        /// Maximum of three.
        #[inline(always)]
        pub(super) fn max3(ieee: bool, a: $type, b: $type, c: $type) -> $type {
            max(ieee, max(ieee, a, b), c)
        }

        /// Maximum of the third source and the minimum of the first two.
        #[inline(always)]
        pub(super) fn minmax(ieee: bool, a: $type, b: $type, c: $type) -> $type {
            max(ieee, min(ieee, a, b), c)
        }

        /// Minimum of the third source and the maximum of the first two.
        #[inline(always)]
        pub(super) fn maxmin(ieee: bool, a: $type, b: $type, c: $type) -> $type {
            min(ieee, max(ieee, a, b), c)
        }

        /// Median of three; the minimum if one is NaN.
        #[inline(always)]
        pub(super) fn med3(ieee: bool, a: $type, b: $type, c: $type) -> $type {
            let (low, high) = if key(a) <= key(b) { (a, b) } else { (b, a) };
            let upper = if key(high) <= key(c) { high } else { c };
            let median = if key(low) >= key(upper) { low } else { upper };
            let least = min3(ieee, a, b, c);
            let chosen = if is_nan(a) { least } else { median };
            let chosen = if is_nan(b) { least } else { chosen };
            if is_nan(c) { least } else { chosen }
        }
    };
}

/// The functions of one type, on its bits: comparing integer keys distinguishes -0 from +0 and
/// preserves NaN payloads.
macro_rules! selection {
    ($module:ident, $type:ty, $bits:ty, $signed:ty, $infinity:expr, $quiet:expr $(, $three:ident)?) => {
        /// Functions of one type.
        pub(crate) mod $module {
            const SIGN: u32 = <$bits>::BITS - 1;

            /// An integer key that orders like the values, -0 before +0.
            #[inline(always)]
            fn key(value: $type) -> $signed {
                let bits = value.to_bits().cast_signed();
                bits ^ ((bits >> SIGN).cast_unsigned() >> 1).cast_signed()
            }

            /// The first source or the second, unless one is NaN. A chain of integer selects
            /// vectorizes better than logic on conditions.
            #[inline(always)]
            fn select(ieee: bool, a: $type, b: $type, first: bool) -> $type {
                const MAGNITUDE: $bits = <$bits>::MAX >> 1;
                let (x, y) = (a.to_bits(), b.to_bits());
                let chosen = if first { x } else { y };
                let chosen = if y & MAGNITUDE > $infinity { x } else { chosen };
                let chosen = if x & MAGNITUDE > $infinity { y } else { chosen };
                // Signaling NaNs lie between infinity and the first quiet NaN.
                let count: $bits = if ieee { $quiet - 1 } else { 0 };
                let chosen = if (y & MAGNITUDE).wrapping_sub($infinity + 1) < count { y | $quiet } else { chosen };
                let chosen = if (x & MAGNITUDE).wrapping_sub($infinity + 1) < count { x | $quiet } else { chosen };
                <$type>::from_bits(chosen)
            }

            /// Minimum.
            #[inline(always)]
            pub(crate) fn min(ieee: bool, a: $type, b: $type) -> $type {
                select(ieee, a, b, key(a) <= key(b))
            }

            /// Maximum.
            #[inline(always)]
            pub(crate) fn max(ieee: bool, a: $type, b: $type) -> $type {
                select(ieee, a, b, key(a) >= key(b))
            }

            $($three!($type, $bits, $infinity);)?
        }
    };
}

selection!(half, ::half::f16, u16, i16, 0x7c00, 0x200, three_sources);
selection!(single, f32, u32, i32, 0x7f80_0000, 0x40_0000, three_sources);
selection!(double, f64, u64, i64, 0x7ff0_0000_0000_0000, 0x8_0000_0000_0000);

/// The operations of a type. They select after flushing the sources, so the results are not
/// denormal and need no flushing.
macro_rules! operations {
    ($type:ty, $module:ident, $flush:ident, $flush_in:ident; $($name:literal $by:ident($($x:ident),+);)+) => {
        vec![$((
            $name,
            long!(mode; |mode, $($x: $type),+| -> $type {
                $module::$by(mode.ieee(), $($x),+)
            })
            .with_modes(either!(|mode: Mode| mode.$flush_in(); |mode, $($x: $type),+| -> $type {
                $module::$by(mode.ieee(), $($crate::lanes::rounding::$flush($x, true)),+)
            } else {
                $module::$by(mode.ieee(), $($x),+)
            })),
        )),+]
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let mut all = operations! { f32, single, flush32, flush_in32;
        "v_min_f32" min(a, b);
        "v_max_f32" max(a, b);
        "v_min3_f32" min3(a, b, c);
        "v_max3_f32" max3(a, b, c);
        "v_med3_f32" med3(a, b, c);
        "v_minmax_f32" minmax(a, b, c);
        "v_maxmin_f32" maxmin(a, b, c);
    };
    all.extend(operations! { f16, half, flush16, flush_in16_64;
        "v_min_f16" min(a, b);
        "v_max_f16" max(a, b);
        "v_min3_f16" min3(a, b, c);
        "v_max3_f16" max3(a, b, c);
        "v_med3_f16" med3(a, b, c);
        "v_minmax_f16" minmax(a, b, c);
        "v_maxmin_f16" maxmin(a, b, c);
    });
    all.extend(operations! { f64, double, flush64, flush_in16_64;
        "v_min_f64" min(a, b);
        "v_max_f64" max(a, b);
    });
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FLUSH, f32_of, one};
    use crate::mode::Mode;

    const SIGNALING: u64 = 0x7f80_0001;
    const QUIET: u64 = 0x7fc0_0002;
    const NO_IEEE: Mode = Mode(0x1f0);

    #[test]
    fn negative_zero_is_less_than_positive_zero() {
        assert_eq!(f32_of("v_max_f32", &[-0.0, 0.0]).to_bits(), 0);
        assert_eq!(f32_of("v_max_f32", &[0.0, -0.0]).to_bits(), 0);
        assert_eq!(f32_of("v_min_f32", &[0.0, -0.0]).to_bits(), 0x8000_0000);
        assert_eq!(f32_of("v_min_f32", &[-0.0, 0.0]).to_bits(), 0x8000_0000);
        assert_eq!(one("v_max_f16", Mode::DEFAULT, &[0x8000, 0]), 0);
        assert_eq!(one("v_min_f64", Mode::DEFAULT, &[0, 1 << 63]), 1 << 63);
    }

    #[test]
    fn numbers_take_precedence_over_quiet_nan() {
        let three = u64::from(3f32.to_bits());
        for name in ["v_min_f32", "v_max_f32"] {
            assert_eq!(one(name, Mode::DEFAULT, &[QUIET, three]), three);
            assert_eq!(one(name, Mode::DEFAULT, &[three, QUIET]), three);
            assert_eq!(one(name, Mode::DEFAULT, &[QUIET, QUIET]), QUIET);
        }
    }

    #[test]
    fn ieee_mode_quiets_signaling_nan() {
        let three = u64::from(3f32.to_bits());
        for name in ["v_min_f32", "v_max_f32"] {
            assert_eq!(one(name, Mode::DEFAULT, &[SIGNALING, three]), SIGNALING | 0x40_0000);
            assert_eq!(one(name, Mode::DEFAULT, &[three, SIGNALING]), SIGNALING | 0x40_0000);
            assert_eq!(one(name, NO_IEEE, &[SIGNALING, three]), three);
        }
        assert_eq!(one("v_max_f16", Mode::DEFAULT, &[0x7c01, 0x3c00]), 0x7e01);
    }

    #[test]
    fn three_source_operations_compose() {
        for (a, b, c) in [(1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 3.0, 1.0), (-1.0, -1.0, 5.0)] {
            let mut sorted = [a, b, c];
            sorted.sort_by(f32::total_cmp);
            assert_eq!(f32_of("v_min3_f32", &[a, b, c]), sorted[0]);
            assert_eq!(f32_of("v_med3_f32", &[a, b, c]), sorted[1]);
            assert_eq!(f32_of("v_max3_f32", &[a, b, c]), sorted[2]);
            assert_eq!(f32_of("v_minmax_f32", &[a, b, c]), a.min(b).max(c));
            assert_eq!(f32_of("v_maxmin_f32", &[a, b, c]), a.max(b).min(c));
        }
        assert_eq!(f32_of("v_med3_f32", &[f32::NAN, 2.0, 1.0]), 1.0);
    }

    #[test]
    fn denormal_sources_count_as_zero_when_flushed() {
        assert_eq!(one("v_max_f32", FLUSH, &[1, 0x8000_0001]), 0);
        assert_eq!(one("v_max_f32", Mode::DEFAULT, &[1, 0x8000_0001]), 1);
        assert_eq!(one("v_pk_min_f16", FLUSH, &[0x8001_0001, 0x0001_8001]), 0x8000_8000);
    }
}
