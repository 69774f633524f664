//! `normalize_rows` and `moments`: rows by their mean and deviation, computed in f64.

use super::check::Extent;
use super::lines::{Lines, Plan};
use super::reduce::{Sum, fold_slice};
use super::simd::{Level, Simd, Task};
use crate::params;

/// `y = (x - mean) / sqrt(variance + epsilon)` in each row; `y` may be `x`.
pub(super) struct Normalize;

/// The mean of each row, and `1 / sqrt(variance + epsilon)`.
pub(super) struct Moments;

impl Lines for Normalize {
    type Params = params::Normalize;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["y"];
    const IN_PLACE: bool = true;

    fn plan(p: &params::Normalize) -> Result<Plan, String> {
        let columns = u64::from(p.columns);
        let inputs = vec![Extent::product(&[p.rows, p.columns])];
        Ok(Plan { lines: p.rows, inputs, outputs: vec![columns], cost: 8 * columns })
    }

    fn compute(level: Level, p: &params::Normalize, _: &[&[u32]], _: usize, [y, _]: [&mut [u32]; 2]) {
        level.run(Row { p, y: bytemuck::cast_slice_mut(y) });
    }
}

impl Lines for Moments {
    type Params = params::Normalize;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["mean", "inverse"];

    fn plan(p: &params::Normalize) -> Result<Plan, String> {
        let inputs = vec![Extent::product(&[p.rows, p.columns])];
        Ok(Plan { lines: p.rows, inputs, outputs: vec![1, 1], cost: 4 * u64::from(p.columns) })
    }

    fn compute(level: Level, p: &params::Normalize, inputs: &[&[u32]], line: usize, [mean, inverse]: [&mut [u32]; 2]) {
        let columns = p.columns as usize;
        let x = bytemuck::cast_slice(&inputs[0][line * columns..][..columns]);
        let found = level.run(Look { p, x });
        mean.fill((found.0 as f32).to_bits());
        inverse.fill((found.1 as f32).to_bits());
    }
}

/// The mean of a row, and one by its deviation.
#[inline(always)]
fn moments<S: Simd>(simd: S, p: &params::Normalize, x: &[f32]) -> (f64, f64) {
    /// Sums of squares that are kept side by side.
    const LANES: usize = 32;
    let count = x.len() as f64;
    let mean = if p.centred == 0 { 0.0 } else { fold_slice::<S, Sum>(simd, x) / count };
    let mut lanes = [0.0; LANES];
    for chunk in x.chunks(LANES) {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            let way = f64::from(x) - mean;
            *lane += way * way;
        }
    }
    let variance = lanes.iter().sum::<f64>() / count;
    (mean, 1.0 / (variance + f64::from(p.epsilon)).sqrt())
}

/// A row to look at.
struct Look<'a> {
    p: &'a params::Normalize,
    x: &'a [f32],
}

impl Task for Look<'_> {
    type Output = (f64, f64);

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> (f64, f64) {
        moments(simd, self.p, self.x)
    }
}

/// A row to normalise, in place.
struct Row<'a> {
    p: &'a params::Normalize,
    y: &'a mut [f32],
}

impl Task for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (mean, inverse) = moments(simd, self.p, self.y);
        for y in self.y {
            *y = ((f64::from(*y) - mean) * inverse) as f32;
        }
    }
}
