//! Instructions with a mask operand: sums with carry, products with a 64-bit sum, selects.

use half::f16;

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [sums(), products(), choices()].concat()
}

// Carries are computed as sign bits: AVX2 has no unsigned comparison, and masks are gathered from
// sign bits.

#[inline(always)]
fn add(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = a.wrapping_add(b).wrapping_add(u32::from(carry));
    (sum, (a & b | (a | b) & !sum).cast_signed() < 0)
}

/// A difference is a sum with the complement; its carry is the complement of the borrow.
#[inline(always)]
fn subtract(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let (difference, carry) = add(a, !b, !borrow);
    (difference, !carry)
}

/// Sign of a 64-bit integer, from its upper word.
#[inline(always)]
fn sign(bits: u64) -> bool {
    ((bits >> 32) as i32) < 0
}

/// Saturates a sum: all ones on a carry.
#[inline(always)]
fn saturated_sum((sum, carry): (u32, bool)) -> (u32, bool) {
    (if carry { !0 } else { sum }, carry)
}

/// Saturates a difference: zero on a borrow.
#[inline(always)]
fn saturated_difference((difference, borrow): (u32, bool)) -> (u32, bool) {
    (if borrow { 0 } else { difference }, borrow)
}

fn sums() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_add_co_u32",
            lane!(carry |_bit, a: u32, b: u32| -> u32 { add(a, b, false) })
                .saturating(lane!(carry |_bit, a: u32, b: u32| -> u32 { saturated_sum(add(a, b, false)) })),
        ),
        (
            "v_sub_co_u32",
            lane!(carry |_bit, a: u32, b: u32| -> u32 { subtract(a, b, false) })
                .saturating(lane!(carry |_bit, a: u32, b: u32| -> u32 { saturated_difference(subtract(a, b, false)) })),
        ),
        (
            "v_subrev_co_u32",
            lane!(carry |_bit, a: u32, b: u32| -> u32 { subtract(b, a, false) })
                .saturating(lane!(carry |_bit, a: u32, b: u32| -> u32 { saturated_difference(subtract(b, a, false)) })),
        ),
        (
            "v_add_co_ci_u32",
            lane!(carry |bit, a: u32, b: u32| -> u32 { add(a, b, bit) })
                .saturating(lane!(carry |bit, a: u32, b: u32| -> u32 { saturated_sum(add(a, b, bit)) })),
        ),
        (
            "v_sub_co_ci_u32",
            lane!(carry |bit, a: u32, b: u32| -> u32 { subtract(a, b, bit) })
                .saturating(lane!(carry |bit, a: u32, b: u32| -> u32 { saturated_difference(subtract(a, b, bit)) })),
        ),
        (
            "v_subrev_co_ci_u32",
            lane!(carry |bit, a: u32, b: u32| -> u32 { subtract(b, a, bit) })
                .saturating(lane!(carry |bit, a: u32, b: u32| -> u32 { saturated_difference(subtract(b, a, bit)) })),
        ),
    ]
}

#[inline(always)]
fn mad_u64(a: u32, b: u32, c: u64) -> (u64, bool) {
    let product = u64::from(a) * u64::from(b);
    let sum = product.wrapping_add(c);
    (sum, sign(product & c | (product | c) & !sum))
}

/// The sum and whether it overflows.
#[inline(always)]
fn mad_i64(a: i32, b: i32, c: i64) -> (i64, bool) {
    let product = i64::from(a) * i64::from(b);
    let sum = product.wrapping_add(c);
    (sum, sign(((product ^ sum) & (c ^ sum)).cast_unsigned()))
}

fn products() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_mad_u64_u32",
            lane!(carry |_bit, a: u32, b: u32, c: u64| -> u64 { mad_u64(a, b, c) }).saturating(lane!(
                carry |_bit, a: u32, b: u32, c: u64| -> u64 {
                    let (sum, carry) = mad_u64(a, b, c);
                    (if carry { !0 } else { sum }, carry)
                }
            )),
        ),
        (
            "v_mad_i64_i32",
            // The carry bit is bit 64 of the sum, its true sign.
            lane!(carry |_bit, a: i32, b: i32, c: i64| -> i64 {
                let (sum, overflow) = mad_i64(a, b, c);
                (sum, sign(sum.cast_unsigned()) ^ overflow)
            })
            .saturating(lane!(carry |_bit, a: i32, b: i32, c: i64| -> i64 {
                let (sum, overflow) = mad_i64(a, b, c);
                let negative = sign(sum.cast_unsigned()) ^ overflow;
                let limit = if negative { i64::MIN } else { i64::MAX };
                (if overflow { limit } else { sum }, negative)
            })),
        ),
    ]
}

/// The sources have a floating-point kind because `neg` and `abs` apply to them; their bits are not
/// changed otherwise.
fn choices() -> Vec<(&'static str, LaneOp)> {
    vec![
        (
            "v_cndmask_b32",
            lane!(carry |bit, a: f32, b: f32| -> u32 { (if bit { b.to_bits() } else { a.to_bits() }, false) }),
        ),
        (
            "v_cndmask_b16",
            lane!(carry |bit, a: f16, b: f16| -> u16 { (if bit { b.to_bits() } else { a.to_bits() }, false) }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{ONES, Random, run, with_carry, with_carry_saturated};
    use crate::mode::Mode;

    #[test]
    fn sums_carry() {
        for (name, operands, bit, plain, clamped, carry) in [
            ("v_add_co_u32", [ONES, 1], true, 0, ONES, true),
            ("v_add_co_u32", [ONES, 0], true, ONES, ONES, false),
            ("v_sub_co_u32", [1, 2], false, ONES, 0, true),
            ("v_sub_co_u32", [2, 2], true, 0, 0, false),
            ("v_subrev_co_u32", [2, 1], false, ONES, 0, true),
            ("v_subrev_co_u32", [1, 2], false, 1, 1, false),
            ("v_add_co_ci_u32", [ONES, 0], true, 0, ONES, true),
            ("v_add_co_ci_u32", [ONES, ONES], true, ONES, ONES, true),
            ("v_add_co_ci_u32", [ONES, 0], false, ONES, ONES, false),
            ("v_sub_co_ci_u32", [2, 2], true, ONES, 0, true),
            ("v_sub_co_ci_u32", [0, ONES], true, 0, 0, true),
            ("v_sub_co_ci_u32", [3, 2], true, 0, 0, false),
            ("v_subrev_co_ci_u32", [2, 2], true, ONES, 0, true),
            ("v_subrev_co_ci_u32", [2, 4], true, 1, 1, false),
        ] {
            assert_eq!(with_carry(name, &operands, bit), (plain, carry), "{name} {operands:x?} {bit}");
            assert_eq!(
                with_carry_saturated(name, &operands, bit),
                (clamped, carry),
                "{name} clamp {operands:x?} {bit}"
            );
        }
    }

    #[test]
    fn wide_sums_carry() {
        const WIDE: u128 = u64::MAX as u128;
        const LOWEST: u128 = 1 << 63;
        for (name, operands, plain, clamped, carry) in [
            ("v_mad_u64_u32", [ONES, ONES, 0], 0xffff_fffe_0000_0001, 0xffff_fffe_0000_0001, false),
            ("v_mad_u64_u32", [ONES, ONES, WIDE], 0xffff_fffe_0000_0000, WIDE, true),
            ("v_mad_u64_u32", [1, 1, WIDE], 0, WIDE, true),
            ("v_mad_i64_i32", [ONES, ONES, 0], 1, 1, false),
            ("v_mad_i64_i32", [ONES, 1, 0], WIDE, WIDE, true),
            ("v_mad_i64_i32", [1, 1, LOWEST - 1], LOWEST, LOWEST - 1, false),
            ("v_mad_i64_i32", [ONES, 1, LOWEST], LOWEST - 1, LOWEST, true),
            ("v_mad_i64_i32", [0x8000_0000, 0x8000_0000, 0], 0x4000_0000_0000_0000, 0x4000_0000_0000_0000, false),
        ] {
            assert_eq!(with_carry(name, &operands, true), (plain, carry), "{name} {operands:x?}");
            assert_eq!(with_carry_saturated(name, &operands, false), (clamped, carry), "{name} clamp {operands:x?}");
        }
    }

    #[test]
    fn selects_preserve_every_bit() {
        const SIGNALING: u128 = 0x7f80_0001;
        assert_eq!(with_carry("v_cndmask_b32", &[SIGNALING, 2], false).0, SIGNALING);
        assert_eq!(with_carry("v_cndmask_b32", &[1, SIGNALING], true).0, SIGNALING);
        assert_eq!(with_carry("v_cndmask_b16", &[0x5555_7c01, 2], false).0, 0x7c01);
        assert_eq!(with_carry("v_cndmask_b16", &[1, 0x5555_7c01], true).0, 0x7c01);
    }

    #[test]
    fn each_lane_has_its_own_bit() {
        let mut random = Random::new(1);
        for (name, op) in super::table() {
            if op.sources[0].rows() != 1 || op.result.rows() != 1 {
                continue;
            }
            let sources = op.sources.map(|kind| random.block(kind.rows()));
            let (mixed, carries) = run(name, &op, op.function, &sources, Mode::DEFAULT, 0x00ff_a5c3);
            for lane in 0..32 {
                let operands = [0, 1].map(|source| u128::from(sources[source][0][lane]));
                let (value, carry) = with_carry(name, &operands, 0x00ff_a5c3 >> lane & 1 != 0);
                assert_eq!(u128::from(mixed[0][lane]), value, "{name}, lane {lane}");
                assert_eq!(carries >> lane & 1 != 0, carry, "{name}, carry of lane {lane}");
            }
        }
    }
}
