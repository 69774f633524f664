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
//! | `chain` | a, b, c, y |
//! | `narrow_f16`, `widen_f16` | x, y |
//! | `random` | y |
//! | `take`, `take_elements`, `take_nd` | x, index, y |
//! | `scatter_elements`, `scatter_nd` | index, updates, y |
//! | `resample` | x, index, weight, y |
//! | `reduce_*` | x, y |
//! | `arg_max`, `arg_min` | x, y |
//! | `scan_sum`, `scan_prod` | x, y |
//! | `softmax`, `log_softmax` | x, y |
//! | `normalize_rows` | x, y |
//! | `moments` | x, mean, inverse |
//! | `top_k` | x, values, indices |
//! | `matmul_f32`, `matmul_f16`, and their `_large` and `_matrix` forms | a, b, c |
//! | `matvec_f32`, `matvec_f16` | a, x, y |
//! | `linear_f32`, `linear_f16`, whose b is 16-bit floats, and their `_large` forms | a, b, bias, y |
//! | `linear_row_f32`, `linear_row_f16`, whose a is 16-bit floats | a, x, bias, y |
//! | `attention` | q, k, v, mask, y |
//! | `conv`, `conv_tiled`, `conv_partial`, `conv_transpose` | x, w, bias, y |
//! | `conv_tiled_f16`, `conv_partial_f16`, whose w is 16-bit floats | x, w, bias, y |
//! | `conv_join` | x, bias, y |
//! | `pool_max`, `pool_max_indices`, `pool_average`, `pool_lp` | x, y |
//! | `lm_matvec_*`, `lm_dot_*` | codes, scales, x, bias, experts, norm, y |
//! | `lm_matvec4_*`, `lm_matmul_*`, `lm_matrix_*` | codes, scales, x, bias, y |
//! | `lm_norm` | x, weight, inputs, y |
//! | `lm_heads_*` | inputs, norms, rotations, qkv, keys, values |
//! | `lm_attention_*`, `lm_flash_*` | inputs, q, keys, values, y |
//! | `lm_attend_*` | inputs, norms, rotations, qkv, keys, values, y |
//! | `lm_join`, `lm_gate`, `lm_half` | x, y |
//! | `lm_sum_norm` | parts, weight, x, y |
//! | `lm_route` | x, chosen, shares |
//! | `lm_mix` | x, shares, y |
//!
//! Some are the CPU's alone, since they are about its caches and vectors; the runtime puts them in the place of others:
//!
//! | name | bindings |
//! |---|---|
//! | `matmul_packed` | x, packed weights and bias, y |
//! | `conv_blocked` | x, packed weights and bias, y |
//! | `pool_blocked_max`, `pool_blocked_average` | x, y |
//! | `reorder` | x, y |
//! | `lm_quantize` | x, y |
//! | `lm_product` | packed weights, x, bias, y |
//! | `lm_rows` | packed weights, index, y |
//!
//! The last binding is written, of `moments`, `top_k` and `lm_route` the last two, and of `lm_heads_*` and `lm_attend_*` the last three. For `unary_*`, `binary_*`, `chain`,
//! `softmax`, `log_softmax`, `normalize_rows` and `scan_*` it may be the same range as an input; any other overlap is
//! refused. Results do not depend on the number of parts; those of all but the matrix products do not depend on the CPU
//! either, save the rarer functions of `chain`, which are the C library's.
//!
//! Start reading at `elementwise` for the simple kernels, at `matmul` for the hard one, at `blocked` for pictures, and at
//! `lm` for language models. `unsafe` is about two things only: memory behind bindings (`memory`, `matmul`, `lm`) and vector
//! instructions (`simd`).

#![expect(unsafe_code, reason = "native kernels work on raw memory and with vector instructions")]

mod arg_reduce;
mod arrange;
mod attention;
mod binary;
mod blocked;
mod chain;
mod check;
mod conv;
mod convert;
mod each;
mod elementwise;
mod language;
mod linear;
mod lines;
pub mod lm;
mod math;
mod matmul;
mod matvec;
mod memory;
mod normalize;
mod numbers;
mod operand;
pub mod params;
mod parts;
mod pool;
mod random;
mod reduce;
mod reduce_words;
mod resample;
mod scan;
mod scatter;
mod simd;
mod single;
mod softmax;
mod take;
mod top_k;
mod unary;
mod window;
mod words;

// One function under both names of a kernel, so that it is compiled once.
use std::ops::{Add as _, Div as _, Mul as _, Sub as _};
use std::sync::Arc;

use half::f16;
use roci_hal::native::NativeKernel;

use arg_reduce::ArgReduce;
use attention::Attention;
use binary::Binary;
pub use blocked::pack_blocked;
use blocked::{Average, ConvBlocked, Max as BlockedMax, PoolBlocked, Reorder};
use conv::{Conv, Transposed};
use each::EachKernel;
use language::{
    Attend, Attention as PagedAttention, BYTES, Embed, Gate, HALVES, Half, Heads, Join, Linear, Mix, Norm, Route,
    SumNorm, TILES, VECTOR, WorkKernel,
};
use lines::LinesKernel;
pub use matmul::pack_columns;
use matmul::{Matmul, MatmulPacked};
use matvec::Matvec;
use pool::Pool;
use reduce::{Max, Min, Prod, Reduce, Sum};
use reduce_words::ReduceWords;
use scan::Scan;
pub use simd::Level;
use softmax::Softmax;
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
    ("chain", |level| Arc::new(chain::Chain(level))),
    ("narrow_f16", |_| Arc::new(EachKernel::<convert::Narrow>::new())),
    ("widen_f16", |_| Arc::new(EachKernel::<convert::Widen>::new())),
    ("random", |_| Arc::new(EachKernel::<random::Random>::new())),
    ("reduce_sum", |level| Arc::new(Reduce::new(level, Sum))),
    ("reduce_max", |level| Arc::new(Reduce::new(level, Max))),
    ("reduce_min", |level| Arc::new(Reduce::new(level, Min))),
    ("reduce_prod", |level| Arc::new(Reduce::new(level, Prod))),
    ("reduce_sum_i32", |_| Arc::new(EachKernel::<ReduceWords<reduce_words::Sum>>::new())),
    ("reduce_max_i32", |_| Arc::new(EachKernel::<ReduceWords<reduce_words::Max>>::new())),
    ("reduce_min_i32", |_| Arc::new(EachKernel::<ReduceWords<reduce_words::Min>>::new())),
    ("reduce_prod_i32", |_| Arc::new(EachKernel::<ReduceWords<reduce_words::Prod>>::new())),
    ("reduce_max_u32", |_| Arc::new(EachKernel::<ReduceWords<reduce_words::MaxUnsigned>>::new())),
    ("reduce_min_u32", |_| Arc::new(EachKernel::<ReduceWords<reduce_words::MinUnsigned>>::new())),
    ("softmax", |level| Arc::new(Softmax::new(level, false))),
    ("log_softmax", |level| Arc::new(Softmax::new(level, true))),
    ("arg_max", |_| Arc::new(EachKernel::<ArgReduce<false>>::new())),
    ("arg_min", |_| Arc::new(EachKernel::<ArgReduce<true>>::new())),
    ("scan_sum", |level| Arc::new(LinesKernel::<Scan<scan::Sum>>::new(level))),
    ("scan_prod", |level| Arc::new(LinesKernel::<Scan<scan::Prod>>::new(level))),
    ("normalize_rows", |level| Arc::new(LinesKernel::<normalize::Normalize>::new(level))),
    ("moments", |level| Arc::new(LinesKernel::<normalize::Moments>::new(level))),
    ("top_k", |level| Arc::new(LinesKernel::<top_k::TopK>::new(level))),
    ("take", |_| Arc::new(EachKernel::<take::Take>::new())),
    ("take_elements", |_| Arc::new(EachKernel::<take::TakeElements>::new())),
    ("take_nd", |_| Arc::new(EachKernel::<take::TakeNd>::new())),
    ("scatter_elements", |level| Arc::new(LinesKernel::<scatter::ScatterElements>::new(level))),
    ("scatter_nd", |level| Arc::new(LinesKernel::<scatter::ScatterNd>::new(level))),
    ("resample", |_| Arc::new(EachKernel::<resample::Resample>::new())),
    ("matmul_f32", |level| Arc::new(Matmul::<f32>::new(level))),
    ("matmul_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matmul_large_f32", |level| Arc::new(Matmul::<f32>::new(level))),
    ("matmul_large_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matmul_matrix_f16", |level| Arc::new(Matmul::<f16>::new(level))),
    ("matvec_f32", |level| Arc::new(Matvec::<f32>::new(level))),
    ("matvec_f16", |level| Arc::new(Matvec::<f16>::new(level))),
    ("linear_f32", |_| Arc::new(EachKernel::<linear::Linear<false>>::new())),
    ("linear_f16", |_| Arc::new(EachKernel::<linear::Linear<true>>::new())),
    ("linear_large_f32", |_| Arc::new(EachKernel::<linear::Linear<false>>::new())),
    ("linear_large_f16", |_| Arc::new(EachKernel::<linear::Linear<true>>::new())),
    ("linear_row_f32", |_| Arc::new(EachKernel::<linear::Row<false>>::new())),
    ("linear_row_f16", |_| Arc::new(EachKernel::<linear::Row<true>>::new())),
    ("attention", |level| Arc::new(Attention(level))),
    ("conv", |level| Arc::new(Conv::new(level))),
    ("conv_tiled", |level| Arc::new(Conv::flat(level))),
    ("conv_partial", |_| Arc::new(EachKernel::<conv::Plain<true, false>>::new())),
    ("conv_tiled_f16", |_| Arc::new(EachKernel::<conv::Plain<false, true>>::new())),
    ("conv_partial_f16", |_| Arc::new(EachKernel::<conv::Plain<true, true>>::new())),
    ("conv_join", |_| Arc::new(EachKernel::<conv::Join>::new())),
    ("conv_transpose", |_| Arc::new(EachKernel::<Transposed>::new())),
    ("pool_max", |_| Arc::new(EachKernel::<Pool<pool::Max>>::new())),
    ("pool_max_indices", |_| Arc::new(EachKernel::<Pool<pool::MaxIndex>>::new())),
    ("pool_average", |_| Arc::new(EachKernel::<Pool<pool::Average>>::new())),
    ("pool_lp", |_| Arc::new(EachKernel::<Pool<pool::Lp>>::new())),
    ("lm_matvec_f32", |level| Arc::new(WorkKernel::<Linear<0, VECTOR>>::new(level))),
    ("lm_matvec_f16", |level| Arc::new(WorkKernel::<Linear<1, VECTOR>>::new(level))),
    ("lm_matvec_bf16", |level| Arc::new(WorkKernel::<Linear<2, VECTOR>>::new(level))),
    ("lm_matvec_q4", |level| Arc::new(WorkKernel::<Linear<3, VECTOR>>::new(level))),
    ("lm_matvec_q4_pairs", |level| Arc::new(WorkKernel::<Linear<4, VECTOR>>::new(level))),
    ("lm_matvec_q4_halves", |level| Arc::new(WorkKernel::<Linear<5, VECTOR>>::new(level))),
    ("lm_matvec_q4_curve", |level| Arc::new(WorkKernel::<Linear<6, VECTOR>>::new(level))),
    ("lm_matvec_q4_float", |level| Arc::new(WorkKernel::<Linear<7, VECTOR>>::new(level))),
    ("lm_matvec_q8", |level| Arc::new(WorkKernel::<Linear<8, VECTOR>>::new(level))),
    ("lm_matvec_q8_halves", |level| Arc::new(WorkKernel::<Linear<9, VECTOR>>::new(level))),
    ("lm_matvec_q4_super", |level| Arc::new(WorkKernel::<Linear<10, VECTOR>>::new(level))),
    ("lm_matvec_q8_wide", |level| Arc::new(WorkKernel::<Linear<11, VECTOR>>::new(level))),
    ("lm_dot_q4", |level| Arc::new(WorkKernel::<Linear<3, BYTES>>::new(level))),
    ("lm_dot_q4_pairs", |level| Arc::new(WorkKernel::<Linear<4, BYTES>>::new(level))),
    ("lm_dot_q4_halves", |level| Arc::new(WorkKernel::<Linear<5, BYTES>>::new(level))),
    ("lm_dot_q8", |level| Arc::new(WorkKernel::<Linear<8, BYTES>>::new(level))),
    ("lm_dot_q8_halves", |level| Arc::new(WorkKernel::<Linear<9, BYTES>>::new(level))),
    ("lm_dot_q4_super", |level| Arc::new(WorkKernel::<Linear<10, BYTES>>::new(level))),
    ("lm_dot_q8_wide", |level| Arc::new(WorkKernel::<Linear<11, BYTES>>::new(level))),
    ("lm_matvec4_f32", |level| Arc::new(WorkKernel::<Linear<0, TILES>>::new(level))),
    ("lm_matvec4_f16", |level| Arc::new(WorkKernel::<Linear<1, TILES>>::new(level))),
    ("lm_matvec4_bf16", |level| Arc::new(WorkKernel::<Linear<2, TILES>>::new(level))),
    ("lm_matvec4_q4", |level| Arc::new(WorkKernel::<Linear<3, TILES>>::new(level))),
    ("lm_matvec4_q4_pairs", |level| Arc::new(WorkKernel::<Linear<4, TILES>>::new(level))),
    ("lm_matvec4_q4_halves", |level| Arc::new(WorkKernel::<Linear<5, TILES>>::new(level))),
    ("lm_matvec4_q4_curve", |level| Arc::new(WorkKernel::<Linear<6, TILES>>::new(level))),
    ("lm_matvec4_q4_float", |level| Arc::new(WorkKernel::<Linear<7, TILES>>::new(level))),
    ("lm_matvec4_q8", |level| Arc::new(WorkKernel::<Linear<8, TILES>>::new(level))),
    ("lm_matvec4_q8_halves", |level| Arc::new(WorkKernel::<Linear<9, TILES>>::new(level))),
    ("lm_matvec4_q4_super", |level| Arc::new(WorkKernel::<Linear<10, TILES>>::new(level))),
    ("lm_matvec4_q8_wide", |level| Arc::new(WorkKernel::<Linear<11, TILES>>::new(level))),
    ("lm_matmul_f32", |level| Arc::new(WorkKernel::<Linear<0, TILES>>::new(level))),
    ("lm_matmul_f16", |level| Arc::new(WorkKernel::<Linear<1, TILES>>::new(level))),
    ("lm_matmul_bf16", |level| Arc::new(WorkKernel::<Linear<2, TILES>>::new(level))),
    ("lm_matmul_q4", |level| Arc::new(WorkKernel::<Linear<3, TILES>>::new(level))),
    ("lm_matmul_q4_pairs", |level| Arc::new(WorkKernel::<Linear<4, TILES>>::new(level))),
    ("lm_matmul_q4_halves", |level| Arc::new(WorkKernel::<Linear<5, TILES>>::new(level))),
    ("lm_matmul_q4_curve", |level| Arc::new(WorkKernel::<Linear<6, TILES>>::new(level))),
    ("lm_matmul_q4_float", |level| Arc::new(WorkKernel::<Linear<7, TILES>>::new(level))),
    ("lm_matmul_q8", |level| Arc::new(WorkKernel::<Linear<8, TILES>>::new(level))),
    ("lm_matmul_q8_halves", |level| Arc::new(WorkKernel::<Linear<9, TILES>>::new(level))),
    ("lm_matmul_q4_super", |level| Arc::new(WorkKernel::<Linear<10, TILES>>::new(level))),
    ("lm_matmul_q8_wide", |level| Arc::new(WorkKernel::<Linear<11, TILES>>::new(level))),
    ("lm_matrix_f16", |level| Arc::new(WorkKernel::<Linear<1, HALVES>>::new(level))),
    ("lm_matrix_q4", |level| Arc::new(WorkKernel::<Linear<3, HALVES>>::new(level))),
    ("lm_matrix_q4_pairs", |level| Arc::new(WorkKernel::<Linear<4, HALVES>>::new(level))),
    ("lm_matrix_q4_halves", |level| Arc::new(WorkKernel::<Linear<5, HALVES>>::new(level))),
    ("lm_matrix_q8", |level| Arc::new(WorkKernel::<Linear<8, HALVES>>::new(level))),
    ("lm_matrix_q8_halves", |level| Arc::new(WorkKernel::<Linear<9, HALVES>>::new(level))),
    ("lm_matrix_q4_super", |level| Arc::new(WorkKernel::<Linear<10, HALVES>>::new(level))),
    ("lm_matrix_q8_wide", |level| Arc::new(WorkKernel::<Linear<11, HALVES>>::new(level))),
    ("lm_embed_f32", |level| Arc::new(WorkKernel::<Embed<0>>::new(level))),
    ("lm_embed_f16", |level| Arc::new(WorkKernel::<Embed<1>>::new(level))),
    ("lm_embed_bf16", |level| Arc::new(WorkKernel::<Embed<2>>::new(level))),
    ("lm_embed_q4", |level| Arc::new(WorkKernel::<Embed<3>>::new(level))),
    ("lm_embed_q8", |level| Arc::new(WorkKernel::<Embed<8>>::new(level))),
    ("lm_half", |level| Arc::new(WorkKernel::<Half>::new(level))),
    ("lm_flash_64", |level| Arc::new(WorkKernel::<PagedAttention<false>>::new(level))),
    ("lm_flash_128", |level| Arc::new(WorkKernel::<PagedAttention<false>>::new(level))),
    ("lm_attend_f16", |level| Arc::new(WorkKernel::<Attend<false>>::new(level))),
    ("lm_attend_q8", |level| Arc::new(WorkKernel::<Attend<true>>::new(level))),
    ("lm_sum_norm", |level| Arc::new(WorkKernel::<SumNorm>::new(level))),
    ("lm_norm", |level| Arc::new(WorkKernel::<Norm>::new(level))),
    ("lm_heads_f16", |level| Arc::new(WorkKernel::<Heads<false>>::new(level))),
    ("lm_heads_q8", |level| Arc::new(WorkKernel::<Heads<true>>::new(level))),
    ("lm_attention_f16", |level| Arc::new(WorkKernel::<PagedAttention<false>>::new(level))),
    ("lm_attention_q8", |level| Arc::new(WorkKernel::<PagedAttention<true>>::new(level))),
    ("lm_join", |level| Arc::new(WorkKernel::<Join>::new(level))),
    ("lm_gate", |level| Arc::new(WorkKernel::<Gate>::new(level))),
    ("lm_route", |level| Arc::new(WorkKernel::<Route>::new(level))),
    ("lm_mix", |level| Arc::new(WorkKernel::<Mix>::new(level))),
];

/// Those that only the CPU has, with the size of their constants: their order of elements and their packed weights suit its
/// vectors.
#[rustfmt::skip]
static HOST: &[(&str, usize, Make)] = &[
    ("matmul_packed", size_of::<params::MatmulPacked>(), |level| Arc::new(MatmulPacked(level))),
    ("conv_blocked", size_of::<params::ConvBlocked>(), |level| Arc::new(ConvBlocked(level))),
    ("pool_blocked_max", size_of::<params::PoolBlocked>(), |level| Arc::new(PoolBlocked::<BlockedMax>::new(level))),
    ("pool_blocked_average", size_of::<params::PoolBlocked>(), |level| Arc::new(PoolBlocked::<Average>::new(level))),
    ("reorder", size_of::<params::Reorder>(), |_| Arc::new(Reorder)),
    ("lm_quantize", size_of::<params::LmQuantize>(), |level| Arc::new(lm::Quantize(level))),
    ("lm_product", size_of::<params::LmProduct>(), |level| Arc::new(lm::Product(level))),
    ("lm_rows", size_of::<params::LmRows>(), |_| Arc::new(lm::Rows)),
];

/// The kernel of this name, at the best that this CPU can do.
pub fn find(name: &str) -> Option<Arc<dyn NativeKernel>> {
    find_for(name, Level::best())
}

/// The kernel of this name, held to one instruction set: to test or measure what other CPUs would run.
pub fn find_for(name: &str, level: Level) -> Option<Arc<dyn NativeKernel>> {
    KERNELS.iter().find(|(known, _)| *known == name).map(|(_, make)| make(level))
}

/// The kernel of this name among those that only the CPU has, held to one instruction set; and the size of its constants.
pub fn find_host(name: &str, level: Level) -> Option<(Arc<dyn NativeKernel>, usize)> {
    HOST.iter().find(|(known, ..)| *known == name).map(|(_, constants, make)| (make(level), *constants))
}

/// The names of all kernels that GPUs have too.
pub fn names() -> impl Iterator<Item = &'static str> {
    KERNELS.iter().map(|(name, _)| *name)
}
