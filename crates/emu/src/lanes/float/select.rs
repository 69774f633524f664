//! Minimum, maximum and median.
//!
//! A number wins over NaN; -0 is less than +0. In IEEE mode a signalling NaN comes out, quieted.

use ::half::f16;

use super::shapes::{either, long};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// The functions of one type, on its bits: an integer comparison of keys tells -0 from +0 and keeps NaN as they are.
macro_rules! selection {
    ($module:ident, $type:ident, $bits:ty, $signed:ty, $infinity:expr, $quiet:expr) => {
        /// Of one type.
        pub(crate) mod $module {
            #[allow(unused_imports, reason = "the primitive types need no import")]
            use super::*;

            const SIGN: u32 = <$bits>::BITS - 1;

            /// Orders like the numbers, -0 before +0.
            #[inline(always)]
            fn key(value: $type) -> $signed {
                let bits = value.to_bits().cast_signed();
                bits ^ ((bits >> SIGN).cast_unsigned() >> 1).cast_signed()
            }

            #[inline(always)]
            fn is_nan(value: $type) -> bool {
                value.to_bits() & (<$bits>::MAX >> 1) > $infinity
            }

            /// The first or the second, unless they are NaN. One choice after the other, by integers: the compiler
            /// vectorises that better than logic of conditions.
            #[inline(always)]
            fn select(ieee: bool, a: $type, b: $type, first: bool) -> $type {
                const MAGNITUDE: $bits = <$bits>::MAX >> 1;
                let (x, y) = (a.to_bits(), b.to_bits());
                let chosen = if first { x } else { y };
                let chosen = if y & MAGNITUDE > $infinity { x } else { chosen };
                let chosen = if x & MAGNITUDE > $infinity { y } else { chosen };
                // Signalling NaN are those from infinity to the first quiet one.
                let count: $bits = if ieee { $quiet - 1 } else { 0 };
                let chosen = if (y & MAGNITUDE).wrapping_sub($infinity + 1) < count { y | $quiet } else { chosen };
                let chosen = if (x & MAGNITUDE).wrapping_sub($infinity + 1) < count { x | $quiet } else { chosen };
                <$type>::from_bits(chosen)
            }

            /// The lesser.
            #[inline(always)]
            pub(crate) fn min(ieee: bool, a: $type, b: $type) -> $type {
                select(ieee, a, b, key(a) <= key(b))
            }

            /// The greater.
            #[inline(always)]
            pub(crate) fn max(ieee: bool, a: $type, b: $type) -> $type {
                select(ieee, a, b, key(a) >= key(b))
            }

            /// The least of three.
            #[inline(always)]
            #[allow(dead_code, reason = "f64 has no such instruction")]
            pub(super) fn min3(ieee: bool, a: $type, b: $type, c: $type) -> $type {
                min(ieee, min(ieee, a, b), c)
            }

            /// The greatest of three.
            #[inline(always)]
            #[allow(dead_code, reason = "f64 has no such instruction")]
            pub(super) fn max3(ieee: bool, a: $type, b: $type, c: $type) -> $type {
                max(ieee, max(ieee, a, b), c)
            }

            /// The greater of the third and the lesser of the first two.
            #[inline(always)]
            #[allow(dead_code, reason = "f64 has no such instruction")]
            pub(super) fn minmax(ieee: bool, a: $type, b: $type, c: $type) -> $type {
                max(ieee, min(ieee, a, b), c)
            }

            /// The lesser of the third and the greater of the first two.
            #[inline(always)]
            #[allow(dead_code, reason = "f64 has no such instruction")]
            pub(super) fn maxmin(ieee: bool, a: $type, b: $type, c: $type) -> $type {
                min(ieee, max(ieee, a, b), c)
            }

            /// The middle one of three; the least, if one is NaN.
            #[inline(always)]
            #[allow(dead_code, reason = "f64 has no such instruction")]
            pub(super) fn med3(ieee: bool, a: $type, b: $type, c: $type) -> $type {
                let (low, high) = if key(a) <= key(b) { (a, b) } else { (b, a) };
                let upper = if key(high) <= key(c) { high } else { c };
                let median = if key(low) >= key(upper) { low } else { upper };
                let least = min3(ieee, a, b, c);
                let chosen = if is_nan(a) { least } else { median };
                let chosen = if is_nan(b) { least } else { chosen };
                if is_nan(c) { least } else { chosen }
            }
        }
    };
}

selection!(half, f16, u16, i16, 0x7c00, 0x200);
selection!(single, f32, u32, i32, 0x7f80_0000, 0x40_0000);
selection!(double, f64, u64, i64, 0x7ff0_0000_0000_0000, 0x8_0000_0000_0000);

/// The operations of a type: they select, after flushing what counts as zero. What is selected of flushed sources is
/// not denormal, so results need no flushing.
macro_rules! operations {
    ($type:ty, $module:ident, $flush:ident, $flush_in:ident; $($name:literal $by:ident($($x:ident),+);)+) => {
        vec![$((
            $name,
            long!(mode; |mode, $($x: $type),+| -> $type {
                $module::$by(mode.ieee(), $($x),+)
            })
            .moded(either!(|mode: Mode| mode.$flush_in(); |mode, $($x: $type),+| -> $type {
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

    const SIGNALLING: u64 = 0x7f80_0001;
    const QUIET: u64 = 0x7fc0_0002;
    const NO_IEEE: Mode = Mode(0x1f0);

    #[test]
    fn zeros_have_an_order() {
        assert_eq!(f32_of("v_max_f32", &[-0.0, 0.0]).to_bits(), 0);
        assert_eq!(f32_of("v_max_f32", &[0.0, -0.0]).to_bits(), 0);
        assert_eq!(f32_of("v_min_f32", &[0.0, -0.0]).to_bits(), 0x8000_0000);
        assert_eq!(f32_of("v_min_f32", &[-0.0, 0.0]).to_bits(), 0x8000_0000);
        assert_eq!(one("v_max_f16", Mode::DEFAULT, &[0x8000, 0]), 0);
        assert_eq!(one("v_min_f64", Mode::DEFAULT, &[0, 1 << 63]), 1 << 63);
    }

    #[test]
    fn numbers_win_over_quiet_nan() {
        let three = u64::from(3f32.to_bits());
        for name in ["v_min_f32", "v_max_f32"] {
            assert_eq!(one(name, Mode::DEFAULT, &[QUIET, three]), three);
            assert_eq!(one(name, Mode::DEFAULT, &[three, QUIET]), three);
            assert_eq!(one(name, Mode::DEFAULT, &[QUIET, QUIET]), QUIET);
        }
    }

    #[test]
    fn ieee_mode_quiets_signalling_nan() {
        let three = u64::from(3f32.to_bits());
        for name in ["v_min_f32", "v_max_f32"] {
            assert_eq!(one(name, Mode::DEFAULT, &[SIGNALLING, three]), SIGNALLING | 0x40_0000);
            assert_eq!(one(name, Mode::DEFAULT, &[three, SIGNALLING]), SIGNALLING | 0x40_0000);
            assert_eq!(one(name, NO_IEEE, &[SIGNALLING, three]), three);
        }
        assert_eq!(one("v_max_f16", Mode::DEFAULT, &[0x7c01, 0x3c00]), 0x7e01);
    }

    #[test]
    fn three_sources_nest() {
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
