//! The operations of elementwise programs, and a builder for programs.

use std::fmt;

#[cfg(doc)]
use super::ElementwiseProgram;
use super::{ELEMENTWISE_IMMEDIATES, ELEMENTWISE_LENGTH};

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// What an instruction of an [`ElementwiseProgram`] does to the accumulator `acc`. Opcodes
        /// from [`ElementwiseOp::Load`] on take an operand `x`.
        ///
        /// Values are f32 unless the name says otherwise. Comparisons and predicates give the
        /// integer 1 or 0.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ElementwiseOp {
            $($(#[$doc])* $name = $code,)*
        }

        impl ElementwiseOp {
            /// All operations, in opcode order.
            pub const ALL: &'static [ElementwiseOp] = &[$(ElementwiseOp::$name),*];
        }
    };
}

operations! {
    /// The end of the program.
    End = 0,
    /// Stores `acc` in a temporary.
    Save = 1,
    /// Loads the coordinate of the output element in one dimension, as u32.
    Coordinate = 2,
    /// -acc.
    Neg = 8,
    /// Absolute value.
    Abs = 9,
    /// -1, 0 or 1; NaN is preserved.
    Sign = 10,
    /// Rounds up.
    Ceil = 11,
    /// Rounds down.
    Floor = 12,
    /// Rounds to the nearest integer, ties to even.
    Round = 13,
    /// Square root.
    Sqrt = 14,
    /// 1 / acc.
    Reciprocal = 15,
    /// e^acc.
    Exp = 16,
    /// Natural logarithm.
    Log = 17,
    /// Sine.
    Sin = 18,
    /// Cosine.
    Cos = 19,
    /// Tangent.
    Tan = 20,
    /// Arcsine.
    Asin = 21,
    /// Arccosine.
    Acos = 22,
    /// Arctangent.
    Atan = 23,
    /// Hyperbolic sine.
    Sinh = 24,
    /// Hyperbolic cosine.
    Cosh = 25,
    /// Hyperbolic tangent.
    Tanh = 26,
    /// Inverse hyperbolic sine.
    Asinh = 27,
    /// Inverse hyperbolic cosine.
    Acosh = 28,
    /// Inverse hyperbolic tangent.
    Atanh = 29,
    /// Error function.
    Erf = 30,
    /// 1 / (1 + e^-acc).
    Sigmoid = 31,
    /// max(acc, 0); NaN is preserved.
    Relu = 32,
    /// acc / 2 * (1 + erf(acc / sqrt 2)).
    Gelu = 33,
    /// ln(1 + e^acc).
    Softplus = 34,
    /// 1 if acc is NaN, else 0.
    IsNan = 35,
    /// 1 if acc is positive infinity, else 0.
    IsPositiveInfinity = 36,
    /// 1 if acc is negative infinity, else 0.
    IsNegativeInfinity = 37,
    /// -acc as i32; `i32::MIN` wraps to itself.
    NegI32 = 48,
    /// |acc| as i32; `i32::MIN` wraps to itself.
    AbsI32 = 49,
    /// -1, 0 or 1 as i32.
    SignI32 = 50,
    /// Bitwise complement.
    Not = 51,
    /// 1 if the word is zero, else 0.
    IsZero = 52,
    /// f32 to i32, toward zero. Saturates; NaN becomes 0.
    F32ToI32 = 64,
    /// f32 to u32, toward zero. Saturates; NaN becomes 0.
    F32ToU32 = 65,
    /// i32 to f32, to nearest.
    I32ToF32 = 66,
    /// u32 to f32, to nearest.
    U32ToF32 = 67,
    /// 1 if the f32 is not zero, else 0.
    F32ToBool = 68,
    /// 1 if the word is not zero, else 0.
    WordToBool = 69,
    /// Sign-extends the low 8 bits.
    WrapI8 = 70,
    /// Zero-extends the low 8 bits.
    WrapU8 = 71,
    /// Sign-extends the low 16 bits.
    WrapI16 = 72,
    /// Zero-extends the low 16 bits.
    WrapU16 = 73,
    /// Rounds to f16 and converts back to f32.
    RoundF16 = 74,
    /// Rounds to bf16 and converts back to f32.
    RoundBf16 = 75,
    /// `acc` = x.
    Load = 128,
    /// x if the word `acc` is not zero, else temporary 3.
    Select = 129,
    /// acc + x.
    Add = 130,
    /// acc - x.
    Sub = 131,
    /// x - acc.
    RSub = 132,
    /// acc * x.
    Mul = 133,
    /// acc / x.
    Div = 134,
    /// x / acc.
    RDiv = 135,
    /// acc^x.
    Pow = 136,
    /// x^acc.
    RPow = 137,
    /// Minimum; NaN if either is NaN.
    Min = 138,
    /// Maximum; NaN if either is NaN.
    Max = 139,
    /// Remainder of acc / x, with the sign of acc.
    Fmod = 140,
    /// Remainder of acc / x, with the sign of x.
    Modulo = 141,
    /// acc < x.
    Less = 142,
    /// acc <= x.
    LessEqual = 143,
    /// acc == x.
    Equal = 144,
    /// acc > x.
    Greater = 145,
    /// acc >= x.
    GreaterEqual = 146,
    /// Leaky ReLU with slope x: acc * x if acc < 0, else acc.
    Leaky = 147,
    /// ELU with scale x: x * (e^acc - 1) if acc < 0, else acc.
    Elu = 148,
    /// acc if acc > x, else 0.
    Threshold = 149,
    /// acc + x of 32-bit integers; wraps.
    AddI32 = 160,
    /// acc - x of 32-bit integers; wraps.
    SubI32 = 161,
    /// acc * x of 32-bit integers; wraps.
    MulI32 = 162,
    /// acc / x of i32, toward zero; 0 if x is 0.
    DivI32 = 163,
    /// Remainder of acc / x of i32, with the sign of acc; 0 if x is 0.
    ModI32 = 164,
    /// Remainder of acc / x of i32, with the sign of x; 0 if x is 0.
    ModuloI32 = 165,
    /// Minimum of i32.
    MinI32 = 166,
    /// Maximum of i32.
    MaxI32 = 167,
    /// acc^x of i32, wrapping to 32 bits. A negative x gives the real power rounded toward zero.
    PowI32 = 168,
    /// acc < x of i32.
    LessI32 = 169,
    /// acc <= x of i32.
    LessEqualI32 = 170,
    /// acc > x of i32.
    GreaterI32 = 171,
    /// acc >= x of i32.
    GreaterEqualI32 = 172,
    /// acc / x of u32; 0 if x is 0.
    DivU32 = 176,
    /// Remainder of acc / x of u32; 0 if x is 0.
    ModU32 = 177,
    /// Minimum of u32.
    MinU32 = 178,
    /// Maximum of u32.
    MaxU32 = 179,
    /// acc < x of u32.
    LessU32 = 180,
    /// acc <= x of u32.
    LessEqualU32 = 181,
    /// acc > x of u32.
    GreaterU32 = 182,
    /// acc >= x of u32.
    GreaterEqualU32 = 183,
    /// 1 if both words are equal, else 0.
    EqualWord = 184,
    /// Bitwise AND.
    And = 185,
    /// Bitwise OR.
    Or = 186,
    /// Bitwise XOR.
    Xor = 187,
    /// acc << x; 0 for a shift of 32 or more.
    ShiftLeft = 188,
    /// acc >> x, logical; 0 for a shift of 32 or more.
    ShiftRight = 189,
}

impl ElementwiseOp {
    /// The operation with this opcode.
    pub fn of(code: u8) -> Option<ElementwiseOp> {
        ElementwiseOp::ALL.iter().copied().find(|op| *op as u8 == code)
    }

    /// Whether the operation takes an operand.
    pub fn takes_operand(self) -> bool {
        self as u8 >= ElementwiseOp::Load as u8
    }
}

/// The second operand of an instruction; the first is the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementwiseOperand {
    /// An input: 0, 1, 2 for `a`, `b`, `c`.
    Input(u8),
    /// A temporary, 0 to 3.
    Temporary(u8),
    /// An immediate, stored in the program's constant table.
    Word(u32),
}

impl ElementwiseOperand {
    /// The input `a`.
    pub const A: ElementwiseOperand = ElementwiseOperand::Input(0);
    /// The input `b`.
    pub const B: ElementwiseOperand = ElementwiseOperand::Input(1);
    /// The input `c`.
    pub const C: ElementwiseOperand = ElementwiseOperand::Input(2);
}

impl From<f32> for ElementwiseOperand {
    fn from(number: f32) -> Self {
        ElementwiseOperand::Word(number.to_bits())
    }
}

/// Why a program cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementwiseError {
    /// The program has more than [`ELEMENTWISE_LENGTH`] instructions.
    TooLong,
    /// The program has more than [`ELEMENTWISE_IMMEDIATES`] distinct constants.
    TooManyImmediates,
    /// The operation got an operand that it does not take, lacks one that it requires, or got an
    /// operand that is out of range.
    Operand(ElementwiseOp),
}

impl fmt::Display for ElementwiseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementwiseError::TooLong => {
                write!(f, "an elementwise program has at most {ELEMENTWISE_LENGTH} instructions")
            }
            ElementwiseError::TooManyImmediates => {
                write!(f, "an elementwise program has at most {ELEMENTWISE_IMMEDIATES} constants")
            }
            ElementwiseError::Operand(op) => write!(f, "{op:?} in an elementwise program has a wrong operand"),
        }
    }
}

impl std::error::Error for ElementwiseError {}

/// Builder for the code of an [`ElementwiseProgram`]. The accumulator starts as 0, so a program
/// begins with [`ElementwiseOp::Load`] or [`ElementwiseOp::Coordinate`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElementwiseCode {
    pub(super) program: [u32; ELEMENTWISE_LENGTH / 2],
    length: usize,
    pub(super) immediates: [u32; ELEMENTWISE_IMMEDIATES],
    constants: usize,
}

impl ElementwiseCode {
    /// An empty program. Its output is 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the program has no instructions.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Appends an operation that takes no operand.
    pub fn then(self, op: ElementwiseOp) -> Result<Self, ElementwiseError> {
        if op.takes_operand() || matches!(op, ElementwiseOp::End | ElementwiseOp::Save | ElementwiseOp::Coordinate) {
            return Err(ElementwiseError::Operand(op));
        }
        self.push(op, 0)
    }

    /// Appends an operation on `operand`.
    pub fn with(mut self, op: ElementwiseOp, operand: impl Into<ElementwiseOperand>) -> Result<Self, ElementwiseError> {
        if !op.takes_operand() {
            return Err(ElementwiseError::Operand(op));
        }
        let field = match operand.into() {
            ElementwiseOperand::Input(input @ 0..3) => input,
            ElementwiseOperand::Temporary(temporary @ 0..4) => 4 + temporary,
            ElementwiseOperand::Word(word) => 8 + self.immediate(word)?,
            _ => return Err(ElementwiseError::Operand(op)),
        };
        self.push(op, field)
    }

    /// Appends a store of the accumulator to a temporary, 0 to 3.
    pub fn save(self, temporary: u8) -> Result<Self, ElementwiseError> {
        if temporary >= 4 {
            return Err(ElementwiseError::Operand(ElementwiseOp::Save));
        }
        self.push(ElementwiseOp::Save, 4 + temporary)
    }

    /// Appends a load of the element's coordinate in an output dimension, 0 to 3.
    pub fn coordinate(self, dimension: u8) -> Result<Self, ElementwiseError> {
        if dimension >= 4 {
            return Err(ElementwiseError::Operand(ElementwiseOp::Coordinate));
        }
        self.push(ElementwiseOp::Coordinate, dimension)
    }

    fn push(mut self, op: ElementwiseOp, field: u8) -> Result<Self, ElementwiseError> {
        let word = self.program.get_mut(self.length / 2).ok_or(ElementwiseError::TooLong)?;
        *word |= (u32::from(op as u8) | u32::from(field) << 8) << (self.length % 2 * 16);
        self.length += 1;
        Ok(self)
    }

    /// The index of a constant in the table. Equal constants share an entry.
    fn immediate(&mut self, word: u32) -> Result<u8, ElementwiseError> {
        let known = self.immediates[..self.constants].iter().position(|&one| one == word);
        let at = known.unwrap_or(self.constants);
        *self.immediates.get_mut(at).ok_or(ElementwiseError::TooManyImmediates)? = word;
        self.constants = self.constants.max(at + 1);
        Ok(at as u8)
    }
}
