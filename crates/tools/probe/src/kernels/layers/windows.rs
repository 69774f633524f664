//! Convolutions and pools.

use roci_kernels::params::{Conv, Pool};

use super::super::input::{Element, Input};
use super::super::reference::{Expected, exact};
use super::{CaseData, LayerCase, LayerCaseBuilder, bytes_moved, floats};
use crate::Tolerance;
use crate::WorkAmount;

/// Bias and ReLU, as in models.
const FLAGS: u32 = Conv::BIAS | Conv::CLAMP;
/// Number of partial sums in a two-pass convolution.
const PARTS: u32 = 3;

/// Input and output channels, groups, image size, kernel size and stride of a convolution.
struct Shape {
    channels: [u32; 2],
    groups: u32,
    size: u32,
    kernel: u32,
    stride: u32,
}

/// A convolution with all channels in one group. `conv`, the kernel for grouped convolutions, also
/// gets one with a channel per group.
pub(super) fn conv(builder: &LayerCaseBuilder) -> Vec<Box<dyn LayerCase>> {
    let size = builder.size(13, 57);
    let full = Shape {
        channels: [builder.size(9, 64), builder.size(11, 65)],
        groups: 1,
        size,
        kernel: 3,
        stride: if builder.kernel == "conv_transpose" { 2 } else { 1 },
    };
    let channels = builder.size(15, 257);
    let each = Shape { channels: [channels; 2], groups: channels, size, kernel: 3, stride: 2 };
    let mut problems = vec![one(builder, full)];
    if builder.kernel == "conv" {
        problems.push(one(builder, each));
    }
    problems
}

fn one(builder: &LayerCaseBuilder, shape: Shape) -> Box<dyn LayerCase> {
    let Shape { channels: [ins, outs], groups, size, kernel, stride } = shape;
    let is_transposed = builder.kernel == "conv_transpose";
    // Padding is 1 on every side.
    let output = if is_transposed { (size - 1) * stride + kernel - 2 } else { (size + 2 - kernel) / stride + 1 };
    let params = Conv {
        batch: 1,
        in_channels: ins,
        out_channels: outs,
        groups,
        input: [1, size, size],
        output: [1, output, output],
        kernel: [1, kernel, kernel],
        stride: [1, stride, stride],
        dilation: [1; 3],
        pad: [0, 1, 1],
        flags: FLAGS,
        low: 0.0,
        high: f32::INFINITY,
        parts: PARTS,
    };
    let places = if is_transposed { size } else { output };
    let terms = [ins, outs, kernel, kernel, places, places].iter().map(|&size| u64::from(size)).product::<u64>();
    let work = WorkAmount::Operations(2 * terms / u64::from(groups));
    let text = format!("{ins}x{size}x{size} to {outs}x{output}x{output}");
    match builder.kernel.trim_end_matches("_f16") {
        "conv_tiled" => {
            builder.with_grid(params.tiles(), params, text, work, (Element::F32, Tolerance::Sum), conv_data)
        }
        "conv_split_k" => {
            let params = Conv { flags: 0, ..params };
            let output = (Element::F32, Tolerance::Sum);
            builder.with_grid(params.part_tiles(), params, text, work, output, split_k_data)
        }
        "conv_split_k_reduce" => {
            let work = bytes_moved(&[(PARTS + 1) * outs * output * output]);
            builder.case(params, text, work, (Element::F32, Tolerance::Sum), |_, p| split_k_reduce_data(p))
        }
        _ => builder.case(params, text, work, (Element::F32, Tolerance::Sum), conv_data),
    }
}

/// Inputs of a convolution.
fn inputs(kernel: &str, p: &Conv) -> [Input; 3] {
    let weights = p.in_channels * (p.out_channels / p.groups) * p.kernel[1] * p.kernel[2];
    let sizes = [p.in_channels * p.input[1] * p.input[2], weights, p.out_channels];
    let weights = if kernel.ends_with("_f16") { Element::F16 } else { Element::F32 };
    let elements = [Element::F32, weights, Element::F32];
    [0, 1, 2].map(|at| Input::spread(elements[at], sizes[at] as usize, -1.0, 1.0, 1 + at as u64))
}

/// Partial sums over ranges of channels and window positions, for one group.
fn split_k_data(kernel: &str, p: &Conv) -> CaseData {
    let [x, w, bias] = inputs(kernel, p);
    let [size, output, window] = [p.input[2], p.output[2], p.kernel[2]].map(|size| size as usize);
    let (depth, span) = (p.depth() as usize, p.part_depth() as usize);
    let results = p.out_channels as usize * output * output;
    let mut expected = vec![exact(0.0); results * p.parts as usize];
    for (channel, k) in (0..p.out_channels as usize).flat_map(|channel| (0..depth).map(move |k| (channel, k))) {
        let plane = &x.values[k / (window * window) * size * size..][..size * size];
        let sums = &mut expected[k / span * results + channel * output * output..][..output * output];
        for (i, o) in pairs(p, false, k / window % window) {
            for (j, q) in pairs(p, false, k % window) {
                let (sum, term) = (&mut sums[o * output + q], w.values[channel * depth + k] * plane[i * size + j]);
                sum.value += term;
                sum.magnitude += term.abs();
            }
        }
    }
    (vec![x, w, bias], expected)
}

/// Adds partial sums, then applies bias and ReLU.
fn split_k_reduce_data(p: &Conv) -> CaseData {
    let plane = p.output[1] * p.output[2];
    let count = p.out_channels * plane;
    let (x, bias) = (floats(count * p.parts, (-1.0, 1.0), 1), floats(p.out_channels, (-1.0, 1.0), 2));
    let sum = |at: u32| {
        let parts = || (0..p.parts).map(|part| x.values[(part * count + at) as usize]);
        let bias = bias.values[(at / plane) as usize];
        let value = (bias + parts().sum::<f64>()).max(f64::from(p.low));
        Expected { value, magnitude: bias.abs() + parts().map(f64::abs).sum::<f64>() }
    };
    let expected = (0..count).map(sum).collect();
    (vec![x, bias], expected)
}

/// Scatters the product of every input element and every weight to its output element.
fn conv_data(kernel: &str, p: &Conv) -> CaseData {
    let [ins, outs] = [p.in_channels, p.out_channels].map(|channels| (channels / p.groups) as usize);
    let is_transposed = kernel == "conv_transpose";
    let [x, w, bias] = inputs(kernel, p);
    let [size, output, window] = [p.input[2], p.output[2], p.kernel[2]].map(|size| size as usize);
    let mut expected = Vec::new();
    for channel in 0..p.out_channels as usize {
        let first = bias.values[channel];
        let mut plane = vec![Expected { value: first, magnitude: first.abs() }; output * output];
        for c in 0..ins {
            let from = channel / outs * ins + c;
            let x = &x.values[from * size * size..][..size * size];
            let w = &w.values
                [(if is_transposed { from * outs + channel % outs } else { channel * ins + c }) * window * window..];
            for (tap, weight) in w[..window * window].iter().enumerate() {
                let pairs = |k| pairs(p, is_transposed, k);
                for (i, o) in pairs(tap / window) {
                    for (j, q) in pairs(tap % window) {
                        let (sum, term) = (&mut plane[o * output + q], weight * x[i * size + j]);
                        sum.value += term;
                        sum.magnitude += term.abs();
                    }
                }
            }
        }
        plane.iter_mut().for_each(|sum| sum.value = sum.value.max(f64::from(p.low)));
        expected.append(&mut plane);
    }
    (vec![x, w, bias], expected)
}

/// Pairs of input and output positions along one axis that window position `k` connects.
fn pairs(p: &Conv, is_transposed: bool, k: usize) -> impl Iterator<Item = (usize, usize)> {
    let [size, output, stride, pad] = [p.input[2], p.output[2], p.stride[2], p.pad[2] as u32].map(|size| size as usize);
    let (few, many) = if is_transposed { (size, output) } else { (output, size) };
    let reached = move |place: usize| (place * stride + k).checked_sub(pad).filter(|&place| place < many);
    let both = (0..few).filter_map(move |place| Some((place, reached(place)?)));
    both.map(move |(few, many)| if is_transposed { (few, many) } else { (many, few) })
}

pub(super) fn pool(builder: &LayerCaseBuilder) -> Box<dyn LayerCase> {
    let (planes, size) = (builder.size(7, 67), builder.size(27, 113));
    let output = (size - 1) / 2 + 1;
    let params = Pool {
        planes,
        input: [1, size, size],
        output: [1, output, output],
        kernel: [1, 3, 3],
        stride: [1, 2, 2],
        dilation: [1; 3],
        pad: [0, 1, 1],
        pad_end: [0, 1, 1],
        flags: 0,
        norm: 2,
    };
    let (element, tolerance) = match builder.kernel {
        "pool_max" => (Element::F32, Tolerance::Exact),
        "pool_max_indices" => (Element::U32, Tolerance::Exact),
        _ => (Element::F32, Tolerance::Sum),
    };
    let work = bytes_moved(&[planes * size * size, planes * output * output]);
    builder.case(params, format!("{planes}x{size}x{size}"), work, (element, tolerance), pool_data)
}

fn pool_data(kernel: &str, p: &Pool) -> CaseData {
    let (size, output) = (p.input[2] as usize, p.output[2] as usize);
    let x = floats(p.planes * p.input[1] * p.input[2], (-4.0, 4.0), 1);
    // From one before the center to one after it, clipped to the image.
    let span = |place: usize| (2 * place).saturating_sub(1)..(2 * place + 2).min(size);
    let mut expected = Vec::new();
    for start in (0..x.values.len()).step_by(size * size) {
        for (i, j) in (0..output).flat_map(|i| (0..output).map(move |j| (i, j))) {
            let places = || span(i).flat_map(|row| span(j).map(move |column| start + row * size + column));
            let values = || places().map(|place| x.values[place]);
            let sum = Expected { value: values().sum(), magnitude: values().map(f64::abs).sum() };
            expected.push(match kernel {
                "pool_max" => exact(values().fold(f64::NEG_INFINITY, f64::max)),
                "pool_max_indices" => {
                    let best = places().max_by(|&a, &b| x.values[a].total_cmp(&x.values[b]));
                    exact(best.unwrap_or(0) as f64)
                }
                "pool_average" => {
                    let count = places().count() as f64;
                    Expected { value: sum.value / count, magnitude: sum.magnitude / count }
                }
                _ => exact(values().map(|x| x * x).sum::<f64>().sqrt()),
            });
        }
    }
    (vec![x], expected)
}
