//! `lm_wkv`: the recurrence of RWKV.

mod cases;

use crate::family::{constants, plain, read, write};
use crate::shared::RECURRENCE;
use crate::{Family, Params};

constants! {
    /// `lm_wkv`: the recurrence of RWKV, token by token.
    ///
    /// Each head has a matrix `S` of `length` rows of `length` floats in each slot. With the
    /// receptance `r`, the key `k`, the value `v`, the decay score `w` and the rate score of a
    /// token, and products of vectors element by element, [`Self::WKV7`] is:
    ///
    /// ```text
    /// a = sigmoid(rate score)
    /// n = k * vectors[0]                                 divided by its L2 norm
    /// k = k + (a - 1) * k * vectors[1]
    /// v = v + (first v - v) * sigmoid(mix score)         with `mix_offset`
    /// S = S diag(exp(decay * sigmoid(w))) - (S n)(n * a)ᵀ + v kᵀ
    /// y = S r * scale, then ((r * vectors[2]) · k) * v
    /// ```
    ///
    /// [`Self::WKV6`] is:
    ///
    /// ```text
    /// y = (S r + ((r * vectors[0]) · k) * v) * scale
    /// S = S diag(exp(-exp(w))) + v kᵀ
    /// ```
    ///
    /// [`Self::GATED`] is:
    ///
    /// ```text
    /// d = exp(-exp(w))
    /// S = S diag(d) + v (k * (1 - d))ᵀ
    /// y = S r * scale
    /// ```
    pub struct LmWkv {
        /// Number of sequences.
        pub sequences: u32,
        /// First word of `inputs` that describes the sequences.
        pub first: u32,
        /// Heads; each has a state.
        pub heads: u32,
        /// Heads of keys and values, shared by consecutive heads; `heads` is a multiple.
        pub key_heads: u32,
        /// Length of a head: a multiple of 4, at most [`Self::LONGEST`].
        pub length: u32,
        /// Invocations per row of a state: [`Self::lanes`].
        pub lanes: u32,
        /// [`Self::WKV7`], [`Self::WKV6`] or [`Self::GATED`].
        pub kind: u32,
        /// Row stride of `x` in floats, a multiple of 4. A row begins with the receptance.
        pub x_stride: u32,
        /// Column of the first key, a multiple of 4, as all offsets are.
        pub keys_offset: u32,
        /// Column of the first value.
        pub values_offset: u32,
        /// Column of the first decay score.
        pub decays_offset: u32,
        /// Column of the first rate score.
        pub rates_offset: u32,
        /// Column of the first mix score; the values of the first layer follow the mix scores. 0
        /// for none.
        pub mix_offset: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Exponent of the decay in the limit of a large score.
        pub decay: f32,
        /// Minimum of the L2 norm of a removal key; above 0 also for kinds without removal keys.
        pub epsilon: f32,
        /// Factor of the values read from the state.
        pub scale: f32,
    }
}

impl LmWkv {
    /// RWKV 7.
    pub const WKV7: u32 = 0;
    /// RWKV 6.
    pub const WKV6: u32 = 1;
    /// RWKV 6 without a bonus: gated linear attention.
    pub const GATED: u32 = 2;
    /// Maximum length of a head.
    pub const LONGEST: u32 = 2048;

    /// Invocations per row of a state: a power of two, with at most 16 elements each.
    pub fn lanes(length: u32) -> u32 {
        length.div_ceil(16).max(1).next_power_of_two()
    }
}

impl Params for LmWkv {
    fn grid(&self) -> [u32; 3] {
        [(self.length * self.lanes).div_ceil(128), self.heads, self.sequences]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_wkv.wgsl",
    text: include_str!("lm_wkv.wgsl"),
    entry: "lm_wkv",
    aliases: RECURRENCE,
    variants: &[plain("lm_wkv")],
    bindings: &[read("inputs"), read("x"), read("vectors"), write("states"), write("y")],
    constants: LmWkv::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: cases::of,
    ..Family::DEFAULT
}];
