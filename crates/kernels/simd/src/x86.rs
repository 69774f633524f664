//! AVX2 and AVX-512.
//!
//! Most methods are one instruction. Trait methods cannot have target features, so they are
//! `#[inline(always)]` functions without them. They are inlined into the function of
//! [`Level::run`](crate::Level::run), which has them.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

use half::f16;

use crate::level::Task;
use crate::vector::{CacheLine, Simd};

/// Token that proves that the CPU has AVX2, FMA and F16C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

/// Token that proves that the CPU has AVX-512 F, BW, DQ and VL, and all that [`Avx2`] requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx2 {
    /// The token, if this CPU and operating system support it.
    pub(crate) fn detect() -> Option<Avx2> {
        let found =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c");
        found.then_some(Avx2(()))
    }

    /// Runs `task` compiled for AVX2.
    #[inline]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma,f16c")]
        fn inside<T: Task>(token: Avx2, task: T) -> T::Output {
            task.run(token)
        }
        // SAFETY: the token exists only where `detect` found these features.
        unsafe { inside(self, task) }
    }
}

impl Avx512 {
    /// The AVX2 token: every CPU with AVX-512 has AVX2.
    pub(crate) fn avx2(self) -> Avx2 {
        Avx2(())
    }

    /// The token, if this CPU and operating system support it.
    pub(crate) fn detect() -> Option<Avx512> {
        let found = Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        found.then_some(Avx512(()))
    }

    /// Runs `task` compiled for AVX-512.
    #[inline]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
        fn inside<T: Task>(token: Avx512, task: T) -> T::Output {
            task.run(token)
        }
        // SAFETY: the token exists only where `detect` found these features.
        unsafe { inside(self, task) }
    }
}

impl Simd for Avx2 {
    type Vector = __m256;
    const LANES: usize = 8;
    const TILE_ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        // SAFETY: the token proves AVX.
        unsafe { _mm256_set1_ps(value) }
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves AVX.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the token proves FMA.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves AVX.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves AVX.
        unsafe { _mm256_min_ps(a, b) }
    }

    #[inline(always)]
    fn evens(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the token proves AVX.
        let mixed = unsafe { _mm256_shuffle_ps::<0b10_00_10_00>(a, b) };
        // SAFETY: both are 32 bytes of plain data.
        let pairs = unsafe { std::mem::transmute::<__m256, __m256d>(mixed) };
        // The pairs are in the order a, b, a, b.
        //
        // SAFETY: the token proves AVX2.
        let sorted = unsafe { _mm256_permute4x64_pd::<0b11_01_10_00>(pairs) };
        // SAFETY: as above.
        unsafe { std::mem::transmute::<__m256d, __m256>(sorted) }
    }

    #[inline(always)]
    fn sum(self, v: __m256) -> f32 {
        // SAFETY: `__m256` is 32 bytes of plain data, as is the array.
        let lanes: [f32; 8] = unsafe { std::mem::transmute(v) };
        let [a, b, c, d, e, f, g, h] = lanes;
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> __m256 {
        // SAFETY: the caller guarantees the address, the token proves AVX; an unaligned load.
        unsafe { _mm256_loadu_ps(source) }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut f32, v: __m256) {
        // SAFETY: the caller guarantees the address, the token proves AVX; an unaligned store.
        unsafe { _mm256_storeu_ps(target, v) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const f16) -> __m256 {
        // SAFETY: the caller guarantees 16 readable bytes; an unaligned load.
        let bits = unsafe { _mm_loadu_si128(source.cast()) };
        // SAFETY: the token proves F16C.
        unsafe { _mm256_cvtph_ps(bits) }
    }

    #[inline(always)]
    unsafe fn store_f16(self, target: *mut f16, v: __m256) {
        // SAFETY: the token proves F16C.
        let bits = unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v) };
        // SAFETY: the caller guarantees 16 writable bytes; an unaligned store.
        unsafe { _mm_storeu_si128(target.cast(), bits) }
    }

    #[inline(always)]
    unsafe fn stream(self, target: *mut CacheLine, line: CacheLine) {
        // SAFETY: both are 64 bytes of plain data.
        let halves: [__m256i; 2] = unsafe { std::mem::transmute(line) };
        let target = target.cast::<__m256i>();
        // SAFETY: the caller guarantees an aligned line; this is its first half.
        unsafe { _mm256_stream_si256(target, halves[0]) };
        // SAFETY: as above; this is its second half.
        unsafe { _mm256_stream_si256(target.wrapping_add(1), halves[1]) };
    }

    #[inline(always)]
    fn fence(self) {
        fence();
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        prefetch(address);
    }
}

impl Simd for Avx512 {
    type Vector = __m512;
    const LANES: usize = 16;
    const TILE_ROWS: usize = 9;

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn evens(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        let places = unsafe { _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) };
        // SAFETY: as above.
        unsafe { _mm512_permutex2var_ps(a, places, b) }
    }

    #[inline(always)]
    fn sum(self, v: __m512) -> f32 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_reduce_add_ps(v) }
    }

    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> __m512 {
        // SAFETY: the caller guarantees the address, the token proves AVX-512; an unaligned load.
        unsafe { _mm512_loadu_ps(source) }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut f32, v: __m512) {
        // SAFETY: the caller guarantees the address, the token proves AVX-512; an unaligned store.
        unsafe { _mm512_storeu_ps(target, v) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const f16) -> __m512 {
        // SAFETY: the caller guarantees 32 readable bytes; an unaligned load.
        let bits = unsafe { _mm256_loadu_si256(source.cast()) };
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_cvtph_ps(bits) }
    }

    #[inline(always)]
    unsafe fn store_f16(self, target: *mut f16, v: __m512) {
        // SAFETY: the token proves AVX-512.
        let bits = unsafe { _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v) };
        // SAFETY: the caller guarantees 32 writable bytes; an unaligned store.
        unsafe { _mm256_storeu_si256(target.cast(), bits) }
    }

    #[inline(always)]
    unsafe fn stream(self, target: *mut CacheLine, line: CacheLine) {
        // SAFETY: both are 64 bytes of plain data.
        let whole: __m512i = unsafe { std::mem::transmute(line) };
        // SAFETY: the caller guarantees an aligned line, the token proves AVX-512.
        unsafe { _mm512_stream_si512(target.cast(), whole) };
    }

    #[inline(always)]
    fn fence(self) {
        fence();
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        prefetch(address);
    }
}

#[inline(always)]
fn fence() {
    // SAFETY: every x86-64 CPU has SSE.
    unsafe { _mm_sfence() }
}

#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    // SAFETY: a prefetch never faults, whatever the address; every x86-64 CPU has SSE.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) }
}
