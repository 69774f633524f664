//! The blocks of GGUF types as codes: four of them in a word, so that nothing is done byte by byte.

use half::f16;

/// 32 columns of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<const WORDS: usize> {
    /// Codes. Bytes: eight words of four columns. Halves: four words, each with columns of the first 16 in its low halves and
    /// the same ones of the last 16 in its high halves.
    pub(super) words: [u32; WORDS],
    /// Scales as they are stored, of both 16 columns; the first one holds for all 32 where there is but one.
    pub(super) scales: [u16; 2],
    /// What is added, as scales.
    pub(super) least: [u16; 2],
}

/// The low four bits of each byte.
const LOW: u32 = 0x0f0f_0f0f;
/// The low two bits of each byte.
const TWO: u32 = 0x0303_0303;
/// A bit of each byte.
const ONE: u32 = 0x0101_0101;

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline(always)]
fn sixteen(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

#[inline(always)]
fn float(bytes: &[u8], at: usize) -> f32 {
    f16::from_bits(sixteen(bytes, at)).to_f32()
}

#[inline(always)]
fn rounded(value: f32) -> u16 {
    f16::from_f32(value).to_bits()
}

/// An array by the index of its elements. A loop rather than `array::from_fn`, which is not always inlined.
macro_rules! each {
    ($j:ident => $value:expr) => {{
        let mut words = [0; _];
        for $j in 0..words.len() {
            words[$j] = $value;
        }
        words
    }};
}

/// Four words of halves, from words of which each holds four numbers.
#[inline(always)]
fn halves(number: impl Fn(usize) -> u32) -> [u32; 4] {
    each!(j => number(j) | number(j + 4) << 4)
}

/// Four words of halves that lie so already.
#[inline(always)]
fn as_they_are(bytes: &[u8], at: usize) -> [u32; 4] {
    each!(j => word(bytes, at + 4 * j))
}

#[inline(always)]
pub(super) fn q4_0(block: &[u8; 18], _: usize) -> Group<4> {
    Group { words: as_they_are(block, 2), scales: [sixteen(block, 0); 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn q4_1(block: &[u8; 20], _: usize) -> Group<4> {
    Group { words: as_they_are(block, 4), scales: [sixteen(block, 0); 2], least: [sixteen(block, 2); 2] }
}

#[inline(always)]
pub(super) fn mxfp4(block: &[u8; 17], _: usize) -> Group<4> {
    // Half of 2^(exponent - 127) as the upper half of a float; the two smallest are denormal numbers.
    let scale = match block[0] {
        exponent @ (0 | 1) => 0x0020 << exponent,
        exponent => u16::from(exponent - 1) << 7,
    };
    Group { words: as_they_are(block, 1), scales: [scale; 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn iq4_xs(block: &[u8; 136], group: usize) -> Group<4> {
    let low = block[4 + group / 2] >> (group % 2 * 4) & 0xf;
    let high = (sixteen(block, 2) >> (2 * group) & 3) as u8;
    let scale = rounded(float(block, 0) * f32::from((low | high << 4) as i8 - 32));
    Group { words: as_they_are(block, 8 + group * 16), scales: [scale; 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn q8_0(block: &[u8; 34], _: usize) -> Group<8> {
    let words = each!(j => word(block, 2 + 4 * j) ^ 0x8080_8080);
    Group { words, scales: [sixteen(block, 0); 2], least: [0; 2] }
}

/// The fifth bits of four columns from a word that has one for each of 32, in place.
#[inline(always)]
fn fifth(bits: u32, j: usize) -> u32 {
    // No two of the sixteen bits that this product has meet.
    ((bits >> (4 * j) & 0xf).wrapping_mul(0x0020_4081) & ONE) << 4
}

/// Five-bit numbers with `bias` added.
#[inline(always)]
fn five(block: &[u8], bits: usize, numbers: usize, bias: u32) -> [u32; 8] {
    let bits = word(block, bits);
    each!(j => {
        let low = word(block, numbers + j % 4 * 4) >> (j / 4 * 4) & LOW;
        (low | fifth(bits, j)) + bias
    })
}

#[inline(always)]
pub(super) fn q5_0(block: &[u8; 22], _: usize) -> Group<8> {
    Group { words: five(block, 2, 6, 0x7070_7070), scales: [sixteen(block, 0); 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn q5_1(block: &[u8; 24], _: usize) -> Group<8> {
    Group { words: five(block, 4, 8, 0x8080_8080), scales: [sixteen(block, 0); 2], least: [sixteen(block, 2); 2] }
}

/// The scale and what is added of a group of 32: two numbers of six bits each, see `roci_gguf`'s reading of them.
#[inline(always)]
fn scale_and_least(block: &[u8], group: usize) -> ([u16; 2], [u16; 2]) {
    let scales = &block[4..16];
    let (scale, least) = if group < 4 {
        (scales[group] & 63, scales[group + 4] & 63)
    } else {
        let both = scales[group + 4];
        (both & 0xf | (scales[group - 4] >> 6) << 4, both >> 4 | (scales[group] >> 6) << 4)
    };
    let scale = rounded(float(block, 0) * f32::from(scale));
    let least = rounded(-(float(block, 2) * f32::from(least)));
    ([scale; 2], [least; 2])
}

#[inline(always)]
pub(super) fn q4_k(block: &[u8; 144], group: usize) -> Group<4> {
    let (start, shift) = (16 + group / 2 * 32, group % 2 * 4);
    let (scales, least) = scale_and_least(block, group);
    Group { words: halves(|j| word(block, start + 4 * j) >> shift & LOW), scales, least }
}

#[inline(always)]
pub(super) fn q5_k(block: &[u8; 176], group: usize) -> Group<8> {
    let (start, shift) = (48 + group / 2 * 32, group % 2 * 4);
    let (scales, least) = scale_and_least(block, group);
    let words = each!(j => {
        let low = word(block, start + 4 * j) >> shift & LOW;
        let high = (word(block, 16 + 4 * j) >> group & ONE) << 4;
        (low | high) + 0x8080_8080
    });
    Group { words, scales, least }
}

#[inline(always)]
pub(super) fn q6_k(block: &[u8; 210], group: usize) -> Group<8> {
    let d = float(block, 208);
    let scales = each!(half => rounded(d * f32::from(block[192 + 2 * group + half] as i8)));
    let (half, within) = (group / 4, group % 4);
    let words = each!(j => {
        // Half a block is 128 values: 64 bytes of low bits, first all low halves, then all high ones; 32 bytes of high bits.
        let low = word(block, half * 64 + within % 2 * 32 + 4 * j) >> (within / 2 * 4) & LOW;
        let high = word(block, 128 + half * 32 + 4 * j) >> (within * 2) & TWO;
        (low | high << 4) + 0x6060_6060
    });
    Group { words, scales, least: [0; 2] }
}

#[inline(always)]
pub(super) fn q2_k(block: &[u8; 84], group: usize) -> Group<4> {
    let (d, min) = (float(block, 80), float(block, 82));
    let (start, shift) = (16 + group / 4 * 32, group % 4 * 2);
    Group {
        words: halves(|j| word(block, start + 4 * j) >> shift & TWO),
        scales: each!(half => rounded(d * f32::from(block[2 * group + half] & 0xf))),
        least: each!(half => rounded(-(min * f32::from(block[2 * group + half] >> 4)))),
    }
}

#[inline(always)]
pub(super) fn q3_k(block: &[u8; 110], group: usize) -> Group<4> {
    let d = float(block, 108);
    let scales = each!(half => {
        let at = 2 * group + half;
        // Of six bits of scale, four lie in the first eight bytes and two in the last four.
        let low = block[96 + at % 8] >> (at / 8 * 4) & 0xf;
        let high = block[104 + at % 4] >> (at / 4 * 2) & 3;
        rounded(d * f32::from((low | high << 4) as i8 - 32))
    });
    let (start, shift) = (32 + group / 4 * 32, group % 4 * 2);
    // From -4 to 3, with 8 added.
    let number = |j: usize| {
        let high = (word(block, 4 * j) >> group & ONE) << 2;
        (word(block, start + 4 * j) >> shift & TWO | high) + 0x0404_0404
    };
    Group { words: halves(number), scales, least: [0; 2] }
}
