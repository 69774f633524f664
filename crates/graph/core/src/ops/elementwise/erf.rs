//! The error function in double precision, which the standard library lacks.

use std::f64::consts::PI;

/// Below this the series converges in few terms, above it the continued fraction.
const SERIES_LIMIT: f64 = 2.5;

/// The error function.
pub(super) fn erf(x: f64) -> f64 {
    if x.abs() < SERIES_LIMIT { series(x) } else { x.signum() * (1.0 - fraction(x.abs())) }
}

/// One minus the error function, accurate near zero.
pub(super) fn erfc(x: f64) -> f64 {
    if x.abs() < SERIES_LIMIT {
        1.0 - series(x)
    } else if x > 0.0 {
        fraction(x)
    } else {
        2.0 - fraction(-x)
    }
}

/// `2/√π e^(-x²) Σ 2ⁿ x^(2n+1) / (2n+1)!!`: all terms have the same sign, so there is no
/// cancellation.
fn series(x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (x, x, 1.0);
    while term.abs() > sum.abs() * 1e-17 {
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
        n += 1.0;
    }
    2.0 / PI.sqrt() * (-x * x).exp() * sum
}

/// The complementary error function of a positive number as a continued fraction, from the inside
/// out.
fn fraction(x: f64) -> f64 {
    let inner = (1..=60).rev().fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    (-x * x).exp() / (PI.sqrt() * inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // From tables with 16 digits.
        let rows = [(0.5, 0.520_499_877_813_046_5), (1.0, 0.842_700_792_949_714_9), (3.0, 0.999_977_909_503_001_4)];
        for (x, expected) in rows {
            assert!((erf(x) - expected).abs() < 1e-15, "{x}: {}", erf(x));
            assert_eq!(erf(-x), -erf(x));
        }
        assert!((erfc(5.0) / 1.537_459_794_428_035e-12 - 1.0).abs() < 1e-14);
        assert!((erf(SERIES_LIMIT) - erf(SERIES_LIMIT.next_down())).abs() < 1e-15);
        assert_eq!((erf(0.0), erf(f64::INFINITY), erf(f64::NEG_INFINITY)), (0.0, 1.0, -1.0));
        assert!(erf(f64::NAN).is_nan());
    }
}
