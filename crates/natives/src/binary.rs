//! `binary_*`: a function of two elements, with and without broadcasting.

use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::elementwise::{BLOCK, Blocks, Elementwise};
use super::operand::{self, Operand};
use super::parts;
use super::simd::{Level, Simd};
use crate::params;

/// `y[i] = f(a[i], b[i])`; `y` may be `a` or `b`.
pub(super) struct Binary<F> {
    level: Level,
    function: F,
    broadcast: bool,
}

impl<F: Fn(f32, f32) -> f32 + Copy + Send + Sync> Binary<F> {
    pub(super) fn new(level: Level, function: F, broadcast: bool) -> Self {
        Self { level, function, broadcast }
    }

    /// The sizes that count: those of the constants, or just the number of elements.
    fn params(&self, launch: &NativeLaunch<'_>) -> Result<params::Binary, String> {
        let p: params::Binary = check::constants(launch)?;
        if !self.broadcast {
            return Ok(params::Binary::flat(p.count));
        }
        let product = p.shape.iter().fold(1u128, |product, &size| product * u128::from(size));
        if product != u128::from(p.count) {
            return Err(format!("the shape {:?} has {product} elements, but the count is {}", p.shape, p.count));
        }
        Ok(p)
    }
}

// SAFETY: `prepare` holds all arrays against their bindings; an input that overlaps the output must be the same array,
// element for element, so a part reads of it what the part itself writes. Parts are disjoint ranges of the output.
unsafe impl<F: Fn(f32, f32) -> f32 + Copy + Send + Sync> NativeKernel for Binary<F> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p = self.params(launch)?;
        let [a, b, y] = check::bindings(launch)?;
        let output = Access::write::<f32>("y", y, Extent::of(&[(p.count, 1)]))?;
        for (name, binding, strides) in [("a", a, p.a_strides), ("b", b, p.b_strides)] {
            let input = Access::read::<f32>(name, binding, operand::extent(p.shape, strides))?;
            if Operand::new(p.shape, strides, binding).dense() {
                output.apart_or_same(&input)?;
            } else {
                output.apart_from(&input)?;
            }
        }
        Ok(parts::count(12 * u64::from(p.count), p.count as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = self.params(launch) else { return };
        let [a, b, y] = [launch.bindings[0], launch.bindings[1], launch.bindings[2]];
        let blocks = Map {
            function: self.function,
            a: Operand::new(p.shape, p.a_strides, a),
            b: Operand::new(p.shape, p.b_strides, b),
            buffers: [[0.0; BLOCK]; 2],
        };
        let range = parts::share(p.count as usize, parts::STEP, part, parts);
        let in_place = y.pointer == a.pointer || y.pointer == b.pointer;
        // SAFETY: the part's range lies within the arrays by `prepare`; the caller vouches for the bindings.
        unsafe { Elementwise { blocks, output: y, range, in_place }.run(self.level) };
    }
}

struct Map<F> {
    function: F,
    a: Operand,
    b: Operand,
    buffers: [[f32; BLOCK]; 2],
}

impl<F: Fn(f32, f32) -> f32 + Copy> Blocks for Map<F> {
    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, index: usize) {
        for input in [&self.a, &self.b] {
            input.prefetch(simd, index);
        }
    }

    #[inline(always)]
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]) {
        let [a, b] = &mut self.buffers;
        let a = self.a.fetch(range.clone(), a);
        let b = self.b.fetch(range, b);
        let function = self.function;
        for ((y, &a), &b) in target.iter_mut().zip(a).zip(b) {
            *y = function(a, b);
        }
    }
}
