//! `cast_f32_to_f16` and `cast_f16_to_f32`.

use half::f16;

use super::check::Extent;
use super::per_element::{Footprint, Layout, PerElement};
use crate::KernelFactory;
use crate::per_element::PerElementKernel;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[
    ("cast_f32_to_f16", |_| Arc::new(PerElementKernel::<F32ToF16>::new())),
    ("cast_f16_to_f32", |_| Arc::new(PerElementKernel::<F16ToF32>::new())),
];

/// `y[i] = f16(x[i])`, rounded to the nearest, ties to even.
pub(super) struct F32ToF16;

/// `y[i] = f32(x[i])`.
pub(super) struct F16ToF32;

fn pairs(p: &roci_families::Cast) -> Result<u32, String> {
    if p.count.is_multiple_of(2) {
        Ok(p.count / 2)
    } else {
        Err(format!("{} elements are not a multiple of 2", p.count))
    }
}

impl PerElement for F32ToF16 {
    type Params = roci_families::Cast;
    const INPUTS: &'static [&'static str] = &["x"];

    fn footprint(p: &roci_families::Cast) -> Result<Footprint, String> {
        let inputs = vec![Extent::count(p.count.into())];
        Ok(Footprint { inputs, output: Layout::dense(pairs(p)?), cost: 12 })
    }

    fn compute(_: &roci_families::Cast, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let x: &[f32] = bytemuck::cast_slice(inputs[0]);
        let y: &mut [f16] = bytemuck::cast_slice_mut(output);
        y.iter_mut().zip(&x[2 * first..]).for_each(|(y, &x)| *y = f16::from_f32(x));
    }
}

impl PerElement for F16ToF32 {
    type Params = roci_families::Cast;
    const INPUTS: &'static [&'static str] = &["x"];

    fn footprint(p: &roci_families::Cast) -> Result<Footprint, String> {
        let inputs = vec![Extent::count(pairs(p)?.into())];
        Ok(Footprint { inputs, output: Layout::dense(p.count), cost: 6 })
    }

    fn compute(_: &roci_families::Cast, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let x: &[f16] = bytemuck::cast_slice(inputs[0]);
        output.iter_mut().zip(&x[first..]).for_each(|(y, &x)| *y = x.to_f32().to_bits());
    }
}
