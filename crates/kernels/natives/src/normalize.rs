//! `normalize_rows` and `moments`: mean and standard deviation of rows, computed in f64.

use super::check::Extent;
use super::per_row::{PerRow, RowFootprint};
use super::reduce::{Sum, fold_slice};
use crate::KernelFactory;
use crate::per_row::PerRowKernel;
use roci_simd::{Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("normalize_rows", |level| Arc::new(PerRowKernel::<Normalize>::new(level))),
    ("moments", |level| Arc::new(PerRowKernel::<Moments>::new(level))),
];

/// `y = (x - mean) / sqrt(variance + epsilon)` in each row; `y` may be `x`.
pub(super) struct Normalize;

/// The mean of each row, and `1 / sqrt(variance + epsilon)`.
pub(super) struct Moments;

impl PerRow for Normalize {
    type Params = roci_families::Normalize;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["y"];
    const IN_PLACE: bool = true;

    fn footprint(p: &roci_families::Normalize) -> Result<RowFootprint, String> {
        let columns = u64::from(p.columns);
        let inputs = vec![Extent::product(&[p.rows, p.columns])];
        Ok(RowFootprint { lines: p.rows, inputs, outputs: vec![columns], cost: 8 * columns })
    }

    fn compute(level: Level, p: &roci_families::Normalize, _: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        level.run(NormalizeRow { p, y: bytemuck::cast_slice_mut(y) });
    }
}

impl PerRow for Moments {
    type Params = roci_families::Normalize;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["mean", "inverse"];

    fn footprint(p: &roci_families::Normalize) -> Result<RowFootprint, String> {
        let inputs = vec![Extent::product(&[p.rows, p.columns])];
        Ok(RowFootprint { lines: p.rows, inputs, outputs: vec![1, 1], cost: 4 * u64::from(p.columns) })
    }

    fn compute(
        level: Level,
        p: &roci_families::Normalize,
        inputs: &[&[u32]],
        line: usize,
        [mean, inverse]: [&mut [u32]; 2],
    ) {
        let columns = p.columns as usize;
        let x = bytemuck::cast_slice(&inputs[0][line * columns..][..columns]);
        let moments = level.run(RowMoments { p, x });
        mean.fill((moments.0 as f32).to_bits());
        inverse.fill((moments.1 as f32).to_bits());
    }
}

/// The mean of a row, and the reciprocal of its standard deviation.
#[inline(always)]
fn moments<S: Simd>(simd: S, p: &roci_families::Normalize, x: &[f32]) -> (f64, f64) {
    /// Independent sums of squares.
    const LANES: usize = 32;
    let count = x.len() as f64;
    let mean = if p.centered == 0 { 0.0 } else { fold_slice::<S, Sum>(simd, x) / count };
    let mut lanes = [0.0; LANES];
    for chunk in x.chunks(LANES) {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            let deviation = f64::from(x) - mean;
            *lane += deviation * deviation;
        }
    }
    let variance = lanes.iter().sum::<f64>() / count;
    (mean, 1.0 / (variance + f64::from(p.epsilon)).sqrt())
}

/// The moments of a row.
struct RowMoments<'a> {
    p: &'a roci_families::Normalize,
    x: &'a [f32],
}

impl Task for RowMoments<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> (f64, f64) {
        moments(simd, self.p, self.x)
    }
}

/// A row that is normalized in place.
struct NormalizeRow<'a> {
    p: &'a roci_families::Normalize,
    y: &'a mut [f32],
}

impl Task for NormalizeRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (mean, inverse) = moments(simd, self.p, self.y);
        for y in self.y {
            *y = ((f64::from(*y) - mean) * inverse) as f32;
        }
    }
}
