//! Classic machine learning: operations of the `ai.onnx.ml` domain, such as tree ensembles and
//! encoders.
//!
//! Classifiers and regressors are two nodes: scores by trees or by a linear map, then
//! [`Classic::Classify`] or [`Classic::Transform`].

mod features;
mod lookup;
mod scores;
mod trees;

pub use features::RowNorm;
pub use lookup::{Lookup, LookupTable};
pub use scores::{Classify, FirstScore, Labels, PostTransform};
pub use trees::{Aggregate, Child, NodeTest, TreeEnsemble, TreeNode};

use super::{Facts, Inputs, Operation};
use crate::{DType, Data, Fact, OpError, Tensor, Value, shape};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Classic {
    /// Maps each element by a lookup table.
    Lookup(Lookup),
    /// Selects columns: the last axis of the first operand at the indices of the second.
    Columns,
    /// 1 where an element exceeds a threshold, and 0 elsewhere.
    Binarize {
        /// Elements equal to it give 0.
        threshold: f32,
    },
    /// Subtracts an offset from the last axis, then scales it.
    Scale {
        /// The offsets, one per column or one for all.
        offset: Vec<f32>,
        /// The factors, one per column or one for all.
        scale: Vec<f32>,
    },
    /// Divides each row by its norm.
    Normalize(RowNorm),
    /// Replaces missing values.
    Impute {
        /// The value that marks a missing one; NaN matches every NaN.
        missing: f64,
        /// The replacement, one per column or one for all.
        values: Vec<f64>,
    },
    /// One-hot encoding of each element.
    OneHot {
        /// The categories, integers or strings.
        categories: Tensor,
        /// Whether unknown elements are allowed; they get all zeros.
        or_none: bool,
    },
    /// Concatenates rows.
    Vectorize,
    /// Scores of a tree ensemble.
    TreeEnsemble(TreeEnsemble),
    /// Scores of a linear model.
    Linear {
        /// Coefficients, `[scores, columns]`.
        coefficients: Vec<f32>,
        /// Intercepts, one per score.
        intercepts: Vec<f32>,
    },
    /// Transforms scores.
    Transform(PostTransform),
    /// The label with the best score of each row, and the transformed scores.
    Classify(Classify),
}

/// Computes an output shape from an input shape.
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
            Self::TreeEnsemble(_) => "TreeEnsemble",
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
            Self::TreeEnsemble(trees) => {
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
        let result = match self {
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
            Self::TreeEnsemble(trees) => trees.eval(x)?,
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
        Ok(vec![result.into()])
    }
}

/// Rows and columns of a shape; a vector is one row.
fn matrix(shape: &[usize]) -> Result<(usize, usize), OpError> {
    match *shape {
        [columns] => Ok((1, columns)),
        [rows, columns] => Ok((rows, columns)),
        _ => Err(OpError::invalid(format!("the input has shape {shape:?}, expected [N, F] or [F]"))),
    }
}

/// The elements of a numeric tensor; strings and `bool` are an error.
fn numbers(tensor: &Tensor) -> Result<Vec<f64>, OpError> {
    match tensor.data() {
        Data::Bool(_) => Err(OpError::dtype("a list of numbers", DType::Bool)),
        _ => tensor.floats(),
    }
}
