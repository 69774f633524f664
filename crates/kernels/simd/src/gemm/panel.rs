//! Products with a matrix that is packed once, in panels of columns.
//!
//! Rows of `x` are read in place: a tile broadcasts one element of each row and multiplies it with
//! a row of the panel.

use super::tile::PANEL;
use crate::{CacheLine, Level, Simd, Task};

/// Maximum rows of a tile; more rows would need more address registers than the CPU has.
pub const PANEL_ROWS: usize = 8;

/// Packs a matrix of `k` rows and `n` columns, and a bias by column, for `matmul_packed` of a
/// level: first the bias, padded to whole vectors, then panels of three vectors, row by row.
pub fn pack_columns(level: Level, matrix: &[f32], bias: Option<&[f32]>, [k, n]: [usize; 2]) -> Vec<f32> {
    let lanes = level.lanes();
    let width = n.next_multiple_of(lanes);
    let mut packed = Vec::with_capacity(width * (k + 1));
    packed.extend((0..width).map(|column| bias.and_then(|bias| bias.get(column)).copied().unwrap_or(0.0)));
    for first in (0..width).step_by(PANEL * lanes) {
        let columns = first..(first + PANEL * lanes).min(width);
        for row in matrix.chunks_exact(n.max(1)).take(k) {
            let there = columns.start..columns.end.min(n);
            packed.extend_from_slice(&row[there.clone()]);
            packed.extend(std::iter::repeat_n(0.0, columns.len() - there.len()));
        }
    }
    packed
}

/// Rows of a product with one panel.
#[derive(Clone, Copy, Debug)]
pub struct PanelTile {
    /// The first row of `x`.
    pub x: *const f32,
    /// Elements between rows of `x`.
    pub x_stride: usize,
    /// Elements between the columns of `x`.
    pub x_step: usize,
    /// Columns of `x`, rows of the panel.
    pub depth: usize,
    /// The panel: `depth` rows of as many vectors as hold the columns.
    pub w: *const f32,
    /// Initial values of the sums, padded to whole vectors.
    pub bias: Option<*const f32>,
    /// The first row of the result.
    pub y: *mut f32,
    /// Elements between rows of `y`.
    pub y_stride: usize,
    /// Columns of the result, at most [`PANEL`] vectors.
    pub columns: usize,
    /// Whether to add to `y` instead of overwriting it.
    pub add: bool,
}

/// Rows of a panel as a task; see [`PanelTile::rows`].
struct PanelTask(PanelTile, usize);

impl Task for PanelTask {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: only `PanelTile::rows` makes one, and its caller guarantees the memory.
        unsafe { self.0.panel(simd, self.1) };
    }
}

impl PanelTile {
    /// Computes `rows` rows.
    ///
    /// # Safety
    /// `rows` rows of `x` and the panel are readable, and as many rows of `y` are readable and
    /// writable; nothing else touches those of `y`.
    #[inline(never)]
    pub unsafe fn rows(self, level: Level, rows: usize) {
        // A task of its own, so that it is compiled once for all callers.
        level.run(PanelTask(self, rows));
    }

    /// # Safety
    /// As for [`PanelTile::rows`].
    #[inline(always)]
    unsafe fn panel<S: Simd>(self, simd: S, rows: usize) {
        match self.columns.div_ceil(S::LANES) {
            // SAFETY: the caller's guarantee; this many vectors hold the columns.
            1 => unsafe { self.strip::<S, 1>(simd, rows) },
            // SAFETY: as above.
            2 => unsafe { self.strip::<S, 2>(simd, rows) },
            // SAFETY: as above.
            _ => unsafe { self.strip::<S, PANEL>(simd, rows) },
        }
    }

    /// # Safety
    /// As for [`PanelTile::rows`], and `V` vectors hold the columns.
    #[inline(always)]
    unsafe fn strip<S: Simd, const V: usize>(mut self, simd: S, rows: usize) {
        let mut remaining = rows;
        while remaining > 0 {
            /// Computes a number of rows and evaluates to it.
            macro_rules! rows {
                ($rows:expr) => {{
                    // SAFETY: that many rows are left of those that the caller guarantees.
                    unsafe { self.compute::<S, { $rows }, V>(simd) };
                    $rows
                }};
            }
            let count = match remaining {
                // Only the widest level has registers for the sums of that many rows.
                PANEL_ROWS.. if const { S::LANES == 16 } => rows!(PANEL_ROWS),
                4.. => rows!(4),
                2.. => rows!(2),
                _ => rows!(1),
            };
            self.x = self.x.wrapping_add(count * self.x_stride);
            self.y = self.y.wrapping_add(count * self.y_stride);
            remaining -= count;
        }
    }

    /// The product: `R` rows by `V` vectors of sums in registers.
    ///
    /// # Safety
    /// `R` rows of `x`, `R` writable rows of `y` and `depth` rows of `w` exist; columns fill more
    /// than `V - 1` and at most `V` vectors.
    #[inline(always)]
    unsafe fn compute<S: Simd, const R: usize, const V: usize>(&self, simd: S) {
        let mut sums = [[simd.splat(0.0); V]; R];
        if let Some(bias) = self.bias {
            for v in 0..V {
                // SAFETY: the bias is padded to whole vectors.
                let bias = unsafe { simd.load(bias.wrapping_add(v * S::LANES)) };
                sums.iter_mut().for_each(|row| row[v] = bias);
            }
        }
        // Each pointer serves three rows: one stride register suffices for all of them.
        const { assert!(R <= 9) };
        let mut starts = [0, 3, 6].map(|row| self.x.wrapping_add(row * self.x_stride));
        let mut w = self.w;
        for _ in 0..self.depth {
            let mut weights = [simd.splat(0.0); V];
            for (v, weight) in weights.iter_mut().enumerate() {
                // SAFETY: a row of the panel is `V` vectors.
                *weight = unsafe { simd.load(w.wrapping_add(v * S::LANES)) };
            }
            for (r, row) in sums.iter_mut().enumerate() {
                // SAFETY: row `r` of the block, at a column within the depth.
                let x = simd.splat(unsafe { *starts[r / 3].wrapping_add(r % 3 * self.x_stride) });
                for (sum, &weight) in row.iter_mut().zip(&weights) {
                    *sum = simd.mul_add(x, weight, *sum);
                }
            }
            starts.iter_mut().for_each(|start| *start = start.wrapping_add(self.x_step));
            w = w.wrapping_add(V * S::LANES);
        }
        // The loops are plain and short on purpose: sums stay in registers only if the compiler
        // unrolls them completely.
        if self.columns == V * S::LANES {
            if self.add {
                for (r, row) in sums.iter_mut().enumerate() {
                    for (v, sum) in row.iter_mut().enumerate() {
                        // SAFETY: a whole vector of the row.
                        let old = unsafe { simd.load(self.y.wrapping_add(r * self.y_stride + v * S::LANES)) };
                        *sum = simd.add(*sum, old);
                    }
                }
            }
            for (r, row) in sums.iter().enumerate() {
                for (v, &sum) in row.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe { simd.store(self.y.wrapping_add(r * self.y_stride + v * S::LANES), sum) };
                }
            }
        } else {
            let mut whole = [[0.0; PANEL * CacheLine::WORDS]; R];
            for (whole, row) in whole.iter_mut().zip(&sums) {
                for (v, &sum) in row.iter().enumerate() {
                    // SAFETY: a row has room for the widest panel.
                    unsafe { simd.store(whole.as_mut_ptr().wrapping_add(v * S::LANES), sum) };
                }
            }
            // SAFETY: the caller guarantees the columns of each row.
            unsafe { self.write_narrow(&whole) };
        }
    }

    /// Writes rows that end within a vector, one element at a time; this is rare.
    ///
    /// # Safety
    /// As for [`PanelTile::rows`], with as many rows as `whole` has.
    #[inline(never)]
    unsafe fn write_narrow(&self, whole: &[[f32; PANEL * CacheLine::WORDS]]) {
        for (r, row) in whole.iter().enumerate() {
            for (i, &sum) in row[..self.columns].iter().enumerate() {
                let y = self.y.wrapping_add(r * self.y_stride + i);
                // SAFETY: readable as the caller guarantees.
                let old = if self.add { unsafe { *y } } else { 0.0 };
                // SAFETY: writable as the caller guarantees.
                unsafe { *y = old + sum };
            }
        }
    }
}
