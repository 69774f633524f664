//! `softmax`, `log_softmax`: over rows.

use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, untouched, words};
use crate::family::{constants, read, variants, write};
use crate::{Family, MAX_GROUPS, Params};

constants! {
    /// `softmax`: over the last axis of a row-major `rows x columns` matrix.
    pub struct Softmax {
        /// Rows, each normalized independently.
        pub rows: u32,
        /// Number of columns.
        pub columns: u32,
    }
}

impl Params for Softmax {
    /// One workgroup per row; beyond the maximum grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "softmax.wgsl",
    text: include_str!("softmax.wgsl"),
    entry: "softmax",
    variants: variants! {
        "softmax": LOGARITHM = 0;
        "log_softmax": LOGARITHM = 1;
    },
    bindings: &[read("x"), write("y")],
    constants: Softmax::CONSTANTS,
    in_place: true,
    cases,
    ..Family::DEFAULT
}];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    if kernel == "log_softmax" { logarithmic(random) } else { normal(random) }
}

fn normal(random: &mut Random) -> Vec<Case> {
    let shapes = [(1, 1), (3, 7), (2, 256), (5, 257), (1, 1000), (0, 4), (4, 0)];
    let mut make = |(rows, columns): (u32, u32)| {
        let mut x = random.floats((rows * columns) as usize, -5.0, 5.0);
        // The maximum of the first row is far outside exp()'s range, and one element has no weight.
        x.iter_mut().take(columns as usize).for_each(|x| *x += 1000.0);
        if let [_, second, ..] = &mut x[..] {
            *second = f32::NEG_INFINITY;
        }
        let buffers = vec![words(&x), untouched(x.len())];
        case(Softmax { rows, columns }, buffers, Element::F32, Tolerance::Close, format!("{rows} x {columns}"))
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((7, 30)).with_one_group());
    cases
}

fn logarithmic(random: &mut Random) -> Vec<Case> {
    let mut make = |(rows, columns): (u32, u32)| {
        let mut x = random.floats((rows * columns) as usize, -5.0, 5.0);
        x.iter_mut().take(columns as usize).for_each(|x| *x += 1000.0);
        if let [_, second, ..] = &mut x[..] {
            *second = f32::NEG_INFINITY;
        }
        let buffers = vec![words(&x), untouched(x.len())];
        case(Softmax { rows, columns }, buffers, Element::F32, Tolerance::Close, format!("{rows} x {columns}"))
    };
    let mut cases: Vec<_> =
        [(3, 7), (2, 256), (5, 257), (1, 1000), (0, 4), (4, 0)].into_iter().map(&mut make).collect();
    cases.push(make((7, 30)).with_one_group());
    cases
}
