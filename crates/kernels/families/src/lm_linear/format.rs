//! Memory layouts of weight matrices.

/// Memory layout of a weight matrix: groups of 32 columns, rows padded to whole groups.
///
/// Codes and scales are separate. Four-bit codes are packed as in a Q4_0 block: the low nibbles of
/// the bytes are the first 16 columns, the high nibbles the last 16. A weight is `scale * code +
/// offset`.
///
/// The formats from [`Self::Q50`] on are compact: they keep the name, the bits and the scales of a
/// GGUF type. `lm_weights_compact.wgsl` lists them in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum WeightFormat {
    /// f32; no scales.
    F32 = 0,
    /// f16; no scales.
    F16 = 1,
    /// bf16; no scales.
    Bf16 = 2,
    /// Four bits; one f16 scale per group and an implicit offset of -8 scales.
    Q4 = 3,
    /// Four bits; per group one word with an f16 scale and an f16 offset.
    Q4Affine = 4,
    /// Four-bit indices into E2M1 values, doubled; one f16 scale per 16 columns.
    Nvfp4 = 5,
    /// Four-bit indices into the IQ4_NL codebook; one f16 scale per group.
    Q4Nl = 6,
    /// Four-bit indices into E2M1 values, doubled; one exponent byte per group.
    Q4E2m1 = 7,
    /// Signed bytes; one f16 scale per group.
    Q8 = 8,
    /// The codes of [`Self::Q4Nl`]; one f16 scale per eight groups, multiplied by a 6-bit scale per
    /// group.
    Iq4Xs = 9,
    /// Four bits; five words per eight groups: an f16 scale and an f16 minimum, then per group a
    /// byte that multiplies the scale and one that multiplies the minimum, which is subtracted.
    Q4Superblock = 10,
    /// Q5_0.
    Q50 = 11,
    /// Q5_1.
    Q51 = 12,
    /// Q5_K.
    Q5K = 13,
    /// Q6_K.
    Q6K = 14,
    /// Q2_K.
    Q2K = 15,
    /// Q3_K.
    Q3K = 16,
    /// TQ2_0; also TQ1_0, converted to two bits per value.
    Tq20 = 17,
    /// Q2_0.
    Q20 = 18,
    /// Q1_0.
    Q10 = 19,
    /// IQ1_S.
    Iq1S = 20,
    /// IQ1_M.
    Iq1M = 21,
    /// IQ2_XXS.
    Iq2Xxs = 22,
    /// IQ2_XS.
    Iq2Xs = 23,
    /// IQ2_S.
    Iq2S = 24,
    /// IQ3_XXS.
    Iq3Xxs = 25,
    /// IQ3_S.
    Iq3S = 26,
}

impl WeightFormat {
    /// All formats.
    pub const ALL: [Self; 27] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4,
        Self::Q4Affine,
        Self::Nvfp4,
        Self::Q4Nl,
        Self::Q4E2m1,
        Self::Q8,
        Self::Iq4Xs,
        Self::Q4Superblock,
        Self::Q50,
        Self::Q51,
        Self::Q5K,
        Self::Q6K,
        Self::Q2K,
        Self::Q3K,
        Self::Tq20,
        Self::Q20,
        Self::Q10,
        Self::Iq1S,
        Self::Iq1M,
        Self::Iq2Xxs,
        Self::Iq2Xs,
        Self::Iq2S,
        Self::Iq3Xxs,
        Self::Iq3S,
    ];

    /// The suffix in kernel names.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Q4 => "q4",
            Self::Q4Affine => "q4_affine",
            Self::Nvfp4 => "nvfp4",
            Self::Q4Nl => "q4_nl",
            Self::Q4E2m1 => "q4_e2m1",
            Self::Q8 => "q8",
            Self::Iq4Xs => "iq4_xs",
            Self::Q4Superblock => "q4_superblock",
            Self::Q50 => "q5_0",
            Self::Q51 => "q5_1",
            Self::Q5K => "q5_k",
            Self::Q6K => "q6_k",
            Self::Q2K => "q2_k",
            Self::Q3K => "q3_k",
            Self::Tq20 => "tq2_0",
            Self::Q20 => "q2_0",
            Self::Q10 => "q1_0",
            Self::Iq1S => "iq1_s",
            Self::Iq1M => "iq1_m",
            Self::Iq2Xxs => "iq2_xxs",
            Self::Iq2Xs => "iq2_xs",
            Self::Iq2S => "iq2_s",
            Self::Iq3Xxs => "iq3_xxs",
            Self::Iq3S => "iq3_s",
        }
    }

    /// Whether codes are integers or indices of integers, which `lm_matvec_i8_*` multiplies as
    /// int8.
    pub fn is_whole(self) -> bool {
        !self.is_float()
    }

    /// Whether weights are stored as floats, without scales.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Whether the format is one of `lm_weights_compact.wgsl`.
    pub fn is_compact(self) -> bool {
        self as u32 >= Self::Q50 as u32
    }

    /// Whether codes have four bits and the codes of a group fill whole `uvec4`s.
    pub fn has_nibbles(self) -> bool {
        !self.is_float() && !self.is_compact() && self != Self::Q8
    }

    /// Whether kernels on matrix units exist for the format. F32 and BF16 have a greater range than
    /// the f16 of matrix units; language models store matrices in the range of f16 as F16.
    pub fn has_coopmat(self) -> bool {
        !matches!(self, Self::F32 | Self::Bf16)
    }

    /// Whether a large tile of `lm_matmul_coopmat_*` leaves the compiler of AMD's RDNA3 enough
    /// registers to decode the format: the accumulators of the tile take half of them.
    pub fn fits_large_tile(self) -> bool {
        use WeightFormat as W;
        !matches!(self, W::F32 | W::Bf16 | W::Nvfp4 | W::Q4Nl | W::Q4E2m1 | W::Iq4Xs | W::Q6K | W::Iq1M)
    }

    /// Whether codes are integers or indices of integers, which `lm_matvec8_i8_*` multiplies as
    /// int8.
    pub fn has_matvec8_i8(self) -> bool {
        !self.is_float()
    }

    /// Bytes of codes per group.
    pub fn code_bytes(self) -> usize {
        match self {
            Self::F32 => 128,
            Self::F16 | Self::Bf16 => 64,
            Self::Q8 => 32,
            Self::Q50 | Self::Q51 | Self::Q5K => 20,
            Self::Q6K => 24,
            Self::Q3K | Self::Iq3Xxs | Self::Iq3S => 12,
            Self::Q2K | Self::Tq20 | Self::Q20 | Self::Iq2Xxs | Self::Iq2Xs | Self::Iq2S => 8,
            Self::Q10 | Self::Iq1S | Self::Iq1M => 4,
            Self::Q4 | Self::Q4Affine | Self::Nvfp4 | Self::Q4Nl | Self::Q4E2m1 | Self::Iq4Xs | Self::Q4Superblock => {
                16
            }
        }
    }

    /// Bytes of scales for `groups` groups.
    pub fn scale_bytes(self, groups: usize) -> usize {
        let superblock = match self {
            Self::F32 | Self::F16 | Self::Bf16 => return 0,
            Self::Q4E2m1 => return groups,
            Self::Q4 | Self::Q8 | Self::Q4Nl | Self::Q50 => return 2 * groups,
            Self::Q4Affine | Self::Nvfp4 | Self::Q51 => return 4 * groups,
            Self::Q20 => return groups.div_ceil(2) * 2,
            Self::Q10 => return groups.div_ceil(4) * 2,
            Self::Q4Superblock | Self::Q5K | Self::Q2K => 20,
            Self::Iq4Xs => 8,
            Self::Q6K | Self::Iq1S | Self::Iq2S => 18,
            Self::Q3K | Self::Iq3S => 14,
            Self::Tq20 | Self::Iq2Xxs | Self::Iq3Xxs => 2,
            Self::Iq1M => 24,
            Self::Iq2Xs => 10,
        };
        groups.div_ceil(8) * superblock
    }

    /// Words of the grid before the scales; 0 for formats without a grid.
    pub fn grid_words(self) -> usize {
        match self {
            Self::Iq1S | Self::Iq1M => 1024,
            Self::Iq2S | Self::Iq3S => 512,
            Self::Iq2Xs | Self::Iq3Xxs => 256,
            Self::Iq2Xxs => 128,
            _ => 0,
        }
    }
}
