//! Folds along axes: sums, extremes, arg-max, softmax, running sums, losses.

mod fold;
mod loss;
mod softmax;

use super::wide::wide;
use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Value, shape};

/// What becomes of the elements that are folded into one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Fold {
    Sum,
    Mean,
    Max,
    Min,
    Product,
    /// The sum of absolute values.
    L1,
    /// The root of the sum of squares.
    L2,
    SumSquare,
    LogSum,
    LogSumExp,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftmaxKind {
    /// Exponentials, divided by their sum.
    Softmax,
    /// The logarithm of that.
    LogSoftmax,
    /// One for the first of the largest, zero for the rest.
    Hardmax,
}

/// What becomes of the losses of all samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossReduction {
    /// They stay as they are.
    None,
    /// Their sum.
    Sum,
    /// Their sum over that of the weights.
    Mean,
}

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Reduction {
    /// Folds along the axes of operand 1; along all where there are none.
    Reduce {
        /// What becomes of the elements.
        fold: Fold,
        /// Whether axes stay, with size 1.
        keep: bool,
        /// Whether no axes mean none, so that each element is folded by itself.
        none_is_none: bool,
    },
    /// Where the largest or smallest element along an axis is.
    ArgExtreme {
        /// Largest, or smallest.
        largest: bool,
        /// Which axis.
        axis: i64,
        /// Whether the axis stays, with size 1.
        keep: bool,
        /// Among equals the last, not the first.
        last: bool,
    },
    /// Rows scaled to sum to one, and its kin.
    Softmax {
        /// Which of them.
        kind: SoftmaxKind,
        /// The axis along which rows lie.
        axis: i64,
        /// Rows take in all axes from this one on.
        to_end: bool,
    },
    /// Running sums or products along the axis that operand 1 tells.
    Cumulate {
        /// Products, or sums.
        product: bool,
        /// Whether an element is not part of its own.
        exclusive: bool,
        /// Whether they run from the end.
        reverse: bool,
    },
    /// Minus the log-probability (operand 0) of each sample's class (operand 1), weighted by class (operand 2).
    NegativeLogLikelihood {
        /// What becomes of the losses of all samples.
        reduction: LossReduction,
        /// A class that counts nothing.
        ignore: Option<i64>,
    },
}

impl Operation for Reduction {
    fn name(&self) -> &'static str {
        match self {
            Self::Reduce { fold, .. } => match fold {
                Fold::Sum => "ReduceSum",
                Fold::Mean => "ReduceMean",
                Fold::Max => "ReduceMax",
                Fold::Min => "ReduceMin",
                Fold::Product => "ReduceProd",
                Fold::L1 => "ReduceL1",
                Fold::L2 => "ReduceL2",
                Fold::SumSquare => "ReduceSumSquare",
                Fold::LogSum => "ReduceLogSum",
                Fold::LogSumExp => "ReduceLogSumExp",
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
            Self::Reduce { keep, none_is_none, .. } => {
                let given = match inputs.optional(1) {
                    None => Vec::new(),
                    Some(Fact { value: Some(axes), .. }) => axes.integers()?,
                    Some(_) => return Ok(vec![Fact::unknown(dtype)]),
                };
                folded(from, &fold_axes(&given, from.len(), *none_is_none)?, *keep)
            }
            Self::ArgExtreme { axis, keep, .. } => {
                let axis = shape::axis(*axis, from.len())?;
                let to = folded(from, &[axis], *keep);
                if from[axis] == 0 && !to.contains(&0) {
                    return Err(OpError::invalid(format!("no extreme along axis {axis} of shape {from:?}")));
                }
                to
            }
            Self::Softmax { axis, .. } => {
                // A single element is a row of one.
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
        let made = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let to = made.first().map_or(Ok(&[][..]), Fact::shape)?;
        let x = inputs.tensor(0)?;
        let result = match self {
            Self::Reduce { fold, none_is_none, .. } => {
                let given = inputs.optional(1)?.map_or(Ok(Vec::new()), |axes| axes.integers())?;
                let axes = fold_axes(&given, x.rank(), *none_is_none)?;
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
            Self::Reduce { fold: Fold::Max | Fold::Min, .. } => number || dtype == DType::Bool,
            Self::Reduce { .. } | Self::ArgExtreme { .. } | Self::Cumulate { .. } => number,
            Self::Softmax { .. } | Self::NegativeLogLikelihood { .. } => dtype.is_float(),
        };
        if fine { Ok(()) } else { Err(OpError::dtype(self.name(), dtype)) }
    }
}

fn fold_axes(given: &[i64], rank: usize, none_is_none: bool) -> Result<Vec<usize>, OpError> {
    if given.is_empty() && !none_is_none {
        return Ok((0..rank).collect());
    }
    shape::axes(given, rank)
}

/// A shape whose axes are folded.
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

    fn over(fold: Fold) -> Reduction {
        Reduction::Reduce { fold, keep: false, none_is_none: false }
    }

    #[test]
    fn integers_wrap_and_do_not_pass_through_floats() -> Result<(), OpError> {
        assert_eq!(run(&over(Fold::Sum), &[Tensor::vector(vec![200u8, 100])])?, Tensor::scalar(44u8));
        let large = vec![u64::MAX - 1, u64::MAX];
        assert_eq!(run(&over(Fold::Max), &[Tensor::vector(large)])?, Tensor::scalar(u64::MAX));
        assert_eq!(run(&over(Fold::Mean), &[Tensor::vector(vec![-3i32, -4])])?, Tensor::scalar(-3i32));
        assert_eq!(run(&over(Fold::Max), &[Tensor::vector(Vec::<i8>::new())])?, Tensor::scalar(i8::MIN));
        assert_eq!(run(&over(Fold::Min), &[Tensor::vector(Vec::<u64>::new())])?, Tensor::scalar(u64::MAX));
        assert_eq!(run(&over(Fold::LogSum), &[Tensor::vector(vec![0i32])])?, Tensor::scalar(i32::MIN));
        Ok(())
    }

    #[test]
    fn extremes_of_what_is_no_number_are_none() -> Result<(), OpError> {
        let data = Tensor::vector(vec![1.0f32, f32::NAN, 2.0]);
        assert!(run(&over(Fold::Max), std::slice::from_ref(&data))?.float()?.is_nan());
        let arg = Reduction::ArgExtreme { largest: true, axis: 0, keep: false, last: false };
        assert_eq!(run(&arg, &[data])?, Tensor::scalar(1i64));
        assert!(run(&arg, &[Tensor::zeros(DType::F32, [0])?]).is_err());
        assert!(run(&over(Fold::Sum), &[Tensor::zeros(DType::F32, [0])?])?.float()? == 0.0);
        assert_eq!(run(&arg, &[Tensor::zeros(DType::F32, [3, 0])?])?, Tensor::zeros(DType::I64, [0])?);
        Ok(())
    }

    #[test]
    fn old_softmax_takes_all_axes_to_the_end() -> Result<(), OpError> {
        let op = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: 1, to_end: true };
        let made = run(&op, &[Tensor::zeros(DType::F32, [1, 2, 2])?])?;
        assert_eq!(made, Tensor::new([1, 2, 2], vec![0.25f32; 4])?);
        assert!(run(&op, &[Tensor::vector(vec![1.0f32])]).is_err());
        assert_eq!(run(&op, &[Tensor::zeros(DType::F32, [2, 0, 2])?])?.shape(), [2, 0, 2]);
        Ok(())
    }
}
