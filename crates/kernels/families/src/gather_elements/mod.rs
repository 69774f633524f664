//! `gather_elements`: reads each element by its own index along an axis.

use crate::cases::indexing::{any, indices, moved};
use crate::cases::{Case, Random, untouched};
use crate::family::{constants, linear, plain, read, write};
use crate::shared::WORDS;
use crate::{Family, Params};

constants! {
    /// `gather_elements`: `y[p] = x[dot(strides, coordinates of p in shape) + axis_stride *
    /// index[p]]`; `index` and `y` are row-major.
    ///
    /// Pad a shape of fewer than five dimensions with leading ones.
    pub struct GatherElements {
        /// Elements of `index` and `y`: the product of `shape`.
        pub count: u32,
        /// Shape of `index` and `y`, outermost first.
        pub shape: [u32; 5],
        /// Element strides of `x` along each dimension; 0 for the indexed axis.
        pub strides: [u32; 5],
        /// Length of the indexed axis in `x`.
        pub axis: u32,
        /// Element stride of `x` along the indexed axis.
        pub axis_stride: u32,
    }
}

impl Params for GatherElements {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "gather_elements.wgsl",
    text: include_str!("gather_elements.wgsl"),
    entry: "gather_elements",
    aliases: WORDS,
    variants: &[plain("gather_elements")],
    bindings: &[read("x"), read("index"), write("y")],
    constants: GatherElements::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |shape: [u32; 5], along: usize, axis: u32| {
        let mut full = shape;
        full[along] = axis;
        let mut strides = [1; 5];
        (0..4).rev().for_each(|at| strides[at] = strides[at + 1] * full[at + 1]);
        let axis_stride = std::mem::replace(&mut strides[along], 0);
        let count = shape.iter().product();
        let params = GatherElements { count, shape, strides, axis, axis_stride };
        let index = indices(random, count as usize, axis);
        let buffers = vec![any(random, full.iter().product::<u32>() as usize), index, untouched(count as usize)];
        moved(params, buffers, format!("{shape:?} of {axis} along {along}"))
    };
    let mut cases = vec![
        make([1, 1, 1, 1, 1], 4, 1),
        make([1, 1, 1, 1, 300], 4, 17),
        make([1, 1, 3, 4, 5], 3, 9),
        make([2, 3, 2, 4, 5], 0, 7),
        make([2, 3, 2, 4, 5], 2, 3),
        make([1, 1, 3, 0, 5], 4, 3),
    ];
    cases.push(make([2, 3, 2, 5, 12], 1, 4).with_one_group());
    cases
}
