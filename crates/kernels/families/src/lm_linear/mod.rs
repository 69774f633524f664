//! `lm_matvec_*`, `lm_matmul_*`: products with quantized and float weights.

mod cases;
mod format;

pub use format::WeightFormat;

use crate::family::{constants, read, variants, write};
use crate::{Family, LINEAR_WORKGROUP, Params};

constants! {
    /// `lm_matvec_*`, `lm_matvec_i8_*`, `lm_matmul_*`, `lm_matmul_coopmat_*`: `y[t, r] = sum over c
    /// of weight[r, c] * x[t, c]`. `lm_matmul_coopmat_*` reads `x` as f16, two values per word.
    /// `lm_matvec_i8_*` quantizes `x` to int8 with one scale per 32 columns.
    ///
    /// With [`experts`](Self::experts) set, a "token" is a pair of a token and one of its experts:
    /// pair `p` reads row `p / sharing` of `x` and multiplies it by the matrix of expert
    /// `experts[p]`, which begins at row `experts[p] * rows`.
    pub struct LmLinear {
        /// Rows of the matrix; two per output with [`Self::GATE`].
        pub rows: u32,
        /// Columns, a multiple of 32.
        pub columns: u32,
        /// Rows of the batch.
        pub tokens: u32,
        /// Row stride of `x` in floats, a multiple of 4. The padding between the model's columns
        /// and `columns` is zero.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Offset in floats of the first output within a row of `y`.
        pub y_offset: u32,
        /// Sum of [`Self::ADD`], [`Self::BIAS`], [`Self::NORM`], [`Self::PACKED`] and at most one
        /// of [`Self::SILU`], [`Self::GELU`] and [`Self::SWIGLU_OAI`].
        pub flags: u32,
        /// Number of experts; 0 for a dense layer.
        pub experts: u32,
        /// Pairs that share a row of `x`. For `lm_matmul_coopmat_*`, the number of column splits:
        /// each split writes its own row, the rows of a token are consecutive, and flags are only
        /// supported with one split.
        pub sharing: u32,
        /// With [`Self::NORM`], the columns of the mean square, without padding.
        pub model_columns: u32,
        /// With [`Self::NORM`], added to the mean square.
        pub epsilon: f32,
    }
}

impl LmLinear {
    /// Adds to `y` instead of overwriting it.
    pub const ADD: u32 = 1;
    /// Adds `bias[row]`; with experts, those of all matrices follow each other.
    pub const BIAS: u32 = 2;
    /// SwiGLU: rows `2 i` and `2 i + 1` are gate and up; the output is `silu(gate) * up`.
    pub const SILU: u32 = 4;
    /// GeGLU: as [`Self::SILU`], with the tanh approximation of GELU.
    pub const GELU: u32 = 8;
    /// SwiGLU of gpt-oss: as [`Self::SILU`], with the inputs and the activation of
    /// [`LmGlu::SWIGLU_OAI`](crate::LmGlu::SWIGLU_OAI).
    pub const SWIGLU_OAI: u32 = 12;
    /// Mask of the gate flags.
    pub const GATE: u32 = 12;
    /// With [`Self::GATE`], `y` is f16, two values per word; `y_stride` and `y_offset` count words.
    /// Only for `lm_matmul_coopmat_*`.
    pub const PACKED: u32 = 32;
    /// Applies RMS norm to `x` first, with the weights `norm`. Only for `lm_matvec_*`.
    pub const NORM: u32 = 16;
    /// Maximum workgroups along the rows. Each loads `x` into workgroup memory, a cost that many
    /// rows should share.
    const MAX_ROW_GROUPS: u32 = 512;
    /// Workgroups that a large GPU runs concurrently.
    const RESIDENT_GROUPS: u32 = 768;
    /// Rows per workgroup of `lm_matvec_*`.
    pub const VECTOR_ROWS: u32 = 8;
    /// Rows and tokens per tile of `lm_matmul_*`.
    pub const TILE: u32 = 64;
    /// Rows and tokens per tile of `lm_matmul_coopmat_*`.
    pub const COOPMAT_TILE: u32 = 128;
    /// Maximum number of column splits.
    pub const COOPMAT_PARTS: u32 = 5;
    /// `lm_matmul_coopmat_*` requires `columns` to be a multiple of this.
    pub const COOPMAT_STEP: u32 = 64;

    /// Workgroup counts of `lm_matvec_*`; `tokens_per_group` is the number of tokens that the
    /// variant processes per workgroup.
    pub fn vector_grid(&self, tokens_per_group: u32) -> [u32; 3] {
        [self.groups(Self::MAX_ROW_GROUPS), self.tokens.div_ceil(tokens_per_group), 1]
    }

    /// Workgroup counts of `lm_matvec_*` with float weights. They use no workgroup memory, so a
    /// somewhat larger grid is cheap.
    pub fn plain_grid(&self) -> [u32; 3] {
        let most = if self.rows <= Self::VECTOR_ROWS * Self::RESIDENT_GROUPS {
            Self::RESIDENT_GROUPS
        } else {
            Self::MAX_ROW_GROUPS
        };
        [self.groups(most), self.tokens, 1]
    }

    /// Workgroups along the rows, at most `most`, with rows evenly distributed.
    fn groups(&self, most: u32) -> u32 {
        let tiles = self.rows.div_ceil(Self::VECTOR_ROWS);
        tiles.div_ceil(tiles.div_ceil(most).max(1))
    }

    /// Workgroup counts of `lm_matmul_*`.
    pub fn tile_grid(&self) -> [u32; 3] {
        [self.rows.div_ceil(Self::TILE), self.tokens.div_ceil(Self::TILE), 1]
    }

    /// Workgroup counts of `lm_matmul_coopmat_*`. Workgroups that share rows are adjacent, so that
    /// weights are read from memory once.
    pub fn coopmat_grid(&self) -> [u32; 3] {
        [self.tokens.div_ceil(Self::COOPMAT_TILE), self.rows.div_ceil(Self::COOPMAT_TILE), self.sharing.max(1)]
    }

    /// The best number of column splits for `lm_matmul_coopmat_*`, at most `most`, on a GPU with
    /// `units` compute units. A compute unit runs up to two workgroups. More splits fill the last
    /// round better, but each split adds the cost of summing it.
    pub fn coopmat_column_splits(&self, units: u32, most: u32) -> u32 {
        let [tokens, rows, _] = self.coopmat_grid();
        let most = most.min(self.columns / (8 * Self::COOPMAT_STEP)).clamp(1, Self::COOPMAT_PARTS);
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

/// Common source of products with weights: weight decoding and the epilogue.
const SHARED: &str = concat!(include_str!("lm_weights.wgsl"), include_str!("lm_linear_epilogue.wgsl"));

/// Bindings of products with several tokens.
const BATCH_BINDINGS: &[crate::Binding] = &[read("codes"), read("scales"), read("x"), read("bias"), write("y")];

/// `x` as f32.
const WITH_X_F32: &str = concat!(
    include_str!("lm_matvec_x_f32.wgsl"),
    include_str!("lm_weights.wgsl"),
    include_str!("lm_linear_epilogue.wgsl")
);

/// `x` quantized to int8.
const WITH_X_I8: &str = concat!(
    include_str!("lm_matvec_x_i8.wgsl"),
    include_str!("lm_weights.wgsl"),
    include_str!("lm_linear_epilogue.wgsl")
);

/// Common part of products with weights; the bindings are those of the single-token variants.
const PRODUCT: Family = Family {
    file: "lm_matvec.wgsl",
    text: include_str!("lm_matvec.wgsl"),
    entry: "lm_matvec",
    aliases: SHARED,
    variants: &[],
    bindings: &[read("codes"), read("scales"), read("x"), read("bias"), read("experts"), read("norm"), write("y")],
    constants: LmLinear::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: cases::of,
    ..Family::DEFAULT
};

/// Products with many tokens on matrix units. Formats that need many registers to decode are left
/// out: the accumulators of a tile leave few registers, and spills would cost more than matrix
/// units gain.
const MATRIX: Family = Family {
    file: "lm_matmul_coopmat.wgsl",
    text: include_str!("lm_matmul_coopmat.wgsl"),
    entry: "lm_matmul_coopmat",
    aliases: concat!(
        include_str!("lm_coopmat_weights_quantized.wgsl"),
        include_str!("lm_weights.wgsl"),
        include_str!("lm_linear_epilogue.wgsl")
    ),
    bindings: BATCH_BINDINGS,
    matrix: true,
    ..PRODUCT
};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        file: "lm_matvec_float.wgsl",
        text: include_str!("lm_matvec_float.wgsl"),
        entry: "lm_matvec_float",
        variants: variants! {
            "lm_matvec_f32": FORMAT = 0, UNIT_VEC4S = 1;
            "lm_matvec_f16": FORMAT = 1, UNIT_VEC4S = 2;
            "lm_matvec_bf16": FORMAT = 2, UNIT_VEC4S = 2;
        },
        ..PRODUCT
    },
    Family {
        aliases: WITH_X_F32,
        variants: variants! {
            "lm_matvec_q4": FORMAT = 3, UNIT_VEC4S = 8;
            "lm_matvec_q4_affine": FORMAT = 4, UNIT_VEC4S = 8;
            "lm_matvec_q4_affine16": FORMAT = 5, UNIT_VEC4S = 8;
            "lm_matvec_q4_nl": FORMAT = 6, UNIT_VEC4S = 8;
            "lm_matvec_q4_e2m1": FORMAT = 7, UNIT_VEC4S = 8;
            "lm_matvec_q8": FORMAT = 8, UNIT_VEC4S = 4;
            "lm_matvec_q8_affine16": FORMAT = 9, UNIT_VEC4S = 4;
            "lm_matvec_q4_superblock": FORMAT = 10, UNIT_VEC4S = 8;
            "lm_matvec_q8_affine": FORMAT = 11, UNIT_VEC4S = 4;
        },
        ..PRODUCT
    },
    Family {
        aliases: WITH_X_I8,
        variants: variants! {
            "lm_matvec_i8_q4": FORMAT = 3, UNIT_VEC4S = 8;
            "lm_matvec_i8_q4_affine": FORMAT = 4, UNIT_VEC4S = 8;
            "lm_matvec_i8_q4_affine16": FORMAT = 5, UNIT_VEC4S = 8;
            "lm_matvec_i8_q8": FORMAT = 8, UNIT_VEC4S = 4;
            "lm_matvec_i8_q8_affine16": FORMAT = 9, UNIT_VEC4S = 4;
            "lm_matvec_i8_q4_superblock": FORMAT = 10, UNIT_VEC4S = 8;
            "lm_matvec_i8_q8_affine": FORMAT = 11, UNIT_VEC4S = 4;
        },
        ..PRODUCT
    },
    Family {
        file: "lm_matvec4.wgsl",
        text: include_str!("lm_matvec4.wgsl"),
        entry: "lm_matvec4",
        bindings: BATCH_BINDINGS,
        variants: variants! {
            "lm_matvec4_f32": FORMAT = 0;
            "lm_matvec4_f16": FORMAT = 1;
            "lm_matvec4_bf16": FORMAT = 2;
            "lm_matvec4_q4": FORMAT = 3;
            "lm_matvec4_q4_affine": FORMAT = 4;
            "lm_matvec4_q4_affine16": FORMAT = 5;
            "lm_matvec4_q4_nl": FORMAT = 6;
            "lm_matvec4_q4_e2m1": FORMAT = 7;
            "lm_matvec4_q8": FORMAT = 8;
            "lm_matvec4_q8_affine16": FORMAT = 9;
            "lm_matvec4_q4_superblock": FORMAT = 10;
            "lm_matvec4_q8_affine": FORMAT = 11;
        },
        ..PRODUCT
    },
    Family {
        file: "lm_matmul.wgsl",
        text: include_str!("lm_matmul.wgsl"),
        entry: "lm_matmul",
        variants: variants! {
            "lm_matmul_f32": FORMAT = 0;
            "lm_matmul_f16": FORMAT = 1;
            "lm_matmul_bf16": FORMAT = 2;
            "lm_matmul_q4": FORMAT = 3;
            "lm_matmul_q4_affine": FORMAT = 4;
            "lm_matmul_q4_affine16": FORMAT = 5;
            "lm_matmul_q4_nl": FORMAT = 6;
            "lm_matmul_q4_e2m1": FORMAT = 7;
            "lm_matmul_q8": FORMAT = 8;
            "lm_matmul_q8_affine16": FORMAT = 9;
            "lm_matmul_q4_superblock": FORMAT = 10;
            "lm_matmul_q8_affine": FORMAT = 11;
        },
        bindings: BATCH_BINDINGS,
        workgroup: [LINEAR_WORKGROUP, 1, 1],
        ..PRODUCT
    },
    Family {
        aliases: concat!(
            include_str!("lm_coopmat_weights_f16.wgsl"),
            include_str!("lm_weights.wgsl"),
            include_str!("lm_linear_epilogue.wgsl")
        ),
        variants: variants! {
            "lm_matmul_coopmat_f16": FORMAT = 1;
        },
        ..MATRIX
    },
    Family {
        variants: variants! {
            "lm_matmul_coopmat_q4": FORMAT = 3;
            "lm_matmul_coopmat_q4_affine": FORMAT = 4;
            "lm_matmul_coopmat_q4_affine16": FORMAT = 5;
            "lm_matmul_coopmat_q8": FORMAT = 8;
            "lm_matmul_coopmat_q8_affine16": FORMAT = 9;
            "lm_matmul_coopmat_q4_superblock": FORMAT = 10;
            "lm_matmul_coopmat_q8_affine": FORMAT = 11;
        },
        ..MATRIX
    },
];
