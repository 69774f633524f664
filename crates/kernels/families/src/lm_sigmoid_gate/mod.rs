//! `lm_sigmoid_gate`: rows times the sigmoid of their gates, for outputs of attention and of shared
//! experts.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_sigmoid_gate`: `y[t, c] = x[t, c] * sigmoid(gates[t, c]) * factor`.
    pub struct LmSigmoidGate {
        /// Rows.
        pub tokens: u32,
        /// Columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `gates` in floats.
        pub gates_stride: u32,
        /// Column of the first gate.
        pub gates_offset: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Sum of [`Self::ONE_PER_ROW`] and [`Self::ADD`].
        pub flags: u32,
        /// Factor of the result, or of the sum with [`Self::ADD`].
        pub factor: f32,
    }
}

impl LmSigmoidGate {
    /// All columns of a row have the same gate.
    pub const ONE_PER_ROW: u32 = 1;
    /// Adds to `y` instead of overwriting it.
    pub const ADD: u32 = 2;
}

impl Params for LmSigmoidGate {
    fn grid(&self) -> [u32; 3] {
        [self.columns.div_ceil(256).min(MAX_GROUPS), self.tokens, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_sigmoid_gate.wgsl",
    text: include_str!("lm_sigmoid_gate.wgsl"),
    entry: "lm_sigmoid_gate",
    variants: &[plain("lm_sigmoid_gate")],
    bindings: &[read("x"), read("gates"), write("y")],
    constants: LmSigmoidGate::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, columns: u32, flags: u32| {
        let gates = if flags & LmSigmoidGate::ONE_PER_ROW == 0 { columns } else { 1 };
        let params = LmSigmoidGate {
            tokens,
            columns,
            x_stride: columns + 1,
            gates_stride: gates + 4,
            gates_offset: 3,
            y_stride: columns + 2,
            flags,
            factor: if columns == 64 { 0.5 } else { 1.0 },
        };
        let mut floats = |count: u32, limit: f32| words(&random.floats(count as usize, -limit, limit));
        let (x, gates) = (floats(tokens * params.x_stride, 2.0), floats(tokens * params.gates_stride, 6.0));
        let buffers = vec![x, gates, untouched((tokens * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{tokens} x {columns}, flags {flags}"))
    };
    vec![make(1, 1, 0), make(3, 300, 0), make(2, 257, 3), make(4, 64, LmSigmoidGate::ADD)]
}
