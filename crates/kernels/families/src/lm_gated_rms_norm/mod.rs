//! `lm_gated_rms_norm`: gated RMS norm or layer norm of each head, for the outputs of gated delta
//! nets, state spaces and RWKV.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_gated_rms_norm`: `y[t, c] = rms_norm(head of x[t, c]) * weight[i] * silu(gates[t, c])`,
    /// where `i` is the index of column `c` in its head. Flags change the order, the norm, the
    /// weights and the gate.
    pub struct LmGatedRmsNorm {
        /// Rows.
        pub tokens: u32,
        /// Heads per row; each is normalized separately.
        pub heads: u32,
        /// Length of a head.
        pub length: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `gates` in floats.
        pub gates_stride: u32,
        /// Column of the first gate.
        pub gates_offset: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Added to the mean square.
        pub epsilon: f32,
        /// Sum of the flags below.
        pub flags: u32,
    }
}

impl LmGatedRmsNorm {
    /// Normalizes `x * silu(gates)` instead of `x`.
    pub const GATE_FIRST: u32 = 1;
    /// Each head has its own weights.
    pub const EACH_HEAD: u32 = 2;
    /// No norm: `y = x * silu(gates)`. Weights are not read.
    pub const UNNORMED: u32 = 4;
    /// Multiplies by the sigmoid of gates instead of their SiLU.
    pub const SIGMOID: u32 = 8;
    /// Multiplies by gates without an activation.
    pub const LINEAR: u32 = 16;
    /// No gates.
    pub const UNGATED: u32 = 32;
    /// Layer norm instead of RMS norm.
    pub const CENTERED: u32 = 64;
    /// Adds biases to the norm. They follow the weights.
    pub const BIAS: u32 = 128;
    /// Adds columns of `x` that follow those of all heads, before the gate.
    pub const ADDEND: u32 = 256;
}

impl Params for LmGatedRmsNorm {
    /// One workgroup per head; beyond the maximum grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        [(self.tokens * self.heads).min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_gated_rms_norm.wgsl",
    text: include_str!("lm_gated_rms_norm.wgsl"),
    entry: "lm_gated_rms_norm",
    variants: &[plain("lm_gated_rms_norm")],
    bindings: &[read("x"), read("gates"), read("weight"), write("y")],
    constants: LmGatedRmsNorm::CONSTANTS,
    workgroup: [64, 1, 1],
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |tokens: u32, heads: u32, length: u32, flags: u32| {
        let params = LmGatedRmsNorm {
            tokens,
            heads,
            length,
            x_stride: 2 * heads * length + 3,
            gates_stride: 2 * heads * length,
            gates_offset: 5.min(heads * length),
            y_stride: heads * length + 1,
            epsilon: 1e-6,
            flags,
        };
        let mut floats = |count: u32, limit: f32| words(&random.floats(count as usize, -limit, limit));
        let (x, gates) = (floats(tokens * params.x_stride, 2.0), floats(tokens * params.gates_stride, 6.0));
        let weights = floats(2 * if flags & LmGatedRmsNorm::EACH_HEAD == 0 { length } else { heads * length }, 1.5);
        let buffers = vec![x, gates, weights, untouched((tokens * params.y_stride) as usize)];
        let label = format!("{tokens} x {heads} heads of {length}, flags {flags}");
        case(params, buffers, Element::F32, APPROXIMATE, label)
    };
    let (gate_first, each_head) = (LmGatedRmsNorm::GATE_FIRST, LmGatedRmsNorm::EACH_HEAD);
    let mut cases = vec![make(1, 1, 1, 0), make(3, 4, 128, 0), make(2, 3, 257, 0)];
    cases.extend([make(3, 2, 96, gate_first | each_head), make(2, 3, 40, each_head)]);
    cases.push(make(2, 1, 300, LmGatedRmsNorm::UNNORMED));
    let norm = each_head | LmGatedRmsNorm::CENTERED | LmGatedRmsNorm::BIAS;
    cases.push(make(3, 4, 64, norm | LmGatedRmsNorm::ADDEND | LmGatedRmsNorm::LINEAR));
    cases.push(make(2, 3, 90, norm));
    cases.push(make(2, 2, 20, LmGatedRmsNorm::CENTERED | LmGatedRmsNorm::BIAS | LmGatedRmsNorm::SIGMOID));
    cases.push(make(2, 2, 64, LmGatedRmsNorm::UNNORMED | LmGatedRmsNorm::ADDEND | LmGatedRmsNorm::UNGATED));
    cases.push(make(5, 2, 16, gate_first).with_one_group());
    cases
}
