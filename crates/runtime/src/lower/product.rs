//! Products of matrices, and convolutions.

use roci_graph::ops::window::Window;
use roci_graph::ops::Product;
use roci_graph::shape;
use roci_kernels::params::{ChainCode, ChainOp, ChainOperand, Conv, Matmul, Params};
use roci_kernels::{MatmulElement, MatmulForm};

use super::{Context, Operand, three, word};
use crate::error::Refusal;

pub(super) fn lower(op: &Product, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    match op {
        Product::MatMul { transpose_a, transpose_b, alpha, beta } => {
            matmul(context, *transpose_a, *transpose_b, *alpha, *beta)
        }
        Product::Conv { window, groups } => conv(context, window, *groups),
        other => Err(Refusal::unsupported(format!("{other:?}"))),
    }
}

/// Floats alone; integers would need exact sums.
fn floats(operand: &Operand) -> Result<(), Refusal> {
    if operand.dtype.is_float() { Ok(()) } else { Err(Refusal::unsupported(format!("a product of {}", operand.dtype))) }
}

fn matmul(context: &mut Context<'_, '_>, ta: bool, tb: bool, alpha: f32, beta: f32) -> Result<Vec<Operand>, Refusal> {
    let (mut a, mut b) = (context.operand(0)?, context.operand(1)?);
    floats(&a)?;
    for (operand, flip) in [(&mut a, ta), (&mut b, tb)] {
        if flip && operand.shape.len() >= 2 {
            let rank = operand.shape.len();
            let mut perm: Vec<usize> = (0..rank).collect();
            perm.swap(rank - 1, rank - 2);
            *operand = context.transposed(operand, &perm)?;
        }
    }
    // A vector is a matrix of one row on the left and of one column on the right.
    let target = context.new_output(0)?;
    if a.shape.len() == 1 {
        a = a.reshaped([1, a.shape[0]]);
    }
    if b.shape.len() == 1 {
        b = b.reshaped([b.shape[0], 1]);
    }
    let (m, k, n) = (a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1], b.shape[b.shape.len() - 1]);
    let product = context.product(&a, &b, [m, n, k])?;
    let mut result = Operand { dtype: target.dtype, shape: target.shape.clone(), slot: product.slot };
    if alpha != 1.0 {
        let code = ChainCode::new().with(ChainOp::Load, ChainOperand::A)?.with(ChainOp::Mul, alpha)?;
        result = context.chain(&code, &[&result], target.dtype, &target.shape)?;
    }
    if let Some(bias) = context.optional(2)? {
        let code = ChainCode::new()
            .with(ChainOp::Load, ChainOperand::B)?
            .with(ChainOp::Mul, beta)?
            .with(ChainOp::Add, ChainOperand::A)?;
        result = context.chain(&code, &[&result, &bias], target.dtype, &target.shape)?;
    }
    Ok(vec![result])
}

impl Context<'_, '_> {
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
        let info = self.device().info();
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

fn conv(context: &mut Context<'_, '_>, window: &Window, groups: usize) -> Result<Vec<Operand>, Refusal> {
    let (x, w, bias) = (context.operand(0)?, context.operand(1)?, context.optional(2)?);
    floats(&x)?;
    let target = context.new_output(0)?;
    let spatial = x.shape.len().saturating_sub(2);
    if !(1..=3).contains(&spatial) {
        return Err(Refusal::unsupported(format!("convolution over {spatial} dimensions")));
    }
    let axes = window.axes(&x.shape[2..], &w.shape[2..], false)?;
    let params = Conv {
        batch: word(x.shape[0])?,
        in_channels: word(x.shape[1])?,
        out_channels: word(w.shape[0])?,
        groups: word(groups)?,
        input: three(axes.iter().map(|axis| axis.input), 1)?,
        output: three(axes.iter().map(|axis| axis.output), 1)?,
        kernel: three(axes.iter().map(|axis| axis.kernel), 1)?,
        stride: three(axes.iter().map(|axis| axis.stride), 1)?,
        dilation: three(axes.iter().map(|axis| axis.dilation), 1)?,
        pad: three(axes.iter().map(|axis| axis.before), 0)?.map(|pad| pad as i32),
        flags: if bias.is_some() { Conv::BIAS } else { 0 },
        low: 0.0,
        high: 0.0,
    };
    if target.count() == 0 {
        return Ok(vec![target]);
    }
    let inputs = [x.slot, w.slot, bias.as_ref().map_or(w.slot, |bias| bias.slot)];
    // Tiles pay where a group has enough channels to fill them.
    let dense = params.is_flat() && w.shape[0] / groups >= 16 && w.shape[1] * params.taps() as usize >= 16;
    let (kernel, grid) = if dense { ("conv_tiled", params.tiles()) } else { ("conv", params.grid()) };
    context.segment().run_with(kernel, grid, bytemuck::bytes_of(&params), &inputs, &[target.slot]);
    Ok(vec![target])
}
