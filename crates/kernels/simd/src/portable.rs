//! The level that every CPU has: arrays of four, which the compiler maps to the baseline
//! instructions.

use half::f16;

use crate::int8::Int8Task;
use crate::level::Task;
use crate::vector::{CacheLine, Simd};

/// Token of the portable level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

impl Portable {
    /// Runs `task` compiled for the baseline CPU. Never inlined: every caller would get a copy of
    /// the whole task.
    #[inline(never)]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        task.run(self)
    }

    /// As [`Portable::run`].
    #[inline(never)]
    pub(crate) fn run_int8<T: Int8Task>(self, task: T) -> T::Output {
        task.run(self)
    }
}

impl Simd for Portable {
    type Vector = [f32; 4];
    const LANES: usize = 4;
    const TILE_ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, value: f32) -> [f32; 4] {
        [value; 4]
    }

    #[inline(always)]
    fn add(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
    }

    #[inline(always)]
    fn mul_add(self, a: [f32; 4], b: [f32; 4], c: [f32; 4]) -> [f32; 4] {
        // Not `f32::mul_add`: without FMA that is a library call, many times slower than a
        // multiplication and an addition.
        [a[0] * b[0] + c[0], a[1] * b[1] + c[1], a[2] * b[2] + c[2], a[3] * b[3] + c[3]]
    }

    #[inline(always)]
    fn max(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        let greater = |i: usize| if a[i] > b[i] { a[i] } else { b[i] };
        [greater(0), greater(1), greater(2), greater(3)]
    }

    #[inline(always)]
    fn min(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        let lesser = |i: usize| if a[i] < b[i] { a[i] } else { b[i] };
        [lesser(0), lesser(1), lesser(2), lesser(3)]
    }

    #[inline(always)]
    fn evens(self, a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
        [a[0], a[2], b[0], b[2]]
    }

    #[inline(always)]
    fn sum(self, v: [f32; 4]) -> f32 {
        (v[0] + v[2]) + (v[1] + v[3])
    }

    #[inline(always)]
    unsafe fn load(self, source: *const f32) -> [f32; 4] {
        // SAFETY: the caller guarantees four readable elements; the read may be unaligned.
        unsafe { source.cast::<[f32; 4]>().read_unaligned() }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut f32, v: [f32; 4]) {
        // SAFETY: the caller guarantees four writable elements; the write may be unaligned.
        unsafe { target.cast::<[f32; 4]>().write_unaligned(v) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const f16) -> [f32; 4] {
        // SAFETY: the caller guarantees four readable elements; the read may be unaligned.
        unsafe { source.cast::<[f16; 4]>().read_unaligned() }.map(f16::to_f32)
    }

    #[inline(always)]
    unsafe fn store_f16(self, target: *mut f16, v: [f32; 4]) {
        // SAFETY: the caller guarantees four writable elements; the write may be unaligned.
        unsafe { target.cast::<[f16; 4]>().write_unaligned(v.map(f16::from_f32)) }
    }

    #[inline(always)]
    unsafe fn stream(self, target: *mut CacheLine, line: CacheLine) {
        // SAFETY: the caller guarantees one writable, aligned line.
        unsafe { target.write(line) }
    }

    #[inline(always)]
    fn fence(self) {}

    #[inline(always)]
    fn prefetch(self, _address: *const u8) {}
}
