//! Groups of values side by side, and the arithmetic that all quantizers share.
//!
//! The bytes of a block depend on the order of every sum, so a sum cannot be split into partial
//! sums. Groups are independent: the quantizers put one group into each lane, and the compiler
//! vectorizes loops over lanes.

/// Groups that are fitted at once. The compiler vectorizes loops of this length instead of
/// unrolling them.
pub(super) const LANES: usize = 32;

/// Groups of `N` values, one in each of `L` lanes.
pub(super) type Groups<const N: usize, const L: usize> = [[f32; L]; N];

/// Puts consecutive groups into lanes. Lanes without a group are zero.
#[inline(always)]
pub(super) fn transpose<const N: usize>(values: &[f32]) -> Groups<N, LANES> {
    let mut groups = [[0.0; LANES]; N];
    for (lane, group) in values.as_chunks::<N>().0.iter().enumerate().take(LANES) {
        for (row, value) in groups.iter_mut().zip(group) {
            row[lane] = *value;
        }
    }
    groups
}

/// Applies a function to each value. `array::map` may stay a function call, compiled without the
/// caller's CPU features.
#[inline(always)]
pub(super) fn each<T: Copy, U: Copy + Default, const N: usize>(values: &[T; N], of: impl Fn(T) -> U) -> [U; N] {
    let mut out = [U::default(); N];
    for at in 0..N {
        out[at] = of(values[at]);
    }
    out
}

/// Applies a function to pairs of values.
#[inline(always)]
pub(super) fn combine<const N: usize, const L: usize>(
    first: &Groups<N, L>,
    second: &Groups<N, L>,
    of: impl Fn(f32, f32) -> f32,
) -> Groups<N, L> {
    let mut out = [[0.0; L]; N];
    for at in 0..N {
        for lane in 0..L {
            out[at][lane] = of(first[at][lane], second[at][lane]);
        }
    }
    out
}

/// The sum of each group, added up in order.
#[inline(always)]
pub(super) fn sums<const N: usize, const L: usize>(groups: &Groups<N, L>) -> [f32; L] {
    let mut sums = [0.0; L];
    for row in groups {
        for lane in 0..L {
            sums[lane] += row[lane];
        }
    }
    sums
}

/// The first value of maximum magnitude of each group; 0 if all are 0.
#[inline(always)]
pub(super) fn peaks<const N: usize, const L: usize>(groups: &Groups<N, L>) -> [f32; L] {
    let mut peaks = [0.0f32; L];
    for row in groups {
        for lane in 0..L {
            peaks[lane] = if row[lane].abs() > peaks[lane].abs() { row[lane] } else { peaks[lane] };
        }
    }
    peaks
}

/// The weights of values with importance: a value counts more if its magnitude is large, or the
/// mean square of its block or row.
#[inline(always)]
pub(super) fn importance<const N: usize>(
    x: &Groups<N, LANES>,
    weights: &Groups<N, LANES>,
    mean_squares: &[f32; LANES],
) -> Groups<N, LANES> {
    let mut out = [[0.0; LANES]; N];
    for at in 0..N {
        for lane in 0..LANES {
            out[at][lane] = weights[at][lane] * (mean_squares[lane] + x[at][lane] * x[at][lane]).sqrt();
        }
    }
    out
}

/// The maximum magnitude; infinity and NaN count as larger than any number. The bits of magnitudes
/// have the same order as the magnitudes, and an integer maximum vectorizes, because the compiler
/// may reorder it.
#[inline(always)]
pub(super) fn max_magnitude(values: &[f32]) -> f32 {
    f32::from_bits(values.iter().fold(0, |max, value| max.max(value.abs().to_bits())))
}

/// The sum of squares, added up in order.
#[inline(always)]
pub(super) fn sum_of_squares(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |sum, value| sum + value * value)
}

/// The nearest integer, ties to even. As in the reference, adding 1.5 * 2^23 rounds away the
/// fraction bits, and magnitudes from 2^22 on wrap.
#[inline(always)]
pub(super) fn nearest(value: f32) -> i32 {
    ((value + 12_582_912.0).to_bits() & 0x007f_ffff).cast_signed() - 0x0040_0000
}

/// The reciprocal, or 0 for 0.
#[inline(always)]
pub(super) fn reciprocal(value: f32) -> f32 {
    if value == 0.0 { 0.0 } else { 1.0 / value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rounds_ties_to_even() {
        let rounded = [-2.5, -1.5, -0.5, -0.25, 0.0, 0.5, 1.5, 2.5, 4_194_303.0].map(nearest);
        assert_eq!(rounded, [-2, -2, 0, 0, 0, 0, 2, 2, 4_194_303]);
    }

    #[test]
    fn lanes_hold_consecutive_groups_and_zeros() {
        let values: Vec<f32> = (0..48).map(|value| value as f32).collect();
        let groups = transpose::<16>(&values);
        assert_eq!(groups[3][..4], [3.0, 19.0, 35.0, 0.0]);
        assert_eq!(sums(&groups)[..4], [120.0, 376.0, 632.0, 0.0]);
    }

    #[test]
    fn the_first_of_equal_magnitudes_is_the_peak() {
        assert_eq!(peaks(&[[1.0, 0.0], [-2.0, -0.0], [2.0, 0.0]]), [-2.0, 0.0]);
    }
}
