//! `lm_moe_combine`: adds the outputs of experts.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_moe_combine`: `y[t, c] = sum over s of weights[t, s] * x[(t * used + s) / sharing, c]`.
    pub struct LmMoeCombine {
        /// Number of tokens.
        pub tokens: u32,
        /// Number of columns.
        pub columns: u32,
        /// Experts per token.
        pub used: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// 1 to add to `y`, 0 to overwrite it.
        pub add: u32,
        /// Consecutive weights that multiply the same row of `x`.
        pub sharing: u32,
    }
}

impl Params for LmMoeCombine {
    fn grid(&self) -> [u32; 3] {
        [self.columns.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_moe_combine.wgsl",
    text: include_str!("lm_moe_combine.wgsl"),
    entry: "lm_moe_combine",
    variants: &[plain("lm_moe_combine")],
    bindings: &[read("x"), read("weights"), write("y")],
    constants: LmMoeCombine::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, columns: u32, used: u32, add: u32, sharing: u32| {
        let params = LmMoeCombine { tokens, columns, used, x_stride: columns + 1, y_stride: columns + 2, add, sharing };
        let x = words(&random.floats((tokens * used * params.x_stride) as usize, -1.0, 1.0));
        let shares = words(&random.floats((tokens * used) as usize, 0.0, 1.0));
        let buffers = vec![x, shares, untouched((tokens * params.y_stride) as usize)];
        case(
            params,
            buffers,
            Element::F32,
            APPROXIMATE,
            format!("{tokens} x {columns} of {used}, add {add}, sharing {sharing}"),
        )
    };
    vec![make(1, 1, 1, 0, 1), make(3, 300, 2, 1, 1), make(2, 257, 8, 0, 1), make(6, 70, 1, 0, 3)]
}
