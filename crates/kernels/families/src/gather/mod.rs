//! `gather`: reads elements along an axis by index.

use crate::cases::indexing::{any, indices, moved};
use crate::cases::{Case, Random, untouched};
use crate::family::{constants, linear, plain, read, write};
use crate::shared::{WORDS, product};
use crate::{Family, Params};

constants! {
    /// `gather`: `y[o, j, i] = x[o, index[j], i]`, all row-major; `x` has the shape `outer x axis x
    /// inner`.
    pub struct Gather {
        /// Product of the dimensions before the axis.
        pub outer: u32,
        /// Length of the axis of `x`.
        pub axis: u32,
        /// Product of the dimensions after the axis.
        pub inner: u32,
        /// Number of indices.
        pub count: u32,
    }
}

impl Params for Gather {
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.outer, self.count, self.inner]))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "gather.wgsl",
    text: include_str!("gather.wgsl"),
    entry: "gather",
    aliases: WORDS,
    variants: &[plain("gather")],
    bindings: &[read("x"), read("index"), write("y")],
    constants: Gather::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner, count): (u32, u32, u32, u32)| {
        let index = indices(random, count as usize, axis);
        let buffers =
            vec![any(random, (outer * axis * inner) as usize), index, untouched((outer * count * inner) as usize)];
        moved(Gather { outer, axis, inner, count }, buffers, format!("{count} of {outer} x {axis} x {inner}"))
    };
    let shapes = [(1, 1, 1, 1), (1, 50, 7, 9), (3, 5, 1, 300), (2, 4, 3, 5), (2, 3, 4, 0), (0, 3, 4, 2), (2, 3, 0, 2)];
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((4, 6, 5, 30)).with_one_group());
    cases
}
