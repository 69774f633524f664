//! `lm_layer_norm`: norms of rows that `lm_rms_norm` does not compute.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_layer_norm`: `y[t, c] = (x[i, c] - mean of x[i]) / sqrt(variance of x[i] + epsilon) *
    /// weight[c] + bias[c]`.
    pub struct LmLayerNorm {
        /// Rows of `y`.
        pub rows: u32,
        /// Columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Added to the variance.
        pub epsilon: f32,
        /// Sum of [`Self::BIAS`], [`Self::CHOSEN`] and [`Self::RMS`].
        pub flags: u32,
        /// With [`Self::CHOSEN`], the first word of `inputs` that is a row index.
        pub first: u32,
    }
}

impl LmLayerNorm {
    /// Adds the biases, which are behind the weights. Without it there are none.
    pub const BIAS: u32 = 1;
    /// Reads `i` from `inputs`. Without it, `i` is `t`.
    pub const CHOSEN: u32 = 2;
    /// RMS norm: takes the mean as 0.
    pub const RMS: u32 = 4;
}

impl Params for LmLayerNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_layer_norm.wgsl",
    text: include_str!("lm_layer_norm.wgsl"),
    entry: "lm_layer_norm",
    variants: &[plain("lm_layer_norm")],
    bindings: &[read("x"), read("weight"), read("inputs"), write("y")],
    constants: LmLayerNorm::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, flags: u32| {
        let params =
            LmLayerNorm { rows, columns, x_stride: columns + 3, y_stride: columns + 1, epsilon: 1e-6, flags, first: 2 };
        // The mean is far from zero.
        let x = words(&random.floats((8 * params.x_stride) as usize, -1.0, 3.0));
        let weight = words(&random.floats(2 * columns as usize, 0.5, 1.5));
        let buffers = vec![x, weight, vec![9, 9, 4, 0, 7, 1], untouched((rows * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{rows} x {columns}, flags {flags}"))
    };
    let mut cases = vec![make(2, 7, 0), make(3, 300, LmLayerNorm::BIAS), make(4, 257, LmLayerNorm::CHOSEN)];
    cases.push(make(3, 64, LmLayerNorm::CHOSEN | LmLayerNorm::BIAS).with_one_group());
    cases.push(make(2, 90, LmLayerNorm::RMS | LmLayerNorm::BIAS));
    cases
}
