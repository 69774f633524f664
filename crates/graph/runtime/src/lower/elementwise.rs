//! Elementwise operations: one program each.

use roci_graph::DType;
use roci_graph::ops::Elementwise;
use roci_graph::ops::elementwise::{Binary, Compare, Unary};
use roci_kernels::params::{ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand, ElementwiseProgram};

use super::{Context, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::storage::WordType;

impl From<ElementwiseError> for LoweringError {
    fn from(error: ElementwiseError) -> Self {
        Self::Unsupported(error.to_string())
    }
}

pub(super) fn lower(op: &Elementwise, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let to = context.output(0)?.dtype;
    let from = |context: &Context<'_, '_>, index| context.fact(index).map_or(to, |fact| fact.dtype);
    let first = from(context, 0);
    let code = match op {
        Elementwise::Unary(kind) => rounded(unary(*kind, first)?, to)?,
        Elementwise::Binary(kind) => {
            // Kernels return 0 for an integer division by zero, without an error.
            if let Ok(divisor) = context.value(1) {
                kind.check_divisor(divisor)?;
            }
            rounded(binary(*kind, first, from(context, 1))?, to)?
        }
        Elementwise::Compare(kind) => compare(*kind, first)?,
        Elementwise::Where => load(ElementwiseOperand::C)?
            .save(3)?
            .with(ElementwiseOp::Load, ElementwiseOperand::A)?
            .with(ElementwiseOp::Select, ElementwiseOperand::B)?,
        Elementwise::Clip => return clip(context),
        Elementwise::Cast { .. } | Elementwise::CastLike => {
            let source = context.operand(0)?;
            return match cast(first, to)? {
                None => Ok(vec![DeviceTensor { dtype: to, ..source }]),
                Some(code) => Ok(vec![context.elementwise(&code, &[&source], to, &source.shape)?]),
            };
        }
        Elementwise::BitCast { .. } if first.size() == Some(4) && to.size() == Some(4) => {
            return Ok(vec![DeviceTensor { dtype: to, ..context.operand(0)? }]);
        }
        Elementwise::BitCast { .. } if first.size() == Some(8) => {
            return Err(LoweringError::wide_integers(format!("the bits of {first} as {to}")));
        }
        Elementwise::BitCast { .. } if !first.is_float() && !to.is_float() && first.size() == to.size() => {
            rounded(load(ElementwiseOperand::A)?, to)?
        }
        Elementwise::Align { .. } => {
            let shape = context.output(0)?.shape()?.to_vec();
            return Ok(vec![context.operand(0)?.reshaped(shape)]);
        }
        other => return Err(LoweringError::unsupported(format!("{other:?} of {first}"))),
    };
    let operands = (0..context.len()).map(|index| context.operand(index)).collect::<Result<Vec<_>, _>>()?;
    let shape = context.output(0)?.shape()?.to_vec();
    Ok(vec![context.elementwise(&code, &operands.iter().collect::<Vec<_>>(), to, &shape)?])
}

impl Context<'_, '_> {
    /// Rounds results that were computed in 32 bits to a narrower type.
    pub(super) fn round_to_dtype(&mut self, x: DeviceTensor) -> Result<DeviceTensor, LoweringError> {
        let start = load(ElementwiseOperand::A)?;
        let code = rounded(start, x.dtype)?;
        if code == start { Ok(x) } else { self.elementwise(&code, &[&x], x.dtype, &x.shape) }
    }

    /// Runs a program over at most three operands that are broadcast to a shape.
    pub(super) fn elementwise(
        &mut self,
        code: &ElementwiseCode,
        operands: &[&DeviceTensor],
        dtype: DType,
        shape: &[usize],
    ) -> Result<DeviceTensor, LoweringError> {
        let target = self.new_tensor(dtype, shape);
        if target.count() == 0 {
            return Ok(target);
        }
        let mut operands: Vec<DeviceTensor> = operands.iter().map(|&one| one.clone()).collect();
        let strides = |operand: &DeviceTensor| roci_graph::shape::broadcast_strides(&operand.shape, shape);
        let mut walk = merge_dimensions(shape, &operands.iter().map(strides).collect::<Vec<_>>());
        if walk.len() > 4 {
            for operand in &mut operands {
                *operand = self.broadcast(operand, shape)?;
            }
            walk = merge_dimensions(shape, &operands.iter().map(strides).collect::<Vec<_>>());
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
        let tensor_ids: Vec<_> = operands.iter().map(|operand| operand.tensor_id).collect();
        // Bindings that the program does not read need a buffer too.
        let spare = tensor_ids.first().copied().unwrap_or(target.tensor_id);
        let at = |index: usize| tensor_ids.get(index).copied().unwrap_or(spare);
        if tensor_ids.is_empty() {
            return Err(LoweringError::unsupported("an elementwise operation without operands"));
        }
        self.segment().dispatch(
            "elementwise_program",
            &ElementwiseProgram::new(sizes, steps, code),
            &[at(0), at(1), at(2)],
            target.tensor_id,
        );
        Ok(target)
    }
}

/// Merges dimensions that are contiguous for all operands.
fn merge_dimensions(shape: &[usize], strides: &[Vec<usize>]) -> Vec<(usize, Vec<usize>)> {
    let mut result: Vec<(usize, Vec<usize>)> = Vec::new();
    for (axis, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let own: Vec<usize> = strides.iter().map(|strides| strides[axis]).collect();
        match result.last_mut() {
            Some((outer, steps)) if steps.iter().zip(&own).all(|(&step, &inner)| step == size * inner) => {
                *outer *= size;
                *steps = own;
            }
            _ => result.push((size, own)),
        }
    }
    result
}

fn load(operand: ElementwiseOperand) -> Result<ElementwiseCode, ElementwiseError> {
    ElementwiseCode::new().with(ElementwiseOp::Load, operand)
}

/// Appends the rounding to a type that is narrower than a word.
fn rounded(code: ElementwiseCode, dtype: DType) -> Result<ElementwiseCode, ElementwiseError> {
    match dtype {
        DType::F16 => code.then(ElementwiseOp::RoundF16),
        DType::BF16 => code.then(ElementwiseOp::RoundBf16),
        DType::I8 => code.then(ElementwiseOp::WrapI8),
        DType::U8 => code.then(ElementwiseOp::WrapU8),
        DType::I16 => code.then(ElementwiseOp::WrapI16),
        DType::U16 => code.then(ElementwiseOp::WrapU16),
        _ => Ok(code),
    }
}

fn unary(kind: Unary, dtype: DType) -> Result<ElementwiseCode, LoweringError> {
    use ElementwiseOperand::Temporary;
    let start = load(ElementwiseOperand::A)?;
    let is_float = dtype.is_float();
    let refuse = || LoweringError::unsupported(format!("{} of {dtype}", kind.name()));
    let simple = match kind {
        Unary::Not => Some(ElementwiseOp::IsZero),
        Unary::BitwiseNot if dtype.size() != Some(8) => Some(ElementwiseOp::Not),
        Unary::Abs if dtype.is_signed_integer() => Some(ElementwiseOp::AbsI32),
        Unary::Neg if dtype.is_signed_integer() => Some(ElementwiseOp::NegI32),
        Unary::Sign if dtype.is_signed_integer() => Some(ElementwiseOp::SignI32),
        Unary::Sign if dtype.is_integer() => Some(ElementwiseOp::WordToBool),
        _ if !is_float => None,
        Unary::Abs => Some(ElementwiseOp::Abs),
        Unary::Neg => Some(ElementwiseOp::Neg),
        Unary::Sign => Some(ElementwiseOp::Sign),
        Unary::Ceil => Some(ElementwiseOp::Ceil),
        Unary::Floor => Some(ElementwiseOp::Floor),
        Unary::Round => Some(ElementwiseOp::Round),
        Unary::Reciprocal => Some(ElementwiseOp::Reciprocal),
        Unary::Sqrt => Some(ElementwiseOp::Sqrt),
        Unary::Exp => Some(ElementwiseOp::Exp),
        Unary::Log => Some(ElementwiseOp::Log),
        Unary::Sin => Some(ElementwiseOp::Sin),
        Unary::Cos => Some(ElementwiseOp::Cos),
        Unary::Tan => Some(ElementwiseOp::Tan),
        Unary::Asin => Some(ElementwiseOp::Asin),
        Unary::Acos => Some(ElementwiseOp::Acos),
        Unary::Atan => Some(ElementwiseOp::Atan),
        Unary::Sinh => Some(ElementwiseOp::Sinh),
        Unary::Cosh => Some(ElementwiseOp::Cosh),
        Unary::Tanh => Some(ElementwiseOp::Tanh),
        Unary::Asinh => Some(ElementwiseOp::Asinh),
        Unary::Acosh => Some(ElementwiseOp::Acosh),
        Unary::Atanh => Some(ElementwiseOp::Atanh),
        Unary::Erf => Some(ElementwiseOp::Erf),
        Unary::IsNaN => Some(ElementwiseOp::IsNan),
        Unary::Relu => Some(ElementwiseOp::Relu),
        Unary::Sigmoid => Some(ElementwiseOp::Sigmoid),
        Unary::Softplus => Some(ElementwiseOp::Softplus),
        Unary::Gelu { tanh: false } => Some(ElementwiseOp::Gelu),
        _ => None,
    };
    if let Some(op) = simple {
        return Ok(start.then(op)?);
    }
    Ok(match kind {
        Unary::Abs if dtype.is_integer() => start,
        Unary::Relu if dtype.is_signed_integer() => start.with(ElementwiseOp::MaxI32, ElementwiseOperand::Word(0))?,
        _ if !is_float => return Err(refuse()),
        Unary::IsInf { negative, positive } => match (negative, positive) {
            (true, true) => start.then(ElementwiseOp::Abs)?.then(ElementwiseOp::IsPositiveInfinity)?,
            (true, false) => start.then(ElementwiseOp::IsNegativeInfinity)?,
            (false, true) => start.then(ElementwiseOp::IsPositiveInfinity)?,
            (false, false) => load(ElementwiseOperand::Word(0))?,
        },
        Unary::LeakyRelu { alpha } => start.with(ElementwiseOp::Leaky, alpha)?,
        Unary::ThresholdedRelu { alpha } => start.with(ElementwiseOp::Threshold, alpha)?,
        Unary::Elu { alpha } => start.with(ElementwiseOp::Elu, alpha)?,
        Unary::Selu { alpha, gamma } => start.with(ElementwiseOp::Elu, alpha)?.with(ElementwiseOp::Mul, gamma)?,
        Unary::Celu { alpha } => {
            start.with(ElementwiseOp::Div, alpha)?.with(ElementwiseOp::Elu, 1.0)?.with(ElementwiseOp::Mul, alpha)?
        }
        Unary::HardSigmoid { alpha, beta } => hard_sigmoid(start, alpha, beta)?,
        Unary::HardSwish => hard_sigmoid(start.save(0)?, 1.0 / 6.0, 0.5)?.with(ElementwiseOp::Mul, Temporary(0))?,
        Unary::Softsign => start
            .save(0)?
            .then(ElementwiseOp::Abs)?
            .with(ElementwiseOp::Add, 1.0)?
            .with(ElementwiseOp::RDiv, Temporary(0))?,
        Unary::Gelu { tanh: true } => start
            .save(0)?
            .with(ElementwiseOp::Mul, Temporary(0))?
            .with(ElementwiseOp::Mul, Temporary(0))?
            .with(ElementwiseOp::Mul, 0.044715)?
            .with(ElementwiseOp::Add, Temporary(0))?
            .with(ElementwiseOp::Mul, (2.0 / std::f32::consts::PI).sqrt())?
            .then(ElementwiseOp::Tanh)?
            .with(ElementwiseOp::Add, 1.0)?
            .with(ElementwiseOp::Mul, Temporary(0))?
            .with(ElementwiseOp::Mul, 0.5)?,
        Unary::Mish => start
            .save(0)?
            .then(ElementwiseOp::Softplus)?
            .then(ElementwiseOp::Tanh)?
            .with(ElementwiseOp::Mul, Temporary(0))?,
        Unary::Swish { alpha } => start
            .save(0)?
            .with(ElementwiseOp::Mul, alpha)?
            .then(ElementwiseOp::Sigmoid)?
            .with(ElementwiseOp::Mul, Temporary(0))?,
        Unary::Shrink { bias, lambd } => start
            .with(ElementwiseOp::Add, bias)?
            .save(1)?
            .with(ElementwiseOp::Load, ElementwiseOperand::A)?
            .with(ElementwiseOp::Sub, bias)?
            .save(2)?
            .with(ElementwiseOp::Load, 0.0)?
            .save(3)?
            .with(ElementwiseOp::Load, ElementwiseOperand::A)?
            .with(ElementwiseOp::Greater, lambd)?
            .with(ElementwiseOp::Select, Temporary(2))?
            .save(3)?
            .with(ElementwiseOp::Load, ElementwiseOperand::A)?
            .with(ElementwiseOp::Less, -lambd)?
            .with(ElementwiseOp::Select, Temporary(1))?,
        _ => return Err(refuse()),
    })
}

fn hard_sigmoid(code: ElementwiseCode, alpha: f32, beta: f32) -> Result<ElementwiseCode, ElementwiseError> {
    code.with(ElementwiseOp::Mul, alpha)?
        .with(ElementwiseOp::Add, beta)?
        .with(ElementwiseOp::Max, 0.0)?
        .with(ElementwiseOp::Min, 1.0)
}

fn binary(kind: Binary, dtype: DType, second: DType) -> Result<ElementwiseCode, LoweringError> {
    use ElementwiseOp as C;
    let refuse = || LoweringError::unsupported(format!("{kind:?} of {dtype} and {second}"));
    let signed = WordType::of(dtype) == Some(WordType::Signed);
    // Sums and products of 64-bit integers may need more than 32 bits.
    let wide = dtype.size() == Some(8) && dtype.is_integer();
    let b = ElementwiseOperand::B;
    if kind == Binary::Pow && dtype != second {
        let start = load(b)?;
        let power = match WordType::of(second) {
            Some(WordType::Float) => start,
            Some(WordType::Signed) => start.then(C::I32ToF32)?,
            Some(WordType::Unsigned) => start.then(C::U32ToF32)?,
            None => return Err(refuse()),
        };
        let power = power.save(0)?.with(C::Load, ElementwiseOperand::A)?;
        return Ok(match WordType::of(dtype) {
            Some(WordType::Float) => power.with(C::Pow, ElementwiseOperand::Temporary(0))?,
            Some(WordType::Signed) if !wide => {
                power.then(C::I32ToF32)?.with(C::Pow, ElementwiseOperand::Temporary(0))?.then(C::F32ToI32)?
            }
            Some(WordType::Signed) => {
                return Err(LoweringError::wide_integers(format!("{kind:?} of {dtype} and {second}")));
            }
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
            _ if wide => return Err(LoweringError::wide_integers(format!("{kind:?} of 64-bit integers"))),
            Binary::Add => C::AddI32,
            Binary::Sub => C::SubI32,
            Binary::Mul => C::MulI32,
            Binary::ShiftLeft => C::ShiftLeft,
            Binary::Pow if signed => C::PowI32,
            _ => return Err(refuse()),
        }
    };
    Ok(load(ElementwiseOperand::A)?.with(op, b)?)
}

fn compare(kind: Compare, dtype: DType) -> Result<ElementwiseCode, LoweringError> {
    use ElementwiseOp as C;
    let op = match (WordType::of(dtype), kind) {
        (Some(WordType::Float), Compare::Equal) => C::Equal,
        (Some(WordType::Float), Compare::Less) => C::Less,
        (Some(WordType::Float), Compare::LessOrEqual) => C::LessEqual,
        (Some(_), Compare::Equal) => C::EqualWord,
        (Some(WordType::Signed), Compare::Less) => C::LessI32,
        (Some(WordType::Signed), Compare::LessOrEqual) => C::LessEqualI32,
        (Some(WordType::Unsigned), Compare::Less) => C::LessU32,
        (Some(WordType::Unsigned), Compare::LessOrEqual) => C::LessEqualU32,
        (None, _) => return Err(LoweringError::unsupported(format!("{kind:?} of {dtype}"))),
    };
    Ok(load(ElementwiseOperand::A)?.with(op, ElementwiseOperand::B)?)
}

/// The program of a conversion; `None` if the words stay the same.
pub(super) fn cast(from: DType, to: DType) -> Result<Option<ElementwiseCode>, LoweringError> {
    use ElementwiseOp as C;
    let start = load(ElementwiseOperand::A)?;
    let refuse = || LoweringError::unsupported(format!("a conversion from {from} to {to}"));
    let (Some(source), Some(target)) = (WordType::of(from), WordType::of(to)) else { return Err(refuse()) };
    Ok(Some(match (source, target) {
        _ if from == to => return Ok(None),
        (WordType::Float, _) if to == DType::Bool => start.then(C::F32ToBool)?,
        (_, _) if to == DType::Bool => start.then(C::WordToBool)?,
        (WordType::Float, WordType::Float) => {
            if !matches!(to, DType::F16 | DType::BF16) {
                return Ok(None);
            }
            rounded(start, to)?
        }
        (WordType::Signed, WordType::Float) => rounded(start.then(C::I32ToF32)?, to)?,
        (WordType::Unsigned, WordType::Float) => rounded(start.then(C::U32ToF32)?, to)?,
        // Values beyond 32 bits would saturate.
        (WordType::Float, _) if to.size() == Some(8) => {
            return Err(LoweringError::wide_integers(format!("a conversion from {from} to {to}")));
        }
        (WordType::Float, WordType::Unsigned) if to == DType::U32 => start.then(C::F32ToU32)?,
        (WordType::Float, _) => rounded(start.then(C::F32ToI32)?, to)?,
        // The word would have a different value as a 64-bit integer.
        (WordType::Signed, WordType::Unsigned) if to == DType::U64 => return Err(refuse()),
        (WordType::Unsigned, WordType::Signed) if to == DType::I64 && matches!(from, DType::U32 | DType::U64) => {
            return Err(refuse());
        }
        _ => match to.size() {
            Some(1 | 2) => rounded(start, to)?,
            _ => return Ok(None),
        },
    }))
}

fn clip(context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let source = context.operand(0)?;
    let (max, min) = match WordType::of(source.dtype) {
        Some(WordType::Float) => (ElementwiseOp::Max, ElementwiseOp::Min),
        Some(WordType::Signed) => (ElementwiseOp::MaxI32, ElementwiseOp::MinI32),
        _ => (ElementwiseOp::MaxU32, ElementwiseOp::MinU32),
    };
    let mut operands = vec![source.clone()];
    let mut code = load(ElementwiseOperand::A)?;
    for (index, op) in [(1, max), (2, min)] {
        if let Some(bound) = context.optional(index)? {
            if WordType::of(bound.dtype) != WordType::of(source.dtype) {
                return Err(LoweringError::unsupported("bounds of another type"));
            }
            code = code.with(op, ElementwiseOperand::Input(operands.len() as u8))?;
            operands.push(bound.reshaped([]));
        }
    }
    let operands: Vec<&DeviceTensor> = operands.iter().collect();
    Ok(vec![context.elementwise(&code, &operands, source.dtype, &source.shape)?])
}
