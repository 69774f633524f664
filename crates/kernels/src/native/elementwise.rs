//! `y[i] = f(...)` for every element: how blocks are computed and written, whatever `f` is.
//!
//! A block is computed into a small buffer when the output is also an input (then no slice may be borrowed both ways)
//! and when the output is large (then it is written past the caches); otherwise straight into the output.

use std::ops::Range;

use roci_hal::native::NativeBinding;

use super::memory;
use super::simd::{Level, Simd, Task};

/// Elements computed at a time: input and output blocks fit the first-level cache together.
pub(super) const BLOCK: usize = 1024;

/// Computes blocks of an output.
pub(super) trait Blocks {
    /// Computes `target`, the output elements in `range`, at most [`BLOCK`] of them.
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]);
}

/// A part of an element-wise launch.
pub(super) struct Elementwise<B> {
    pub(super) blocks: B,
    pub(super) output: NativeBinding,
    pub(super) range: Range<usize>,
    /// The output is an input too.
    pub(super) in_place: bool,
}

impl<B: Blocks> Elementwise<B> {
    /// Runs the part.
    ///
    /// # Safety
    /// The range lies within the output, which is live f32 memory that nothing else touches there, save that `blocks`
    /// may read the elements of the range it is asked for if `in_place` says so.
    pub(super) unsafe fn run(self, level: Level) {
        level.run(self);
    }
}

impl<B: Blocks> Task for Elementwise<B> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let stream = self.range.len() * size_of::<f32>() >= memory::STREAM_FROM;
        let mut buffer = [0.0; BLOCK];
        let mut start = self.range.start;
        while start < self.range.end {
            let block = start..(start + BLOCK).min(self.range.end);
            start = block.end;
            if !self.in_place && !stream {
                // SAFETY: within the part's range, which no one else touches: the inputs lie apart.
                self.blocks.compute(block.clone(), unsafe { memory::output(self.output, block) });
                continue;
            }
            let buffer = &mut buffer[..block.len()];
            self.blocks.compute(block.clone(), buffer);
            // SAFETY: within the part's range; what `compute` borrowed of it has been given back.
            let target = unsafe { memory::output::<u32>(self.output, block) };
            if stream {
                memory::stream(simd, bytemuck::cast_slice(buffer), target);
            } else {
                target.copy_from_slice(bytemuck::cast_slice(buffer));
            }
        }
        if stream {
            simd.fence();
        }
    }
}
