//! The blocks of GGUF types as codes: four of them in a word, so that nothing is done byte by byte.
//!
//! A function is given a block, which of its groups is wanted, and, for blocks with scales of scales, what those are multiplied
//! with: the scale and what is added.

/// 32 columns of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<const WORDS: usize, S> {
    /// Codes. Bytes: eight words of four columns. Halves: four words, each with columns of the first 16 in its low halves and
    /// the same ones of the last 16 in its high halves.
    pub(super) words: [u32; WORDS],
    /// Scales of both 16 columns, as they are stored or to be rounded; the first one holds for all 32 where there is but one.
    pub(super) scales: [S; 2],
    /// What is added, as scales.
    pub(super) least: [S; 2],
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

/// 32 bytes as words, held against the block's length once.
#[inline(always)]
fn words(bytes: &[u8], at: usize) -> [u32; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes[at..at + 32].as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

#[inline(always)]
fn sixteen(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// An array by the index of its elements. A loop rather than `array::from_fn`, which is not always inlined.
macro_rules! each {
    ($j:ident => $value:expr) => {{
        let mut words = [Default::default(); _];
        for $j in 0..words.len() {
            words[$j] = $value;
        }
        words
    }};
}

/// Four words of halves, from words of which each holds four numbers.
#[inline(always)]
fn halves(numbers: [u32; 8]) -> [u32; 4] {
    each!(j => numbers[j] | numbers[j + 4] << 4)
}

/// Four words of halves that lie so already.
#[inline(always)]
fn as_they_are(bytes: &[u8], at: usize) -> [u32; 4] {
    each!(j => word(bytes, at + 4 * j))
}

#[inline(always)]
pub(super) fn q4_0(block: &[u8; 18], _: usize, _: [f32; 2]) -> Group<4, u16> {
    Group { words: as_they_are(block, 2), scales: [sixteen(block, 0); 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn q4_1(block: &[u8; 20], _: usize, _: [f32; 2]) -> Group<4, u16> {
    Group { words: as_they_are(block, 4), scales: [sixteen(block, 0); 2], least: [sixteen(block, 2); 2] }
}

#[inline(always)]
pub(super) fn mxfp4(block: &[u8; 17], _: usize, _: [f32; 2]) -> Group<4, u16> {
    // Half of 2^(exponent - 127) as the upper half of a float; the two smallest are denormal numbers.
    let scale = match block[0] {
        exponent @ (0 | 1) => 0x0020 << exponent,
        exponent => u16::from(exponent - 1) << 7,
    };
    Group { words: as_they_are(block, 1), scales: [scale; 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn iq4_xs(block: &[u8; 136], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let low = block[4 + group / 2] >> (group % 2 * 4) & 0xf;
    let high = (sixteen(block, 2) >> (2 * group) & 3) as u8;
    let scale = by[0] * f32::from((low | high << 4) as i8 - 32);
    Group { words: as_they_are(block, 8 + group * 16), scales: [scale; 2], least: [0.0; 2] }
}

#[inline(always)]
pub(super) fn q8_0(block: &[u8; 34], _: usize, _: [f32; 2]) -> Group<8, u16> {
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
pub(super) fn q5_0(block: &[u8; 22], _: usize, _: [f32; 2]) -> Group<8, u16> {
    Group { words: five(block, 2, 6, 0x7070_7070), scales: [sixteen(block, 0); 2], least: [0; 2] }
}

#[inline(always)]
pub(super) fn q5_1(block: &[u8; 24], _: usize, _: [f32; 2]) -> Group<8, u16> {
    Group { words: five(block, 4, 8, 0x8080_8080), scales: [sixteen(block, 0); 2], least: [sixteen(block, 2); 2] }
}

/// The scale and what is added of a group of 32: two numbers of six bits each, see `roci_gguf`'s reading of them.
#[inline(always)]
fn scale_and_least(block: &[u8], group: usize, by: [f32; 2]) -> ([f32; 2], [f32; 2]) {
    let scales = &block[4..16];
    let (scale, least) = if group < 4 {
        (scales[group] & 63, scales[group + 4] & 63)
    } else {
        let both = scales[group + 4];
        (both & 0xf | (scales[group - 4] >> 6) << 4, both >> 4 | (scales[group] >> 6) << 4)
    };
    ([by[0] * f32::from(scale); 2], [-(by[1] * f32::from(least)); 2])
}

#[inline(always)]
pub(super) fn q4_k(block: &[u8; 144], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let (start, shift) = (16 + group / 2 * 32, group % 2 * 4);
    let (scales, least) = scale_and_least(block, group, by);
    let numbers = words(block, start);
    Group { words: halves(each!(j => numbers[j] >> shift & LOW)), scales, least }
}

#[inline(always)]
pub(super) fn q5_k(block: &[u8; 176], group: usize, by: [f32; 2]) -> Group<8, f32> {
    let (start, shift) = (48 + group / 2 * 32, group % 2 * 4);
    let (scales, least) = scale_and_least(block, group, by);
    let (lows, highs) = (words(block, start), words(block, 16));
    let words = each!(j => {
        let low = lows[j] >> shift & LOW;
        let high = (highs[j] >> group & ONE) << 4;
        (low | high) + 0x8080_8080
    });
    Group { words, scales, least }
}

#[inline(always)]
pub(super) fn q6_k(block: &[u8; 210], group: usize, by: [f32; 2]) -> Group<8, f32> {
    let scales = each!(half => by[0] * f32::from(block[192 + 2 * group + half] as i8));
    let (half, within) = (group / 4, group % 4);
    let (lows, highs) = (words(block, half * 64 + within % 2 * 32), words(block, 128 + half * 32));
    let words = each!(j => {
        // Half a block is 128 values: 64 bytes of low bits, first all low halves, then all high ones; 32 bytes of high bits.
        let low = lows[j] >> (within / 2 * 4) & LOW;
        let high = highs[j] >> (within * 2) & TWO;
        (low | high << 4) + 0x6060_6060
    });
    Group { words, scales, least: [0.0; 2] }
}

#[inline(always)]
pub(super) fn q2_k(block: &[u8; 84], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let (start, shift) = (16 + group / 4 * 32, group % 4 * 2);
    let numbers = words(block, start);
    Group {
        words: halves(each!(j => numbers[j] >> shift & TWO)),
        scales: each!(half => by[0] * f32::from(block[2 * group + half] & 0xf)),
        least: each!(half => -(by[1] * f32::from(block[2 * group + half] >> 4))),
    }
}

#[inline(always)]
pub(super) fn q3_k(block: &[u8; 110], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let scales = each!(half => {
        let at = 2 * group + half;
        // Of six bits of scale, four lie in the first eight bytes and two in the last four.
        let low = block[96 + at % 8] >> (at / 8 * 4) & 0xf;
        let high = block[104 + at % 4] >> (at / 4 * 2) & 3;
        by[0] * f32::from((low | high << 4) as i8 - 32)
    });
    let (start, shift) = (32 + group / 4 * 32, group % 4 * 2);
    // From -4 to 3, with 8 added.
    let (lows, highs) = (words(block, start), words(block, 0));
    let numbers = each!(j => (lows[j] >> shift & TWO | (highs[j] >> group & ONE) << 2) + 0x0404_0404);
    Group { words: halves(numbers), scales, least: [0.0; 2] }
}
