//! Constants of the kernels of language models, `lm_*`.
//!
//! A batch is `tokens` rows of 32-bit floats. What changes from step to step (where tokens stand, which pages their texts have)
//! lies in a buffer of words, so that a recording can be replayed: first the position of each token, then for each token the word
//! at which the pages of its text begin, then `(first token, tokens)` of each block of attention, then the rows that are
//! wanted of the last state, and then the pages.

use bytemuck::{Pod, Zeroable};

use super::{MAX_GROUPS, Params};

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

/// `lm_norm`: `y[t, c] = x[i, c] / sqrt(mean square of x[i] + epsilon) * weight[c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmNorm {
    /// Rows of `y`.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// Added to the mean square.
    pub epsilon: f32,
    /// Sum of [`Self::ADD`] and [`Self::CHOSEN`].
    pub flags: u32,
    /// With [`Self::CHOSEN`], the first word of `inputs` that names a row.
    pub first: u32,
}

impl LmNorm {
    /// Adds to what is in `y`.
    pub const ADD: u32 = 1;
    /// `i` is a word of `inputs`; without it, `i` is `t`.
    pub const CHOSEN: u32 = 2;
}

impl Params for LmNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

/// `lm_heads`: heads of queries and keys are normed and turned, and keys and values written to their pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmHeads {
    /// Tokens.
    pub tokens: u32,
    /// Heads of queries.
    pub heads: u32,
    /// Heads of keys and of values.
    pub kv_heads: u32,
    /// The length of a head of queries and keys.
    pub key_length: u32,
    /// The length of a head of values.
    pub value_length: u32,
    /// Pairs that are turned.
    pub pairs: u32,
    /// Sum of the flags below.
    pub flags: u32,
    /// Floats between rows of `qkv`, in which queries, keys and values follow each other.
    pub stride: u32,
    /// Tokens of a page.
    pub page: u32,
    /// Added to the mean square.
    pub epsilon: f32,
}

impl LmHeads {
    /// Queries and keys are normed: `norms` has the factors of queries, then of keys.
    pub const NORMS: u32 = 1;
    /// Pairs are neighbours rather than halves.
    pub const NEIGHBOURS: u32 = 2;
    /// The longest head.
    pub const LONGEST: u32 = 512;
    /// Tokens of a workgroup.
    pub const TOGETHER: u32 = 4;
}

impl Params for LmHeads {
    fn grid(&self) -> [u32; 3] {
        [self.heads + 2 * self.kv_heads, self.tokens.div_ceil(Self::TOGETHER), 1]
    }
}

/// `lm_attention_*`: queries against the keys and values in the pages of their texts.
///
/// A block is tokens of one text that follow each other; all heads of queries that share a head of keys are taken together. With several
/// splits, `y` gets for each token, head and split the sum of values, then the greatest score and the sum of weights; `lm_join`
/// makes one of them. With one, `y` has the result.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmAttention {
    /// Tokens.
    pub tokens: u32,
    /// Blocks.
    pub blocks: u32,
    /// Tokens of a block, at most.
    pub block: u32,
    /// Heads of queries.
    pub heads: u32,
    /// Heads of keys.
    pub kv_heads: u32,
    /// The length of a head of queries and keys.
    pub key_length: u32,
    /// The length of a head of values.
    pub value_length: u32,
    /// Floats between rows of `q`.
    pub q_stride: u32,
    /// Floats between rows of `y`, without splits.
    pub y_stride: u32,
    /// Tokens of a page.
    pub page: u32,
    /// Into how many parts the keys of a text are split.
    pub splits: u32,
    /// What scores are multiplied by.
    pub scale: f32,
    /// Scores `s` become `c * tanh(s / c)`; 0 leaves them alone.
    pub soft_cap: f32,
    /// So many of the last tokens are seen; 0 for all.
    pub window: u32,
    /// Whether `lm_flash_*` gives 16-bit floats, two to a word, for a product on matrix units; rows of `y` are as many floats apart.
    pub packed: u32,
}

impl LmAttention {
    /// Rows of scores that a workgroup computes at most: tokens times heads that share a head of keys.
    pub const ROWS: u32 = 16;

    /// Workgroups that a block needs: heads that are long have fewer rows.
    pub fn groups(&self) -> u32 {
        let rows = match self.key_length.max(self.value_length) {
            ..=128 => Self::ROWS,
            129..=256 => Self::ROWS / 2,
            _ => Self::ROWS / 4,
        };
        (self.block * (self.heads / self.kv_heads.max(1))).div_ceil(rows)
    }
}

impl LmAttention {
    /// Rows of scores that a workgroup of `lm_flash_*` computes.
    pub const MATRIX_ROWS: u32 = 64;

    /// The kernel for matrix units, if there is one for such heads.
    pub fn matrix_kernel(&self) -> Option<&'static str> {
        match (self.key_length, self.value_length) {
            (64, 64) => Some("lm_flash_64"),
            (128, 128) => Some("lm_flash_128"),
            _ => None,
        }
    }

    /// Workgroups of `lm_flash_*`.
    pub fn matrix_grid(&self) -> [u32; 3] {
        let rows = self.block * (self.heads / self.kv_heads.max(1));
        [self.blocks * rows.div_ceil(Self::MATRIX_ROWS), self.kv_heads, 1]
    }
}

impl Params for LmAttention {
    fn grid(&self) -> [u32; 3] {
        [self.blocks * self.groups(), self.kv_heads, self.splits]
    }
}

/// `lm_attend_*`: one token of each text, from its queries, keys and values to the result of attention: what [`LmHeads`] and [`LmAttention`] do for
/// many tokens. Queries in `qkv` stay as they are.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmAttend {
    /// Tokens, each of a text of its own.
    pub tokens: u32,
    /// Heads of queries.
    pub heads: u32,
    /// Heads of keys and of values.
    pub kv_heads: u32,
    /// The length of a head of queries and keys.
    pub key_length: u32,
    /// The length of a head of values.
    pub value_length: u32,
    /// Pairs that are turned.
    pub pairs: u32,
    /// Flags of [`LmHeads`].
    pub flags: u32,
    /// Floats between rows of `qkv`, in which queries, keys and values follow each other.
    pub stride: u32,
    /// Floats between rows of `y`, without splits.
    pub y_stride: u32,
    /// Tokens of a page.
    pub page: u32,
    /// Into how many parts the keys of a text are split.
    pub splits: u32,
    /// What scores are multiplied by.
    pub scale: f32,
    /// Scores `s` become `c * tanh(s / c)`; 0 leaves them alone.
    pub soft_cap: f32,
    /// So many of the last tokens are seen; 0 for all.
    pub window: u32,
    /// Added to the mean square of a head.
    pub epsilon: f32,
}

impl LmAttend {
    /// Both in one, of tokens that are of a text each; `None` for heads that it does not take.
    pub fn of(heads: &LmHeads, attention: &LmAttention) -> Option<Self> {
        let fits =
            heads.key_length <= 256 && heads.key_length.is_multiple_of(32) && heads.value_length == heads.key_length;
        fits.then_some(Self {
            tokens: heads.tokens,
            heads: heads.heads,
            kv_heads: heads.kv_heads,
            key_length: heads.key_length,
            value_length: heads.value_length,
            pairs: heads.pairs,
            flags: heads.flags,
            stride: heads.stride,
            y_stride: attention.y_stride,
            page: heads.page,
            splits: attention.splits,
            scale: attention.scale,
            soft_cap: attention.soft_cap,
            window: attention.window,
            epsilon: heads.epsilon,
        })
    }

    /// The first of the two that it is made of.
    pub fn heads(&self) -> LmHeads {
        LmHeads {
            tokens: self.tokens,
            heads: self.heads,
            kv_heads: self.kv_heads,
            key_length: self.key_length,
            value_length: self.value_length,
            pairs: self.pairs,
            flags: self.flags,
            stride: self.stride,
            page: self.page,
            epsilon: self.epsilon,
        }
    }

    /// The second of the two that it is made of.
    pub fn attention(&self) -> LmAttention {
        LmAttention {
            tokens: self.tokens,
            blocks: self.tokens,
            block: 1,
            heads: self.heads,
            kv_heads: self.kv_heads,
            key_length: self.key_length,
            value_length: self.value_length,
            q_stride: self.stride,
            y_stride: self.y_stride,
            page: self.page,
            splits: self.splits,
            scale: self.scale,
            soft_cap: self.soft_cap,
            window: self.window,
            packed: 0,
        }
    }
}

impl Params for LmAttend {
    fn grid(&self) -> [u32; 3] {
        [self.tokens, self.heads, self.splits]
    }
}

/// `lm_half`: numbers as 16-bit floats, two to a word; what is too large for them becomes the largest of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmHalf {
    /// Words of the result.
    pub words: u32,
}

impl Params for LmHalf {
    fn grid(&self) -> [u32; 3] {
        [self.words.div_ceil(256).min(MAX_GROUPS), 1, 1]
    }
}

/// `lm_sum_norm`: `x[t] += parts[used t] + … + parts[used t + used - 1]`, and `y[t, c] = x[t, c] / sqrt(mean square of x[t] + epsilon) * weight[c]` as 16-bit
/// floats, two to a word, as far apart as the numbers of `x`. Strides and columns are multiples of four.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmSumNorm {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Parts of a row; 0 leaves `x` as it is.
    pub used: u32,
    /// Floats between parts.
    pub part_stride: u32,
    /// Added to the mean square.
    pub epsilon: f32,
}

impl Params for LmSumNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows, 1, 1]
    }
}

/// `lm_join`: the splits of attention made one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmJoin {
    /// Tokens.
    pub tokens: u32,
    /// Heads.
    pub heads: u32,
    /// The length of a head of values.
    pub value_length: u32,
    /// Parts.
    pub splits: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
}

impl Params for LmJoin {
    fn grid(&self) -> [u32; 3] {
        [self.heads, self.tokens, 1]
    }
}

/// `lm_gate`: `y[t, c] = activation(x[t, c]) * x[t, width + c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmGate {
    /// Rows.
    pub tokens: u32,
    /// Columns of the result.
    pub width: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// 1 for gelu in its form with tanh, 0 for silu.
    pub gelu: u32,
}

impl Params for LmGate {
    fn grid(&self) -> [u32; 3] {
        [self.width.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}

/// `lm_route`: the experts of each token with the highest scores, and their weights: the softmax of all scores by the sum of those taken.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmRoute {
    /// Tokens.
    pub tokens: u32,
    /// Experts.
    pub experts: u32,
    /// How many of them a token takes.
    pub used: u32,
    /// Floats between rows of scores.
    pub stride: u32,
}

impl LmRoute {
    /// The most experts.
    pub const MOST: u32 = 1024;
}

impl Params for LmRoute {
    fn grid(&self) -> [u32; 3] {
        [self.tokens.min(MAX_GROUPS), 1, 1]
    }
}

/// `lm_mix`: `y[t, c] = sum over s of weights[t, s] * x[t * used + s, c]`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct LmMix {
    /// Tokens.
    pub tokens: u32,
    /// Columns.
    pub columns: u32,
    /// Experts of a token.
    pub used: u32,
    /// Floats between rows of `x`.
    pub x_stride: u32,
    /// Floats between rows of `y`.
    pub y_stride: u32,
    /// 1 to add to what is in `y`.
    pub add: u32,
}

impl Params for LmMix {
    fn grid(&self) -> [u32; 3] {
        [self.columns.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}
