//! `lm_rms_norm`: root mean square norm of rows.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_rms_norm`: `y[t, c] = x[i, c] / sqrt(mean square of x[i] + epsilon) * weight[c]`,
    /// or the sum of that and `y[t, c]`, times a factor.
    pub struct LmRmsNorm {
        /// Rows of `y`.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Added to the mean square.
        pub epsilon: f32,
        /// Sum of [`Self::ADD`] and [`Self::GATHER_ROWS`].
        pub flags: u32,
        /// With [`Self::GATHER_ROWS`], index of the first word of `inputs` that is a row index.
        pub first: u32,
        /// Offset of the first column in each row of `y`, in floats.
        pub y_offset: u32,
        /// Factor of the result.
        pub factor: f32,
    }
}

impl LmRmsNorm {
    /// Adds to `y` instead of overwriting it.
    pub const ADD: u32 = 1;
    /// Reads `i` from `inputs`. Without it, `i` is `t`.
    pub const GATHER_ROWS: u32 = 2;
}

impl Params for LmRmsNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_rms_norm.wgsl",
    text: include_str!("lm_rms_norm.wgsl"),
    entry: "lm_rms_norm",
    variants: &[plain("lm_rms_norm")],
    bindings: &[read("x"), read("weight"), read("inputs"), write("y")],
    constants: LmRmsNorm::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, flags: u32| {
        let (x_stride, y_stride) = (columns + 3, columns + 1);
        let y_offset = u32::from(rows == 4);
        let factor = if flags & LmRmsNorm::ADD == 0 { 1.0 } else { 0.75 };
        let params = LmRmsNorm { rows, columns, x_stride, y_stride, epsilon: 1e-6, flags, first: 2, y_offset, factor };
        let x = words(&random.floats((8 * params.x_stride) as usize, -2.0, 2.0));
        let weight = words(&random.floats(columns as usize, 0.5, 1.5));
        let buffers = vec![x, weight, vec![9, 9, 4, 0, 7, 1], untouched((rows * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{rows} x {columns}, flags {flags}"))
    };
    let mut cases =
        vec![make(1, 1, 0), make(3, 300, 0), make(4, 64, LmRmsNorm::ADD), make(4, 257, LmRmsNorm::GATHER_ROWS)];
    cases.push(make(3, 17, LmRmsNorm::GATHER_ROWS | LmRmsNorm::ADD).with_one_group());
    cases
}
