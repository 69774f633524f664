//! `scatter_elements`: combines each update with an element along an axis.

mod cases;

use crate::family::{constants, linear, plain, read, write};
use crate::shared::{WORDS, product};
use crate::{Family, Params};

constants! {
    /// `scatter_elements`: for each line, and for each step along the axis in order, combines an
    /// update with `y[strides * line + axis_stride * index[update]]`, where the offset `update =
    /// update_strides * line + step_stride * step` is valid for both `index` and `updates`.
    ///
    /// `y` is updated in place. Different lines must write different elements. Pad fewer than four
    /// line dimensions with leading ones.
    pub struct ScatterElements {
        /// Number of lines: the product of `shape`.
        pub lines: u32,
        /// The shape of `index` without the indexed axis.
        pub shape: [u32; 4],
        /// Element strides of `y` along each line dimension.
        pub strides: [u32; 4],
        /// Element strides of `index` and `updates` along each line dimension.
        pub update_strides: [u32; 4],
        /// Length of the indexed axis in `y`.
        pub axis: u32,
        /// Element stride of `y` along the indexed axis.
        pub axis_stride: u32,
        /// Length of the indexed axis in `index` and `updates`.
        pub steps: u32,
        /// Element stride of `index` and `updates` along the indexed axis.
        pub step_stride: u32,
        /// A [`Combine`](crate::Combine).
        pub combine: u32,
        /// [`Numbers`](crate::Numbers) of `updates` and `y`.
        pub numbers: u32,
        /// Nonzero if no two updates write the same element; they are then applied in parallel
        /// instead of in order.
        pub unique_indices: u32,
    }
}

impl Params for ScatterElements {
    /// One invocation per line, or per update if updates are disjoint.
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.lines, if self.unique_indices == 0 { 1 } else { self.steps }]))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "scatter_elements.wgsl",
    text: include_str!("scatter_elements.wgsl"),
    entry: "scatter_elements",
    aliases: WORDS,
    variants: &[plain("scatter_elements")],
    bindings: &[read("index"), read("updates"), write("y")],
    constants: ScatterElements::CONSTANTS,
    cases: cases::of,
    ..Family::DEFAULT
}];
