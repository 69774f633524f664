//! `narrow_f16` and `widen_f16`: between floats of 32 and of 16 bits.

use half::f16;

use super::check::Extent;
use super::each::{Each, Layout, Plan};
use crate::params;

/// `y[i] = f16(x[i])`, rounded to the nearest, ties to even.
pub(super) struct Narrow;

/// `y[i] = f32(x[i])`.
pub(super) struct Widen;

fn pairs(p: &params::Convert) -> Result<u32, String> {
    if p.count.is_multiple_of(2) { Ok(p.count / 2) } else { Err(format!("{} elements are no pairs", p.count)) }
}

impl Each for Narrow {
    type Params = params::Convert;
    const INPUTS: &'static [&'static str] = &["x"];

    fn plan(p: &params::Convert) -> Result<Plan, String> {
        let inputs = vec![Extent::words(p.count.into())];
        Ok(Plan { inputs, output: Layout::dense(pairs(p)?), cost: 12 })
    }

    fn compute(_: &params::Convert, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let x: &[f32] = bytemuck::cast_slice(inputs[0]);
        let y: &mut [f16] = bytemuck::cast_slice_mut(output);
        y.iter_mut().zip(&x[2 * first..]).for_each(|(y, &x)| *y = f16::from_f32(x));
    }
}

impl Each for Widen {
    type Params = params::Convert;
    const INPUTS: &'static [&'static str] = &["x"];

    fn plan(p: &params::Convert) -> Result<Plan, String> {
        let inputs = vec![Extent::words(pairs(p)?.into())];
        Ok(Plan { inputs, output: Layout::dense(p.count), cost: 6 })
    }

    fn compute(_: &params::Convert, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let x: &[f16] = bytemuck::cast_slice(inputs[0]);
        output.iter_mut().zip(&x[first..]).for_each(|(y, &x)| *y = x.to_f32().to_bits());
    }
}
