//! `lm_matvec_*`, `lm_matmul_*`: products with quantized and float weights.

mod cases;
mod expert_cases;
mod format;
mod grid_table;
mod sources;
mod table;

pub use format::WeightFormat;
pub(crate) use grid_table::FAMILIES as GRID_FAMILIES;
pub(crate) use table::FAMILIES;

use crate::family::constants;
use crate::{LmMoeGroup, Params};

constants! {
    /// `lm_matvec_*`, `lm_matmul_*`: `y[t, r] = sum over c of weight[r, c] * x[t, c]`.
    ///
    /// - `lm_matmul_coopmat_*`, `lm_matmul_coopmat16_*` and `lm_matmul_coopmat32_*` read `x` as f16, two values per word.
    /// - `lm_matvec_i8_*` quantizes `x` to int8 with one scale per 32 columns.
    /// - `lm_matvec8_i8_*` reads `x` as [`LmQuantizeI8`](crate::LmQuantizeI8) writes it; `x_stride`
    ///   is unused.
    ///
    /// With [`experts`](Self::experts) set, a "token" is a pair of a token and one of its experts:
    /// pair `p` reads row `p / sharing` of `x` and multiplies it by the matrix of its expert `e`,
    /// which begins at row `e * rows`. `lm_matvec_*` read the experts of pairs; `lm_matvec8_i8_*`,
    /// `lm_matmul_*`, `lm_matmul_coopmat16_*` and `lm_matmul_coopmat32_*` read the tiles of
    /// [`LmMoeGroup`](crate::LmMoeGroup).
    pub struct LmLinear {
        /// Rows of the matrix; two per output with [`Self::GATE`].
        pub rows: u32,
        /// Columns, a multiple of 32.
        pub columns: u32,
        /// Rows of the batch.
        pub tokens: u32,
        /// Row stride of `x` in values, a multiple of 4. The padding between the model's columns
        /// and `columns` is zero.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Offset in floats of the first output within a row of `y`.
        pub y_offset: u32,
        /// Sum of [`Self::ADD`], [`Self::BIAS`], [`Self::NORM`], [`Self::PACKED`], a multiple of
        /// [`Self::TEAMS`], and at most one of [`Self::SILU`], [`Self::GELU`] and
        /// [`Self::SWIGLU_OAI`].
        pub flags: u32,
        /// Number of experts; 0 for a dense layer.
        pub experts: u32,
        /// Pairs that share a row of `x`. On matrix units without experts, the number of column
        /// splits: each split writes its own row, the rows of a token are consecutive, and flags are
        /// only supported with one split.
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
    /// Adds `bias[row]`; with experts, the biases of all matrices are concatenated.
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
    /// Only on matrix units.
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
    /// Maximum number of rows with a workgroup each in `lm_matvec_*` with float weights.
    const FEW_ROWS: u32 = 512;
    /// Tokens per workgroup of `lm_matvec8_i8_*`.
    pub const VECTOR8_TOKENS: u32 = 8;
    /// Unit of the team size of `lm_matvec8_i8_*`: 0, 1 or 2 times this is a team of 32, 64 or 128
    /// invocations, which split the columns.
    pub const TEAMS: u32 = 64;
    /// Rows per workgroup of `lm_matvec8_i8_*` times the size of its teams.
    const VECTOR8_ROWS: u32 = 512;
    /// Minimum number of workgroups of `lm_matvec8_i8_*` per compute unit; if there are fewer,
    /// teams are larger.
    const VECTOR8_GROUPS: u32 = 3;
    /// Rows and tokens per tile of `lm_matmul_*`.
    pub const TILE: u32 = 64;
    /// Rows and tokens per tile of `lm_matmul_coopmat_*`.
    pub const COOPMAT_TILE: u32 = 128;
    /// Maximum number of column splits of `lm_matmul_coopmat_*`.
    pub const COOPMAT_PARTS: u32 = 5;
    /// `lm_matmul_coopmat_*` requires `columns` to be a multiple of this.
    pub const COOPMAT_STEP: u32 = 64;
    /// Tokens and rows per tile of `lm_matmul_coopmat16_*`.
    pub const COOPMAT16_TILE: [u32; 2] = [16, 64];
    /// Tokens per tile of `lm_matmul_coopmat32_*`.
    pub const COOPMAT32_TOKENS: u32 = 32;
    /// Maximum number of column splits of `lm_matmul_coopmat16_*` and `lm_matmul_coopmat32_*`.
    pub const COOPMAT32_PARTS: u32 = 8;

    /// Tokens and rows per tile of `lm_matmul_coopmat32_*` with this format. The bytes of Q8 that
    /// are in flight take too many registers in wider tiles.
    pub fn coopmat32_tile(format: WeightFormat) -> [u32; 2] {
        let is_narrow = format == WeightFormat::Q8 || format.has_nibbles();
        [Self::COOPMAT32_TOKENS, if is_narrow { 64 } else { 128 }]
    }

    /// Columns per step of `lm_matmul_coopmat16_*` or `lm_matmul_coopmat32_*` with this format; the
    /// last step may be partial. `tokens` is the number of tokens per tile.
    pub fn small_coopmat_step(format: WeightFormat, tokens: u32) -> u32 {
        match format.has_nibbles() {
            true => 8 * tokens,
            false => 64,
        }
    }

    /// Workgroup counts of `lm_matvec_*`; `tokens_per_group` is the number of tokens that the
    /// variant processes per workgroup.
    pub fn vector_grid(&self, tokens_per_group: u32) -> [u32; 3] {
        [self.groups(Self::MAX_ROW_GROUPS), self.tokens.div_ceil(tokens_per_group), 1]
    }

    /// Workgroup counts of `lm_matvec_*` with float weights. They do not stage `x` in workgroup
    /// memory, so a somewhat larger grid is cheap.
    pub fn plain_grid(&self) -> [u32; 3] {
        if self.rows <= Self::FEW_ROWS && self.flags & Self::GATE == 0 {
            return [self.rows, self.tokens, 1];
        }
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

    /// Tiles of this number of tokens. With experts some are empty, as [`LmMoeGroup`] leaves them.
    fn token_tiles(&self, tile: u32) -> u32 {
        if self.experts == 0 {
            return self.tokens.div_ceil(tile);
        }
        LmMoeGroup { pairs: self.tokens, experts: self.experts, tile }.tiles()
    }

    /// Number of column splits on matrix units.
    fn column_splits(&self) -> u32 {
        if self.experts == 0 { self.sharing.max(1) } else { 1 }
    }

    /// Workgroup counts of `lm_matvec8_i8_*`. Workgroups that share rows are adjacent, so that
    /// weights are read from memory once.
    pub fn vector8_grid(&self) -> [u32; 3] {
        let team = 32 << (self.flags / Self::TEAMS % 4);
        [self.token_tiles(Self::VECTOR8_TOKENS), self.rows.div_ceil(Self::VECTOR8_ROWS / team), 1]
    }

    /// Selects the smallest teams of `lm_matvec8_i8_*` that occupy a GPU with `units` compute
    /// units. Teams never have invocations without columns.
    pub fn with_teams(self, units: u32) -> Self {
        let larger = |teams: u32| Self { flags: self.flags + teams * Self::TEAMS, ..self };
        let most = (self.columns / 32).checked_ilog2().unwrap_or(0).saturating_sub(5).min(2);
        let occupies = |one: &Self| {
            let [tokens, rows, _] = one.vector8_grid();
            tokens * rows >= Self::VECTOR8_GROUPS * units
        };
        (0..most).map(larger).find(occupies).unwrap_or_else(|| larger(most))
    }

    /// Workgroup counts of `lm_matmul_*`.
    pub fn tile_grid(&self) -> [u32; 3] {
        [self.rows.div_ceil(Self::TILE), self.token_tiles(Self::TILE), 1]
    }

    /// Workgroup counts of `lm_matmul_coopmat_*`. Workgroups that share rows are adjacent, so that
    /// weights are read from memory once.
    pub fn coopmat_grid(&self) -> [u32; 3] {
        [self.tokens.div_ceil(Self::COOPMAT_TILE), self.rows.div_ceil(Self::COOPMAT_TILE), self.sharing.max(1)]
    }

    /// Workgroup counts of `lm_matmul_coopmat16_*` or `lm_matmul_coopmat32_*`, which have this tile,
    /// in the order of [`Self::coopmat_grid`].
    pub fn small_coopmat_grid(&self, [tokens, rows]: [u32; 2]) -> [u32; 3] {
        [self.token_tiles(tokens), self.rows.div_ceil(rows), self.column_splits()]
    }

    /// The best number of column splits for `lm_matmul_coopmat_*`, at most `most`, on a GPU with
    /// `units` compute units.
    pub fn coopmat_column_splits(&self, units: u32, most: u32) -> u32 {
        let most = most.min(self.columns / (8 * Self::COOPMAT_STEP)).min(Self::COOPMAT_PARTS);
        // A compute unit runs up to two of these workgroups.
        self.best_column_splits(self.coopmat_grid(), 2 * units, Self::COOPMAT_STEP, most)
    }

    /// The best number of column splits for `lm_matmul_coopmat16_*` or `lm_matmul_coopmat32_*`,
    /// which have this tile and steps of `step` columns, at most `most`, on a GPU with `units`
    /// compute units.
    pub fn small_coopmat_column_splits(&self, tile: [u32; 2], step: u32, units: u32, most: u32) -> u32 {
        let grid = self.small_coopmat_grid(tile);
        // Tiles that fill the GPU several times leave little of it idle in the last round.
        let most = if grid[0] * grid[1] > 4 * units { 1 } else { most };
        let most = most.min(self.columns / 512).min(Self::COOPMAT32_PARTS);
        self.best_column_splits(grid, 4 * units, step, most)
    }

    /// `resident` workgroups run at a time. More splits fill the last round better, but each
    /// split adds the cost of summing it.
    fn best_column_splits(&self, [tokens, rows, _]: [u32; 3], resident: u32, step: u32, most: u32) -> u32 {
        let steps = self.columns.div_ceil(step).max(1);
        let time = |parts: u32| {
            let rounds = f64::from((tokens * rows * parts).div_ceil(resident.max(1)));
            let sums = if parts == 1 { 0.0 } else { f64::from(160 * parts) / f64::from(self.columns.max(1)) };
            rounds * f64::from(steps.div_ceil(parts)) / f64::from(steps) + sums
        };
        (1..=most.max(1)).min_by(|a, b| time(*a).total_cmp(&time(*b))).unwrap_or(1)
    }
}

impl Params for LmLinear {
    fn grid(&self) -> [u32; 3] {
        self.vector_grid(1)
    }
}
