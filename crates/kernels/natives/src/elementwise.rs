//! `y[i] = f(...)` for every element: the loop over blocks and their output, for any `f`.
//!
//! A block is computed into a small buffer if the output is also an input (no slice may be borrowed
//! both ways) or if it is large (it is then written with non-temporal stores); otherwise directly
//! into the output.

use std::ops::Range;

use roci_hal::native::NativeBinding;

use super::memory;
use roci_simd::{CacheLine, Level, Simd, Task};

/// Elements computed at a time: input and output blocks fit the L1 cache together.
pub(super) const BLOCK: usize = 1024;
/// The same with non-temporal stores: a quarter of a page, so that prefetches, computation and
/// stores overlap.
const STREAMED: usize = 256;
/// Elements per page.
const PAGE: usize = memory::PAGE * CacheLine::WORDS;

/// Computes blocks of an output. Called dynamically once per block, so that the loops around it are
/// compiled once for all kernels.
pub(super) trait Blocks {
    /// Computes `target`, the output elements in `range`, at most [`BLOCK`] of them.
    fn compute(&mut self, range: Range<usize>, target: &mut [f32]);
}

/// A part of an elementwise launch.
pub(super) struct Elementwise<'a> {
    pub(super) blocks: &'a mut dyn Blocks,
    /// Inputs with the layout of the output, which are prefetched.
    pub(super) inputs: [Option<NativeBinding>; 3],
    pub(super) output: NativeBinding,
    pub(super) range: Range<usize>,
    /// Whether the output is also an input.
    pub(super) in_place: bool,
}

impl Elementwise<'_> {
    /// Runs the part.
    ///
    /// # Safety
    /// The range is within the output, which is live f32 memory. Nothing else accesses the range,
    /// except that with `in_place`, `blocks` may read the elements that it is about to compute.
    pub(super) unsafe fn run(mut self, level: Level) {
        let range = self.range.clone();
        if range.len() * size_of::<f32>() >= memory::STREAM_THRESHOLD {
            level.run(Streamed(self));
            return;
        }
        let mut buffer = [0.0; BLOCK];
        for start in range.clone().step_by(BLOCK) {
            let block = start..(start + BLOCK).min(range.end);
            if self.in_place {
                self.buffered(block, &mut buffer, |source, target| target.copy_from_slice(source));
            } else {
                // SAFETY: within the part's range, which nothing else touches: the inputs are
                // disjoint.
                self.blocks.compute(block.clone(), unsafe { memory::output(self.output, block) });
            }
        }
    }

    /// Prefetches the inputs of the output element `index`, and of all others in the same cache
    /// lines.
    #[inline(always)]
    fn prefetch<S: Simd>(&self, simd: S, index: usize) {
        // Broadcast inputs are small or have another layout; a useless prefetch costs next to
        // nothing.
        for input in self.inputs.iter().flatten() {
            simd.prefetch(input.pointer.wrapping_add(index * size_of::<f32>()));
        }
    }

    /// Computes a block into the buffer, then calls `write` to copy it to the output.
    #[inline(always)]
    fn buffered(&mut self, block: Range<usize>, buffer: &mut [f32], write: impl Fn(&[u32], &mut [u32])) {
        let buffer = &mut buffer[..block.len()];
        self.blocks.compute(block.clone(), buffer);
        // SAFETY: within the part's range; the borrows of `compute` have ended.
        write(bytemuck::cast_slice(buffer), unsafe { memory::output(self.output, block) });
    }
}

/// A part whose output is written with non-temporal stores.
struct Streamed<'a>(Elementwise<'a>);

impl Task for Streamed<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Streamed(mut part) = self;
        let range = part.range.clone();
        let mut buffer = [0.0; STREAMED];
        for group in range.clone().step_by(memory::INTERLEAVED_PAGES * PAGE) {
            for step in 0..memory::INTERLEAVED_PAGES * PAGE / STREAMED {
                let start =
                    group + step % memory::INTERLEAVED_PAGES * PAGE + step / memory::INTERLEAVED_PAGES * STREAMED;
                if start >= range.end {
                    continue;
                }
                for index in (start..start + STREAMED).step_by(CacheLine::WORDS) {
                    part.prefetch(simd, index + memory::PREFETCH_DISTANCE);
                }
                let write = |source: &[u32], target: &mut [u32]| memory::stream(simd, source, target);
                part.buffered(start..(start + STREAMED).min(range.end), &mut buffer, write);
            }
        }
        simd.fence();
    }
}
