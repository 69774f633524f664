//! Integer dot products.

use super::int32::{saturate_i32, saturate_u32};
use crate::lanes::macros::lane;
use crate::lanes::{LaneFunction, LaneOp, Levels, MapFn};
use crate::mode::Mode;
use crate::row::{CHUNKS, OperandKind, Rows, each};

/// The functions of a level. 8-bit and 4-bit elements are processed in pairs.
macro_rules! level {
    ($level:ident $(, $feature:literal)?) => {
        mod $level {
            use super::{CHUNKS, Mode, Rows, SATURATE_SIGNED, SATURATE_UNSIGNED, each};
            use crate::lanes::int::pairs::$level::{dot, widen};

            /// Dot product of all `BITS`-bit elements, signed or unsigned, plus the third source.
            ///
            /// # Safety
            /// As for [`MapFn`](crate::lanes::MapFn): every operand has a row.
            $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])?
            pub(super) unsafe fn run<const BITS: u32, const A: bool, const B: bool, const LIMIT: u32>(
                _mode: Mode,
                out: Rows<'_>,
                a: Rows<'_>,
                b: Rows<'_>,
                c: Rows<'_>,
            ) {
                for chunk in 0..CHUNKS {
                    // SAFETY: by contract the operand has a row.
                    let a = unsafe { a.chunk(0, chunk) };
                    // SAFETY: by contract the operand has a row.
                    let b = unsafe { b.chunk(0, chunk) };
                    // SAFETY: by contract the operand has a row.
                    let c = unsafe { c.chunk(0, chunk) };
                    let mut sums = dot(widen::<BITS, A>(a, 0), widen::<BITS, B>(b, 0));
                    for position in 1..16 / BITS {
                        let more = dot(widen::<BITS, A>(a, position), widen::<BITS, B>(b, position));
                        sums = each!(lane => sums[lane].wrapping_add(more[lane]));
                    }
                    let results = each!(lane => match LIMIT {
                        SATURATE_SIGNED => sums[lane].saturating_add(c[lane].cast_signed()).cast_unsigned(),
                        SATURATE_UNSIGNED => sums[lane].cast_unsigned().saturating_add(c[lane]),
                        _ => sums[lane].cast_unsigned().wrapping_add(c[lane]),
                    });
                    // SAFETY: by contract the result has a row.
                    unsafe { out.set_chunk(0, chunk, results) };
                }
            }
        }
    };
}

level!(base);
level!(avx2, "avx2,fma,f16c");

/// The addition of the third source wraps.
const WRAP: u32 = 0;
/// It saturates as a signed integer.
const SATURATE_SIGNED: u32 = 1;
/// It saturates as an unsigned integer.
const SATURATE_UNSIGNED: u32 = 2;

/// The operation of an element width and two signednesses.
macro_rules! dot {
    ($bits:literal, $a:literal, $b:literal, $limit:ident) => {
        LaneOp {
            function: LaneFunction::Map(Levels {
                base: base::run::<$bits, $a, $b, WRAP> as MapFn,
                avx2: avx2::run::<$bits, $a, $b, WRAP> as MapFn,
            }),
            saturating: Some(LaneFunction::Map(Levels {
                base: base::run::<$bits, $a, $b, $limit> as MapFn,
                avx2: avx2::run::<$bits, $a, $b, $limit> as MapFn,
            })),
            special_mode: None,
            sources: [OperandKind::B32; 3],
            result: OperandKind::B32,
            accumulates: false,
        }
    };
}

/// On gfx11, the signedness of each source is an instruction modifier: two digits after `@`, first
/// source first.
pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    vec![
        ("v_dot4_i32_i8", dot!(8, true, true, SATURATE_SIGNED)),
        ("v_dot4c_i32_i8", dot!(8, true, true, SATURATE_SIGNED).accumulating()),
        ("v_dot4_u32_u8", dot!(8, false, false, SATURATE_UNSIGNED)),
        ("v_dot4_i32_iu8@00", dot!(8, false, false, SATURATE_SIGNED)),
        ("v_dot4_i32_iu8@01", dot!(8, false, true, SATURATE_SIGNED)),
        ("v_dot4_i32_iu8@10", dot!(8, true, false, SATURATE_SIGNED)),
        ("v_dot4_i32_iu8@11", dot!(8, true, true, SATURATE_SIGNED)),
        ("v_dot8_i32_i4", dot!(4, true, true, SATURATE_SIGNED)),
        ("v_dot8_u32_u4", dot!(4, false, false, SATURATE_UNSIGNED)),
        ("v_dot8_i32_iu4@00", dot!(4, false, false, SATURATE_SIGNED)),
        ("v_dot8_i32_iu4@01", dot!(4, false, true, SATURATE_SIGNED)),
        ("v_dot8_i32_iu4@10", dot!(4, true, false, SATURATE_SIGNED)),
        ("v_dot8_i32_iu4@11", dot!(4, true, true, SATURATE_SIGNED)),
        (
            "v_dot2_i32_i16",
            lane!(|a: [i16; 2], b: [i16; 2], c: i32| -> i32 {
                (i32::from(a[0]) * i32::from(b[0])).wrapping_add(i32::from(a[1]) * i32::from(b[1])).wrapping_add(c)
            })
            .saturating(lane!(|a: [i16; 2], b: [i16; 2], c: i32| -> i32 {
                let low = i64::from(a[0]) * i64::from(b[0]);
                let high = i64::from(a[1]) * i64::from(b[1]);
                saturate_i32(low + high + i64::from(c))
            })),
        ),
        (
            "v_dot2_u32_u16",
            lane!(|a: [u16; 2], b: [u16; 2], c: u32| -> u32 {
                (u32::from(a[0]) * u32::from(b[0])).wrapping_add(u32::from(a[1]) * u32::from(b[1])).wrapping_add(c)
            })
            .saturating(lane!(|a: [u16; 2], b: [u16; 2], c: u32| -> u32 {
                let low = u64::from(a[0]) * u64::from(b[0]);
                let high = u64::from(a[1]) * u64::from(b[1]);
                saturate_u32(low + high + u64::from(c))
            })),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{ONES, Random, check, check_saturated, saturated, value};

    const MIN: u128 = 0x8000_0000;
    const MAX: u128 = 0x7fff_ffff;
    /// An element of a register, extracted independently of the function under test.
    fn number(bits: u32, size: u32, index: u32, signed: bool) -> i64 {
        let part = i64::from(bits >> (size * index)) & ((1 << size) - 1);
        if signed && part >> (size - 1) != 0 { part - (1 << size) } else { part }
    }

    #[test]
    fn products_are_as_defined() {
        let cases = [
            ("v_dot4_i32_i8", 8, true, true, true),
            ("v_dot4c_i32_i8", 8, true, true, true),
            ("v_dot4_u32_u8", 8, false, false, false),
            ("v_dot4_i32_iu8@00", 8, false, false, true),
            ("v_dot4_i32_iu8@01", 8, false, true, true),
            ("v_dot4_i32_iu8@10", 8, true, false, true),
            ("v_dot4_i32_iu8@11", 8, true, true, true),
            ("v_dot8_i32_i4", 4, true, true, true),
            ("v_dot8_u32_u4", 4, false, false, false),
            ("v_dot8_i32_iu4@00", 4, false, false, true),
            ("v_dot8_i32_iu4@01", 4, false, true, true),
            ("v_dot8_i32_iu4@10", 4, true, false, true),
            ("v_dot8_i32_iu4@11", 4, true, true, true),
            ("v_dot2_i32_i16", 16, true, true, true),
            ("v_dot2_u32_u16", 16, false, false, false),
        ];
        assert_eq!(cases.len(), super::table().len());
        let mut random = Random::new(3);
        for (name, size, a_signed, b_signed, sum_signed) in cases {
            for _ in 0..100 {
                let [a, b, c] = [random.word(), random.word(), random.word()];
                let dot: i64 = (0..32 / size)
                    .map(|index| number(a, size, index, a_signed) * number(b, size, index, b_signed))
                    .sum();
                let sum = dot + number(c, 32, 0, sum_signed);
                let operands = [a.into(), b.into(), c.into()];
                assert_eq!(value(name, &operands), u128::from(sum as u32), "{name} of {operands:x?}");
                let limited = if sum_signed {
                    sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32
                } else {
                    sum.clamp(0, u32::MAX.into()) as u32
                };
                assert_eq!(saturated(name, &operands), u128::from(limited), "{name} with clamp of {operands:x?}");
            }
        }
    }

    #[test]
    fn extremes_wrap_or_saturate() {
        check(&[
            ("v_dot4_i32_i8", &[0x8080_8080, 0x8080_8080, 0], 0x1_0000),
            ("v_dot4_i32_iu8@10", &[0x8080_8080, 0xffff_ffff, 0], 0x1_0000_0000 - 4 * 128 * 255),
            ("v_dot4_u32_u8", &[ONES, ONES, ONES], 4 * 255 * 255 - 1),
            ("v_dot2_i32_i16", &[0x8000_8000, 0x8000_8000, 0], MIN),
            ("v_dot2_u32_u16", &[ONES, ONES, 0], 0xfffc_0002),
            ("v_dot8_i32_i4", &[0x8888_8888, 0x7777_7777, 0], 0x1_0000_0000 - 8 * 56),
        ]);
        check_saturated(&[
            ("v_dot4_i32_i8", &[0x8080_8080, 0x8080_8080, MAX], MAX),
            ("v_dot4_i32_i8", &[0x8080_8080, 0x7f7f_7f7f, MIN], MIN),
            ("v_dot4_u32_u8", &[ONES, ONES, ONES], ONES),
            ("v_dot2_i32_i16", &[0x8000_8000, 0x8000_8000, 0], MAX),
            ("v_dot2_i32_i16", &[0x8000_8000, 0x8000_8000, ONES], MAX),
            ("v_dot2_i32_i16", &[0x8000_8000, 0x8000_8000, 0xffff_fffe], MAX - 1),
            ("v_dot2_u32_u16", &[ONES, ONES, 0], ONES),
        ]);
    }
}
