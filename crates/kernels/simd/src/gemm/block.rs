//! A block of the result, computed by one thread: the loops around the tiles, and the thread's
//! packing buffer.

use std::cell::Cell;
use std::ops::Range;

use super::tile::{self, A_STRIDE, DEPTH, PANEL, Tile};
use crate::{CacheLine, Element, Level, Simd, Task};

/// Depth of a pass that reads `B` in place: each row of `B` is one of this many streams that the
/// hardware prefetches.
const STREAMS: usize = 16;

/// Maximum rows of `A` packed at once: they stay in the L2 cache while all panels of `B` are read.
const ROWS: usize = 252;

thread_local! {
    /// Packing buffer, reused for the next block of this thread.
    static SCRATCH: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

/// A block of a product: `c = a * b`.
#[derive(Clone, Copy, Debug)]
pub struct Block<E> {
    /// Rows of `a` and `c`.
    pub rows: usize,
    /// Columns of `b` and `c`.
    pub columns: usize,
    /// Columns of `a`, which are rows of `b`.
    pub depth: usize,
    /// The first element of the left matrix.
    pub a: *const E,
    /// Elements between rows of `a`.
    pub a_stride: usize,
    /// The first element of the right matrix.
    pub b: *const E,
    /// Elements between rows of `b`.
    pub b_stride: usize,
    /// The first element of the result.
    pub c: *mut E,
    /// Elements between rows of `c`.
    pub c_stride: usize,
    /// Whether the whole product has so few rows that each element of `b` is read once, so that
    /// packing it does not pay off.
    pub few_rows: bool,
}

/// Element types of matrix products.
pub trait GemmElement: Element {
    /// The result itself, if f32 sums can be kept in it between passes.
    #[doc(hidden)]
    fn in_place(c: *mut Self) -> Option<*mut f32>;

    /// Computes a block.
    ///
    /// # Safety
    /// `rows x depth` elements from `a` and `depth x columns` from `b` are readable and `rows x
    /// columns` from `c` writable, with the block's strides; nothing else writes to them, and `c`
    /// is disjoint from the others.
    unsafe fn multiply(level: Level, block: Block<Self>);
}

impl GemmElement for f32 {
    fn in_place(c: *mut f32) -> Option<*mut f32> {
        Some(c)
    }

    #[inline(never)]
    unsafe fn multiply(level: Level, block: Block<f32>) {
        // The library chooses its own instructions, so it replaces our tiles only at the CPU's best
        // level.
        //
        // SAFETY: the caller's guarantee.
        if level != Level::best() || !unsafe { multiply_by_library(&block) } {
            level.run(Multiply { block, level });
        }
    }
}

impl GemmElement for half::f16 {
    fn in_place(_: *mut half::f16) -> Option<*mut f32> {
        None
    }

    #[inline(never)]
    unsafe fn multiply(level: Level, block: Block<half::f16>) {
        level.run(Multiply { block, level });
    }
}

/// Computes the block with the `gemm` crate where that is faster. Returns whether it did.
///
/// # Safety
/// As for [`GemmElement::multiply`].
unsafe fn multiply_by_library(block: &Block<f32>) -> bool {
    use gemm_common::Parallelism;

    // Below this depth, the library's algorithm, and so the rounding, depends on the shape of a
    // block. Debug builds always take our tiles, so that tests cover them; `./test native` covers
    // the library.
    if cfg!(debug_assertions) || block.few_rows || block.depth < 16 {
        return false;
    }
    let [a_stride, b_stride, c_stride] =
        [block.a_stride, block.b_stride, block.c_stride].map(|stride| isize::try_from(stride).unwrap_or(isize::MAX));
    let multiply = gemm_f32::gemm::f32::get_gemm_fn();
    let (rows, columns, depth) = (block.rows, block.columns, block.depth);
    // The library is fastest with a column-major result. Our row-major result is the transpose of
    // that: the product of the transposed operands in reverse order.
    //
    // SAFETY: the caller guarantees the three matrices, which are row-major with these strides.
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

/// A block as a task. Only [`GemmElement::multiply`] makes one; its caller guarantees the memory.
struct Multiply<E> {
    block: Block<E>,
    level: Level,
}

impl<E: GemmElement> Task for Multiply<E> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { block, level } = self;
        let a_size = ROWS.min(block.rows) * A_STRIDE;
        let b_size = DEPTH * block.columns.next_multiple_of(S::LANES);
        let in_place = E::in_place(block.c);
        let c_size = if in_place.is_some() { 0 } else { block.rows * block.columns };
        // Taken out of its cell instead of borrowed in a closure, because the closure would be
        // compiled for the baseline CPU.
        let mut scratch = SCRATCH.take();
        let lines = (a_size + b_size + c_size).div_ceil(CacheLine::WORDS);
        if scratch.len() < lines {
            scratch.resize(lines, CacheLine::ZERO);
        }
        let packed_a = scratch.as_mut_ptr().cast::<f32>();
        let packed_b = packed_a.wrapping_add(a_size);
        let (sums, sums_stride) = match in_place {
            Some(c) => (c, block.c_stride),
            None => (packed_b.wrapping_add(b_size), block.columns),
        };
        let product = BlockProduct { block, level, packed_a, packed_b, sums, sums_stride };
        // SAFETY: the block is valid by `GemmElement::multiply`. The scratch has room for the three
        // areas in a row; the sums are either in it or in the block's own f32 result.
        unsafe { product.multiply(simd) };
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

/// A block and its working memory.
struct BlockProduct<E> {
    block: Block<E>,
    level: Level,
    /// Room for [`ROWS`] rows, or for all rows of the block if they are fewer.
    packed_a: *mut f32,
    /// Room for [`DEPTH`] rows of all columns of the block, rounded up to whole vectors.
    packed_b: *mut f32,
    /// The result in f32.
    sums: *mut f32,
    /// Elements between rows of the result in f32.
    sums_stride: usize,
}

/// A panel of `B`, packed or in place.
#[derive(Clone)]
struct Panel<B> {
    pointer: *const B,
    stride: usize,
    columns: Range<usize>,
}

impl<E: GemmElement> BlockProduct<E> {
    /// Runs all passes over the depth.
    ///
    /// # Safety
    /// The block is valid in the sense of [`GemmElement::multiply`]; the other pointers have the
    /// room that their fields state.
    #[inline(always)]
    unsafe fn multiply<S: Simd>(&self, simd: S) {
        let block = &self.block;
        // Passes of equal depth: a short last pass would spend its time on reading and writing the
        // result.
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

    /// Computes all tiles of some rows that use one panel of `B`.
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
        // SAFETY: the strip lies in the block, whose memory is valid as the caller guarantees.
        unsafe { tile.run_strip(self.level, rows.len()) };
    }
}
