//! Integer comparisons.

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// A comparison under both of its names; the destination of the mask does not matter here.
macro_rules! named {
    ($name:literal, $type:ident, |$a:ident, $b:ident| $body:block) => {{
        let op = lane!(compare |$a: $type, $b: $type| $body);
        [
            (concat!("v_cmp_", $name, "_", stringify!($type)), op),
            (concat!("v_cmpx_", $name, "_", stringify!($type)), op),
        ]
    }};
}

/// The six comparisons of each type.
macro_rules! ordered {
    ($($type:ident)*) => {
        [$(
            named!("lt", $type, |a, b| { a < b }),
            named!("eq", $type, |a, b| { a == b }),
            named!("le", $type, |a, b| { a <= b }),
            named!("gt", $type, |a, b| { a > b }),
            named!("ne", $type, |a, b| { a != b }),
            named!("ge", $type, |a, b| { a >= b }),
        )*]
    };
}

/// The comparisons that are always false or always true. They have no 16-bit forms.
macro_rules! constant {
    ($($type:ident)*) => {
        [$(
            named!("f", $type, |_a, _b| { false }),
            named!("t", $type, |_a, _b| { true }),
        )*]
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [ordered!(i16 u16 i32 u32 i64 u64).concat(), constant!(i32 u32 i64 u64).concat()].concat()
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{run, with_carry};
    use crate::mode::Mode;

    /// Ascending values of a signed and an unsigned type. Bits above the type's width must not
    /// matter.
    #[test]
    fn order_is_that_of_the_type() {
        let signed =
            [(16, vec![0x8000, 0xffff, 0, 1, 0x7fff]), (32, vec![1 << 31, 0xffff_ffff, 0, 0x1_0000, (1 << 31) - 1])];
        let unsigned =
            [(16, vec![0, 1, 0x7fff, 0x8000, 0xffff]), (32, vec![0, 0xffff, 0x1_0000, 1 << 31, 0xffff_ffff])];
        let wide_signed = vec![1 << 63, (1 << 63) + 1, u128::from(u64::MAX), 0, 0xffff_ffff, 1 << 32, (1 << 63) - 1];
        let wide_unsigned = vec![0, 0xffff_ffff, 1 << 32, (1 << 63) - 1, 1 << 63, u128::from(u64::MAX)];
        for (letter, cases) in [
            ("i", [signed.to_vec(), vec![(64, wide_signed)]].concat()),
            ("u", [unsigned.to_vec(), vec![(64, wide_unsigned)]].concat()),
        ] {
            for (bits, rising) in cases {
                for (i, a) in rising.iter().enumerate() {
                    for (j, b) in rising.iter().enumerate() {
                        let above = if bits == 16 { 0x5555_0000 } else { 0 };
                        for (predicate, holds) in [
                            ("lt", i < j),
                            ("eq", i == j),
                            ("le", i <= j),
                            ("gt", i > j),
                            ("ne", i != j),
                            ("ge", i >= j),
                        ] {
                            for prefix in ["v_cmp", "v_cmpx"] {
                                let name = format!("{prefix}_{predicate}_{letter}{bits}");
                                let found = with_carry(&name, &[a | above, *b], false).1;
                                assert_eq!(found, holds, "{name} of {a:x} and {b:x}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn constant_predicates_ignore_their_sources() {
        for kind in ["i32", "u32", "i64", "u64"] {
            for prefix in ["v_cmp", "v_cmpx"] {
                assert!(!with_carry(&format!("{prefix}_f_{kind}"), &[1, 1], false).1);
                assert!(with_carry(&format!("{prefix}_t_{kind}"), &[1, 2], false).1);
            }
        }
    }

    #[test]
    fn bit_i_is_lane_i() {
        let op = crate::lanes::find("v_cmp_lt_u32").unwrap();
        let lanes = vec![std::array::from_fn(|lane| lane as u32)];
        let (_, mask) = run("v_cmp_lt_u32", &op, op.function, &[lanes, vec![[5; 32]], vec![]], Mode::DEFAULT, 0);
        assert_eq!(mask, 0b11111);
    }
}
