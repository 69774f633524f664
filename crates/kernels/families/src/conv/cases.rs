//! Convolutions: one to three dimensions, strides, padding, dilation, groups.

use roci_tolerance::Tolerance;

use crate::cases::window::{Window, windows};
use crate::cases::{Case, Element, Random, case, halves, untouched, words};
use crate::{Conv, Params as _};

pub(super) fn of(kernel: &str, random: &mut Random) -> Vec<Case> {
    let form = kernel.strip_prefix("conv_").unwrap_or_default();
    // Batch size, channels of x, channels of y, groups.
    let channels = [[1, 3, 5, 1], [2, 4, 6, 2], [1, 5, 5, 5], [1, 3, 6, 3], [1, 40, 70, 1], [0, 2, 2, 1]];
    let (bias, add, clamp) = (Conv::BIAS, Conv::ADD, Conv::CLAMP);
    let flags = [0, bias, add, bias | clamp, bias | add | clamp];
    let is_tiled = !matches!(form, "" | "transpose" | "split_k_reduce");
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
            // Every output element loops over the whole window of all channels: combining many
            // channels with a few windows is enough.
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

/// A convolution whose output has the size of its input.
fn same_sizes(window: Window) -> Conv {
    let Window { input, kernel, stride, dilation, pad, .. } = window;
    Conv { input, output: input, kernel, stride, dilation, pad, groups: 1, ..Conv::default() }
}

fn conv_case(mut problem: Conv, form: &str, random: &mut Random) -> Case {
    let product = |sizes: &[u32]| sizes.iter().product::<u32>() as usize;
    let (form, is_half) = form.strip_suffix("_f16").map_or((form, false), |form| (form, true));
    if form == "split_k" {
        problem.flags = 0;
    }
    let Conv { batch, in_channels, out_channels, groups, input, output, kernel, stride, flags, .. } = problem;
    let mut x = random.floats(product(&[batch, in_channels]) * product(&input), -1.0, 1.0);
    if flags & Conv::CLAMP != 0 && in_channels < 6 {
        // Clamping preserves NaN.
        x.iter_mut().take(1).for_each(|x| *x = f32::NAN);
    }
    let w = random.floats(product(&[out_channels, in_channels / groups]) * product(&kernel), -1.0, 1.0);
    let bias = random.floats(if flags & Conv::BIAS != 0 { out_channels as usize } else { 1 }, -1.0, 1.0);
    let results = product(&[batch, out_channels]) * product(&output);
    let mut y = untouched(results * if form == "split_k" { problem.parts as usize } else { 1 });
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
        "split_k_reduce" => vec![words(&random.floats(results * problem.parts as usize, -1.0, 1.0)), words(&bias), y],
        _ => vec![words(&x), if is_half { halves(&w) } else { words(&w) }, words(&bias), y],
    };
    let grid = match form {
        "tiled" => problem.tiles(),
        "split_k" => problem.part_tiles(),
        "" => problem.strips(),
        _ => problem.grid(),
    };
    Case { grid, ..case(problem, buffers, Element::F32, Tolerance::Approximate, label) }
}
