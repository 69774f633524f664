//! Dot products of two pairs.
//!
//! The hardware adds the two products and the accumulator approximately with one rounding; order
//! and guard bits are not documented. Here the sum is computed in f64 and rounded to nearest. f32
//! and bf16 denormals are flushed in sources and results in every mode; f16 denormals are
//! preserved.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use half::bf16;

use super::shapes::{both_levels, long};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::flush32;
use crate::mode::RoundingMode;
use crate::row::{CHUNK, CHUNKS, each};

/// Converts bf16 to f32; denormals become zero.
#[inline(always)]
pub(super) fn widen_bf16(value: bf16) -> f32 {
    flush32(f32::from_bits(u32::from(value.to_bits()) << 16), true)
}

/// The upper half of an f32: bf16 results are truncated, not rounded again. A quiet NaN stays one.
#[inline(always)]
pub(super) fn cut_bf16(value: f32) -> bf16 {
    bf16::from_bits((value.to_bits() >> 16) as u16)
}

/// `a0 * b0 + a1 * b1 + c`; products of these types are exact in f64.
#[inline(always)]
fn dot(a: [f32; 2], b: [f32; 2], c: f32) -> f32 {
    let first = f64::from(a[0]) * f64::from(b[0]);
    let second = f64::from(a[1]) * f64::from(b[1]);
    (first + second + f64::from(c)) as f32
}

#[inline(always)]
fn pair_bf16(pair: [bf16; 2]) -> [f32; 2] {
    [widen_bf16(pair[0]), widen_bf16(pair[1])]
}

/// Dot product of two f16 pairs. `$third` loads the third source, `$store` encodes the sums.
macro_rules! of_f16 {
    ($kind:expr, |$words:ident, $widen:ident| $third:expr, |$sums:ident, $narrow:ident| $bits:expr) => {
        both_levels!([narrow, widen]; [OperandKind::PackedF16, OperandKind::PackedF16, $kind] -> $kind; |mode, out, a, b, c| {
            for chunk in 0..CHUNKS {
                // SAFETY: the contract covers the row of the source.
                let x = unsafe { a.chunk(0, chunk) };
                // SAFETY: as above.
                let y = unsafe { b.chunk(0, chunk) };
                // SAFETY: as above.
                let $words = unsafe { c.chunk(0, chunk) };
                let (x0, x1) = (widen(x), widen(each!(lane => x[lane] >> 16)));
                let (y0, y1) = (widen(y), widen(each!(lane => y[lane] >> 16)));
                let z: [f32; CHUNK] = {
                    let $widen = widen;
                    $third
                };
                let $sums = each!(lane => dot([x0[lane], x1[lane]], [y0[lane], y1[lane]], z[lane]));
                let bits = {
                    let $narrow = narrow;
                    $bits
                };
                // SAFETY: the contract covers the row of the result.
                unsafe { out.set_chunk(0, chunk, bits) };
            }
        })
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let f32_f16 = of_f16!(
        OperandKind::F32,
        |words, _widen| each!(lane => flush32(f32::from_bits(words[lane]), true)),
        |sums, _narrow| each!(lane => flush32(sums[lane], true).to_bits())
    );
    let f32_bf16 = long!(|a: [bf16; 2], b: [bf16; 2], c: f32| -> f32 {
        flush32(dot(pair_bf16(a), pair_bf16(b), flush32(c, true)), true)
    });
    vec![
        ("v_dot2_f32_f16", f32_f16),
        ("v_dot2c_f32_f16", f32_f16.accumulating()),
        ("v_dot2acc_f32_f16", f32_f16.accumulating()),
        ("v_dot2_f32_bf16", f32_bf16),
        ("v_dot2acc_f32_bf16", f32_bf16.accumulating()),
        (
            "v_dot2_f16_f16",
            of_f16!(OperandKind::F16, |words, widen| widen(words), |sums, narrow| narrow(sums, RoundingMode::Nearest)),
        ),
        (
            "v_dot2_bf16_bf16",
            long!(|a: [bf16; 2], b: [bf16; 2], c: bf16| -> bf16 {
                cut_bf16(flush32(dot(pair_bf16(a), pair_bf16(b), widen_bf16(c)), true))
            }),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::super::testing::one;
    use crate::mode::Mode;

    fn pair(low: f32, high: f32) -> u64 {
        u64::from(f16::from_f32_const(low).to_bits()) | u64::from(f16::from_f32_const(high).to_bits()) << 16
    }

    fn pair_bf16(low: f32, high: f32) -> u64 {
        u64::from(bf16::from_f32(low).to_bits()) | u64::from(bf16::from_f32(high).to_bits()) << 16
    }

    #[test]
    fn products_add_up() {
        let ten = u64::from(10f32.to_bits());
        assert_eq!(
            one("v_dot2_f32_f16", Mode::DEFAULT, &[pair(2.0, 3.0), pair(4.0, -5.0), ten]),
            3f32.to_bits().into()
        );
        assert_eq!(
            one("v_dot2acc_f32_bf16", Mode::DEFAULT, &[pair_bf16(2.0, 3.0), pair_bf16(4.0, -5.0), ten]),
            3f32.to_bits().into()
        );
        let ten = u64::from(f16::from_f32_const(10.0).to_bits());
        assert_eq!(one("v_dot2_f16_f16", Mode::DEFAULT, &[pair(2.0, 3.0), pair(4.0, -5.0), ten]), 0x4200);
        let ten = u64::from(bf16::from_f32(10.0).to_bits());
        assert_eq!(one("v_dot2_bf16_bf16", Mode::DEFAULT, &[pair_bf16(2.0, 3.0), pair_bf16(4.0, -5.0), ten]), 0x4040);
    }

    #[test]
    fn large_products_may_cancel() {
        let huge = pair(60000.0, 60000.0);
        assert_eq!(one("v_dot2_f32_f16", Mode::DEFAULT, &[huge, pair(60000.0, -60000.0), 0x3f80_0000]), 0x3f80_0000);
    }

    #[test]
    fn only_f16_denormals_count() {
        assert_eq!(one("v_dot2_f32_f16", Mode::DEFAULT, &[1, pair(1.0, 0.0), 0]), 2f32.powi(-24).to_bits().into());
        assert_eq!(one("v_dot2_f32_f16", Mode::DEFAULT, &[0, 0, 1]), 0);
        assert_eq!(one("v_dot2_f32_bf16", Mode::DEFAULT, &[1, pair_bf16(1e38, 0.0), 0]), 0);
    }
}
