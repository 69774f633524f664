//! IQ4_NL and IQ4_XS: four-bit codes of a non-uniform codebook.

use half::f16;

use super::fit::MIN_PEAK;
use super::k::{BLOCK, mean_squares};
use super::lanes::{Groups, LANES, combine, each, importance, nearest, peaks, reciprocal, sum_of_squares, transpose};
use super::output::Output;
use crate::dequantize::IQ4;

/// Values of a group.
const GROUP: usize = 32;
/// Groups in a block of IQ4_XS.
const GROUPS: usize = BLOCK / GROUP;

/// Midpoints between neighboring values of the codebook. A midpoint rounds to the larger code.
const MIDPOINTS: [f32; 15] = {
    let mut midpoints = [0.0; 15];
    let mut at = 0;
    while at < 15 {
        midpoints[at] = (IQ4[at] as f32 + IQ4[at + 1] as f32) / 2.0;
        at += 1;
    }
    midpoints
};

/// The code of the nearest value.
#[inline(always)]
fn code(scaled: f32) -> u8 {
    MIDPOINTS.iter().map(|midpoint| u8::from(scaled >= *midpoint)).sum()
}

/// The nearest value of the codebook.
#[inline(always)]
fn nearest_value(scaled: f32) -> f32 {
    let mut nearest = f32::from(IQ4[0]);
    for at in 0..15 {
        nearest = if scaled >= MIDPOINTS[at] { f32::from(IQ4[at + 1]) } else { nearest };
    }
    nearest
}

/// The sum of `weight * value * coded value` and the sum of `weight * coded value²`.
#[inline(always)]
fn products(
    x: &Groups<GROUP, LANES>,
    weights: &Groups<GROUP, LANES>,
    inverse: &[f32; LANES],
) -> ([f32; LANES], [f32; LANES]) {
    let (mut values, mut squares) = ([0.0; LANES], [0.0; LANES]);
    for (x, weight) in x.iter().zip(weights) {
        for lane in 0..LANES {
            let coded = nearest_value(inverse[lane] * x[lane]);
            values[lane] += weight[lane] * coded * x[lane];
            squares[lane] += weight[lane] * coded * coded;
        }
    }
    (values, squares)
}

/// Fits the scale of each group. Counterpart: the first half of `quantize_row_iq4_nl_impl`.
#[inline(always)]
fn fit_scales(x: &Groups<GROUP, LANES>, weights: &Groups<GROUP, LANES>) -> [f32; LANES] {
    let least = f32::from(IQ4[0]);
    let peaks = peaks(x);
    let (values, squares) = products(x, weights, &each(&peaks, |peak| 1.0 / (-peak / least)));
    let (mut scales, mut best) = ([0.0; LANES], [0.0; LANES]);
    for lane in 0..LANES {
        scales[lane] = if squares[lane] > 0.0 { values[lane] / squares[lane] } else { 0.0 };
        best[lane] = scales[lane] * values[lane];
    }
    for step in -7..=7 {
        let (values, squares) = products(x, weights, &each(&peaks, |peak| (step as f32 + least) / peak));
        for lane in 0..LANES {
            let (value, square) = (values[lane], squares[lane]);
            let better = (square > 0.0) & (value * value > best[lane] * square);
            let scale = value / square;
            scales[lane] = if better { scale } else { scales[lane] };
            best[lane] = if better { scale * value } else { best[lane] };
        }
    }
    for lane in 0..LANES {
        scales[lane] = if peaks[lane].abs() < MIN_PEAK { 0.0 } else { scales[lane] };
    }
    scales
}

/// The scales of up to 32 groups. `mean_squares` is used for the weights if there is an importance.
#[inline(always)]
fn scales(values: &[f32], weights: Option<&[f32]>, mean_squares: &[f32; LANES]) -> [f32; LANES] {
    let x = transpose(values);
    let weights = match weights {
        None => combine(&x, &x, |a, b| a * b),
        Some(weights) => importance(&x, &transpose(weights), mean_squares),
    };
    fit_scales(&x, &weights)
}

#[inline(always)]
pub(super) fn iq4_nl(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    for (start, values) in (0..).step_by(GROUP * LANES).zip(values.chunks(GROUP * LANES)) {
        let mut mean_squares = [0.0; LANES];
        for (mean_square, values) in mean_squares.iter_mut().zip(values.as_chunks::<GROUP>().0) {
            *mean_square = 2.0 * sum_of_squares(values) / GROUP as f32;
        }
        let weights = weights.map(|weights| &weights[start..][..values.len()]);
        let scales = scales(values, weights, &mean_squares);
        for (scale, values) in scales.iter().zip(values.as_chunks::<GROUP>().0) {
            out.scale(*scale);
            let inverse = reciprocal(*scale);
            out.codes(&each(values, |value| code(inverse * value)), false);
        }
    }
}

#[inline(always)]
pub(super) fn iq4_xs(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    for (start, values) in (0..).step_by(GROUP * LANES).zip(values.chunks(GROUP * LANES)) {
        let weights = weights.map(|weights| &weights[start..][..values.len()]);
        let scales = scales(values, weights, &mean_squares::<GROUP>(values, 2.0));
        for (scales, values) in scales.as_chunks::<GROUPS>().0.iter().zip(values.as_chunks::<BLOCK>().0) {
            put_iq4_xs(scales, values, out);
        }
    }
}

/// Appends a block of IQ4_XS. Counterpart: the second half of `quantize_row_iq4_nl_impl`.
#[inline(always)]
fn put_iq4_xs(scales: &[f32; GROUPS], values: &[f32; BLOCK], out: &mut Output<'_>) {
    let largest =
        scales.iter().fold(0.0, |largest: f32, scale| if scale.abs() > largest.abs() { *scale } else { largest });
    let scale = -largest / 32.0;
    let inverse = reciprocal(scale);
    let quantized = scales.map(|group| nearest(inverse * group).clamp(-32, 31));
    out.half(f16::from_f32(scale));
    let high = quantized.iter().rev().fold(0u16, |bits, group| bits << 2 | (group + 32) as u16 >> 4);
    out.bytes.extend(high.to_le_bytes());
    let low = quantized.map(|group| (group + 32) as u8 & 0xf);
    out.bytes.extend(low.as_chunks::<2>().0.iter().map(|[first, second]| first | second << 4));
    for (group, values) in quantized.iter().zip(values.as_chunks::<GROUP>().0) {
        let inverse = reciprocal(scale * *group as f32);
        out.codes(&each(values, |value| code(inverse * value)), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_midpoint_takes_the_larger_code() {
        assert_eq!([-200.0, -115.5, -4.6, -4.5, 7.0, 200.0].map(code), [0, 1, 7, 8, 9, 15]);
        for scaled in [-200.0, -115.5, -4.6, -4.5, 7.0, 200.0] {
            assert_eq!(nearest_value(scaled), f32::from(IQ4[usize::from(code(scaled))]));
        }
    }
}
