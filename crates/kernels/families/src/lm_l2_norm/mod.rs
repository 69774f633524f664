//! `lm_l2_norm`: L2 norm of rows, for the queries and keys of gated delta nets.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_l2_norm`: `y[r, c] = x[r, c] / max(sqrt(sum of the squares of x[r]), epsilon)`.
    pub struct LmL2Norm {
        /// Number of rows.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Minimum of the norm; positive, so that a row of zeros stays zero.
        pub epsilon: f32,
    }
}

impl Params for LmL2Norm {
    /// One workgroup per row; beyond the maximum grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "lm_l2_norm.wgsl",
    text: include_str!("lm_l2_norm.wgsl"),
    entry: "lm_l2_norm",
    variants: &[plain("lm_l2_norm")],
    bindings: &[read("x"), write("y")],
    constants: LmL2Norm::CONSTANTS,
    workgroup: [64, 1, 1],
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, epsilon: f32| {
        let params = LmL2Norm { rows, columns, x_stride: columns + 3, y_stride: columns + 1, epsilon };
        let mut x = random.floats((rows * params.x_stride) as usize, -2.0, 2.0);
        // The norm of the first row is less than epsilon, that of the second is near it.
        x.iter_mut().take(columns as usize).for_each(|x| *x = 0.0);
        x.iter_mut().skip(params.x_stride as usize).take(columns as usize).for_each(|x| *x *= epsilon);
        let buffers = vec![words(&x), untouched((rows * params.y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{rows} x {columns}, epsilon {epsilon}"))
    };
    let mut cases = vec![make(1, 1, 1e-6), make(3, 64, 1e-6), make(5, 257, 1.0), make(2, 1000, 1e-3)];
    cases.push(make(7, 128, 1e-6).with_one_group());
    cases
}
