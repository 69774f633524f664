//! `scan_*`: running sums and products along an axis.

use roci_tolerance::Tolerance;

use crate::cases::axis::SHAPES;
use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, read, variants, write};
use crate::shared::{WORDS, lines};
use crate::{Family, Numbers, Params};

constants! {
    /// `scan_sum`, `scan_prod`: `y[o, r, i]` is the sum or product of `x[o, s, i]` over `s <= r`,
    /// all row-major.
    pub struct Scan {
        /// Product of the dimensions before the axis.
        pub outer: u32,
        /// Length of the axis.
        pub axis: u32,
        /// Product of the dimensions after the axis.
        pub inner: u32,
        /// [`Numbers`](crate::Numbers) of `x` and `y`; integers wrap.
        pub numbers: u32,
        /// Nonzero for an exclusive scan, without `x[o, r, i]` itself.
        pub exclusive: u32,
        /// Nonzero to scan from the end, over `s >= r`.
        pub reverse: u32,
    }
}

impl Params for Scan {
    /// One workgroup per line, or one invocation if `inner` is large; beyond the maximum grid, the
    /// kernel loops.
    fn grid(&self) -> [u32; 3] {
        lines(self.outer, self.inner)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "scan.wgsl",
    text: include_str!("scan.wgsl"),
    entry: "scan",
    aliases: WORDS,
    variants: variants! {
        "scan_sum": COMBINE = 1;
        "scan_prod": COMBINE = 2;
    },
    bindings: &[read("x"), write("y")],
    constants: Scan::CONSTANTS,
    in_place: true,
    cases,
    ..Family::DEFAULT
}];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let op = kernel.strip_prefix("scan_").unwrap_or(kernel);
    let mut make = |(outer, axis, inner): (u32, u32, u32), numbers: Numbers, exclusive: u32, reverse: u32| {
        let count = (outer * axis * inner) as usize;
        let x = match (numbers, op) {
            (Numbers::F32, "prod") => words(&random.floats(count, 0.9, 1.1)),
            (Numbers::F32, _) => words(&random.floats(count, -3.0, 5.0)),
            _ => (0..count).map(|_| random.word() | 1).collect(),
        };
        let (element, tolerance) = match numbers {
            Numbers::F32 => (Element::F32, Tolerance::Approximate),
            _ => (Element::Word, Tolerance::Exact),
        };
        let params = Scan { outer, axis, inner, numbers: numbers.word(), exclusive, reverse };
        let label = format!("{outer} x {axis} x {inner}, {numbers:?}, exclusive {exclusive}, reverse {reverse}");
        case(params, vec![x, untouched(count)], element, tolerance, label)
    };
    let mut cases: Vec<_> = SHAPES.into_iter().map(|shape| make(shape, Numbers::F32, 0, 0)).collect();
    for (exclusive, reverse) in [(0, 1), (1, 0), (1, 1)] {
        cases.push(make((2, 300, 3), Numbers::F32, exclusive, reverse));
        cases.push(make((2, 20, 50), Numbers::I32, exclusive, reverse));
        cases.push(make((3, 600, 2), Numbers::U32, exclusive, reverse));
    }
    cases.push(make((9, 20, 2), Numbers::I32, 0, 0).with_one_group());
    cases.push(make((9, 20, 60), Numbers::F32, 0, 0).with_one_group());
    cases
}
