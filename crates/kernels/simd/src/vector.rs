//! Vectors of f32 behind one trait, so that a kernel is written once for all instruction sets.

use half::f16;

/// Vectors of f32, with conversions from and to f16 storage.
pub trait Simd: Copy + 'static {
    /// A vector register.
    type Vector: Copy;
    /// Number of lanes.
    const LANES: usize;
    /// Rows of a matrix product's tile, three vectors wide, that fit in registers.
    const TILE_ROWS: usize;

    /// Splats `value` to every lane.
    fn splat(self, value: f32) -> Self::Vector;

    /// `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a * b + c`, in one rounding where the CPU has fused multiply-add.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// The maximum; `b` where either is NaN.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The minimum; `b` where either is NaN.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The elements with even indices: those of `a`, then those of `b`.
    fn evens(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The sum of all lanes, by halving.
    fn sum(self, v: Self::Vector) -> f32;

    /// Reads `LANES` elements.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load(self, source: *const f32) -> Self::Vector;

    /// Writes `LANES` elements.
    ///
    /// # Safety
    /// `target` is valid for writing them.
    unsafe fn store(self, target: *mut f32, v: Self::Vector);

    /// Reads `LANES` elements of f16.
    ///
    /// # Safety
    /// `source` is valid for reading them.
    unsafe fn load_f16(self, source: *const f16) -> Self::Vector;

    /// Writes `LANES` elements, rounded to f16.
    ///
    /// # Safety
    /// `target` is valid for writing them.
    unsafe fn store_f16(self, target: *mut f16, v: Self::Vector);

    /// Writes one cache line with a non-temporal store, where the CPU has one; other threads see it
    /// after [`Simd::fence`].
    ///
    /// # Safety
    /// `target` is valid for writing 64 bytes and aligned to them.
    unsafe fn stream(self, target: *mut CacheLine, line: CacheLine);

    /// Orders earlier [`Simd::stream`] writes of this thread before its later writes.
    fn fence(self);

    /// Prefetches the cache line of `address`; any address is allowed.
    fn prefetch(self, address: *const u8);
}

/// One cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct CacheLine(pub [u32; 16]);

impl CacheLine {
    /// A line of zeros.
    pub const ZERO: CacheLine = CacheLine([0; 16]);
    /// 32-bit words of a line.
    pub const WORDS: usize = 16;

    /// The lines as words.
    pub fn words(lines: &mut [CacheLine]) -> &mut [u32] {
        let count = lines.len() * Self::WORDS;
        // SAFETY: a `CacheLine` is sixteen words without padding.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
    }
}

/// An element type in memory: f32, or f16, which is computed in f32.
pub trait Element: Copy + Send + Sync + bytemuck::Pod {
    /// The value zero.
    const ZERO: Self;

    /// Reads a vector.
    ///
    /// # Safety
    /// `source` is valid for reading `S::LANES` elements.
    unsafe fn load<S: Simd>(simd: S, source: *const Self) -> S::Vector;

    /// Writes a vector.
    ///
    /// # Safety
    /// `target` is valid for writing `S::LANES` elements.
    unsafe fn store<S: Simd>(simd: S, target: *mut Self, v: S::Vector);

    /// Reads the first `count` (at most `S::LANES`) elements of a vector; the others are zero.
    ///
    /// # Safety
    /// `source` is valid for reading `count` elements.
    #[inline(always)]
    unsafe fn load_first<S: Simd>(simd: S, source: *const Self, count: usize) -> S::Vector {
        let mut whole = [Self::ZERO; CacheLine::WORDS];
        // SAFETY: the caller guarantees the source; `count` is at most `LANES`, and `LANES` at most
        // `WORDS`.
        unsafe { std::ptr::copy_nonoverlapping(source, whole.as_mut_ptr(), count.min(S::LANES)) };
        // SAFETY: `whole` holds at least `LANES` elements.
        unsafe { Self::load(simd, whole.as_ptr()) }
    }

    /// Writes the first `count` (at most `S::LANES`) elements of a vector.
    ///
    /// # Safety
    /// `target` is valid for writing `count` elements.
    #[inline(always)]
    unsafe fn store_first<S: Simd>(simd: S, target: *mut Self, v: S::Vector, count: usize) {
        let mut whole = [Self::ZERO; CacheLine::WORDS];
        // SAFETY: `whole` holds at least `LANES` elements.
        unsafe { Self::store(simd, whole.as_mut_ptr(), v) };
        // SAFETY: the caller guarantees the target; `count` is at most `LANES`, and `LANES` at most
        // `WORDS`.
        unsafe { std::ptr::copy_nonoverlapping(whole.as_ptr(), target, count.min(S::LANES)) };
    }
}

impl Element for f32 {
    const ZERO: f32 = 0.0;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, source: *const f32) -> S::Vector {
        // SAFETY: the caller guarantees the same.
        unsafe { simd.load(source) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, target: *mut f32, v: S::Vector) {
        // SAFETY: the caller guarantees the same.
        unsafe { simd.store(target, v) }
    }
}

impl Element for f16 {
    const ZERO: f16 = f16::ZERO;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, source: *const f16) -> S::Vector {
        // SAFETY: the caller guarantees the same.
        unsafe { simd.load_f16(source) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, target: *mut f16, v: S::Vector) {
        // SAFETY: the caller guarantees the same.
        unsafe { simd.store_f16(target, v) }
    }
}
