//! `lm_attention_*`, `lm_flash_attention_*`: attention over the KV pages of sequences.

mod cases;

use crate::family::{constants, plain, read, variants, write};
use crate::{Family, Params};

constants! {
    /// `lm_attention_*`: attention of queries over the KV pages of their sequences.
    ///
    /// A block is a run of consecutive tokens of one sequence. All query heads that share a KV head
    /// are processed together. With one split, `y` is the result. With several, `y` holds for each
    /// token, head and split the weighted sum of values, the maximum score and the sum of weights;
    /// `lm_combine_splits` merges them.
    pub struct LmAttention {
        /// Number of tokens.
        pub tokens: u32,
        /// Number of blocks.
        pub blocks: u32,
        /// Maximum tokens per block.
        pub block: u32,
        /// Number of query heads.
        pub heads: u32,
        /// Number of KV heads.
        pub kv_heads: u32,
        /// Size of a query or key head.
        pub key_length: u32,
        /// Size of a value head.
        pub value_length: u32,
        /// Row stride of `q` in floats.
        pub q_stride: u32,
        /// Row stride of `y` in floats; used with one split.
        pub y_stride: u32,
        /// Tokens per KV page.
        pub page: u32,
        /// Number of splits of the keys of a sequence.
        pub splits: u32,
        /// Multiplier of the scores.
        pub scale: f32,
        /// Soft cap `c`: a score `s` becomes `c * tanh(s / c)`. 0 disables it.
        pub soft_cap: f32,
        /// Sliding window in tokens; 0 for full attention.
        pub window: u32,
        /// Whether `lm_flash_attention_*` writes f16, two values per word, as input of a
        /// matrix-unit product. The row stride of `y` then counts f16 values.
        pub packed: u32,
        /// Whether heads have attention sinks: keys with value zero, whose scores are in `sinks`,
        /// one per query head. With several splits, a sink is part of the first one.
        pub sinks: u32,
        /// Chunk length: a token attends only to keys of its own chunk; chunks start at multiples
        /// of the length. 0 disables chunks.
        pub chunk: u32,
        /// Offset of the tokens' own positions in `inputs`, if the positions at the start are the
        /// last ones that each token attends to; otherwise 0. This field and the following ones are
        /// only for `lm_attention_*`.
        pub own: u32,
        /// Number of tokens after its own position that a token attends to, with a sliding window.
        pub after: u32,
        /// The largest power of two up to the number of heads, for ALiBi; 0 disables it.
        pub alibi_heads: u32,
        /// ALiBi's maximum bias divided by `alibi_heads`.
        pub alibi: f32,
        /// 1 if the values are the last `value_length` elements of the keys: `values` is then the
        /// cache of keys.
        pub values_in_keys: u32,
    }
}

impl LmAttention {
    /// ALiBi: slope of a query head, subtracted from the score per position of distance.
    pub fn slope(&self, head: u32) -> f32 {
        let exponent = match head.checked_sub(self.alibi_heads) {
            None => self.alibi * (head + 1) as f32,
            Some(further) => 0.5 * self.alibi * (2 * further + 1) as f32,
        };
        if self.alibi_heads == 0 { 0.0 } else { (-exponent).exp2() }
    }

    /// The positions that the token at `own` attends to; the last one is at most `last`.
    pub fn visible(&self, own: u32, last: u32) -> std::ops::Range<u32> {
        if self.window == 0 {
            return 0..last + 1;
        }
        (own + 1).saturating_sub(self.window)..last.min(own + self.after) + 1
    }
}

impl LmAttention {
    /// Maximum size of a value head.
    pub const LONGEST_VALUE: u32 = 512;

    /// Maximum rows of scores per workgroup: tokens times query heads per KV head.
    pub const ROWS: u32 = 16;

    /// Workgroups per block. Larger heads have fewer rows per workgroup.
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
    /// Rows of scores per workgroup of `lm_flash_attention_*`.
    pub const COOPMAT_ROWS: u32 = 64;

    /// The matrix-unit kernel for these head sizes.
    pub fn coopmat_kernel(&self) -> Option<&'static str> {
        match (self.key_length, self.value_length) {
            (64, 64) => Some("lm_flash_attention_64"),
            (128, 128) => Some("lm_flash_attention_128"),
            _ => None,
        }
    }

    /// Workgroup counts of `lm_flash_attention_*`.
    pub fn coopmat_grid(&self) -> [u32; 3] {
        let rows = self.block * (self.heads / self.kv_heads.max(1));
        [self.blocks * rows.div_ceil(Self::COOPMAT_ROWS), self.kv_heads, 1]
    }
}

impl Params for LmAttention {
    fn grid(&self) -> [u32; 3] {
        [self.blocks * self.groups(), self.kv_heads, self.splits]
    }
}

const ATTENTION: Family = Family {
    file: "lm_attention.wgsl",
    text: include_str!("lm_attention.wgsl"),
    entry: "lm_attention",
    variants: &[],
    bindings: &[read("inputs"), read("q"), read("keys"), read("values"), read("sinks"), write("y")],
    constants: LmAttention::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: cases::of,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    Family { aliases: include_str!("lm_kv_cache_f16.wgsl"), variants: &[plain("lm_attention_f16")], ..ATTENTION },
    Family { aliases: include_str!("lm_kv_cache_q8.wgsl"), variants: &[plain("lm_attention_q8")], ..ATTENTION },
    Family {
        file: "lm_flash_attention.wgsl",
        text: include_str!("lm_flash_attention.wgsl"),
        entry: "lm_flash_attention",
        variants: variants! {
            "lm_flash_attention_64": LENGTH = 64;
            "lm_flash_attention_128": LENGTH = 128;
        },
        matrix: true,
        workgroup: [256, 1, 1],
        ..ATTENTION
    },
];
