//! Element-wise operations: a program of `chain` each.

use roci_graph::DType;
use roci_graph::ops::Elementwise;
use roci_graph::ops::elementwise::{Binary, Compare, Unary};
use roci_kernels::params::{Chain, ChainCode, ChainError, ChainOp, ChainOperand};

use super::{Context, Operand, word};
use crate::error::Refusal;
use crate::storage::Word;

impl From<ChainError> for Refusal {
    fn from(error: ChainError) -> Self {
        Self::Unsupported(error.to_string())
    }
}

pub(super) fn lower(op: &Elementwise, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let to = context.output(0)?.dtype;
    let from = |context: &Context<'_, '_>, index| context.fact(index).map_or(to, |fact| fact.dtype);
    let first = from(context, 0);
    let code = match op {
        Elementwise::Unary(kind) => rounded(unary(*kind, first)?, to)?,
        Elementwise::Binary(kind) => {
            // Kernels make 0 of a division by zero, without a word.
            if let Ok(divisor) = context.value(1) {
                kind.check_divisor(divisor)?;
            }
            rounded(binary(*kind, first, from(context, 1))?, to)?
        }
        Elementwise::Compare(kind) => compare(*kind, first)?,
        Elementwise::Where => load(ChainOperand::C)?
            .save(3)?
            .with(ChainOp::Load, ChainOperand::A)?
            .with(ChainOp::Select, ChainOperand::B)?,
        Elementwise::Clip => return clip(context),
        Elementwise::Cast { .. } | Elementwise::CastLike => {
            let source = context.operand(0)?;
            return match cast(first, to)? {
                None => Ok(vec![Operand { dtype: to, ..source }]),
                Some(code) => Ok(vec![context.chain(&code, &[&source], to, &source.shape)?]),
            };
        }
        Elementwise::BitCast { .. } if first.size() == Some(4) && to.size() == Some(4) => {
            return Ok(vec![Operand { dtype: to, ..context.operand(0)? }]);
        }
        Elementwise::BitCast { .. } if first.size() == Some(8) => {
            return Err(Refusal::integers(format!("the bits of {first} as {to}")));
        }
        Elementwise::BitCast { .. } if !first.is_float() && !to.is_float() && first.size() == to.size() => {
            rounded(load(ChainOperand::A)?, to)?
        }
        Elementwise::Align { .. } => {
            let shape = context.output(0)?.shape()?.to_vec();
            return Ok(vec![context.operand(0)?.reshaped(shape)]);
        }
        other => return Err(Refusal::unsupported(format!("{other:?} of {first}"))),
    };
    let operands = (0..context.len()).map(|index| context.operand(index)).collect::<Result<Vec<_>, _>>()?;
    let shape = context.output(0)?.shape()?.to_vec();
    Ok(vec![context.chain(&code, &operands.iter().collect::<Vec<_>>(), to, &shape)?])
}

impl Context<'_, '_> {
    /// What was computed in 32 bits, rounded to a type that has fewer.
    pub(super) fn narrowed(&mut self, x: Operand) -> Result<Operand, Refusal> {
        let start = load(ChainOperand::A)?;
        let code = rounded(start, x.dtype)?;
        if code == start { Ok(x) } else { self.chain(&code, &[&x], x.dtype, &x.shape) }
    }

    /// Runs a program over operands that are broadcast to a shape; at most three.
    pub(super) fn chain(
        &mut self,
        code: &ChainCode,
        operands: &[&Operand],
        dtype: DType,
        shape: &[usize],
    ) -> Result<Operand, Refusal> {
        let target = self.new_tensor(dtype, shape);
        if target.count() == 0 {
            return Ok(target);
        }
        let mut operands: Vec<Operand> = operands.iter().map(|&one| one.clone()).collect();
        let strides = |operand: &Operand| roci_graph::shape::broadcast_strides(&operand.shape, shape);
        let mut walk = joined(shape, &operands.iter().map(strides).collect::<Vec<_>>());
        if walk.len() > 4 {
            for operand in &mut operands {
                *operand = self.broadcast(operand, shape)?;
            }
            walk = joined(shape, &operands.iter().map(strides).collect::<Vec<_>>());
        }
        let (mut sizes, mut steps) = ([1; 4], [[0; 4]; 3]);
        let first = 4 - walk.len();
        for (at, (size, strides)) in walk.iter().enumerate() {
            sizes[first + at] = word(*size)?;
            for (step, &stride) in steps.iter_mut().zip(strides) {
                step[first + at] = word(stride)?;
            }
        }
        word(target.count())?;
        let slots: Vec<_> = operands.iter().map(|operand| operand.slot).collect();
        // What the program does not name is bound all the same.
        let spare = slots.first().copied().unwrap_or(target.slot);
        let at = |index: usize| slots.get(index).copied().unwrap_or(spare);
        if slots.is_empty() {
            return Err(Refusal::unsupported("an element-wise operation without operands"));
        }
        self.segment().run("chain", &Chain::new(sizes, steps, code), &[at(0), at(1), at(2)], target.slot);
        Ok(target)
    }
}

/// The dimensions of a walk over several operands at once, in as few as can be.
fn joined(shape: &[usize], strides: &[Vec<usize>]) -> Vec<(usize, Vec<usize>)> {
    let mut made: Vec<(usize, Vec<usize>)> = Vec::new();
    for (axis, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let own: Vec<usize> = strides.iter().map(|strides| strides[axis]).collect();
        match made.last_mut() {
            Some((outer, steps)) if steps.iter().zip(&own).all(|(&step, &inner)| step == size * inner) => {
                *outer *= size;
                *steps = own;
            }
            _ => made.push((size, own)),
        }
    }
    made
}

fn load(operand: ChainOperand) -> Result<ChainCode, ChainError> {
    ChainCode::new().with(ChainOp::Load, operand)
}

/// Results rounded to a type that is narrower than a word.
fn rounded(code: ChainCode, dtype: DType) -> Result<ChainCode, ChainError> {
    match dtype {
        DType::F16 => code.then(ChainOp::ThroughF16),
        DType::BF16 => code.then(ChainOp::ThroughBf16),
        DType::I8 => code.then(ChainOp::WrapI8),
        DType::U8 => code.then(ChainOp::WrapU8),
        DType::I16 => code.then(ChainOp::WrapI16),
        DType::U16 => code.then(ChainOp::WrapU16),
        _ => Ok(code),
    }
}

fn unary(kind: Unary, dtype: DType) -> Result<ChainCode, Refusal> {
    use ChainOperand::Temporary;
    let start = load(ChainOperand::A)?;
    let is_float = dtype.is_float();
    let refuse = || Refusal::unsupported(format!("{} of {dtype}", kind.name()));
    let simple = match kind {
        Unary::Not => Some(ChainOp::IsZero),
        Unary::BitwiseNot if dtype.size() != Some(8) => Some(ChainOp::Not),
        Unary::Abs if dtype.is_signed_integer() => Some(ChainOp::AbsI32),
        Unary::Neg if dtype.is_signed_integer() => Some(ChainOp::NegI32),
        Unary::Sign if dtype.is_signed_integer() => Some(ChainOp::SignI32),
        Unary::Sign if dtype.is_integer() => Some(ChainOp::WordToBool),
        _ if !is_float => None,
        Unary::Abs => Some(ChainOp::Abs),
        Unary::Neg => Some(ChainOp::Neg),
        Unary::Sign => Some(ChainOp::Sign),
        Unary::Ceil => Some(ChainOp::Ceil),
        Unary::Floor => Some(ChainOp::Floor),
        Unary::Round => Some(ChainOp::Round),
        Unary::Reciprocal => Some(ChainOp::Reciprocal),
        Unary::Sqrt => Some(ChainOp::Sqrt),
        Unary::Exp => Some(ChainOp::Exp),
        Unary::Log => Some(ChainOp::Log),
        Unary::Sin => Some(ChainOp::Sin),
        Unary::Cos => Some(ChainOp::Cos),
        Unary::Tan => Some(ChainOp::Tan),
        Unary::Asin => Some(ChainOp::Asin),
        Unary::Acos => Some(ChainOp::Acos),
        Unary::Atan => Some(ChainOp::Atan),
        Unary::Sinh => Some(ChainOp::Sinh),
        Unary::Cosh => Some(ChainOp::Cosh),
        Unary::Tanh => Some(ChainOp::Tanh),
        Unary::Asinh => Some(ChainOp::Asinh),
        Unary::Acosh => Some(ChainOp::Acosh),
        Unary::Atanh => Some(ChainOp::Atanh),
        Unary::Erf => Some(ChainOp::Erf),
        Unary::IsNaN => Some(ChainOp::IsNan),
        Unary::Relu => Some(ChainOp::Relu),
        Unary::Sigmoid => Some(ChainOp::Sigmoid),
        Unary::Softplus => Some(ChainOp::Softplus),
        Unary::Gelu { tanh: false } => Some(ChainOp::Gelu),
        _ => None,
    };
    if let Some(op) = simple {
        return Ok(start.then(op)?);
    }
    Ok(match kind {
        Unary::Abs if dtype.is_integer() => start,
        Unary::Relu if dtype.is_signed_integer() => start.with(ChainOp::MaxI32, ChainOperand::Word(0))?,
        _ if !is_float => return Err(refuse()),
        Unary::IsInf { negative, positive } => match (negative, positive) {
            (true, true) => start.then(ChainOp::Abs)?.then(ChainOp::IsPositiveInfinity)?,
            (true, false) => start.then(ChainOp::IsNegativeInfinity)?,
            (false, true) => start.then(ChainOp::IsPositiveInfinity)?,
            (false, false) => load(ChainOperand::Word(0))?,
        },
        Unary::LeakyRelu { alpha } => start.with(ChainOp::Leaky, alpha)?,
        Unary::ThresholdedRelu { alpha } => start.with(ChainOp::Threshold, alpha)?,
        Unary::Elu { alpha } => start.with(ChainOp::Elu, alpha)?,
        Unary::Selu { alpha, gamma } => start.with(ChainOp::Elu, alpha)?.with(ChainOp::Mul, gamma)?,
        Unary::Celu { alpha } => start.with(ChainOp::Div, alpha)?.with(ChainOp::Elu, 1.0)?.with(ChainOp::Mul, alpha)?,
        Unary::HardSigmoid { alpha, beta } => hard_sigmoid(start, alpha, beta)?,
        Unary::HardSwish => hard_sigmoid(start.save(0)?, 1.0 / 6.0, 0.5)?.with(ChainOp::Mul, Temporary(0))?,
        Unary::Softsign => {
            start.save(0)?.then(ChainOp::Abs)?.with(ChainOp::Add, 1.0)?.with(ChainOp::RDiv, Temporary(0))?
        }
        Unary::Gelu { tanh: true } => start
            .save(0)?
            .with(ChainOp::Mul, Temporary(0))?
            .with(ChainOp::Mul, Temporary(0))?
            .with(ChainOp::Mul, 0.044715)?
            .with(ChainOp::Add, Temporary(0))?
            .with(ChainOp::Mul, (2.0 / std::f32::consts::PI).sqrt())?
            .then(ChainOp::Tanh)?
            .with(ChainOp::Add, 1.0)?
            .with(ChainOp::Mul, Temporary(0))?
            .with(ChainOp::Mul, 0.5)?,
        Unary::Mish => start.save(0)?.then(ChainOp::Softplus)?.then(ChainOp::Tanh)?.with(ChainOp::Mul, Temporary(0))?,
        Unary::Swish { alpha } => {
            start.save(0)?.with(ChainOp::Mul, alpha)?.then(ChainOp::Sigmoid)?.with(ChainOp::Mul, Temporary(0))?
        }
        Unary::Shrink { bias, lambd } => start
            .with(ChainOp::Add, bias)?
            .save(1)?
            .with(ChainOp::Load, ChainOperand::A)?
            .with(ChainOp::Sub, bias)?
            .save(2)?
            .with(ChainOp::Load, 0.0)?
            .save(3)?
            .with(ChainOp::Load, ChainOperand::A)?
            .with(ChainOp::Greater, lambd)?
            .with(ChainOp::Select, Temporary(2))?
            .save(3)?
            .with(ChainOp::Load, ChainOperand::A)?
            .with(ChainOp::Less, -lambd)?
            .with(ChainOp::Select, Temporary(1))?,
        _ => return Err(refuse()),
    })
}

fn hard_sigmoid(code: ChainCode, alpha: f32, beta: f32) -> Result<ChainCode, ChainError> {
    code.with(ChainOp::Mul, alpha)?.with(ChainOp::Add, beta)?.with(ChainOp::Max, 0.0)?.with(ChainOp::Min, 1.0)
}

fn binary(kind: Binary, dtype: DType, second: DType) -> Result<ChainCode, Refusal> {
    use ChainOp as C;
    let refuse = || Refusal::unsupported(format!("{kind:?} of {dtype} and {second}"));
    let signed = Word::of(dtype) == Some(Word::Signed);
    // Sums and products of 64-bit integers may need more than the 32 bits that are kept.
    let wide = dtype.size() == Some(8) && dtype.is_integer();
    let b = ChainOperand::B;
    if kind == Binary::Pow && dtype != second {
        let start = load(b)?;
        let power = match Word::of(second) {
            Some(Word::Float) => start,
            Some(Word::Signed) => start.then(C::I32ToF32)?,
            Some(Word::Unsigned) => start.then(C::U32ToF32)?,
            None => return Err(refuse()),
        };
        let power = power.save(0)?.with(C::Load, ChainOperand::A)?;
        return Ok(match Word::of(dtype) {
            Some(Word::Float) => power.with(C::Pow, ChainOperand::Temporary(0))?,
            Some(Word::Signed) if !wide => {
                power.then(C::I32ToF32)?.with(C::Pow, ChainOperand::Temporary(0))?.then(C::F32ToI32)?
            }
            Some(Word::Signed) => return Err(Refusal::integers(format!("{kind:?} of {dtype} and {second}"))),
            _ => return Err(refuse()),
        });
    }
    let op = if dtype.is_float() {
        match kind {
            Binary::Add => C::Add,
            Binary::Sub => C::Sub,
            Binary::Mul => C::Mul,
            Binary::Div => C::Div,
            Binary::Mod { fmod: true } => C::Fmod,
            Binary::Mod { fmod: false } => C::Modulo,
            Binary::Pow => C::Pow,
            Binary::Max => C::Max,
            Binary::Min => C::Min,
            Binary::PRelu => C::Leaky,
            _ => return Err(refuse()),
        }
    } else {
        match kind {
            Binary::And | Binary::BitwiseAnd => C::And,
            Binary::Or | Binary::BitwiseOr => C::Or,
            Binary::Xor | Binary::BitwiseXor => C::Xor,
            Binary::Max => {
                if signed {
                    C::MaxI32
                } else {
                    C::MaxU32
                }
            }
            Binary::Min => {
                if signed {
                    C::MinI32
                } else {
                    C::MinU32
                }
            }
            Binary::Div => {
                if signed {
                    C::DivI32
                } else {
                    C::DivU32
                }
            }
            Binary::Mod { .. } if !signed => C::ModU32,
            Binary::Mod { fmod: true } => C::ModI32,
            Binary::Mod { fmod: false } => C::ModuloI32,
            Binary::ShiftRight => C::ShiftRight,
            _ if wide => return Err(Refusal::integers(format!("{kind:?} of 64-bit integers"))),
            Binary::Add => C::AddI32,
            Binary::Sub => C::SubI32,
            Binary::Mul => C::MulI32,
            Binary::ShiftLeft => C::ShiftLeft,
            Binary::Pow if signed => C::PowI32,
            _ => return Err(refuse()),
        }
    };
    Ok(load(ChainOperand::A)?.with(op, b)?)
}

fn compare(kind: Compare, dtype: DType) -> Result<ChainCode, Refusal> {
    use ChainOp as C;
    let op = match (Word::of(dtype), kind) {
        (Some(Word::Float), Compare::Equal) => C::Equal,
        (Some(Word::Float), Compare::Less) => C::Less,
        (Some(Word::Float), Compare::LessOrEqual) => C::LessEqual,
        (Some(_), Compare::Equal) => C::EqualWord,
        (Some(Word::Signed), Compare::Less) => C::LessI32,
        (Some(Word::Signed), Compare::LessOrEqual) => C::LessEqualI32,
        (Some(Word::Unsigned), Compare::Less) => C::LessU32,
        (Some(Word::Unsigned), Compare::LessOrEqual) => C::LessEqualU32,
        (None, _) => return Err(Refusal::unsupported(format!("{kind:?} of {dtype}"))),
    };
    Ok(load(ChainOperand::A)?.with(op, ChainOperand::B)?)
}

/// The program of a conversion; `None` where the words stay as they are.
pub(super) fn cast(from: DType, to: DType) -> Result<Option<ChainCode>, Refusal> {
    use ChainOp as C;
    let start = load(ChainOperand::A)?;
    let refuse = || Refusal::unsupported(format!("a conversion from {from} to {to}"));
    let (Some(source), Some(target)) = (Word::of(from), Word::of(to)) else { return Err(refuse()) };
    Ok(Some(match (source, target) {
        _ if from == to => return Ok(None),
        (Word::Float, _) if to == DType::Bool => start.then(C::F32ToBool)?,
        (_, _) if to == DType::Bool => start.then(C::WordToBool)?,
        (Word::Float, Word::Float) => {
            if !matches!(to, DType::F16 | DType::BF16) {
                return Ok(None);
            }
            rounded(start, to)?
        }
        (Word::Signed, Word::Float) => rounded(start.then(C::I32ToF32)?, to)?,
        (Word::Unsigned, Word::Float) => rounded(start.then(C::U32ToF32)?, to)?,
        // What is too large for 32 bits would become the limit.
        (Word::Float, _) if to.size() == Some(8) => {
            return Err(Refusal::integers(format!("a conversion from {from} to {to}")));
        }
        (Word::Float, Word::Unsigned) if to == DType::U32 => start.then(C::F32ToU32)?,
        (Word::Float, _) => rounded(start.then(C::F32ToI32)?, to)?,
        // Words that would stand for other numbers in 64 bits than they do in 32.
        (Word::Signed, Word::Unsigned) if to == DType::U64 => return Err(refuse()),
        (Word::Unsigned, Word::Signed) if to == DType::I64 && matches!(from, DType::U32 | DType::U64) => {
            return Err(refuse());
        }
        _ => match to.size() {
            Some(1 | 2) => rounded(start, to)?,
            _ => return Ok(None),
        },
    }))
}

fn clip(context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let source = context.operand(0)?;
    let (max, min) = match Word::of(source.dtype) {
        Some(Word::Float) => (ChainOp::Max, ChainOp::Min),
        Some(Word::Signed) => (ChainOp::MaxI32, ChainOp::MinI32),
        _ => (ChainOp::MaxU32, ChainOp::MinU32),
    };
    let mut operands = vec![source.clone()];
    let mut code = load(ChainOperand::A)?;
    for (index, op) in [(1, max), (2, min)] {
        if let Some(bound) = context.optional(index)? {
            if Word::of(bound.dtype) != Word::of(source.dtype) {
                return Err(Refusal::unsupported("bounds of another type"));
            }
            code = code.with(op, ChainOperand::Input(operands.len() as u8))?;
            operands.push(bound.reshaped([]));
        }
    }
    let operands: Vec<&Operand> = operands.iter().collect();
    Ok(vec![context.chain(&code, &operands, source.dtype, &source.shape)?])
}
