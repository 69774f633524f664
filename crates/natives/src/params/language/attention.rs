//! Attention, from heads to what they give together.

use bytemuck::{Pod, Zeroable};

use crate::params::Params;

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
    /// Rows of `parts` that are added up for a token, one behind the other; 0 takes what is in `qkv`.
    pub used: u32,
    /// Floats between them.
    pub part_stride: u32,
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
            used: 0,
            part_stride: 0,
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
