//! Ternary, binary and 4-bit float types, whose codes need no grid.

use super::{BIAS, CodeGroup, GROUP, f16_at};

/// A group from its codes and scales.
#[inline]
fn group(codes: [i8; GROUP], scales: [f32; 2]) -> CodeGroup {
    let mut words = [0; 4];
    for (word, codes) in words.iter_mut().zip(codes.as_chunks().0) {
        *word = u64::from_le_bytes(codes.map(i8::cast_unsigned)) ^ BIAS;
    }
    CodeGroup { words, scales }
}

/// TQ1_0: five values from -1 to 1 in a byte, as the digits of a fraction in base 3. A digit is the
/// integer part of three times what follows it.
///
/// Blocks have 256 values: 32 bytes with the first 160, byte after byte for each digit; 16 bytes
/// with the next 80; four bytes with the last 16, four digits each.
#[inline]
pub fn tq1_0(block: &[u8; 54], group: usize) -> CodeGroup {
    const POWERS: [u8; 5] = [1, 3, 9, 27, 81];
    let mut codes = [0; GROUP];
    for (at, code) in codes.iter_mut().enumerate() {
        let (byte, digit) = match group * GROUP + at {
            at @ 0..160 => (at % 32, at / 32),
            at @ 160..240 => (32 + at % 16, (at - 160) / 16),
            at => (48 + at % 4, (at - 240) / 4),
        };
        let digits = block[byte].wrapping_mul(POWERS[digit]);
        *code = ((u16::from(digits) * 3) >> 8) as i8 - 1;
    }
    self::group(codes, [f16_at(block, 52); 2])
}

/// TQ2_0: two bits with 1 added, 32 bytes for each 128 values.
#[inline]
pub fn tq2_0(block: &[u8; 66], group: usize) -> CodeGroup {
    let mut codes = [0; GROUP];
    for (code, byte) in codes.iter_mut().zip(&block[group / 4 * 32..]) {
        *code = (byte >> (group % 4 * 2) & 3) as i8 - 1;
    }
    self::group(codes, [f16_at(block, 64); 2])
}

/// Q1_0: signs of 128 values; a bit that is set is positive.
#[inline]
pub fn q1_0(block: &[u8; 18], group: usize) -> CodeGroup {
    let mut codes = [0; GROUP];
    for (at, code) in codes.iter_mut().enumerate() {
        *code = 2 * (block[2 + 4 * group + at / 8] >> (at % 8) & 1) as i8 - 1;
    }
    self::group(codes, [f16_at(block, 0); 2])
}

/// Q2_0: 64 values from -1 to 2, two bits each.
#[inline]
pub fn q2_0(block: &[u8; 18], group: usize) -> CodeGroup {
    let mut codes = [0; GROUP];
    for (at, code) in codes.iter_mut().enumerate() {
        *code = (block[2 + 8 * group + at / 4] >> (at % 4 * 2) & 3) as i8 - 1;
    }
    self::group(codes, [f16_at(block, 0); 2])
}

/// E2M1 values times two; scales are halved to match.
const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Half of an 8-bit float with four exponent bits and three mantissa bits. The sign is ignored, and
/// NaN counts as zero.
#[inline]
fn half_e4m3(bits: u8) -> f32 {
    let (exponent, mantissa) = (bits >> 3 & 0xf, bits & 7);
    match exponent {
        _ if bits == 0x7f => 0.0,
        0 => f32::from(mantissa) / 1024.0,
        // 2^(exponent - 8) times 1 + mantissa / 8.
        _ => f32::from_bits((u32::from(exponent) + 119) << 23 | u32::from(mantissa) << 20),
    }
}

/// NVFP4: 64 values in E2M1 with a scale for each 16, whose low nibbles are the first eight.
#[inline]
pub fn nvfp4(block: &[u8; 36], group: usize) -> CodeGroup {
    let mut codes = [0; GROUP];
    for (at, code) in codes.iter_mut().enumerate() {
        let byte = block[4 + 16 * group + at / 16 * 8 + at % 8];
        *code = E2M1[usize::from(byte >> (at / 8 % 2 * 4) & 0xf)];
    }
    self::group(codes, [block[2 * group], block[2 * group + 1]].map(half_e4m3))
}
