//! Products with weights: packed once, with the bias, another term and the function that follow them.

use roci_kernels::native::{Level, pack_columns};
use roci_kernels::params::{Matmul, MatmulPacked};

use super::{Form, Packer};
use crate::Error;
use crate::fuse::linear::{self, Function, Tail};
use crate::fuse::work::Work;
use crate::segment::{Segment, Step};

/// Products of fewer rows are bound by reading the weights, however they lie.
const LEAST_ROWS: u32 = 4;

/// Replaces products.
pub(super) fn pack(segment: &mut Segment, packer: &mut Packer<'_>) -> Result<(), Error> {
    let mut work = Work::new(segment);
    for index in 0..work.steps.len() {
        let Some(params) = plain(&work.steps[index]) else { continue };
        let [(x, _), (weights, _), (made, _)] = work.steps[index].bindings[..] else { continue };
        if work.known(weights).is_none() {
            continue;
        }
        let (tail, function) = tail(&work, index, params.n).unzip();
        let (bias, into) = tail.as_ref().map_or((None, None), |tail| (tail.bias, tail.into));
        let (k, n) = (params.k as usize, params.n as usize);
        let columns = |weights: &[f32], bias: Option<&[f32]>| pack_columns(Level::best(), weights, bias, [k, n]);
        let elements = n.next_multiple_of(Level::best().lanes()) * (k + 1);
        let packed = packer.pack(work.tensors(), Form::Columns, (weights, bias), elements, columns)?;
        let Some(packed) = packed else { continue };
        let flags = function.unwrap_or(MatmulPacked::LINEAR) | if into.is_some() { MatmulPacked::ADD } else { 0 };
        let constants = MatmulPacked { m: params.m, n: params.n, k: params.k, flags };
        let last = tail.as_ref().map_or(index, |tail| tail.step);
        let result = work.steps[last].bindings.last().map_or(made, |(slot, _)| *slot);
        let label = match tail {
            Some(tail) => format!("{} + {}", work.steps[index].label, work.steps[tail.step].label),
            None => work.steps[index].label.clone(),
        };
        work.remove(index);
        let step = Step {
            kernel: "matmul_packed",
            label,
            grid: [1; 3],
            constants: bytemuck::bytes_of(&constants).to_vec(),
            bindings: vec![(x, false), (packed, false), (into.unwrap_or(result), true)],
        };
        work.set(last, step);
        if let Some(into) = into {
            work.alias(result, into);
        }
    }
    work.sweep();
    Ok(())
}

/// The figures of a product of dense matrices.
fn plain(step: &Step) -> Option<Matmul> {
    if !matches!(step.kernel, "matmul_f32" | "matmul_large_f32") || step.bindings.is_empty() {
        return None;
    }
    let p: Matmul = bytemuck::pod_read_unaligned(&step.constants);
    let dense = p.batches == 1 && p.lda == p.k && p.ldb == p.n && p.ldc == p.n;
    (dense && p.m >= LEAST_ROWS).then_some(p)
}

/// What follows a product that its kernel does; the bias is packed with the weights, so that it has to be known.
fn tail(work: &Work<'_>, index: usize, columns: u32) -> Option<(Tail, u32)> {
    let tail = linear::tail(work, index, columns)?;
    let function = match tail.function {
        Function::None => MatmulPacked::LINEAR,
        Function::Clamp(0.0, f32::INFINITY) => MatmulPacked::RELU,
        Function::Gelu => MatmulPacked::GELU,
        Function::Clamp(..) | Function::Silu => return None,
    };
    tail.bias.is_none_or(|bias| work.known(bias).is_some()).then_some((tail, function))
}
