//! Trees, encoders and the like of the machine-learning domain.
//!
//! Classifiers and regressors are two steps: scores by trees or by a linear map, then [`Classic::Classify`] or
//! [`Classic::Transform`].

mod features;
mod lookup;
mod scores;
mod trees;

pub use features::Norm;
pub use lookup::{Lookup, Map};
pub use scores::{Classify, Labels, Second, Transform};
pub use trees::{Aggregate, Next, Split, Test, Trees};

use super::{Facts, Inputs, Operation};
use crate::{DType, Data, Fact, OpError, Tensor, Value, shape};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Classic {
    /// Each element's counterpart in a list.
    Lookup(Lookup),
    /// Some columns: the last axis of the first operand at the indices of the second.
    Columns,
    /// 1 where an element is larger, else 0.
    Binarize {
        /// Than what.
        threshold: f32,
    },
    /// The last axis shifted, then scaled.
    Scale {
        /// What is taken off, for each column or for all.
        offset: Vec<f32>,
        /// The factors, as many.
        scale: Vec<f32>,
    },
    /// Rows divided by their size.
    Normalize(Norm),
    /// Another value in the place of one that stands for a missing one.
    Impute {
        /// What stands for a missing value; not a number finds all that are none.
        missing: f64,
        /// What comes in its place, for each column or for all.
        values: Vec<f64>,
    },
    /// For each element 1 in the place of its category, 0 elsewhere.
    OneHot {
        /// The categories, integers or texts.
        categories: Tensor,
        /// Whether an element may be in none.
        or_none: bool,
    },
    /// Rows one behind the other.
    Vectorize,
    /// Scores by trees.
    Trees(Trees),
    /// Scores by a linear map.
    Linear {
        /// Factors, `[scores, columns]`.
        coefficients: Vec<f32>,
        /// What is added, for each score.
        intercepts: Vec<f32>,
    },
    /// Scores made others.
    Transform(Transform),
    /// The label with the best score of each row, and the scores made others.
    Classify(Classify),
}

/// The shape that becomes of another.
type Reshaping<'a> = dyn Fn(&[usize]) -> Result<Vec<usize>, OpError> + 'a;

impl Operation for Classic {
    fn name(&self) -> &'static str {
        match self {
            Self::Lookup(_) => "LabelEncoder",
            Self::Columns => "ArrayFeatureExtractor",
            Self::Binarize { .. } => "Binarizer",
            Self::Scale { .. } => "Scaler",
            Self::Normalize(_) => "Normalizer",
            Self::Impute { .. } => "Imputer",
            Self::OneHot { .. } => "OneHotEncoder",
            Self::Vectorize => "FeatureVectorizer",
            Self::Trees(_) => "TreeEnsemble",
            Self::Linear { .. } => "Linear",
            Self::Transform(_) => "Transform",
            Self::Classify(_) => "Classify",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let input = inputs.get(0)?;
        let shaped = |dtype: DType, shape: Result<Option<Vec<usize>>, OpError>| {
            Ok::<_, OpError>(vec![Fact { dtype, shape: shape?, value: None }])
        };
        let map = |shape: &Reshaping<'_>| input.shape.as_deref().map(shape).transpose();
        match self {
            Self::Lookup(lookup) => shaped(lookup.dtype(input.dtype)?, Ok(input.shape.clone())),
            Self::Columns => {
                let indices = inputs.get(1)?.shape.as_deref();
                let count = indices.map(shape::count).transpose()?;
                let Some(count) = count else { return Ok(vec![Fact::unknown(input.dtype)]) };
                shaped(input.dtype, map(&|shape| features::columns_shape(shape, count)))
            }
            Self::Binarize { .. } | Self::Impute { .. } => shaped(input.dtype, Ok(input.shape.clone())),
            Self::Scale { .. } | Self::Normalize(_) | Self::Transform(_) => shaped(DType::F32, Ok(input.shape.clone())),
            Self::OneHot { categories, .. } => {
                shaped(DType::F32, map(&|shape| Ok([shape, &[categories.len()]].concat())))
            }
            Self::Vectorize => {
                let mut columns = Some(0usize);
                let mut rows = None;
                for index in 0..inputs.len() {
                    let shape = inputs.get(index)?.shape.as_deref().map(matrix).transpose()?;
                    rows = rows.or(shape.map(|(rows, _)| rows));
                    columns = columns.zip(shape).map(|(sum, (_, more))| sum.saturating_add(more));
                }
                shaped(DType::F32, Ok(rows.zip(columns).map(|(rows, columns)| vec![rows, columns])))
            }
            Self::Trees(trees) => {
                let dtype = trees.dtype.unwrap_or(input.dtype);
                shaped(dtype, map(&|shape| Ok(vec![matrix(shape)?.0, trees.targets])))
            }
            Self::Linear { intercepts, .. } => {
                shaped(DType::F32, map(&|shape| Ok(vec![matrix(shape)?.0, intercepts.len()])))
            }
            Self::Classify(classify) => {
                let shape = input.shape.as_deref().map(matrix).transpose()?;
                let labels = shape.map(|(rows, _)| vec![rows]);
                let scores = shape.map(|(rows, columns)| vec![rows, classify.columns(columns)]);
                Ok(vec![
                    Fact { dtype: classify.labels.dtype(), shape: labels, value: None },
                    Fact { dtype: DType::F32, shape: scores, value: None },
                ])
            }
        }
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let x = inputs.tensor(0)?;
        let made = match self {
            Self::Lookup(lookup) => lookup.eval(x)?,
            Self::Columns => features::columns(x, inputs.tensor(1)?)?,
            Self::Binarize { threshold } => {
                let threshold = f64::from(*threshold);
                let one = |x: &f64| if *x > threshold { 1.0 } else { 0.0 };
                Tensor::from_floats(x.dtype(), x.shape(), &x.floats()?.iter().map(one).collect::<Vec<_>>())?
            }
            Self::Scale { offset, scale } => features::scale(x, offset, scale)?,
            Self::Normalize(norm) => features::normalize(x, *norm)?,
            Self::Impute { missing, values } => features::impute(x, *missing, values)?,
            Self::OneHot { categories, or_none } => features::one_hot(x, categories, *or_none)?,
            Self::Vectorize => features::vectorize(&inputs.tensors()?)?,
            Self::Trees(trees) => trees.eval(x)?,
            Self::Linear { coefficients, intercepts } => scores::linear(x, coefficients, intercepts)?,
            Self::Transform(transform) => {
                let (rows, columns) = matrix(x.shape())?;
                let mut scores = x.floats()?;
                for row in scores.chunks_exact_mut(columns.max(1)).take(rows) {
                    transform.apply(row);
                }
                Tensor::from_floats(DType::F32, x.shape(), &scores)?
            }
            Self::Classify(classify) => return classify.eval(x),
        };
        Ok(vec![made.into()])
    }
}

/// Rows and columns of a shape; a list is a row.
fn matrix(shape: &[usize]) -> Result<(usize, usize), OpError> {
    match *shape {
        [columns] => Ok((1, columns)),
        [rows, columns] => Ok((rows, columns)),
        _ => Err(OpError::invalid(format!("shape {shape:?} where [N, F] is wanted"))),
    }
}

/// The numbers of a tensor; text is an error, and so is truth.
fn numbers(tensor: &Tensor) -> Result<Vec<f64>, OpError> {
    match tensor.data() {
        Data::Bool(_) => Err(OpError::dtype("a list of numbers", DType::Bool)),
        _ => tensor.floats(),
    }
}
