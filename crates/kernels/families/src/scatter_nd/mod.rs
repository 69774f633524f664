//! `scatter_nd`: combines slices with updates by tuples of indices.

mod cases;

use crate::family::{constants, linear, plain, read, write};
use crate::shared::{WORDS, product};
use crate::{Family, Params};

constants! {
    /// `scatter_nd`: for each `n`, in order, combines `updates[n, i]` with `y[strides * index[n,
    /// ..] + i]`.
    ///
    /// `y` is updated in place; `index` and `updates` are row-major.
    pub struct ScatterNd {
        /// Number of index tuples.
        pub count: u32,
        /// Elements updated per index tuple.
        pub slice: u32,
        /// Indices per tuple: at most 5.
        pub depth: u32,
        /// Lengths of the indexed axes.
        pub sizes: [u32; 5],
        /// Element strides of `y` along the indexed axes.
        pub strides: [u32; 5],
        /// A [`Combine`](crate::Combine).
        pub combine: u32,
        /// [`Numbers`](crate::Numbers) of `updates` and `y`.
        pub numbers: u32,
        /// Nonzero if no two updates write the same element; they are then applied in parallel
        /// instead of in order.
        pub unique_indices: u32,
    }
}

impl Params for ScatterNd {
    /// One invocation per element of a slice, or per element of `updates` if updates are disjoint.
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.slice, if self.unique_indices == 0 { 1 } else { self.count }]))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "scatter_nd.wgsl",
    text: include_str!("scatter_nd.wgsl"),
    entry: "scatter_nd",
    aliases: WORDS,
    variants: &[plain("scatter_nd")],
    bindings: &[read("index"), read("updates"), write("y")],
    constants: ScatterNd::CONSTANTS,
    cases: cases::of,
    ..Family::DEFAULT
}];
