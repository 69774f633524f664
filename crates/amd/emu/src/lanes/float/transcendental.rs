//! Reciprocals, roots, exponentials, logarithms, sines and cosines (in turns, not radians).
//!
//! The f32 unit flushes denormals in sources and results in every mode; compilers scale around it.
//! f16 and f64 follow the mode. The rounding mode is ignored.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use super::polynomials::{cos, exp2, log2, sin};
use super::shapes::{halves, long};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{FloatMode, flush32, flush64};
use crate::mode::RoundingMode;

/// f32: flushed in and out.
macro_rules! single {
    (|$x:ident| $body:expr) => {
        long!(|a: f32| -> f32 {
            let $x = flush32(a, true);
            flush32($body, true)
        })
    };
}

/// f16, computed in f32: flushed in and out if the mode says so.
macro_rules! half {
    (|$x:ident| $body:expr) => {
        halves!(@function F16, |$x| |_round| $body, |_mode| FloatMode::PLAIN).with_modes(halves!(
            @function F16, |$x| |_round| $body, |mode| FloatMode { round: RoundingMode::Nearest, ..FloatMode::of_16_64(mode) }))
    };
}

/// f64: flushed in and out if the mode says so.
macro_rules! double {
    (|$x:ident| $body:expr) => {
        lane!(|$x: f64| -> f64 { $body }).with_modes(lane!(mode; |mode, a: f64| -> f64 {
            let $x = flush64(a, mode.flush_in16_64());
            flush64($body, mode.flush_out16_64())
        }))
    };
}

/// Reciprocal square root; -infinity for -0.
#[inline(always)]
fn rsq(value: f32) -> f32 {
    (1.0 / f64::from(value).sqrt()) as f32
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let rcp = single!(|x| 1.0 / x);
    vec![
        ("v_rcp_f32", rcp),
        ("v_rcp_iflag_f32", rcp),
        ("v_rsq_f32", single!(|x| rsq(x))),
        ("v_sqrt_f32", single!(|x| x.sqrt())),
        ("v_exp_f32", single!(|x| exp2(x) as f32)),
        ("v_log_f32", single!(|x| log2(x) as f32)),
        ("v_sin_f32", single!(|x| sin(x) as f32)),
        ("v_cos_f32", single!(|x| cos(x) as f32)),
        ("v_rcp_f16", half!(|x| 1.0 / x)),
        ("v_rsq_f16", half!(|x| rsq(x))),
        ("v_sqrt_f16", half!(|x| x.sqrt())),
        // Limited to the range of f32: a finite source must give a finite result if f16 saturates.
        ("v_exp_f16", half!(|x| exp2(if x.is_finite() { x.min(64.0) } else { x }) as f32)),
        ("v_log_f16", half!(|x| log2(x) as f32)),
        ("v_sin_f16", half!(|x| sin(x) as f32)),
        ("v_cos_f16", half!(|x| cos(x) as f32)),
        ("v_rcp_f64", double!(|x| 1.0 / x)),
        ("v_rsq_f64", double!(|x| 1.0 / x.sqrt())),
        ("v_sqrt_f64", double!(|x| x.sqrt())),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FLUSH, f32_of, lanes, one};
    use crate::lanes::testing::Random;
    use crate::mode::Mode;
    use crate::row::LANES;

    /// Distance in ulps.
    fn ulps(a: f32, b: f32) -> u32 {
        let key = |value: f32| {
            value.to_bits().cast_signed() ^ ((value.to_bits().cast_signed() >> 31).cast_unsigned() >> 1).cast_signed()
        };
        key(a).abs_diff(key(b))
    }

    /// Every result is the nearest f32 or (rarely) an adjacent one.
    fn check(name: &str, range: std::ops::Range<f32>, exact: impl Fn(f64) -> f64) {
        let mut random = Random::new(43);
        let mut misses = 0;
        for _ in 0..2_000 {
            let values = [(); LANES].map(|()| {
                let part = (random.next() >> 40) as f32 / 16_777_216.0;
                range.start + (range.end - range.start) * part
            });
            let (results, _) = lanes(name, Mode::DEFAULT, &[values.map(|value| value.to_bits().into())], 0);
            for (value, result) in values.into_iter().zip(results) {
                let (found, expected) = (f32::from_bits(result as u32), exact(value.into()) as f32);
                let expected = if expected.is_subnormal() { 0.0 } else { expected };
                assert!(ulps(found, expected) <= 1, "{name} of {value:e}: {found:e}, not {expected:e}");
                misses += u32::from(found.to_bits() != expected.to_bits());
            }
        }
        assert!(misses <= 2, "{name}: {misses} of 64000 not nearest");
    }

    #[test]
    fn results_are_nearest() {
        check("v_exp_f32", -130.0..130.0, f64::exp2);
        check("v_exp_f32", -1.0..1.0, f64::exp2);
        check("v_log_f32", 1e-30..1e-28, f64::log2);
        check("v_log_f32", 0.5..2.0, f64::log2);
        check("v_log_f32", 1.0..1e30, f64::log2);
        check("v_sin_f32", -0.24..0.24, |turns| (turns * std::f64::consts::TAU).sin());
        check("v_cos_f32", -0.24..0.24, |turns| (turns * std::f64::consts::TAU).cos());
        check("v_rcp_f32", 1e-30..1e30, |value| 1.0 / value);
        check("v_rsq_f32", 1e-30..1e30, |value| 1.0 / value.sqrt());
        check("v_sqrt_f32", 1e-30..1e30, f64::sqrt);
    }

    #[test]
    fn limits_are_as_defined() {
        let infinity = f32::INFINITY;
        for (name, value, result) in [
            ("v_rcp_f32", -0.0, -infinity),
            ("v_rcp_f32", -infinity, -0.0),
            ("v_rcp_f32", f32::MAX, 0.0),
            ("v_rcp_f32", f32::from_bits(0x007f_ffff), infinity),
            ("v_rsq_f32", -0.0, -infinity),
            ("v_rsq_f32", infinity, 0.0),
            ("v_sqrt_f32", -0.0, -0.0),
            ("v_sqrt_f32", f32::from_bits(1), 0.0),
            ("v_exp_f32", -infinity, 0.0),
            ("v_exp_f32", infinity, infinity),
            ("v_exp_f32", 3.0, 8.0),
            ("v_exp_f32", -126.5, 0.0),
            ("v_exp_f32", 128.0, infinity),
            ("v_log_f32", 0.0, -infinity),
            ("v_log_f32", -0.0, -infinity),
            ("v_log_f32", 1.0, 0.0),
            ("v_log_f32", 0.125, -3.0),
            ("v_log_f32", infinity, infinity),
            ("v_sin_f32", 0.25, 1.0),
            ("v_sin_f32", 1e20, 0.0),
            ("v_sin_f32", -0.0, -0.0),
            ("v_cos_f32", 0.5, -1.0),
            ("v_cos_f32", 7.25, 0.0),
            ("v_cos_f32", 1e20, 1.0),
        ] {
            assert_eq!(f32_of(name, &[value]).to_bits(), result.to_bits(), "{name} of {value}");
        }
        for (name, value) in [
            ("v_log_f32", -1.0),
            ("v_sqrt_f32", -1.0),
            ("v_rsq_f32", -1.0),
            ("v_sin_f32", infinity),
            ("v_cos_f32", f32::NAN),
            ("v_exp_f32", f32::NAN),
            ("v_log_f32", f32::NAN),
        ] {
            assert!(f32_of(name, &[value]).is_nan(), "{name} of {value}");
        }
    }

    #[test]
    fn halves_keep_denormals_unless_flushed() {
        // 2^-15 is denormal, and so is the reciprocal of 2^15.
        assert_eq!(one("v_rcp_f16", Mode::DEFAULT, &[0x7800]), 0x200);
        assert_eq!(one("v_rcp_f16", FLUSH, &[0x7800]), 0);
        assert_eq!(one("v_rcp_f16", Mode::DEFAULT, &[0x200]), 0x7800);
        assert_eq!(one("v_rcp_f16", FLUSH, &[0x200]), 0x7c00);
        assert_eq!(one("v_exp_f16", Mode::DEFAULT, &[0xcb00]), 0x400);
        assert_eq!(one("v_log_f16", Mode::DEFAULT, &[1]), 0xce00);
        assert_eq!(one("v_sqrt_f16", Mode::DEFAULT, &[0x4400]), 0x4000);
        assert_eq!(one("v_sin_f16", Mode::DEFAULT, &[0x3400]), 0x3c00);
    }

    #[test]
    fn doubles_are_nearest() {
        assert_eq!(one("v_rcp_f64", Mode::DEFAULT, &[3f64.to_bits()]), (1.0 / 3f64).to_bits());
        assert_eq!(one("v_rsq_f64", Mode::DEFAULT, &[4f64.to_bits()]), 0.5f64.to_bits());
        assert_eq!(one("v_sqrt_f64", Mode::DEFAULT, &[2f64.to_bits()]), 2f64.sqrt().to_bits());
        assert_eq!(one("v_rcp_f64", FLUSH, &[1]), f64::INFINITY.to_bits());
    }
}
