//! Determinants.

use super::common_float;
use crate::ops::Facts;
use crate::{Fact, OpError, Tensor, shape};

pub(super) fn infer(inputs: &Facts<'_>) -> Result<Fact, OpError> {
    let dtype = common_float(inputs)?;
    match inputs.get(0)?.shape.as_deref() {
        None => Ok(Fact::unknown(dtype)),
        Some([batch @ .., rows, columns]) if rows == columns => Ok(Fact::new(dtype, batch)),
        Some(other) => Err(OpError::invalid(format!("the input has shape {other:?}, expected square matrices"))),
    }
}

pub(super) fn eval(x: &Tensor, to: &[usize]) -> Result<Tensor, OpError> {
    let size = x.shape()[x.rank() - 1];
    let data = x.floats()?;
    let result: Vec<f64> = match size {
        // The empty product.
        0 => vec![1.0; shape::count_bounded(to)?],
        _ if data.is_empty() => Vec::new(),
        _ => data.chunks(size * size).map(|matrix| determinant(matrix.to_vec(), size)).collect(),
    };
    Tensor::from_floats(x.dtype(), to, &result)
}

/// Gaussian elimination with partial pivoting.
fn determinant(mut matrix: Vec<f64>, size: usize) -> f64 {
    let mut result = 1.0;
    for step in 0..size {
        let pivot = (step..size)
            .max_by(|one, other| matrix[one * size + step].abs().total_cmp(&matrix[other * size + step].abs()));
        let pivot = pivot.unwrap_or(step);
        if pivot != step {
            (0..size).for_each(|column| matrix.swap(pivot * size + column, step * size + column));
            result = -result;
        }
        let head = matrix[step * size + step];
        result *= head;
        if head == 0.0 {
            return result;
        }
        for row in step + 1..size {
            let factor = matrix[row * size + step] / head;
            for column in step..size {
                matrix[row * size + column] -= factor * matrix[step * size + column];
            }
        }
    }
    result
}
