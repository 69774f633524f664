//! `chain`: a small program for each element, and how such programs are written.

use std::fmt;

use bytemuck::{Pod, Zeroable};

use super::{Params, linear};

/// Instructions that fit a program.
pub const CHAIN_LENGTH: usize = 16;
/// Constants that a program can hold.
pub const CHAIN_IMMEDIATES: usize = 8;

/// `chain`: element-wise operations, one after the other, over a row-major output of four dimensions.
///
/// A program has an accumulator of 32 bits, up to three inputs `a`, `b`, `c`, four temporaries and eight constants; the
/// output is what the accumulator holds at the end. An input that no instruction names is never read, whatever is
/// bound.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Chain {
    /// Output elements: a multiple of the product of `shape`, or 0.
    pub count: u32,
    /// The inner three dimensions of the output; the outermost follows from the count.
    pub shape: [u32; 3],
    /// Element strides in each output dimension, outermost first: four for `a`, four for `b`, four for `c`; 0 repeats.
    pub strides: [u32; 12],
    /// Sixteen instructions of 16 bits, the low half of a word first: the opcode, and from bit 8 on four bits that say
    /// which operand.
    pub program: [u32; CHAIN_LENGTH / 2],
    /// The constants.
    pub immediates: [u32; CHAIN_IMMEDIATES],
}

impl Chain {
    /// A program over an output of `shape`, with the element strides of `a`, `b` and `c` in it.
    ///
    /// Fewer than four dimensions: lead with ones.
    pub fn new(shape: [u32; 4], strides: [[u32; 4]; 3], code: &ChainCode) -> Self {
        let count = shape.iter().fold(1u32, |product, &size| product.saturating_mul(size));
        let inner = [shape[1], shape[2], shape[3]];
        let strides = std::array::from_fn(|i| strides[i / 4][i % 4]);
        Self { count, shape: inner, strides, program: code.program, immediates: code.immediates }
    }

    /// A program over inputs of the output's own shape.
    pub fn dense(count: u32, code: &ChainCode) -> Self {
        Self::new([1, 1, 1, count], [[0, 0, 0, 1]; 3], code)
    }
}

impl Params for Chain {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)*) => {
        /// What an instruction of a [`Chain`] does with the accumulator, `acc`. From [`ChainOp::Load`] on they take an
        /// operand, `x`.
        ///
        /// Numbers are f32 unless the name says otherwise; comparisons give 1 or 0 as a word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum ChainOp {
            $($(#[$doc])* $name = $code,)*
        }

        impl ChainOp {
            /// All of them, in the order of their codes.
            pub const ALL: &'static [ChainOp] = &[$(ChainOp::$name),*];
        }
    };
}

operations! {
    /// The end of the program.
    End = 0,
    /// Keeps `acc` in a temporary.
    Save = 1,
    /// `acc` = the coordinate of the output element in a dimension, as u32.
    Coordinate = 2,
    /// -acc.
    Neg = 8,
    /// The magnitude.
    Abs = 9,
    /// -1, 0 or 1; NaN stays.
    Sign = 10,
    /// To the integer above.
    Ceil = 11,
    /// To the integer below.
    Floor = 12,
    /// To the nearest integer, the even one of two.
    Round = 13,
    /// The square root.
    Sqrt = 14,
    /// 1 / acc.
    Reciprocal = 15,
    /// e to the power of acc.
    Exp = 16,
    /// The natural logarithm.
    Log = 17,
    /// The sine.
    Sin = 18,
    /// The cosine.
    Cos = 19,
    /// The tangent.
    Tan = 20,
    /// The angle of this sine.
    Asin = 21,
    /// The angle of this cosine.
    Acos = 22,
    /// The angle of this tangent.
    Atan = 23,
    /// The hyperbolic sine.
    Sinh = 24,
    /// The hyperbolic cosine.
    Cosh = 25,
    /// The hyperbolic tangent.
    Tanh = 26,
    /// The inverse of [`ChainOp::Sinh`].
    Asinh = 27,
    /// The inverse of [`ChainOp::Cosh`].
    Acosh = 28,
    /// The inverse of [`ChainOp::Tanh`].
    Atanh = 29,
    /// The error function.
    Erf = 30,
    /// 1 / (1 + e^-acc).
    Sigmoid = 31,
    /// Zero for numbers below zero; NaN stays.
    Relu = 32,
    /// acc / 2 * (1 + erf(acc / sqrt 2)).
    Gelu = 33,
    /// The logarithm of 1 + e^acc.
    Softplus = 34,
    /// Whether it is not a number.
    IsNan = 35,
    /// Whether it is infinity.
    IsPositiveInfinity = 36,
    /// Whether it is minus infinity.
    IsNegativeInfinity = 37,
    /// -acc of i32; the lowest stays.
    NegI32 = 48,
    /// The magnitude of i32; the lowest stays.
    AbsI32 = 49,
    /// -1, 0 or 1 of i32.
    SignI32 = 50,
    /// All bits flipped.
    Not = 51,
    /// Whether the word is zero.
    IsZero = 52,
    /// f32 to i32, toward zero; what is too large becomes the limit, and NaN zero.
    F32ToI32 = 64,
    /// f32 to u32, as [`ChainOp::F32ToI32`].
    F32ToU32 = 65,
    /// i32 to the nearest f32.
    I32ToF32 = 66,
    /// u32 to the nearest f32.
    U32ToF32 = 67,
    /// Whether the number is not zero.
    F32ToBool = 68,
    /// Whether the word is not zero.
    WordToBool = 69,
    /// The low 8 bits with sign.
    WrapI8 = 70,
    /// The low 8 bits.
    WrapU8 = 71,
    /// The low 16 bits with sign.
    WrapI16 = 72,
    /// The low 16 bits.
    WrapU16 = 73,
    /// To the nearest f16, and back.
    ThroughF16 = 74,
    /// To the nearest bf16, and back.
    ThroughBf16 = 75,
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
    /// acc to the power of x.
    Pow = 136,
    /// x to the power of acc.
    RPow = 137,
    /// The smaller one; NaN if either is.
    Min = 138,
    /// The larger one; NaN if either is.
    Max = 139,
    /// The rest of acc / x, with the sign of acc.
    Fmod = 140,
    /// The rest of acc / x, with the sign of x.
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
    /// acc * x where acc is below zero.
    Leaky = 147,
    /// x * (e^acc - 1) where acc is below zero.
    Elu = 148,
    /// Zero unless acc is above x.
    Threshold = 149,
    /// acc + x of 32-bit integers.
    AddI32 = 160,
    /// acc - x of 32-bit integers.
    SubI32 = 161,
    /// acc * x of 32-bit integers.
    MulI32 = 162,
    /// acc / x of i32, toward zero; 0 where x is 0.
    DivI32 = 163,
    /// The rest of acc / x of i32, with the sign of acc; 0 where x is 0.
    ModI32 = 164,
    /// The rest of acc / x of i32, with the sign of x; 0 where x is 0.
    ModuloI32 = 165,
    /// The smaller i32.
    MinI32 = 166,
    /// The larger i32.
    MaxI32 = 167,
    /// acc to the power of x of i32, in 32 bits; below zero the true power toward zero.
    PowI32 = 168,
    /// acc < x of i32.
    LessI32 = 169,
    /// acc <= x of i32.
    LessEqualI32 = 170,
    /// acc > x of i32.
    GreaterI32 = 171,
    /// acc >= x of i32.
    GreaterEqualI32 = 172,
    /// acc / x of u32; 0 where x is 0.
    DivU32 = 176,
    /// The rest of acc / x of u32; 0 where x is 0.
    ModU32 = 177,
    /// The smaller u32.
    MinU32 = 178,
    /// The larger u32.
    MaxU32 = 179,
    /// acc < x of u32.
    LessU32 = 180,
    /// acc <= x of u32.
    LessEqualU32 = 181,
    /// acc > x of u32.
    GreaterU32 = 182,
    /// acc >= x of u32.
    GreaterEqualU32 = 183,
    /// Whether both words are the same.
    EqualWord = 184,
    /// The bits of both.
    And = 185,
    /// The bits of either.
    Or = 186,
    /// The bits of one alone.
    Xor = 187,
    /// Moved up by x bits; zero from 32 on.
    ShiftLeft = 188,
    /// Moved down by x bits, zeros behind; zero from 32 on.
    ShiftRight = 189,
}

impl ChainOp {
    /// The operation of a code.
    pub fn of(code: u8) -> Option<ChainOp> {
        ChainOp::ALL.iter().copied().find(|op| *op as u8 == code)
    }

    /// Whether it takes an operand.
    pub fn takes_operand(self) -> bool {
        self as u8 >= ChainOp::Load as u8
    }
}

/// What an instruction works on besides the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainOperand {
    /// An input: 0, 1, 2 for `a`, `b`, `c`.
    Input(u8),
    /// A temporary, 0 to 3.
    Temporary(u8),
    /// A word that stands in the program.
    Word(u32),
}

impl ChainOperand {
    /// The input `a`.
    pub const A: ChainOperand = ChainOperand::Input(0);
    /// The input `b`.
    pub const B: ChainOperand = ChainOperand::Input(1);
    /// The input `c`.
    pub const C: ChainOperand = ChainOperand::Input(2);
}

impl From<f32> for ChainOperand {
    fn from(number: f32) -> Self {
        ChainOperand::Word(number.to_bits())
    }
}

/// Why a program cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChainError {
    /// More than [`CHAIN_LENGTH`] instructions.
    TooLong,
    /// More than [`CHAIN_IMMEDIATES`] different constants.
    TooManyImmediates,
    /// An operation with an operand that it does not take, without one that it does, or one that does not exist.
    Operand(ChainOp),
}

impl fmt::Display for ChainError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChainError::TooLong => write!(f, "a chain has at most {CHAIN_LENGTH} instructions"),
            ChainError::TooManyImmediates => write!(f, "a chain has at most {CHAIN_IMMEDIATES} constants"),
            ChainError::Operand(op) => write!(f, "{op:?} in a chain has a wrong operand"),
        }
    }
}

impl std::error::Error for ChainError {}

/// A program of a [`Chain`], written instruction by instruction. It starts with [`ChainOp::Load`] or
/// [`ChainOp::Coordinate`]: until then the accumulator is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainCode {
    program: [u32; CHAIN_LENGTH / 2],
    length: usize,
    immediates: [u32; CHAIN_IMMEDIATES],
    constants: usize,
}

impl ChainCode {
    /// An empty program, whose output is 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Instructions so far.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no instruction yet.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Goes on with an operation without an operand.
    pub fn then(self, op: ChainOp) -> Result<Self, ChainError> {
        if op.takes_operand() || matches!(op, ChainOp::End | ChainOp::Save | ChainOp::Coordinate) {
            return Err(ChainError::Operand(op));
        }
        self.push(op, 0)
    }

    /// Goes on with an operation on `operand`.
    pub fn with(mut self, op: ChainOp, operand: impl Into<ChainOperand>) -> Result<Self, ChainError> {
        if !op.takes_operand() {
            return Err(ChainError::Operand(op));
        }
        let field = match operand.into() {
            ChainOperand::Input(input @ 0..3) => input,
            ChainOperand::Temporary(temporary @ 0..4) => 4 + temporary,
            ChainOperand::Word(word) => 8 + self.immediate(word)?,
            _ => return Err(ChainError::Operand(op)),
        };
        self.push(op, field)
    }

    /// Keeps the accumulator in a temporary, 0 to 3.
    pub fn save(self, temporary: u8) -> Result<Self, ChainError> {
        if temporary >= 4 {
            return Err(ChainError::Operand(ChainOp::Save));
        }
        self.push(ChainOp::Save, 4 + temporary)
    }

    /// Goes on with the element's coordinate in a dimension of the output, 0 to 3.
    pub fn coordinate(self, dimension: u8) -> Result<Self, ChainError> {
        if dimension >= 4 {
            return Err(ChainError::Operand(ChainOp::Coordinate));
        }
        self.push(ChainOp::Coordinate, dimension)
    }

    fn push(mut self, op: ChainOp, field: u8) -> Result<Self, ChainError> {
        let word = self.program.get_mut(self.length / 2).ok_or(ChainError::TooLong)?;
        *word |= (u32::from(op as u8) | u32::from(field) << 8) << (self.length % 2 * 16);
        self.length += 1;
        Ok(self)
    }

    /// The number of a constant, which is kept once.
    fn immediate(&mut self, word: u32) -> Result<u8, ChainError> {
        let known = self.immediates[..self.constants].iter().position(|&one| one == word);
        let at = known.unwrap_or(self.constants);
        *self.immediates.get_mut(at).ok_or(ChainError::TooManyImmediates)? = word;
        self.constants = self.constants.max(at + 1);
        Ok(at as u8)
    }
}
