//! K-quants and IQ4_XS: blocks of 256 values with a scale for every 16 or 32 of them.

use super::{IQ4, f16_at};

/// Location of a group of 16 two-bit values. 32 bytes hold eight groups; each pair of groups shares
/// a bit position. Returns the byte offset and the shift of the group.
fn two_bit_group(group: usize) -> (usize, usize) {
    (group / 8 * 32 + group % 2 * 16, group % 8 / 2 * 2)
}

pub(super) fn q2_k(block: &[u8; 84], out: &mut [f32; 256]) {
    let (scales, numbers) = (&block[..16], &block[16..80]);
    let (scale, least) = (f16_at(block, 80), f16_at(block, 82));
    for (group, values) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let (start, shift) = two_bit_group(group);
        let scale = scale * f32::from(scales[group] & 0xf);
        let least = least * f32::from(scales[group] >> 4);
        for (value, number) in values.iter_mut().zip(&numbers[start..]) {
            *value = scale * f32::from(number >> shift & 3) - least;
        }
    }
}

pub(super) fn q3_k(block: &[u8; 110], out: &mut [f32; 256]) {
    let (high, numbers, scales) = (&block[..32], &block[32..96], &block[96..108]);
    let scale = f16_at(block, 108);
    for (group, values) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // The scale has six bits: four in the first eight bytes and two in the last four.
        let low_bits = scales[group % 8] >> (group / 8 * 4) & 0xf;
        let high_bits = scales[8 + group % 4] >> (group / 4 * 2) & 3;
        let scale = scale * f32::from((low_bits | high_bits << 4) as i8 - 32);
        let (start, shift) = two_bit_group(group);
        // A byte holds the third bits of values with the same index modulo 32. If the bit is clear,
        // 4 is subtracted.
        let bit = group / 2;
        let highs = &high[group % 2 * 16..];
        for ((value, number), high) in values.iter_mut().zip(&numbers[start..]).zip(highs) {
            let offset = if high >> bit & 1 == 1 { 0 } else { 4 };
            *value = scale * f32::from((number >> shift & 3) as i8 - offset);
        }
    }
}

/// The six-bit scale and minimum of a group of 32, packed into 12 bytes. For the first four groups
/// they are the low bits of the first eight bytes. For the others they are in the last four bytes
/// and the high bits of the first eight.
fn scale_and_min(scales: &[u8], group: usize) -> (u8, u8) {
    if group < 4 {
        return (scales[group] & 63, scales[group + 4] & 63);
    }
    let both = scales[group + 4];
    (both & 0xf | (scales[group - 4] >> 6) << 4, both >> 4 | (scales[group] >> 6) << 4)
}

pub(super) fn q4_k(block: &[u8; 144], out: &mut [f32; 256]) {
    four_bits(block, &block[16..], |_, _| 0, out);
}

pub(super) fn q5_k(block: &[u8; 176], out: &mut [f32; 256]) {
    let high = &block[16..48];
    four_bits(block, &block[48..], |group, at| (high[at] >> group & 1) << 4, out);
}

/// Q4_K, and Q5_K, whose fifth bit is `high`.
fn four_bits(block: &[u8], numbers: &[u8], high: impl Fn(usize, usize) -> u8, out: &mut [f32; 256]) {
    let (scale, least) = (f16_at(block, 0), f16_at(block, 2));
    for (group, values) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (own_scale, own_least) = scale_and_min(&block[4..16], group);
        let (scale, least) = (scale * f32::from(own_scale), least * f32::from(own_least));
        let shift = group % 2 * 4;
        for (at, (value, number)) in values.iter_mut().zip(&numbers[group / 2 * 32..]).enumerate() {
            *value = scale * f32::from(number >> shift & 0xf | high(group, at)) - least;
        }
    }
}

pub(super) fn q6_k(block: &[u8; 210], out: &mut [f32; 256]) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let scale = f16_at(block, 208);
    for (group, values) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        // Half a block is 128 values: 64 bytes of low bits (first all low nibbles, then all high
        // ones) and 32 bytes of high bits.
        let (half, within) = (group / 8, group % 8);
        let low = &low[half * 64 + within % 4 * 16..];
        let high = &high[half * 32 + within % 2 * 16..];
        let (low_shift, high_shift) = (within / 4 * 4, within / 2 * 2);
        let scale = scale * f32::from(scales[group] as i8);
        for ((value, low), high) in values.iter_mut().zip(low).zip(high) {
            let number = low >> low_shift & 0xf | (high >> high_shift & 3) << 4;
            *value = scale * f32::from(number as i8 - 32);
        }
    }
}

pub(super) fn iq4_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    let scale = f16_at(block, 0);
    let high = u16::from_le_bytes([block[2], block[3]]);
    for (group, values) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low_bits = block[4 + group / 2] >> (group % 2 * 4) & 0xf;
        let high_bits = (high >> (2 * group) & 3) as u8;
        let scale = scale * f32::from((low_bits | high_bits << 4) as i8 - 32);
        let numbers = &block[8 + group * 16..][..16];
        let (first, last) = values.split_at_mut(16);
        for ((first, last), number) in first.iter_mut().zip(last).zip(numbers) {
            *first = scale * f32::from(IQ4[usize::from(number & 0xf)]);
            *last = scale * f32::from(IQ4[usize::from(number >> 4)]);
        }
    }
}
