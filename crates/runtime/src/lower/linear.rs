//! Products with constant matrices, by the kernels that suit one row, or weights in 16 bits.

use roci_graph::{DType, Data, Tensor};
use roci_kernels::params::{Convert, Linear, Matmul, Matvec};
use roci_kernels::{MatmulElement, MatmulForm};

use super::{Context, Operand, word};
use crate::Precision;
use crate::error::Refusal;
use crate::half;
use crate::storage::encode;

/// Bytes of one buffer that a kernel reaches on every device: the least that Vulkan promises.
const REACH: usize = 128 << 20;

/// A constant matrix with rows and columns exchanged; `None` where it is no such thing.
pub(super) fn turned_constant(context: &Context<'_, '_>, index: usize) -> Option<Tensor> {
    let matrix = context.value(index).ok()?;
    let &[rows, columns] = matrix.shape() else { return None };
    match matrix.data() {
        Data::F32(numbers) => Tensor::new([columns, rows], turned(numbers, columns)).ok(),
        Data::F16(numbers) => Tensor::new([columns, rows], turned(numbers, columns)).ok(),
        _ => None,
    }
}

fn turned<T: Copy>(numbers: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| numbers.iter().skip(column).step_by(columns).copied()).collect()
}

/// One row times a matrix, by a kernel that reads the matrix row by row of the other side; `None` where that does not
/// fit.
pub(super) fn vector(context: &mut Context<'_, '_>, a: &Operand, tb: bool) -> Result<Option<Operand>, Refusal> {
    // The CPU's product is as fast either way.
    if context.shape_of(1)?.len() != 2 || (!tb && roci_kernels::takes_native(context.info())) {
        return Ok(None);
    }
    let mut kernel = "matvec_f32";
    let weights = if tb {
        match context.halves(1)? {
            Some(halves) => {
                kernel = "matvec_f16";
                halves
            }
            None => context.operand(1)?,
        }
    } else {
        let Some(turned) = turned_constant(context, 1) else { return Ok(None) };
        let shape = turned.shape().to_vec();
        let table = match half::pairs(&turned, context.precision()) {
            Some(pairs) => {
                kernel = "matvec_f16";
                context.table(&pairs)?
            }
            None => context.table(&encode(&turned)?)?,
        };
        Operand { dtype: DType::F32, shape, ..table }
    };
    let (n, k) = (weights.shape[0], weights.shape[1]);
    if n == 0 || k == 0 || a.count() != k {
        return Ok(None);
    }
    let pitch = k * if kernel == "matvec_f16" { 2 } else { 4 };
    // Rows that a kernel reaches of one buffer on every device; by 64, so that parts are aligned.
    let reach = usize::try_from(context.info().max_binding).unwrap_or(usize::MAX).min(REACH);
    let most = (reach / pitch / 64 * 64).max(1);
    let mut parts = Vec::new();
    for first in (0..n).step_by(most) {
        let rows = most.min(n - first);
        let slot = match rows == n {
            true => Some(weights.slot),
            false => context.part_of(weights.slot, (first * pitch) as u64, (rows * pitch) as u64),
        };
        let Some(slot) = slot else { return Ok(None) };
        let part = context.new_tensor(a.dtype, [rows]);
        let params = Matvec { m: word(rows)?, k: word(k)?, lda: word(k)? };
        context.segment().run(kernel, &params, &[slot, a.slot], part.slot);
        parts.push(part);
    }
    match &parts[..] {
        [all] => Ok(Some(all.clone())),
        several => context.joined(&several.iter().collect::<Vec<_>>(), 0).map(Some),
    }
}

/// The product with a constant matrix that is read as 16-bit floats, where the session allows it or nothing is lost by it.
pub(super) fn halves(context: &mut Context<'_, '_>, a: &Operand, tb: bool) -> Result<Option<Operand>, Refusal> {
    let (b, rank) = (context.shape_of(1)?, a.shape.len());
    if b.len() != 2 || rank < 2 || !a.dtype.is_float() || roci_kernels::takes_native(context.info()) {
        return Ok(None);
    }
    let (m, k, n) = (a.shape[..rank - 1].iter().product::<usize>(), b[usize::from(tb)], b[usize::from(!tb)]);
    if m == 0 || k == 0 || n == 0 {
        return Ok(None);
    }
    if !tb && let Some(made) = on_matrix_units(context, a, [m, k, n])? {
        return Ok(Some(made));
    }
    let weights = match tb {
        false => context.halves(1)?.map(|weights| weights.slot),
        true => {
            // Turning it takes a while, so that it is not done in vain.
            let may = context.precision() == Precision::F16 || context.fact(1).is_some_and(|b| b.dtype == DType::F16);
            let turned = if may { turned_constant(context, 1) } else { None };
            let pairs = turned.and_then(|turned| half::pairs(&turned, context.precision()));
            pairs.map(|pairs| context.table(&pairs)).transpose()?.map(|table| table.slot)
        }
    };
    let Some(weights) = weights else { return Ok(None) };
    let target = context.new_output(0)?;
    let product = Matmul::dense(word(m)?, word(n)?, word(k)?);
    let form = MatmulForm::best(&product, MatmulElement::F32, context.info());
    let kernel = form.layer(MatmulElement::F16).map_err(|error| Refusal::Failed(error.into()))?.name();
    // Without a bias, for which something has to be bound.
    let (params, inputs) = (Linear::of(&product), [a.slot, weights, a.slot]);
    context.segment().run_with(kernel, form.grid(&product), bytemuck::bytes_of(&params), &inputs, &[target.slot]);
    Ok(Some(target))
}

/// The same with both operands in 16-bit floats, where a device has units for that and the session allows it.
fn on_matrix_units(
    context: &mut Context<'_, '_>,
    a: &Operand,
    [m, k, n]: [usize; 3],
) -> Result<Option<Operand>, Refusal> {
    if context.precision() != Precision::F16 {
        return Ok(None);
    }
    let params = Matmul::dense(word(m)?, word(n)?, word(k)?);
    let form = MatmulForm::best(&params, MatmulElement::F16, context.info());
    if form != MatmulForm::Matrix || m * k % 2 != 0 || m * n % 2 != 0 {
        return Ok(None);
    }
    let Some(b) = context.halves(1)? else { return Ok(None) };
    let target = context.new_output(0)?;
    let [left, made] = [m * k, m * n].map(|count| context.segment().allocate(count / 2));
    let [narrow, widen] = [word(m * k)?, word(m * n)?].map(|count| Convert { count });
    context.segment().run("narrow_f16", &narrow, &[a.slot], left);
    let grid = form.grid(&params);
    let inputs = [left, b.slot];
    context.segment().run_with("matmul_matrix_f16", grid, bytemuck::bytes_of(&params), &inputs, &[made]);
    context.segment().run("widen_f16", &widen, &[made], target.slot);
    Ok(Some(target))
}
