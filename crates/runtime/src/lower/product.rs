//! Products of matrices.

use roci_graph::ops::Product;
use roci_graph::{DType, shape};
use roci_kernels::params::{ChainCode, ChainOp, ChainOperand, Matmul};
use roci_kernels::{MatmulElement, MatmulForm};

use super::build::{A, B, C, Step::Do, Step::With, along, float, integer};
use super::{Context, Operand, conv, einsum, linear, word};
use crate::error::Refusal;
use crate::storage::encode;

/// Largest magnitude of a byte less a zero point.
const BYTE: usize = 255;
/// Whole numbers below this are exact in single precision.
const EXACT: usize = 1 << 24;
/// Products of so many bytes add up to a sum that is exact.
pub(super) const EXACT_TERMS: usize = EXACT / (BYTE * BYTE) - 1;
/// Elements of the products of integers that may be written out before they are summed.
const MOST_PRODUCTS: usize = 1 << 26;

pub(super) fn lower(op: &Product, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let made = match op {
        Product::MatMul { transpose_a, transpose_b, alpha, beta } => {
            return matmul(context, *transpose_a, *transpose_b, *alpha, *beta);
        }
        Product::MatMulInteger => bytes(context)?,
        Product::Einsum { inputs, output } => einsum::einsum(context, inputs, output)?,
        Product::Det => determinant(context)?,
        Product::Conv { window, groups } => conv::conv(context, window, *groups)?,
        Product::ConvInteger { window, groups } => conv::bytes(context, window, *groups)?,
        Product::ConvTranspose { window, groups, output_padding, output_shape } => {
            conv::transposed(context, window, *groups, output_padding, output_shape.as_deref())?
        }
        Product::DeformConv { window, groups, offset_groups } => {
            conv::deformed(context, window, *groups, *offset_groups)?
        }
        Product::Requantize { axes } => requantize(context, *axes)?,
        other => return Err(Refusal::unsupported(format!("{other:?}"))),
    };
    Ok(vec![made])
}

fn matmul(context: &mut Context<'_, '_>, ta: bool, tb: bool, alpha: f32, beta: f32) -> Result<Vec<Operand>, Refusal> {
    let mut a = context.operand(0)?;
    let is_float = a.dtype.is_float();
    if !is_float && (a.dtype.size() == Some(8) || alpha != 1.0 || beta != 1.0) {
        return Err(Refusal::integers(format!("a product of {}", a.dtype)));
    }
    if ta {
        a = turned(context, &a)?;
    }
    let rows: usize = a.shape[..a.shape.len().max(1) - 1].iter().product();
    let made = if is_float && rows == 1 { linear::vector(context, &a, tb)? } else { None };
    let result = match made {
        Some(made) => {
            let target = context.output(0)?;
            Operand { dtype: target.dtype, shape: target.shape()?.to_vec(), slot: made.slot }
        }
        None => matrices(context, a, tb)?,
    };
    scaled(context, result, alpha, beta)
}

/// A matrix with rows and columns exchanged; a vector stays.
fn turned(context: &mut Context<'_, '_>, x: &Operand) -> Result<Operand, Refusal> {
    let rank = x.shape.len();
    if rank < 2 {
        return Ok(x.clone());
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 1, rank - 2);
    context.transposed(x, &perm)
}

/// The product of two operands that are matrices, or batches of them, or vectors.
fn matrices(context: &mut Context<'_, '_>, mut a: Operand, tb: bool) -> Result<Operand, Refusal> {
    if let Some(made) = linear::halves(context, &a, tb)? {
        return Ok(made);
    }
    let constant = if tb { linear::turned_constant(context, 1) } else { None };
    let mut b = match constant {
        Some(b) => Operand { dtype: DType::F32, shape: b.shape().to_vec(), ..context.table(&encode(&b)?)? },
        None if tb => {
            let b = context.operand(1)?;
            turned(context, &b)?
        }
        None => context.operand(1)?,
    };
    // A vector is a matrix of one row on the left and of one column on the right.
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
    Ok(Operand { dtype: target.dtype, shape: target.shape, slot: product.slot })
}

/// The rest of a product: its factor, and another term with its own.
fn scaled(context: &mut Context<'_, '_>, mut result: Operand, alpha: f32, beta: f32) -> Result<Vec<Operand>, Refusal> {
    let target = result.clone();
    if alpha != 1.0 {
        let code = ChainCode::new().with(ChainOp::Load, ChainOperand::A)?.with(ChainOp::Mul, alpha)?;
        result = context.chain(&code, &[&result], target.dtype, &target.shape)?;
    }
    if let Some(bias) = context.optional(2)? {
        let sum = if target.dtype.is_float() { ChainOp::Add } else { ChainOp::AddI32 };
        let mut code = ChainCode::new().with(ChainOp::Load, ChainOperand::B)?;
        if beta != 1.0 {
            code = code.with(ChainOp::Mul, beta)?;
        }
        let code = code.with(sum, ChainOperand::A)?;
        result = context.chain(&code, &[&result, &bias], target.dtype, &target.shape)?;
    }
    Ok(vec![result])
}

impl Context<'_, '_> {
    /// The product of matrices of 32-bit integers, which wraps: all products are written out and summed.
    pub(super) fn exact_product(&mut self, a: &Operand, b: &Operand) -> Result<Operand, Refusal> {
        let (ra, rb) = (a.shape.len(), b.shape.len());
        let (mut left, mut right) = (a.shape.clone(), b.shape.clone());
        left.push(1);
        right.insert(rb - 2, 1);
        let all = shape::broadcast(&[&left, &right])?;
        if shape::count(&all)? > MOST_PRODUCTS {
            return Err(Refusal::unsupported(format!("a product of {} of this size", a.dtype)));
        }
        debug_assert!(ra >= 2 && rb >= 2);
        let code = [With(ChainOp::Load, A), With(ChainOp::MulI32, B)];
        let products = self.map(&code, &[&a.reshaped(left), &b.reshaped(right)], a.dtype, &all)?;
        if all.contains(&0) {
            let mut kept = all.clone();
            kept.remove(all.len() - 2);
            return self.filled(a.dtype, &kept, 0);
        }
        self.folded(&products, "reduce_sum_i32", &[all.len() - 2])
    }

    /// The product of matrices, batches broadcast; both are dense and have at least two dimensions.
    pub(super) fn product(&mut self, a: &Operand, b: &Operand, [m, n, k]: [usize; 3]) -> Result<Operand, Refusal> {
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
            self.segment().run("fill", &params, &[], target.slot);
            return Ok(target);
        }
        // Matrices of one operand may be shared by all batches; a mixture is written out.
        let whole = |own: &[usize]| own.iter().product::<usize>() == batches;
        let single = |own: &[usize]| own.iter().product::<usize>() == 1;
        let spread = |context: &mut Self, operand: &Operand, own: &[usize]| -> Result<Operand, Refusal> {
            if whole(own) || single(own) {
                return Ok(operand.clone());
            }
            let mut shape = batch.clone();
            shape.extend(&operand.shape[operand.shape.len() - 2..]);
            context.broadcast(operand, &shape)
        };
        let (left, right) = (spread(self, a, batch_a)?, spread(self, b, batch_b)?);
        let step = |own: &[usize], size: usize| if single(own) && batches > 1 { 0 } else { size };
        // One tall matrix in the place of many that meet the same one.
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
        let form = MatmulForm::best(&params, MatmulElement::F32, info);
        let kernel = form.kernel(MatmulElement::F32).map_err(|error| Refusal::Failed(error.into()))?.name();
        let grid = form.grid(&params);
        // Batches lie along z, of which there may be 65,535.
        if params.batches > 65_535 {
            return Err(Refusal::unsupported(format!("{} matrices", params.batches)));
        }
        self.segment().run_with(kernel, grid, bytemuck::bytes_of(&params), &[left.slot, right.slot], &[target.slot]);
        Ok(target)
    }
}

/// Bytes less their zero points, as floats, which hold them exactly. Zero points are one for all, by the index along an
/// axis, or broadcast.
pub(super) fn less_zero(
    context: &mut Context<'_, '_>,
    x: &Operand,
    zero: Option<Operand>,
    axis: i64,
) -> Result<Operand, Refusal> {
    let Some(zero) = zero else { return context.as_floats(x) };
    let zero = spread(&zero, x.shape.len(), axis)?;
    let code = [With(ChainOp::Load, A), With(ChainOp::SubI32, B), Do(ChainOp::I32ToF32)];
    context.map(&code, &[x, &zero], DType::F32, &x.shape)
}

/// Scales or zero points in a shape that is broadcast to a tensor of this rank.
fn spread(own: &Operand, rank: usize, axis: i64) -> Result<Operand, Refusal> {
    Ok(match own.shape[..] {
        [] | [1] => own.reshaped([]),
        [size] => own.reshaped(along(rank, shape::axis(axis, rank)?, size)),
        _ => own.clone(),
    })
}

fn bytes(context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
    let (a, b) = (context.operand(0)?, context.operand(1)?);
    let (zero_a, zero_b) = (context.optional(2)?, context.optional(3)?);
    let (mut a, mut b) = (less_zero(context, &a, zero_a, -2)?, less_zero(context, &b, zero_b, -1)?);
    if a.shape.len() == 1 {
        a = a.reshaped([1, a.shape[0]]);
    }
    if b.shape.len() == 1 {
        b = b.reshaped([b.shape[0], 1]);
    }
    let (ra, rb) = (a.shape.len(), b.shape.len());
    let (m, k, n) = (a.shape[ra - 2], a.shape[ra - 1], b.shape[rb - 1]);
    let to = context.output(0)?.shape()?.to_vec();
    // Parts of the sum that are exact in single precision, added as integers.
    let mut sum: Option<Operand> = None;
    for start in (0..k.max(1)).step_by(EXACT_TERMS) {
        let size = EXACT_TERMS.min(k - start);
        let (left, right) = (context.part(&a, ra - 1, start, size)?, context.part(&b, rb - 2, start, size)?);
        let product = context.product(&left, &right, [m, n, size])?;
        sum = Some(context.plus_exact(&product.reshaped(to.clone()), sum)?);
    }
    sum.ok_or_else(|| Refusal::unsupported("a product of nothing"))
}

impl Context<'_, '_> {
    /// Whole floats as integers, plus integers.
    pub(super) fn plus_exact(&mut self, floats: &Operand, sum: Option<Operand>) -> Result<Operand, Refusal> {
        let code = [With(ChainOp::Load, A), Do(ChainOp::F32ToI32), With(ChainOp::AddI32, B)];
        match sum {
            None => self.map(&code[..2], &[floats], DType::I32, &floats.shape),
            Some(sum) => self.map(&code, &[floats, &sum], DType::I32, &floats.shape),
        }
    }
}

/// Sums in 32 bits back to bytes.
fn requantize(context: &mut Context<'_, '_>, axes: [i64; 2]) -> Result<Operand, Refusal> {
    let sums = context.operand(0)?;
    let rank = sums.shape.len();
    let (left, right) = (context.operand(1)?, context.operand(2)?);
    let (left, right) = (spread(&left, rank, axes[0])?, spread(&right, rank, axes[1])?);
    let (result, zero) = (context.operand(3)?.reshaped([]), context.operand(4)?.reshaped([]));
    let factors = shape::broadcast(&[&left.shape, &right.shape])?;
    let code = [With(ChainOp::Load, A), With(ChainOp::Mul, B), With(ChainOp::Div, C)];
    let factor = context.map(&code, &[&left, &right, &result], DType::F32, &factors)?;
    let (least, most) = if zero.dtype == DType::U8 { (0, 255) } else { (-128, 127) };
    let code = [
        With(ChainOp::Load, A),
        Do(ChainOp::I32ToF32),
        With(ChainOp::Mul, B),
        Do(ChainOp::Round),
        // Far outside of what fits, so that the sum with the zero point does not wrap.
        With(ChainOp::Max, float(-65536.0)),
        With(ChainOp::Min, float(65536.0)),
        Do(ChainOp::F32ToI32),
        With(ChainOp::AddI32, C),
        With(ChainOp::MaxI32, integer(least)),
        With(ChainOp::MinI32, integer(most)),
    ];
    context.map(&code, &[&sums, &factor, &zero], zero.dtype, &sums.shape)
}

/// Determinants of small matrices, by their definition.
fn determinant(context: &mut Context<'_, '_>) -> Result<Operand, Refusal> {
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
        _ => return Err(Refusal::unsupported(format!("a determinant of {size} rows"))),
    };
    let mut places = Vec::new();
    for (columns, _) in permutations {
        places.extend(columns.iter().enumerate().map(|(row, column)| row * size + column));
    }
    let taken = context.picked(&x.reshaped([matrices, size * size]), 1, &places)?;
    let terms = taken.reshaped([matrices, permutations.len(), size]);
    let products = context.folded(&terms, "reduce_prod", &[2])?;
    let signs =
        context.numbers(&permutations.iter().map(|(_, sign)| *sign).collect::<Vec<_>>(), [permutations.len()])?;
    let shape = products.shape.clone();
    let signed =
        context.map(&[With(ChainOp::Load, A), With(ChainOp::Mul, B)], &[&products, &signs], x.dtype, &shape)?;
    Ok(context.folded(&signed, "reduce_sum", &[1])?.reshaped(to))
}
