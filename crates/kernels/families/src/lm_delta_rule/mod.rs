//! `lm_delta_rule`: the recurrence of gated delta nets.

mod cases;

use crate::family::{constants, plain, read, write};
use crate::shared::RECURRENCE;
use crate::{Family, Params};

constants! {
    /// `lm_delta_rule`: the gated delta rule, token by token.
    ///
    /// Each head has a matrix `S` of `length` rows of `length` floats in each slot. With the query
    /// `q` and the key `k`, normalized, and the value `v` of a token:
    ///
    /// ```text
    /// S = g * S                   g = exp(decays[heads + h] * softplus(decay score + decays[h]))
    /// S = S + b * (v - S k) kᵀ    b = sigmoid(rate score)
    /// y = S q * scale
    /// ```
    pub struct LmDeltaRule {
        /// Number of sequences.
        pub sequences: u32,
        /// First word of `inputs` that describes the sequences.
        pub first: u32,
        /// Value heads; each has a state.
        pub heads: u32,
        /// Query and key heads; `heads` is a multiple.
        pub key_heads: u32,
        /// Length of a head: a multiple of 4, at most [`Self::LONGEST`].
        pub length: u32,
        /// 1 if value heads use key heads in turn, 0 if consecutive value heads share a key head.
        pub tiled: u32,
        /// Invocations per row of a state: [`Self::lanes`].
        pub lanes: u32,
        /// Row stride of `x` in floats, a multiple of 4. A row holds queries, then keys, then
        /// values.
        pub x_stride: u32,
        /// Row stride of `scores` in floats.
        pub scores_stride: u32,
        /// Column of the first head's rate score.
        pub rates_offset: u32,
        /// Column of the first head's decay score.
        pub decays_offset: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Added to the sum of the squares of a query or key.
        pub epsilon: f32,
        /// Factor of the outputs.
        pub scale: f32,
    }
}

impl LmDeltaRule {
    /// Maximum length of a head.
    pub const LONGEST: u32 = 2048;

    /// Invocations per row of a state: a power of two, with at most 16 elements each.
    pub fn lanes(length: u32) -> u32 {
        length.div_ceil(16).max(1).next_power_of_two()
    }
}

impl Params for LmDeltaRule {
    fn grid(&self) -> [u32; 3] {
        [(self.length * self.lanes).div_ceil(128), self.heads, self.sequences]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_delta_rule.wgsl",
    text: include_str!("lm_delta_rule.wgsl"),
    entry: "lm_delta_rule",
    aliases: RECURRENCE,
    variants: &[plain("lm_delta_rule")],
    bindings: &[read("inputs"), read("x"), read("scores"), read("decays"), write("states"), write("y")],
    constants: LmDeltaRule::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: cases::of,
    ..Family::DEFAULT
}];
