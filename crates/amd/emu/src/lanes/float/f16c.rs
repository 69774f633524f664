//! Conversion of eight f16 to f32 and back, at each level.

#![expect(unsafe_code, reason = "vectors are loaded from and stored to arrays")]

/// Portable.
pub(super) mod base {
    use half::f16;

    use crate::lanes::rounding::{narrow16_by, widen16};
    use crate::mode::RoundingMode;
    use crate::row::{CHUNK, each};

    /// Converts the f16 in the lower halves of words; NaN becomes quiet.
    #[inline(always)]
    pub(in super::super) fn widen(bits: [u32; CHUNK]) -> [f32; CHUNK] {
        each!(lane => widen16(f16::from_bits(bits[lane] as u16)))
    }

    /// Converts to f16 in the lower halves of words (the upper halves are zero); NaN becomes quiet.
    #[inline(always)]
    pub(in super::super) fn narrow(values: [f32; CHUNK], round: RoundingMode) -> [u32; CHUNK] {
        each!(lane => u32::from(narrow16_by(values[lane], round).to_bits()))
    }
}

/// x86-64 with AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256i, _MM_FROUND_TO_NEAREST_INT, _MM_FROUND_TO_NEG_INF, _MM_FROUND_TO_POS_INF, _MM_FROUND_TO_ZERO,
        _mm_packus_epi32, _mm256_and_si256, _mm256_castsi256_si128, _mm256_cvtepu16_epi32, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_set1_epi32,
        _mm256_storeu_ps, _mm256_storeu_si256,
    };

    use crate::mode::RoundingMode;
    use crate::row::CHUNK;

    /// Converts the f16 in the lower halves of words; NaN becomes quiet.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in super::super) fn widen(bits: [u32; CHUNK]) -> [f32; CHUNK] {
        // SAFETY: the array has the 32 bytes of the register.
        let words = unsafe { _mm256_loadu_si256(bits.as_ptr().cast::<__m256i>()) };
        let words = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
        let halves = _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        let wide = _mm256_cvtph_ps(halves);
        let mut values = [0.0; CHUNK];
        // SAFETY: the array has the 32 bytes of the register.
        unsafe { _mm256_storeu_ps(values.as_mut_ptr(), wide) };
        values
    }

    /// Converts to f16 in the lower halves of words (the upper halves are zero); NaN becomes quiet.
    #[inline]
    #[target_feature(enable = "avx2,fma,f16c")]
    pub(in super::super) fn narrow(values: [f32; CHUNK], round: RoundingMode) -> [u32; CHUNK] {
        // SAFETY: the array has the 32 bytes of the register.
        let values = unsafe { _mm256_loadu_ps(values.as_ptr()) };
        let halves = match round {
            RoundingMode::Nearest => _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values),
            RoundingMode::Up => _mm256_cvtps_ph::<_MM_FROUND_TO_POS_INF>(values),
            RoundingMode::Down => _mm256_cvtps_ph::<_MM_FROUND_TO_NEG_INF>(values),
            RoundingMode::Zero => _mm256_cvtps_ph::<_MM_FROUND_TO_ZERO>(values),
        };
        let words = _mm256_cvtepu16_epi32(halves);
        let mut bits = [0; CHUNK];
        // SAFETY: the array has the 32 bytes of the register.
        unsafe { _mm256_storeu_si256(bits.as_mut_ptr().cast::<__m256i>(), words) };
        bits
    }
}

/// Other architectures have only the portable level.
#[cfg(not(target_arch = "x86_64"))]
pub(super) use base as avx2;
