//! `lm_layer_norm`: norms of rows that `lm_rms_norm` does not support.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_layer_norm`: `y[t, c] = (x[i, c] - mean of x[i]) / sqrt(variance of x[i] + epsilon) *
    /// weight[c] + bias[c]`.
    pub struct LmLayerNorm {
        /// Number of rows of `y`.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Added to the variance; with [`Self::SPARSE`], standard deviations from the mean to the
        /// bound.
        pub epsilon: f32,
        /// Sum of [`Self::BIAS`], [`Self::GATHER_ROWS`], [`Self::RMS`], [`Self::ADD`],
        /// [`Self::IN_PLACE`] and [`Self::SPARSE`].
        pub flags: u32,
        /// With [`Self::GATHER_ROWS`], index of the first word of `inputs` that is a row index.
        pub first: u32,
        /// Offset of the first column in each row of `x` and of `y`, in floats.
        pub offset: u32,
    }
}

impl LmLayerNorm {
    /// Adds biases, which follow the weights.
    pub const BIAS: u32 = 1;
    /// Reads `i` from `inputs`. Without this flag, `i` is `t`.
    pub const GATHER_ROWS: u32 = 2;
    /// RMS norm: takes the mean as 0.
    pub const RMS: u32 = 4;
    /// Adds to `y` instead of overwriting it.
    pub const ADD: u32 = 8;
    /// Reads rows of `y` instead of `x`.
    pub const IN_PLACE: u32 = 16;
    /// No norm: subtracts the mean and `epsilon` standard deviations (of a sample), and sets what is
    /// negative to 0. Weights are not read.
    pub const SPARSE: u32 = 32;
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
        let (x_stride, y_stride, offset) = (columns + 8, columns + 6, if rows == 3 { 5 } else { 0 });
        let epsilon = if flags & LmLayerNorm::SPARSE == 0 { 1e-6 } else { 0.5 };
        let params = LmLayerNorm { rows, columns, x_stride, y_stride, epsilon, flags, first: 2, offset };
        // The mean is far from zero.
        let x = words(&random.floats((8 * params.x_stride) as usize, -1.0, 3.0));
        let weight = words(&random.floats(2 * columns as usize, 0.5, 1.5));
        let y = match flags & LmLayerNorm::IN_PLACE {
            0 => untouched((rows * params.y_stride) as usize),
            _ => x[..(rows * params.y_stride) as usize].to_vec(),
        };
        let buffers = vec![x, weight, vec![9, 9, 4, 0, 7, 1], y];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{rows} x {columns}, flags {flags}"))
    };
    let mut cases = vec![make(2, 7, 0), make(3, 300, LmLayerNorm::BIAS), make(4, 257, LmLayerNorm::GATHER_ROWS)];
    cases.push(make(3, 64, LmLayerNorm::GATHER_ROWS | LmLayerNorm::BIAS).with_one_group());
    cases.push(make(2, 90, LmLayerNorm::RMS | LmLayerNorm::BIAS));
    cases.push(make(3, 70, LmLayerNorm::ADD));
    cases.push(make(3, 300, LmLayerNorm::RMS | LmLayerNorm::IN_PLACE));
    cases.push(make(3, 270, LmLayerNorm::SPARSE | LmLayerNorm::IN_PLACE));
    cases
}
