//! `y[i] = f(...)` for every element: how blocks are computed and written, whatever `f` is.
//!
//! A block is computed into a small buffer when the output is also an input (then no slice may be borrowed both ways)
//! and when the output is large (then it is written past the caches); otherwise straight into the output.

use std::ops::Range;

use roci_hal::native::NativeBinding;

use super::memory;
use super::simd::{Level, Line, Simd, Task};

/// Elements computed at a time: input and output blocks fit the first-level cache together.
pub(super) const BLOCK: usize = 1024;
/// The same when writing past the caches: a quarter of a page, so that asking for inputs, computing and writing overlap.
const STREAMED: usize = 256;
/// Elements of a page.
const PAGE: usize = memory::PAGE * Line::WORDS;

/// Computes blocks of an output.
pub(super) trait Blocks {
    /// Computes `target`, the output elements in `range`, at most [`BLOCK`] of them.
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]);

    /// Asks for the inputs of the output element `index`, and of all others in the same cache lines.
    fn prefetch<S: Simd>(&self, simd: S, index: usize);
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

    /// Computes a block straight into the output.
    #[inline(always)]
    fn directly(&mut self, block: Range<usize>) {
        // SAFETY: within the part's range, which no one else touches: the inputs lie apart.
        self.blocks.compute(block.clone(), unsafe { memory::output(self.output, block) });
    }

    /// Computes a block into the buffer, then lets `write` move it to the output.
    #[inline(always)]
    fn buffered(&mut self, block: Range<usize>, buffer: &mut [f32], write: impl Fn(&[u32], &mut [u32])) {
        let buffer = &mut buffer[..block.len()];
        self.blocks.compute(block.clone(), buffer);
        // SAFETY: within the part's range; what `compute` borrowed of it has been given back.
        write(bytemuck::cast_slice(buffer), unsafe { memory::output(self.output, block) });
    }
}

impl<B: Blocks> Task for Elementwise<B> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let range = self.range.clone();
        let block = |start: usize, size: usize| start..(start + size).min(range.end);
        let mut buffer = [0.0; BLOCK];
        if range.len() * size_of::<f32>() >= memory::STREAM_FROM {
            for group in range.clone().step_by(memory::PAGES * PAGE) {
                for step in 0..memory::PAGES * PAGE / STREAMED {
                    let start = group + step % memory::PAGES * PAGE + step / memory::PAGES * STREAMED;
                    if start >= range.end {
                        continue;
                    }
                    for index in (start..start + STREAMED).step_by(Line::WORDS) {
                        self.blocks.prefetch(simd, index + memory::AHEAD);
                    }
                    let write = |source: &[u32], target: &mut [u32]| memory::stream(simd, source, target);
                    self.buffered(block(start, STREAMED), &mut buffer, write);
                }
            }
            simd.fence();
        } else if self.in_place {
            for start in range.clone().step_by(BLOCK) {
                self.buffered(block(start, BLOCK), &mut buffer, |source, target| target.copy_from_slice(source));
            }
        } else {
            for start in range.clone().step_by(BLOCK) {
                self.directly(block(start, BLOCK));
            }
        }
    }
}
