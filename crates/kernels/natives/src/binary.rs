//! `binary_*`: a function of two elements, with and without broadcasting.

use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::elementwise::{BLOCK, Blocks, Elementwise};
use super::operand::{self, Operand};
use super::partition;
use crate::KernelFactory;
use crate::math;
use roci_simd::{Level, Simd, Task};
use std::ops::{Add as _, Div as _, Mul as _, Sub as _};
use std::sync::Arc;

/// The kernels of this file, by name. Both names of an operation map to the same function, so that
/// it is compiled once.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
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
];

/// `y[i] = f(a[i], b[i])`; `y` may be `a` or `b`.
pub(super) struct Binary {
    level: Level,
    /// Applies the function to a block.
    apply: Box<Apply>,
    broadcast: bool,
}

/// A function of the blocks of two inputs.
type Apply = dyn Fn(&[f32], &[f32], &mut [f32]) + Send + Sync;

impl Binary {
    pub(super) fn new<F>(level: Level, function: F, broadcast: bool) -> Self
    where
        F: Fn(f32, f32) -> f32 + Copy + Send + Sync + 'static,
    {
        Self { level, apply: Box::new(move |a, b, y| level.run(Map { function, a, b, y })), broadcast }
    }

    /// The constants block; without broadcasting, only the element count matters.
    fn params(&self, launch: &NativeLaunch<'_>) -> Result<roci_families::Binary, String> {
        let p: roci_families::Binary = check::constants(launch)?;
        if !self.broadcast {
            return Ok(roci_families::Binary::flat(p.count));
        }
        let product = p.shape.iter().fold(1u128, |product, &size| product * u128::from(size));
        if product != u128::from(p.count) {
            return Err(format!("shape {:?} has {product} elements, but the count is {}", p.shape, p.count));
        }
        Ok(p)
    }
}

// SAFETY: `prepare` checks all arrays against their bindings; an input that overlaps the output
// must be the same array, element for element, so a part reads only those elements of it that it
// writes itself. Parts are disjoint ranges of the output.
unsafe impl NativeKernel for Binary {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p = self.params(launch)?;
        let [a, b, y] = check::bindings(launch)?;
        let output = AccessRange::write::<f32>("y", y, Extent::of(&[(p.count, 1)]))?;
        for (name, binding, strides) in [("a", a, p.a_strides), ("b", b, p.b_strides)] {
            let input = AccessRange::read::<f32>(name, binding, operand::extent(p.shape, strides))?;
            if Operand::new(p.shape, strides, binding).dense() {
                output.disjoint_or_same(&input)?;
            } else {
                output.disjoint_from(&input)?;
            }
        }
        Ok(partition::count(12 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = self.params(launch) else { return };
        let [a, b, y] = [launch.bindings[0], launch.bindings[1], launch.bindings[2]];
        let blocks = &mut Mapped {
            apply: &*self.apply,
            a: Operand::new(p.shape, p.a_strides, a),
            b: Operand::new(p.shape, p.b_strides, b),
            buffers: [[0.0; BLOCK]; 2],
        };
        let range = partition::range(p.count as usize, partition::STEP, part, parts);
        let in_place = y.pointer == a.pointer || y.pointer == b.pointer;
        // SAFETY: the part's range is within the arrays that `prepare` checked; the caller
        // guarantees the bindings.
        unsafe { Elementwise { blocks, inputs: [Some(a), Some(b), None], output: y, range, in_place }.run(self.level) };
    }
}

/// Two inputs and the function that is applied to their blocks.
struct Mapped<'a> {
    apply: &'a Apply,
    a: Operand,
    b: Operand,
    buffers: [[f32; BLOCK]; 2],
}

impl Blocks for Mapped<'_> {
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]) {
        let [a, b] = &mut self.buffers;
        let a = self.a.fetch(range.clone(), a);
        let b = self.b.fetch(range, b);
        (self.apply)(a, b, target);
    }
}

/// Applies a function to two blocks.
struct Map<'a, F> {
    function: F,
    a: &'a [f32],
    b: &'a [f32],
    y: &'a mut [f32],
}

impl<F: Fn(f32, f32) -> f32> Task for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for ((y, &a), &b) in self.y.iter_mut().zip(self.a).zip(self.b) {
            *y = (self.function)(a, b);
        }
    }
}
