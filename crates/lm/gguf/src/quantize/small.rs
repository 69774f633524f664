//! Q4_0 to Q8_0 and MXFP4: blocks of 32 values.

use super::fit::{FINE, fit_scale, fit_scale_and_min};
use super::lanes::{LANES, each, importance, max_magnitude, reciprocal, sum_of_squares, transpose};
use super::output::Output;

/// The first value with the maximum magnitude; 0 if all are 0.
#[inline(always)]
fn peak(values: &[f32; 32]) -> f32 {
    let max = max_magnitude(values);
    let has = |expected: f32| values.iter().fold(false, |has, value| has | (*value == expected));
    match (has(max), has(-max)) {
        _ if max == 0.0 => 0.0,
        (true, false) => max,
        (false, _) => -max,
        (true, true) => *values.iter().find(|value| value.abs() == max).unwrap_or(&max),
    }
}

/// The minimum and the maximum; the first of equal values.
#[inline(always)]
fn min_and_max(values: &[f32; 32]) -> (f32, f32) {
    // Integers with the order of the floats; applying the function twice returns the float.
    let ordered = |bits: i32| bits ^ (bits >> 31 & i32::MAX);
    let bits = each(values, |value| ordered(value.to_bits().cast_signed()));
    let number = |bits: i32| f32::from_bits(ordered(bits).cast_unsigned());
    let min = number(bits.iter().fold(i32::MAX, |min, bits| min.min(*bits)));
    let max = number(bits.iter().fold(i32::MIN, |max, bits| max.max(*bits)));
    // Zeros are the only equal values with different bits.
    let first =
        |value: f32| if value == 0.0 { *values.iter().find(|zero| **zero == 0.0).unwrap_or(&value) } else { value };
    (first(min), first(max))
}

/// Q4_0 (`half` is 8) and Q5_0 (16): the value of maximum magnitude maps to exactly `-half`.
#[inline(always)]
pub(super) fn centered(values: &[f32], half: u8, out: &mut Output<'_>) {
    for values in values.as_chunks().0 {
        let scale = peak(values) / -f32::from(half);
        let inverse = reciprocal(scale);
        out.scale(scale);
        let codes = each(values, |value| {
            ((value * inverse + (f32::from(half) + 0.5)) as i32).min(2 * i32::from(half) - 1) as u8
        });
        out.codes(&codes, half > 8);
    }
}

/// Q4_1 (`most` is 15) and Q5_1 (31): the minimum maps to 0, the maximum to `most`.
#[inline(always)]
pub(super) fn from_min(values: &[f32], most: u8, out: &mut Output<'_>) {
    for values in values.as_chunks::<32>().0 {
        let (least, greatest) = min_and_max(values);
        let scale = (greatest - least) / f32::from(most);
        let inverse = reciprocal(scale);
        out.scale(scale);
        out.scale(least);
        let codes = each(values, |value| (((value - least) * inverse + 0.5) as i32).min(most.into()) as u8);
        out.codes(&codes, most > 15);
    }
}

#[inline(always)]
pub(super) fn q8_0(values: &[f32], out: &mut Output<'_>) {
    for values in values.as_chunks::<32>().0 {
        let scale = max_magnitude(values) / 127.0;
        let inverse = reciprocal(scale);
        out.scale(scale);
        out.bytes.extend(each(values, |value| (value * inverse).round() as i32 as u8));
    }
}

/// Q4_0 (`half` is 8) and Q5_0 (16) of a row with importance.
#[inline(always)]
pub(super) fn weighted_centered(row: &[f32], weights: &[f32], half: u8, out: &mut Output<'_>) {
    let mean_squares = [sum_of_squares(row) / row.len() as f32; LANES];
    for (values, weights) in row.chunks(32 * LANES).zip(weights.chunks(32 * LANES)) {
        let x = transpose::<32>(values);
        let weights = importance(&x, &transpose(weights), &mean_squares);
        let fit = fit_scale(&x, &weights, half.into());
        for (lane, values) in values.as_chunks().0.iter().enumerate() {
            out.scale(fit.scale[lane]);
            out.codes(&fit.codes(lane, values, half.into()), half > 8);
        }
    }
}

/// Q4_1 (`most` is 15) and Q5_1 (31) of a row with importance.
#[inline(always)]
pub(super) fn weighted_from_min(row: &[f32], weights: &[f32], most: u8, out: &mut Output<'_>) {
    let mean_squares = [sum_of_squares(row) / row.len() as f32; LANES];
    for (values, weights) in row.chunks(32 * LANES).zip(weights.chunks(32 * LANES)) {
        let x = transpose::<32>(values);
        let weights = importance(&x, &transpose(weights), &mean_squares);
        let fit = fit_scale_and_min(&x, &weights, most.into(), FINE);
        for (lane, values) in values.as_chunks().0.iter().enumerate() {
            out.scale(fit.scale[lane]);
            out.scale(-fit.min[lane]);
            out.codes(&fit.codes(lane, values, most.into()), most > 15);
        }
    }
}

/// Midpoints between the doubled magnitudes of E2M1. A value at a midpoint rounds to the smaller
/// magnitude.
const E2M1_MIDPOINTS: [f32; 7] = [0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0];

#[inline(always)]
pub(super) fn mxfp4(values: &[f32], out: &mut Output<'_>) {
    for values in values.as_chunks::<32>().0 {
        let peak = max_magnitude(values);
        let exponent = (floor_log2(peak) + 125).max(0);
        // Larger exponents would be infinite when dequantized.
        out.is_valid &= exponent < 252;
        // Half the scale, since the magnitudes are doubled: 2^(exponent - 128).
        let bits = if exponent < 2 { 0x0020_0000 << exponent } else { (exponent as u32 - 1) << 23 };
        let unit = f32::from_bits(bits);
        let limits = each(&E2M1_MIDPOINTS, |midpoint| midpoint * unit);
        let codes = each(values, |value: f32| {
            let code = limits.iter().map(|limit| u8::from(value.abs() > *limit)).sum::<u8>();
            if value < 0.0 && code > 0 { code | 8 } else { code }
        });
        out.bytes.push(exponent as u8);
        out.codes(&codes, false);
    }
}

/// The floor of the logarithm, which is first rounded to f32 as in the reference: just below a
/// power of two the result is that power's exponent. -127 for 0 and subnormals.
fn floor_log2(value: f32) -> i32 {
    let exponent = (value.to_bits() >> 23) as i32 - 127;
    let is_close_to_next = value.to_bits() & 0x007f_ff00 == 0x007f_ff00;
    if is_close_to_next { (f64::from(value).log2() as f32).floor() as i32 } else { exponent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_extremes_counts() {
        let block = |start: &[f32]| -> [f32; 32] { std::array::from_fn(|at| start.get(at).copied().unwrap_or(0.5)) };
        assert_eq!([peak(&block(&[1.0, -2.0, 2.0])), peak(&block(&[1.0, 2.0, -2.0]))], [-2.0, 2.0]);
        assert_eq!([peak(&block(&[-3.0])), peak(&block(&[3.0])), peak(&[-0.0; 32])], [-3.0, 3.0, 0.0]);
        assert_eq!(min_and_max(&block(&[1.0, -2.0, 2.0])), (-2.0, 2.0));
        assert_eq!(min_and_max(&[-1.5; 32]), (-1.5, -1.5));
        let signs = |values: [f32; 32]| min_and_max(&values).0.is_sign_negative();
        assert_eq!([signs(block(&[-0.0, 0.0])), signs(block(&[0.0, -0.0]))], [true, false]);
    }

    #[test]
    fn the_logarithm_is_rounded_before_its_floor() {
        let below = |value: f32| f32::from_bits(value.to_bits() - 1);
        assert_eq!([1.0, 1.5, 2.0, 0.75, 0.0].map(floor_log2), [0, 0, 1, -1, -127]);
        // The logarithm is 2^-23.5 below the next integer. Around 0 and 2, f32 has values that
        // close to the integer, around 3 it does not.
        assert_eq!([below(1.0), below(4.0), below(8.0)].map(floor_log2), [-1, 1, 3]);
    }
}
