//! `lm_add_rms_norm`: adds partial sums, then normalizes rows to f16.

use roci_tolerance::Tolerance;

use crate::cases::lm::whole;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, Params};

constants! {
    /// `lm_add_rms_norm`: `x[t] += parts[used t] + … + parts[used t + used - 1]`, then `y[t, c] =
    /// x[t, c] / sqrt(mean square of x[t] + epsilon) * weight[c]` as f16, two values per word. `y`
    /// has the row stride of `x`, counted in f16 values. Strides and columns are multiples of four.
    pub struct LmAddRmsNorm {
        /// Number of rows.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Partial sums per row; 0 leaves `x` unchanged.
        pub used: u32,
        /// Stride between partial sums in floats.
        pub part_stride: u32,
        /// Added to the mean square.
        pub epsilon: f32,
    }
}

impl Params for LmAddRmsNorm {
    fn grid(&self) -> [u32; 3] {
        [self.rows, 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_add_rms_norm.wgsl",
    text: include_str!("lm_add_rms_norm.wgsl"),
    entry: "lm_add_rms_norm",
    variants: &[plain("lm_add_rms_norm")],
    bindings: &[read("parts"), read("weight"), write("x"), write("y")],
    constants: LmAddRmsNorm::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, used: u32| {
        let params =
            LmAddRmsNorm { rows, columns, x_stride: columns + 4, used, part_stride: columns + 8, epsilon: 1e-5 };
        let parts = whole(random, (rows * used).max(1) * params.part_stride);
        let x = whole(random, rows * params.x_stride);
        let weight = words(&random.floats(columns as usize, 0.5, 1.5));
        let buffers = vec![parts, weight, x, untouched((rows * params.x_stride / 2) as usize)];
        case(params, buffers, Element::F16, Tolerance::Half, format!("{rows} x {columns}, {used} parts"))
    };
    vec![make(1, 4, 0), make(3, 64, 2), make(2, 1028, 5), make(2, 4100, 1), make(5, 320, 0)]
}
