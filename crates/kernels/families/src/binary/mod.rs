//! `binary_*`: a function of two elements, with and without broadcasting.

mod cases;

use crate::family::{constants, linear, read, variants, write};
use crate::shared::MATH;
use crate::{Family, Params};

constants! {
    /// `binary_*`: `y[i] = f(a[...], b[...])` over a row-major output of `shape`, with strided
    /// inputs; a stride of 0 broadcasts.
    ///
    /// Pad a shape of fewer than four dimensions with leading ones. The flat variants only read
    /// `count`.
    pub struct Binary {
        /// Output elements: the product of `shape`.
        pub count: u32,
        /// Output shape, outermost first.
        pub shape: [u32; 4],
        /// Element strides of `a` in each output dimension.
        pub a_strides: [u32; 4],
        /// Element strides of `b` in each output dimension.
        pub b_strides: [u32; 4],
    }
}

impl Binary {
    /// Dense inputs of equal shape, for the flat variants.
    pub fn flat(count: u32) -> Self {
        Self { count, shape: [1, 1, 1, count], a_strides: [0, 0, 0, 1], b_strides: [0, 0, 0, 1] }
    }
}

impl Params for Binary {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

/// Common part of the variants with and without broadcasting.
const BINARY: Family = Family {
    file: "binary.wgsl",
    text: include_str!("binary.wgsl"),
    entry: "binary",
    aliases: MATH,
    variants: &[],
    bindings: &[read("a"), read("b"), write("y")],
    constants: Binary::CONSTANTS,
    cases: cases::of,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    Family {
        variants: variants! {
            "binary_add": OP = 0, BROADCAST = 0;
            "binary_sub": OP = 1, BROADCAST = 0;
            "binary_mul": OP = 2, BROADCAST = 0;
            "binary_div": OP = 3, BROADCAST = 0;
            "binary_min": OP = 4, BROADCAST = 0;
            "binary_max": OP = 5, BROADCAST = 0;
            "binary_pow": OP = 6, BROADCAST = 0;
        },
        // A broadcast element is read for several outputs; without broadcasting, an element is only
        // read for the output that may overwrite it.
        in_place: true,
        ..BINARY
    },
    Family {
        variants: variants! {
            "binary_add_broadcast": OP = 0, BROADCAST = 1;
            "binary_sub_broadcast": OP = 1, BROADCAST = 1;
            "binary_mul_broadcast": OP = 2, BROADCAST = 1;
            "binary_div_broadcast": OP = 3, BROADCAST = 1;
            "binary_min_broadcast": OP = 4, BROADCAST = 1;
            "binary_max_broadcast": OP = 5, BROADCAST = 1;
            "binary_pow_broadcast": OP = 6, BROADCAST = 1;
        },
        ..BINARY
    },
];
