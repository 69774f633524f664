//! `conv_split_k` and `conv_split_k_reduce`: a convolution whose sums are split into parts, so that
//! a GPU has enough workgroups; and tiled convolutions with f16 weights.
//!
//! These are only references for the GPU kernels; a CPU does not need to split sums.

use half::f16;

use super::super::check::Extent;
use super::super::per_element::{Footprint, Layout, PerElement};
use super::check;

/// The sum over the depth, which is channels of the group times elements of the window, or over one
/// part of it. `HALF` is for f16 weights.
pub(in super::super) struct TiledConv<const PARTIAL: bool, const HALF: bool>;

impl<const PARTIAL: bool, const HALF: bool> PerElement for TiledConv<PARTIAL, HALF> {
    type Params = roci_families::Conv;
    const INPUTS: &'static [&'static str] = &["x", "w", "bias"];

    fn footprint(p: &roci_families::Conv) -> Result<Footprint, String> {
        if !p.is_flat() || (PARTIAL && p.flags != 0) {
            return Err("only two dimensions are supported, and only `conv_split_k_reduce` takes flags for split sums"
                .to_owned());
        }
        let sizes = check::sizes(p)?;
        let [x, w, bias] = sizes.inputs;
        let w = if HALF { w.div_ceil(2) } else { w };
        let inputs = [x, w, bias].map(|size| Extent::count(size as u128)).to_vec();
        let parts = if PARTIAL { p.parts } else { 1 };
        let output = sizes.output.checked_mul(parts).ok_or("too many elements")?;
        let work = u64::from(p.depth()).saturating_mul(4).saturating_add(8);
        Ok(Footprint { inputs, output: Layout::dense(output), cost: work })
    }

    fn compute(p: &roci_families::Conv, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, w, bias] = [0, 1, 2].map(|i| bytemuck::cast_slice::<u32, f32>(inputs[i]));
        let halves: &[f16] = bytemuck::cast_slice(inputs[1]);
        let weight = |at: usize| if HALF { halves[at].to_f32() } else { w[at] };
        let window = check::window(p);
        let [_, height, width] = p.input.map(|size| size as usize);
        let [_, rows, across] = p.kernel.map(|size| size as usize);
        let [ins, outs] = [p.in_channels, p.out_channels].map(|channels| (channels / p.groups) as usize);
        let depth = ins * rows * across;
        let span = if PARTIAL { p.part_depth() as usize } else { depth };
        let images = (p.batch * p.out_channels) as usize;
        for (at, y) in output.iter_mut().enumerate() {
            let (image, [_, o1, o2]) = window.locate(first + at);
            let (part, image) = (image / images, image % images);
            let (batch, channel) = (image / p.out_channels as usize, image % p.out_channels as usize);
            let mut sum = 0.0f32;
            for k in (part * span).min(depth)..((part + 1) * span).min(depth) {
                let (c, tap) = (k / (rows * across), k % (rows * across));
                let positions = (window.inside(1, o1, tap / across), window.inside(2, o2, tap % across));
                if let (Some(i1), Some(i2)) = positions {
                    let plane = batch * p.in_channels as usize + channel / outs * ins + c;
                    sum += x[(plane * height + i1) * width + i2] * weight(channel * depth + k);
                }
            }
            let mut sum = [sum];
            if p.flags & roci_families::Conv::ADD != 0 {
                sum[0] += f32::from_bits(*y);
            }
            super::epilogue(p, bias, channel, &mut sum);
            *y = sum[0].to_bits();
        }
    }
}

/// The sum of the parts, with the epilogue of a convolution.
pub(in super::super) struct SplitKReduce;

impl PerElement for SplitKReduce {
    type Params = roci_families::Conv;
    const INPUTS: &'static [&'static str] = &["x", "bias"];

    fn footprint(p: &roci_families::Conv) -> Result<Footprint, String> {
        let sizes = check::sizes(p)?;
        let parts = u128::from(sizes.output) * u128::from(p.parts);
        let inputs = vec![Extent::count(parts), Extent::count(sizes.inputs[2] as u128)];
        Ok(Footprint { inputs, output: Layout::dense(sizes.output), cost: 4 * u64::from(p.parts) + 8 })
    }

    fn compute(p: &roci_families::Conv, inputs: &[&[u32]], first: usize, output: &mut [u32]) {
        let [x, bias] = [0, 1].map(|i| bytemuck::cast_slice::<u32, f32>(inputs[i]));
        let plane = p.output.iter().map(|&size| size as usize).product::<usize>();
        let count = (p.batch * p.out_channels) as usize * plane;
        for (at, y) in output.iter_mut().enumerate() {
            let at = first + at;
            let mut sum = [(0..p.parts as usize).map(|part| x[part * count + at]).sum::<f32>()];
            if p.flags & roci_families::Conv::ADD != 0 {
                sum[0] += f32::from_bits(*y);
            }
            super::epilogue(p, bias, at / plane % p.out_channels as usize, &mut sum);
            *y = sum[0].to_bits();
        }
    }
}
