//! `matvec_*`: products of a matrix and a vector.

use crate::product_aliases::scalar_aliases;
use roci_tolerance::Tolerance;

use crate::cases::{Case, Element, Random, case, packed, untouched, words};
use crate::family::{constants, plain, read, write};
use crate::{Family, MAX_GROUPS, Params};

/// Matrix rows per `matvec` workgroup.
pub const MATVEC_ROWS: u32 = 4;

constants! {
    /// `matvec_*`: `y = A * x`, `A` row-major `m x k`.
    pub struct Matvec {
        /// Rows of `A`, length of `y`.
        pub m: u32,
        /// Columns of `A`, length of `x`.
        pub k: u32,
        /// Row stride of `A` in elements.
        pub lda: u32,
    }
}

impl Params for Matvec {
    /// One workgroup per [`MATVEC_ROWS`] rows; beyond the maximum grid, the kernel loops.
    fn grid(&self) -> [u32; 3] {
        [self.m.div_ceil(MATVEC_ROWS).min(MAX_GROUPS), 1, 1]
    }
}

/// The epilogue without bias and activation.
macro_rules! epilogue {
    () => {
        include_str!("matvec_epilogue.wgsl")
    };
}

pub(crate) const MATVEC: Family = Family {
    file: "matvec.wgsl",
    text: include_str!("matvec.wgsl"),
    entry: "matvec",
    variants: &[],
    bindings: &[read("a"), read("x"), write("y")],
    constants: Matvec::CONSTANTS,
    cases,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    Family { aliases: scalar_aliases!("f32", "f32", epilogue!()), variants: &[plain("matvec_f32")], ..MATVEC },
    Family { aliases: scalar_aliases!("f16", "f32", epilogue!()), variants: &[plain("matvec_f16")], ..MATVEC },
];

fn cases(kernel: &str, random: &mut Random) -> Vec<Case> {
    let element = if kernel.ends_with("_f16") { Element::F16 } else { Element::F32 };
    let shapes =
        [(1, 1, 1), (4, 1024, 1024), (7, 1030, 1030), (5, 3, 3), (3, 0, 0), (9, 17, 20), (0, 5, 5), (2, 2500, 2501)];
    let mut make = |(m, k, lda): (u32, u32, u32)| {
        let a = random.floats((m * lda) as usize, -1.0, 1.0);
        let x = random.floats(k as usize, -1.0, 1.0);
        let buffers = vec![packed(element, &a), words(&x), untouched(m as usize)];
        case(Matvec { m, k, lda }, buffers, Element::F32, Tolerance::Approximate, format!("{m} x {k}, rows of {lda}"))
    };
    let mut cases: Vec<_> = shapes.into_iter().map(&mut make).collect();
    cases.push(make((21, 40, 40)).with_one_group());
    cases
}
