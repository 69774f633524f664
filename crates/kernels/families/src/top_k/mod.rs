//! `top_k`: the largest or smallest elements of each row.

use roci_tolerance::Tolerance;

use crate::cases::axis::{NUMBERS, few};
use crate::cases::{Case, Element, Random, case, untouched};
use crate::family::{constants, linear, plain, read, write};
use crate::shared::WORDS;
use crate::{Family, MAX_GROUPS, Numbers, Params};

constants! {
    /// `top_k`: the `k` largest or smallest elements of each row of a row-major matrix in sorted
    /// order, and their column indices. Among equal elements, the lower column comes first. NaN
    /// counts as larger than any number.
    pub struct TopK {
        /// Number of rows.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
        /// Results per row: at most `columns`.
        pub k: u32,
        /// [`Numbers`](crate::Numbers) of `x`.
        pub numbers: u32,
        /// Selects the smallest elements if 0, else the largest.
        pub largest: u32,
    }
}

impl TopK {
    /// Whether the kernel computes each element's rank, instead of selecting one result after the
    /// other.
    fn counts(&self) -> bool {
        self.k > 32 && self.k >= self.columns / 8
    }
}

impl Params for TopK {
    /// One invocation per element or one workgroup per row; beyond the maximum grid, the kernel
    /// loops.
    fn grid(&self) -> [u32; 3] {
        if self.counts() {
            return linear(self.rows.saturating_mul(self.columns));
        }
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "top_k.wgsl",
    text: include_str!("top_k.wgsl"),
    entry: "top_k",
    aliases: WORDS,
    variants: &[plain("top_k")],
    bindings: &[read("x"), write("values"), write("indices")],
    constants: TopK::CONSTANTS,
    cases,
    ..Family::DEFAULT
}];

fn cases(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |(rows, columns, k): (u32, u32, u32), numbers: Numbers, largest: u32| {
        let x = few(random, (rows * columns) as usize, numbers);
        let outputs = (rows * k) as usize;
        let buffers = vec![x, untouched(outputs), untouched(outputs)];
        let label = format!("{k} of {rows} x {columns}, {numbers:?}, largest {largest}");
        let params = TopK { rows, columns, k, numbers: numbers.word(), largest };
        case(params, buffers, Element::Word, Tolerance::Exact, label)
    };
    let shapes = [(1, 1, 1), (3, 10, 10), (2, 700, 5), (3, 300, 1), (2, 100, 64), (1, 600, 600), (2, 5, 0), (0, 5, 2)];
    let mut cases: Vec<_> = shapes
        .into_iter()
        .flat_map(|shape| [0, 1].map(|largest| (shape, largest)))
        .map(|(shape, largest)| make(shape, Numbers::F32, largest))
        .collect();
    for numbers in NUMBERS {
        cases.extend([make((2, 90, 4), numbers, 0), make((2, 90, 50), numbers, 1)]);
    }
    cases.push(make((9, 20, 2), Numbers::I32, 1).with_one_group());
    cases.push(make((9, 70, 40), Numbers::I32, 0).with_one_group());
    cases
}
