//! `pool_*`: one result for every position of a window.
//!
//! Computed along the rows of the output, one element of the window at a time.

use std::marker::PhantomData;
use std::ops::Range;

use super::check::Extent;
use super::per_element::{Footprint, Layout, PerElement};
use super::window::{self, Window};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("pool_max", |_| Arc::new(PerElementKernel::<Pool<Max>>::new())),
    ("pool_max_indices", |_| Arc::new(PerElementKernel::<Pool<MaxIndex>>::new())),
    ("pool_average", |_| Arc::new(PerElementKernel::<Pool<Average>>::new())),
    ("pool_lp", |_| Arc::new(PerElementKernel::<Pool<Lp>>::new())),
];

/// A pool that reduces windows by `F`.
pub(super) struct Pool<F>(PhantomData<fn() -> F>);

/// How a row of windows is reduced.
pub(super) trait PoolOp: Send + Sync + 'static {
    /// Checks the constants that only this reduction reads.
    fn check(_: &roci_families::Pool) -> Result<(), String> {
        Ok(())
    }

    /// Computes a run of a row of the output.
    fn row(row: &WindowRow<'_>, output: &mut [u32]);
}

/// A run of a row of the output, and its input.
pub(super) struct WindowRow<'a> {
    p: &'a roci_families::Pool,
    window: Window,
    /// The plane of the input, and its offset in the whole input.
    x: &'a [f32],
    start: usize,
    /// The first position.
    position: [usize; 3],
}

impl WindowRow<'_> {
    /// Calls `add` for each element of the window: with the range of results that it contributes
    /// to, and the input from the first result's element on, of which every `stride`-th element is
    /// used.
    fn for_each_tap(&self, count: usize, mut add: impl FnMut(Range<usize>, &[f32])) {
        let window = &self.window;
        let [_, height, width] = window.input.map(|size| size as usize);
        let stride = window.stride[2] as usize;
        for i0 in (0..window.kernel[0] as usize).filter_map(|k| window.inside(0, self.position[0], k)) {
            for i1 in (0..window.kernel[1] as usize).filter_map(|k| window.inside(1, self.position[1], k)) {
                let x = &self.x[(i0 * height + i1) * width..][..width];
                for k in 0..window.kernel[2] as usize {
                    let origin = window.position(2, self.position[2], k);
                    let low = ((-origin).max(0) as usize).div_ceil(stride);
                    let high = ((width as isize - origin).max(0) as usize).div_ceil(stride).min(count);
                    if low < high {
                        add(low..high, &x[(origin + (low * stride) as isize) as usize..]);
                    }
                }
            }
        }
    }

    /// Like [`WindowRow::for_each_tap`], for each result and element.
    #[inline(always)]
    fn fold(&self, results: &mut [f32], mut add: impl FnMut(&mut f32, f32)) {
        let stride = self.window.stride[2] as usize;
        self.for_each_tap(results.len(), |range, x| {
            let results = &mut results[range];
            // Separate loops, so that the compiler sees constant strides.
            match stride {
                1 => results.iter_mut().zip(x).for_each(|(result, &x)| add(result, x)),
                2 => results.iter_mut().zip(x.iter().step_by(2)).for_each(|(result, &x)| add(result, x)),
                _ => results.iter_mut().zip(x.iter().step_by(stride)).for_each(|(result, &x)| add(result, x)),
            }
        });
    }

    /// The number of elements of the window at position `o` of a dimension that are within the
    /// input, and the number before the end of the padding.
    fn count_elements(&self, d: usize, o: usize) -> [usize; 2] {
        let window = &self.window;
        let kernel = window.kernel[d] as usize;
        let inside = (0..kernel).filter(|&k| window.inside(d, o, k).is_some()).count();
        let end = i64::from(window.input[d]) + i64::from(self.p.pad_end[d]);
        let room = (end - window.position(d, o, 0) as i64).max(0) as usize;
        [inside, kernel.min(room.div_ceil(window.dilation[d] as usize))]
    }
}

/// The maximum; NaN if there is one.
pub(super) struct Max;

impl PoolOp for Max {
    fn row(row: &WindowRow<'_>, output: &mut [u32]) {
        let results: &mut [f32] = bytemuck::cast_slice_mut(output);
        results.fill(f32::NEG_INFINITY);
        row.fold(results, |best, x| *best = if x > *best || x.is_nan() { x } else { *best });
    }
}

/// The index of the maximum; the first one wins a tie.
pub(super) struct MaxIndex;

impl PoolOp for MaxIndex {
    fn row(row: &WindowRow<'_>, output: &mut [u32]) {
        let window = &row.window;
        let [depth, height, width] = window.input.map(|size| size as usize);
        for (index, output) in output.iter_mut().enumerate() {
            let mut best: Option<(f32, [usize; 3])> = None;
            let inside =
                |d: usize, o: usize| (0..window.kernel[d] as usize).filter_map(move |k| window.inside(d, o, k));
            for i0 in inside(0, row.position[0]) {
                for i1 in inside(1, row.position[1]) {
                    for i2 in inside(2, row.position[2] + index) {
                        let x = row.x[(i0 * height + i1) * width + i2];
                        if best.is_none_or(|(best, _)| x > best || (x.is_nan() && !best.is_nan())) {
                            best = Some((x, [i0, i1, i2]));
                        }
                    }
                }
            }
            let [i0, i1, i2] = best.map_or([0; 3], |(_, position)| position);
            let at = match row.p.flags & roci_families::Pool::COLUMN_MAJOR {
                0 => (i0 * height + i1) * width + i2,
                _ => i0 + depth * (i1 + height * i2),
            };
            *output = (row.start + at) as u32;
        }
    }
}

/// The mean.
pub(super) struct Average;

impl PoolOp for Average {
    fn row(row: &WindowRow<'_>, output: &mut [u32]) {
        let results: &mut [f32] = bytemuck::cast_slice_mut(output);
        results.fill(0.0);
        row.fold(results, |sum, x| *sum += x);
        let [outer, inner] = [0, 1].map(|d| row.count_elements(d, row.position[d]));
        let pads = usize::from(row.p.flags & roci_families::Pool::COUNT_PAD != 0);
        for (index, sum) in results.iter_mut().enumerate() {
            let across = row.count_elements(2, row.position[2] + index);
            let inside = outer[0] * inner[0] * across[0];
            *sum = if inside == 0 { 0.0 } else { *sum / (outer[pads] * inner[pads] * across[pads]) as f32 };
        }
    }
}

/// The Lp norm.
pub(super) struct Lp;

impl PoolOp for Lp {
    fn check(p: &roci_families::Pool) -> Result<(), String> {
        if p.norm == 0 || p.norm > MAX_NORM {
            return Err(format!("norm {} is not between 1 and {MAX_NORM}", p.norm));
        }
        Ok(())
    }

    fn row(row: &WindowRow<'_>, output: &mut [u32]) {
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

impl<F: PoolOp> PerElement for Pool<F> {
    type Params = roci_families::Pool;
    const INPUTS: &'static [&'static str] = &["x"];

    fn footprint(p: &roci_families::Pool) -> Result<Footprint, String> {
        window(p).check()?;
        F::check(p)?;
        let x = window::count([p.planes].into_iter().chain(p.input))?;
        let y = window::count([p.planes].into_iter().chain(p.output))?;
        let cost = p.kernel.iter().fold(4, |all: u64, &size| all.saturating_mul(size.into()));
        Ok(Footprint { inputs: vec![Extent::count(x.into())], output: Layout::dense(y), cost })
    }

    fn compute(p: &roci_families::Pool, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let window = window(p);
        let size = p.input.iter().map(|&size| size as usize).product::<usize>();
        window::rows(p.output[2] as usize, first, output, |at, output| {
            let (plane, position) = window.locate(at);
            let start = plane * size;
            let x = bytemuck::cast_slice(&inputs[0][start..start + size]);
            F::row(&WindowRow { p, window, x, start, position }, output);
        });
    }
}

/// The largest supported norm: higher powers exceed the range of f32 for nearly all values.
const MAX_NORM: u32 = 128;

fn window(p: &roci_families::Pool) -> Window {
    let &roci_families::Pool { input, output, kernel, stride, dilation, pad, .. } = p;
    Window { input, output, kernel, stride, dilation, pad }
}
