//! TfIdfVectorizer: counts n-grams of tokens.

use std::collections::HashMap;
use std::hash::Hash;

use crate::{DType, OpError, Tensor, shape};

/// How counts are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// How often the n-gram occurs.
    Count,
    /// The n-gram's weight if it occurs.
    Weight,
    /// The count times the weight.
    Product,
}

/// All n-grams, concatenated.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each has tokens of the type of its name")]
pub enum NgramPool {
    Integers(Vec<i64>),
    Texts(Vec<String>),
}

impl NgramPool {
    fn len(&self) -> usize {
        match self {
            Self::Integers(all) => all.len(),
            Self::Texts(all) => all.len(),
        }
    }
}

/// Counts n-grams.
#[derive(Clone, Debug)]
pub struct Ngrams {
    pool: NgramPool,
    /// For each n-gram its start in the pool, its length, and its column.
    grams: Vec<(usize, usize, usize)>,
    weights: Vec<f32>,
    weighting: Weighting,
    lengths: (usize, usize),
    skip: usize,
    columns: usize,
}

impl Ngrams {
    /// `starts` are the pool indices where 1-grams, 2-grams, … begin; `columns` the output columns;
    /// `lengths` the minimum and maximum n; `skip` the maximum number of tokens to skip between
    /// two.
    pub fn new(
        pool: NgramPool,
        starts: &[i64],
        columns: &[i64],
        weights: Vec<f32>,
        weighting: Weighting,
        lengths: (i64, i64),
        skip: i64,
    ) -> Result<Self, OpError> {
        let natural = |number: &i64| {
            usize::try_from(*number)
                .map_err(|_| OpError::invalid(format!("an attribute of the n-grams is {number}, expected at least 0")))
        };
        let starts = starts.iter().map(natural).collect::<Result<Vec<_>, _>>()?;
        let columns = columns.iter().map(natural).collect::<Result<Vec<_>, _>>()?;
        let (lengths, skip) = ((natural(&lengths.0)?, natural(&lengths.1)?), natural(&skip)?);
        if lengths.0 == 0 || lengths.0 > lengths.1 || lengths.1 > starts.len() {
            return Err(OpError::invalid(format!(
                "n-grams of {} to {} tokens are requested, expected a range within 1 to {}",
                lengths.0,
                lengths.1,
                starts.len()
            )));
        }
        let mut grams = Vec::new();
        for (index, start) in starts.iter().enumerate() {
            let (size, end) = (index + 1, starts.get(index + 1).copied().unwrap_or(pool.len()));
            if *start > end || end > pool.len() || (end - start) % size != 0 {
                return Err(OpError::invalid(format!(
                    "start indices {starts:?} do not divide a pool of {} tokens into whole n-grams",
                    pool.len()
                )));
            }
            grams.extend((*start..end).step_by(size).map(|place| (place, size)));
        }
        if grams.len() != columns.len() || !(weights.is_empty() || weights.len() == grams.len()) {
            return Err(OpError::invalid(format!(
                "there are {} n-grams, {} columns and {} weights, \
                 expected one column and, if any, one weight per n-gram",
                grams.len(),
                columns.len(),
                weights.len()
            )));
        }
        let width = columns.iter().max().map_or(0, |most| most.saturating_add(1));
        // Every unused column is an element of the result: more than a few per n-gram indicate a
        // broken model.
        if width > columns.len().saturating_mul(1024) {
            return Err(OpError::invalid(format!(
                "the counts of {} n-grams take {width} columns, expected at most 1024 per n-gram",
                columns.len()
            )));
        }
        let grams = grams.into_iter().zip(columns).map(|((place, size), column)| (place, size, column)).collect();
        Ok(Self { pool, grams, weights, weighting, lengths, skip, columns: width })
    }

    pub(super) fn shape(&self, shape: &[usize]) -> Result<Vec<usize>, OpError> {
        match shape {
            [] | [_] => Ok(vec![self.columns]),
            [rows, _] => Ok(vec![*rows, self.columns]),
            _ => Err(OpError::invalid(format!("the tokens have shape {shape:?}, expected [C] or [N, C]"))),
        }
    }

    pub(super) fn eval(&self, tensor: &Tensor) -> Result<Tensor, OpError> {
        match &self.pool {
            NgramPool::Integers(pool) => self.count(tensor, pool, &tensor.integers()?),
            NgramPool::Texts(pool) => self.count(tensor, pool, tensor.slice::<String>()?),
        }
    }

    fn count<T: Hash + Eq>(&self, tensor: &Tensor, pool: &[T], tokens: &[T]) -> Result<Tensor, OpError> {
        let shape = self.shape(tensor.shape())?;
        let rows = if tensor.rank() == 2 { tensor.shape()[0] } else { 1 };
        let mut result = vec![0f64; shape::count(&shape)?];
        let mut known: HashMap<Vec<&T>, usize> = HashMap::new();
        for (index, (place, size, _)) in self.grams.iter().enumerate() {
            if (self.lengths.0..=self.lengths.1).contains(size) {
                known.insert(pool[*place..place + size].iter().collect(), index);
            }
        }
        let length = tokens.len().checked_div(rows).unwrap_or(0);
        for row in 0..rows {
            let tokens = &tokens[row * length..(row + 1) * length];
            let counts = &mut result[row * self.columns..(row + 1) * self.columns];
            for size in self.lengths.0..=self.lengths.1.min(length) {
                // A 1-gram has no tokens to skip.
                let widest = if size == 1 { 1 } else { self.skip.saturating_add(1).min(length) };
                for step in 1..=widest {
                    let span = (size - 1).saturating_mul(step);
                    for start in 0..length.saturating_sub(span) {
                        let gram: Vec<&T> = tokens[start..].iter().step_by(step).take(size).collect();
                        if let Some(index) = known.get(&gram) {
                            let weight = self.weights.get(*index).map_or(1.0, |weight| f64::from(*weight));
                            let count = &mut counts[self.grams[*index].2];
                            match self.weighting {
                                Weighting::Count => *count += 1.0,
                                Weighting::Weight => *count = weight,
                                Weighting::Product => *count += weight,
                            }
                        }
                    }
                }
            }
        }
        Tensor::from_floats(DType::F32, shape, &result)
    }
}
