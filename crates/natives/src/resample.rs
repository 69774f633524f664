//! `resample`: weighted sums of elements along an axis, by tables.

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use super::numbers::{count, held, not_empty};
use super::take::lines;
use crate::params;

/// `y[o, j, i] = sum over t of weight[j, t] * x[o, index[j, t], i]`.
pub(super) struct Resample;

impl Each for Resample {
    type Params = params::Resample;
    const INPUTS: &'static [&'static str] = &["x", "index", "weight"];

    fn plan(p: &params::Resample) -> Result<Plan, String> {
        let outputs = count(&[p.outer, p.count, p.inner])?;
        if outputs > 0 && p.taps > 0 {
            not_empty(&[p.axis])?;
        }
        let table = Extent::product(&[p.count, p.taps]);
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner]), table, table];
        Ok(Plan { inputs, output: Layout::dense(outputs), cost: 4 + 4 * u64::from(p.taps) })
    }

    fn compute(p: &params::Resample, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let (x, index, weight): (&[f32], _, &[f32]) =
            (bytemuck::cast_slice(inputs[0]), inputs[1], bytemuck::cast_slice(inputs[2]));
        let (inner, count, taps) = (p.inner as usize, p.count as usize, p.taps as usize);
        lines(first, inner, output, |line, column, piece| {
            let start = line / count * p.axis as usize * inner + column;
            let piece: &mut [f32] = bytemuck::cast_slice_mut(piece);
            piece.fill(0.0);
            let table = line % count * taps;
            for (&index, &weight) in index[table..][..taps].iter().zip(&weight[table..]) {
                let x = &x[start + held(index, p.axis) * inner..];
                for (y, &x) in piece.iter_mut().zip(x) {
                    *y += weight * x;
                }
            }
        });
    }
}
