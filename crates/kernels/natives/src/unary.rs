//! `unary_*`: a function of each element.

use std::ops::Range;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::elementwise::{Blocks, Elementwise};
use super::{math, memory, partition};
use crate::KernelFactory;
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
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
];

/// Applies a function to the elements of a block.
type Apply = dyn Fn(&[f32], &mut [f32]) + Send + Sync;

/// `y[i] = f(x[i])`; `y` may be `x`.
pub(super) struct Unary {
    level: Level,
    apply: Box<Apply>,
}

impl Unary {
    pub(super) fn new<F: Fn(f32) -> f32 + Copy + Send + Sync + 'static>(level: Level, function: F) -> Self {
        Self { level, apply: Box::new(move |x, y| level.run(Map { function, x, y })) }
    }

    /// `far` replaces `function` beyond [`math::TRIGONOMETRIC_LIMIT`], where that is not accurate.
    pub(super) fn periodic<F>(level: Level, function: F, far: fn(f64) -> f64) -> Self
    where
        F: Fn(f32) -> f32 + Copy + Send + Sync + 'static,
    {
        Self { level, apply: Box::new(move |x, y| level.run(Periodic { function, far, x, y })) }
    }
}

// SAFETY: `prepare` checks both arrays against their bindings and rejects partial overlaps; parts
// are disjoint ranges, and each reads and writes only its own range.
unsafe impl NativeKernel for Unary {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::Unary = check::constants(launch)?;
        let [x, y] = check::bindings(launch)?;
        let extent = Extent::of(&[(p.count, 1)]);
        let x = AccessRange::read::<f32>("x", x, extent)?;
        AccessRange::write::<f32>("y", y, extent)?.disjoint_or_same(&x)?;
        Ok(partition::count(8 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::Unary>(launch) else { return };
        let [x, y] = [launch.bindings[0], launch.bindings[1]];
        let range = partition::range(p.count as usize, partition::STEP, part, parts);
        let blocks = &mut Mapped { x, apply: &*self.apply };
        let in_place = x.pointer == y.pointer;
        let work = Elementwise { blocks, inputs: [Some(x), None, None], output: y, range, in_place };
        // SAFETY: the part's range is within both arrays, as `prepare` checked; the caller
        // guarantees the bindings.
        unsafe { work.run(self.level) };
    }
}

/// An input and the function that is applied to its blocks.
struct Mapped<'a> {
    x: NativeBinding,
    apply: &'a dyn Fn(&[f32], &mut [f32]),
}

impl Blocks for Mapped<'_> {
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]) {
        // SAFETY: the range is part of the launch, which `prepare` checked against the binding;
        // nothing writes it during the launch.
        (self.apply)(unsafe { memory::input(self.x, range) }, target);
    }
}

/// Applies a function to a block.
struct Map<'a, F> {
    function: F,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl<F: Fn(f32) -> f32> Task for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for (y, &x) in self.y.iter_mut().zip(self.x) {
            *y = (self.function)(x);
        }
    }
}

/// Like [`Map`], for a function that is not accurate for large arguments.
struct Periodic<'a, F> {
    function: F,
    far: fn(f64) -> f64,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl<F: Fn(f32) -> f32> Task for Periodic<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { function, far, x, y } = self;
        Map { function, x, y: &mut *y }.run(simd);
        // This check vectorizes; large arguments are rare.
        let limit = math::TRIGONOMETRIC_LIMIT;
        if x.iter().fold(false, |any, x| any | (x.abs() > limit)) {
            for (y, &x) in y.iter_mut().zip(x).filter(|(_, x)| x.abs() > limit) {
                *y = far(x.into()) as f32;
            }
        }
    }
}
