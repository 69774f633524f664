//! The vector instructions of this CPU, behind one trait, so that a kernel is written once for all of them.
//!
//! A [`Level`] can only be had from detection, and a [`Simd`] token only from a `Level`: holding either proves that the
//! instructions exist. [`Level::run`] hands a [`Task`] the token inside a function that has the instructions switched
//! on, so whatever is inlined into the task is compiled for them. Plain loops in a task vectorise by themselves; the
//! trait's methods are for the few places where the compiler cannot be left to choose.

#[cfg(target_arch = "x86_64")]
pub(crate) mod amx;
pub(crate) mod codes;
mod portable;
pub(crate) mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(target_arch = "x86_64")]
mod x86_codes;

use std::fmt;
use std::sync::OnceLock;

use half::f16;

pub(crate) use portable::Portable;

/// An instruction set that this CPU has been found to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable(Portable),
    #[cfg(target_arch = "x86_64")]
    Avx2(x86::Avx2),
    #[cfg(target_arch = "x86_64")]
    /// Perhaps with matrix units.
    Avx512(x86::Avx512, Option<amx::Amx>),
}

impl Level {
    /// Every level that this CPU has, the widest last; there is at least the portable one.
    pub fn available() -> &'static [Level] {
        static LEVELS: OnceLock<Vec<Level>> = OnceLock::new();
        LEVELS.get_or_init(|| {
            let mut levels = vec![Level(Kind::Portable(Portable))];
            #[cfg(target_arch = "x86_64")]
            levels.extend(x86::Avx2::detect().map(|token| Level(Kind::Avx2(token))));
            #[cfg(target_arch = "x86_64")]
            levels.extend(x86::Avx512::detect().map(|token| Level(Kind::Avx512(token, amx::Amx::detect()))));
            levels
        })
    }

    /// The widest level of this CPU.
    pub fn best() -> Level {
        let levels = Level::available();
        levels[levels.len() - 1]
    }

    /// The same without matrix units: to test or measure what a CPU that has none would run.
    pub fn without_matrix_units(self) -> Level {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token, _) => Level(Kind::Avx512(token, None)),
            kind => Level(kind),
        }
    }

    /// The matrix units, if there are some, beside which there are products of bytes.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn matrix_units(self) -> Option<amx::Amx> {
        match self.0 {
            Kind::Avx512(..) if x86_codes::Vnni::of_level(self).is_none() => None,
            Kind::Avx512(_, units) => units,
            _ => None,
        }
    }

    /// Elements of a vector.
    pub fn lanes(self) -> usize {
        struct Lanes;
        impl Task for Lanes {
            type Output = usize;

            fn run<S: Simd>(self, _: S) -> usize {
                S::LANES
            }
        }
        self.run(Lanes)
    }

    /// Runs `task` compiled for this level.
    #[inline]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            Kind::Portable(token) => task.run(token),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(token) => token.run(task),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(token, _) => token.run(task),
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Portable(_) => "portable",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512(..) => "avx512",
        })
    }
}

/// Work that [`Level::run`] compiles once for each level.
///
/// Mark `run`, and what it calls in its hot loops, `#[inline(always)]`: a function that is not inlined is compiled for
/// the baseline CPU.
pub(crate) trait Task {
    /// What the work gives.
    type Output;

    /// Does the work.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Vectors of f32, with conversions from and to f16 storage.
pub(crate) trait Simd: Copy + 'static {
    /// A vector register.
    type Vector: Copy;
    /// Elements of a vector.
    const LANES: usize;
    /// Rows of the result that the matrix kernel keeps in registers, three vectors each, without running out of them.
    const TILE_ROWS: usize;

    /// `value` in every lane.
    fn splat(self, value: f32) -> Self::Vector;

    /// `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a * b + c`, in one rounding where the instructions allow it.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;

    /// The greater of both; `b` where one is NaN.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The lesser of both; `b` where one is NaN.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Every second element, from the first on, of `a` and then of `b`.
    fn evens(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The sum of all lanes, halves first.
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

    /// Writes one cache line past the caches where that is possible; it is visible to others after [`Simd::fence`].
    ///
    /// # Safety
    /// `target` is valid for writing 64 bytes and aligned to them.
    unsafe fn stream(self, target: *mut Line, line: Line);

    /// Orders all earlier [`Simd::stream`] writes of this thread before its later writes.
    fn fence(self);

    /// Asks for the cache line of `address`; any address is allowed.
    fn prefetch(self, address: *const u8);
}

/// The bytes of one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u32; 16]);

impl Line {
    /// A line of zeros.
    pub(crate) const ZERO: Line = Line([0; 16]);
    /// Elements of 32 bits in a line.
    pub(crate) const WORDS: usize = 16;

    /// The words of lines.
    pub(crate) fn words(lines: &mut [Line]) -> &mut [u32] {
        let count = lines.len() * Self::WORDS;
        // SAFETY: a `Line` is sixteen words without padding.
        unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
    }
}

/// What a kernel stores: f32, or f16 that is computed on as f32.
pub(crate) trait Element: Copy + Send + Sync + bytemuck::Pod {
    /// Zero.
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
        let mut whole = [Self::ZERO; Line::WORDS];
        // SAFETY: the caller vouches for the source; `count` is at most `LANES`, and `LANES` at most `WORDS`.
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
        let mut whole = [Self::ZERO; Line::WORDS];
        // SAFETY: `whole` holds at least `LANES` elements.
        unsafe { Self::store(simd, whole.as_mut_ptr(), v) };
        // SAFETY: the caller vouches for the target; `count` is at most `LANES`, and `LANES` at most `WORDS`.
        unsafe { std::ptr::copy_nonoverlapping(whole.as_ptr(), target, count.min(S::LANES)) };
    }
}

impl Element for f32 {
    const ZERO: f32 = 0.0;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, source: *const f32) -> S::Vector {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { simd.load(source) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, target: *mut f32, v: S::Vector) {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { simd.store(target, v) }
    }
}

impl Element for f16 {
    const ZERO: f16 = f16::ZERO;

    #[inline(always)]
    unsafe fn load<S: Simd>(simd: S, source: *const f16) -> S::Vector {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { simd.load_f16(source) }
    }

    #[inline(always)]
    unsafe fn store<S: Simd>(simd: S, target: *mut f16, v: S::Vector) {
        // SAFETY: the caller's promise is the one asked for.
        unsafe { simd.store_f16(target, v) }
    }
}
