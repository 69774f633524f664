//! `resample`: weighted sums of elements along an axis, with tables of indices and weights.

use super::check::Extent;
use super::element_type::{clamp_index, count, not_empty};
use super::gather::lines;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[("resample", |_| Arc::new(PerElementKernel::<Resample>::new()))];

/// `y[o, j, i] = sum over t of weight[j, t] * x[o, index[j, t], i]`.
pub(super) struct Resample;

impl PerElement for Resample {
    type Params = roci_families::Resample;
    const INPUTS: &'static [&'static str] = &["x", "index", "weight"];

    fn footprint(p: &roci_families::Resample) -> Result<Footprint, String> {
        let outputs = count(&[p.outer, p.count, p.inner])?;
        if outputs > 0 && p.taps > 0 {
            not_empty(&[p.axis])?;
        }
        let table = Extent::product(&[p.count, p.taps]);
        let inputs = vec![Extent::product(&[p.outer, p.axis, p.inner]), table, table];
        Ok(Footprint { inputs, output: Layout::dense(outputs), cost: 4 + 4 * u64::from(p.taps) })
    }

    fn compute(p: &roci_families::Resample, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let (x, index, weight): (&[f32], _, &[f32]) =
            (bytemuck::cast_slice(inputs[0]), inputs[1], bytemuck::cast_slice(inputs[2]));
        let (inner, count, taps) = (p.inner as usize, p.count as usize, p.taps as usize);
        lines(first, inner, output, |line, column, piece| {
            let start = line / count * p.axis as usize * inner + column;
            let piece: &mut [f32] = bytemuck::cast_slice_mut(piece);
            piece.fill(0.0);
            let table = line % count * taps;
            for (&index, &weight) in index[table..][..taps].iter().zip(&weight[table..]) {
                let x = &x[start + clamp_index(index, p.axis) * inner..];
                for (y, &x) in piece.iter_mut().zip(x) {
                    *y += weight * x;
                }
            }
        });
    }
}
