//! One block of the result, by one thread: the loops around the tiles, and the thread's packing space.

use std::cell::Cell;
use std::ops::Range;

use super::super::simd::{Element, Level, Line, Simd, Task};
use super::tile::{self, A_STRIDE, DEPTH, PANEL, Tile};

/// Depth of one pass when `B` is read in place: each row of `B` is then one of this many streams that the hardware
/// prefetches.
const STREAMS: usize = 16;

/// Most rows of `A` packed at once: they stay in the second-level cache while the panels of `B` pass by.
const ROWS: usize = 252;

thread_local! {
    /// Packing space, kept for the next block of this thread.
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// A block of a product: `c = a * b`.
#[derive(Clone, Copy)]
pub(super) struct Block<E> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) a: *const E,
    pub(super) a_stride: usize,
    pub(super) b: *const E,
    pub(super) b_stride: usize,
    pub(super) c: *mut E,
    pub(super) c_stride: usize,
    /// The whole product has so few rows that `B` is used but once, so packing it would only cost.
    pub(super) few_rows: bool,
}

/// How an element type's result is accumulated.
pub(super) trait Accumulate: Element {
    /// The result itself, if f32 sums can be kept in it between passes.
    fn in_place(c: *mut Self) -> Option<*mut f32>;

    /// Computes the block with a library that is faster at it, if there is one; tells whether it did.
    ///
    /// # Safety
    /// The block is valid in the sense of [`Multiply::new`].
    unsafe fn by_library(_block: &Block<Self>) -> bool {
        false
    }
}

impl Accumulate for f32 {
    fn in_place(c: *mut f32) -> Option<*mut f32> {
        Some(c)
    }

    // Its functions are compiled here, for every instruction set, which takes longer than all other kernels together: builds for
    // debugging do without, and `./test native` tries it.
    #[cfg(not(debug_assertions))]
    unsafe fn by_library(block: &Block<f32>) -> bool {
        use gemm_common::Parallelism;

        // Below this depth the library changes its method with the shape of a block, and results with it.
        if block.few_rows || block.depth < 16 {
            return false;
        }
        let [a_stride, b_stride, c_stride] = [block.a_stride, block.b_stride, block.c_stride]
            .map(|stride| isize::try_from(stride).unwrap_or(isize::MAX));
        let multiply = gemm_f32::gemm::f32::get_gemm_fn();
        let (rows, columns, depth) = (block.rows, block.columns, block.depth);
        // The library wants a result by columns: ours by rows is its transpose, the product of the transposes in turn.
        //
        // SAFETY: the caller vouches for the three matrices, which are row-major with these strides.
        unsafe {
            multiply(
                columns,
                rows,
                depth,
                block.c,
                c_stride,
                1,
                false,
                block.b,
                b_stride,
                1,
                block.a,
                a_stride,
                1,
                0.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
        true
    }
}

impl Accumulate for half::f16 {
    fn in_place(_: *mut half::f16) -> Option<*mut f32> {
        None
    }
}

/// The block as a task; the memory its pointers span must be valid, see [`Multiply::new`].
pub(super) struct Multiply<E> {
    block: Block<E>,
    level: Level,
}

impl<E> Multiply<E> {
    /// Promises that the block's memory is there.
    ///
    /// # Safety
    /// `rows x depth` elements from `a`, `depth x columns` from `b` are readable and `rows x columns` from `c` writable,
    /// with the block's strides, until the task has run; nothing else writes to them, and `c` is apart from the others.
    pub(super) unsafe fn new(block: Block<E>, level: Level) -> Self {
        Self { block, level }
    }
}

impl<E: Accumulate> Task for Multiply<E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { block, level } = self;
        let a_size = ROWS.min(block.rows) * A_STRIDE;
        let b_size = DEPTH * block.columns.next_multiple_of(S::LANES);
        let in_place = E::in_place(block.c);
        let c_size = if in_place.is_some() { 0 } else { block.rows * block.columns };
        // Taken out of its cell, not borrowed in a closure: code in a closure would be compiled for the baseline CPU.
        let mut scratch = SCRATCH.take();
        let lines = (a_size + b_size + c_size).div_ceil(Line::WORDS);
        if scratch.len() < lines {
            scratch.resize(lines, Line::ZERO);
        }
        let packed_a = scratch.as_mut_ptr().cast::<f32>();
        let packed_b = packed_a.wrapping_add(a_size);
        let (sums, sums_stride) = match in_place {
            Some(c) => (c, block.c_stride),
            None => (packed_b.wrapping_add(b_size), block.columns),
        };
        let work = Work { block, level, packed_a, packed_b, sums, sums_stride };
        // SAFETY: the block is valid by `new`; the scratch holds the three areas one behind the other, and the sums are
        // either in it or in the block's own f32 result.
        unsafe { work.multiply(simd) };
        if in_place.is_none() {
            for row in 0..block.rows {
                let sums = sums.wrapping_add(row * sums_stride).cast_const();
                // SAFETY: one row of the sums in the scratch, one row of the result.
                unsafe { tile::convert(simd, block.columns, sums, block.c.wrapping_add(row * block.c_stride)) };
            }
        }
        SCRATCH.set(scratch);
    }
}

/// A block and the memory to compute it in.
struct Work<E> {
    block: Block<E>,
    level: Level,
    /// Room for [`ROWS`] rows, or all of the block's if they are fewer.
    packed_a: *mut f32,
    /// Room for [`DEPTH`] rows of all of the block's columns, rounded up to whole vectors.
    packed_b: *mut f32,
    /// The result in f32.
    sums: *mut f32,
    /// Elements between rows of the result in f32.
    sums_stride: usize,
}

/// One panel of `B`, packed or in place.
#[derive(Clone)]
struct Panel<B> {
    pointer: *const B,
    stride: usize,
    columns: Range<usize>,
}

impl<E: Accumulate> Work<E> {
    /// All passes over the depth.
    ///
    /// # Safety
    /// The block is valid in the sense of [`Multiply::new`], the other pointers have the room that their fields state.
    #[inline(always)]
    unsafe fn multiply<S: Simd>(&self, simd: S) {
        let block = &self.block;
        // Equal passes: a short last one would spend its time reading and writing the result.
        let limit = if block.few_rows { STREAMS } else { DEPTH };
        let passes = block.depth.div_ceil(limit).max(1);
        let step = block.depth.div_ceil(passes);
        let width = PANEL * S::LANES;
        for pass in 0..passes {
            let depths = pass * step..((pass + 1) * step).min(block.depth);
            if pass > 0 && depths.is_empty() {
                break;
            }
            let b = block.b.wrapping_add(depths.start * block.b_stride);
            if !block.few_rows {
                // SAFETY: `depth` rows of `b`, and room for as many.
                unsafe { tile::pack_panels(simd, depths.len(), block.columns, b, block.b_stride, self.packed_b) };
            }
            for row in (0..block.rows).step_by(ROWS) {
                let rows = row..(row + ROWS).min(block.rows);
                let a = block.a.wrapping_add(row * block.a_stride + depths.start);
                // SAFETY: these rows of `a`, and room for as many.
                unsafe { tile::pack_rows(simd, rows.len(), depths.len(), a, block.a_stride, self.packed_a) };
                for column in (0..block.columns).step_by(width) {
                    let columns = column..(column + width).min(block.columns);
                    let vectors = columns.len().next_multiple_of(S::LANES);
                    if !block.few_rows {
                        let pointer = self.packed_b.wrapping_add(depths.len() * column).cast_const();
                        let panel = Panel { pointer, stride: vectors, columns };
                        // SAFETY: packed above.
                        unsafe { self.strip(depths.clone(), rows.clone(), panel) };
                    } else if columns.len() == vectors {
                        let panel = Panel { pointer: b.wrapping_add(column), stride: block.b_stride, columns };
                        // SAFETY: whole vectors of `b` are readable in place.
                        unsafe { self.strip(depths.clone(), rows.clone(), panel) };
                    } else {
                        let b = b.wrapping_add(column);
                        let len = columns.len();
                        // SAFETY: the last columns of `b`, and room for them.
                        unsafe { tile::pack_panels(simd, depths.len(), len, b, block.b_stride, self.packed_b) };
                        let panel = Panel { pointer: self.packed_b.cast_const(), stride: vectors, columns };
                        // SAFETY: just packed.
                        unsafe { self.strip(depths.clone(), rows.clone(), panel) };
                    }
                }
            }
        }
    }

    /// All tiles of some rows that use one panel of `B`.
    ///
    /// # Safety
    /// `rows` of `a` are packed, and the panel has as many rows as `depths`.
    unsafe fn strip<B: Element>(&self, depths: Range<usize>, rows: Range<usize>, panel: Panel<B>) {
        let tile = Tile {
            depth: depths.len(),
            rows: 0,
            columns: panel.columns.len(),
            a: self.packed_a.cast_const(),
            b: panel.pointer,
            b_stride: panel.stride,
            c: self.sums.wrapping_add(rows.start * self.sums_stride + panel.columns.start),
            c_stride: self.sums_stride,
            accumulate: depths.start > 0,
        };
        // SAFETY: the strip lies in the block, whose memory is valid by the caller's promise.
        unsafe { tile.strip(self.level, rows.len()) };
    }
}
