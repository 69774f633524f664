//! Products with weights.

use bytemuck::{Pod, Zeroable};

use crate::params::Params;

/// How the weights of a matrix lie in memory: groups of 32 columns, rows padded to whole groups.
///
/// Codes of four bits lie as in a block of Q4_0: of each byte, the low half belongs to the first 16 columns and the high half to the
/// last 16. A weight is `scale * code + offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum WeightFormat {
    /// 32-bit floats; no scales.
    F32 = 0,
    /// 16-bit floats; no scales.
    F16 = 1,
    /// The upper halves of 32-bit floats; no scales.
    Bf16 = 2,
    /// Four bits, a 16-bit scale for each group, an offset of -8 scales.
    Q4 = 3,
    /// Four bits, a word for each group: scale and offset as 16-bit floats.
    Q4Pairs = 4,
    /// Four bits, such a word for each half of a group.
    Q4Halves = 5,
    /// Four bits that stand for the values of IQ4_NL, a 32-bit scale for each group.
    Q4Curve = 6,
    /// Four bits that stand for twice the values of E2M1, a 32-bit scale for each group.
    Q4Float = 7,
    /// Signed bytes, a 16-bit scale for each group.
    Q8 = 8,
    /// Signed bytes, a word for each half of a group: scale and offset as 16-bit floats.
    Q8Halves = 9,
    /// Four bits; for each eight groups five words: scale and least value as 16-bit floats, then for each group a byte by which the scale is
    /// multiplied, and one for the least value, which is taken off.
    Q4Super = 10,
    /// Signed bytes, two words for each group: scale and offset as 32-bit floats.
    Q8Wide = 11,
}

impl WeightFormat {
    /// All formats.
    pub const ALL: [Self; 12] = [
        Self::F32,
        Self::F16,
        Self::Bf16,
        Self::Q4,
        Self::Q4Pairs,
        Self::Q4Halves,
        Self::Q4Curve,
        Self::Q4Float,
        Self::Q8,
        Self::Q8Halves,
        Self::Q4Super,
        Self::Q8Wide,
    ];

    /// As it stands in the names of kernels.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Q4 => "q4",
            Self::Q4Pairs => "q4_pairs",
            Self::Q4Halves => "q4_halves",
            Self::Q4Curve => "q4_curve",
            Self::Q4Float => "q4_float",
            Self::Q8 => "q8",
            Self::Q8Halves => "q8_halves",
            Self::Q4Super => "q4_super",
            Self::Q8Wide => "q8_wide",
        }
    }

    /// Whether codes are whole numbers, which `lm_dot_*` can multiply as bytes.
    pub fn is_whole(self) -> bool {
        !matches!(self, Self::F32 | Self::F16 | Self::Bf16 | Self::Q4Curve | Self::Q4Float)
    }

    /// Whether codes are numbers themselves.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F32 | Self::F16 | Self::Bf16)
    }

    /// Whether there is a `lm_matrix_*` for it.
    pub fn has_matrix(self) -> bool {
        self == Self::F16 || self.is_whole()
    }

    /// Bytes of the codes of a group.
    pub fn code_bytes(self) -> usize {
        match self {
            Self::F32 => 128,
            Self::F16 | Self::Bf16 => 64,
            Self::Q8 | Self::Q8Halves | Self::Q8Wide => 32,
            _ => 16,
        }
    }

    /// Bytes of the scales of so many groups.
    pub fn scale_bytes(self, groups: usize) -> usize {
        let each = match self {
            Self::Q4Super => return groups.div_ceil(8) * 20,
            Self::F32 | Self::F16 | Self::Bf16 => 0,
            Self::Q4 | Self::Q8 => 2,
            Self::Q4Pairs | Self::Q4Curve | Self::Q4Float => 4,
            Self::Q4Halves | Self::Q8Halves | Self::Q8Wide => 8,
        };
        each * groups
    }
}

/// `lm_embed_*`: `y[t, c] = weight[inputs[first + t], c] * factor`, of the formats that it loses nothing of.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmEmbed {
    /// Tokens.
    pub tokens: u32,
    /// Columns, a multiple of 32.
    pub columns: u32,
    /// Rows of the matrix.
    pub rows: u32,
    /// The word at which tokens' numbers begin.
    pub first: u32,
    /// Floats between rows of `y`, a multiple of 4; there are zeros behind the columns.
    pub y_stride: u32,
    /// What they are multiplied with.
    pub factor: f32,
}

impl LmEmbed {
    /// The kernel for matrices of a format.
    pub fn kernel(format: WeightFormat) -> Option<&'static str> {
        Some(match format {
            WeightFormat::F32 => "lm_embed_f32",
            WeightFormat::F16 => "lm_embed_f16",
            WeightFormat::Bf16 => "lm_embed_bf16",
            WeightFormat::Q4 => "lm_embed_q4",
            WeightFormat::Q8 => "lm_embed_q8",
            _ => return None,
        })
    }
}

impl Params for LmEmbed {
    fn grid(&self) -> [u32; 3] {
        [self.y_stride.div_ceil(1024), self.tokens, 1]
    }
}

/// `lm_matvec_*`, `lm_dot_*`, `lm_matmul_*`, `lm_matrix_*`: `y[t, r] = sum over c of weight[r, c] * x[t, c]`. `lm_matrix_*` reads `x` as 16-bit floats,
/// two to a word; `lm_dot_*` rounds it to bytes with a scale for each 32 columns.
///
/// With [`experts`](Self::experts) set, "token" is a pair of a token and one of its experts: pair `p` reads row
/// `p / sharing` of `x` and multiplies by the matrix of expert `experts[p]`, which begins at row `experts[p] * rows`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmLinear {
    /// Rows of the matrix, two for each result with [`Self::GATE`].
    pub rows: u32,
    /// Columns, a multiple of 32.
    pub columns: u32,
    /// Rows of the batch.
    pub tokens: u32,
    /// Floats between rows of `x`, a multiple of 4; there are zeros between the model's columns and the padded ones.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// The first float of a row of `y` that is written.
    pub y_offset: u32,
    /// Sum of [`Self::ADD`], [`Self::BIAS`] and one of [`Self::SILU`] and [`Self::GELU`].
    pub flags: u32,
    /// How many experts there are; 0 for a matrix that all tokens share.
    pub experts: u32,
    /// Pairs that share a row of `x`. For `lm_matrix_*`, parts into which columns are split: each writes a row of its own, those of a token follow each other,
    /// and there are no flags but with one part.
    pub sharing: u32,
    /// With [`Self::NORM`], the columns of the mean square: those without the padding.
    pub model_columns: u32,
    /// With [`Self::NORM`], added to the mean square.
    pub epsilon: f32,
}

impl LmLinear {
    /// Adds to what is in `y`.
    pub const ADD: u32 = 1;
    /// Adds `bias[row]`.
    pub const BIAS: u32 = 2;
    /// Rows `2 i` and `2 i + 1` give one result: the first through silu, times the second.
    pub const SILU: u32 = 4;
    /// The same by gelu, in its form with tanh.
    pub const GELU: u32 = 8;
    /// Either.
    pub const GATE: u32 = 12;
    /// With [`Self::GATE`], `y` is 16-bit floats, two to a word; `y_stride` and `y_offset` count words. Only `lm_matrix_*` does that.
    pub const PACKED: u32 = 32;
    /// `x` is normed first: divided by the root of its mean square, and multiplied by `norm`. Only `lm_matvec_*` does that.
    pub const NORM: u32 = 16;
    /// Workgroups in a row at most: each brings `x` to its memory, which many rows should share.
    const MOST_GROUPS: u32 = 512;
    /// Workgroups that a large GPU runs all at once.
    const AT_ONCE: u32 = 768;
    /// Rows that a workgroup of `lm_matvec_*` computes.
    pub const VECTOR_ROWS: u32 = 8;
    /// Rows and tokens of the tile of a workgroup of `lm_matmul_*`.
    pub const TILE: u32 = 64;
    /// Rows and tokens of the tile of a workgroup of `lm_matrix_*`.
    pub const MATRIX_TILE: u32 = 128;
    /// The most parts into which columns are split.
    pub const MATRIX_PARTS: u32 = 5;
    /// What columns must be a multiple of for `lm_matrix_*`.
    pub const MATRIX_STEP: u32 = 64;

    /// Workgroups of `lm_matvec_*`; `together` is how many tokens its variant takes at once.
    pub fn vector_grid(&self, together: u32) -> [u32; 3] {
        [self.groups(Self::MOST_GROUPS), self.tokens.div_ceil(together), 1]
    }

    /// Workgroups of those `lm_matvec_*` whose weights are floats: they bring nothing to their memory, so that there may be some more.
    pub fn plain_grid(&self) -> [u32; 3] {
        let most = if self.rows <= Self::VECTOR_ROWS * Self::AT_ONCE { Self::AT_ONCE } else { Self::MOST_GROUPS };
        [self.groups(most), self.tokens, 1]
    }

    /// Workgroups that have about as many rows each.
    fn groups(&self, most: u32) -> u32 {
        let tiles = self.rows.div_ceil(Self::VECTOR_ROWS);
        tiles.div_ceil(tiles.div_ceil(most).max(1))
    }

    /// Workgroups of `lm_matmul_*`.
    pub fn tile_grid(&self) -> [u32; 3] {
        [self.rows.div_ceil(Self::TILE), self.tokens.div_ceil(Self::TILE), 1]
    }

    /// Workgroups of `lm_matrix_*`: those that share rows are neighbours, so that weights come from memory once.
    pub fn matrix_grid(&self) -> [u32; 3] {
        [self.tokens.div_ceil(Self::MATRIX_TILE), self.rows.div_ceil(Self::MATRIX_TILE), self.sharing.max(1)]
    }

    /// Into how many parts columns should be split for `lm_matrix_*`, at most so many, on so many compute units. They have up to two workgroups each: the
    /// last round should leave few of them idle, and each part takes its time to be added up.
    pub fn matrix_parts(&self, units: u32, most: u32) -> u32 {
        let [tokens, rows, _] = self.matrix_grid();
        let most = most.min(self.columns / (8 * Self::MATRIX_STEP)).clamp(1, Self::MATRIX_PARTS);
        let time = |parts: u32| {
            let rounds = f64::from((tokens * rows * parts).div_ceil((2 * units).max(1)));
            let sums = if parts == 1 { 0.0 } else { f64::from(160 * parts) / f64::from(self.columns.max(1)) };
            rounds / f64::from(parts) + sums
        };
        (1..=most).min_by(|a, b| time(*a).total_cmp(&time(*b))).unwrap_or(1)
    }
}

impl Params for LmLinear {
    fn grid(&self) -> [u32; 3] {
        self.vector_grid(1)
    }
}
