//! Folds along axes.

use roci_graph::ops::reduction::{Fold, SoftmaxKind};
use roci_graph::ops::{Inputs, Operation, Reduction};
use roci_graph::{DType, Tensor, Value, shape};
use roci_kernels::params::{ArgReduce, ChainCode, ChainError, ChainOp, ChainOperand, Reduce, Scan, Softmax};

use super::build::{A, Step::Do, Step::Save, Step::With, temporary};
use super::{Context, Operand, loss, numbers, word};
use crate::error::Refusal;
use crate::storage::{Word, encode};

pub(super) fn lower(op: &Reduction, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let x = context.operand(0)?;
    let made = match op {
        Reduction::Reduce { fold, none_is_none, .. } => {
            let axes = match context.fact(1) {
                Some(_) => context.value(1)?.integers()?,
                None => Vec::new(),
            };
            let rank = x.shape.len();
            let axes = match (axes.is_empty(), none_is_none) {
                (true, false) => (0..rank).collect(),
                _ => shape::axes(&axes, rank)?,
            };
            reduce(context, &x, *fold, &axes)?
        }
        Reduction::ArgExtreme { largest, axis, last, .. } => {
            let (outer, size, inner) = shape::around(&x.shape, shape::axis(*axis, x.shape.len())?);
            let params = ArgReduce {
                outer: word(outer)?,
                axis: word(size)?,
                inner: word(inner)?,
                numbers: numbers(x.dtype)?.word(),
                last: u32::from(*last),
            };
            let target = context.new_output(0)?;
            context.segment().run(if *largest { "arg_max" } else { "arg_min" }, &params, &[x.slot], target.slot);
            target
        }
        Reduction::Softmax { kind, axis, to_end } => softmax(context, &x, *kind, *axis, *to_end)?,
        Reduction::Cumulate { product, exclusive, reverse } => {
            let axis = shape::axis(context.value(1)?.integer()?, x.shape.len())?;
            let (outer, size, inner) = shape::around(&x.shape, axis);
            if x.dtype.size() == Some(8) && x.dtype.is_integer() {
                return Err(Refusal::integers("running sums of 64-bit integers"));
            }
            let params = Scan {
                outer: word(outer)?,
                axis: word(size)?,
                inner: word(inner)?,
                numbers: numbers(x.dtype)?.word(),
                exclusive: u32::from(*exclusive),
                reverse: u32::from(*reverse),
            };
            let target = context.new_output(0)?;
            context.segment().run(if *product { "scan_prod" } else { "scan_sum" }, &params, &[x.slot], target.slot);
            target
        }
        Reduction::NegativeLogLikelihood { reduction, ignore } => loss::likelihood(context, *reduction, *ignore)?,
        other => return Err(Refusal::unsupported(format!("{other:?}"))),
    };
    Ok(vec![made])
}

fn with_a(ops: &[ChainOp]) -> Result<ChainCode, ChainError> {
    ops.iter().try_fold(ChainCode::new().with(ChainOp::Load, ChainOperand::A)?, |code, &op| code.then(op))
}

fn reduce(context: &mut Context<'_, '_>, x: &Operand, fold: Fold, axes: &[usize]) -> Result<Operand, Refusal> {
    use ChainOp as C;
    let (dtype, shape) = (x.dtype, context.output(0)?.shape()?.to_vec());
    let is_float = dtype.is_float();
    let size: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    let square = || ChainCode::new().with(C::Load, ChainOperand::A)?.with(C::Mul, ChainOperand::A);
    if !is_float && dtype.size() == Some(8) && !matches!(fold, Fold::Max | Fold::Min) {
        return Err(Refusal::integers(format!("{fold:?} of {dtype}")));
    }
    if size == 0 || x.count() == 0 {
        return nothing(context, fold, dtype, &shape);
    }
    if !is_float && !matches!(fold, Fold::Sum | Fold::Max | Fold::Min | Fold::Product) {
        return integers(context, x, fold, axes, size, &shape);
    }
    let mut source = x.clone();
    let before = match fold {
        Fold::L1 => Some(with_a(&[C::Abs])?),
        Fold::L2 | Fold::SumSquare => Some(square()?),
        _ => None,
    };
    // The largest is taken off before exponentials are summed, so that none overflows.
    let mut largest = None;
    if fold == Fold::LogSumExp {
        let top = context.folded(&source, "reduce_max", axes)?;
        let kept: Vec<usize> =
            (0..x.shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { x.shape[axis] }).collect();
        let top = top.reshaped(kept);
        let finite = ChainCode::new().with(C::Load, ChainOperand::A)?.with(C::Max, f32::MIN)?.with(C::Min, f32::MAX)?;
        let top = context.chain(&finite, &[&top], dtype, &top.shape)?;
        let code = ChainCode::new().with(C::Load, ChainOperand::A)?.with(C::Sub, ChainOperand::B)?.then(C::Exp)?;
        source = context.chain(&code, &[&source, &top], dtype, &x.shape)?;
        largest = Some(top.reshaped(shape.clone()));
    }
    if let Some(code) = before {
        source = context.chain(&code, &[&source], dtype, &x.shape)?;
    }
    let kernel = match (fold, Word::of(dtype)) {
        (Fold::Max, Some(Word::Float)) => "reduce_max",
        (Fold::Min, Some(Word::Float)) => "reduce_min",
        (Fold::Product, Some(Word::Float)) => "reduce_prod",
        (_, Some(Word::Float)) => "reduce_sum",
        (Fold::Max, Some(Word::Signed)) => "reduce_max_i32",
        (Fold::Min, Some(Word::Signed)) => "reduce_min_i32",
        (Fold::Max, _) => "reduce_max_u32",
        (Fold::Min, _) => "reduce_min_u32",
        (Fold::Product, _) => "reduce_prod_i32",
        _ => "reduce_sum_i32",
    };
    let result = context.folded(&source, kernel, axes)?.reshaped(shape.clone());
    let after = match fold {
        Fold::Mean => with_a(&[])?.with(C::Div, size as f32)?,
        Fold::L2 => with_a(&[C::Sqrt])?,
        Fold::LogSum => with_a(&[C::Log])?,
        Fold::LogSumExp => {
            let top = largest.ok_or_else(|| Refusal::unsupported("a fold without its largest"))?;
            let code = with_a(&[C::Log])?.with(C::Add, ChainOperand::B)?;
            return context.chain(&code, &[&result, &top], dtype, &shape);
        }
        _ => return Ok(result),
    };
    context.chain(&after, &[&result], dtype, &shape)
}

/// A fold of no elements.
fn nothing(context: &mut Context<'_, '_>, fold: Fold, dtype: DType, shape: &[usize]) -> Result<Operand, Refusal> {
    let axes = Tensor::vector((0..1i64).collect::<Vec<_>>());
    let operands = [Tensor::zeros(dtype, [0])?.into(), axes.into()];
    let operands: Vec<Option<&Value>> = operands.iter().map(Some).collect();
    let op = Reduction::Reduce { fold, keep: false, none_is_none: false };
    let made = op.eval(&Inputs::new(&operands, 1))?;
    let value = encode(made[0].tensor()?).map_err(|error| Refusal::integers(error.to_string()))?[0];
    context.filled(dtype, shape, value)
}

/// The folds of integers that are not one kernel.
fn integers(
    context: &mut Context<'_, '_>,
    x: &Operand,
    fold: Fold,
    axes: &[usize],
    size: usize,
    shape: &[usize],
) -> Result<Operand, Refusal> {
    use ChainOp as C;
    // What is divided or rooted must not have wrapped before.
    let most = match (fold, x.dtype) {
        (Fold::Mean, DType::I8 | DType::U8) => 1 << 22,
        (Fold::Mean, DType::I16 | DType::U16) | (Fold::L2, DType::I8 | DType::U8) => 1 << 14,
        (Fold::Mean | Fold::L2, _) => 0,
        _ => usize::MAX,
    };
    if size > most {
        return Err(Refusal::unsupported(format!("{fold:?} of {size} elements of {}", x.dtype)));
    }
    let signed = Word::of(x.dtype) == Some(Word::Signed);
    let source = match fold {
        Fold::L1 if signed => context.map(&[With(C::Load, A), Do(C::AbsI32)], &[x], x.dtype, &x.shape)?,
        Fold::L2 | Fold::SumSquare => context.map(&[With(C::Load, A), With(C::MulI32, A)], &[x], x.dtype, &x.shape)?,
        Fold::LogSumExp => return Err(Refusal::unsupported(format!("{fold:?} of {}", x.dtype))),
        _ => x.clone(),
    };
    let sum = context.folded(&source, "reduce_sum_i32", axes)?.reshaped(shape);
    let size = ChainOperand::Word(word(size)?);
    let to_float = if signed { C::I32ToF32 } else { C::U32ToF32 };
    let code = match fold {
        Fold::Mean => vec![With(C::Load, A), With(if signed { C::DivI32 } else { C::DivU32 }, size)],
        // The root may be rounded up to a whole number, where it should be cut off.
        Fold::L2 => vec![
            With(C::Load, A),
            Do(to_float),
            Do(C::Sqrt),
            Do(C::F32ToI32),
            Save(0),
            With(C::MulI32, temporary(0)),
            With(C::GreaterI32, A),
            Save(1),
            With(C::Load, temporary(0)),
            With(C::SubI32, temporary(1)),
        ],
        Fold::LogSum => return Err(Refusal::unsupported(format!("{fold:?} of {}", x.dtype))),
        _ => return Ok(sum),
    };
    context.map(&code, &[&sum], x.dtype, shape)
}

impl Context<'_, '_> {
    /// Folds axes by a kernel that folds one, and drops them; axes that lie apart are brought together first.
    pub(super) fn folded(&mut self, x: &Operand, kernel: &'static str, axes: &[usize]) -> Result<Operand, Refusal> {
        let context = self;
        let rank = x.shape.len();
        let kept: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
        let together = axes.windows(2).all(|pair| (pair[0] + 1..pair[1]).all(|axis| x.shape[axis] == 1));
        let (source, outer, inner) = if axes.is_empty() {
            return Ok(x.clone());
        } else if together {
            let (first, last) = (axes[0], axes[axes.len() - 1]);
            (x.clone(), x.shape[..first].iter().product::<usize>(), x.shape[last + 1..].iter().product::<usize>())
        } else {
            let perm: Vec<usize> = kept.iter().chain(axes).copied().collect();
            let moved = context.transposed(x, &perm)?;
            (moved, kept.iter().map(|&axis| x.shape[axis]).product(), 1)
        };
        let axis = axes.iter().map(|&axis| x.shape[axis]).product();
        let target = context.new_tensor(x.dtype, kept.iter().map(|&axis| x.shape[axis]).collect::<Vec<_>>());
        let params = Reduce { outer: word(outer)?, axis: word(axis)?, inner: word(inner)? };
        context.segment().run(kernel, &params, &[source.slot], target.slot);
        Ok(target)
    }
}

fn softmax(
    context: &mut Context<'_, '_>,
    x: &Operand,
    kind: SoftmaxKind,
    axis: i64,
    to_end: bool,
) -> Result<Operand, Refusal> {
    let rank = x.shape.len();
    let kernel = match kind {
        SoftmaxKind::Softmax => "softmax",
        SoftmaxKind::LogSoftmax => "log_softmax",
        SoftmaxKind::Hardmax => return super::masks::hardmax(context, x, axis, to_end),
    };
    if x.count() == 0 {
        return Ok(x.clone());
    }
    if to_end {
        let first = if axis == rank as i64 { rank } else { shape::axis(axis, rank)? };
        let columns = x.shape[first..].iter().product();
        return rows(context, x, kernel, columns);
    }
    let axis = shape::axis(axis, rank)?;
    if axis == rank - 1 {
        return rows(context, x, kernel, x.shape[axis]);
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(axis, rank - 1);
    let moved = context.transposed(x, &perm)?;
    let made = rows(context, &moved, kernel, x.shape[axis])?;
    context.transposed(&made, &perm)
}

fn rows(context: &mut Context<'_, '_>, x: &Operand, kernel: &'static str, columns: usize) -> Result<Operand, Refusal> {
    let target = context.new_tensor(x.dtype, x.shape.clone());
    let params = Softmax { rows: word(x.count() / columns.max(1))?, columns: word(columns)? };
    context.segment().run(kernel, &params, &[x.slot], target.slot);
    Ok(target)
}
