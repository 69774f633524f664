//! `conv_transpose`: every output element gathers the inputs that contribute to it.

use super::super::check::Extent;
use super::super::per_element::{Footprint, Layout, PerElement};
use super::super::window;
use super::check;

/// The sum over those `i` and `k` with `o = i * stride - pad + k * dilation` of `x[n, c, i] * w[c,
/// m, k]`.
pub(in super::super) struct Transposed;

/// The input position from which element `k` of the window contributes to output position `o`, if
/// there is one.
fn origin(p: &roci_families::Conv, d: usize, o: usize, k: usize) -> Option<usize> {
    let at = usize::try_from(o as isize + p.pad[d] as isize - (k * p.dilation[d] as usize) as isize).ok()?;
    let stride = p.stride[d] as usize;
    Some(at / stride).filter(|&position| at.is_multiple_of(stride) && position < p.input[d] as usize)
}

/// Adds `weight * x` along a row: `y` starts at output position `first`.
fn add_row(p: &roci_families::Conv, k: usize, weight: f32, x: &[f32], first: usize, y: &mut [f32]) {
    let stride = p.stride[2] as isize;
    // Input position i contributes to position i * stride + shift of `y`.
    let shift = (k * p.dilation[2] as usize) as isize - p.pad[2] as isize - first as isize;
    let low = (-shift).max(0).div_ceil_of(stride);
    let high = (y.len() as isize - shift).max(0).div_ceil_of(stride).min(x.len() as isize);
    if low >= high {
        return;
    }
    let start = (low * stride + shift) as usize;
    let x = &x[low as usize..high as usize];
    if stride == 1 {
        y[start..].iter_mut().zip(x).for_each(|(y, &x)| *y += weight * x);
    } else {
        y[start..].iter_mut().step_by(stride as usize).zip(x).for_each(|(y, &x)| *y += weight * x);
    }
}

/// Division of a non-negative number, rounded up.
trait DivCeil {
    fn div_ceil_of(self, by: Self) -> Self;
}

impl DivCeil for isize {
    fn div_ceil_of(self, by: isize) -> isize {
        (self + by - 1) / by
    }
}

impl PerElement for Transposed {
    type Params = roci_families::Conv;
    const INPUTS: &'static [&'static str] = &["x", "w", "bias"];

    fn footprint(p: &roci_families::Conv) -> Result<Footprint, String> {
        let sizes = check::sizes(p)?;
        let inputs = sizes.inputs.iter().map(|&size| Extent::count(size as u128)).collect();
        let work = u64::from(p.in_channels / p.groups) * p.kernel.iter().map(|&size| u64::from(size)).product::<u64>();
        Ok(Footprint { inputs, output: Layout::dense(sizes.output), cost: work.saturating_add(8) })
    }

    fn compute(p: &roci_families::Conv, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, w, bias] = [0, 1, 2].map(|i| bytemuck::cast_slice::<u32, f32>(inputs[i]));
        let output: &mut [f32] = bytemuck::cast_slice_mut(output);
        let window = check::window(p);
        let [k0s, k1s, k2s] = p.kernel.map(|size| size as usize);
        let [_, height, width] = p.input.map(|size| size as usize);
        let plane = p.input.iter().map(|&size| size as usize).product::<usize>();
        let channels = p.out_channels as usize;
        let [ins, outs] = [p.in_channels, p.out_channels].map(|channels| (channels / p.groups) as usize);
        window::rows(p.output[2] as usize, first, output, |at, y| {
            let (image, [o0, o1, o2]) = window.locate(at);
            let (batch, channel) = (image / channels, image % channels);
            if p.flags & roci_families::Conv::ADD == 0 {
                y.fill(0.0);
            }
            for c in channel / outs * ins..(channel / outs + 1) * ins {
                let x = &x[(batch * p.in_channels as usize + c) * plane..][..plane];
                let w = &w[(c * outs + channel % outs) * k0s * k1s * k2s..][..k0s * k1s * k2s];
                for (k0, i0) in (0..k0s).filter_map(|k| Some((k, origin(p, 0, o0, k)?))) {
                    for (k1, i1) in (0..k1s).filter_map(|k| Some((k, origin(p, 1, o1, k)?))) {
                        let x = &x[(i0 * height + i1) * width..][..width];
                        let w = &w[(k0 * k1s + k1) * k2s..][..k2s];
                        w.iter().enumerate().for_each(|(k2, &weight)| add_row(p, k2, weight, x, o2, y));
                    }
                }
            }
            super::epilogue(p, bias, channel, y);
        });
    }
}
