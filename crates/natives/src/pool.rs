//! `pool_*`: one result for every position of a window.
//!
//! Along the rows of the output, one element of the window at a time.

use std::marker::PhantomData;
use std::ops::Range;

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use super::window::{self, Window};
use crate::params;

/// A pool that takes its results by `F`.
pub(super) struct Pool<F>(PhantomData<fn() -> F>);

/// How a row of windows gives a row of results.
pub(super) trait Fold: Send + Sync + 'static {
    /// What is wrong with the constants that it alone reads.
    fn check(_: &params::Pool) -> Result<(), String> {
        Ok(())
    }

    /// Fills a piece of a row of the output.
    fn row(row: &Row<'_>, output: &mut [u32]);
}

/// A piece of a row of the output, and what it is made of.
pub(super) struct Row<'a> {
    p: &'a params::Pool,
    window: Window,
    /// The plane of the input, and where it starts in the whole.
    x: &'a [f32],
    start: usize,
    /// The first place.
    place: [usize; 3],
}

impl Row<'_> {
    /// Calls `add` for each element of the window: which results it counts for, and the elements from the first one's
    /// on, of which every `stride`-th is meant.
    fn each(&self, count: usize, mut add: impl FnMut(Range<usize>, &[f32])) {
        let window = &self.window;
        let [_, height, width] = window.input.map(|size| size as usize);
        let stride = window.stride[2] as usize;
        for i0 in (0..window.kernel[0] as usize).filter_map(|k| window.inside(0, self.place[0], k)) {
            for i1 in (0..window.kernel[1] as usize).filter_map(|k| window.inside(1, self.place[1], k)) {
                let x = &self.x[(i0 * height + i1) * width..][..width];
                for k in 0..window.kernel[2] as usize {
                    let origin = window.position(2, self.place[2], k);
                    let low = ((-origin).max(0) as usize).div_ceil(stride);
                    let high = ((width as isize - origin).max(0) as usize).div_ceil(stride).min(count);
                    if low < high {
                        add(low..high, &x[(origin + (low * stride) as isize) as usize..]);
                    }
                }
            }
        }
    }

    /// As [`Row::each`], for each result and element.
    #[inline(always)]
    fn fold(&self, results: &mut [f32], mut add: impl FnMut(&mut f32, f32)) {
        let stride = self.window.stride[2] as usize;
        self.each(results.len(), |range, x| {
            let results = &mut results[range];
            // Apart, so that the compiler sees the steps.
            match stride {
                1 => results.iter_mut().zip(x).for_each(|(result, &x)| add(result, x)),
                2 => results.iter_mut().zip(x.iter().step_by(2)).for_each(|(result, &x)| add(result, x)),
                _ => results.iter_mut().zip(x.iter().step_by(stride)).for_each(|(result, &x)| add(result, x)),
            }
        });
    }

    /// How many elements of the window at place `o` of a dimension lie in the input, and how many before the end of the
    /// pads.
    fn counted(&self, d: usize, o: usize) -> [usize; 2] {
        let window = &self.window;
        let kernel = window.kernel[d] as usize;
        let inside = (0..kernel).filter(|&k| window.inside(d, o, k).is_some()).count();
        let end = i64::from(window.input[d]) + i64::from(self.p.pad_end[d]);
        let room = (end - window.position(d, o, 0) as i64).max(0) as usize;
        [inside, kernel.min(room.div_ceil(window.dilation[d] as usize))]
    }
}

/// The greatest; NaN is greater than everything.
pub(super) struct Max;

impl Fold for Max {
    fn row(row: &Row<'_>, output: &mut [u32]) {
        let results: &mut [f32] = bytemuck::cast_slice_mut(output);
        results.fill(f32::NEG_INFINITY);
        row.fold(results, |best, x| *best = if x > *best || x.is_nan() { x } else { *best });
    }
}

/// The place of the greatest, the first of equals.
pub(super) struct MaxIndex;

impl Fold for MaxIndex {
    fn row(row: &Row<'_>, output: &mut [u32]) {
        let window = &row.window;
        let [depth, height, width] = window.input.map(|size| size as usize);
        for (index, output) in output.iter_mut().enumerate() {
            let mut best: Option<(f32, [usize; 3])> = None;
            let inside =
                |d: usize, o: usize| (0..window.kernel[d] as usize).filter_map(move |k| window.inside(d, o, k));
            for i0 in inside(0, row.place[0]) {
                for i1 in inside(1, row.place[1]) {
                    for i2 in inside(2, row.place[2] + index) {
                        let x = row.x[(i0 * height + i1) * width + i2];
                        if best.is_none_or(|(best, _)| x > best || (x.is_nan() && !best.is_nan())) {
                            best = Some((x, [i0, i1, i2]));
                        }
                    }
                }
            }
            let [i0, i1, i2] = best.map_or([0; 3], |(_, place)| place);
            let at = match row.p.flags & params::Pool::COLUMN_MAJOR {
                0 => (i0 * height + i1) * width + i2,
                _ => i0 + depth * (i1 + height * i2),
            };
            *output = (row.start + at) as u32;
        }
    }
}

/// The mean.
pub(super) struct Average;

impl Fold for Average {
    fn row(row: &Row<'_>, output: &mut [u32]) {
        let results: &mut [f32] = bytemuck::cast_slice_mut(output);
        results.fill(0.0);
        row.fold(results, |sum, x| *sum += x);
        let [outer, inner] = [0, 1].map(|d| row.counted(d, row.place[d]));
        let pads = usize::from(row.p.flags & params::Pool::COUNT_PAD != 0);
        for (index, sum) in results.iter_mut().enumerate() {
            let across = row.counted(2, row.place[2] + index);
            let inside = outer[0] * inner[0] * across[0];
            *sum = if inside == 0 { 0.0 } else { *sum / (outer[pads] * inner[pads] * across[pads]) as f32 };
        }
    }
}

/// The norm.
pub(super) struct Lp;

impl Fold for Lp {
    fn check(p: &params::Pool) -> Result<(), String> {
        if p.norm == 0 || p.norm > MOST_NORM {
            return Err(format!("a norm of {}; it lies between 1 and {MOST_NORM}", p.norm));
        }
        Ok(())
    }

    fn row(row: &Row<'_>, output: &mut [u32]) {
        let results: &mut [f32] = bytemuck::cast_slice_mut(output);
        results.fill(0.0);
        match row.p.norm {
            1 => row.fold(results, |sum, x| *sum += x.abs()),
            2 => {
                row.fold(results, |sum, x| *sum += x * x);
                results.iter_mut().for_each(|sum| *sum = sum.sqrt());
            }
            norm => {
                row.fold(results, |sum, x| *sum += (0..norm).fold(1.0, |power, _| power * x.abs()));
                let root = f64::from(norm).recip();
                results.iter_mut().for_each(|sum| *sum = f64::from(*sum).powf(root) as f32);
            }
        }
    }
}

impl<F: Fold> Each for Pool<F> {
    type Params = params::Pool;
    const INPUTS: &'static [&'static str] = &["x"];

    fn plan(p: &params::Pool) -> Result<Plan, String> {
        window(p).check()?;
        F::check(p)?;
        let x = window::count([p.planes].into_iter().chain(p.input))?;
        let y = window::count([p.planes].into_iter().chain(p.output))?;
        let cost = p.kernel.iter().fold(4, |all: u64, &size| all.saturating_mul(size.into()));
        Ok(Plan { inputs: vec![Extent::words(x.into())], output: Layout::dense(y), cost })
    }

    fn compute(p: &params::Pool, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let window = window(p);
        let size = p.input.iter().map(|&size| size as usize).product::<usize>();
        window::rows(p.output[2] as usize, first, output, |at, output| {
            let (plane, place) = window.place(at);
            let start = plane * size;
            let x = bytemuck::cast_slice(&inputs[0][start..start + size]);
            F::row(&Row { p, window, x, start, place }, output);
        });
    }
}

/// The largest norm: higher ones are out of f32's range for all but a few numbers.
const MOST_NORM: u32 = 128;

fn window(p: &params::Pool) -> Window {
    let &params::Pool { input, output, kernel, stride, dilation, pad, .. } = p;
    Window { input, output, kernel, stride, dilation, pad }
}
