//! Reductions along axes: sums, extrema, arg-max, softmax, cumulative sums, losses.

mod fold;
mod loss;
mod softmax;

use super::accumulator::wide;
use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Value, shape};

/// How elements are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are unambiguous")]
pub enum ReduceKind {
    Sum,
    Mean,
    Max,
    Min,
    Product,
    /// The sum of absolute values.
    L1,
    /// The square root of the sum of squares.
    L2,
    SumSquare,
    LogSum,
    LogSumExp,
}

/// A normalization of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftmaxKind {
    /// The exponentials divided by their sum.
    Softmax,
    /// The logarithm of softmax.
    LogSoftmax,
    /// 1 for the first maximum, 0 for the other elements.
    Hardmax,
}

/// How the losses of all samples are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReduction {
    /// Not reduced.
    None,
    /// Their sum.
    Sum,
    /// Their sum divided by the sum of weights.
    Mean,
}

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reduction {
    /// Reduces the axes in operand 1; all axes without it.
    Reduce {
        /// How elements are reduced.
        fold: ReduceKind,
        /// Whether axes are kept with size 1.
        keep: bool,
        /// Whether an empty list of axes reduces nothing, so that each element is reduced alone.
        noop_with_empty_axes: bool,
    },
    /// The index of the maximum or minimum along an axis.
    ArgExtreme {
        /// The maximum, rather than the minimum.
        largest: bool,
        /// Axis; counted from the last if negative.
        axis: i64,
        /// Whether the axis is kept with size 1.
        keep: bool,
        /// Whether the last of equal elements is selected, rather than the first.
        last: bool,
    },
    /// Softmax and similar functions of rows.
    Softmax {
        /// The function.
        kind: SoftmaxKind,
        /// The axis of the rows.
        axis: i64,
        /// Whether rows include all axes from this one on.
        to_end: bool,
    },
    /// Cumulative sums or products along the axis in operand 1.
    Cumulate {
        /// Products, rather than sums.
        product: bool,
        /// Whether an element is excluded from its own sum.
        exclusive: bool,
        /// Whether sums start at the end.
        reverse: bool,
    },
    /// Negative log-likelihood: minus the log-probability (operand 0) of each sample's class
    /// (operand 1), weighted by class (operand 2).
    NegativeLogLikelihood {
        /// How the losses are reduced.
        reduction: LossReduction,
        /// A class whose samples are ignored.
        ignore: Option<i64>,
    },
}

impl Operation for Reduction {
    fn name(&self) -> &'static str {
        match self {
            Self::Reduce { fold, .. } => match fold {
                ReduceKind::Sum => "ReduceSum",
                ReduceKind::Mean => "ReduceMean",
                ReduceKind::Max => "ReduceMax",
                ReduceKind::Min => "ReduceMin",
                ReduceKind::Product => "ReduceProd",
                ReduceKind::L1 => "ReduceL1",
                ReduceKind::L2 => "ReduceL2",
                ReduceKind::SumSquare => "ReduceSumSquare",
                ReduceKind::LogSum => "ReduceLogSum",
                ReduceKind::LogSumExp => "ReduceLogSumExp",
            },
            Self::ArgExtreme { largest: true, .. } => "ArgMax",
            Self::ArgExtreme { largest: false, .. } => "ArgMin",
            Self::Softmax { kind: SoftmaxKind::Softmax, .. } => "Softmax",
            Self::Softmax { kind: SoftmaxKind::LogSoftmax, .. } => "LogSoftmax",
            Self::Softmax { kind: SoftmaxKind::Hardmax, .. } => "Hardmax",
            Self::Cumulate { product: false, .. } => "CumSum",
            Self::Cumulate { product: true, .. } => "CumProd",
            Self::NegativeLogLikelihood { .. } => "NegativeLogLikelihoodLoss",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let x = inputs.get(0)?;
        self.accept(x.dtype)?;
        let dtype = if matches!(self, Self::ArgExtreme { .. }) { DType::I64 } else { x.dtype };
        if let Self::NegativeLogLikelihood { reduction, .. } = self {
            return Ok(vec![loss::infer(*reduction, inputs)?]);
        }
        let Some(from) = x.shape.as_deref() else { return Ok(vec![Fact::unknown(dtype)]) };
        let to = match self {
            Self::Reduce { keep, noop_with_empty_axes, .. } => {
                let given = match inputs.optional(1) {
                    None => Vec::new(),
                    Some(Fact { value: Some(axes), .. }) => axes.integers()?,
                    Some(_) => return Ok(vec![Fact::unknown(dtype)]),
                };
                folded(from, &fold_axes(&given, from.len(), *noop_with_empty_axes)?, *keep)
            }
            Self::ArgExtreme { axis, keep, .. } => {
                let axis = shape::axis(*axis, from.len())?;
                let to = folded(from, &[axis], *keep);
                if from[axis] == 0 && !to.contains(&0) {
                    return Err(OpError::invalid(format!(
                        "axis {axis} of shape {from:?} is empty, so it has no extremum"
                    )));
                }
                to
            }
            Self::Softmax { axis, .. } => {
                // A scalar is a row of one element.
                shape::axis(*axis, from.len().max(1))?;
                from.to_vec()
            }
            Self::Cumulate { .. } => {
                if let Some(axis) = &inputs.get(1)?.value {
                    shape::axis(axis.integer()?, from.len())?;
                }
                from.to_vec()
            }
            Self::NegativeLogLikelihood { .. } => Vec::new(),
        };
        Ok(vec![Fact::new(dtype, to)])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let output = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let to = output.first().map_or(Ok(&[][..]), Fact::shape)?;
        let x = inputs.tensor(0)?;
        let result = match self {
            Self::Reduce { fold, noop_with_empty_axes, .. } => {
                let given = inputs.optional(1)?.map_or(Ok(Vec::new()), |axes| axes.integers())?;
                let axes = fold_axes(&given, x.rank(), *noop_with_empty_axes)?;
                wide!(x.dtype(), reduce(*fold, x, &axes, to))
            }
            Self::ArgExtreme { largest, axis, last, .. } => {
                let axis = shape::axis(*axis, x.rank())?;
                wide!(x.dtype(), arg_extreme(x, axis, *largest, *last, to))
            }
            Self::Softmax { kind, axis, to_end } => softmax::eval(*kind, *axis, *to_end, x),
            Self::Cumulate { product, exclusive, reverse } => {
                let axis = shape::axis(inputs.tensor(1)?.integer()?, x.rank())?;
                wide!(x.dtype(), cumulate(x, axis, *product, *exclusive, *reverse))
            }
            Self::NegativeLogLikelihood { reduction, ignore } => loss::eval(*reduction, *ignore, inputs, to),
        };
        Ok(vec![result?.into()])
    }
}

use fold::{arg_extreme, cumulate, reduce};

impl Reduction {
    fn accept(&self, dtype: DType) -> Result<(), OpError> {
        let number = dtype.is_float() || dtype.is_integer();
        let fine = match self {
            Self::Reduce { fold: ReduceKind::Max | ReduceKind::Min, .. } => number || dtype == DType::Bool,
            Self::Reduce { .. } | Self::ArgExtreme { .. } | Self::Cumulate { .. } => number,
            Self::Softmax { .. } | Self::NegativeLogLikelihood { .. } => dtype.is_float(),
        };
        if fine { Ok(()) } else { Err(OpError::dtype(self.name(), dtype)) }
    }
}

fn fold_axes(given: &[i64], rank: usize, noop_with_empty_axes: bool) -> Result<Vec<usize>, OpError> {
    if given.is_empty() && !noop_with_empty_axes {
        return Ok((0..rank).collect());
    }
    shape::axes(given, rank)
}

/// A shape with the axes that are reduced.
fn folded(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let one = |(axis, &size): (usize, &usize)| match axes.contains(&axis) {
        false => Some(size),
        true => keep.then_some(1),
    };
    shape.iter().enumerate().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;

    fn run(op: &Reduction, inputs: &[Tensor]) -> Result<Tensor, OpError> {
        let values: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, 1))?[0].tensor().cloned()
    }

    fn over(fold: ReduceKind) -> Reduction {
        Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false }
    }

    #[test]
    fn integers_wrap_and_do_not_pass_through_floats() -> Result<(), OpError> {
        assert_eq!(run(&over(ReduceKind::Sum), &[Tensor::vector(vec![200u8, 100])])?, Tensor::scalar(44u8));
        let large = vec![u64::MAX - 1, u64::MAX];
        assert_eq!(run(&over(ReduceKind::Max), &[Tensor::vector(large)])?, Tensor::scalar(u64::MAX));
        assert_eq!(run(&over(ReduceKind::Mean), &[Tensor::vector(vec![-3i32, -4])])?, Tensor::scalar(-3i32));
        assert_eq!(run(&over(ReduceKind::Max), &[Tensor::vector(Vec::<i8>::new())])?, Tensor::scalar(i8::MIN));
        assert_eq!(run(&over(ReduceKind::Min), &[Tensor::vector(Vec::<u64>::new())])?, Tensor::scalar(u64::MAX));
        assert_eq!(run(&over(ReduceKind::LogSum), &[Tensor::vector(vec![0i32])])?, Tensor::scalar(i32::MIN));
        Ok(())
    }

    #[test]
    fn the_extrema_of_nan_are_nan() -> Result<(), OpError> {
        let data = Tensor::vector(vec![1.0f32, f32::NAN, 2.0]);
        assert!(run(&over(ReduceKind::Max), std::slice::from_ref(&data))?.float()?.is_nan());
        let arg = Reduction::ArgExtreme { largest: true, axis: 0, keep: false, last: false };
        assert_eq!(run(&arg, &[data])?, Tensor::scalar(1i64));
        assert!(run(&arg, &[Tensor::zeros(DType::F32, [0])?]).is_err());
        assert!(run(&over(ReduceKind::Sum), &[Tensor::zeros(DType::F32, [0])?])?.float()? == 0.0);
        assert_eq!(run(&arg, &[Tensor::zeros(DType::F32, [3, 0])?])?, Tensor::zeros(DType::I64, [0])?);
        Ok(())
    }

    #[test]
    fn old_softmax_normalizes_all_axes_to_the_end() -> Result<(), OpError> {
        let op = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: 1, to_end: true };
        let output = run(&op, &[Tensor::zeros(DType::F32, [1, 2, 2])?])?;
        assert_eq!(output, Tensor::new([1, 2, 2], vec![0.25f32; 4])?);
        assert!(run(&op, &[Tensor::vector(vec![1.0f32])]).is_err());
        assert_eq!(run(&op, &[Tensor::zeros(DType::F32, [2, 0, 2])?])?.shape(), [2, 0, 2]);
        Ok(())
    }
}
