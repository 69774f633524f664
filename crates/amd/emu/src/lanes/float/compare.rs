//! Floating-point comparisons and classification.

use half::f16;

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{flush16, flush32, flush64, widen16};

#[inline(always)]
fn same<T>(value: T) -> T {
    value
}

/// The sixteen predicates of a type, by the suffixes of `v_cmp_` and `v_cmpx_`. NaN compares false,
/// so negated predicates are true for it.
macro_rules! predicates {
    ($type:ty, $number:path, $flush:ident, $flush_in:ident, $suffix:literal) => {
        predicates! { @each $type, $number, $flush, $flush_in, $suffix;
            "f" |_a, _b| false;
            "lt" |a, b| a < b;
            "eq" |a, b| a == b;
            "le" |a, b| a <= b;
            "gt" |a, b| a > b;
            "lg" |a, b| (a < b) | (a > b);
            "ge" |a, b| a >= b;
            "o" |a, b| (a == a) & (b == b);
            "u" |a, b| (a != a) | (b != b);
            "nge" |a, b| !(a >= b);
            "nlg" |a, b| !((a < b) | (a > b));
            "ngt" |a, b| !(a > b);
            "nle" |a, b| !(a <= b);
            "neq" |a, b| a != b;
            "nlt" |a, b| !(a < b);
            "t" |_a, _b| true;
        }
    };
    (@each $type:ty, $number:path, $flush:ident, $flush_in:ident, $suffix:literal;
        $($name:literal |$a:ident, $b:ident| $test:expr;)+) => {
        vec![$({
            let op = lane!(compare |a: $type, b: $type| {
                let ($a, $b) = ($number(a), $number(b));
                $test
            })
            .with_modes(lane!(compare mode; |mode, a: $type, b: $type| {
                let ($a, $b) = ($number($flush(a, mode.$flush_in())), $number($flush(b, mode.$flush_in())));
                $test
            }));
            [(concat!("v_cmp_", $name, $suffix), op), (concat!("v_cmpx_", $name, $suffix), op)]
        }),+]
    };
}

/// Whether a value belongs to a class in the mask. Bits 0 to 9: signaling NaN, quiet NaN,
/// -infinity, -normal, -denormal, -0, +0, +denormal, +normal, +infinity. Denormals are classified
/// as such in every mode.
macro_rules! class {
    ($value:expr, $mask:expr, $infinity:expr, $least_normal:expr, $quiet:expr, $sign:expr) => {{
        let (bits, mask) = ($value.to_bits(), $mask);
        let magnitude = bits & !$sign;
        let positive = if magnitude == 0 {
            6
        } else if magnitude < $least_normal {
            7
        } else if magnitude < $infinity {
            8
        } else {
            9
        };
        let signed = if bits & $sign == 0 { positive } else { 11 - positive };
        let quiet = if bits & $quiet == 0 { 0 } else { 1 };
        mask >> (if magnitude > $infinity { quiet } else { signed }) & 1 == 1
    }};
}

#[expect(clippy::neg_cmp_op_on_partial_ord, reason = "comparisons of floats as they are defined, NaN included")]
pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let mut all: Vec<(&'static str, LaneOp)> = [
        predicates!(f32, same, flush32, flush_in32, "_f32"),
        predicates!(f16, widen16, flush16, flush_in16_64, "_f16"),
        predicates!(f64, same, flush64, flush_in16_64, "_f64"),
    ]
    .into_iter()
    .flatten()
    .flatten()
    .collect();
    let of_32 = lane!(compare |a: f32, mask: u32| {
        class!(a, mask, 0x7f80_0000, 0x80_0000, 0x40_0000, 0x8000_0000u32)
    });
    let of_16 = lane!(compare |a: f16, mask: u16| { class!(a, mask, 0x7c00, 0x400, 0x200, 0x8000u16) });
    let of_64 = lane!(compare |a: f64, mask: u32| {
        class!(a, mask, 0x7ff0_0000_0000_0000, 0x10_0000_0000_0000, 0x8_0000_0000_0000, 0x8000_0000_0000_0000u64)
    });
    all.extend([
        ("v_cmp_class_f32", of_32),
        ("v_cmpx_class_f32", of_32),
        ("v_cmp_class_f16", of_16),
        ("v_cmpx_class_f16", of_16),
        ("v_cmp_class_f64", of_64),
        ("v_cmpx_class_f64", of_64),
    ]);
    all
}

#[cfg(test)]
mod tests {
    use super::super::testing::{FLUSH, lanes};
    use crate::mode::Mode;
    use crate::row::LANES;

    fn holds(name: &str, mode: Mode, a: u64, b: u64) -> bool {
        let (_, mask) = lanes(name, mode, &[[a; LANES], [b; LANES]], 0);
        assert!(mask == 0 || mask == !0, "{name}");
        mask != 0
    }

    /// Results of the predicate for less, equal, greater, unordered.
    const PREDICATES: [(&str, [bool; 4]); 16] = [
        ("f", [false, false, false, false]),
        ("lt", [true, false, false, false]),
        ("eq", [false, true, false, false]),
        ("le", [true, true, false, false]),
        ("gt", [false, false, true, false]),
        ("lg", [true, false, true, false]),
        ("ge", [false, true, true, false]),
        ("o", [true, true, true, false]),
        ("u", [false, false, false, true]),
        ("nge", [true, false, false, true]),
        ("nlg", [false, true, false, true]),
        ("ngt", [true, true, false, true]),
        ("nle", [false, false, true, true]),
        ("neq", [true, false, true, true]),
        ("nlt", [false, true, true, true]),
        ("t", [true, true, true, true]),
    ];

    #[test]
    fn predicates_match_their_definition() {
        for (kind, one, two, zero, minus_zero, nan) in [
            ("f16", 0x3c00, 0x4000, 0, 0x8000, 0x7e00),
            ("f32", 0x3f80_0000, 0x4000_0000, 0, 0x8000_0000, 0x7fc0_0000),
            ("f64", 1f64.to_bits(), 2f64.to_bits(), 0, 1 << 63, f64::NAN.to_bits()),
        ] {
            for (predicate, truth) in PREDICATES {
                for prefix in ["v_cmp", "v_cmpx"] {
                    let name = format!("{prefix}_{predicate}_{kind}");
                    let found = [(one, two), (zero, minus_zero), (two, one), (nan, one)]
                        .map(|(a, b)| holds(&name, Mode::DEFAULT, a, b));
                    assert_eq!(found, truth, "{name}");
                    assert_eq!(holds(&name, Mode::DEFAULT, one, nan), truth[3], "{name}");
                }
            }
        }
    }

    #[test]
    fn denormal_sources_equal_zero_when_flushed() {
        assert!(holds("v_cmp_eq_f32", FLUSH, 1, 0));
        assert!(!holds("v_cmp_eq_f32", Mode::DEFAULT, 1, 0));
        assert!(holds("v_cmp_eq_f16", FLUSH, 1, 0x8002));
    }

    #[test]
    fn each_value_has_one_class() {
        let singles = [
            0x7f80_0001,
            0x7fc0_0000,
            0xff80_0000,
            0xbf80_0000,
            0x8000_0001,
            0x8000_0000,
            0,
            1,
            0x3f80_0000,
            0x7f80_0000,
        ];
        let halves = [0x7c01, 0xfe00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 0x3ff, 0x400, 0x7c00];
        for class in 0..10 {
            for other in 0..10 {
                assert_eq!(
                    holds("v_cmp_class_f32", FLUSH, singles[class], 1 << other),
                    class == other,
                    "{class} {other}"
                );
                assert_eq!(
                    holds("v_cmp_class_f16", Mode::DEFAULT, halves[class], 1 << other),
                    class == other,
                    "{class} {other}"
                );
            }
        }
        assert!(holds("v_cmp_class_f64", Mode::DEFAULT, f64::INFINITY.to_bits(), 0x260));
        assert!(!holds("v_cmp_class_f64", Mode::DEFAULT, 1f64.to_bits(), 0x260));
    }
}
