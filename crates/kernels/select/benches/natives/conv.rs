//! The convolutions of ResNet-50 and MobileNetV2 at batch size 1, 224 x 224.

use roci_hal::Device;
use roci_kernels::params::Conv;

use crate::driver::{Buffer, ours};
use crate::table::{case, print};
use crate::{ROUNDS, values};

/// Input and output channels, input size, kernel size, stride, groups; then how often the model has
/// this shape.
type Shape = ([u32; 6], u32);

const RESNET_50: &[Shape] = &[
    ([3, 64, 224, 7, 2, 1], 1),
    ([64, 64, 56, 1, 1, 1], 1),
    ([64, 64, 56, 3, 1, 1], 3),
    ([64, 256, 56, 1, 1, 1], 4),
    ([256, 64, 56, 1, 1, 1], 2),
    ([256, 128, 56, 1, 1, 1], 1),
    ([128, 128, 56, 3, 2, 1], 1),
    ([256, 512, 56, 1, 2, 1], 1),
    ([128, 512, 28, 1, 1, 1], 4),
    ([512, 128, 28, 1, 1, 1], 3),
    ([128, 128, 28, 3, 1, 1], 3),
    ([512, 256, 28, 1, 1, 1], 1),
    ([256, 256, 28, 3, 2, 1], 1),
    ([512, 1024, 28, 1, 2, 1], 1),
    ([256, 1024, 14, 1, 1, 1], 6),
    ([1024, 256, 14, 1, 1, 1], 5),
    ([256, 256, 14, 3, 1, 1], 5),
    ([1024, 512, 14, 1, 1, 1], 1),
    ([512, 512, 14, 3, 2, 1], 1),
    ([1024, 2048, 14, 1, 2, 1], 1),
    ([512, 2048, 7, 1, 1, 1], 3),
    ([2048, 512, 7, 1, 1, 1], 2),
    ([512, 512, 7, 3, 1, 1], 2),
];

const MOBILENET_V2: &[Shape] = &[
    ([3, 32, 224, 3, 2, 1], 1),
    ([32, 32, 112, 3, 1, 32], 1),
    ([32, 16, 112, 1, 1, 1], 1),
    ([16, 96, 112, 1, 1, 1], 1),
    ([96, 96, 112, 3, 2, 96], 1),
    ([96, 24, 56, 1, 1, 1], 1),
    ([24, 144, 56, 1, 1, 1], 2),
    ([144, 144, 56, 3, 1, 144], 1),
    ([144, 24, 56, 1, 1, 1], 1),
    ([144, 144, 56, 3, 2, 144], 1),
    ([144, 32, 28, 1, 1, 1], 1),
    ([32, 192, 28, 1, 1, 1], 3),
    ([192, 192, 28, 3, 1, 192], 2),
    ([192, 32, 28, 1, 1, 1], 2),
    ([192, 192, 28, 3, 2, 192], 1),
    ([192, 64, 14, 1, 1, 1], 1),
    ([64, 384, 14, 1, 1, 1], 4),
    ([384, 384, 14, 3, 1, 384], 4),
    ([384, 64, 14, 1, 1, 1], 3),
    ([384, 96, 14, 1, 1, 1], 1),
    ([96, 576, 14, 1, 1, 1], 3),
    ([576, 576, 14, 3, 1, 576], 2),
    ([576, 96, 14, 1, 1, 1], 2),
    ([576, 576, 14, 3, 2, 576], 1),
    ([576, 160, 7, 1, 1, 1], 1),
    ([160, 960, 7, 1, 1, 1], 3),
    ([960, 960, 7, 3, 1, 960], 3),
    ([960, 160, 7, 1, 1, 1], 2),
    ([960, 320, 7, 1, 1, 1], 1),
    ([320, 1280, 7, 1, 1, 1], 1),
];

/// Benchmarks every shape and prints the total time per model, from the best runs.
pub(crate) fn all(device: &Device) {
    for (model, shapes) in [("ResNet-50", RESNET_50), ("MobileNetV2", MOBILENET_V2)] {
        let (mut seconds, mut work) = (0.0, 0.0);
        for &(shape, times) in shapes {
            let (once, rate) = one(device, shape);
            seconds += f64::from(times) * once / rate;
            work += f64::from(times) * once;
        }
        print(&format!("\n{model}: {:.2} ms in its convolutions, {:.1} GFLOP/s", seconds * 1e3, work / seconds));
    }
}

/// Benchmarks one shape with bias and ReLU. Returns its work in GFLOP and the best rate.
fn one(device: &Device, [ins, outs, size, kernel, stride, groups]: [u32; 6]) -> (f64, f64) {
    let pad = kernel / 2;
    let output = (size + 2 * pad - kernel) / stride + 1;
    let p = Conv {
        batch: 1,
        in_channels: ins,
        out_channels: outs,
        groups,
        input: [1, size, size],
        output: [1, output, output],
        kernel: [1, kernel, kernel],
        stride: [1, stride, stride],
        dilation: [1; 3],
        pad: [0, pad as i32, pad as i32],
        flags: Conv::BIAS | Conv::CLAMP,
        low: 0.0,
        high: f32::INFINITY,
        parts: 1,
    };
    let weights = outs * (ins / groups) * kernel * kernel;
    let sizes = [ins * size * size, weights, outs, outs * output * output];
    let [x, w, bias, y] = sizes.map(|count| Buffer::from_slice(device, &values(count as usize)));
    let work = 2.0 * f64::from(weights) * f64::from(output * output) / 1e9;
    let title = format!("conv {ins} to {outs}, {size} x {size} by {kernel}, steps of {stride}, {groups} groups");
    let implementation = ours(device, "conv", &[&x, &w, &bias, &y], p, work);
    let rates = case(&title, "GFLOP/s", None, ROUNDS, &mut [implementation]);
    (work, rates[0].best)
}
