//! `attention`: scaled dot-product attention.

mod cases;

use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

/// Rows per workgroup of `attention`.
const ATTENTION_ROWS: u32 = 32;

constants! {
    /// `attention`: for each batch and head, `softmax(q * k^T * scale + mask) * v`. Strides are by
    /// batch, head and row; elements of a row are contiguous.
    pub struct Attention {
        /// Batch size.
        pub batch: u32,
        /// Heads of `q` and `y`.
        pub heads: u32,
        /// Consecutive query heads that share one KV head.
        pub gqa_ratio: u32,
        /// Rows of `q` and `y`.
        pub rows: u32,
        /// Rows of `k` and `v`.
        pub keys: u32,
        /// Elements of a row of `q` and `k`.
        pub size: u32,
        /// Elements of a row of `v` and `y`.
        pub width: u32,
        /// With [`Attention::CAUSAL`], the number of keys before the first row's own position.
        pub past: u32,
        /// Element strides of `q`.
        pub q: [u32; 3],
        /// Element strides of `k`.
        pub k: [u32; 3],
        /// Element strides of `v`.
        pub v: [u32; 3],
        /// Element strides of `y`.
        pub y: [u32; 3],
        /// Element strides of the mask; the fourth is between keys. All 0 without
        /// [`Attention::MASK`].
        pub mask: [u32; 4],
        /// Multiplier of the scores.
        pub scale: f32,
        /// Sum of [`Attention::MASK`], [`Attention::STRICT`] and [`Attention::CAUSAL`].
        pub flags: u32,
    }
}

impl Attention {
    /// Adds a mask to the scores.
    pub const MASK: u32 = 1;
    /// A row without unmasked keys gives NaN instead of zeros.
    pub const STRICT: u32 = 2;
    /// Causal mask: row `i` attends to keys `0 ..= i + past`.
    pub const CAUSAL: u32 = 4;
    /// Maximum `width` that the GPU kernel supports.
    pub const MAX_WIDTH: u32 = 256;

    /// Whether the GPU kernel supports this problem.
    pub fn fits_groups(&self) -> bool {
        let [rows, heads, batch] = self.grid();
        self.width <= Self::MAX_WIDTH && rows.max(heads).max(batch) <= MAX_GROUPS
    }
}

impl Params for Attention {
    /// One workgroup per block of rows of a head; heads in y, batches in z.
    fn grid(&self) -> [u32; 3] {
        [self.rows.div_ceil(ATTENTION_ROWS), self.heads, self.batch]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "attention.wgsl",
    text: include_str!("attention.wgsl"),
    entry: "attention",
    variants: &[plain("attention")],
    bindings: &[read("q"), read("k"), read("v"), read("mask"), write("y")],
    constants: Attention::CONSTANTS,
    cases: cases::of,
    ..Family::DEFAULT
}];
