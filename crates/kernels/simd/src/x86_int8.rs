//! Int8 vectors on AVX2, and on AVX-512 with VNNI.

#![expect(
    clippy::multiple_unsafe_ops_per_block,
    reason = "instructions that follow each other need the same: a CPU that has them"
)]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::*;

use crate::int8::{Int8, Int8Task, LINE, ROWS};
use crate::level::{Kind, Level};
use crate::x86::{Avx2, Avx512};

/// Token that proves that the CPU has AVX-512 VNNI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vnni(());

/// The int8 instructions of a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) enum X86Int8 {
    Avx2(Avx2),
    Vnni(Vnni),
}

/// Applies one instruction to both halves of a line. Not a closure: the compiler does not always
/// inline closures into the function that enables the instructions.
macro_rules! both {
    ($($instruction:ident)::+ $(::<$by:literal>)? ($($operand:expr),*)) => {
        [
            // SAFETY: the token proves AVX2, FMA and F16C.
            unsafe { $($instruction)::+$(::<$by>)?($($operand[0]),*) },
            // SAFETY: as above.
            unsafe { $($instruction)::+$(::<$by>)?($($operand[1]),*) },
        ]
    };
}

impl X86Int8 {
    /// The int8 instructions of a level; `None` for the portable one.
    #[inline]
    pub(crate) fn of(level: Level) -> Option<X86Int8> {
        match level.0 {
            Kind::Portable(_) => None,
            Kind::Avx2(token) => Some(X86Int8::Avx2(token)),
            Kind::Avx512(token, _) => Some(Vnni::of(token).map_or(X86Int8::Avx2(token.avx2()), X86Int8::Vnni)),
        }
    }

    /// Runs `task` compiled for these instructions.
    #[inline]
    pub(crate) fn run<T: Int8Task>(self, task: T) -> T::Output {
        match self {
            X86Int8::Avx2(token) => {
                #[target_feature(enable = "avx2,fma,f16c")]
                fn inside<T: Int8Task>(token: Avx2, task: T) -> T::Output {
                    task.run(token)
                }
                // SAFETY: the token exists only where these features were found.
                unsafe { inside(token, task) }
            }
            X86Int8::Vnni(token) => token.run(task),
        }
    }
}

impl Vnni {
    /// The token, if this CPU has VNNI.
    fn of(_: Avx512) -> Option<Vnni> {
        is_x86_feature_detected!("avx512vnni").then_some(Vnni(()))
    }

    /// The token of a level, if it has VNNI.
    #[inline]
    pub(crate) fn of_level(level: Level) -> Option<Vnni> {
        match level.0 {
            Kind::Avx512(token, _) => Vnni::of(token),
            _ => None,
        }
    }

    /// Runs `task` compiled for VNNI.
    #[inline]
    pub(crate) fn run<T: Int8Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
        fn inside<T: Int8Task>(token: Vnni, task: T) -> T::Output {
            task.run(token)
        }
        // SAFETY: the token exists only where these features were found.
        unsafe { inside(self, task) }
    }
}

impl Int8 for Avx2 {
    type Codes = [__m256i; 2];
    type Sums = [__m256i; 2];
    type Floats = [__m256; 2];
    type Table = __m256i;
    const TOKENS: usize = 4;

    #[inline(always)]
    unsafe fn load(self, source: *const u8) -> [__m256i; 2] {
        // SAFETY: the caller guarantees a line, the token proves AVX; unaligned loads.
        let low = unsafe { _mm256_loadu_si256(source.cast()) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_si256(source.wrapping_add(LINE / 2).cast()) };
        [low, high]
    }

    #[inline(always)]
    unsafe fn load_rows(self, source: *const u8, pitch: usize) -> [[__m256i; 2]; 4] {
        // Eight rows each: four in the low half, the next four in the high half. SAFETY: the caller
        // guarantees sixteen bytes of sixteen rows, the token proves AVX2.
        let low = unsafe { eight_rows(source, pitch) };
        // SAFETY: as above.
        let high = unsafe { eight_rows(source.wrapping_add(ROWS / 2 * pitch), pitch) };
        [[low[0], high[0]], [low[1], high[1]], [low[2], high[2]], [low[3], high[3]]]
    }

    #[inline(always)]
    fn flip_signs(self, line: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: the token proves AVX2.
        let bias = [unsafe { _mm256_set1_epi8(-128) }; 2];
        both!(_mm256_xor_si256(line, bias))
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u8, line: [__m256i; 2]) {
        // SAFETY: the caller guarantees a line, the token proves AVX; unaligned stores.
        unsafe { _mm256_storeu_si256(target.cast(), line[0]) };
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(target.wrapping_add(LINE / 2).cast(), line[1]) };
    }

    #[inline(always)]
    fn table(self, codes: &[u8; 16]) -> __m256i {
        // SAFETY: an unaligned load of the sixteen bytes of `codes`.
        let table = unsafe { _mm_loadu_si128(codes.as_ptr().cast()) };
        // SAFETY: the token proves AVX2.
        unsafe { _mm256_broadcastsi128_si256(table) }
    }

    #[inline(always)]
    fn split_nibbles(self, line: [__m256i; 2]) -> [[__m256i; 2]; 2] {
        // SAFETY: the token proves AVX2.
        let mask = [unsafe { _mm256_set1_epi8(0xf) }; 2];
        let high = both!(_mm256_srli_epi16::<4>(line));
        [both!(_mm256_and_si256(line, mask)), both!(_mm256_and_si256(high, mask))]
    }

    #[inline(always)]
    fn with_high_bits(self, low: [__m256i; 2], high: [__m256i; 2], at: usize, bits: usize, bias: u8) -> [__m256i; 2] {
        // Bits of a neighboring byte do not pass the mask. SAFETY: the token proves AVX2.
        let (mask, bias) =
            unsafe { (_mm256_set1_epi8((((1 << bits) - 1) << 4) as i8), _mm256_set1_epi8(bias.cast_signed())) };
        // SAFETY: every x86-64 CPU has SSE2.
        let count = [unsafe { _mm_cvtsi32_si128(at.abs_diff(4) as i32) }; 2];
        let high = if at < 4 { both!(_mm256_sll_epi16(high, count)) } else { both!(_mm256_srl_epi16(high, count)) };
        let (mask, bias) = ([mask; 2], [bias; 2]);
        let high = both!(_mm256_and_si256(high, mask));
        let codes = both!(_mm256_or_si256(low, high));
        both!(_mm256_add_epi8(codes, bias))
    }

    #[inline(always)]
    fn lookup_nibbles(self, line: [__m256i; 2], table: __m256i) -> [[__m256i; 2]; 2] {
        let table = [table; 2];
        let [low, high] = self.split_nibbles(line);
        [both!(_mm256_shuffle_epi8(table, low)), both!(_mm256_shuffle_epi8(table, high))]
    }

    #[inline(always)]
    fn initial_sums(self, _: i32) -> [__m256i; 2] {
        // SAFETY: the token proves AVX.
        [unsafe { _mm256_setzero_si256() }; 2]
    }

    /// `maddubs` multiplies unsigned bytes by signed ones and saturates at 16 bits. So the first
    /// operand is the weight's magnitude, at most 128, and the weight's sign is applied to the
    /// activation.
    #[inline(always)]
    fn dot(self, sums: [__m256i; 2], line: [__m256i; 2], x: i32) -> [__m256i; 2] {
        // SAFETY: the token proves AVX2.
        let x = [unsafe { _mm256_set1_epi32(x) }; 2];
        // SAFETY: as above.
        let bias = [unsafe { _mm256_set1_epi8(-128) }; 2];
        // SAFETY: as above.
        let ones = [unsafe { _mm256_set1_epi16(1) }; 2];
        let signed = both!(_mm256_xor_si256(line, bias));
        let size = both!(_mm256_abs_epi8(signed));
        let x = both!(_mm256_sign_epi8(x, signed));
        let pairs = both!(_mm256_maddubs_epi16(size, x));
        let fours = both!(_mm256_madd_epi16(pairs, ones));
        both!(_mm256_add_epi32(sums, fours))
    }

    #[inline(always)]
    unsafe fn load_sums(self, source: *const i32) -> [__m256i; 2] {
        // SAFETY: the caller guarantees sixteen numbers, as many bytes as a line.
        unsafe { self.load(source.cast()) }
    }

    #[inline(always)]
    fn floats(self, sums: [__m256i; 2]) -> [__m256; 2] {
        both!(_mm256_cvtepi32_ps(sums))
    }

    #[inline(always)]
    fn splat(self, value: f32) -> [__m256; 2] {
        // SAFETY: the token proves AVX.
        [unsafe { _mm256_set1_ps(value) }; 2]
    }

    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        both!(_mm256_mul_ps(a, b))
    }

    #[inline(always)]
    fn mul_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        both!(_mm256_fmadd_ps(a, b, c))
    }

    #[inline(always)]
    unsafe fn load_f32(self, source: *const f32) -> [__m256; 2] {
        // SAFETY: the caller guarantees sixteen elements; unaligned loads.
        let low = unsafe { _mm256_loadu_ps(source) };
        // SAFETY: as above.
        let high = unsafe { _mm256_loadu_ps(source.wrapping_add(ROWS / 2)) };
        [low, high]
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const u16) -> [__m256; 2] {
        // SAFETY: the caller guarantees sixteen elements.
        let bits = unsafe { load_sixteen(source) };
        both!(_mm256_cvtph_ps(bits))
    }

    #[inline(always)]
    unsafe fn load_bf16(self, source: *const u16) -> [__m256; 2] {
        // SAFETY: the caller guarantees sixteen elements.
        let bits = unsafe { load_sixteen(source) };
        let wide = both!(_mm256_cvtepu16_epi32(bits));
        let high = both!(_mm256_slli_epi32::<16>(wide));
        both!(_mm256_castsi256_ps(high))
    }

    #[inline(always)]
    fn values(self, floats: [__m256; 2]) -> [f32; ROWS] {
        // SAFETY: both are 64 bytes of plain data.
        unsafe { std::mem::transmute(floats) }
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        crate::x86::prefetch(address);
    }
}

/// Transposes the first four words of eight rows.
///
/// # Safety
/// The CPU has AVX2, and sixteen bytes of every row are readable.
#[inline(always)]
unsafe fn eight_rows(source: *const u8, pitch: usize) -> [__m256i; 4] {
    // SAFETY: the caller guarantees AVX2.
    let mut rows = [unsafe { _mm256_setzero_si256() }; 4];
    for (row, four) in rows.iter_mut().enumerate() {
        let (low, high) = (source.wrapping_add(row * pitch), source.wrapping_add((row + 4) * pitch));
        // SAFETY: the caller guarantees both rows; unaligned loads.
        *four = unsafe { _mm256_loadu2_m128i(high.cast(), low.cast()) };
    }
    let [a, b, c, d] = rows;
    // SAFETY: as above.
    let (low, high) = unsafe { (_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)) };
    // SAFETY: as above.
    let (low_2, high_2) = unsafe { (_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d)) };
    // SAFETY: as above.
    let first = unsafe { [_mm256_unpacklo_epi64(low, low_2), _mm256_unpackhi_epi64(low, low_2)] };
    // SAFETY: as above.
    let last = unsafe { [_mm256_unpacklo_epi64(high, high_2), _mm256_unpackhi_epi64(high, high_2)] };
    [first[0], first[1], last[0], last[1]]
}

/// Reads sixteen 16-bit values.
///
/// # Safety
/// `source` is valid for reading them.
#[inline(always)]
unsafe fn load_sixteen(source: *const u16) -> [__m128i; 2] {
    // SAFETY: the caller guarantees sixteen elements; unaligned loads, and every x86-64 CPU has
    // SSE2.
    let low = unsafe { _mm_loadu_si128(source.cast()) };
    // SAFETY: as above.
    let high = unsafe { _mm_loadu_si128(source.wrapping_add(ROWS / 2).cast()) };
    [low, high]
}

/// The low and the high nibbles of all bytes.
#[inline(always)]
fn split_nibbles(line: __m512i) -> [__m512i; 2] {
    // SAFETY: only code with an AVX-512 token has such a vector.
    let mask = unsafe { _mm512_set1_epi8(0xf) };
    // SAFETY: as above.
    let low = unsafe { _mm512_and_si512(line, mask) };
    // SAFETY: as above.
    let high = unsafe { _mm512_srli_epi16::<4>(line) };
    // SAFETY: as above.
    let high = unsafe { _mm512_and_si512(high, mask) };
    [low, high]
}

/// Sixteen bytes of rows 0, 4, 8 and 12 from `source` on.
///
/// # Safety
/// The CPU has AVX-512, and the rows are readable.
#[inline(always)]
unsafe fn rows_of_sixteen(source: *const u8, pitch: usize) -> __m512i {
    let [a, b, c, d] =
        [source, source.wrapping_add(4 * pitch), source.wrapping_add(8 * pitch), source.wrapping_add(12 * pitch)];
    // SAFETY: the caller guarantees the rows; unaligned loads.
    let low = unsafe { _mm256_loadu2_m128i(b.cast(), a.cast()) };
    // SAFETY: as above.
    let high = unsafe { _mm256_loadu2_m128i(d.cast(), c.cast()) };
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high) }
}

/// Of each four words, adds the first to the third and the second to the fourth; the sums of both
/// operands alternate.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn pairs(a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)) }
}

/// Completes the sums of [`pairs`]: one word remains of each four.
///
/// # Safety
/// The CPU has AVX-512.
#[inline(always)]
unsafe fn pairs_of_words(a: __m512i, b: __m512i) -> __m512i {
    // SAFETY: the caller guarantees AVX-512.
    unsafe { _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b)) }
}

impl Int8 for Vnni {
    type Codes = __m512i;
    type Sums = __m512i;
    type Floats = __m512;
    type Table = __m512i;
    const TOKENS: usize = 16;

    #[inline(always)]
    unsafe fn load(self, source: *const u8) -> __m512i {
        // SAFETY: the caller guarantees a line, the token proves AVX-512; an unaligned load.
        unsafe { _mm512_loadu_si512(source.cast()) }
    }

    #[inline(always)]
    unsafe fn load_rows(self, source: *const u8, pitch: usize) -> [__m512i; 4] {
        // SAFETY: the token proves AVX-512.
        let mut rows = [unsafe { _mm512_setzero_si512() }; 4];
        for (row, four) in rows.iter_mut().enumerate() {
            // SAFETY: the caller guarantees sixteen bytes of every row.
            *four = unsafe { rows_of_sixteen(source.wrapping_add(row * pitch), pitch) };
        }
        let [a, b, c, d] = rows;
        // SAFETY: as above.
        let (low, high) = unsafe { (_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b)) };
        // SAFETY: as above.
        let (low_2, high_2) = unsafe { (_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d)) };
        // SAFETY: as above.
        let first = unsafe { [_mm512_unpacklo_epi64(low, low_2), _mm512_unpackhi_epi64(low, low_2)] };
        // SAFETY: as above.
        let last = unsafe { [_mm512_unpacklo_epi64(high, high_2), _mm512_unpackhi_epi64(high, high_2)] };
        [first[0], first[1], last[0], last[1]]
    }

    #[inline(always)]
    unsafe fn gather_u16(self, source: *const u8, pitch: usize) -> [u16; ROWS] {
        // SAFETY: the token proves AVX-512.
        let places = unsafe {
            let rows = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_mullo_epi32(rows, _mm512_set1_epi32(pitch as i32))
        };
        // SAFETY: the caller guarantees four bytes of every row.
        let words = unsafe { _mm512_i32gather_epi32::<1>(places, source.cast()) };
        // SAFETY: as above; both are 32 bytes of plain data.
        unsafe { std::mem::transmute(_mm512_cvtepi32_epi16(words)) }
    }

    #[inline(always)]
    fn flip_signs(self, line: __m512i) -> __m512i {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_xor_si512(line, _mm512_set1_epi8(-128)) }
    }

    #[inline(always)]
    unsafe fn store(self, target: *mut u8, line: __m512i) {
        // SAFETY: the caller guarantees a line, the token proves AVX-512; an unaligned store.
        unsafe { _mm512_storeu_si512(target.cast(), line) }
    }

    #[inline(always)]
    fn table(self, codes: &[u8; 16]) -> __m512i {
        // SAFETY: an unaligned load of the sixteen bytes of `codes`.
        let table = unsafe { _mm_loadu_si128(codes.as_ptr().cast()) };
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_broadcast_i32x4(table) }
    }

    #[inline(always)]
    fn split_nibbles(self, line: __m512i) -> [__m512i; 2] {
        split_nibbles(line)
    }

    #[inline(always)]
    fn with_high_bits(self, low: __m512i, high: __m512i, at: usize, bits: usize, bias: u8) -> __m512i {
        // Bits of a neighboring byte do not pass the mask. SAFETY: the token proves AVX-512.
        let (mask, bias) =
            unsafe { (_mm512_set1_epi8((((1 << bits) - 1) << 4) as i8), _mm512_set1_epi8(bias.cast_signed())) };
        // SAFETY: every x86-64 CPU has SSE2.
        let count = unsafe { _mm_cvtsi32_si128(at.abs_diff(4) as i32) };
        // SAFETY: the token proves AVX-512.
        let high = unsafe { if at < 4 { _mm512_sll_epi16(high, count) } else { _mm512_srl_epi16(high, count) } };
        // SAFETY: as above.
        unsafe { _mm512_add_epi8(_mm512_or_si512(low, _mm512_and_si512(high, mask)), bias) }
    }

    #[inline(always)]
    fn lookup_nibbles(self, line: __m512i, table: __m512i) -> [__m512i; 2] {
        let [low, high] = split_nibbles(line);
        // SAFETY: the token proves AVX-512.
        let low = unsafe { _mm512_shuffle_epi8(table, low) };
        // SAFETY: as above.
        let high = unsafe { _mm512_shuffle_epi8(table, high) };
        [low, high]
    }

    #[inline(always)]
    fn initial_sums(self, offset: i32) -> __m512i {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_set1_epi32(offset) }
    }

    /// `dpbusd` takes codes as unsigned bytes, which include the added 128; [`Int8::initial_sums`]
    /// subtracts the excess.
    #[inline(always)]
    fn dot(self, sums: __m512i, line: __m512i, x: i32) -> __m512i {
        // SAFETY: the token proves AVX-512.
        let x = unsafe { _mm512_set1_epi32(x) };
        // SAFETY: the token proves VNNI.
        unsafe { _mm512_dpbusd_epi32(sums, line, x) }
    }

    /// One token needs no transposed lines: the products of a row are summed in place, and then the
    /// sums of all rows are transposed.
    #[inline(always)]
    unsafe fn dot_rows<const CENTERED: bool>(
        self,
        source: *const u8,
        pitch: usize,
        nibbles: Option<__m512i>,
        x: *const u8,
        offset: i32,
    ) -> __m512i {
        // SAFETY: the token proves AVX-512.
        let zero = unsafe { _mm512_setzero_si512() };
        let sums = if let Some(table) = nibbles {
            // SAFETY: the caller guarantees 32 activations; unaligned loads.
            let (low_x, high_x) = unsafe { (_mm_loadu_si128(x.cast()), _mm_loadu_si128(x.wrapping_add(16).cast())) };
            // SAFETY: the token proves AVX-512.
            let (low_x, high_x) = unsafe { (_mm512_broadcast_i32x4(low_x), _mm512_broadcast_i32x4(high_x)) };
            let mut products = [zero; 4];
            for (row, products) in products.iter_mut().enumerate() {
                // SAFETY: the caller guarantees sixteen bytes of every row.
                let four = unsafe { rows_of_sixteen(source.wrapping_add(row * pitch), pitch) };
                let [low, high] = if CENTERED { split_nibbles(four) } else { self.lookup_nibbles(four, table) };
                // SAFETY: the token proves VNNI.
                *products = unsafe { _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(zero, low, low_x), high, high_x) };
            }
            // SAFETY: the token proves AVX-512.
            unsafe { pairs_of_words(pairs(products[0], products[1]), pairs(products[2], products[3])) }
        } else {
            // SAFETY: the caller guarantees 32 activations; an unaligned load.
            let x = unsafe { _mm256_loadu_si256(x.cast()) };
            // SAFETY: the token proves AVX-512.
            let x = unsafe { _mm512_broadcast_i64x4(x) };
            let mut products = [zero; 8];
            for (at, products) in products.iter_mut().enumerate() {
                let first = source.wrapping_add((at / 4 * 8 + at % 4) * pitch);
                // SAFETY: the caller guarantees 32 bytes of every row; unaligned loads.
                let low = unsafe { _mm256_loadu_si256(first.cast()) };
                // SAFETY: as above.
                let high = unsafe { _mm256_loadu_si256(first.wrapping_add(4 * pitch).cast()) };
                // SAFETY: the token proves AVX-512.
                let both = unsafe { _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high) };
                // SAFETY: the token proves VNNI.
                *products = unsafe { _mm512_dpbusd_epi32(zero, self.flip_signs(both), x) };
            }
            let [a, b, c, d, e, f, g, h] = products;
            // SAFETY: the token proves AVX-512. Each holds both halves of eight rows, four of them
            // after the other four.
            let (first, last) =
                unsafe { (pairs_of_words(pairs(a, b), pairs(c, d)), pairs_of_words(pairs(e, f), pairs(g, h))) };
            // SAFETY: as above.
            let low = unsafe { _mm512_shuffle_i64x2::<0b10_00_10_00>(first, last) };
            // SAFETY: as above.
            let high = unsafe { _mm512_shuffle_i64x2::<0b11_01_11_01>(first, last) };
            // SAFETY: as above.
            unsafe { _mm512_add_epi32(low, high) }
        };
        // Codes have 128 added; without the table, nibbles have only 8.
        let offset = if CENTERED && nibbles.is_some() { offset / 16 } else { offset };
        // SAFETY: as above.
        unsafe { _mm512_add_epi32(sums, self.initial_sums(offset)) }
    }

    #[inline(always)]
    unsafe fn load_sums(self, source: *const i32) -> __m512i {
        // SAFETY: the caller guarantees sixteen numbers, as many bytes as a line.
        unsafe { self.load(source.cast()) }
    }

    #[inline(always)]
    fn floats(self, sums: __m512i) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_cvtepi32_ps(sums) }
    }

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    unsafe fn load_f32(self, source: *const f32) -> __m512 {
        // SAFETY: the caller guarantees sixteen elements; an unaligned load.
        unsafe { _mm512_loadu_ps(source) }
    }

    #[inline(always)]
    unsafe fn load_f16(self, source: *const u16) -> __m512 {
        // SAFETY: the caller guarantees sixteen elements; an unaligned load.
        let bits = unsafe { _mm256_loadu_si256(source.cast()) };
        // SAFETY: the token proves AVX-512.
        unsafe { _mm512_cvtph_ps(bits) }
    }

    #[inline(always)]
    unsafe fn load_bf16(self, source: *const u16) -> __m512 {
        // SAFETY: the caller guarantees sixteen elements; an unaligned load.
        let bits = unsafe { _mm256_loadu_si256(source.cast()) };
        // SAFETY: the token proves AVX-512.
        let wide = unsafe { _mm512_cvtepu16_epi32(bits) };
        // SAFETY: as above.
        let high = unsafe { _mm512_slli_epi32::<16>(wide) };
        // SAFETY: as above.
        unsafe { _mm512_castsi512_ps(high) }
    }

    #[inline(always)]
    fn values(self, floats: __m512) -> [f32; ROWS] {
        // SAFETY: both are 64 bytes of plain data.
        unsafe { std::mem::transmute(floats) }
    }

    #[inline(always)]
    fn prefetch(self, address: *const u8) {
        crate::x86::prefetch(address);
    }
}
