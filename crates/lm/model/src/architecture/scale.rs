//! Scales of whole matrices.
//!
//! The scales within NVFP4 blocks have a small range, so the file has one more factor per matrix:
//! the tensor `X.scale` next to `X.weight`. Ternary models use the same.

use roci_gguf::{Error, Gguf};

use super::blocks::Matrix;

/// The factor of each matrix that the tensor stacks; `None` if the file has none.
///
/// # Errors
/// If the tensor of factors has no floats.
pub fn matrix_scales(file: &Gguf, tensor: &str) -> Result<Option<Vec<f32>>, Error> {
    let found = tensor.strip_suffix(".weight").and_then(|stem| file.tensor(&format!("{stem}.scale")));
    let (Some(scales), Some(weights)) = (found, file.tensor(tensor)) else { return Ok(None) };
    let stacked: u64 = weights.info().shape().iter().skip(2).product();
    // Another length has another meaning, such as a factor per column.
    if scales.info().values() != stacked {
        return Ok(None);
    }
    scales.to_f32().map(Some)
}

/// The factor of one matrix.
///
/// # Errors
/// As [`matrix_scales`].
pub fn matrix_scale(file: &Gguf, matrix: &Matrix) -> Result<f32, Error> {
    let Some(scales) = matrix_scales(file, &matrix.tensor)? else { return Ok(1.0) };
    let rows = file.tensor(&matrix.tensor).and_then(|tensor| tensor.info().shape().get(1).copied());
    let index = matrix.rows.start / rows.map_or(1, |rows| rows.max(1) as usize);
    Ok(scales.get(index).copied().unwrap_or(1.0))
}
