//! Matrix products.

use roci_graph::ops::Product;
use roci_graph::{DType, shape};
use roci_kernels::params::{ElementwiseCode, ElementwiseOp, ElementwiseOperand, Matmul};
use roci_kernels::{MatmulElement, best_matmul, matmul_kernel};

use super::build::{A, B, C, Instr::Apply, Instr::ApplyWith, along_axis, float, integer};
use super::{Context, conv, einsum, linear, word};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;
use crate::storage::encode;

/// The largest magnitude of a byte minus a zero point.
const MAX_BYTE_MAGNITUDE: usize = 255;
/// f32 represents integers below this exactly.
const F32_EXACT_LIMIT: usize = 1 << 24;
/// Maximum number of products of two bytes whose sum is exact in f32.
pub(super) const EXACT_TERMS: usize = F32_EXACT_LIMIT / (MAX_BYTE_MAGNITUDE * MAX_BYTE_MAGNITUDE) - 1;
/// Maximum number of elements of an integer product before its sum: all of them are written to
/// memory.
const MAX_PRODUCTS: usize = 1 << 26;

pub(super) fn lower(op: &Product, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let produced = match op {
        Product::MatMul { transpose_a, transpose_b, alpha, beta } => {
            return matmul(context, *transpose_a, *transpose_b, *alpha, *beta);
        }
        Product::MatMulInteger => integer_product(context)?,
        Product::Einsum { inputs, output } => einsum::einsum(context, inputs, output)?,
        Product::Det => determinant(context)?,
        Product::Conv { window, groups } => conv::conv(context, window, *groups)?,
        Product::ConvInteger { window, groups } => conv::integer_conv(context, window, *groups)?,
        Product::ConvTranspose { window, groups, output_padding, output_shape } => {
            conv::transposed(context, window, *groups, output_padding, output_shape.as_deref())?
        }
        Product::DeformConv { window, groups, offset_groups } => {
            conv::deformable(context, window, *groups, *offset_groups)?
        }
        Product::Requantize { axes } => requantize(context, *axes)?,
        other => return Err(LoweringError::unsupported(format!("{other:?}"))),
    };
    Ok(vec![produced])
}

fn matmul(
    context: &mut Context<'_, '_>,
    ta: bool,
    tb: bool,
    alpha: f32,
    beta: f32,
) -> Result<Vec<DeviceTensor>, LoweringError> {
    let mut a = context.operand(0)?;
    let is_float = a.dtype.is_float();
    if !is_float && (a.dtype.size() == Some(8) || alpha != 1.0 || beta != 1.0) {
        return Err(LoweringError::wide_integers(format!("a product of {}", a.dtype)));
    }
    if ta {
        a = swap_last_axes(context, &a)?;
    }
    let rows: usize = a.shape[..a.shape.len().max(1) - 1].iter().product();
    let produced = if is_float && rows == 1 { linear::vector_product(context, &a, tb)? } else { None };
    let result = match produced {
        Some(produced) => {
            let target = context.output(0)?;
            DeviceTensor { dtype: target.dtype, shape: target.shape()?.to_vec(), tensor_id: produced.tensor_id }
        }
        None => matrix_product(context, a, tb)?,
    };
    scale_and_add(context, result, alpha, beta)
}

/// Transposes a matrix; a vector stays the same.
fn swap_last_axes(context: &mut Context<'_, '_>, x: &DeviceTensor) -> Result<DeviceTensor, LoweringError> {
    let rank = x.shape.len();
    if rank < 2 {
        return Ok(x.clone());
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 1, rank - 2);
    context.transpose(x, &perm)
}

/// The product of matrices, batches of matrices, or vectors.
fn matrix_product(context: &mut Context<'_, '_>, mut a: DeviceTensor, tb: bool) -> Result<DeviceTensor, LoweringError> {
    if let Some(produced) = linear::f16_product(context, &a, tb)? {
        return Ok(produced);
    }
    let constant = if tb { linear::transposed_constant(context, 1) } else { None };
    let mut b = match constant {
        Some(b) => DeviceTensor { dtype: DType::F32, shape: b.shape().to_vec(), ..context.table(&encode(&b)?)? },
        None if tb => {
            let b = context.operand(1)?;
            swap_last_axes(context, &b)?
        }
        None => context.operand(1)?,
    };
    // A vector is a row on the left and a column on the right.
    let target = context.new_output(0)?;
    if a.shape.len() == 1 {
        a = a.reshaped([1, a.shape[0]]);
    }
    if b.shape.len() == 1 {
        b = b.reshaped([b.shape[0], 1]);
    }
    let (m, k, n) = (a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1], b.shape[b.shape.len() - 1]);
    let is_float = a.dtype.is_float();
    let product = if is_float { context.product(&a, &b, [m, n, k])? } else { context.exact_product(&a, &b)? };
    Ok(DeviceTensor { dtype: target.dtype, shape: target.shape, tensor_id: product.tensor_id })
}

/// Applies `alpha`, and adds the third operand times `beta`.
fn scale_and_add(
    context: &mut Context<'_, '_>,
    mut result: DeviceTensor,
    alpha: f32,
    beta: f32,
) -> Result<Vec<DeviceTensor>, LoweringError> {
    let target = result.clone();
    if alpha != 1.0 {
        let code =
            ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A)?.with(ElementwiseOp::Mul, alpha)?;
        result = context.elementwise(&code, &[&result], target.dtype, &target.shape)?;
    }
    if let Some(bias) = context.optional(2)? {
        let sum = if target.dtype.is_float() { ElementwiseOp::Add } else { ElementwiseOp::AddI32 };
        let mut code = ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::B)?;
        if beta != 1.0 {
            code = code.with(ElementwiseOp::Mul, beta)?;
        }
        let code = code.with(sum, ElementwiseOperand::A)?;
        result = context.elementwise(&code, &[&result, &bias], target.dtype, &target.shape)?;
    }
    Ok(vec![result])
}

impl Context<'_, '_> {
    /// The product of 32-bit integer matrices, which wraps around: writes out all products and sums
    /// them.
    pub(super) fn exact_product(&mut self, a: &DeviceTensor, b: &DeviceTensor) -> Result<DeviceTensor, LoweringError> {
        let (ra, rb) = (a.shape.len(), b.shape.len());
        let (mut left, mut right) = (a.shape.clone(), b.shape.clone());
        left.push(1);
        right.insert(rb - 2, 1);
        let all = shape::broadcast(&[&left, &right])?;
        if shape::count(&all)? > MAX_PRODUCTS {
            return Err(LoweringError::unsupported(format!("a product of {} of this size", a.dtype)));
        }
        debug_assert!(ra >= 2 && rb >= 2);
        let code = [ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::MulI32, B)];
        let products = self.map(&code, &[&a.reshaped(left), &b.reshaped(right)], a.dtype, &all)?;
        if all.contains(&0) {
            let mut shape = all.clone();
            shape.remove(all.len() - 2);
            return self.fill(a.dtype, &shape, 0);
        }
        self.reduce(&products, "reduce_sum_i32", &[all.len() - 2])
    }

    /// The product of dense matrices with broadcast batches. Both operands have at least two
    /// dimensions.
    pub(super) fn product(
        &mut self,
        a: &DeviceTensor,
        b: &DeviceTensor,
        [m, n, k]: [usize; 3],
    ) -> Result<DeviceTensor, LoweringError> {
        let (batch_a, batch_b) = (&a.shape[..a.shape.len() - 2], &b.shape[..b.shape.len() - 2]);
        let batch = shape::broadcast(&[batch_a, batch_b])?;
        let batches: usize = batch.iter().product();
        let mut shape = batch.clone();
        shape.extend([m, n]);
        let target = self.new_tensor(a.dtype, shape.clone());
        if target.count() == 0 {
            return Ok(target);
        }
        if k == 0 {
            let params = roci_kernels::params::Fill { count: word(target.count())?, offset: 0, value: 0 };
            self.segment().dispatch("fill", &params, &[], target.tensor_id);
            return Ok(target);
        }
        // A matrix may be shared by all batches. Other broadcasts are written out.
        let whole = |own: &[usize]| own.iter().product::<usize>() == batches;
        let single = |own: &[usize]| own.iter().product::<usize>() == 1;
        let expand =
            |context: &mut Self, operand: &DeviceTensor, own: &[usize]| -> Result<DeviceTensor, LoweringError> {
                if whole(own) || single(own) {
                    return Ok(operand.clone());
                }
                let mut shape = batch.clone();
                shape.extend(&operand.shape[operand.shape.len() - 2..]);
                context.broadcast(operand, &shape)
            };
        let (left, right) = (expand(self, a, batch_a)?, expand(self, b, batch_b)?);
        let step = |own: &[usize], size: usize| if single(own) && batches > 1 { 0 } else { size };
        // If all batches share the second matrix, use one tall first matrix.
        let (m, batches, step_a, step_b) = if single(batch_b) && !single(batch_a) {
            (m * batches, 1, 0, 0)
        } else {
            (m, batches, step(batch_a, m * k), step(batch_b, k * n))
        };
        let params = Matmul {
            m: word(m)?,
            n: word(n)?,
            k: word(k)?,
            lda: word(k)?,
            ldb: word(n)?,
            ldc: word(n)?,
            batches: word(batches)?,
            batch_a: word(step_a)?,
            batch_b: word(step_b)?,
            batch_c: word(m * n)?,
        };
        let info = self.info();
        let form = best_matmul(&params, MatmulElement::F32, info);
        let kernel =
            matmul_kernel(form, MatmulElement::F32).map_err(|error| LoweringError::Failed(error.into()))?.name();
        let grid = form.grid(&params);
        // Batches are the z dimension of the grid, which is limited to 65,535.
        if params.batches > 65_535 {
            return Err(LoweringError::unsupported(format!("{} matrices", params.batches)));
        }
        self.segment().dispatch_with(
            kernel,
            grid,
            bytemuck::bytes_of(&params),
            &[left.tensor_id, right.tensor_id],
            &[target.tensor_id],
        );
        Ok(target)
    }
}

/// Subtracts zero points from bytes and converts to f32, which is exact. Zero points are a scalar,
/// one per index of an axis, or broadcast.
pub(super) fn subtract_zero_point(
    context: &mut Context<'_, '_>,
    x: &DeviceTensor,
    zero: Option<DeviceTensor>,
    axis: i64,
) -> Result<DeviceTensor, LoweringError> {
    let Some(zero) = zero else { return context.as_floats(x) };
    let zero = broadcastable(&zero, x.shape.len(), axis)?;
    let code = [ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::SubI32, B), Apply(ElementwiseOp::I32ToF32)];
    context.map(&code, &[x, &zero], DType::F32, &x.shape)
}

/// Reshapes scales or zero points so that they broadcast to a tensor of this rank.
fn broadcastable(own: &DeviceTensor, rank: usize, axis: i64) -> Result<DeviceTensor, LoweringError> {
    Ok(match own.shape[..] {
        [] | [1] => own.reshaped([]),
        [size] => own.reshaped(along_axis(rank, shape::axis(axis, rank)?, size)),
        _ => own.clone(),
    })
}

fn integer_product(context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
    let (a, b) = (context.operand(0)?, context.operand(1)?);
    let (zero_a, zero_b) = (context.optional(2)?, context.optional(3)?);
    let (mut a, mut b) = (subtract_zero_point(context, &a, zero_a, -2)?, subtract_zero_point(context, &b, zero_b, -1)?);
    if a.shape.len() == 1 {
        a = a.reshaped([1, a.shape[0]]);
    }
    if b.shape.len() == 1 {
        b = b.reshaped([b.shape[0], 1]);
    }
    let (ra, rb) = (a.shape.len(), b.shape.len());
    let (m, k, n) = (a.shape[ra - 2], a.shape[ra - 1], b.shape[rb - 1]);
    let to = context.output(0)?.shape()?.to_vec();
    // Partial sums that are exact in f32, added as integers.
    let mut sum: Option<DeviceTensor> = None;
    for start in (0..k.max(1)).step_by(EXACT_TERMS) {
        let size = EXACT_TERMS.min(k - start);
        let (left, right) = (context.slice(&a, ra - 1, start, size)?, context.slice(&b, rb - 2, start, size)?);
        let product = context.product(&left, &right, [m, n, size])?;
        sum = Some(context.add_exact(&product.reshaped(to.clone()), sum)?);
    }
    sum.ok_or_else(|| LoweringError::unsupported("an empty product"))
}

impl Context<'_, '_> {
    /// Converts integral floats to integers, and adds integers.
    pub(super) fn add_exact(
        &mut self,
        floats: &DeviceTensor,
        sum: Option<DeviceTensor>,
    ) -> Result<DeviceTensor, LoweringError> {
        let code =
            [ApplyWith(ElementwiseOp::Load, A), Apply(ElementwiseOp::F32ToI32), ApplyWith(ElementwiseOp::AddI32, B)];
        match sum {
            None => self.map(&code[..2], &[floats], DType::I32, &floats.shape),
            Some(sum) => self.map(&code, &[floats, &sum], DType::I32, &floats.shape),
        }
    }
}

/// Requantizes 32-bit sums to bytes.
fn requantize(context: &mut Context<'_, '_>, axes: [i64; 2]) -> Result<DeviceTensor, LoweringError> {
    let sums = context.operand(0)?;
    let rank = sums.shape.len();
    let (left, right) = (context.operand(1)?, context.operand(2)?);
    let (left, right) = (broadcastable(&left, rank, axes[0])?, broadcastable(&right, rank, axes[1])?);
    let (result, zero) = (context.operand(3)?.reshaped([]), context.operand(4)?.reshaped([]));
    let factors = shape::broadcast(&[&left.shape, &right.shape])?;
    let code = [ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::Mul, B), ApplyWith(ElementwiseOp::Div, C)];
    let factor = context.map(&code, &[&left, &right, &result], DType::F32, &factors)?;
    let (least, most) = if zero.dtype == DType::U8 { (0, 255) } else { (-128, 127) };
    let code = [
        ApplyWith(ElementwiseOp::Load, A),
        Apply(ElementwiseOp::I32ToF32),
        ApplyWith(ElementwiseOp::Mul, B),
        Apply(ElementwiseOp::Round),
        // Clamp well outside of the range, so that adding the zero point does not overflow.
        ApplyWith(ElementwiseOp::Max, float(-65536.0)),
        ApplyWith(ElementwiseOp::Min, float(65536.0)),
        Apply(ElementwiseOp::F32ToI32),
        ApplyWith(ElementwiseOp::AddI32, C),
        ApplyWith(ElementwiseOp::MaxI32, integer(least)),
        ApplyWith(ElementwiseOp::MinI32, integer(most)),
    ];
    context.map(&code, &[&sums, &factor, &zero], zero.dtype, &sums.shape)
}

/// Determinants of matrices with up to three rows, by the Leibniz formula.
fn determinant(context: &mut Context<'_, '_>) -> Result<DeviceTensor, LoweringError> {
    let x = context.operand(0)?;
    let size = x.shape[x.shape.len() - 1];
    let to = context.output(0)?.shape()?.to_vec();
    let matrices: usize = to.iter().product();
    let permutations: &[(&[usize], f32)] = match size {
        1 => &[(&[0], 1.0)],
        2 => &[(&[0, 1], 1.0), (&[1, 0], -1.0)],
        3 => &[
            (&[0, 1, 2], 1.0),
            (&[1, 2, 0], 1.0),
            (&[2, 0, 1], 1.0),
            (&[2, 1, 0], -1.0),
            (&[1, 0, 2], -1.0),
            (&[0, 2, 1], -1.0),
        ],
        _ => return Err(LoweringError::unsupported(format!("a determinant of {size} rows"))),
    };
    let mut places = Vec::new();
    for (columns, _) in permutations {
        places.extend(columns.iter().enumerate().map(|(row, column)| row * size + column));
    }
    let triangle = context.gather_known(&x.reshaped([matrices, size * size]), 1, &places)?;
    let terms = triangle.reshaped([matrices, permutations.len(), size]);
    let products = context.reduce(&terms, "reduce_prod", &[2])?;
    let signs =
        context.f32_table(&permutations.iter().map(|(_, sign)| *sign).collect::<Vec<_>>(), [permutations.len()])?;
    let shape = products.shape.clone();
    let signed = context.map(
        &[ApplyWith(ElementwiseOp::Load, A), ApplyWith(ElementwiseOp::Mul, B)],
        &[&products, &signs],
        x.dtype,
        &shape,
    )?;
    Ok(context.reduce(&signed, "reduce_sum", &[1])?.reshaped(to))
}
