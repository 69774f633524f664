//! Normalization: subtracts the mean and divides by the standard deviation over sets of elements.

mod batch;
mod channels;
mod rows;

use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Value, shape};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Norm {
    /// Batch normalization by channel. Operands: input, scale, bias, mean, variance, each with one
    /// value per channel or per element of a sample.
    Batch {
        /// Added to the variance.
        epsilon: f32,
        /// In training mode, the factor of the running statistics. Mean and variance come from the
        /// batch; outputs 1 and 2 are the updated running statistics, and outputs 3 and 4 those of
        /// the batch.
        momentum: Option<f32>,
    },
    /// Layer normalization over all axes from one on. Operands: input, scale, optional bias.
    /// Outputs 1 and 2: mean and reciprocal standard deviation.
    Layer {
        /// The first axis.
        axis: i64,
        /// Added to the variance.
        epsilon: f32,
        /// RMS normalization: the mean is not subtracted.
        rms: bool,
        /// The type of outputs 1 and 2.
        stash: DType,
    },
    /// Group normalization. Operands: input, scale, bias.
    Group {
        /// The number of groups; `None` for one per channel.
        groups: Option<usize>,
        /// Added to the variance.
        epsilon: f32,
        /// Whether scale and bias are per group, rather than per channel.
        by_group: bool,
    },
    /// Divides rows along an axis by their norm.
    Lp {
        /// Axis; counted from the last if negative.
        axis: i64,
        /// The L2 norm, rather than L1.
        euclidean: bool,
    },
    /// Normalizes along axes to mean 0 and variance 1.
    MeanVariance {
        /// Axes; counted from the last if negative.
        axes: Vec<i64>,
    },
    /// Local response normalization over neighboring channels.
    LocalResponse {
        /// The number of channels.
        size: usize,
        /// The factor of the mean of squares.
        alpha: f32,
        /// The exponent.
        beta: f32,
        /// The constant term.
        bias: f32,
    },
}

impl Operation for Norm {
    fn name(&self) -> &'static str {
        match self {
            Self::Batch { .. } => "BatchNormalization",
            Self::Layer { rms: false, .. } => "LayerNormalization",
            Self::Layer { rms: true, .. } => "RMSNormalization",
            Self::Group { groups: None, .. } => "InstanceNormalization",
            Self::Group { .. } => "GroupNormalization",
            Self::Lp { .. } => "LpNormalization",
            Self::MeanVariance { .. } => "MeanVarianceNormalization",
            Self::LocalResponse { .. } => "LRN",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        for index in 0..inputs.len() {
            if let Some(fact) = inputs.optional(index).filter(|fact| !fact.dtype.is_float()) {
                return Err(OpError::dtype(format!("operand {index}"), fact.dtype));
            }
        }
        let x = inputs.get(0)?;
        let mut result = vec![Fact { value: None, ..x.clone() }];
        match self {
            Self::Batch { momentum, .. } => {
                batch::check(inputs)?;
                if momentum.is_some() {
                    let (mean, variance) = (inputs.get(3)?, inputs.get(4)?);
                    result.extend([mean, variance, mean, variance].map(|fact| Fact { value: None, ..fact.clone() }));
                }
            }
            Self::Layer { axis, stash, rms, .. } => {
                let statistics = rows::check_layer(*axis, inputs)?;
                if *rms {
                    result[0].dtype = inputs.get(1)?.dtype;
                }
                let fact = Fact { dtype: *stash, shape: statistics, value: None };
                result.extend([fact.clone(), fact]);
            }
            Self::Group { groups, by_group, .. } => channels::check_group(*groups, *by_group, inputs)?,
            Self::Lp { axis, .. } => {
                if let Some(sizes) = &x.shape {
                    shape::axis(*axis, sizes.len())?;
                }
            }
            Self::MeanVariance { axes } => {
                if let Some(sizes) = &x.shape {
                    shape::axes(axes, sizes.len())?;
                }
            }
            Self::LocalResponse { size, .. } => {
                if *size == 0 {
                    return Err(OpError::invalid("the window of channels is 0, expected a positive size"));
                }
                if let Some(sizes) = x.shape.as_ref().filter(|sizes| sizes.len() < 2) {
                    return Err(OpError::invalid(format!("shape {sizes:?} has no channels")));
                }
            }
        }
        result.truncate(inputs.outputs().max(1));
        Ok(result)
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let result = self.infer(&Facts::new(&facts, inputs.outputs()))?;
        let x = inputs.tensor(0)?;
        let results = match self {
            Self::Batch { epsilon, momentum } => batch::eval(inputs, f64::from(*epsilon), momentum.map(f64::from))?,
            Self::Layer { axis, epsilon, rms, .. } => {
                rows::layer(inputs, shape::axis(*axis, x.rank())?, f64::from(*epsilon), *rms)?
            }
            Self::Group { groups, epsilon, by_group } => {
                vec![channels::group(inputs, *groups, f64::from(*epsilon), *by_group)?]
            }
            Self::Lp { axis, euclidean } => vec![rows::lp(x, shape::axis(*axis, x.rank())?, *euclidean)?],
            Self::MeanVariance { axes } => vec![rows::mean_variance(x, &shape::axes(axes, x.rank())?)?],
            Self::LocalResponse { size, alpha, beta, bias } => {
                vec![channels::local_response(x, *size, [*alpha, *beta, *bias].map(f64::from))?]
            }
        };
        let tensor =
            |(fact, data): (&Fact, Vec<f64>)| Ok(crate::Tensor::from_floats(fact.dtype, fact.shape()?, &data)?.into());
        result.iter().zip(results).map(tensor).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;

    fn run(op: &Norm, inputs: &[Tensor], outputs: usize) -> Result<Vec<Value>, OpError> {
        let values: Vec<Value> = inputs.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, outputs))
    }

    #[test]
    fn old_models_have_parameters_per_element() -> Result<(), OpError> {
        let op = Norm::Batch { epsilon: 0.0, momentum: None };
        let x = Tensor::new([1, 2, 2], vec![1.0f32, 2.0, 3.0, 4.0])?;
        let by = |values: [f32; 4]| Tensor::new([2, 2], values.to_vec());
        let operands = [x.clone(), by([1.0, 2.0, 1.0, 1.0])?, by([0.0; 4])?, by([0.0; 4])?, by([1.0, 1.0, 1.0, 4.0])?];
        let result = run(&op, &operands, 1)?;
        assert_eq!(result[0].tensor()?, &Tensor::new([1, 2, 2], vec![1.0f32, 4.0, 3.0, 2.0])?);
        let wrong = Tensor::vector(vec![1.0f32; 3]);
        assert!(run(&op, &[x, wrong.clone(), wrong.clone(), wrong.clone(), wrong], 1).is_err());
        Ok(())
    }

    #[test]
    fn hostile_groups_are_errors_and_empty_tensors_stay_empty() -> Result<(), OpError> {
        let x = Tensor::zeros(DType::F32, [1, 4, 0])?;
        let four = Tensor::zeros(DType::F32, [4])?;
        for groups in [0, 3, usize::MAX] {
            let op = Norm::Group { groups: Some(groups), epsilon: 0.0, by_group: false };
            assert!(run(&op, &[x.clone(), four.clone(), four.clone()], 1).is_err());
        }
        let op = Norm::Group { groups: Some(2), epsilon: 0.0, by_group: false };
        assert_eq!(run(&op, &[x.clone(), four.clone(), four], 1)?[0].tensor()?, &x);
        let batch = Norm::Batch { epsilon: 0.0, momentum: Some(0.5) };
        let (x, two) = (Tensor::zeros(DType::F32, [0, 2, 1 << 40, 1 << 40])?, Tensor::zeros(DType::F32, [2])?);
        let operands = [x.clone(), two.clone(), two.clone(), two.clone(), two];
        assert_eq!(run(&batch, &operands, 3)?[0].tensor()?, &x);
        Ok(())
    }
}
