//! Formats with blocks of 32 values. The low nibble of each byte belongs to the first 16 values,
//! the high nibble to the last 16.

use super::{IQ4, f16_at};

/// The low nibbles of all bytes, then the high nibbles.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    bytes.iter().map(|byte| byte & 0xf).chain(bytes.iter().map(|byte| byte >> 4))
}

/// Four-bit codes with their fifth bits, taken from `high` in order.
fn five_bits<'a>(high: &'a [u8], low: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
    nibbles(low).enumerate().map(move |(at, low)| low | (high[at / 8] >> (at % 8) & 1) << 4)
}

pub(super) fn q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let scale = f16_at(block, 0);
    for (value, number) in out.iter_mut().zip(nibbles(&block[2..])) {
        *value = scale * f32::from(number as i8 - 8);
    }
}

pub(super) fn q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (scale, least) = (f16_at(block, 0), f16_at(block, 2));
    for (value, number) in out.iter_mut().zip(nibbles(&block[4..])) {
        *value = scale * f32::from(number) + least;
    }
}

pub(super) fn q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let scale = f16_at(block, 0);
    for (value, number) in out.iter_mut().zip(five_bits(&block[2..6], &block[6..])) {
        *value = scale * f32::from(number as i8 - 16);
    }
}

pub(super) fn q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (scale, least) = (f16_at(block, 0), f16_at(block, 2));
    for (value, number) in out.iter_mut().zip(five_bits(&block[4..8], &block[8..])) {
        *value = scale * f32::from(number) + least;
    }
}

pub(super) fn q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let scale = f16_at(block, 0);
    for (value, number) in out.iter_mut().zip(&block[2..]) {
        *value = scale * f32::from(*number as i8);
    }
}

pub(super) fn iq4_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    let scale = f16_at(block, 0);
    for (value, number) in out.iter_mut().zip(nibbles(&block[2..])) {
        *value = scale * f32::from(IQ4[usize::from(number)]);
    }
}

/// E2M1 values times two; the scale below is halved to match.
const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

pub(super) fn mxfp4(block: &[u8; 17], out: &mut [f32; 32]) {
    // 2^(exponent - 127) / 2. For the two smallest exponents it is subnormal.
    let scale = match block[0] {
        exponent @ (0 | 1) => f32::from_bits(0x0020_0000 << exponent),
        exponent => f32::from_bits(u32::from(exponent - 1) << 23),
    };
    for (value, number) in out.iter_mut().zip(nibbles(&block[1..])) {
        *value = scale * f32::from(E2M1[usize::from(number)]);
    }
}
