//! Floating point: f16, bf16, f32 and f64.
//!
//! Invalid operations give the negative quiet NaN, on x86 as on AMD GPUs (0xffc00000 in f32). If
//! several sources of an addition, multiplication or fused multiply-add are NaN, the host chooses
//! which one propagates; all other operations choose as documented.
//!
//! The default function of an operation may be used if each type among its sources and its result
//! rounds to nearest and preserves denormals (f32: [`Mode::plain32`](crate::mode::Mode::plain32);
//! f16 and f64: `plain16_64`). The `special_mode` function honors both modes.

mod arithmetic;
mod compare;
mod convert;
mod cube;
mod divide;
mod dot;
mod f16c;
mod packed;
mod parts;
mod polynomials;
pub(crate) mod select;
mod shapes;
mod transcendental;
mod trig_preop;
mod wmma;

use super::LaneOp;

/// All floating-point tables.
pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    [
        arithmetic::table(),
        compare::table(),
        convert::table(),
        cube::table(),
        divide::table(),
        dot::table(),
        packed::table(),
        parts::table(),
        select::table(),
        transcendental::table(),
        trig_preop::table(),
        wmma::table(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod testing;
