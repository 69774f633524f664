//! Convolutions and pools: one to three dimensions, strides, pads, dilations, groups.

use roci_kernels::params::{Conv, Params as _, Pool};
use roci_testkit::Tolerance;

use super::{Case, Element, Random, case, halves, untouched, words};

/// A window over an input: sizes, and what the output then measures.
#[derive(Clone, Copy)]
struct Window {
    input: [u32; 3],
    kernel: [u32; 3],
    stride: [u32; 3],
    dilation: [u32; 3],
    /// Before the start.
    pad: [i32; 3],
    /// Behind the end.
    pad_end: [i32; 3],
}

impl Window {
    /// Two dimensions with the same pads everywhere.
    fn flat(input: [u32; 2], kernel: [u32; 2], stride: u32, pad: i32) -> Self {
        let pads = [0, pad, pad];
        Self {
            input: [1, input[0], input[1]],
            kernel: [1, kernel[0], kernel[1]],
            stride: [1, stride, stride],
            dilation: [1; 3],
            pad: pads,
            pad_end: pads,
        }
    }

    fn output(&self) -> [u32; 3] {
        [0, 1, 2].map(|d| {
            let reach = (self.kernel[d] - 1) * self.dilation[d] + 1;
            let room = self.input[d] as i32 + self.pad[d] + self.pad_end[d] - reach as i32;
            u32::try_from(room).map_or(0, |room| room / self.stride[d] + 1)
        })
    }

    fn transposed(&self) -> [u32; 3] {
        [0, 1, 2].map(|d| {
            let reach = (self.kernel[d] - 1) * self.dilation[d] + 1;
            ((self.input[d] - 1) * self.stride[d] + reach).saturating_add_signed(-self.pad[d] - self.pad_end[d])
        })
    }
}

/// Windows of all kinds.
fn windows() -> Vec<Window> {
    let plain = Window::flat([9, 11], [3, 3], 1, 1);
    vec![
        Window::flat([1, 1], [1, 1], 1, 0),
        Window::flat([6, 50], [1, 1], 1, 0),
        plain,
        Window::flat([9, 10], [3, 3], 2, 1),
        Window::flat([15, 17], [7, 5], 2, 3),
        Window { dilation: [1, 2, 3], pad: [0, 2, 1], pad_end: [0, 3, 4], ..plain },
        Window { stride: [1, 3, 2], pad: [0, -2, 0], pad_end: [0, 0, -1], ..plain },
        // One dimension, and three.
        Window {
            input: [1, 1, 130],
            kernel: [1, 1, 4],
            stride: [1, 1, 3],
            pad: [0, 0, 2],
            ..Window::flat([1, 1], [1, 1], 1, 0)
        },
        Window {
            input: [4, 5, 6],
            kernel: [2, 3, 3],
            stride: [2, 1, 2],
            dilation: [1, 2, 1],
            pad: [1, 2, 0],
            pad_end: [0, 1, 1],
        },
    ]
}

/// `form` is what follows `conv_` in the kernel's name.
pub(super) fn conv(form: &str, random: &mut Random) -> Vec<Case> {
    // Batches, channels of x and y, groups.
    let channels = [[1, 3, 5, 1], [2, 4, 6, 2], [1, 5, 5, 5], [1, 3, 6, 3], [1, 40, 70, 1], [0, 2, 2, 1]];
    let (bias, add, clamp) = (Conv::BIAS, Conv::ADD, Conv::CLAMP);
    let flags = [0, bias, add, bias | clamp, bias | add | clamp];
    let is_tiled = !matches!(form, "" | "transpose" | "join");
    let mut cases = Vec::new();
    for (index, window) in windows().into_iter().enumerate() {
        for (turn, [batch, in_channels, out_channels, groups]) in channels.into_iter().enumerate() {
            let Window { input, kernel, stride, dilation, pad, .. } = window;
            let output = if form == "transpose" { window.transposed() } else { window.output() };
            let flags = flags[(index + turn) % flags.len()];
            let (low, high) = if index % 2 == 0 { (0.0, f32::INFINITY) } else { (-0.5, 0.7) };
            let problem = Conv {
                batch,
                in_channels,
                out_channels,
                groups,
                input,
                output,
                kernel,
                stride,
                dilation,
                pad,
                flags,
                low,
                high,
                parts: 1 + index as u32 % 4,
            };
            // Every element of the output walks the whole window of all channels: many of them for some windows are enough.
            let is_long = form == "transpose" && in_channels > 8 && index > 3;
            if is_long || (is_tiled && !problem.is_flat()) {
                continue;
            }
            cases.push(conv_case(problem, form, random));
        }
    }
    if !is_tiled {
        let problem = Conv {
            batch: 2,
            in_channels: 3,
            out_channels: 4,
            groups: 1,
            parts: 2,
            ..same_sizes(Window::flat([8, 9], [3, 3], 1, 1))
        };
        cases.push(conv_case(problem, form, random).with_one_group());
    }
    cases
}

/// The problem of a window without a change of sizes.
fn same_sizes(window: Window) -> Conv {
    let Window { input, kernel, stride, dilation, pad, .. } = window;
    Conv { input, output: input, kernel, stride, dilation, pad, groups: 1, ..Conv::default() }
}

fn conv_case(mut problem: Conv, form: &str, random: &mut Random) -> Case {
    let product = |sizes: &[u32]| sizes.iter().product::<u32>() as usize;
    let (form, is_half) = form.strip_suffix("_f16").map_or((form, false), |form| (form, true));
    if form == "partial" {
        problem.flags = 0;
    }
    let Conv { batch, in_channels, out_channels, groups, input, output, kernel, stride, flags, .. } = problem;
    let mut x = random.floats(product(&[batch, in_channels]) * product(&input), -1.0, 1.0);
    if flags & Conv::CLAMP != 0 && in_channels < 6 {
        // Bounds leave NaN alone.
        x.iter_mut().take(1).for_each(|x| *x = f32::NAN);
    }
    let w = random.floats(product(&[out_channels, in_channels / groups]) * product(&kernel), -1.0, 1.0);
    let bias = random.floats(if flags & Conv::BIAS != 0 { out_channels as usize } else { 1 }, -1.0, 1.0);
    let results = product(&[batch, out_channels]) * product(&output);
    let mut y = untouched(results * if form == "partial" { problem.parts as usize } else { 1 });
    if flags & Conv::ADD != 0 {
        let count = y.len() - 1;
        y[..count].copy_from_slice(&words(&random.floats(count, -1.0, 1.0)));
    }
    let label = format!(
        "{batch} x {in_channels} to {out_channels} channels in {groups} groups, {input:?} to {output:?} by \
         {kernel:?} and steps of {stride:?}, flags {flags}, {} parts",
        problem.parts
    );
    let buffers = match form {
        "join" => vec![words(&random.floats(results * problem.parts as usize, -1.0, 1.0)), words(&bias), y],
        _ => vec![words(&x), if is_half { halves(&w) } else { words(&w) }, words(&bias), y],
    };
    let grid = match form {
        "tiled" => problem.tiles(),
        "partial" => problem.part_tiles(),
        "" => problem.strips(),
        _ => problem.grid(),
    };
    Case { grid, ..case(problem, buffers, Element::F32, Tolerance::Approximate, label) }
}

/// `op` is what follows `pool_` in the kernel's name.
pub(super) fn pool(op: &str, random: &mut Random) -> Vec<Case> {
    let (output, tolerance) = match op {
        "max" => (Element::F32, Tolerance::Exact),
        "max_indices" => (Element::Word, Tolerance::Exact),
        "average" => (Element::F32, Tolerance::Close),
        _ => (Element::F32, Tolerance::ManyUlps),
    };
    let mut make = |window: Window, planes: u32, flags: u32, norm: u32, more: u32| {
        let Window { input, kernel, stride, dilation, pad, pad_end } = window;
        // More windows than fit, as rounding up gives them.
        let sizes = window.output().map(|size| if size > 1 { size + more } else { size });
        let problem = Pool { planes, input, output: sizes, kernel, stride, dilation, pad, pad_end, flags, norm };
        let count = input.iter().product::<u32>() * planes;
        let mut x = random.floats(count as usize, -2.0, 2.0);
        // Equals, and for the greatest what is greater than numbers.
        x.iter_mut().step_by(3).for_each(|x| *x = x.round());
        if op.starts_with("max") {
            x.iter_mut().skip(7).step_by(40).for_each(|x| *x = f32::NAN);
            x.iter_mut().skip(20).step_by(31).for_each(|x| *x = f32::NEG_INFINITY);
        }
        let y = untouched((sizes.iter().product::<u32>() * planes) as usize);
        let label = format!(
            "{planes} planes, {input:?} to {sizes:?} by {kernel:?}, steps of {stride:?}, flags {flags}, norm {norm}"
        );
        case(problem, vec![words(&x), y], output, tolerance, label)
    };
    let mut cases = Vec::new();
    for (index, window) in (0..).zip(windows()) {
        cases.push(make(window, 3, index % 4, 1 + index % 4, 0));
        cases.push(make(window, 2, (index + 1) % 4, 2, 1));
    }
    cases.push(make(Window::flat([7, 7], [7, 7], 1, 0), 0, 0, 2, 0));
    cases.push(make(Window::flat([20, 30], [3, 3], 2, 1), 4, 0, 2, 0).with_one_group());
    cases
}
