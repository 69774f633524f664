//! CPU-only kernels against their generic counterparts or naive f64 sums.

use roci_hal::native::{NativeBinding, NativeLaunch};
use roci_kernels::native::{self, Level, pack_blocked, pack_columns};
use roci_kernels::params::{BlockedLayout, Conv, ConvBlocked, MatmulPacked, Pool, PoolBlocked, Reorder};
use roci_testkit::Tolerance;

use crate::launch::{bytes, launch_at, values};

/// Runs a CPU-only kernel, with parts in reverse order.
fn launch<P: bytemuck::Pod>(level: Level, name: &str, buffers: &mut [&mut [f32]], p: &P, workers: usize) {
    let (kernel, constants) = native::find_native_only(name, level).unwrap_or_else(|| panic!("no kernel `{name}`"));
    assert_eq!(constants, size_of::<P>());
    let bindings: Vec<NativeBinding> = buffers
        .iter_mut()
        .map(|buffer| NativeBinding { pointer: buffer.as_mut_ptr().cast(), length: size_of_val(*buffer) })
        .collect();
    let launch = NativeLaunch { grid: [1; 3], bindings: &bindings, constants: bytemuck::bytes_of(p), workers };
    let parts = kernel.prepare(&launch).expect("the launch is valid");
    for part in (0..parts).rev() {
        // SAFETY: the bindings are live buffers that only this thread uses, and `prepare` accepted
        // the launch.
        unsafe { kernel.run(&launch, part, parts) };
    }
}

/// Converts images to another layout; elements that are not written stay NaN.
fn reordered(level: Level, batch: u32, images: &mut [f32], x: BlockedLayout, y: BlockedLayout) -> Vec<f32> {
    let mut output = vec![f32::NAN; batch as usize * y.elements()];
    launch(level, "reorder", &mut [images, &mut output], &Reorder { batch, x, y }, 3);
    output
}

fn plain(channels: u32, size: [u32; 2]) -> BlockedLayout {
    BlockedLayout { channels, size, block: 1, border: 0 }
}

fn close(got: &[f32], expected: &[f32], what: &str) {
    Tolerance::Approximate.compare(got, expected).unwrap_or_else(|error| panic!("{what}: {error}"));
}

/// Input and output channels, input size, kernel size, stride, dilation, padding, border of the
/// result, blocked input, depthwise.
struct Case(u32, u32, [u32; 2], u32, u32, u32, u32, u32, bool, bool);

#[test]
fn blocked_convolutions_match_plain_ones() {
    let cases = [
        Case(3, 20, [9, 33], 3, 2, 1, 1, 1, false, false),
        Case(40, 33, [7, 7], 1, 1, 1, 0, 0, true, false),
        Case(17, 64, [14, 14], 3, 1, 1, 1, 2, true, false),
        Case(32, 48, [7, 7], 3, 1, 1, 1, 0, true, false),
        Case(24, 24, [10, 17], 3, 1, 2, 2, 1, true, true),
        Case(35, 35, [15, 31], 5, 2, 1, 2, 0, true, true),
        Case(160, 16, [5, 9], 1, 2, 1, 0, 0, true, false),
    ];
    let batch = 2;
    for &Case(ins, outs, input, kernel, stride, dilation, pad, border, blocked, depthwise) in &cases {
        let output = input.map(|size| (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1);
        let groups = if depthwise { ins } else { 1 };
        let three = |size: u32| [1, size, size];
        let p = Conv {
            batch,
            in_channels: ins,
            out_channels: outs,
            groups,
            input: [1, input[0], input[1]],
            output: [1, output[0], output[1]],
            kernel: three(kernel),
            stride: three(stride),
            dilation: three(dilation),
            pad: [0, pad as i32, pad as i32],
            flags: Conv::BIAS | Conv::ADD | Conv::CLAMP,
            low: -0.5,
            high: 2.0,
            parts: 1,
        };
        let taps = kernel * kernel;
        let sizes = [
            batch * ins * input[0] * input[1],
            outs * (ins / groups) * taps,
            outs,
            batch * outs * output[0] * output[1],
        ];
        let [mut x, mut w, mut bias, y] = sizes.map(|size| values(size as usize, 1.0, size));
        let mut expected = y.clone();
        let mut buffers = [bytes(&mut x), bytes(&mut w), bytes(&mut bias), bytes(&mut expected)];
        launch_at(Level::best(), "conv", &mut buffers, bytemuck::bytes_of(&p), 1).expect("the launch is valid");
        for &level in Level::available() {
            let lanes = level.lanes() as u32;
            let block = if blocked { lanes } else { 1 };
            let from = BlockedLayout { block, border: (kernel - 1) * dilation, ..plain(ins, input) };
            let to = BlockedLayout { block: lanes, border, ..plain(outs, output) };
            let mut images = reordered(level, batch, &mut x, plain(ins, input), from);
            let sizes = [outs, ins / groups, taps].map(|size| size as usize);
            let mut packed = pack_blocked(level, &w, Some(&bias), sizes, block as usize, depthwise);
            let q = ConvBlocked {
                batch,
                x: from,
                y: to,
                kernel: [kernel; 2],
                stride: [stride; 2],
                dilation: [dilation; 2],
                pad: [pad; 2],
                flags: p.flags | if depthwise { ConvBlocked::DEPTHWISE } else { 0 },
                low: p.low,
                high: p.high,
            };
            let run = |images: &mut Vec<f32>, packed: &mut Vec<f32>, workers| {
                let mut target = reordered(level, batch, &mut y.clone(), plain(outs, output), to);
                launch(level, "conv_blocked", &mut [images, packed, &mut target], &q, workers);
                target
            };
            let mut result = run(&mut images, &mut packed, 3);
            assert_eq!(result, run(&mut images, &mut packed, 1), "with another number of parts");
            let sum: f32 = result.iter().sum();
            assert!(sum.is_finite(), "an element was not written");
            let result = reordered(level, batch, &mut result, to, plain(outs, output));
            close(&result, &expected, &format!("{ins} to {outs} by {kernel} at {level}"));
        }
    }
}

#[test]
fn blocked_pools_match_plain_ones() {
    let (batch, channels, input) = (2, 19, [11, 14]);
    let output = input.map(|size: u32| (size + 2 - 3) / 2 + 1);
    let p = Pool {
        planes: batch * channels,
        input: [1, input[0], input[1]],
        output: [1, output[0], output[1]],
        kernel: [1, 3, 3],
        stride: [1, 2, 2],
        dilation: [1; 3],
        pad: [0, 1, 1],
        pad_end: [0, 1, 1],
        flags: 0,
        norm: 0,
    };
    let mut x = values((batch * channels * input[0] * input[1]) as usize, 1.0, 5);
    x[7] = f32::NAN;
    for kernel in ["max", "average"] {
        let mut expected = vec![0.0f32; (batch * channels * output[0] * output[1]) as usize];
        let mut buffers = [bytes(&mut x), bytes(&mut expected)];
        let name = format!("pool_{kernel}");
        launch_at(Level::best(), &name, &mut buffers, bytemuck::bytes_of(&p), 1).expect("the launch is valid");
        for &level in Level::available() {
            let block = level.lanes() as u32;
            let from = BlockedLayout { block, ..plain(channels, input) };
            let to = BlockedLayout { block, border: 1, ..plain(channels, output) };
            let mut images = reordered(level, batch, &mut x, plain(channels, input), from);
            let mut result = vec![f32::NAN; batch as usize * to.elements()];
            let (kernel, stride) = ([3; 2], [2; 2]);
            let q = PoolBlocked { batch, x: from, y: to, kernel, stride, dilation: [1; 2], pad: [1; 2] };
            let name = format!("pool_blocked_{}", name.trim_start_matches("pool_"));
            launch(level, &name, &mut [&mut images, &mut result], &q, 3);
            let result = reordered(level, batch, &mut result, to, plain(channels, output));
            Tolerance::Close.compare(&result, &expected).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn packed_products_match_plain_ones() {
    for (m, n, k) in [(1, 5, 3), (9, 48, 400), (13, 100, 33), (70, 129, 17)] {
        let [mut x, w] = [m * k, k * n].map(|size| values(size, 1.0, size as u32));
        let (bias, y) = (values(n, 1.0, 3), values(m * n, 1.0, 4));
        let sum = |row: usize, column: usize| {
            let terms = (0..k).map(|at| f64::from(x[row * k + at]) * f64::from(w[at * n + column]));
            terms.sum::<f64>() + f64::from(bias[column]) + f64::from(y[row * n + column])
        };
        let sums: Vec<f64> = (0..m * n).map(|at| sum(at / n, at % n)).collect();
        let erf = |x: f64| {
            // Numerical integration of the definition.
            let steps = 2_000;
            let terms = (0..steps).map(|at| (-((f64::from(at) + 0.5) / f64::from(steps) * x).powi(2)).exp());
            terms.sum::<f64>() / f64::from(steps) * x * 2.0 / std::f64::consts::PI.sqrt()
        };
        for (function, flags) in [
            (&(|x: f64| x) as &dyn Fn(f64) -> f64, MatmulPacked::LINEAR),
            (&|x: f64| x.max(0.0), MatmulPacked::RELU),
            (&|x: f64| 0.5 * x * (1.0 + erf(x / 2f64.sqrt())), MatmulPacked::GELU),
        ] {
            // GELU by its definition is slow.
            if flags == MatmulPacked::GELU && m * n > 1_000 {
                continue;
            }
            let expected: Vec<f32> = sums.iter().map(|&sum| function(sum) as f32).collect();
            for &level in Level::available() {
                let mut packed = pack_columns(level, &w, Some(&bias), [k, n]);
                let flags = flags | MatmulPacked::ADD;
                let p = MatmulPacked { m: m as u32, n: n as u32, k: k as u32, flags };
                let mut run = |workers| {
                    let mut result = y.clone();
                    launch(level, "matmul_packed", &mut [&mut x, &mut packed, &mut result], &p, workers);
                    result
                };
                let result = run(3);
                assert_eq!(result, run(1), "with another number of parts");
                close(&result, &expected, &format!("{m} x {n} x {k} at {level}"));
            }
        }
    }
}
