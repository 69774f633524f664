//! Native twins of the GPU kernels: the CPU driver runs them, and GPU kernels are tested against
//! them.
//!
//! A kernel has the name, the bindings and the constants block of its GPU twin, which its family in
//! [`roci_families`] defines. Each file lists its kernels in `KERNELS`.
//!
//! These exist only for the CPU, because their layouts depend on its caches and vectors. The
//! runtime substitutes them for other kernels:
//!
//! | name | bindings |
//! |---|---|
//! | `matmul_packed` | x, packed weights and bias, y |
//! | `conv_blocked` | x, packed weights and bias, y |
//! | `pool_blocked_max`, `pool_blocked_average` | x, y |
//! | `reorder` | x, y |
//! | `lm_quantize` | x, y |
//! | `lm_matmul_packed` | packed weights, x, bias, y |
//! | `lm_experts_packed` | packed weights, x, experts, bias, scales, y |
//! | `lm_embed_packed` | packed weights, index, y |
//! | `lm_read_ahead` | weights in a mapped file |
//!
//! Kernels write their last binding; `moments`, `top_k` and `lm_moe_top_k` write the last two,
//! `lm_rope_kv_store_*` and `lm_decode_attention_*` the last three, and `lm_read_ahead` none. For
//! `unary_*`, `binary_*`, `elementwise_program`, `softmax`, `log_softmax`, `normalize_rows` and
//! `scan_*`, the output may be the same range as an input; other overlaps are rejected. Results do
//! not depend on the number of parts. Except for matrix products and the rarer functions of
//! `elementwise_program`, which are the C library's, they do not depend on the CPU either.
//!
//! Start reading at `elementwise` for the simple kernels, at `matmul` for the matrix product, at
//! `blocked` for images, and at `lm_cpu` and `reference` for language models. `unsafe` is only for
//! memory behind bindings (`memory`, `matmul`, `lm_cpu`) and for vector loads and stores;
//! instruction sets and inner loops are in [`roci_simd`].

#![expect(unsafe_code, reason = "native kernels work on raw memory and with vector instructions")]

mod arg_reduce;
mod attention;
mod binary;
mod blocked;
mod case;
mod cast;
mod check;
mod conv;
mod element_type;
mod elementwise;
mod elementwise_program;
mod fast_math;
mod gather;
mod linear;
pub mod lm_cpu;
mod math;
mod matmul;
mod matvec;
mod memory;
mod normalize;
mod operand;
mod partition;
mod per_element;
mod per_row;
mod pool;
mod random;
mod reduce;
mod reduce_words;
mod reference;
mod resample;
mod scan;
mod scatter;
mod softmax;
mod strided_copy;
mod top_k;
mod unary;
mod window;
mod words;

use std::sync::Arc;

use roci_families::WeightFormat;
use roci_hal::native::NativeKernel;

pub use blocked::pack_blocked;
pub use case::run_case;
pub use roci_simd::Level;
pub use roci_simd::gemm::pack_columns;

/// Creates a kernel for a level.
type KernelFactory = fn(Level) -> Arc<dyn NativeKernel>;

/// The kernels that GPUs have too, except those of language models.
static KERNELS: &[&[(&str, KernelFactory)]] = &[
    words::KERNELS,
    strided_copy::KERNELS,
    unary::KERNELS,
    binary::KERNELS,
    elementwise_program::KERNELS,
    cast::KERNELS,
    random::KERNELS,
    reduce::KERNELS,
    reduce_words::KERNELS,
    softmax::KERNELS,
    arg_reduce::KERNELS,
    scan::KERNELS,
    normalize::KERNELS,
    top_k::KERNELS,
    gather::KERNELS,
    scatter::KERNELS,
    resample::KERNELS,
    matmul::KERNELS,
    matvec::KERNELS,
    linear::KERNELS,
    attention::KERNELS,
    conv::KERNELS,
    pool::KERNELS,
];

/// Kernels that only the CPU has, with the sizes of their constants: their layouts depend on its
/// vectors.
static NATIVE_ONLY_KERNELS: &[&[(&str, usize, KernelFactory)]] = &[
    matmul::packed::NATIVE_ONLY_KERNELS,
    blocked::conv::NATIVE_ONLY_KERNELS,
    blocked::pool::NATIVE_ONLY_KERNELS,
    blocked::reorder::NATIVE_ONLY_KERNELS,
    lm_cpu::quantize::NATIVE_ONLY_KERNELS,
    lm_cpu::matmul_packed::NATIVE_ONLY_KERNELS,
    lm_cpu::experts_packed::NATIVE_ONLY_KERNELS,
    lm_cpu::embed_packed::NATIVE_ONLY_KERNELS,
    lm_cpu::read_ahead::NATIVE_ONLY_KERNELS,
];

/// All kernels that GPUs have too.
fn kernels() -> impl Iterator<Item = &'static (&'static str, KernelFactory)> {
    KERNELS.iter().chain(reference::KERNELS).copied().flatten()
}

/// The weights of a group of a matrix, from its codes and its scales.
pub fn dequantize_group(format: WeightFormat, codes: &[u32], scales: &[u32], group: usize) -> [f32; 32] {
    let mut weights = [0.0; 32];
    reference::dequantize_group(format, codes, scales, group, &mut weights);
    weights
}

/// The kernel of this name, at the best level of this CPU.
pub fn find(name: &str) -> Option<Arc<dyn NativeKernel>> {
    find_for(name, Level::best())
}

/// The kernel of this name at one level, to test or measure what other CPUs run.
pub fn find_for(name: &str, level: Level) -> Option<Arc<dyn NativeKernel>> {
    kernels().find(|(known, _)| *known == name).map(|(_, make)| make(level))
}

/// The kernel of this name among those that only the CPU has, at one level, and the size of its
/// constants.
pub fn find_native_only(name: &str, level: Level) -> Option<(Arc<dyn NativeKernel>, usize)> {
    let mut kernels = NATIVE_ONLY_KERNELS.iter().copied().flatten();
    kernels.find(|(known, ..)| *known == name).map(|(_, constants, make)| (make(level), *constants))
}

/// The names of all kernels that GPUs have too.
pub fn names() -> impl Iterator<Item = &'static str> {
    kernels().map(|(name, _)| *name)
}
