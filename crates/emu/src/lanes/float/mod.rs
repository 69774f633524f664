//! Floating point: f16, bf16, f32 and f64.
//!
//! Invalid operations give the negative quiet NaN, on x86 as on the chips (0xffc00000 in f32). Which NaN of several
//! sources comes through an addition, a multiplication or a fused operation is the host's choice; all others choose as
//! documented.
//!
//! A function of the plain table may be used when each type among its sources and its result rounds to nearest and
//! keeps denormals (f32: [`Mode::plain32`](crate::mode::Mode::plain32); f16 and f64: `plain16_64`); its moded twin
//! honours both.

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

/// All of them.
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
