//! `lm_glu`: gated linear units.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_glu`: `y[t, c] = activation(x[t, c]) * x[t, width + c]`.
    pub struct LmGlu {
        /// Number of rows.
        pub tokens: u32,
        /// Columns of the output.
        pub width: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// 1 for the tanh approximation of GELU, 0 for SiLU.
        pub gelu: u32,
    }
}

impl Params for LmGlu {
    fn grid(&self) -> [u32; 3] {
        [self.width.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_glu.wgsl",
    text: include_str!("lm_glu.wgsl"),
    entry: "lm_glu",
    variants: &[plain("lm_glu")],
    bindings: &[read("x"), write("y")],
    constants: LmGlu::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, width: u32, gelu: u32| {
        let params = LmGlu { tokens, width, x_stride: 2 * width + 1, y_stride: width + 2, gelu };
        let x = words(&random.floats((tokens * params.x_stride) as usize, -6.0, 6.0));
        let buffers = vec![x, untouched((tokens * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{tokens} x {width}, gelu {gelu}"))
    };
    vec![make(1, 1, 0), make(3, 300, 0), make(2, 257, 1)]
}
