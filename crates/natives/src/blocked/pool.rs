//! `pool_blocked_*`.

use std::marker::PhantomData;
use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access};
use super::super::simd::{Level, Line, Simd, Task};
use super::plan::{Area, Plan};
use super::{clear_border, extent};
use crate::params;

/// What an element of a window takes, beside a multiplication of a convolution.
const COST: u64 = 16;

/// Elements of one pixel's channels.
type Pixel = [f32; Line::WORDS];

/// How the pixels of a window give one.
pub(in super::super) trait Fold: Send + Sync + 'static {
    /// What a window of nothing gives.
    const START: f32;

    /// Takes one more element.
    fn add(sum: f32, x: f32) -> f32;

    /// Ends with so many taken.
    fn end(sum: f32, count: usize) -> f32;
}

/// The greatest; NaN is greater than everything.
pub(in super::super) struct Max;

impl Fold for Max {
    const START: f32 = f32::NEG_INFINITY;

    #[inline(always)]
    fn add(best: f32, x: f32) -> f32 {
        if x > best || x.is_nan() { x } else { best }
    }

    #[inline(always)]
    fn end(best: f32, _: usize) -> f32 {
        best
    }
}

/// The mean.
pub(in super::super) struct Average;

impl Fold for Average {
    const START: f32 = 0.0;

    #[inline(always)]
    fn add(sum: f32, x: f32) -> f32 {
        sum + x
    }

    #[inline(always)]
    fn end(sum: f32, count: usize) -> f32 {
        if count == 0 { 0.0 } else { sum / count as f32 }
    }
}

/// A pool between blocked pictures.
pub(in super::super) struct PoolBlocked<F> {
    level: Level,
    fold: PhantomData<fn() -> F>,
}

impl<F> PoolBlocked<F> {
    pub(in super::super) fn new(level: Level) -> Self {
        Self { level, fold: PhantomData }
    }
}

fn plan(p: &params::PoolBlocked, workers: usize) -> Plan {
    let work = [p.batch, p.y.channels].into_iter().chain(p.y.size).chain(p.kernel);
    let work = work.fold(COST, |all, size| all.saturating_mul(size.into()));
    Plan::new([p.batch as usize, p.y.blocks(), p.y.size[0] as usize], 1, false, work, workers)
}

// SAFETY: `prepare` holds both pictures against their bindings; windows are cut at the edges of the picture; the areas of a
// plan tile the result, each with its part of the border, and each belongs to one part.
unsafe impl<F: Fold> NativeKernel for PoolBlocked<F> {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::PoolBlocked = check::constants(launch)?;
        let [x, y] = check::bindings::<2>(launch)?;
        let lanes = self.level.lanes() as u32;
        if [p.x.block, p.y.block] != [lanes; 2] || p.x.channels != p.y.channels {
            return Err(format!("{:?} from {:?} where vectors have {lanes} elements", p.y, p.x));
        }
        let sizes = p.kernel.iter().chain(&p.stride).chain(&p.dilation);
        if sizes.clone().any(|&size| size == 0) || sizes.chain(&p.pad).any(|&size| size > 1 << 12) {
            return Err(format!("a window of {:?} by steps of {:?}", p.kernel, p.stride));
        }
        let x = Access::read::<f32>("x", x, extent(&p.x, p.batch)?)?;
        Access::write::<f32>("y", y, extent(&p.y, p.batch)?)?.apart_from(&x)?;
        Ok(plan(&p, launch.workers).parts())
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, _: usize) {
        let Ok(p) = check::constants::<params::PoolBlocked>(launch) else { return };
        let [x, y] = [0, 1].map(|i| launch.bindings[i].pointer.cast::<f32>());
        let area = plan(&p, launch.workers).area(part);
        let x = x.cast_const().wrapping_add(area.batch * p.x.elements());
        let y = y.wrapping_add(area.batch * p.y.elements());
        self.level.run(Windows::<F> { p: &p, x, y, area, fold: PhantomData });
    }
}

/// The windows of an area; its groups are blocks.
struct Windows<'a, F> {
    p: &'a params::PoolBlocked,
    x: *const f32,
    y: *mut f32,
    area: Area,
    fold: PhantomData<fn() -> F>,
}

impl<F> Windows<'_, F> {
    /// The elements of the window at `place` of a dimension that lie in the picture, and where the first of all would.
    fn inside(&self, d: usize, place: usize) -> (Range<usize>, isize) {
        let p = self.p;
        let (kernel, dilation) = (p.kernel[d] as usize, p.dilation[d] as isize);
        let start = (place * p.stride[d] as usize) as isize - p.pad[d] as isize;
        let low = ((-start).max(0) + dilation - 1) / dilation;
        let high = ((p.x.size[d] as isize - start).max(0) + dilation - 1) / dilation;
        ((low as usize).min(kernel)..(high as usize).min(kernel), start)
    }
}

impl<F: Fold> Task for Windows<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let p = self.p;
        let columns: Vec<_> = (0..p.y.size[1] as usize).map(|column| self.inside(1, column)).collect();
        for group in self.area.groups.clone() {
            let (x, y) = (self.x.wrapping_add(group * p.x.plane()), self.y.wrapping_add(group * p.y.plane()));
            for row in self.area.rows.clone() {
                let (down, top) = self.inside(0, row);
                for (column, (across, left)) in columns.iter().enumerate() {
                    let mut pixel: Pixel = [F::START; Line::WORDS];
                    for k0 in down.clone() {
                        for k1 in across.clone() {
                            let place = [(top, k0, 0), (*left, k1, 1)]
                                .map(|(start, k, d)| start + (k * p.dilation[d] as usize) as isize);
                            let x = x.wrapping_offset(p.x.at(place[0], place[1]));
                            // SAFETY: a pixel within the picture.
                            let x = unsafe { std::slice::from_raw_parts(x, S::LANES) };
                            pixel.iter_mut().zip(x).for_each(|(sum, &x)| *sum = F::add(*sum, x));
                        }
                    }
                    let y = y.wrapping_offset(p.y.at(row as isize, column as isize));
                    // SAFETY: a pixel of the result, which is this part's alone.
                    let y = unsafe { std::slice::from_raw_parts_mut(y, S::LANES) };
                    let count = down.len() * across.len();
                    y.iter_mut().zip(pixel).for_each(|(y, sum)| *y = F::end(sum, count));
                }
            }
            // SAFETY: rows of a plane that are this part's alone.
            unsafe { clear_border(&p.y, y, self.area.rows.clone()) };
        }
    }
}
