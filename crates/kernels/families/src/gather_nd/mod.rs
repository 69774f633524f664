//! `gather_nd`: reads slices by tuples of indices.

use crate::cases::indexing::{any, indices, moved};
use crate::cases::{Case, Random, untouched};
use crate::family::{constants, linear, plain, read, write};
use crate::shared::{WORDS, product};
use crate::{Family, Params};

constants! {
    /// `gather_nd`: `y[b, n, i] = x[b * batch_stride + strides * index[b, n, ..] + i]`; `index` and
    /// `y` are row-major.
    pub struct GatherNd {
        /// Batches, each with its own indices.
        pub batches: u32,
        /// Index tuples per batch.
        pub count: u32,
        /// Elements copied per index tuple.
        pub slice: u32,
        /// Indices per tuple: at most 5.
        pub depth: u32,
        /// Lengths of the indexed axes.
        pub sizes: [u32; 5],
        /// Element strides of `x` along the indexed axes.
        pub strides: [u32; 5],
        /// Element stride between batches of `x`.
        pub batch_stride: u32,
    }
}

impl Params for GatherNd {
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.batches, self.count, self.slice]))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "gather_nd.wgsl",
    text: include_str!("gather_nd.wgsl"),
    entry: "gather_nd",
    aliases: WORDS,
    variants: &[plain("gather_nd")],
    bindings: &[read("x"), read("index"), write("y")],
    constants: GatherNd::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    // Batches, tuples, the indexed sizes, words per slice.
    let mut make = |batches: u32, count: u32, indexed: &[u32], slice: u32| {
        let depth = indexed.len();
        let (mut sizes, mut strides) = ([0; 5], [0; 5]);
        let mut stride = slice;
        for (d, &size) in indexed.iter().enumerate().rev() {
            (sizes[d], strides[d]) = (size, stride);
            stride *= size;
        }
        let params = GatherNd { batches, count, slice, depth: depth as u32, sizes, strides, batch_stride: stride };
        let tuples = (batches * count) as usize;
        let index =
            (0..tuples).flat_map(|_| indexed.iter().flat_map(|&size| indices(random, 1, size)).collect::<Vec<_>>());
        let index = index.collect();
        let buffers = vec![any(random, (batches * stride) as usize), index, untouched(tuples * slice as usize)];
        moved(params, buffers, format!("{batches} x {count} tuples of {indexed:?}, {slice} words"))
    };
    let mut cases = vec![
        make(1, 1, &[1], 1),
        make(1, 30, &[4, 5], 1),
        make(1, 7, &[6], 50),
        make(3, 5, &[4], 3),
        make(2, 40, &[2, 3, 2, 3, 2], 1),
        make(2, 0, &[3], 4),
        make(2, 3, &[3], 0),
    ];
    cases.push(make(2, 30, &[3, 4], 10).with_one_group());
    cases
}
