//! `matmul_packed`: a product with a matrix that was packed once, with what follows it. Only the CPU has it.
//!
//! Rows of `x` are read where they lie: a tile spreads one element of each over the lanes and multiplies it with a row of
//! the packed matrix.

use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access, Extent};
use super::super::simd::{Level, Line, Simd, Task};
use super::super::{math, parts, single};
use super::tile::PANEL;
use crate::params;

/// Elements of the summed dimension in one pass: so many rows of a panel stream well from the second-level cache.
const DEPTH: usize = 384;
/// Rows of a tile; more would need more addresses than there are registers.
const ROWS: usize = 8;
/// Multiplications that are worth a part.
const MIN_WORK: u64 = 1 << 19;
/// Parts for each worker: whoever is free takes the next.
const PER_WORKER: usize = 4;

/// A matrix of `k` rows and `n` columns, and a bias by column, packed for `matmul_packed` of a level: first the bias, filled
/// up to whole vectors, then panels of three vectors, row by row.
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

/// The kernel.
pub(in super::super) struct MatmulPacked(pub(in super::super) Level);

/// Panels of columns by rows, for the threads.
#[derive(Clone, Copy)]
struct Plan {
    panels: usize,
    rows: usize,
    down: usize,
    across: usize,
}

impl Plan {
    fn new(p: &params::MatmulPacked, lanes: usize, workers: usize) -> Self {
        let (rows, panels) = (p.m as usize, (p.n as usize).div_ceil(PANEL * lanes));
        let work = u64::from(p.m).saturating_mul(p.n.into()).saturating_mul(p.k.into());
        let most = usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        let wanted = if workers > 1 { most.min(PER_WORKER * workers) } else { 1 };
        let across = wanted.min(panels).max(1);
        let down = wanted.div_ceil(across).min(rows.div_ceil(ROWS)).max(1);
        Self { panels, rows, down, across }
    }

    fn parts(&self) -> usize {
        if self.panels * self.rows == 0 { 0 } else { self.down * self.across }
    }

    /// The panels and rows of a part.
    fn area(&self, part: usize) -> (Range<usize>, Range<usize>) {
        let panels = parts::share(self.panels, 1, part % self.across, self.across);
        (panels, parts::share(self.rows, ROWS, part / self.across, self.down))
    }
}

// SAFETY: `prepare` holds the three matrices against their bindings and rejects results that overlap an input; the areas of
// a plan tile the result, and each belongs to one part.
unsafe impl NativeKernel for MatmulPacked {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::MatmulPacked = check::constants(launch)?;
        let [x, w, y] = check::bindings::<3>(launch)?;
        let width = p.n.checked_next_multiple_of(self.0.lanes() as u32).ok_or("too many columns")?;
        let x = Access::read::<f32>("x", x, Extent::product(&[p.m, p.k]))?;
        let rows = p.k.checked_add(1).ok_or("too many rows")?;
        let w = Access::read::<f32>("w", w, Extent::product(&[width, rows]))?;
        let y = Access::write::<f32>("y", y, Extent::product(&[p.m, p.n]))?;
        y.apart_from(&x)?;
        y.apart_from(&w)?;
        Ok(Plan::new(&p, self.0.lanes(), launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<params::MatmulPacked>(launch) else { return };
        let [x, w, y] = [0, 1, 2].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let (panels, rows) = Plan::new(&p, self.0.lanes(), launch.workers).area(part);
        Area { p: &p, x: x.cast_const(), w: w.cast_const(), y, panels, rows }.compute(self.0);
    }
}

/// What a part computes.
struct Area<'a> {
    p: &'a params::MatmulPacked,
    x: *const f32,
    w: *const f32,
    y: *mut f32,
    panels: Range<usize>,
    rows: Range<usize>,
}

/// Rows of one panel.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// The first row of `x`, and elements between rows.
    pub(crate) x: *const f32,
    pub(crate) x_stride: usize,
    /// Elements between those of a row.
    pub(crate) x_step: usize,
    /// Elements of a row that count.
    pub(crate) depth: usize,
    /// The panel: `depth` rows of as many vectors as hold the columns.
    pub(crate) w: *const f32,
    /// What sums start with.
    pub(crate) bias: Option<*const f32>,
    /// The first row of the result, and elements between rows.
    pub(crate) y: *mut f32,
    pub(crate) y_stride: usize,
    /// At most [`PANEL`] vectors.
    pub(crate) columns: usize,
    /// Whether sums are added to what is in `y`.
    pub(crate) add: bool,
}

impl Area<'_> {
    fn compute(&self, level: Level) {
        let lanes = level.lanes();
        let (k, n) = (self.p.k as usize, self.p.n as usize);
        let width = n.next_multiple_of(lanes);
        let passes = k.div_ceil(DEPTH).max(1);
        for pass in 0..passes {
            let depths = parts::share(k, 1, pass, passes);
            for panel in self.panels.clone() {
                let first = panel * PANEL * lanes;
                let vectors = ((width - first) / lanes).min(PANEL);
                let tile = Tile {
                    x: self.x.wrapping_add(self.rows.start * k + depths.start),
                    x_stride: k,
                    x_step: 1,
                    depth: depths.len(),
                    w: self.w.wrapping_add(width + first * k + depths.start * vectors * lanes),
                    bias: (pass == 0).then(|| self.w.wrapping_add(first)),
                    y: self.y.wrapping_add(self.rows.start * n + first),
                    y_stride: n,
                    columns: (n - first).min(PANEL * lanes),
                    add: pass > 0 || self.p.flags & params::MatmulPacked::ADD != 0,
                };
                // SAFETY: `prepare` held the matrices against the bindings; these rows of this panel are this part's alone.
                unsafe { tile.rows(level, self.rows.len()) };
                if pass + 1 == passes {
                    for row in self.rows.clone() {
                        let y = self.y.wrapping_add(row * n + first);
                        // SAFETY: a row of the panel, as above.
                        let y = unsafe { std::slice::from_raw_parts_mut(y, tile.columns) };
                        level.run(Finish { flags: self.p.flags, y });
                    }
                }
            }
        }
    }
}

/// The function behind the sums.
struct Finish<'a> {
    flags: u32,
    y: &'a mut [f32],
}

impl Task for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        match self.flags & !params::MatmulPacked::ADD {
            params::MatmulPacked::RELU => self.y.iter_mut().for_each(|y| *y = math::relu(*y)),
            params::MatmulPacked::GELU => self.y.iter_mut().for_each(|y| *y = single::gelu(*y)),
            _ => {}
        }
    }
}

/// So many rows of a panel as a task, see [`Tile::rows`].
struct Rows(Tile, usize);

impl Task for Rows {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        // SAFETY: made by `Tile::rows` alone, whose caller vouches for the memory.
        unsafe { self.0.panel(simd, self.1) };
    }
}

impl Tile {
    /// So many rows.
    ///
    /// # Safety
    /// As many rows of `x` and `y`, the latter writable, and the panel are there; nothing else touches those of `y`.
    pub(crate) unsafe fn rows(self, level: Level, rows: usize) {
        // A task of its own, so that it is compiled once for all that use it.
        level.run(Rows(self, rows));
    }

    /// # Safety
    /// As for [`Tile::rows`].
    #[inline(always)]
    unsafe fn panel<S: Simd>(self, simd: S, rows: usize) {
        match self.columns.div_ceil(S::LANES) {
            // SAFETY: the caller's promise; so many vectors hold the columns.
            1 => unsafe { self.strip::<S, 1>(simd, rows) },
            // SAFETY: as above.
            2 => unsafe { self.strip::<S, 2>(simd, rows) },
            // SAFETY: as above.
            _ => unsafe { self.strip::<S, PANEL>(simd, rows) },
        }
    }

    /// # Safety
    /// As for [`Tile::rows`], and `V` vectors hold the columns.
    #[inline(always)]
    unsafe fn strip<S: Simd, const V: usize>(mut self, simd: S, rows: usize) {
        let mut left = rows;
        while left > 0 {
            /// Computes so many rows, and tells how many.
            macro_rules! rows {
                ($rows:expr) => {{
                    // SAFETY: so many rows are left of those that the caller vouches for.
                    unsafe { self.compute::<S, { $rows }, V>(simd) };
                    $rows
                }};
            }
            let count = match left {
                // Registers for sums of as many rows are there at the widest level alone.
                ROWS.. if S::LANES == 16 => rows!(ROWS),
                4.. => rows!(4),
                2.. => rows!(2),
                _ => rows!(1),
            };
            self.x = self.x.wrapping_add(count * self.x_stride);
            self.y = self.y.wrapping_add(count * self.y_stride);
            left -= count;
        }
    }

    /// The product itself: `R` rows by `V` vectors of sums in registers.
    ///
    /// # Safety
    /// `R` rows of `x` and `y`, the latter writable, and `depth` rows of `w` are there; columns fill more than `V - 1` and at
    /// most `V` vectors.
    #[inline(always)]
    unsafe fn compute<S: Simd, const R: usize, const V: usize>(&self, simd: S) {
        let mut sums = [[simd.splat(0.0); V]; R];
        if let Some(bias) = self.bias {
            for v in 0..V {
                // SAFETY: the bias is filled up to whole vectors.
                let bias = unsafe { simd.load(bias.wrapping_add(v * S::LANES)) };
                sums.iter_mut().for_each(|row| row[v] = bias);
            }
        }
        // Three rows from each pointer: one register of distance serves them all.
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
                // SAFETY: row `r`, within the depth.
                let x = simd.splat(unsafe { *starts[r / 3].wrapping_add(r % 3 * self.x_stride) });
                for (sum, &weight) in row.iter_mut().zip(&weights) {
                    *sum = simd.mul_add(x, weight, *sum);
                }
            }
            starts.iter_mut().for_each(|start| *start = start.wrapping_add(self.x_step));
            w = w.wrapping_add(V * S::LANES);
        }
        // The loops are plain and short on purpose: only if the compiler unrolls them whole do the sums stay in registers.
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
            let mut whole = [[0.0; PANEL * Line::WORDS]; R];
            for (whole, row) in whole.iter_mut().zip(&sums) {
                for (v, &sum) in row.iter().enumerate() {
                    // SAFETY: a row has room for the widest panel.
                    unsafe { simd.store(whole.as_mut_ptr().wrapping_add(v * S::LANES), sum) };
                }
            }
            // SAFETY: the caller vouches for the columns of each row.
            unsafe { self.write_narrow(&whole) };
        }
    }

    /// Writes rows that end within a vector, one element at a time, which is rare enough.
    ///
    /// # Safety
    /// As for [`Tile::rows`], with as many rows as `whole` has.
    #[inline(never)]
    unsafe fn write_narrow(&self, whole: &[[f32; PANEL * Line::WORDS]]) {
        for (r, row) in whole.iter().enumerate() {
            for (i, &sum) in row[..self.columns].iter().enumerate() {
                let y = self.y.wrapping_add(r * self.y_stride + i);
                // SAFETY: readable by the caller's promise.
                let old = if self.add { unsafe { *y } } else { 0.0 };
                // SAFETY: writable by the caller's promise.
                unsafe { *y = old + sum };
            }
        }
    }
}
