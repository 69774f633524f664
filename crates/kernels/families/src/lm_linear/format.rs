//! Memory layouts of weight matrices.

/// Memory layout of a weight matrix: groups of 32 columns, rows padded to whole groups.
///
/// Four-bit codes are packed as in a Q4_0 block: the low nibbles of the bytes are the first 16
/// columns, the high nibbles the last 16. A weight is `scale * code + offset`.
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
    /// Four bits; the scale and offset word of [`Self::Q4Affine`] per 16 columns.
    Q4Affine16 = 5,
    /// Four-bit indices into the IQ4_NL codebook; one f32 scale per group.
    Q4Nl = 6,
    /// Four-bit indices into E2M1 values, doubled; one f32 scale per group.
    Q4E2m1 = 7,
    /// Signed bytes; one f16 scale per group.
    Q8 = 8,
    /// Signed bytes; a word with an f16 scale and an f16 offset per 16 columns.
    Q8Affine16 = 9,
    /// Four bits; five words per eight groups: an f16 scale and an f16 minimum, then per group a
    /// byte that multiplies the scale and one that multiplies the minimum, which is subtracted.
    Q4Superblock = 10,
    /// Signed bytes; per group two words with an f32 scale and an f32 offset.
    Q8Affine = 11,
}

impl WeightFormat {
    /// All formats.
    pub const ALL: [Self; 12] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4,
        Self::Q4Affine,
        Self::Q4Affine16,
        Self::Q4Nl,
        Self::Q4E2m1,
        Self::Q8,
        Self::Q8Affine16,
        Self::Q4Superblock,
        Self::Q8Affine,
    ];

    /// The suffix in kernel names.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Q4 => "q4",
            Self::Q4Affine => "q4_affine",
            Self::Q4Affine16 => "q4_affine16",
            Self::Q4Nl => "q4_nl",
            Self::Q4E2m1 => "q4_e2m1",
            Self::Q8 => "q8",
            Self::Q8Affine16 => "q8_affine16",
            Self::Q4Superblock => "q4_superblock",
            Self::Q8Affine => "q8_affine",
        }
    }

    /// Whether codes are integers, which `lm_matvec_i8_*` multiplies as int8.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16 | Self::Q4Nl | Self::Q4E2m1)
    }

    /// Whether weights are stored as floats, without scales.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Whether a `lm_matmul_coopmat_*` kernel exists for the format.
    pub fn has_coopmat(self) -> bool {
        self == Self::F16 || self.is_whole()
    }

    /// Whether a `lm_matmul_coopmat32_*` kernel exists for the format. F32 and BF16 have a greater
    /// range than the f16 of matrix units.
    pub fn has_coopmat32(self) -> bool {
        !matches!(self, Self::F32 | Self::Bf16)
    }

    /// Whether codes are integers or stand for integers, which `lm_matvec8_i8_*` multiplies as
    /// int8.
    pub fn has_matvec8_i8(self) -> bool {
        !self.is_float()
    }

    /// Bytes of codes per group.
    pub fn code_bytes(self) -> usize {
        match self {
            Self::F32 => 128,
            Self::F16 | Self::Bf16 => 64,
            Self::Q8 | Self::Q8Affine16 | Self::Q8Affine => 32,
            _ => 16,
        }
    }

    /// Bytes of scales for `groups` groups.
    pub fn scale_bytes(self, groups: usize) -> usize {
        let each = match self {
            Self::Q4Superblock => return groups.div_ceil(8) * 20,
            Self::F32 | Self::F16 | Self::Bf16 => 0,
            Self::Q4 | Self::Q8 => 2,
            Self::Q4Affine | Self::Q4Nl | Self::Q4E2m1 => 4,
            Self::Q4Affine16 | Self::Q8Affine16 | Self::Q8Affine => 8,
        };
        each * groups
    }
}
