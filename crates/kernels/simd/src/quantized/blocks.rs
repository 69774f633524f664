//! Unpacks the blocks of GGUF types into codes, four per word, to avoid work byte by byte.
//!
//! A function takes a block, the index of a group within it and, for superblocks with quantized
//! scales, two factors: that of the scales and that of the minimums.

/// 32 columns of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<const WORDS: usize, S> {
    /// Codes. Bytes: eight words of four columns. Nibbles: four words, with the first 16 columns in
    /// the low nibbles and the last 16 in the high ones; then the words of the bits above the
    /// nibbles, if there are any.
    pub(super) words: [u32; WORDS],
    /// Scales of the first and of the last 16 columns, as stored or to be rounded; the first is for
    /// all 32 where there is only one.
    pub(super) scales: [S; 2],
    /// Minimums, in the order of the scales.
    pub(super) mins: [S; 2],
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

/// 32 bytes as words, with one bounds check.
#[inline(always)]
fn words(bytes: &[u8], at: usize) -> [u32; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(bytes[at..at + 32].as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    words
}

#[inline(always)]
fn read_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

/// An array from an expression of its index. A loop rather than `array::from_fn`, which is not
/// always inlined.
macro_rules! each {
    ($j:ident => $value:expr) => {{
        let mut words = [Default::default(); _];
        for $j in 0..words.len() {
            words[$j] = $value;
        }
        words
    }};
}

/// Four words of nibbles, from words that hold four values each.
#[inline(always)]
fn nibbles(numbers: [u32; 8]) -> [u32; 4] {
    each!(j => numbers[j] | numbers[j + 4] << 4)
}

/// Words of nibbles and of fifth bits, from words that hold four values each.
#[inline(always)]
fn five_bits(numbers: [u32; 8]) -> [u32; 5] {
    let [a, b, c, d] = nibbles(numbers.map(|number| number & LOW));
    let mut fifth = 0;
    for (at, number) in numbers.iter().enumerate() {
        fifth |= (number >> 4 & ONE) << at;
    }
    [a, b, c, d, fifth]
}

/// The same with two words of two further bits.
#[inline(always)]
fn six_bits(numbers: [u32; 8]) -> [u32; 6] {
    let [a, b, c, d] = nibbles(numbers.map(|number| number & LOW));
    let mut further = [0; 2];
    for (at, number) in numbers.iter().enumerate() {
        further[at / 4] |= (number >> 4 & TWO) << (at % 4 * 2);
    }
    [a, b, c, d, further[0], further[1]]
}

/// Four words of nibbles that are stored in this order.
#[inline(always)]
fn stored_nibbles(bytes: &[u8], at: usize) -> [u32; 4] {
    each!(j => word(bytes, at + 4 * j))
}

#[inline(always)]
pub(super) fn q4_0(block: &[u8; 18], _: usize, _: [f32; 2]) -> Group<4, u16> {
    Group { words: stored_nibbles(block, 2), scales: [read_u16(block, 0); 2], mins: [0; 2] }
}

#[inline(always)]
pub(super) fn q4_1(block: &[u8; 20], _: usize, _: [f32; 2]) -> Group<4, u16> {
    Group { words: stored_nibbles(block, 4), scales: [read_u16(block, 0); 2], mins: [read_u16(block, 2); 2] }
}

#[inline(always)]
pub(super) fn mxfp4(block: &[u8; 17], _: usize, _: [f32; 2]) -> Group<4, u16> {
    Group { words: stored_nibbles(block, 1), scales: [mxfp4_scale(block[0].into()); 2], mins: [0; 2] }
}

/// Half of 2^(exponent - 127) as the upper half of a float; the two smallest are subnormal.
#[inline(always)]
pub(super) fn mxfp4_scale(exponent: u16) -> u16 {
    if exponent < 2 { 0x0020 << exponent } else { (exponent - 1) << 7 }
}

#[inline(always)]
pub(super) fn iq4_xs(block: &[u8; 136], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let low = block[4 + group / 2] >> (group % 2 * 4) & 0xf;
    let high = (read_u16(block, 2) >> (2 * group) & 3) as u8;
    let scale = by[0] * f32::from((low | high << 4) as i8 - 32);
    Group { words: stored_nibbles(block, 8 + group * 16), scales: [scale; 2], mins: [0.0; 2] }
}

#[inline(always)]
pub(super) fn q8_0(block: &[u8; 34], _: usize, _: [f32; 2]) -> Group<8, u16> {
    let words = each!(j => word(block, 2 + 4 * j) ^ 0x8080_8080);
    Group { words, scales: [read_u16(block, 0); 2], mins: [0; 2] }
}

/// The fifth bits of four columns, as the lowest bits, from a word that has one for each of 32
/// columns.
#[inline(always)]
fn fifth_bits(bits: u32, j: usize) -> u32 {
    // No two of the sixteen bits of this product overlap.
    (bits >> (4 * j) & 0xf).wrapping_mul(0x0020_4081) & ONE
}

/// Codes of five bits, whose nibbles are stored in the packed order.
#[inline(always)]
fn five_bit_codes(block: &[u8], bits: usize, numbers: usize) -> [u32; 5] {
    let bits = word(block, bits);
    let [a, b, c, d] = stored_nibbles(block, numbers);
    let mut fifth = 0;
    for at in 0..8 {
        fifth |= fifth_bits(bits, at) << at;
    }
    [a, b, c, d, fifth]
}

#[inline(always)]
pub(super) fn q5_0(block: &[u8; 22], _: usize, _: [f32; 2]) -> Group<5, u16> {
    Group { words: five_bit_codes(block, 2, 6), scales: [read_u16(block, 0); 2], mins: [0; 2] }
}

#[inline(always)]
pub(super) fn q5_1(block: &[u8; 24], _: usize, _: [f32; 2]) -> Group<5, u16> {
    Group { words: five_bit_codes(block, 4, 8), scales: [read_u16(block, 0); 2], mins: [read_u16(block, 2); 2] }
}

/// The scale and the minimum of a group of 32, six bits each; see `roci_gguf` for the layout.
#[inline(always)]
fn scale_and_min(block: &[u8], group: usize, by: [f32; 2]) -> ([f32; 2], [f32; 2]) {
    let scales = &block[4..16];
    let (scale, mins) = if group < 4 {
        (scales[group] & 63, scales[group + 4] & 63)
    } else {
        let both = scales[group + 4];
        (both & 0xf | (scales[group - 4] >> 6) << 4, both >> 4 | (scales[group] >> 6) << 4)
    };
    ([by[0] * f32::from(scale); 2], [-(by[1] * f32::from(mins)); 2])
}

#[inline(always)]
pub(super) fn q4_k(block: &[u8; 144], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let (start, shift) = (16 + group / 2 * 32, group % 2 * 4);
    let (scales, mins) = scale_and_min(block, group, by);
    let numbers = words(block, start);
    Group { words: nibbles(each!(j => numbers[j] >> shift & LOW)), scales, mins }
}

#[inline(always)]
pub(super) fn q5_k(block: &[u8; 176], group: usize, by: [f32; 2]) -> Group<5, f32> {
    let (start, shift) = (48 + group / 2 * 32, group % 2 * 4);
    let (scales, mins) = scale_and_min(block, group, by);
    let (lows, highs) = (words(block, start), words(block, 16));
    let numbers = each!(j => lows[j] >> shift & LOW | (highs[j] >> group & ONE) << 4);
    Group { words: five_bits(numbers), scales, mins }
}

#[inline(always)]
pub(super) fn q6_k(block: &[u8; 210], group: usize, by: [f32; 2]) -> Group<6, f32> {
    let scales = each!(half => by[0] * f32::from(block[192 + 2 * group + half] as i8));
    let (half, within) = (group / 4, group % 4);
    let (lows, highs) = (words(block, half * 64 + within % 2 * 32), words(block, 128 + half * 32));
    let numbers = each!(j => {
        // Half a block is 128 values: 64 bytes of low bits, first all low nibbles, then all high
        // ones; 32 bytes of high bits.
        let low = lows[j] >> (within / 2 * 4) & LOW;
        let high = highs[j] >> (within * 2) & TWO;
        low | high << 4
    });
    Group { words: six_bits(numbers), scales, mins: [0.0; 2] }
}

#[inline(always)]
pub(super) fn q2_k(block: &[u8; 84], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let (start, shift) = (16 + group / 4 * 32, group % 4 * 2);
    let numbers = words(block, start);
    Group {
        words: nibbles(each!(j => numbers[j] >> shift & TWO)),
        scales: each!(half => by[0] * f32::from(block[2 * group + half] & 0xf)),
        mins: each!(half => -(by[1] * f32::from(block[2 * group + half] >> 4))),
    }
}

#[inline(always)]
pub(super) fn q3_k(block: &[u8; 110], group: usize, by: [f32; 2]) -> Group<4, f32> {
    let scales = each!(half => {
        let at = 2 * group + half;
        // Of the six bits of a scale, four are in the first eight bytes and two in the last four.
        let low = block[96 + at % 8] >> (at / 8 * 4) & 0xf;
        let high = block[104 + at % 4] >> (at / 4 * 2) & 3;
        by[0] * f32::from((low | high << 4) as i8 - 32)
    });
    let (start, shift) = (32 + group / 4 * 32, group % 4 * 2);
    // From -4 to 3, with 8 added.
    let (lows, highs) = (words(block, start), words(block, 0));
    let numbers = each!(j => (lows[j] >> shift & TWO | (highs[j] >> group & ONE) << 2) + 0x0404_0404);
    Group { words: nibbles(numbers), scales, mins: [0.0; 2] }
}
