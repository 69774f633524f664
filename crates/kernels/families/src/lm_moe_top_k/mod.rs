//! `lm_moe_top_k`: the experts of each token.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_moe_top_k`: the experts of each token with the highest weights, and these weights.
    pub struct LmMoeTopK {
        /// Number of tokens.
        pub tokens: u32,
        /// Number of experts, at most [`Self::MAX_EXPERTS`].
        pub experts: u32,
        /// Experts selected per token.
        pub used: u32,
        /// Row stride of the scores in floats.
        pub stride: u32,
        /// Sum of [`Self::SIGMOID`], [`Self::NORMALIZED`], [`Self::BIAS`] and [`Self::SCALES`].
        pub flags: u32,
        /// Factor of the weights.
        pub scale: f32,
        /// Groups of consecutive experts, at most [`Self::MAX_EXPERTS`]; 0 without groups. Groups
        /// are ranked by the sum of their two highest weights.
        pub groups: u32,
        /// Number of eligible groups.
        pub groups_used: u32,
    }
}

impl LmMoeTopK {
    /// Maximum number of experts.
    pub const MAX_EXPERTS: u32 = 1024;
    /// Weights are the sigmoid of each score instead of the softmax over all.
    pub const SIGMOID: u32 = 1;
    /// Divides weights by the sum of those of the selected experts.
    pub const NORMALIZED: u32 = 2;
    /// Adds `bias` to the weights for the selection only.
    pub const BIAS: u32 = 4;
    /// Multiplies weights at the end by a factor per expert; the factors follow the biases in
    /// `bias`.
    pub const SCALES: u32 = 8;
    /// Lower bound of the sum that weights are divided by: the smallest normal f16.
    pub const LOWEST_SUM: f32 = 6.103_515_6e-5;
}

impl Params for LmMoeTopK {
    fn grid(&self) -> [u32; 3] {
        [self.tokens.min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_moe_top_k.wgsl",
    text: include_str!("lm_moe_top_k.wgsl"),
    entry: "lm_moe_top_k",
    variants: &[plain("lm_moe_top_k")],
    bindings: &[read("x"), read("bias"), write("selected"), write("weights")],
    constants: LmMoeTopK::CONSTANTS,
    workgroup: [256, 1, 1],
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    use LmMoeTopK as Of;
    let mut make = |tokens: u32, experts: u32, used: u32, (flags, scale): (u32, f32), groups: [u32; 2]| {
        let [groups, groups_used] = groups;
        let params = LmMoeTopK { tokens, experts, used, stride: experts + 1, flags, scale, groups, groups_used };
        let x = words(&random.floats((tokens * params.stride) as usize, -3.0, 3.0));
        let bias = words(&random.floats(2 * experts as usize, -0.5, 0.5));
        let pairs = (tokens * used) as usize;
        let buffers = vec![x, bias, untouched(pairs), untouched(pairs)];
        let label = format!("{used} of {experts} for {tokens} tokens, flags {flags}, {groups_used} of {groups} groups");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(1, 4, 2, (Of::NORMALIZED, 1.0), [0; 2]),
        make(5, 128, 8, (Of::NORMALIZED, 1.0), [0; 2]),
        make(3, 65, 1, (Of::NORMALIZED, 1.0), [0; 2]).with_one_group(),
        make(3, 60, 4, (0, 1.0), [0; 2]),
        make(3, 64, 6, (Of::BIAS | Of::NORMALIZED, 1.0), [0; 2]),
        make(3, 70, 5, (Of::SIGMOID | Of::BIAS | Of::NORMALIZED, 2.5), [0; 2]),
        make(2, 16, 3, (Of::SIGMOID, 1.0), [0; 2]),
        make(3, 64, 6, (Of::SIGMOID | Of::BIAS | Of::NORMALIZED, 1.0), [8, 3]),
        make(3, 60, 5, (Of::NORMALIZED, 1.0), [4, 2]),
        make(3, 20, 4, (Of::NORMALIZED | Of::SCALES, 1.5), [0; 2]),
    ]
}
