//! `lm_l2_norm`: rows scaled to the L2 norm of others, for projections between residual streams.

use crate::cases::lm::APPROXIMATE;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `lm_l2_norm`: `y[r, c] = x[r, c] * norm(goal[r]) / max(norm(x[r]), epsilon)`, or the sum of
    /// that and `y[r, c]`, where a norm is the root of the sum of the squares.
    pub struct LmL2Norm {
        /// Number of rows.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Row stride of `x` in floats.
        pub x_stride: u32,
        /// Row stride of `goal` in floats.
        pub goal_stride: u32,
        /// Row stride of `y` in floats.
        pub y_stride: u32,
        /// Minimum of the norm; positive, so that a row of zeros stays zero.
        pub epsilon: f32,
        /// 1 to add to `y`, 0 to overwrite it.
        pub add: u32,
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
    bindings: &[read("x"), read("goal"), write("y")],
    constants: LmL2Norm::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |rows: u32, columns: u32, epsilon: f32, add: u32| {
        let (x_stride, goal_stride, y_stride) = (columns + 3, columns + 2, columns + 1);
        let params = LmL2Norm { rows, columns, x_stride, goal_stride, y_stride, epsilon, add };
        let mut x = random.floats((rows * x_stride) as usize, -2.0, 2.0);
        // The norm of the first row is less than epsilon, that of the second is near it.
        x.iter_mut().take(columns as usize).for_each(|x| *x = 0.0);
        x.iter_mut().skip(x_stride as usize).take(columns as usize).for_each(|x| *x *= epsilon);
        let goal = words(&random.floats((rows * goal_stride) as usize, -2.0, 2.0));
        let buffers = vec![words(&x), goal, untouched((rows * y_stride) as usize)];
        case(params, buffers, Element::F32, APPROXIMATE, format!("{rows} x {columns}, epsilon {epsilon}, add {add}"))
    };
    let mut cases = vec![make(1, 1, 1e-6, 0), make(3, 64, 1e-6, 1), make(5, 257, 1.0, 0), make(2, 1000, 1e-3, 1)];
    cases.push(make(7, 128, 1e-6, 0).with_one_group());
    cases
}
