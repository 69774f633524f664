//! `lm_glu`: gated linear units.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_glu`: `y[t, c] = activation(x[t, c]) * x[t, width + c]`, or `activation(x[t, c])`
    /// without a gate.
    pub struct LmGlu {
        /// Number of rows.
        pub tokens: u32,
        /// Columns of the output.
        pub width: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// [`Self::SILU`], [`Self::GELU`], [`Self::RELU_SQUARED`], [`Self::SWIGLU_OAI`],
        /// [`Self::SIGMOID`] or [`Self::TANH`].
        pub activation: u32,
        /// Whether there is a gate.
        pub gated: u32,
    }
}

impl LmGlu {
    /// `x / (1 + exp(-x))`.
    pub const SILU: u32 = 0;
    /// GELU, in its tanh approximation.
    pub const GELU: u32 = 1;
    /// `max(x, 0)²`.
    pub const RELU_SQUARED: u32 = 2;
    /// SwiGLU of gpt-oss: `x / (1 + exp(-1.702 x)) * (up + 1)`, with `x` at most 7 and `up` from -7
    /// to 7.
    pub const SWIGLU_OAI: u32 = 3;
    /// `1 / (1 + exp(-x))`.
    pub const SIGMOID: u32 = 4;
    /// The hyperbolic tangent.
    pub const TANH: u32 = 5;
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
    let mut make = |tokens: u32, width: u32, activation: u32, gated: u32| {
        let params = LmGlu { tokens, width, x_stride: 2 * width + 1, y_stride: width + 2, activation, gated };
        let x = words(&random.floats((tokens * params.x_stride) as usize, -9.0, 9.0));
        let buffers = vec![x, untouched((tokens * params.y_stride) as usize)];
        let label = format!("{tokens} x {width}, activation {activation}, gated {gated}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    vec![
        make(1, 1, LmGlu::SILU, 1),
        make(3, 300, LmGlu::SILU, 1),
        make(2, 257, LmGlu::GELU, 1),
        make(2, 65, LmGlu::GELU, 0),
        make(2, 300, LmGlu::RELU_SQUARED, 0),
        make(3, 90, LmGlu::SWIGLU_OAI, 1),
        make(2, 90, LmGlu::SIGMOID, 0),
        make(3, 270, LmGlu::TANH, 0),
    ]
}
