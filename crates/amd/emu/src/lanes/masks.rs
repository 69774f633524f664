//! Converts masks of eight lanes between one bit per lane and one word per lane.

/// Portable.
pub(crate) mod base {
    use crate::row::{CHUNK, each};

    /// One bit per word.
    #[inline(always)]
    pub(crate) fn gather(words: [u32; CHUNK]) -> u32 {
        let mut mask = 0;
        for (lane, word) in words.into_iter().enumerate() {
            mask |= (word & 1) << lane;
        }
        mask
    }

    /// Expands each bit to a word: all ones if it is set, else 0.
    #[inline(always)]
    pub(crate) fn spread(mask: u32) -> [u32; CHUNK] {
        each!(lane => mask & 1 << lane)
    }
}

/// x86-64 with AVX2.
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx2 {
    use std::arch::x86_64::{
        _mm256_and_si256, _mm256_cmpeq_epi32, _mm256_loadu_ps, _mm256_movemask_ps, _mm256_set_epi32, _mm256_set1_epi32,
        _mm256_storeu_si256,
    };

    use crate::row::CHUNK;

    /// One bit per word.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn gather(words: [u32; CHUNK]) -> u32 {
        // SAFETY: the array has the 32 bytes of the register.
        let register = unsafe { _mm256_loadu_ps(words.as_ptr().cast()) };
        _mm256_movemask_ps(register).cast_unsigned()
    }

    /// Expands each bit to a word: all ones if it is set, else 0.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(crate) fn spread(mask: u32) -> [u32; CHUNK] {
        let bits = _mm256_set_epi32(0x80, 0x40, 0x20, 0x10, 8, 4, 2, 1);
        let taken = _mm256_and_si256(_mm256_set1_epi32(mask.cast_signed()), bits);
        let spread = _mm256_cmpeq_epi32(taken, bits);
        let mut words = [0; CHUNK];
        // SAFETY: the array has the 32 bytes of the register.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), spread) };
        words
    }
}

/// Other architectures have only the portable level.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use base as avx2;
