//! `matmul_packed`: a product with a matrix that is packed once, and its epilogue. It exists only
//! for the CPU.

use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, AccessRange, Extent};
use super::super::{fast_math, math, partition};
use crate::KernelFactory;
use roci_simd::gemm::{PANEL, PANEL_ROWS, PanelTile};
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("matmul_packed", size_of::<roci_families::MatmulPacked>(), |level| Arc::new(MatmulPacked(level)))];

/// Elements of the reduced dimension per pass: a panel of this depth streams well from the L2
/// cache.
const DEPTH: usize = 384;
/// Minimum multiplications per part.
const MIN_WORK: u64 = 1 << 19;
/// Parts per worker, for load balancing.
const PER_WORKER: usize = 4;

pub(in super::super) struct MatmulPacked(pub(in super::super) Level);

/// Parts of a product: panels of columns by ranges of rows.
#[derive(Clone, Copy)]
struct Grid {
    panels: usize,
    rows: usize,
    down: usize,
    across: usize,
}

impl Grid {
    fn new(p: &roci_families::MatmulPacked, lanes: usize, workers: usize) -> Self {
        let (rows, panels) = (p.m as usize, (p.n as usize).div_ceil(PANEL * lanes));
        let work = u64::from(p.m).saturating_mul(p.n.into()).saturating_mul(p.k.into());
        let most = usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        let expected = if workers > 1 { most.min(PER_WORKER * workers) } else { 1 };
        let across = expected.min(panels).max(1);
        let down = expected.div_ceil(across).min(rows.div_ceil(PANEL_ROWS)).max(1);
        Self { panels, rows, down, across }
    }

    fn parts(&self) -> usize {
        if self.panels * self.rows == 0 { 0 } else { self.down * self.across }
    }

    /// The panels and rows of a part.
    fn region(&self, part: usize) -> (Range<usize>, Range<usize>) {
        let panels = partition::range(self.panels, 1, part % self.across, self.across);
        (panels, partition::range(self.rows, PANEL_ROWS, part / self.across, self.down))
    }
}

// SAFETY: `prepare` checks the three matrices against their bindings and rejects results that
// overlap an input; the regions of a grid tile the result, and each belongs to one part.
unsafe impl NativeKernel for MatmulPacked {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::MatmulPacked = check::constants(launch)?;
        let [x, w, y] = check::bindings::<3>(launch)?;
        let width = p.n.checked_next_multiple_of(self.0.lanes() as u32).ok_or("too many columns")?;
        let x = AccessRange::read::<f32>("x", x, Extent::product(&[p.m, p.k]))?;
        let rows = p.k.checked_add(1).ok_or("too many rows")?;
        let w = AccessRange::read::<f32>("w", w, Extent::product(&[width, rows]))?;
        let y = AccessRange::write::<f32>("y", y, Extent::product(&[p.m, p.n]))?;
        y.disjoint_from(&x)?;
        y.disjoint_from(&w)?;
        Ok(Grid::new(&p, self.0.lanes(), launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<roci_families::MatmulPacked>(launch) else { return };
        let [x, w, y] = [0, 1, 2].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let (panels, rows) = Grid::new(&p, self.0.lanes(), launch.workers).region(part);
        Region { p: &p, x: x.cast_const(), w: w.cast_const(), y, panels, rows }.compute(self.0);
    }
}

/// The region of one part.
struct Region<'a> {
    p: &'a roci_families::MatmulPacked,
    x: *const f32,
    w: *const f32,
    y: *mut f32,
    panels: Range<usize>,
    rows: Range<usize>,
}

impl Region<'_> {
    fn compute(&self, level: Level) {
        let lanes = level.lanes();
        let (k, n) = (self.p.k as usize, self.p.n as usize);
        let width = n.next_multiple_of(lanes);
        let passes = k.div_ceil(DEPTH).max(1);
        for pass in 0..passes {
            let depths = partition::range(k, 1, pass, passes);
            for panel in self.panels.clone() {
                let first = panel * PANEL * lanes;
                let vectors = ((width - first) / lanes).min(PANEL);
                let tile = PanelTile {
                    x: self.x.wrapping_add(self.rows.start * k + depths.start),
                    x_stride: k,
                    x_step: 1,
                    depth: depths.len(),
                    w: self.w.wrapping_add(width + first * k + depths.start * vectors * lanes),
                    bias: (pass == 0).then(|| self.w.wrapping_add(first)),
                    y: self.y.wrapping_add(self.rows.start * n + first),
                    y_stride: n,
                    columns: (n - first).min(PANEL * lanes),
                    add: pass > 0 || self.p.flags & roci_families::MatmulPacked::ADD != 0,
                };
                // SAFETY: `prepare` checked the matrices against the bindings; these rows of this
                // panel are only this part's.
                unsafe { tile.rows(level, self.rows.len()) };
                if pass + 1 == passes {
                    for row in self.rows.clone() {
                        let y = self.y.wrapping_add(row * n + first);
                        // SAFETY: a row of the panel, as above.
                        let y = unsafe { std::slice::from_raw_parts_mut(y, tile.columns) };
                        level.run(Activation { flags: self.p.flags, y });
                    }
                }
            }
        }
    }
}

/// The activation of a row of the result.
struct Activation<'a> {
    flags: u32,
    y: &'a mut [f32],
}

impl Task for Activation<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        match self.flags & !roci_families::MatmulPacked::ADD {
            roci_families::MatmulPacked::RELU => self.y.iter_mut().for_each(|y| *y = math::relu(*y)),
            roci_families::MatmulPacked::GELU => self.y.iter_mut().for_each(|y| *y = fast_math::gelu(*y)),
            _ => {}
        }
    }
}
