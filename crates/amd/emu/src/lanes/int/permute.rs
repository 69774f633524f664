//! `v_perm_b32`: selects bytes from two registers. Compilers pack and unpack with it.
//!
//! A selector byte of 0 to 3 selects a byte of the second source, 4 to 7 of the first, 8 to 11 the
//! replicated sign of byte 1, 3, 5 or 7, 12 zero, and any greater value 0xff.

use crate::lanes::{LaneFunction, LaneOp, Levels, MapFn};
use crate::mode::Mode;
use crate::row::{CHUNK, CHUNKS, OperandKind, Rows};

/// Portable.
mod base {
    use super::CHUNK;
    use crate::row::each;

    /// The byte selected by selector byte `index`, at its position.
    #[inline(always)]
    fn pick(high: u32, low: u32, selector: u32, index: u32) -> u32 {
        let choice = selector >> (8 * index) & 0xff;
        let bytes = u64::from(high) << 32 | u64::from(low);
        let byte = match choice {
            0..8 => (bytes >> (8 * choice)) as u32 & 0xff,
            8..12 => ((bytes >> (16 * (choice - 8) + 15)) as u32 & 1) * 0xff,
            12 => 0,
            _ => 0xff,
        };
        byte << (8 * index)
    }

    /// Permutes eight lanes.
    #[inline(always)]
    pub(super) fn permute(a: [u32; CHUNK], b: [u32; CHUNK], s: [u32; CHUNK]) -> [u32; CHUNK] {
        each!(lane => {
            let (a, b, s) = (a[lane], b[lane], s[lane]);
            pick(a, b, s, 0) | pick(a, b, s, 1) | pick(a, b, s, 2) | pick(a, b, s, 3)
        })
    }
}

/// x86-64 with AVX2, which has a byte permutation.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        _mm256_add_epi8, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_max_epu8,
        _mm256_set_epi32, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi16,
        _mm256_slli_epi32, _mm256_xor_si256,
    };

    use super::CHUNK;
    use crate::lanes::int::pairs::avx2::{load, store};

    /// Permutes eight lanes.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(super) fn permute(a: [u32; CHUNK], b: [u32; CHUNK], s: [u32; CHUNK]) -> [u32; CHUNK] {
        let (high, low, choice) = (load(a), load(b), load(s));
        // Offset of each byte's lane in its half of the register.
        let start =
            _mm256_set_epi32(0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0, 0x0c0c_0c0c, 0x0808_0808, 0x0404_0404, 0);
        // The highest bit of a byte controls a blend: move bits 2 and 1 of the selector there.
        let plain = _mm256_add_epi8(_mm256_and_si256(choice, _mm256_set1_epi8(3)), start);
        let plain = _mm256_blendv_epi8(
            _mm256_shuffle_epi8(low, plain),
            _mm256_shuffle_epi8(high, plain),
            _mm256_slli_epi32::<5>(choice),
        );
        let one = _mm256_set1_epi8(1);
        let odd = _mm256_slli_epi16::<1>(_mm256_and_si256(choice, one));
        let odd = _mm256_add_epi8(_mm256_add_epi8(odd, one), start);
        let signed = _mm256_blendv_epi8(
            _mm256_shuffle_epi8(low, odd),
            _mm256_shuffle_epi8(high, odd),
            _mm256_slli_epi32::<6>(choice),
        );
        let sign = _mm256_cmpgt_epi8(_mm256_setzero_si256(), signed);
        let twelve = _mm256_set1_epi8(12);
        let constant = _mm256_xor_si256(_mm256_cmpeq_epi8(choice, twelve), _mm256_set1_epi8(-1));
        let eight = _mm256_set1_epi8(8);
        let picked = _mm256_blendv_epi8(plain, sign, _mm256_cmpeq_epi8(_mm256_max_epu8(choice, eight), choice));
        let above = _mm256_cmpeq_epi8(_mm256_max_epu8(choice, twelve), choice);
        store(_mm256_blendv_epi8(picked, constant, above))
    }
}

/// Other architectures have only the portable level.
#[cfg(not(target_arch = "x86_64"))]
use base as avx2;

/// The function of a level.
macro_rules! level {
    ($level:ident $(, $feature:literal)?) => {{
        $(#[cfg_attr(target_arch = "x86_64", target_feature(enable = $feature))])?
        unsafe fn run(_mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, selector: Rows<'_>) {
            for chunk in 0..CHUNKS {
                // SAFETY: by contract every operand has a row.
                let a = unsafe { a.chunk(0, chunk) };
                // SAFETY: as above.
                let b = unsafe { b.chunk(0, chunk) };
                // SAFETY: as above.
                let selector = unsafe { selector.chunk(0, chunk) };
                // SAFETY: as above.
                unsafe { out.set_chunk(0, chunk, $level::permute(a, b, selector)) };
            }
        }
        run as MapFn
    }};
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    let op = LaneOp {
        function: LaneFunction::Map(Levels { base: level!(base), avx2: level!(avx2, "avx2,fma,f16c") }),
        special_mode: None,
        saturating: None,
        sources: [OperandKind::B32; 3],
        result: OperandKind::B32,
        accumulates: false,
    };
    vec![("v_perm_b32", op)]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::check;

    #[test]
    fn permutations_pick_bytes_signs_and_constants() {
        let (high, low) = (0x8877_6655, 0x4433_2211);
        check(&[
            ("v_perm_b32", &[high, low, 0x0706_0504], high),
            ("v_perm_b32", &[high, low, 0x0302_0100], low),
            ("v_perm_b32", &[high, low, 0x0007_0403], 0x1188_5544),
            ("v_perm_b32", &[high, low, 0xff0d_0c00], 0xffff_0011),
            ("v_perm_b32", &[high, low, 0x0b0a_0908], 0xff00_0000),
            ("v_perm_b32", &[0x7f00_8000, 0x8000_7fff, 0x0b0a_0908], 0x00ff_ff00),
        ]);
    }

    /// Every selector at every position, against bytes selected by definition.
    #[test]
    fn every_selector() {
        for (high, low) in [(0x8877_e655_u32, 0xc433_2211_u32), (0x7f66_5544, 0x3322_9100)] {
            let bytes: Vec<u8> = low.to_le_bytes().into_iter().chain(high.to_le_bytes()).collect();
            for choice in 0..=255_u8 {
                let byte = match choice {
                    0..8 => bytes[usize::from(choice)],
                    8..12 if bytes[usize::from(choice - 8) * 2 + 1] < 0x80 => 0,
                    12 => 0,
                    _ => 0xff,
                };
                let expected = u32::from_le_bytes([byte; 4]);
                let selector = u32::from_le_bytes([choice; 4]);
                check(&[("v_perm_b32", &[high.into(), low.into(), selector.into()], expected.into())]);
            }
        }
    }
}
