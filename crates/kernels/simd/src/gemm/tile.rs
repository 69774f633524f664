//! The inner loops of the matrix product: packing, and one tile of the result in registers.
//!
//! `A` is packed row by row with a constant stride, so a row costs no address register and packing
//! is plain copying. The stride is not a multiple of 4 KiB, so that rows do not compete for the
//! same cache sets. `B` is packed into panels three vectors wide, so that a tile reads it as one
//! stream.

use crate::{CacheLine, Element, Level, Simd, Task};

/// Maximum depth of one pass over the tiles, as measured: a panel of `B` of this depth fits the L1
/// cache and streams well from L2.
pub const DEPTH: usize = 256;
/// Elements between rows of packed `A`.
pub const A_STRIDE: usize = DEPTH + 16;
/// Vectors of a full panel of `B`.
pub const PANEL: usize = 3;
/// Prefetch distance of packing, in rows.
const ROWS_AHEAD: usize = 4;
/// Maximum rows of a tile at any level.
const MAX_ROWS: usize = 9;

/// A tile of the result, and its operands.
#[derive(Clone, Copy, Debug)]
pub struct Tile<B> {
    /// Summed elements, at most [`DEPTH`].
    pub depth: usize,
    /// Rows of the tile, at most the level's `TILE_ROWS`.
    pub rows: usize,
    /// Columns of the tile, at most [`PANEL`] vectors.
    pub columns: usize,
    /// Packed `A`: `rows` rows, [`A_STRIDE`] apart.
    pub a: *const f32,
    /// `B`: `depth` rows, `b_stride` apart, each as wide as `columns` rounded up to whole vectors.
    pub b: *const B,
    /// Elements between rows of `b`.
    pub b_stride: usize,
    /// First element of the tile in the result.
    pub c: *mut f32,
    /// Elements between rows of `c`.
    pub c_stride: usize,
    /// Whether to add to `c` instead of overwriting it.
    pub accumulate: bool,
}

/// Rows of a panel as a task; see [`Tile::run_strip`].
struct Strip<B> {
    first: Tile<B>,
    rows: usize,
}

impl<B: Element> Task for Strip<B> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: only `Tile::run_strip` makes one, and its caller guarantees the memory.
        unsafe { self.first.compute_strip(simd, self.rows) };
    }
}

impl Tile<f32> {
    /// Computes `rows` rows of a panel. This tile is the first of them; its own `rows` field is
    /// ignored.
    ///
    /// Not generic, so that the tiles are compiled here, once for all callers.
    ///
    /// # Safety
    /// The sizes are within the limits that the fields state. For `rows` rows, however many, the
    /// memory they span from `a` and `b` is readable, from `c` readable and writable and disjoint
    /// from the other two.
    #[inline(never)]
    pub unsafe fn strip(self, level: Level, rows: usize) {
        // SAFETY: the caller's guarantee.
        unsafe { self.run_strip(level, rows) };
    }
}

impl<B: Element> Tile<B> {
    /// As `strip`, for any element type.
    ///
    /// # Safety
    /// As for `strip`.
    pub(super) unsafe fn run_strip(self, level: Level, rows: usize) {
        level.run(Strip { first: self, rows });
    }

    /// Computes the tile.
    ///
    /// # Safety
    /// The sizes are within the limits that the fields state; the memory they span from `a` and `b`
    /// is readable, from `c` readable and writable and disjoint from the other two.
    #[inline(always)]
    unsafe fn compute<S: Simd>(&self, simd: S) {
        match self.columns.div_ceil(S::LANES) {
            // SAFETY: the caller's guarantee; this many vectors hold the columns.
            PANEL => unsafe { self.compute_wide::<S, PANEL>(simd) },
            // SAFETY: as above.
            2 => unsafe { self.compute_wide::<S, 2>(simd) },
            // SAFETY: as above.
            _ => unsafe { self.compute_wide::<S, 1>(simd) },
        }
    }

    /// # Safety
    /// As for [`Tile::run_strip`].
    #[inline(always)]
    unsafe fn compute_strip<S: Simd>(mut self, simd: S, rows: usize) {
        // Rows are spread evenly: a last tile of one or two rows would leave most of the arithmetic
        // units idle.
        let tiles = rows.div_ceil(S::TILE_ROWS);
        for index in 0..tiles {
            self.rows = rows / tiles + usize::from(index < rows % tiles);
            // SAFETY: the tiles follow each other within the rows that the caller guarantees.
            unsafe { self.compute(simd) };
            self.a = self.a.wrapping_add(self.rows * A_STRIDE);
            self.c = self.c.wrapping_add(self.rows * self.c_stride);
        }
    }

    /// Dispatches on the number of rows.
    ///
    /// # Safety
    /// As for [`Tile::compute`], and `V` vectors hold the columns.
    #[inline(always)]
    unsafe fn compute_wide<S: Simd, const V: usize>(&self, simd: S) {
        /// The arm for one number of rows.
        macro_rules! rows {
            ($($rows:literal)*) => {
                match self.rows {
                    // A level never requests more rows than fit its registers; arms for more rows
                    // compile to nothing.
                    $($rows if const { $rows <= S::TILE_ROWS } => {
                        // SAFETY: the caller's guarantee; the tile has this many rows.
                        unsafe { self.in_registers::<S, $rows, V>(simd) }
                    })*
                    rows => debug_assert!(rows == 0, "{rows} rows in a tile of at most {}", S::TILE_ROWS),
                }
            };
        }
        const { assert!(S::TILE_ROWS <= MAX_ROWS) };
        rows!(1 2 3 4 5 6 7 8 9);
    }

    /// The product: `R` rows by `V` vectors of sums in registers.
    ///
    /// # Safety
    /// As for [`Tile::compute`], with `R` rows, and columns that fill more than `V - 1` and at most
    /// `V` vectors.
    #[inline(always)]
    unsafe fn in_registers<S: Simd, const R: usize, const V: usize>(&self, simd: S) {
        // The result is accessed once per pass, so it has been evicted from the caches near the
        // core. Prefetching it now has it ready when the sums are.
        for r in 0..R {
            for v in 0..V {
                simd.prefetch(self.c.wrapping_add(r * self.c_stride + v * S::LANES).cast_const().cast());
            }
        }
        let mut sums = [[simd.splat(0.0); V]; R];
        let mut b = self.b;
        let mut a = self.a;
        for _ in 0..self.depth {
            let mut row = [simd.splat(0.0); V];
            for (v, vector) in row.iter_mut().enumerate() {
                // SAFETY: row of `b` within `depth`; each of its `V` vectors is readable as the
                // caller guarantees.
                *vector = unsafe { B::load(simd, b.wrapping_add(v * S::LANES)) };
            }
            for (r, sums) in sums.iter_mut().enumerate() {
                // SAFETY: row `r` of packed `a`, within its depth.
                let factor = simd.splat(unsafe { *a.wrapping_add(r * A_STRIDE) });
                for (sum, b) in sums.iter_mut().zip(row) {
                    *sum = simd.mul_add(factor, b, *sum);
                }
            }
            a = a.wrapping_add(1);
            b = b.wrapping_add(self.b_stride);
        }
        // The loops below are short on purpose: sums stay in registers only if the compiler unrolls
        // them completely.
        if self.columns == V * S::LANES {
            if self.accumulate {
                for (r, sums) in sums.iter_mut().enumerate() {
                    for (v, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: vector `v` of row `r` of the tile.
                        let old = unsafe { simd.load(self.c.wrapping_add(r * self.c_stride + v * S::LANES)) };
                        *sum = simd.add(old, *sum);
                    }
                }
            }
            // SAFETY: the tile is `R` rows of `V` whole vectors.
            unsafe { store(simd, &sums, self.c, self.c_stride) };
        } else {
            let mut whole = [[0.0; PANEL * CacheLine::WORDS]; R];
            // SAFETY: `R` rows with room for the widest panel.
            unsafe { store(simd, &sums, whole.as_mut_ptr().cast(), PANEL * CacheLine::WORDS) };
            // SAFETY: the caller guarantees the columns of each row.
            unsafe { self.write_narrow(&whole) };
        }
    }

    /// Writes a tile that ends within a vector, one element at a time; this is rare.
    ///
    /// # Safety
    /// As for [`Tile::compute`], with as many rows as `whole` has.
    #[inline(never)]
    unsafe fn write_narrow(&self, whole: &[[f32; PANEL * CacheLine::WORDS]]) {
        for (r, row) in whole.iter().enumerate() {
            for (i, &sum) in row[..self.columns].iter().enumerate() {
                let c = self.c.wrapping_add(r * self.c_stride + i);
                // SAFETY: readable as the caller guarantees.
                let old = if self.accumulate { unsafe { *c } } else { 0.0 };
                // SAFETY: writable as the caller guarantees.
                unsafe { *c = old + sum };
            }
        }
    }
}

/// Writes rows of whole vectors, `stride` apart.
///
/// # Safety
/// `R` rows of `V` vectors from `target` on are writable.
#[inline(always)]
unsafe fn store<S: Simd, const R: usize, const V: usize>(
    simd: S,
    rows: &[[S::Vector; V]; R],
    target: *mut f32,
    stride: usize,
) {
    for (r, row) in rows.iter().enumerate() {
        for (v, &vector) in row.iter().enumerate() {
            // SAFETY: vector `v` of row `r`, writable as the caller guarantees.
            unsafe { simd.store(target.wrapping_add(r * stride + v * S::LANES), vector) };
        }
    }
}

/// Packs `rows` rows of `depth` elements, `stride` apart, into rows [`A_STRIDE`] apart.
///
/// # Safety
/// The source rows are readable, the target rows writable, and `depth` is at most [`DEPTH`].
#[inline(always)]
pub unsafe fn pack_rows<S: Simd, E: Element>(
    simd: S,
    rows: usize,
    depth: usize,
    source: *const E,
    stride: usize,
    target: *mut f32,
) {
    for row in 0..rows {
        // The hardware prefetcher does not follow short segments of rows that are far apart.
        let ahead = source.wrapping_add((row + ROWS_AHEAD) * stride);
        (0..depth).step_by(CacheLine::WORDS).for_each(|i| simd.prefetch(ahead.wrapping_add(i).cast()));
        let target = target.wrapping_add(row * A_STRIDE);
        // SAFETY: one row of each as the caller guarantees.
        unsafe { convert(simd, depth, source.wrapping_add(row * stride), target) };
    }
}

/// Packs `depth` rows of `columns` elements, `stride` apart, into panels of [`PANEL`] vectors, one
/// panel after the other; the last is narrower and zero-padded to a multiple of the vector length.
///
/// Packs row by row through all panels, so that the source is read as one stream.
///
/// # Safety
/// The source rows are readable, and `depth` times the columns, rounded up to whole vectors, of the
/// target are writable.
#[inline(always)]
pub unsafe fn pack_panels<S: Simd, E: Element>(
    simd: S,
    depth: usize,
    columns: usize,
    source: *const E,
    stride: usize,
    target: *mut f32,
) {
    let width = PANEL * S::LANES;
    let last = columns / width * width;
    for row in 0..depth {
        let source = source.wrapping_add(row * stride);
        // The hardware prefetcher does not anticipate the start of a row.
        simd.prefetch(source.wrapping_add(2 * stride).cast());
        for column in (0..last).step_by(width) {
            let target = target.wrapping_add(depth * column + row * width);
            for v in 0..PANEL {
                // SAFETY: a whole vector within the row.
                let vector = unsafe { E::load(simd, source.wrapping_add(column + v * S::LANES)) };
                // SAFETY: a whole vector of row `row` of the panel.
                unsafe { simd.store(target.wrapping_add(v * S::LANES), vector) };
            }
        }
        let rest = (columns - last).next_multiple_of(S::LANES);
        let target = target.wrapping_add(depth * last + row * rest);
        for column in (last..columns).step_by(S::LANES) {
            let count = S::LANES.min(columns - column);
            // SAFETY: the rest of the row, or a whole vector of it.
            let vector = unsafe { E::load_first(simd, source.wrapping_add(column), count) };
            // SAFETY: a whole vector of row `row` of the last panel, which is whole vectors wide.
            unsafe { simd.store(target.wrapping_add(column - last), vector) };
        }
    }
}

/// Copies `count` elements and converts them.
///
/// # Safety
/// `source` is readable and `target` writable for `count` elements.
#[inline(always)]
pub unsafe fn convert<S: Simd, From: Element, To: Element>(
    simd: S,
    count: usize,
    source: *const From,
    target: *mut To,
) {
    let whole = count / S::LANES * S::LANES;
    let mut i = 0;
    while i < whole {
        // SAFETY: a whole vector within `count`.
        let v = unsafe { From::load(simd, source.wrapping_add(i)) };
        // SAFETY: a whole vector within `count`.
        unsafe { To::store(simd, target.wrapping_add(i), v) };
        i += S::LANES;
    }
    if whole < count {
        // SAFETY: the rest of `count`.
        let v = unsafe { From::load_first(simd, source.wrapping_add(whole), count - whole) };
        // SAFETY: the rest of `count`.
        unsafe { To::store_first(simd, target.wrapping_add(whole), v, count - whole) };
    }
}
