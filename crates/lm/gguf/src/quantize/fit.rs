//! Searches for scales: the quantizers try several for each group and keep the one with the least
//! weighted error.
//!
//! The bytes of a block depend on every operation and on their order. Function comments name the
//! counterparts in ggml's `ggml-quants.c`.

use super::lanes::{Groups, each, nearest, peaks, sums};

/// If all magnitudes of a group are smaller, the group is zero.
pub(super) const MIN_PEAK: f32 = 1e-15;

/// A scale for each lane.
#[derive(Clone, Copy)]
pub(super) struct Scale<const L: usize> {
    pub(super) scale: [f32; L],
    /// A code is the value times this factor, rounded. 0 for a group of zeros.
    inverse: [f32; L],
}

/// A scale and a minimum for each lane.
#[derive(Clone, Copy)]
pub(super) struct ScaleAndMin<const L: usize> {
    pub(super) scale: [f32; L],
    /// Subtracted from the products of codes and scale.
    pub(super) min: [f32; L],
    /// A code is the distance of the value from `base` times this factor, rounded.
    inverse: [f32; L],
    base: [f32; L],
}

/// Candidate scales for groups with a minimum: the number of steps between minimum and maximum is
/// the maximum code plus `first`, `first + step` and so on.
#[derive(Clone, Copy)]
pub(super) struct Search {
    pub(super) first: f32,
    pub(super) step: f32,
    /// Number of candidates after the first.
    pub(super) steps: i32,
    /// Whether errors count by magnitude instead of by square.
    pub(super) absolute: bool,
}

/// The search with an importance matrix.
pub(super) const FINE: Search = Search { first: -0.9, step: 0.05, steps: 36, absolute: false };

/// The code of a value for a symmetric type, from `-most` to `most - 1`.
#[inline(always)]
pub(super) fn signed(scaled: f32, most: i32) -> i32 {
    nearest(scaled).clamp(-most, most - 1)
}

/// Per lane, the sum of `weight * value * code` and the sum of `weight * code²`.
#[inline(always)]
fn products<const N: usize, const L: usize>(
    x: &Groups<N, L>,
    weights: &Groups<N, L>,
    inverse: &[f32; L],
    most: i32,
) -> ([f32; L], [f32; L]) {
    let (mut values, mut squares) = ([0.0; L], [0.0; L]);
    for (x, weight) in x.iter().zip(weights) {
        for lane in 0..L {
            let code = signed(inverse[lane] * x[lane], most) as f32;
            values[lane] += weight[lane] * x[lane] * code;
            squares[lane] += weight[lane] * code * code;
        }
    }
    (values, squares)
}

/// Fits a scale for codes from `-most` to `most - 1`. Counterpart: `make_qx_quants`.
#[inline(always)]
pub(super) fn fit_scale<const N: usize, const L: usize>(
    x: &Groups<N, L>,
    weights: &Groups<N, L>,
    most: i32,
) -> Scale<L> {
    let peaks = peaks(x);
    let mut fit = Scale { scale: [0.0; L], inverse: each(&peaks, |peak| -(most as f32) / peak) };
    let mut best = [0.0; L];
    let (values, squares) = products(x, weights, &fit.inverse, most);
    for lane in 0..L {
        fit.scale[lane] = if squares[lane] == 0.0 { 0.0 } else { values[lane] / squares[lane] };
        best[lane] = fit.scale[lane] * values[lane];
    }
    for step in (-9..=9).filter(|step| *step != 0) {
        let inverse = each(&peaks, |peak| -(most as f32 + 0.1 * step as f32) / peak);
        let (values, squares) = products(x, weights, &inverse, most);
        for lane in 0..L {
            let (value, square) = (values[lane], squares[lane]);
            let better = (square > 0.0) & (value * value > best[lane] * square);
            let scale = value / square;
            fit.scale[lane] = if better { scale } else { fit.scale[lane] };
            fit.inverse[lane] = if better { inverse[lane] } else { fit.inverse[lane] };
            best[lane] = if better { scale * value } else { best[lane] };
        }
    }
    for (lane, peak) in peaks.iter().enumerate() {
        if peak.abs() < MIN_PEAK {
            (fit.scale[lane], fit.inverse[lane]) = (0.0, 0.0);
        }
    }
    fit
}

impl<const L: usize> Scale<L> {
    /// The codes of a lane's group, plus `most`; all 0 for a group of zeros.
    #[inline(always)]
    pub(super) fn codes<const N: usize>(&self, lane: usize, x: &[f32; N], most: i32) -> [u8; N] {
        let inverse = self.inverse[lane];
        if inverse == 0.0 {
            return [0; N];
        }
        each(x, |value| (signed(inverse * value, most) + most) as u8)
    }
}

/// Fits a scale for codes from `-most` to `most - 1`, then changes single codes as long as that
/// lowers the error. Returns the codes plus `most`. Counterpart: `make_q3_quants`.
#[inline(always)]
pub(super) fn refine_scale<const N: usize, const L: usize>(x: &Groups<N, L>, most: i32) -> ([f32; L], [[u8; L]; N]) {
    let peaks = peaks(x);
    let inverse = each(&peaks, |peak| -(most as f32) / peak);
    let (mut values, mut squares, mut codes) = ([0.0; L], [0.0; L], [[0.0; L]; N]);
    for (x, codes) in x.iter().zip(&mut codes) {
        for lane in 0..L {
            let code = signed(inverse[lane] * x[lane], most) as f32;
            let weight = x[lane] * x[lane];
            codes[lane] = code;
            values[lane] += weight * x[lane] * code;
            squares[lane] += weight * code * code;
        }
    }
    for _ in 0..5 {
        let mut changed = [false; L];
        for (x, codes) in x.iter().zip(&mut codes) {
            for lane in 0..L {
                let (x, code) = (x[lane], codes[lane]);
                let weight = x * x;
                let value = values[lane] - weight * x * code;
                let square = squares[lane] - weight * code * code;
                let new = signed(x * square / value, most) as f32;
                let new_value = value + weight * x * new;
                let new_square = square + weight * new * new;
                let lower = new_value * new_value * squares[lane] > values[lane] * values[lane] * new_square;
                let better = (value > 0.0) & (new != code) & (new_square > 0.0) & lower;
                codes[lane] = if better { new } else { code };
                values[lane] = if better { new_value } else { values[lane] };
                squares[lane] = if better { new_square } else { squares[lane] };
                changed[lane] |= better;
            }
        }
        if !changed.contains(&true) {
            break;
        }
    }
    let (mut scale, mut out) = ([0.0; L], [[0; L]; N]);
    for lane in 0..L {
        if peaks[lane].abs() < MIN_PEAK {
            continue;
        }
        scale[lane] = if squares[lane] > 0.0 { values[lane] / squares[lane] } else { 0.0 };
        for (out, codes) in out.iter_mut().zip(&codes) {
            out[lane] = (codes[lane] as i32 + most) as u8;
        }
    }
    (scale, out)
}

/// The code of a value for a type with a minimum, from 0 to `most`.
#[inline(always)]
pub(super) fn unsigned(scaled: f32, most: i32) -> i32 {
    nearest(scaled).clamp(0, most)
}

/// Fits a scale and a minimum for codes from 0 to `most`. Counterparts: `make_qkx2_quants` and
/// `make_qkx3_quants`, which differ only in their default weights.
#[inline(always)]
pub(super) fn fit_scale_and_min<const N: usize, const L: usize>(
    x: &Groups<N, L>,
    weights: &Groups<N, L>,
    most: i32,
    search: Search,
) -> ScaleAndMin<L> {
    let error = |difference: f32| if search.absolute { difference.abs() } else { difference * difference };
    let (mut min, mut max) = (x[0], x[0]);
    let (mut weighted, weight_sums) = ([0.0; L], sums(weights));
    for (x, weight) in x.iter().zip(weights) {
        for lane in 0..L {
            min[lane] = if x[lane] < min[lane] { x[lane] } else { min[lane] };
            max[lane] = if x[lane] > max[lane] { x[lane] } else { max[lane] };
            weighted[lane] += weight[lane] * x[lane];
        }
    }
    // The values are at least 0 plus codes times a scale, so the minimum needs no sign.
    let first_min = each(&min, |min| if min > 0.0 { 0.0 } else { min });
    let mut min = first_min;
    let (mut inverse, mut scale, mut least) = ([0.0; L], [0.0; L], [0.0; L]);
    for lane in 0..L {
        inverse[lane] = most as f32 / (max[lane] - min[lane]);
        scale[lane] = 1.0 / inverse[lane];
    }
    for (x, weight) in x.iter().zip(weights) {
        for lane in 0..L {
            let code = unsigned(inverse[lane] * (x[lane] - min[lane]), most) as f32;
            least[lane] += weight[lane] * error(scale[lane] * code + min[lane] - x[lane]);
        }
    }
    let mut base = min;
    let mut codes = [[0.0; L]; N];
    for step in 0..=search.steps {
        let mut candidate = [0.0; L];
        for lane in 0..L {
            candidate[lane] = (search.first + search.step * step as f32 + most as f32) / (max[lane] - min[lane]);
        }
        let (mut linear, mut squares, mut products) = ([0.0; L], [0.0; L], [0.0; L]);
        for ((x, weight), codes) in x.iter().zip(weights).zip(&mut codes) {
            for lane in 0..L {
                let code = unsigned(candidate[lane] * (x[lane] - min[lane]), most) as f32;
                codes[lane] = code;
                linear[lane] += weight[lane] * code;
                squares[lane] += weight[lane] * code * code;
                products[lane] += weight[lane] * code * x[lane];
            }
        }
        let (mut slope, mut offset, mut solvable) = ([0.0; L], [0.0; L], [false; L]);
        for lane in 0..L {
            let determinant = weight_sums[lane] * squares[lane] - linear[lane] * linear[lane];
            let fitted = (weight_sums[lane] * products[lane] - weighted[lane] * linear[lane]) / determinant;
            let free = (squares[lane] * weighted[lane] - linear[lane] * products[lane]) / determinant;
            let positive = free > 0.0;
            slope[lane] = if positive { products[lane] / squares[lane] } else { fitted };
            offset[lane] = if positive { 0.0 } else { free };
            solvable[lane] = determinant > 0.0;
        }
        let mut errors = [0.0; L];
        for ((x, weight), codes) in x.iter().zip(weights).zip(&codes) {
            for lane in 0..L {
                errors[lane] += weight[lane] * error(slope[lane] * codes[lane] + offset[lane] - x[lane]);
            }
        }
        for lane in 0..L {
            let better = solvable[lane] & (errors[lane] < least[lane]);
            least[lane] = if better { errors[lane] } else { least[lane] };
            scale[lane] = if better { slope[lane] } else { scale[lane] };
            inverse[lane] = if better { candidate[lane] } else { inverse[lane] };
            base[lane] = if better { min[lane] } else { base[lane] };
            // The next candidates use the new minimum.
            min[lane] = if better { offset[lane] } else { min[lane] };
        }
    }
    for lane in 0..L {
        if max[lane] <= first_min[lane] {
            (scale[lane], min[lane]) = (0.0, first_min[lane]);
            (inverse[lane], base[lane]) = (0.0, 0.0);
        }
    }
    ScaleAndMin { scale, min: each(&min, |min: f32| -min), inverse, base }
}

impl<const L: usize> ScaleAndMin<L> {
    /// The codes of a lane's group.
    #[inline(always)]
    pub(super) fn codes<const N: usize>(&self, lane: usize, x: &[f32; N], most: i32) -> [u8; N] {
        each(x, |value| unsigned(self.inverse[lane] * (value - self.base[lane]), most) as u8)
    }
}

/// Fits a scale for non-negative values with codes from 0 to `most`. The values are the scales or
/// minimums of a block's groups, weighted by the sums of the groups' weights. Counterpart:
/// `make_qp_quants`.
#[inline(always)]
pub(super) fn fit_positive<const N: usize>(x: &[f32; N], weights: &[f32; N], most: i32) -> (f32, [u8; N]) {
    let max = x.iter().fold(0.0f32, |max, value| if *value > max { *value } else { max });
    if max < MIN_PEAK {
        return (0.0, [0; N]);
    }
    let error = |inverse: f32, code: &dyn Fn(f32) -> f32| {
        let scale = 1.0 / inverse;
        let squares = x.iter().zip(weights).map(|(value, weight)| {
            let difference = value - scale * code(inverse * value);
            weight * difference * difference
        });
        squares.fold(0.0, |sum, square| sum + square)
    };
    let code = |scaled: f32| nearest(scaled).min(most);
    let mut inverse = most as f32 / max;
    let mut least = error(inverse, &|scaled| f32::from(nearest(scaled) as u8));
    for step in (-4..=4).filter(|step| *step != 0) {
        let candidate = (0.1 * step as f32 + most as f32) / max;
        let new = error(candidate, &|scaled| code(scaled) as f32);
        if new < least {
            (least, inverse) = (new, candidate);
        }
    }
    let (mut values, mut squares, mut codes) = (0.0, 0.0, [0u8; N]);
    for ((value, weight), out) in x.iter().zip(weights).zip(&mut codes) {
        let code = code(inverse * value);
        *out = code as u8;
        values += weight * value * code as f32;
        squares += weight * code as f32 * code as f32;
    }
    for _ in 0..5 {
        let mut changed = false;
        for ((x, weight), code) in x.iter().zip(weights).zip(&mut codes) {
            let old = f32::from(*code);
            let value = values - weight * x * old;
            let square = squares - weight * old * old;
            if !(value > 0.0 && square > 0.0) {
                continue;
            }
            let new = nearest(x * square / value).min(most);
            let new_value = value + weight * x * new as f32;
            let new_square = square + weight * new as f32 * new as f32;
            if new != i32::from(*code) && new_value * new_value * squares > values * values * new_square {
                *code = new as u8;
                (values, squares, changed) = (new_value, new_square, true);
            }
        }
        if !changed {
            break;
        }
    }
    (if squares > 0.0 { values / squares } else { 0.0 }, codes)
}
