//! `arg_max`, `arg_min`: the index of an extreme along an axis.

use roci_tolerance::Tolerance;

use crate::cases::axis::{SHAPES, few};
use crate::cases::{Case, Element, Random, case, untouched};
use crate::family::{constants, read, variants, write};
use crate::shared::{WORDS, lines};
use crate::{Family, Numbers, Params};

constants! {
    /// `arg_max`, `arg_min`: `y[o, i]` is the index `r` of the largest or smallest `x[o, r, i]`,
    /// all row-major. NaN wins in both.
    pub struct ArgReduce {
        /// Product of the dimensions before the axis.
        pub outer: u32,
        /// Length of the axis: at least 1.
        pub axis: u32,
        /// Product of the dimensions after the axis.
        pub inner: u32,
        /// [`Numbers`](crate::Numbers) of `x`.
        pub numbers: u32,
        /// Among equal elements, the first index wins if 0, else the last.
        pub last: u32,
    }
}

impl Params for ArgReduce {
    /// One workgroup per output element, or one invocation if `inner` is large; beyond the maximum
    /// grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        lines(self.outer, self.inner)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "arg_reduce.wgsl",
    text: include_str!("arg_reduce.wgsl"),
    entry: "arg_reduce",
    aliases: WORDS,
    variants: variants! {
        "arg_max": SMALLEST = 0;
        "arg_min": SMALLEST = 1;
    },
    bindings: &[read("x"), write("y")],
    constants: ArgReduce::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |(outer, axis, inner): (u32, u32, u32), numbers: Numbers, last: u32| {
        let buffers = vec![few(random, (outer * axis * inner) as usize, numbers), untouched((outer * inner) as usize)];
        let label = format!("{outer} x {axis} x {inner}, {numbers:?}, last {last}");
        let params = ArgReduce { outer, axis, inner, numbers: numbers.word(), last };
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    let mut cases = Vec::new();
    for shape in SHAPES.into_iter().filter(|&(_, axis, _)| axis > 0) {
        cases.extend([make(shape, Numbers::F32, 0), make(shape, Numbers::F32, 1)]);
    }
    for numbers in [Numbers::I32, Numbers::U32] {
        cases.extend([make((3, 500, 2), numbers, 0), make((2, 30, 40), numbers, 1)]);
    }
    cases.push(make((9, 20, 2), Numbers::F32, 0).with_one_group());
    cases.push(make((9, 20, 60), Numbers::F32, 1).with_one_group());
    cases
}
