//! `elementwise_program`: an interpreter for small per-element programs.

mod cases;
mod code;

pub use code::{ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand};

use crate::family::{constants, linear, plain, read, write};
use crate::shared::MATH;
use crate::{Family, Params};

/// Maximum number of instructions in a program.
pub const ELEMENTWISE_LENGTH: usize = 16;
/// Maximum number of distinct constants in a program.
pub const ELEMENTWISE_IMMEDIATES: usize = 8;

constants! {
    /// `elementwise_program`: a sequence of elementwise operations over a row-major output of four
    /// dimensions.
    ///
    /// A program has a 32-bit accumulator, up to three inputs `a`, `b` and `c`, four temporaries
    /// and eight constants. The output is the final value of the accumulator. An input that no
    /// instruction names is never read.
    pub struct ElementwiseProgram {
        /// Output elements: a multiple of the product of `shape`, or 0.
        pub count: u32,
        /// The inner three dimensions of the output. The outermost is `count` divided by their
        /// product.
        pub shape: [u32; 3],
        /// Element strides in each output dimension, outermost first: four for `a`, four for `b`,
        /// four for `c`. A stride of 0 broadcasts.
        pub strides: [u32; 12],
        /// Sixteen 16-bit instructions, two per word with the low half first: the opcode in bits 0
        /// to 7, the operand in bits 8 to 11.
        pub program: [u32; ELEMENTWISE_LENGTH / 2],
        /// The constant table.
        pub immediates: [u32; ELEMENTWISE_IMMEDIATES],
    }
}

impl ElementwiseProgram {
    /// A program over an output of `shape`, with the element strides of `a`, `b` and `c` per output
    /// dimension. Pad a shape of fewer than four dimensions with leading ones.
    pub fn new(shape: [u32; 4], strides: [[u32; 4]; 3], code: &ElementwiseCode) -> Self {
        let count = shape.iter().fold(1u32, |product, &size| product.saturating_mul(size));
        let inner = [shape[1], shape[2], shape[3]];
        let strides = std::array::from_fn(|i| strides[i / 4][i % 4]);
        Self { count, shape: inner, strides, program: code.program, immediates: code.immediates }
    }

    /// A program over dense inputs of the output's shape.
    pub fn dense(count: u32, code: &ElementwiseCode) -> Self {
        Self::new([1, 1, 1, count], [[0, 0, 0, 1]; 3], code)
    }
}

impl Params for ElementwiseProgram {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

pub(crate) const FAMILIES: &[Family] = &[Family {
    file: "elementwise_program.wgsl",
    text: include_str!("elementwise_program.wgsl"),
    entry: "elementwise_program",
    aliases: MATH,
    variants: &[plain("elementwise_program")],
    bindings: &[read("a"), read("b"), read("c"), write("y")],
    constants: ElementwiseProgram::CONSTANTS,
    in_place: true,
    cases: cases::of,
    ..Family::DEFAULT
}];
