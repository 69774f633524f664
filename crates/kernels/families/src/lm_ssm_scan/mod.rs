//! `lm_ssm_scan`: the recurrence of selective state spaces.

mod cases;

use crate::family::{constants, read, variants, write};
use crate::shared::RECURRENCE;
use crate::{Family, Params};

constants! {
    /// `lm_ssm_scan`: the selective scan of state spaces, token by token. This is Mamba 2; below is
    /// what `lm_ssm_scan_rows`, Mamba 1, does otherwise.
    ///
    /// Each head has a matrix `S` of `length` rows of `state` floats in each slot. With the values
    /// `v`, the input vector `b` and the output vector `c` of a token:
    ///
    /// ```text
    /// d = softplus(step score + heads[h])
    /// S = exp(heads[H + h] * d) * S + d * v bᵀ
    /// y = S c + heads[2 H + h] * v
    /// ```
    ///
    /// where `H` is the number of heads.
    ///
    /// With `lm_ssm_scan_rows` there is one head in one group, and a row of `steps` also has the
    /// input vector and then the output vector. With `L = length` and for row `r` and column `c`:
    ///
    /// ```text
    /// d[r] = softplus(step score r + heads[r])
    /// S[r, c] = exp(heads[L + r state + c] * d[r]) * S[r, c] + d[r] * v[r] * b[c]
    /// y[r] = S[r] c + heads[L (state + 1) + r] * v[r]
    /// ```
    pub struct LmSsmScan {
        /// Number of sequences.
        pub sequences: u32,
        /// First word of `inputs` that describes the sequences.
        pub first: u32,
        /// Number of heads.
        pub heads: u32,
        /// Groups of consecutive heads that share input and output vectors; `heads` is a multiple.
        pub groups: u32,
        /// Values per head. `heads * length` is a multiple of 4.
        pub length: u32,
        /// Length of the input and output vectors: a multiple of 4, at most [`Self::LONGEST`].
        pub state: u32,
        /// Invocations per row of a state: [`Self::lanes`].
        pub lanes: u32,
        /// Row stride of `x` in floats, a multiple of 4. A row holds the values of all heads, then
        /// the input vectors of all groups, then the output vectors.
        pub x_stride: u32,
        /// Row stride of `steps` in floats.
        pub steps_stride: u32,
        /// Column of the first head's step score.
        pub steps_offset: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Column of the input vector in `steps`, with `lm_ssm_scan_rows`.
        pub vectors_offset: u32,
    }
}

impl LmSsmScan {
    /// Maximum length of the input and output vectors.
    pub const LONGEST: u32 = 2048;

    /// Invocations per row of a state: a power of two, with at most 16 elements each.
    pub fn lanes(state: u32) -> u32 {
        state.div_ceil(16).max(1).next_power_of_two()
    }
}

impl Params for LmSsmScan {
    fn grid(&self) -> [u32; 3] {
        [(self.length * self.lanes).div_ceil(128), self.heads, self.sequences]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_ssm_scan.wgsl",
    text: include_str!("lm_ssm_scan.wgsl"),
    entry: "lm_ssm_scan",
    aliases: RECURRENCE,
    variants: variants! {
        "lm_ssm_scan": EACH_ROW = 0;
        "lm_ssm_scan_rows": EACH_ROW = 1;
    },
    bindings: &[read("inputs"), read("x"), read("steps"), read("heads"), write("states"), write("y")],
    constants: LmSsmScan::CONSTANTS,
    workgroup: [128, 1, 1],
    cases: cases::of,
    ..Family::DEFAULT
}];
