//! `unary_*`: a function of each element.

use std::ops::Range;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::elementwise::{Blocks, Elementwise};
use super::simd::{Level, Simd};
use super::{math, memory, parts};
use crate::params;

/// `y[i] = f(x[i])`; `y` may be `x`.
pub(super) struct Unary<F> {
    level: Level,
    function: F,
    /// What to use beyond [`math::TRIGONOMETRIC_LIMIT`], where `function` is not accurate.
    far: Option<fn(f64) -> f64>,
}

impl<F: Fn(f32) -> f32 + Copy + Send + Sync> Unary<F> {
    pub(super) fn new(level: Level, function: F) -> Self {
        Self { level, function, far: None }
    }

    pub(super) fn periodic(level: Level, function: F, far: fn(f64) -> f64) -> Self {
        Self { level, function, far: Some(far) }
    }
}

// SAFETY: `prepare` holds both arrays against their bindings and rejects partial overlaps; parts are disjoint ranges,
// and each reads and writes its own range only.
unsafe impl<F: Fn(f32) -> f32 + Copy + Send + Sync> NativeKernel for Unary<F> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::Unary = check::constants(launch)?;
        let [x, y] = check::bindings(launch)?;
        let extent = Extent::of(&[(p.count, 1)]);
        let x = Access::read::<f32>("x", x, extent)?;
        Access::write::<f32>("y", y, extent)?.apart_or_same(&x)?;
        Ok(parts::count(8 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::Unary>(launch) else { return };
        let [x, y] = [launch.bindings[0], launch.bindings[1]];
        let blocks = Map { x, function: self.function, far: self.far };
        let range = parts::share(p.count as usize, parts::STEP, part, parts);
        let work = Elementwise { blocks, output: y, range, in_place: x.pointer == y.pointer };
        // SAFETY: the part's range lies within both arrays by `prepare`; the caller vouches for the bindings.
        unsafe { work.run(self.level) };
    }
}

struct Map<F> {
    x: NativeBinding,
    function: F,
    far: Option<fn(f64) -> f64>,
}

impl<F: Fn(f32) -> f32 + Copy> Blocks for Map<F> {
    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, index: usize) {
        simd.prefetch(self.x.pointer.wrapping_add(index * size_of::<f32>()));
    }

    #[inline(always)]
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]) {
        // SAFETY: the range is part of the launch, which `prepare` held against the binding; nothing writes it now.
        let x: &[f32] = unsafe { memory::input(self.x, range) };
        let function = self.function;
        for (y, &x) in target.iter_mut().zip(x) {
            *y = function(x);
        }
        if let Some(far) = self.far {
            // Written so that it vectorises; such arguments are rare.
            let limit = math::TRIGONOMETRIC_LIMIT;
            if x.iter().fold(false, |any, x| any | (x.abs() > limit)) {
                for (y, &x) in target.iter_mut().zip(x).filter(|(_, x)| x.abs() > limit) {
                    *y = far(x.into()) as f32;
                }
            }
        }
    }
}
