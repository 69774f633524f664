//! Packed f16: each half is computed like the scalar instruction.

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use half::f16;

use super::arithmetic::{half_operation, odd_add};
use super::select::half as select;
use super::shapes::{either, halves, long};
use crate::lanes::LaneOp;
use crate::lanes::macros::lane;
use crate::lanes::rounding::{flush16, odd_sum32};
use crate::mode::Mode;

/// Applies a function to both halves.
macro_rules! both {
    ($by:ident($mode:ident), $a:ident, $b:ident) => {
        [$by($mode, $a[0], $b[0]), $by($mode, $a[1], $b[1])]
    };
}

#[inline(always)]
fn select_min(mode: Mode, a: f16, b: f16) -> f16 {
    select::min(mode.ieee(), a, b)
}

#[inline(always)]
fn select_max(mode: Mode, a: f16, b: f16) -> f16 {
    select::max(mode.ieee(), a, b)
}

/// Applies a function to both halves, with denormal sources flushed if the mode says so.
macro_rules! selecting {
    ($by:ident) => {
        long!(mode; |mode, a: [f16; 2], b: [f16; 2]| -> [f16; 2] { both!($by(mode), a, b) }).with_modes(either!(
            |mode: Mode| mode.flush_in16_64();
            |mode, a: [f16; 2], b: [f16; 2]| -> [f16; 2] {
                let (a, b) = ([flush16(a[0], true), flush16(a[1], true)], [flush16(b[0], true), flush16(b[1], true)]);
                both!($by(mode), a, b)
            } else {
                both!($by(mode), a, b)
            }))
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let fma = half_operation!(fma PackedF16);
    vec![
        ("v_pk_add_f16", half_operation!(add PackedF16)),
        ("v_pk_mul_f16", half_operation!(mul PackedF16)),
        ("v_pk_fma_f16", fma),
        ("v_pk_fmac_f16", fma.accumulating()),
        ("v_pk_min_f16", selecting!(select_min)),
        ("v_pk_max_f16", selecting!(select_max)),
    ]
}
