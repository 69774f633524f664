//! `resample`: weighted sums of elements along an axis.

use roci_tolerance::Tolerance;

use crate::cases::indexing::indices;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, linear, plain, read, write};
use crate::shared::{WORDS, product};
use crate::{Family, Params};

constants! {
    /// `resample`: `y[o, j, i] = sum over t of weight[j, t] * x[o, index[j, t], i]`, all row-major.
    pub struct Resample {
        /// Product of the dimensions before the axis.
        pub outer: u32,
        /// Length of the axis of `x`.
        pub axis: u32,
        /// Product of the dimensions after the axis.
        pub inner: u32,
        /// Length of the axis of `y`.
        pub count: u32,
        /// Weighted source elements per element of `y`.
        pub taps: u32,
    }
}

impl Params for Resample {
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.outer, self.count, self.inner]))
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "resample.wgsl",
    text: include_str!("resample.wgsl"),
    entry: "resample",
    aliases: WORDS,
    variants: &[plain("resample")],
    bindings: &[read("x"), read("index"), read("weight"), write("y")],
    constants: Resample::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner, count, taps): (u32, u32, u32, u32, u32)| {
        let x = random.floats((outer * axis * inner) as usize, -3.0, 3.0);
        let table = (count * taps) as usize;
        let weight = random.floats(table, -0.5, 1.0);
        let buffers =
            vec![words(&x), indices(random, table, axis), words(&weight), untouched((outer * count * inner) as usize)];
        let label = format!("{outer} x {axis} x {inner} to {count} by {taps}");
        case(Resample { outer, axis, inner, count, taps }, buffers, Element::F32, Tolerance::Close, label)
    };
    let shapes =
        [(1, 1, 1, 1, 1), (3, 5, 1, 9, 2), (2, 7, 40, 3, 4), (1, 9, 1, 300, 4), (2, 3, 4, 5, 0), (2, 3, 4, 0, 2)];
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((3, 6, 10, 14, 2)).with_one_group());
    cases
}
