//! What becomes of scores.

use super::{matrix, numbers};
use crate::{DType, OpError, Tensor, Value, shape};

/// How the scores of a row become others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// They stay.
    None,
    /// Exponentials divided by their sum.
    Softmax,
    /// The logistic function of each.
    Logistic,
    /// Softmax in which zeros stay zero.
    SoftmaxZero,
    /// The quantile of the normal distribution.
    Probit,
}

impl Transform {
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

/// The inverse error function by Winitzki's formula, as others compute it here: it is good to 0.2 %.
fn erf_inverse(x: f64) -> f64 {
    let log = ((1.0 - x) * (1.0 + x)).ln();
    let half = 2.0 / (std::f64::consts::PI * 0.147) + 0.5 * log;
    x.signum() * ((half * half - log / 0.147).sqrt() - half).sqrt()
}

/// Labels of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each has labels of the type of its name")]
pub enum Labels {
    Integers(Vec<i64>),
    Texts(Vec<String>),
}

impl Labels {
    /// How many there are.
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
        picked.ok_or_else(|| OpError::invalid(format!("scores for more than {} classes", self.count())))
    }
}

/// What a single score of two classes, that of the second, says of the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second {
    /// Each class has a score.
    Given,
    /// The first has the rest of 1.
    Rest,
    /// The first has the opposite.
    Opposite,
}

/// The label of each row, and the scores made others.
#[derive(Clone, Debug)]
pub struct Classify {
    /// The labels.
    pub labels: Labels,
    /// How scores become others; the label is looked for before.
    pub transform: Transform,
    /// Where the scores of two classes come from.
    pub second: Second,
    /// Above which last score the second of two labels is taken; without this, the one with the best score.
    pub above: Option<f64>,
}

impl Classify {
    pub(super) fn columns(&self, given: usize) -> usize {
        if self.second == Second::Given { given } else { 2 }
    }

    pub(super) fn eval(&self, x: &Tensor) -> Result<Vec<Value>, OpError> {
        let (rows, columns) = matrix(x.shape())?;
        let scores = numbers(x)?;
        if columns == 0 || self.second != Second::Given && columns != 1 {
            return Err(OpError::invalid(format!("scores of shape {:?} for classes", x.shape())));
        }
        let mut best = Vec::with_capacity(rows);
        let mut made = Vec::with_capacity(shape::count(&[rows, self.columns(columns)])?);
        for row in scores.chunks_exact(columns) {
            let last = row[columns - 1];
            let mut row = match self.second {
                Second::Given => row.to_vec(),
                Second::Rest => vec![1.0 - last, last],
                Second::Opposite => vec![-last, last],
            };
            best.push(self.above.map_or_else(|| first_best(&row), |above| usize::from(last > above)));
            self.transform.apply(&mut row);
            made.append(&mut row);
        }
        let scores = Tensor::from_floats(DType::F32, [rows, self.columns(columns)], &made)?;
        Ok(vec![self.labels.pick(&best)?.into(), scores.into()])
    }
}

/// The first of the largest.
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
    let mut made = Vec::with_capacity(shape::count(&shape)?);
    if columns.checked_mul(intercepts.len()) != Some(coefficients.len()) {
        let sizes = (coefficients.len(), intercepts.len());
        return Err(OpError::invalid(format!("{} coefficients for {} scores of {columns} columns", sizes.0, sizes.1)));
    }
    let x = numbers(x)?;
    for row in 0..rows {
        let x = &x[row * columns..][..columns];
        for (score, intercept) in intercepts.iter().enumerate() {
            let factors = &coefficients[score * columns..][..columns];
            let sum: f64 = x.iter().zip(factors).map(|(x, factor)| x * f64::from(*factor)).sum();
            made.push(sum + f64::from(*intercept));
        }
    }
    Tensor::from_floats(DType::F32, shape, &made)
}
