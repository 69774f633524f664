#![expect(unsafe_code, reason = "a function compiled for AVX2 is called after AVX2 is detected")]
//! The quantizers for the instructions of this CPU. All give the same bytes: the compiler fuses no
//! multiplication with an addition, and vector instructions round as scalar ones do.

use super::Output;
use crate::Type;

/// Quantizes to a block type.
pub(super) fn run(kind: Type, values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: this CPU has AVX2, the only condition of the function.
        return unsafe { avx2(kind, values, weights, out) };
    }
    super::blocks(kind, values, weights, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(kind: Type, values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    super::blocks(kind, values, weights, out);
}
