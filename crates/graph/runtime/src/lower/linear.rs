//! Products with constant matrices: a single row, or f16 weights.

use roci_graph::{DType, Data, Tensor};
use roci_kernels::params::{Cast, Linear, Matmul, Matvec};
use roci_kernels::{MatmulElement, MatmulForm, best_matmul, linear_kernel};

use super::{Context, word};
use crate::Precision;
use crate::error::LoweringError;
use crate::precision::f16_words;
use crate::segment::DeviceTensor;
use crate::storage::encode;

/// Bytes of one buffer that a kernel can address on every device: the minimum of Vulkan's
/// `maxStorageBufferRange`.
const MAX_ADDRESSABLE: usize = 128 << 20;

/// A constant matrix, transposed; `None` if the operand is not a constant matrix.
pub(super) fn transposed_constant(context: &Context<'_, '_>, index: usize) -> Option<Tensor> {
    let matrix = context.value(index).ok()?;
    let &[rows, columns] = matrix.shape() else { return None };
    match matrix.data() {
        Data::F32(numbers) => Tensor::new([columns, rows], transpose_elements(numbers, columns)).ok(),
        Data::F16(numbers) => Tensor::new([columns, rows], transpose_elements(numbers, columns)).ok(),
        _ => None,
    }
}

fn transpose_elements<T: Copy>(numbers: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| numbers.iter().skip(column).step_by(columns).copied()).collect()
}

/// One row times a matrix, by a kernel that reads the transposed matrix row by row; `None` if that
/// is not possible.
pub(super) fn vector_product(
    context: &mut Context<'_, '_>,
    a: &DeviceTensor,
    tb: bool,
) -> Result<Option<DeviceTensor>, LoweringError> {
    // The CPU's matrix product is as fast.
    if context.shape_of(1)?.len() != 2 || (!tb && roci_kernels::runs_native_kernels(context.info())) {
        return Ok(None);
    }
    let mut kernel = "matvec_f32";
    let weights = if tb {
        match context.constant_f16(1)? {
            Some(halves) => {
                kernel = "matvec_f16";
                halves
            }
            None => context.operand(1)?,
        }
    } else {
        let Some(transposed) = transposed_constant(context, 1) else { return Ok(None) };
        let shape = transposed.shape().to_vec();
        let table = match f16_words(&transposed, context.precision()) {
            Some(pairs) => {
                kernel = "matvec_f16";
                context.table(&pairs)?
            }
            None => context.table(&encode(&transposed)?)?,
        };
        DeviceTensor { dtype: DType::F32, shape, ..table }
    };
    let (n, k) = (weights.shape[0], weights.shape[1]);
    if n == 0 || k == 0 || a.count() != k {
        return Ok(None);
    }
    let pitch = k * if kernel == "matvec_f16" { 2 } else { 4 };
    // Rows of one buffer that a kernel can address on every device; a multiple of 64, so that the
    // slices are aligned.
    let reach = usize::try_from(context.info().max_binding).unwrap_or(usize::MAX).min(MAX_ADDRESSABLE);
    let most = (reach / pitch / 64 * 64).max(1);
    let mut parts = Vec::new();
    for first in (0..n).step_by(most) {
        let rows = most.min(n - first);
        let tensor_id = match rows == n {
            true => Some(weights.tensor_id),
            false => context.import_part(weights.tensor_id, (first * pitch) as u64, (rows * pitch) as u64),
        };
        let Some(tensor_id) = tensor_id else { return Ok(None) };
        let part = context.new_tensor(a.dtype, [rows]);
        let params = Matvec { m: word(rows)?, k: word(k)?, lda: word(k)? };
        context.segment().dispatch(kernel, &params, &[tensor_id, a.tensor_id], part.tensor_id);
        parts.push(part);
    }
    match &parts[..] {
        [all] => Ok(Some(all.clone())),
        several => context.concat(&several.iter().collect::<Vec<_>>(), 0).map(Some),
    }
}

/// The product with a constant matrix in f16, if the session allows it or the constant is f16
/// already.
pub(super) fn f16_product(
    context: &mut Context<'_, '_>,
    a: &DeviceTensor,
    tb: bool,
) -> Result<Option<DeviceTensor>, LoweringError> {
    let (b, rank) = (context.shape_of(1)?, a.shape.len());
    if b.len() != 2 || rank < 2 || !a.dtype.is_float() || roci_kernels::runs_native_kernels(context.info()) {
        return Ok(None);
    }
    let (m, k, n) = (a.shape[..rank - 1].iter().product::<usize>(), b[usize::from(tb)], b[usize::from(!tb)]);
    if m == 0 || k == 0 || n == 0 {
        return Ok(None);
    }
    if !tb && let Some(result) = on_matrix_units(context, a, [m, k, n])? {
        return Ok(Some(result));
    }
    let weights = match tb {
        false => context.constant_f16(1)?.map(|weights| weights.tensor_id),
        true => {
            // Transposing takes time, so do it only if the result is used.
            let may = context.precision() == Precision::F16 || context.fact(1).is_some_and(|b| b.dtype == DType::F16);
            let transposed = if may { transposed_constant(context, 1) } else { None };
            let pairs = transposed.and_then(|transposed| f16_words(&transposed, context.precision()));
            pairs.map(|pairs| context.table(&pairs)).transpose()?.map(|table| table.tensor_id)
        }
    };
    let Some(weights) = weights else { return Ok(None) };
    let target = context.new_output(0)?;
    let product = Matmul::dense(word(m)?, word(n)?, word(k)?);
    let form = best_matmul(&product, MatmulElement::F32, context.info());
    let kernel = linear_kernel(form, MatmulElement::F16).map_err(|error| LoweringError::Failed(error.into()))?.name();
    // Without a bias, any buffer has to be bound in its place.
    let (params, inputs) = (Linear::of(&product), [a.tensor_id, weights, a.tensor_id]);
    context.segment().dispatch_with(
        kernel,
        form.grid(&product),
        bytemuck::bytes_of(&params),
        &inputs,
        &[target.tensor_id],
    );
    Ok(Some(target))
}

/// The product with both operands in f16, on a device with matrix units, if the session allows it.
fn on_matrix_units(
    context: &mut Context<'_, '_>,
    a: &DeviceTensor,
    [m, k, n]: [usize; 3],
) -> Result<Option<DeviceTensor>, LoweringError> {
    if context.precision() != Precision::F16 {
        return Ok(None);
    }
    let params = Matmul::dense(word(m)?, word(n)?, word(k)?);
    let form = best_matmul(&params, MatmulElement::F16, context.info());
    if form != MatmulForm::Matrix || m * k % 2 != 0 || m * n % 2 != 0 {
        return Ok(None);
    }
    let Some(b) = context.constant_f16(1)? else { return Ok(None) };
    let target = context.new_output(0)?;
    let [left, result] = [m * k, m * n].map(|count| context.segment().allocate(count / 2));
    let [narrow, widen] = [word(m * k)?, word(m * n)?].map(|count| Cast { count });
    context.segment().dispatch("cast_f32_to_f16", &narrow, &[a.tensor_id], left);
    let grid = form.grid(&params);
    let inputs = [left, b.tensor_id];
    context.segment().dispatch_with("matmul_coopmat_f16", grid, bytemuck::bytes_of(&params), &inputs, &[result]);
    context.segment().dispatch("cast_f16_to_f32", &widen, &[result], target.tensor_id);
    Ok(Some(target))
}
