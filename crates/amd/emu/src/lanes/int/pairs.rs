//! Pairs of 16-bit integers in eight registers, from which dot products are built.

/// Portable.
pub(super) mod base {
    use crate::row::{CHUNK, each};

    /// Dot product of two pairs in each lane.
    #[inline(always)]
    pub(in crate::lanes::int) fn dot(a: [u32; CHUNK], b: [u32; CHUNK]) -> [i32; CHUNK] {
        each!(lane => {
            let low = i32::from(a[lane] as i16) * i32::from(b[lane] as i16);
            let high = (a[lane].cast_signed() >> 16) * (b[lane].cast_signed() >> 16);
            low.wrapping_add(high)
        })
    }

    /// Extracts the element at this position of both halves of each lane, widened to 16 bits.
    #[inline(always)]
    pub(in crate::lanes::int) fn widen<const BITS: u32, const SIGNED: bool>(
        bits: [u32; CHUNK],
        position: u32,
    ) -> [u32; CHUNK] {
        let shift = 16 - BITS * (position + 1);
        each!(lane => {
            let (low, high) = (bits[lane] << shift << 16, bits[lane] >> 16 << shift << 16);
            if SIGNED {
                let [low, high] = [low.cast_signed() >> (32 - BITS), high.cast_signed() >> (32 - BITS)];
                low.cast_unsigned() & 0xffff | high.cast_unsigned() << 16
            } else {
                low >> (32 - BITS) | high >> (32 - BITS) << 16
            }
        })
    }
}

/// x86-64 with AVX2, which has instructions for 16-bit lanes.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_cvtsi32_si128, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_sll_epi16, _mm256_sra_epi16,
        _mm256_srl_epi16, _mm256_storeu_si256,
    };

    use crate::row::{CHUNK, each};

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in crate::lanes::int) fn load(words: [u32; CHUNK]) -> __m256i {
        // SAFETY: the array has the 32 bytes of the register.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in crate::lanes::int) fn store(register: __m256i) -> [u32; CHUNK] {
        let mut words = [0; CHUNK];
        // SAFETY: the array has the 32 bytes of the register.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), register) };
        words
    }

    /// Dot product of two pairs in each lane.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in crate::lanes::int) fn dot(a: [u32; CHUNK], b: [u32; CHUNK]) -> [i32; CHUNK] {
        let sums = store(_mm256_madd_epi16(load(a), load(b)));
        each!(lane => sums[lane].cast_signed())
    }

    /// Extracts the element at this position of both halves of each lane, widened to 16 bits.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in crate::lanes::int) fn widen<const BITS: u32, const SIGNED: bool>(
        bits: [u32; CHUNK],
        position: u32,
    ) -> [u32; CHUNK] {
        let shift = _mm_cvtsi32_si128((16 - BITS * (position + 1)).cast_signed());
        let right = _mm_cvtsi32_si128((16 - BITS).cast_signed());
        let top = _mm256_sll_epi16(load(bits), shift);
        store(if SIGNED { _mm256_sra_epi16(top, right) } else { _mm256_srl_epi16(top, right) })
    }
}

/// Other architectures have only the portable level.
#[cfg(not(target_arch = "x86_64"))]
pub(super) use base as avx2;
