//! Random values, dropout and sampling.
//!
//! An operation with a seed draws the same values in every run and on every device; without a seed
//! it draws new ones.

mod philox;

pub use philox::Stream;

use super::{Facts, Inputs, Operation};
use crate::tensor::with_capacity;
use crate::{DType, Fact, OpError, Tensor, Value, shape};

/// The distribution of random values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform in a half-open range.
    Uniform {
        /// The lower bound, included.
        low: f32,
        /// The upper bound, excluded.
        high: f32,
    },
    /// Normal distribution.
    Normal {
        /// The mean.
        mean: f32,
        /// The standard deviation.
        scale: f32,
    },
}

/// An operation of this family.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Random {
    /// A tensor of the shape that the first operand lists. The optional second operand gives only
    /// the type.
    Fill {
        /// What the elements are drawn from.
        distribution: Distribution,
        /// The type; that of the second operand if `None`.
        dtype: Option<DType>,
        /// Equal seeds draw equal values on every device; without one, each run differs.
        seed: Option<u64>,
    },
    /// 1 with the probability in the operand's element, and 0 otherwise.
    Bernoulli {
        /// The result type; the operand's type if `None`.
        dtype: Option<DType>,
        /// Equal seeds draw equal values on every device; without one, each run differs.
        seed: Option<u64>,
    },
    /// Draws classes for every row of the operand, which has their unnormalized log-probabilities.
    Multinomial {
        /// The result type.
        dtype: DType,
        /// Draws per row.
        samples: usize,
        /// Equal seeds draw equal values on every device; without one, each run differs.
        seed: Option<u64>,
    },
    /// Dropout: sets elements to zero at random. Operands: data, dropout ratio, training mode.
    /// Output 1 is the mask.
    Dropout {
        /// Equal seeds draw equal values on every device; without one, each run differs.
        seed: Option<u64>,
    },
}

impl Operation for Random {
    fn name(&self) -> &'static str {
        match self {
            Self::Fill { distribution: Distribution::Uniform { .. }, .. } => "RandomUniform",
            Self::Fill { distribution: Distribution::Normal { .. }, .. } => "RandomNormal",
            Self::Bernoulli { .. } => "Bernoulli",
            Self::Multinomial { .. } => "Multinomial",
            Self::Dropout { .. } => "Dropout",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let first = inputs.get(0)?;
        Ok(match self {
            Self::Fill { dtype, .. } => {
                let dtype = match dtype {
                    Some(dtype) => *dtype,
                    None => inputs.get(1)?.dtype,
                };
                float("random numbers", dtype)?;
                vec![match &first.value {
                    Some(sizes) => Fact::new(dtype, sizes_of(sizes)?),
                    None => Fact::unknown(dtype),
                }]
            }
            Self::Bernoulli { dtype, .. } => {
                float("a probability", first.dtype)?;
                let dtype = dtype.unwrap_or(first.dtype);
                if dtype == DType::String {
                    return Err(OpError::dtype("a random number", dtype));
                }
                vec![Fact { dtype, shape: first.shape.clone(), value: None }]
            }
            Self::Multinomial { dtype, samples, .. } => {
                float("a weight", first.dtype)?;
                if !dtype.is_integer() {
                    return Err(OpError::dtype("a class", *dtype));
                }
                vec![match first.shape.as_deref() {
                    Some(&[rows, classes]) if classes > 0 || rows == 0 || *samples == 0 => {
                        shape::count(&[rows, *samples])?;
                        Fact::new(*dtype, [rows, *samples])
                    }
                    Some(other) => {
                        let text = format!("the weights have shape {other:?}, expected [N, classes] with a class");
                        return Err(OpError::invalid(text));
                    }
                    None => Fact::unknown(*dtype),
                }]
            }
            Self::Dropout { .. } => {
                let whether = inputs.optional(2).map_or(DType::Bool, |fact| fact.dtype);
                if whether != DType::Bool {
                    return Err(OpError::dtype("the training mode", whether));
                }
                let mask = Fact { dtype: DType::Bool, shape: first.shape.clone(), value: None };
                vec![Fact { value: None, ..first.clone() }, mask]
            }
        })
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let fact = self.infer(&Facts::new(&facts, inputs.outputs()))?.swap_remove(0);
        let to = fact.shape()?;
        let count = shape::count(to)?;
        let first = inputs.tensor(0)?;
        match self {
            Self::Fill { distribution, seed, .. } => {
                let elements = fill(*distribution, count, fact.dtype, Stream::new(*seed))?;
                Ok(vec![Tensor::from_floats(fact.dtype, to, &elements)?.into()])
            }
            Self::Bernoulli { seed, .. } => {
                let stream = Stream::new(*seed);
                let chances = first.floats()?;
                let draw = |(at, chance): (usize, &f64)| f64::from(u8::from(stream.uniform(at as u64) < *chance));
                let drawn: Vec<f64> = chances.iter().enumerate().map(draw).collect();
                Ok(vec![Tensor::from_floats(fact.dtype, to, &drawn)?.into()])
            }
            Self::Multinomial { samples, seed, .. } => {
                let classes = first.shape().get(1).copied().unwrap_or(0);
                let drawn = multinomial(&first.floats()?, classes, *samples, count, Stream::new(*seed))?;
                Ok(vec![Tensor::from_floats(fact.dtype, to, &drawn)?.into()])
            }
            Self::Dropout { seed } => {
                let ratio = inputs.optional(1)?.map_or(Ok(0.5), Tensor::float)?;
                let train = inputs.optional(2)?.map_or(Ok(0.0), Tensor::float)? != 0.0;
                dropout(first, if train { ratio } else { 0.0 }, Stream::new(*seed))
            }
        }
    }

    fn is_random(&self) -> bool {
        true
    }
}

fn float(what: &str, dtype: DType) -> Result<(), OpError> {
    if dtype.is_float() { Ok(()) } else { Err(OpError::dtype(what, dtype)) }
}

fn sizes_of(sizes: &Tensor) -> Result<Vec<usize>, OpError> {
    let size =
        |given: i64| usize::try_from(given).map_err(|_| OpError::invalid(format!("dimension {given} is negative")));
    let sizes = sizes.integers()?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
    shape::count(&sizes)?;
    Ok(sizes)
}

fn fill(distribution: Distribution, count: usize, dtype: DType, stream: Stream) -> Result<Vec<f64>, OpError> {
    let mut elements = with_capacity(count)?;
    let places = 0..count as u64;
    match distribution {
        Distribution::Uniform { low, high } => {
            let (low, span) = (f64::from(low), f64::from(high) - f64::from(low));
            let draw = |at| if dtype == DType::F64 { stream.uniform_double(at) } else { stream.uniform(at) };
            elements.extend(places.map(|at| low + span * draw(at)));
        }
        Distribution::Normal { mean, scale } => {
            elements.extend(places.map(|at| f64::from(mean) + f64::from(scale) * stream.normal(at)));
        }
    }
    Ok(elements)
}

fn multinomial(
    logarithms: &[f64],
    classes: usize,
    samples: usize,
    count: usize,
    stream: Stream,
) -> Result<Vec<f64>, OpError> {
    let mut drawn = with_capacity(count)?;
    for row in logarithms.chunks_exact(classes.max(1)) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sums = Vec::with_capacity(classes);
        let mut sum = 0.0;
        for logarithm in row {
            sum += (logarithm - top).exp();
            sums.push(sum);
        }
        if !sum.is_finite() || sum <= 0.0 {
            return Err(OpError::invalid("the weights are not a distribution"));
        }
        for _ in 0..samples {
            let at = stream.uniform(drawn.len() as u64) * sum;
            drawn.push(sums.partition_point(|below| *below <= at).min(classes - 1) as f64);
        }
    }
    Ok(drawn)
}

fn dropout(data: &Tensor, ratio: f64, stream: Stream) -> Result<Vec<Value>, OpError> {
    if !(0.0..1.0).contains(&ratio) {
        return Err(OpError::invalid(format!("the dropout ratio is {ratio}, expected a value in [0, 1)")));
    }
    if ratio == 0.0 {
        return Ok(vec![data.clone().into(), Tensor::new(data.shape(), vec![true; data.len()])?.into()]);
    }
    let mask: Vec<bool> = (0..data.len() as u64).map(|at| stream.uniform(at) >= ratio).collect();
    let scale = 1.0 / (1.0 - ratio);
    let scaled = data.floats()?.into_iter().zip(&mask).map(|(element, mask)| if *mask { element * scale } else { 0.0 });
    let result = Tensor::from_floats(data.dtype(), data.shape(), &scaled.collect::<Vec<_>>())?;
    Ok(vec![result.into(), Tensor::new(data.shape(), mask)?.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(op: &Random, operands: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let values: Vec<Value> = operands.iter().cloned().map(Value::from).collect();
        let operands: Vec<_> = values.iter().map(Some).collect();
        op.eval(&Inputs::new(&operands, 1))?.iter().map(|value| value.tensor().cloned()).collect()
    }

    #[test]
    fn a_seed_repeats_values_and_no_seed_does_not() -> Result<(), OpError> {
        let distribution = Distribution::Normal { mean: 0.0, scale: 1.0 };
        let shape = [Tensor::vector(vec![2i64, 3])];
        let fill = |seed| run(&Random::Fill { distribution, dtype: Some(DType::F32), seed }, &shape);
        assert_eq!(fill(Some(1))?, fill(Some(1))?);
        assert_ne!(fill(Some(1))?, fill(Some(2))?);
        assert_ne!(fill(None)?, fill(None)?);
        Ok(())
    }

    #[test]
    fn dropout_keeps_the_mean_and_returns_its_mask() -> Result<(), OpError> {
        let data = Tensor::vector(vec![1.0f32; 4000]);
        let op = Random::Dropout { seed: Some(3) };
        let result = run(&op, &[data.clone(), Tensor::scalar(0.25f32), Tensor::scalar(true)])?;
        let sum: f32 = result[0].slice::<f32>()?.iter().sum();
        assert!((sum - 4000.0).abs() < 150.0, "{sum}");
        for (element, kept) in result[0].slice::<f32>()?.iter().zip(result[1].slice::<bool>()?) {
            assert_eq!(*element != 0.0, *kept);
        }
        assert_eq!(run(&op, &[data.clone(), Tensor::scalar(0.25f32), Tensor::scalar(false)])?[0], data);
        assert!(run(&op, &[data, Tensor::scalar(1.0f32), Tensor::scalar(true)]).is_err());
        Ok(())
    }

    #[test]
    fn classes_are_drawn_according_to_their_weights() -> Result<(), OpError> {
        let weights = Tensor::new([1, 3], vec![0.75f64.ln(), f64::NEG_INFINITY, 0.25f64.ln()])?;
        let op = Random::Multinomial { dtype: DType::I32, samples: 4000, seed: Some(5) };
        let drawn = run(&op, &[weights])?.swap_remove(0);
        let counts = [0, 1, 2]
            .map(|class| drawn.slice::<i32>().map_or(0, |all| all.iter().filter(|one| **one == class).count()));
        assert!(counts[0].abs_diff(3000) < 150 && counts[1] == 0, "{counts:?}");
        let huge = Random::Multinomial { dtype: DType::I32, samples: usize::MAX, seed: None };
        assert!(run(&huge, &[Tensor::zeros(DType::F32, [2, 2])?]).is_err());
        assert!(run(&huge, &[Tensor::zeros(DType::F32, [1, 0])?]).is_err());
        Ok(())
    }
}
