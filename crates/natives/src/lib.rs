//! Native twins of the GPU kernels: what the CPU driver runs, and what GPU kernels are checked against.
//!
//! A kernel has the name, the bindings and the constants block ([`crate::params`]) of its GPU twin:
//!
//! | name | bindings |
//! |---|---|
//! | `fill` | target |
//! | `copy` | source, target |
//! | `arrange` | source, target |
//! | `unary_*` | x, y |
//! | `binary_*`, `binary_*_broadcast` | a, b, y |
//! | `reduce_sum`, `reduce_max` | x, y |
//! | `softmax` | x, y |
//! | `matmul_f32`, `matmul_f16`, and their `_large` and `_matrix` forms | a, b, c |
//! | `matvec_f32`, `matvec_f16` | a, x, y |
//!
//! The last binding is written. For `unary_*`, `binary_*` and `softmax` it may be the same range as an input; any other
//! overlap is refused. Results do not depend on the number of parts; those of the element-wise kernels, `reduce_*` and
//! `softmax` do not depend on the CPU either.
//!
//! Start reading at `elementwise` for the simple kernels and at `matmul` for the hard one. `unsafe` is about
//! two things only: memory behind bindings (`memory`, `matmul`) and vector instructions (`simd`).

#![expect(unsafe_code, reason = "native kernels work on raw memory and with vector instructions")]

mod arrange;
mod binary;
mod check;
mod each;
mod elementwise;
mod math;
mod matmul;
mod matvec;
mod memory;
pub mod params;
mod parts;
mod reduce;
mod simd;
mod softmax;
mod unary;
mod words;

// One function under both names of a kernel, so that it is compiled once.
use std::ops::{Add as _, Div as _, Mul as _, Sub as _};
use std::sync::Arc;

use half::f16;
use roci_hal::native::NativeKernel;

use binary::Binary;
use each::EachKernel;
use matmul::Matmul;
use matvec::Matvec;
use reduce::{Max, Reduce, Sum};
pub use simd::Level;
use unary::Unary;

/// Makes a kernel for a level.
type Make = fn(Level) -> Arc<dyn NativeKernel>;

/// Every kernel.
#[rustfmt::skip]
static KERNELS: &[(&str, Make)] = &[
    ("fill", |level| Arc::new(words::Fill(level))),
    ("copy", |level| Arc::new(words::Copy(level))),
    ("arrange", |_| Arc::new(EachKernel::<arrange::Arrange>::new())),
    ("unary_neg", |level| Arc::new(Unary::new(level, |x: f32| -x))),
    ("unary_abs", |level| Arc::new(Unary::new(level, f32::abs))),
    ("unary_exp", |level| Arc::new(Unary::new(level, math::exp))),
    ("unary_log", |level| Arc::new(Unary::new(level, math::log))),
    ("unary_sqrt", |level| Arc::new(Unary::new(level, f32::sqrt))),
    ("unary_rsqrt", |level| Arc::new(Unary::new(level, math::rsqrt))),
    ("unary_relu", |level| Arc::new(Unary::new(level, math::relu))),
    ("unary_sigmoid", |level| Arc::new(Unary::new(level, math::sigmoid))),
    ("unary_tanh", |level| Arc::new(Unary::new(level, math::tanh))),
    ("unary_gelu", |level| Arc::new(Unary::new(level, math::gelu))),
    ("unary_silu", |level| Arc::new(Unary::new(level, math::silu))),
    ("unary_sin", |level| Arc::new(Unary::periodic(level, math::sin, f64::sin))),
    ("unary_cos", |level| Arc::new(Unary::periodic(level, math::cos, f64::cos))),
    ("binary_add", |level| Arc::new(Binary::new(level, f32::add, false))),
    ("binary_sub", |level| Arc::new(Binary::new(level, f32::sub, false))),
    ("binary_mul", |level| Arc::new(Binary::new(level, f32::mul, false))),
    ("binary_div", |level| Arc::new(Binary::new(level, f32::div, false))),
    ("binary_min", |level| Arc::new(Binary::new(level, f32::min, false))),
    ("binary_max", |level| Arc::new(Binary::new(level, f32::max, false))),
    ("binary_pow", |level| Arc::new(Binary::new(level, math::pow, false))),
    ("binary_add_broadcast", |level| Arc::new(Binary::new(level, f32::add, true))),
    ("binary_sub_broadcast", |level| Arc::new(Binary::new(level, f32::sub, true))),
    ("binary_mul_broadcast", |level| Arc::new(Binary::new(level, f32::mul, true))),
    ("binary_div_broadcast", |level| Arc::new(Binary::new(level, f32::div, true))),
    ("binary_min_broadcast", |level| Arc::new(Binary::new(level, f32::min, true))),
    ("binary_max_broadcast", |level| Arc::new(Binary::new(level, f32::max, true))),
    ("binary_pow_broadcast", |level| Arc::new(Binary::new(level, math::pow, true))),
    ("reduce_sum", |level| Arc::new(Reduce::new(level, Sum))),
    ("reduce_max", |level| Arc::new(Reduce::new(level, Max))),
    ("softmax", |level| Arc::new(softmax::Softmax(level))),
    ("matmul_f32", |level| Arc::new(Matmul::<f32>::new(level))),
    ("matmul_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matmul_large_f32", |level| Arc::new(Matmul::<f32>::new(level))),
    ("matmul_large_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matmul_matrix_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matvec_f32", |level| Arc::new(Matvec::<f32>::new(level))),
    ("matvec_f16", |level| Arc::new(Matvec::<f16>::new(level))),
];

/// The kernel of this name, at the best that this CPU can do.
pub fn find(name: &str) -> Option<Arc<dyn NativeKernel>> {
    find_for(name, Level::best())
}

/// The kernel of this name, held to one instruction set: to test or measure what other CPUs would run.
pub fn find_for(name: &str, level: Level) -> Option<Arc<dyn NativeKernel>> {
    KERNELS.iter().find(|(known, _)| *known == name).map(|(_, make)| make(level))
}

/// The names of all kernels.
pub fn names() -> impl Iterator<Item = &'static str> {
    KERNELS.iter().map(|(name, _)| *name)
}
