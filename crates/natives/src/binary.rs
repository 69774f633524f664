//! `binary_*`: a function of two elements, with and without broadcasting.

use std::ops::Range;

use roci_hal::native::{NativeBinding, NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::elementwise::{BLOCK, Blocks, Elementwise};
use super::simd::{Level, Simd};
use super::{memory, parts};
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

fn extent(p: &params::Binary, strides: [u32; 4]) -> Extent {
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| (p.shape[i], strides[i]));
    Extent::of(&[a, b, c, d])
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
            let input = Access::read::<f32>(name, binding, extent(&p, strides))?;
            if Operand::new(&p, strides, binding).dense() {
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
            a: Operand::new(&p, p.a_strides, a),
            b: Operand::new(&p, p.b_strides, b),
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
        // Broadcast inputs are small or lie elsewhere; what is asked for in vain costs next to nothing.
        for input in [&self.a, &self.b] {
            simd.prefetch(input.binding.pointer.wrapping_add(index * size_of::<f32>()));
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

/// An input seen through the output's shape.
struct Operand {
    binding: NativeBinding,
    shape: [usize; 4],
    strides: [usize; 4],
}

impl Operand {
    /// Dimensions that continue one another are joined, innermost last, so that runs are as long as can be.
    fn new(p: &params::Binary, strides: [u32; 4], binding: NativeBinding) -> Operand {
        let mut operand = Operand { binding, shape: [1; 4], strides: [0; 4] };
        let mut at = 3;
        let mut empty = true;
        for i in (0..4).rev() {
            let (size, stride) = (p.shape[i] as usize, strides[i] as usize);
            if size == 1 {
                continue;
            }
            if empty {
                empty = false;
            } else if stride == operand.shape[at] * operand.strides[at] {
                operand.shape[at] *= size;
                continue;
            } else {
                at -= 1;
            }
            (operand.shape[at], operand.strides[at]) = (size, stride);
        }
        operand
    }

    /// Whether element `i` of the output needs element `i` of the input, for all `i`.
    fn dense(&self) -> bool {
        self.shape[..3] == [1; 3] && (self.strides[3] == 1 || self.shape[3] == 1)
    }

    /// The elements that the output elements in `range` need: in place where they lie in a row, else gathered.
    #[inline(always)]
    fn fetch<'a>(&self, range: Range<usize>, buffer: &'a mut [f32; BLOCK]) -> &'a [f32] {
        if self.dense() {
            // SAFETY: within the output's elements, which `prepare` held against this binding too.
            return unsafe { memory::input(self.binding, range) };
        }
        let count = range.len();
        let buffer = &mut buffer[..count];
        let mut at = range.start;
        let mut filled = 0;
        while filled < count {
            let [i, j, k, l] = self.position(at);
            let start = i * self.strides[0] + j * self.strides[1] + k * self.strides[2] + l * self.strides[3];
            let run = (self.shape[3] - l).min(count - filled);
            let stride = self.strides[3];
            let target = &mut buffer[filled..filled + run];
            // SAFETY: `run` positions within the innermost dimension, so within the extent that `prepare` checked.
            let source: &[f32] = unsafe { memory::input(self.binding, start..start + (run - 1) * stride + 1) };
            match stride {
                0 => target.fill(source[0]),
                1 => target.copy_from_slice(source),
                _ => {
                    target.iter_mut().zip(source.iter().step_by(stride)).for_each(|(target, source)| *target = *source)
                }
            }
            filled += run;
            at += run;
        }
        buffer
    }

    /// The position of element `index` in the joined shape.
    fn position(&self, mut index: usize) -> [usize; 4] {
        let mut position = [0; 4];
        for i in (1..4).rev() {
            position[i] = index % self.shape[i];
            index /= self.shape[i];
        }
        position[0] = index;
        position
    }
}
