//! Labels and transforms of scores.

use super::{matrix, numbers};
use crate::{DType, OpError, Tensor, Value, shape};

/// The post-transform of the scores of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostTransform {
    /// No transform.
    None,
    /// Exponentials, divided by their sum over the scores of a row.
    Softmax,
    /// The logistic function of each score.
    Logistic,
    /// Softmax that keeps zeros.
    SoftmaxZero,
    /// The quantile function of the normal distribution.
    Probit,
}

impl PostTransform {
    pub(super) fn apply(self, row: &mut [f64]) {
        let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::None => {}
            Self::Softmax => {
                row.iter_mut().for_each(|score| *score = (*score - most).exp());
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|score| *score /= sum);
            }
            Self::Logistic => row.iter_mut().for_each(|score| *score = 1.0 / (1.0 + (-*score).exp())),
            Self::SoftmaxZero => {
                let one = |score: f64| if score.abs() > 1e-7 { (score - most).exp() } else { score * (-most).exp() };
                row.iter_mut().for_each(|score| *score = one(*score));
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|score| if sum == 0.0 { *score = 0.5 } else { *score /= sum });
            }
            Self::Probit => {
                row.iter_mut().for_each(|score| *score = std::f64::consts::SQRT_2 * erf_inverse(2.0 * *score - 1.0))
            }
        }
    }
}

/// The inverse error function by Winitzki's approximation, as other runtimes use it: accurate to
/// 0.2 %.
fn erf_inverse(x: f64) -> f64 {
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let half = 2.0 / (std::f64::consts::PI * 0.147) + 0.5 * log;
    x.signum() * ((half * half - log / 0.147).sqrt() - half).sqrt()
}

/// Class labels.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each has labels of the type of its name")]
pub enum Labels {
    Integers(Vec<i64>),
    Texts(Vec<String>),
}

impl Labels {
    /// The number of labels.
    pub fn count(&self) -> usize {
        match self {
            Self::Integers(all) => all.len(),
            Self::Texts(all) => all.len(),
        }
    }

    pub(super) fn dtype(&self) -> DType {
        match self {
            Self::Integers(_) => DType::I64,
            Self::Texts(_) => DType::String,
        }
    }

    fn pick(&self, places: &[usize]) -> Result<Tensor, OpError> {
        fn all<T: Clone>(labels: &[T], places: &[usize]) -> Option<Vec<T>> {
            places.iter().map(|place| labels.get(*place).cloned()).collect()
        }
        let picked = match self {
            Self::Integers(labels) => all(labels, places).map(Tensor::vector),
            Self::Texts(labels) => all(labels, places).map(Tensor::vector),
        };
        picked.ok_or_else(|| OpError::invalid(format!("there are more scores than class labels ({})", self.count())))
    }
}

/// How a classifier with one score, that of the second class, derives the score of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstScore {
    /// Each class has a score.
    Given,
    /// One minus the second.
    Rest,
    /// The negated second.
    Opposite,
}

/// Selects a label per row, and transforms the scores.
#[derive(Clone, Debug)]
pub struct Classify {
    /// Names or numbers of the classes, in the order of the scores.
    pub labels: Labels,
    /// The transform, applied after the label is selected.
    pub transform: PostTransform,
    /// How the scores of two classes are derived.
    pub second: FirstScore,
    /// With two labels: the second one is selected if the last score exceeds this. Otherwise, and
    /// if `None`, the label with the best score is selected.
    pub above: Option<f64>,
}

impl Classify {
    pub(super) fn columns(&self, given: usize) -> usize {
        if self.second == FirstScore::Given { given } else { 2 }
    }

    pub(super) fn eval(&self, x: &Tensor) -> Result<Vec<Value>, OpError> {
        let (rows, columns) = matrix(x.shape())?;
        let scores = numbers(x)?;
        if columns == 0 || self.second != FirstScore::Given && columns != 1 {
            let expected = if self.second == FirstScore::Given { "at least one column" } else { "one column" };
            return Err(OpError::invalid(format!("the scores have shape {:?}, expected {expected}", x.shape())));
        }
        let mut best = Vec::with_capacity(rows);
        let mut result = Vec::with_capacity(shape::count(&[rows, self.columns(columns)])?);
        for row in scores.chunks_exact(columns) {
            let last = row[columns - 1];
            let mut row = match self.second {
                FirstScore::Given => row.to_vec(),
                FirstScore::Rest => vec![1.0 - last, last],
                FirstScore::Opposite => vec![-last, last],
            };
            best.push(self.above.map_or_else(|| first_best(&row), |above| usize::from(last > above)));
            self.transform.apply(&mut row);
            result.append(&mut row);
        }
        let scores = Tensor::from_floats(DType::F32, [rows, self.columns(columns)], &result)?;
        Ok(vec![self.labels.pick(&best)?.into(), scores.into()])
    }
}

/// The index of the first maximum.
fn first_best(row: &[f64]) -> usize {
    let mut best = 0;
    for (index, score) in row.iter().enumerate() {
        if *score > row[best] {
            best = index;
        }
    }
    best
}

pub(super) fn linear(x: &Tensor, coefficients: &[f32], intercepts: &[f32]) -> Result<Tensor, OpError> {
    let (rows, columns) = matrix(x.shape())?;
    let shape = [rows, intercepts.len()];
    let mut result = Vec::with_capacity(shape::count(&shape)?);
    if columns.checked_mul(intercepts.len()) != Some(coefficients.len()) {
        return Err(OpError::invalid(format!(
            "there are {} coefficients, expected {columns} for each of {} scores",
            coefficients.len(),
            intercepts.len()
        )));
    }
    let x = numbers(x)?;
    for row in 0..rows {
        let x = &x[row * columns..][..columns];
        for (score, intercept) in intercepts.iter().enumerate() {
            let factors = &coefficients[score * columns..][..columns];
            let sum: f64 = x.iter().zip(factors).map(|(x, factor)| x * f64::from(*factor)).sum();
            result.push(sum + f64::from(*intercept));
        }
    }
    Tensor::from_floats(DType::F32, shape, &result)
}
