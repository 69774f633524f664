//! Feature operations: column selection, scaling, imputation, encoding.

use super::{matrix, numbers};
use crate::ops::sequence::concat;
use crate::{DType, Element, OpError, Tensor, each_type, shape};

/// The norm that rows are divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNorm {
    /// The maximum.
    Max,
    /// The sum of absolute values.
    L1,
    /// The square root of the sum of squares.
    L2,
}

pub(super) fn columns_shape(shape: &[usize], count: usize) -> Result<Vec<usize>, OpError> {
    match shape {
        [] => Err(OpError::invalid("a scalar has no columns")),
        [_] => Ok(vec![1, count]),
        [outer @ .., _] => Ok([outer, &[count]].concat()),
    }
}

pub(super) fn columns(x: &Tensor, indices: &Tensor) -> Result<Tensor, OpError> {
    let shape = columns_shape(x.shape(), indices.len())?;
    shape::count(&shape)?;
    let width = x.shape().last().copied().unwrap_or(0);
    let index = |index: i64| {
        let place = usize::try_from(index).ok().filter(|place| *place < width);
        place.ok_or_else(|| OpError::invalid(format!("column {index} is out of range for {width} columns")))
    };
    let indices = indices.integers()?.into_iter().map(index).collect::<Result<Vec<_>, _>>()?;
    fn pick<T: Element>(all: &[T], width: usize, indices: &[usize]) -> crate::Data {
        let rows = all.chunks_exact(width.max(1));
        T::wrap(rows.flat_map(|row| indices.iter().map(|index| row[*index].clone())).collect())
    }
    let data = each_type!(any: x, |T, v| pick::<T>(v, width, &indices));
    Tensor::from_data(shape, data)
}

/// The width of the last axis. A list must have one entry per column, or one for all.
fn width(x: &Tensor, entries: usize) -> Result<usize, OpError> {
    let width = x.shape().last().copied().unwrap_or(1);
    if entries == 1 || entries == width {
        return Ok(width.max(1));
    }
    Err(OpError::invalid(format!("there are {entries} parameters, expected one or {width}, one per column")))
}

/// The entry of a column, or the entry for all.
fn of<T: Copy>(list: &[T], column: usize) -> T {
    if list.len() == 1 { list[0] } else { list[column] }
}

pub(super) fn scale(x: &Tensor, offset: &[f32], scale: &[f32]) -> Result<Tensor, OpError> {
    let width = width(x, offset.len())?;
    self::width(x, scale.len())?;
    let mut all = numbers(x)?;
    for (index, x) in all.iter_mut().enumerate() {
        *x = (*x - f64::from(of(offset, index % width))) * f64::from(of(scale, index % width));
    }
    Tensor::from_floats(DType::F32, x.shape(), &all)
}

pub(super) fn normalize(x: &Tensor, norm: RowNorm) -> Result<Tensor, OpError> {
    let (_, columns) = matrix(x.shape())?;
    let mut all = numbers(x)?;
    for row in all.chunks_exact_mut(columns.max(1)) {
        let size = match norm {
            RowNorm::Max => row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            RowNorm::L1 => row.iter().map(|x| x.abs()).sum(),
            RowNorm::L2 => row.iter().map(|x| x * x).sum::<f64>().sqrt(),
        };
        if size != 0.0 {
            row.iter_mut().for_each(|x| *x /= size);
        }
    }
    Tensor::from_floats(DType::F32, x.shape(), &all)
}

pub(super) fn impute(x: &Tensor, missing: f64, values: &[f64]) -> Result<Tensor, OpError> {
    let width = width(x, values.len())?;
    // Large integers would lose digits as floats.
    if x.dtype().is_integer() {
        let mut all = x.integers()?;
        for (index, x) in all.iter_mut().enumerate() {
            if *x == missing as i64 {
                *x = of(values, index % width) as i64;
            }
        }
        return match x.dtype() {
            DType::I64 => Tensor::new(x.shape(), all),
            DType::I32 => Tensor::new(x.shape(), all.into_iter().map(|x| x as i32).collect()),
            other => Err(OpError::dtype("Imputer", other)),
        };
    }
    let mut all = numbers(x)?;
    for (index, x) in all.iter_mut().enumerate() {
        if *x == missing || (x.is_nan() && missing.is_nan()) {
            *x = of(values, index % width);
        }
    }
    Tensor::from_floats(x.dtype(), x.shape(), &all)
}

pub(super) fn one_hot(x: &Tensor, categories: &Tensor, or_none: bool) -> Result<Tensor, OpError> {
    let shape = [x.shape(), &[categories.len()]].concat();
    let mut result = vec![0f32; shape::count(&shape)?];
    fn places<T: Element>(all: &[T], categories: &[T]) -> Vec<Option<usize>> {
        all.iter().map(|x| categories.iter().position(|category| category == x)).collect()
    }
    let places = if x.dtype() == DType::String {
        places(x.slice::<String>()?, categories.slice::<String>()?)
    } else {
        let whole = |x: f64| x as i64;
        let all = if x.dtype().is_integer() { x.integers()? } else { numbers(x)?.into_iter().map(whole).collect() };
        places(&all, categories.slice::<i64>()?)
    };
    for (row, place) in result.chunks_exact_mut(categories.len().max(1)).zip(places) {
        match place {
            Some(place) => row[place] = 1.0,
            None if or_none => {}
            None => return Err(OpError::invalid("an element belongs to no category")),
        }
    }
    Tensor::new(shape, result)
}

pub(super) fn vectorize(tensors: &[&Tensor]) -> Result<Tensor, OpError> {
    let row = |tensor: &&Tensor| {
        let (rows, columns) = matrix(tensor.shape())?;
        Tensor::from_floats(DType::F32, [rows, columns], &numbers(tensor)?)
    };
    let rows = tensors.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    concat::concat(&rows.iter().collect::<Vec<_>>(), 1)
}
