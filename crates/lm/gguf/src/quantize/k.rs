//! K-quants: blocks of 256 values with a scale for each group of 16 or 32.

use half::f16;

use super::fit::{FINE, MIN_PEAK, Search, fit_positive, fit_scale, fit_scale_and_min, refine_scale, signed, unsigned};
use super::lanes::{Groups, LANES, combine, each, importance, nearest, sum_of_squares, sums, transpose};
use super::output::Output;

/// Values of a block.
pub(super) const BLOCK: usize = 256;
/// Groups of 16 values in a block.
const SMALL_GROUPS: usize = BLOCK / 16;

/// For each lane, the mean square of its group's block times `factor`.
#[inline(always)]
pub(super) fn mean_squares<const N: usize>(values: &[f32], factor: f32) -> [f32; LANES] {
    let mut out = [0.0; LANES];
    for (values, lanes) in values.as_chunks::<BLOCK>().0.iter().zip(out.chunks_exact_mut(BLOCK / N)) {
        lanes.fill(factor * sum_of_squares(values) / BLOCK as f32);
    }
    out
}

/// How a type with minimums is quantized.
struct WithMin {
    /// Largest code of a value.
    most: i32,
    /// Largest code of a scale or minimum.
    most_scale: i32,
    /// Multiplies the mean square in the weights with importance.
    factor: f32,
    /// The search without importance.
    search: Search,
}

/// A block of `G` groups of a type with minimums.
struct BlockWithMin<const G: usize> {
    scale: f16,
    min: f16,
    scales: [u8; G],
    mins: [u8; G],
    codes: [u8; BLOCK],
}

impl WithMin {
    /// Quantizes blocks of `G` groups of `N` values, and passes each to `put`. `plain` has the
    /// weights without importance.
    #[inline(always)]
    fn quantize<const N: usize, const G: usize>(
        &self,
        values: &[f32],
        weights: Option<&[f32]>,
        plain: impl Fn(&Groups<N, LANES>) -> Groups<N, LANES>,
        mut put: impl FnMut(&BlockWithMin<G>),
    ) {
        for (start, values) in (0..).step_by(N * LANES).zip(values.chunks(N * LANES)) {
            let x = transpose::<N>(values);
            let given = weights.map(|weights| transpose(&weights[start..][..values.len()]));
            let (weights, search) = match &given {
                None => (plain(&x), self.search),
                Some(given) => (importance(&x, given, &mean_squares::<N>(values, self.factor)), FINE),
            };
            let groups = fit_scale_and_min(&x, &weights, self.most, search);
            let weight_sums = given.map(|_| sums(&weights));
            for (first, values) in (0..).step_by(G).zip(values.as_chunks::<BLOCK>().0) {
                let (scale, scales) = self.quantize_scales::<G>(&groups.scale[first..], weight_sums.as_ref(), first);
                let (min, mins) = self.quantize_scales::<G>(&groups.min[first..], weight_sums.as_ref(), first);
                let (scale, min) = (f16::from_f32(scale), f16::from_f32(min));
                let mut codes = [0; BLOCK];
                let parts = values.as_chunks::<N>().0.iter().zip(codes.as_chunks_mut::<N>().0);
                for (group, (values, codes)) in parts.enumerate() {
                    let scale = scale.to_f32() * f32::from(scales[group]);
                    let min = min.to_f32() * f32::from(mins[group]);
                    *codes = if scale == 0.0 {
                        groups.codes(first + group, values, self.most)
                    } else {
                        each(values, |value| unsigned((value + min) / scale, self.most) as u8)
                    };
                }
                put(&BlockWithMin { scale, min, scales, mins, codes });
            }
        }
    }

    /// Quantizes the scales, or minimums, of a block's groups, which are not negative. With
    /// importance, they are weighted by the groups' sums of weights, from lane `first` on.
    #[inline(always)]
    fn quantize_scales<const G: usize>(
        &self,
        scales: &[f32],
        sums: Option<&[f32; LANES]>,
        first: usize,
    ) -> (f32, [u8; G]) {
        let scales: [f32; G] = std::array::from_fn(|group| scales[group]);
        if let Some(sums) = sums {
            let sums = std::array::from_fn(|group| sums[first + group]);
            return fit_positive(&scales, &sums, self.most_scale);
        }
        let most = self.most_scale;
        let max = scales.iter().fold(0.0, |max: f32, scale| if *scale > max { *scale } else { max });
        let inverse = if max > 0.0 { most as f32 / max } else { 0.0 };
        (max / most as f32, scales.map(|scale| (nearest(inverse * scale) as u8).min(most as u8)))
    }
}

#[inline(always)]
pub(super) fn q2_k(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    let search = Search { first: -0.5, step: 0.1, steps: 15, absolute: true };
    let plain = |x: &Groups<16, LANES>| combine(x, x, |value, _| value.abs());
    let kind = WithMin { most: 3, most_scale: 15, factor: 1.0, search };
    kind.quantize::<16, SMALL_GROUPS>(values, weights, plain, |block| {
        out.bytes.extend(block.scales.iter().zip(block.mins).map(|(scale, min)| scale | min << 4));
        out.bytes.extend(two_bits(&block.codes));
        out.half(block.scale);
        out.half(block.min);
    });
}

#[inline(always)]
pub(super) fn q4_k(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    let search = Search { first: -1.0, step: 0.1, steps: 20, absolute: false };
    let kind = WithMin { most: 15, most_scale: 63, factor: 2.0, search };
    kind.quantize(values, weights, magnitude_and_mean, |block| {
        put_scales_and_mins(block, out);
        out.bytes.extend(nibbles(&block.codes));
    });
}

#[inline(always)]
pub(super) fn q5_k(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    let search = Search { first: -0.5, step: 0.1, steps: 15, absolute: false };
    let kind = WithMin { most: 31, most_scale: 63, factor: 2.0, search };
    kind.quantize(values, weights, magnitude_and_mean, |block| {
        put_scales_and_mins(block, out);
        out.bytes.extend(one_bit(&block.codes, 4));
        out.bytes.extend(nibbles(&block.codes));
    });
}

/// The weights of Q4_K and Q5_K without importance: the magnitude plus the root mean square.
#[inline(always)]
fn magnitude_and_mean(x: &Groups<32, LANES>) -> Groups<32, LANES> {
    let means = each(&sums(&combine(x, x, |a, b| a * b)), |sum: f32| (sum / 32.0).sqrt());
    combine(x, &[means; 32], |value, mean| mean + value.abs())
}

/// Appends scale and minimum, and the six-bit scales and minimums of the groups in 12 bytes: the
/// low six bits of the first eight bytes are those of the first four groups, the rest has the
/// others.
#[inline(always)]
fn put_scales_and_mins(block: &BlockWithMin<8>, out: &mut Output<'_>) {
    out.half(block.scale);
    out.half(block.min);
    let mut packed = [0; 12];
    for (group, (scale, min)) in block.scales.iter().zip(block.mins).enumerate() {
        if group < 4 {
            packed[group] = *scale;
            packed[group + 4] = min;
        } else {
            packed[group + 4] = scale & 0xf | min << 4;
            packed[group - 4] |= scale >> 4 << 6;
            packed[group] |= min >> 4 << 6;
        }
    }
    out.bytes.extend(packed);
}

/// Codes of a block without minimums: each value divided by its group's scale, plus `most`. Groups
/// whose scale is 0 have the codes of `fitted`.
#[inline(always)]
fn symmetric_codes(
    values: &[f32; BLOCK],
    scale: f16,
    scales: &[i8; SMALL_GROUPS],
    most: i32,
    fitted: impl Fn(usize, &[f32; 16]) -> [u8; 16],
) -> [u8; BLOCK] {
    let mut codes = [0; BLOCK];
    let groups = values.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0);
    for (group, (values, codes)) in groups.enumerate() {
        let scale = scale.to_f32() * f32::from(scales[group]);
        *codes = if scale == 0.0 {
            fitted(group, values)
        } else {
            each(values, |value| (signed(value / scale, most) + most) as u8)
        };
    }
    codes
}

/// The first scale with the maximum magnitude.
#[inline(always)]
fn largest(scales: &[f32]) -> f32 {
    scales.iter().fold(0.0, |largest: f32, scale| if scale.abs() > largest.abs() { *scale } else { largest })
}

#[inline(always)]
pub(super) fn q3_k(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    for (start, values) in (0..).step_by(16 * LANES).zip(values.chunks(16 * LANES)) {
        let x = transpose::<16>(values);
        let Some(weights) = weights else {
            let (scales, codes) = refine_scale(&x, 4);
            for (first, values) in (0..).step_by(SMALL_GROUPS).zip(values.as_chunks().0) {
                let scales = &scales[first..][..SMALL_GROUPS];
                let inverse = -32.0 / largest(scales);
                let is_zero = largest(scales) == 0.0;
                let quantize = |group: usize| nearest(inverse * scales[group]).clamp(-32, 31) as i8;
                // Zero scales have the code 0, which stands for -32.
                let quantized = std::array::from_fn(|group| if is_zero { -32 } else { quantize(group) });
                let scale = f16::from_f32(if is_zero { 0.0 } else { 1.0 / inverse });
                let fitted = |group: usize, _: &_| std::array::from_fn(|at| codes[at][first + group]);
                put_q3_k(&symmetric_codes(values, scale, &quantized, 4, fitted), scale, &quantized, out);
            }
            continue;
        };
        let weights = transpose(&weights[start..][..values.len()]);
        let weights = importance(&x, &weights, &mean_squares::<16>(values, 2.0));
        let (groups, sums) = (fit_scale(&x, &weights, 4), sums(&weights));
        for (first, values) in (0..).step_by(SMALL_GROUPS).zip(values.as_chunks().0) {
            let scales: [f32; SMALL_GROUPS] = std::array::from_fn(|group| groups.scale[first + group]);
            let sums = std::array::from_fn(|group| [sums[first + group]]);
            let fit = fit_scale(&scales.map(|scale| [scale]), &sums, 32);
            let quantized = fit.codes(0, &scales, 32).map(|code| code as i8 - 32);
            let scale = f16::from_f32(fit.scale[0]);
            let fitted = |group: usize, values: &_| groups.codes(first + group, values, 4);
            put_q3_k(&symmetric_codes(values, scale, &quantized, 4, fitted), scale, &quantized, out);
        }
    }
}

/// Appends a block of Q3_K. Scales have six bits: four in the first eight bytes, two in the others.
#[inline(always)]
fn put_q3_k(codes: &[u8; BLOCK], scale: f16, scales: &[i8; SMALL_GROUPS], out: &mut Output<'_>) {
    out.bytes.extend(one_bit(codes, 2));
    out.bytes.extend(two_bits(&each(codes, |code| code & 3)));
    let mut packed = [0; 12];
    for (group, scale) in scales.iter().enumerate() {
        let scale = (scale + 32) as u8;
        packed[group % 8] |= (scale & 0xf) << (group / 8 * 4);
        packed[8 + group % 4] |= scale >> 4 << (group / 4 * 2);
    }
    out.bytes.extend(packed);
    out.half(scale);
}

#[inline(always)]
pub(super) fn q6_k(values: &[f32], weights: Option<&[f32]>, out: &mut Output<'_>) {
    for (start, values) in (0..).step_by(16 * LANES).zip(values.chunks(16 * LANES)) {
        let x = transpose::<16>(values);
        let weights = match weights {
            None => combine(&x, &x, |a, b| a * b),
            Some(weights) => transpose(&weights[start..][..values.len()]),
        };
        let groups = fit_scale(&x, &weights, 32);
        for (first, values) in (0..).step_by(SMALL_GROUPS).zip(values.as_chunks().0) {
            let scales = &groups.scale[first..][..SMALL_GROUPS];
            let largest = largest(scales);
            if largest.abs() < MIN_PEAK {
                out.bytes.extend([0; 210]);
                continue;
            }
            let inverse = -128.0 / largest;
            let quantized = std::array::from_fn(|group| nearest(inverse * scales[group]).min(127) as i8);
            let scale = f16::from_f32(1.0 / inverse);
            let fitted = |group: usize, values: &_| groups.codes(first + group, values, 32);
            let codes = symmetric_codes(values, scale, &quantized, 32, fitted);
            for half in codes.as_chunks::<128>().0 {
                let mut packed = [0; 64];
                for at in 0..64 {
                    packed[at] = half[at] & 0xf | half[at + 64] << 4;
                }
                out.bytes.extend(packed);
            }
            out.bytes.extend(two_bits(&each(&codes, |code| code >> 4)));
            out.bytes.extend(quantized.map(i8::cast_unsigned));
            out.half(scale);
        }
    }
}

/// 2-bit codes: 32 bytes hold 128 values; each 32 consecutive values have the same bit position.
#[inline(always)]
fn two_bits(codes: &[u8; BLOCK]) -> [u8; 64] {
    let mut packed = [0; 64];
    for (codes, packed) in codes.as_chunks::<128>().0.iter().zip(packed.as_chunks_mut::<32>().0) {
        for at in 0..32 {
            packed[at] = codes[at] | codes[at + 32] << 2 | codes[at + 64] << 4 | codes[at + 96] << 6;
        }
    }
    packed
}

/// One bit of every code: 32 bytes; each 32 consecutive values have the same bit position.
#[inline(always)]
fn one_bit(codes: &[u8; BLOCK], bit: u32) -> [u8; 32] {
    let mut packed = [0; 32];
    for (group, codes) in codes.as_chunks::<32>().0.iter().enumerate() {
        for at in 0..32 {
            packed[at] |= (codes[at] >> bit & 1) << group;
        }
    }
    packed
}

/// The low four bits of all codes: 32 bytes hold 64 values.
#[inline(always)]
fn nibbles(codes: &[u8; BLOCK]) -> [u8; 128] {
    let mut packed = [0; 128];
    for (codes, packed) in codes.as_chunks::<64>().0.iter().zip(packed.as_chunks_mut::<32>().0) {
        for at in 0..32 {
            packed[at] = codes[at] & 0xf | codes[at + 32] << 4;
        }
    }
    packed
}
