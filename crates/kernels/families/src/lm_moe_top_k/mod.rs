//! `lm_moe_top_k`: the experts of each token.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_moe_top_k`: the top-scoring experts of each token and their weights: the softmax over
    /// all scores, renormalized over the selected experts.
    pub struct LmMoeTopK {
        /// Number of tokens.
        pub tokens: u32,
        /// Number of experts, at most [`Self::MAX_EXPERTS`].
        pub experts: u32,
        /// Experts selected per token.
        pub used: u32,
        /// Row stride of the scores in floats.
        pub stride: u32,
    }
}

impl LmMoeTopK {
    /// Maximum number of experts.
    pub const MAX_EXPERTS: u32 = 1024;
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
    bindings: &[read("x"), write("selected"), write("weights")],
    constants: LmMoeTopK::CONSTANTS,
    workgroup: [64, 1, 1],
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, experts: u32, used: u32| {
        let params = LmMoeTopK { tokens, experts, used, stride: experts + 1 };
        let x = words(&random.floats((tokens * params.stride) as usize, -3.0, 3.0));
        let pairs = (tokens * used) as usize;
        let buffers = vec![x, untouched(pairs), untouched(pairs)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{used} of {experts} for {tokens} tokens"))
    };
    vec![make(1, 4, 2), make(5, 128, 8), make(3, 65, 1).with_one_group()]
}
