//! Reductions along axes.

use roci_graph::ops::reduction::{ReduceKind, SoftmaxKind};
use roci_graph::ops::{Inputs, Operation, Reduction};
use roci_graph::{DType, Tensor, Value, shape};
use roci_kernels::params::{
    ArgReduce, ElementwiseCode, ElementwiseError, ElementwiseOp, ElementwiseOperand, Reduce, Scan, Softmax,
};

use super::build::{A, Instr::Apply, Instr::ApplyWith, Instr::Save, temporary};
use super::{Context, element_type, loss, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::storage::{WordType, encode};

pub(super) fn lower(op: &Reduction, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let x = context.operand(0)?;
    let produced = match op {
        Reduction::Reduce { fold, noop_with_empty_axes, .. } => {
            let axes = match context.fact(1) {
                Some(_) => context.value(1)?.integers()?,
                None => Vec::new(),
            };
            let rank = x.shape.len();
            let axes = match (axes.is_empty(), noop_with_empty_axes) {
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
                numbers: element_type(x.dtype)?.word(),
                last: u32::from(*last),
            };
            let target = context.new_output(0)?;
            context.segment().dispatch(
                if *largest { "arg_max" } else { "arg_min" },
                &params,
                &[x.tensor_id],
                target.tensor_id,
            );
            target
        }
        Reduction::Softmax { kind, axis, to_end } => softmax(context, &x, *kind, *axis, *to_end)?,
        Reduction::Cumulate { product, exclusive, reverse } => {
            let axis = shape::axis(context.value(1)?.integer()?, x.shape.len())?;
            let (outer, size, inner) = shape::around(&x.shape, axis);
            if x.dtype.size() == Some(8) && x.dtype.is_integer() {
                return Err(LoweringError::wide_integers("cumulative sums of 64-bit integers"));
            }
            let params = Scan {
                outer: word(outer)?,
                axis: word(size)?,
                inner: word(inner)?,
                numbers: element_type(x.dtype)?.word(),
                exclusive: u32::from(*exclusive),
                reverse: u32::from(*reverse),
            };
            let target = context.new_output(0)?;
            context.segment().dispatch(
                if *product { "scan_prod" } else { "scan_sum" },
                &params,
                &[x.tensor_id],
                target.tensor_id,
            );
            target
        }
        Reduction::NegativeLogLikelihood { reduction, ignore } => {
            loss::negative_log_likelihood(context, *reduction, *ignore)?
        }
        other => return Err(LoweringError::unsupported(format!("{other:?}"))),
    };
    Ok(vec![produced])
}

fn with_a(ops: &[ElementwiseOp]) -> Result<ElementwiseCode, ElementwiseError> {
    ops.iter()
        .try_fold(ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A)?, |code, &op| code.then(op))
}

fn reduce(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    fold: ReduceKind,
    axes: &[usize],
) -> Result<DeviceTensor, LoweringError> {
    use ElementwiseOp as C;
    let (dtype, shape) = (x.dtype, context.output(0)?.shape()?.to_vec());
    let is_float = dtype.is_float();
    let size: usize = axes.iter().map(|&axis| x.shape[axis]).product();
    let square = || ElementwiseCode::new().with(C::Load, ElementwiseOperand::A)?.with(C::Mul, ElementwiseOperand::A);
    if !is_float && dtype.size() == Some(8) && !matches!(fold, ReduceKind::Max | ReduceKind::Min) {
        return Err(LoweringError::wide_integers(format!("{fold:?} of {dtype}")));
    }
    if size == 0 || x.count() == 0 {
        return reduce_empty(context, fold, dtype, &shape);
    }
    if !is_float && !matches!(fold, ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min | ReduceKind::Product) {
        return reduce_integers(context, x, fold, axes, size, &shape);
    }
    let mut source = x.clone();
    let before = match fold {
        ReduceKind::L1 => Some(with_a(&[C::Abs])?),
        ReduceKind::L2 | ReduceKind::SumSquare => Some(square()?),
        _ => None,
    };
    // Subtract the maximum before the exponentials, so that none overflows.
    let mut largest = None;
    if fold == ReduceKind::LogSumExp {
        let top = context.reduce(&source, "reduce_max", axes)?;
        let reduced_shape: Vec<usize> =
            (0..x.shape.len()).map(|axis| if axes.contains(&axis) { 1 } else { x.shape[axis] }).collect();
        let top = top.reshaped(reduced_shape);
        let finite = ElementwiseCode::new()
            .with(C::Load, ElementwiseOperand::A)?
            .with(C::Max, f32::MIN)?
            .with(C::Min, f32::MAX)?;
        let top = context.elementwise(&finite, &[&top], dtype, &top.shape)?;
        let code = ElementwiseCode::new()
            .with(C::Load, ElementwiseOperand::A)?
            .with(C::Sub, ElementwiseOperand::B)?
            .then(C::Exp)?;
        source = context.elementwise(&code, &[&source, &top], dtype, &x.shape)?;
        largest = Some(top.reshaped(shape.clone()));
    }
    if let Some(code) = before {
        source = context.elementwise(&code, &[&source], dtype, &x.shape)?;
    }
    let kernel = match (fold, WordType::of(dtype)) {
        (ReduceKind::Max, Some(WordType::Float)) => "reduce_max",
        (ReduceKind::Min, Some(WordType::Float)) => "reduce_min",
        (ReduceKind::Product, Some(WordType::Float)) => "reduce_prod",
        (_, Some(WordType::Float)) => "reduce_sum",
        (ReduceKind::Max, Some(WordType::Signed)) => "reduce_max_i32",
        (ReduceKind::Min, Some(WordType::Signed)) => "reduce_min_i32",
        (ReduceKind::Max, _) => "reduce_max_u32",
        (ReduceKind::Min, _) => "reduce_min_u32",
        (ReduceKind::Product, _) => "reduce_prod_i32",
        _ => "reduce_sum_i32",
    };
    let result = context.reduce(&source, kernel, axes)?.reshaped(shape.clone());
    let after = match fold {
        ReduceKind::Mean => with_a(&[])?.with(C::Div, size as f32)?,
        ReduceKind::L2 => with_a(&[C::Sqrt])?,
        ReduceKind::LogSum => with_a(&[C::Log])?,
        ReduceKind::LogSumExp => {
            let top = largest.ok_or_else(|| LoweringError::unsupported("a log-sum-exp without its maximum"))?;
            let code = with_a(&[C::Log])?.with(C::Add, ElementwiseOperand::B)?;
            return context.elementwise(&code, &[&result, &top], dtype, &shape);
        }
        _ => return Ok(result),
    };
    context.elementwise(&after, &[&result], dtype, &shape)
}

/// A reduction of no elements.
fn reduce_empty(
    context: &mut Context<'_, '_>,
    fold: ReduceKind,
    dtype: DType,
    shape: &[usize],
) -> Result<DeviceTensor, LoweringError> {
    let axes = Tensor::vector((0..1i64).collect::<Vec<_>>());
    let operands = [Tensor::zeros(dtype, [0])?.into(), axes.into()];
    let operands: Vec<Option<&Value>> = operands.iter().map(Some).collect();
    let op = Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false };
    let produced = op.eval(&Inputs::new(&operands, 1))?;
    let value = encode(produced[0].tensor()?).map_err(|error| LoweringError::wide_integers(error.to_string()))?[0];
    context.fill(dtype, shape, value)
}

/// Reductions of integers that need several kernels.
fn reduce_integers(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    fold: ReduceKind,
    axes: &[usize],
    size: usize,
    shape: &[usize],
) -> Result<DeviceTensor, LoweringError> {
    use ElementwiseOp as C;
    // The sum must not wrap around before a division or a square root.
    let most = match (fold, x.dtype) {
        (ReduceKind::Mean, DType::I8 | DType::U8) => 1 << 22,
        (ReduceKind::Mean, DType::I16 | DType::U16) | (ReduceKind::L2, DType::I8 | DType::U8) => 1 << 14,
        (ReduceKind::Mean | ReduceKind::L2, _) => 0,
        _ => usize::MAX,
    };
    if size > most {
        return Err(LoweringError::unsupported(format!("{fold:?} of {size} elements of {}", x.dtype)));
    }
    let signed = WordType::of(x.dtype) == Some(WordType::Signed);
    let source = match fold {
        ReduceKind::L1 if signed => context.map(&[ApplyWith(C::Load, A), Apply(C::AbsI32)], &[x], x.dtype, &x.shape)?,
        ReduceKind::L2 | ReduceKind::SumSquare => {
            context.map(&[ApplyWith(C::Load, A), ApplyWith(C::MulI32, A)], &[x], x.dtype, &x.shape)?
        }
        ReduceKind::LogSumExp => return Err(LoweringError::unsupported(format!("{fold:?} of {}", x.dtype))),
        _ => x.clone(),
    };
    let sum = context.reduce(&source, "reduce_sum_i32", axes)?.reshaped(shape);
    let size = ElementwiseOperand::Word(word(size)?);
    let to_float = if signed { C::I32ToF32 } else { C::U32ToF32 };
    let code = match fold {
        ReduceKind::Mean => vec![ApplyWith(C::Load, A), ApplyWith(if signed { C::DivI32 } else { C::DivU32 }, size)],
        // The f32 square root may round up to the next integer; the result must be rounded down.
        ReduceKind::L2 => vec![
            ApplyWith(C::Load, A),
            Apply(to_float),
            Apply(C::Sqrt),
            Apply(C::F32ToI32),
            Save(0),
            ApplyWith(C::MulI32, temporary(0)),
            ApplyWith(C::GreaterI32, A),
            Save(1),
            ApplyWith(C::Load, temporary(0)),
            ApplyWith(C::SubI32, temporary(1)),
        ],
        ReduceKind::LogSum => return Err(LoweringError::unsupported(format!("{fold:?} of {}", x.dtype))),
        _ => return Ok(sum),
    };
    context.map(&code, &[&sum], x.dtype, shape)
}

impl Context<'_, '_> {
    /// Reduces axes by a kernel that reduces one axis. Axes that are not adjacent are permuted
    /// first.
    pub(super) fn reduce(
        &mut self,
        x: &DeviceTensor,
        kernel: &'static str,
        axes: &[usize],
    ) -> Result<DeviceTensor, LoweringError> {
        let context = self;
        let rank = x.shape.len();
        let remaining_axes: Vec<usize> = (0..rank).filter(|axis| !axes.contains(axis)).collect();
        let together = axes.windows(2).all(|pair| (pair[0] + 1..pair[1]).all(|axis| x.shape[axis] == 1));
        let (source, outer, inner) = if axes.is_empty() {
            return Ok(x.clone());
        } else if together {
            let (first, last) = (axes[0], axes[axes.len() - 1]);
            (x.clone(), x.shape[..first].iter().product::<usize>(), x.shape[last + 1..].iter().product::<usize>())
        } else {
            let perm: Vec<usize> = remaining_axes.iter().chain(axes).copied().collect();
            let moved = context.transpose(x, &perm)?;
            (moved, remaining_axes.iter().map(|&axis| x.shape[axis]).product(), 1)
        };
        let axis = axes.iter().map(|&axis| x.shape[axis]).product();
        let target = context.new_tensor(x.dtype, remaining_axes.iter().map(|&axis| x.shape[axis]).collect::<Vec<_>>());
        let params = Reduce { outer: word(outer)?, axis: word(axis)?, inner: word(inner)? };
        context.segment().dispatch(kernel, &params, &[source.tensor_id], target.tensor_id);
        Ok(target)
    }
}

fn softmax(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    kind: SoftmaxKind,
    axis: i64,
    to_end: bool,
) -> Result<DeviceTensor, LoweringError> {
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
        return normalize_rows(context, x, kernel, columns);
    }
    let axis = shape::axis(axis, rank)?;
    if axis == rank - 1 {
        return normalize_rows(context, x, kernel, x.shape[axis]);
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(axis, rank - 1);
    let moved = context.transpose(x, &perm)?;
    let produced = normalize_rows(context, &moved, kernel, x.shape[axis])?;
    context.transpose(&produced, &perm)
}

fn normalize_rows(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    kernel: &'static str,
    columns: usize,
) -> Result<DeviceTensor, LoweringError> {
    let target = context.new_tensor(x.dtype, x.shape.clone());
    let params = Softmax { rows: word(x.count() / columns.max(1))?, columns: word(columns)? };
    context.segment().dispatch(kernel, &params, &[x.tensor_id], target.tensor_id);
    Ok(target)
}
