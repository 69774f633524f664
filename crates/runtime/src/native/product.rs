//! Products with weights: packed once, with the bias, another term and the function that follow them.

use roci_kernels::native::{Level, pack_columns};
use roci_kernels::params::{ChainOp, Matmul, MatmulPacked};

use super::{Form, Packer};
use crate::Error;
use crate::fuse::program::{Instruction, Operand, Program};
use crate::fuse::{only_reader, readers, remove, written_between};
use crate::segment::{Segment, Slot, Step};

/// Products of fewer rows are bound by reading the weights, however they lie.
const LEAST_ROWS: u32 = 4;

/// What follows a product.
#[derive(Default)]
struct Tail {
    /// The step that it is.
    step: Option<usize>,
    bias: Option<Slot>,
    /// What is added to, in whose place the result is made.
    into: Option<Slot>,
    function: u32,
}

/// Replaces products.
pub(super) fn pack(segment: &mut Segment, packer: &mut Packer<'_>) -> Result<(), Error> {
    for index in 0..segment.steps.len() {
        let Some(params) = plain(&segment.steps[index]) else { continue };
        let [(x, _), (weights, _), (made, _)] = segment.steps[index].bindings[..] else { continue };
        if segment.known(weights).is_none() {
            continue;
        }
        let tail = tail(segment, index, params.n).unwrap_or_default();
        let (k, n) = (params.k as usize, params.n as usize);
        let columns = |weights: &[f32], bias: Option<&[f32]>| pack_columns(Level::best(), weights, bias, [k, n]);
        let Some(packed) = packer.pack(segment, Form::Columns, (weights, tail.bias), columns)? else { continue };
        let add = if tail.into.is_some() { MatmulPacked::ADD } else { 0 };
        let constants = MatmulPacked { m: params.m, n: params.n, k: params.k, flags: tail.function | add };
        let last = tail.step.unwrap_or(index);
        let result = segment.steps[last].bindings.last().map_or(made, |(slot, _)| *slot);
        let label = match tail.step {
            Some(step) => format!("{} + {}", segment.steps[index].label, segment.steps[step].label),
            None => segment.steps[index].label.clone(),
        };
        remove(&mut segment.steps[index]);
        segment.steps[last] = Step {
            kernel: "matmul_packed",
            label,
            grid: [1; 3],
            constants: bytemuck::bytes_of(&constants).to_vec(),
            bindings: vec![(x, false), (packed, false), (tail.into.unwrap_or(result), true)],
        };
        if let Some(into) = tail.into {
            segment.alias(result, into);
        }
    }
    segment.steps.retain(|step| !step.bindings.is_empty());
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

/// The element-wise step behind a product that it can do itself: sums with a row of constants and with a tensor that is of
/// no more use, and one of some functions.
fn tail(segment: &Segment, index: usize, columns: u32) -> Option<Tail> {
    let made = segment.steps[index].bindings.last()?.0;
    let reader = only_reader(segment, index)?;
    let program = Program::of(&segment.steps[reader])?;
    // It is computed where its reader stood.
    if segment.steps[index].reads().iter().any(|&slot| written_between(segment, slot, index, reader)) {
        return None;
    }
    let mut tail = Tail { step: Some(reader), ..Tail::default() };
    let mut terms = 0;
    let mut code = program.code.as_slice();
    while let [Instruction { op, operand: Operand::Input(input) }, rest @ ..] = code
        && *op == if terms == 0 { ChainOp::Load } else { ChainOp::Add }
    {
        let input = &program.inputs[*input];
        if input.slot == made {
            program.is_dense(input).then_some(())?;
        } else if tail.bias.is_none()
            && segment.known(input.slot).is_some()
            && is_row(&program, &input.strides, columns)
        {
            tail.bias = Some(input.slot);
        } else if tail.into.is_none() && program.is_dense(input) && is_free(segment, input.slot, index, reader) {
            tail.into = Some(input.slot);
        } else {
            return None;
        }
        terms += 1;
        code = rest;
    }
    tail.function = match code {
        [] => MatmulPacked::LINEAR,
        [Instruction { op: ChainOp::Relu, .. }] => MatmulPacked::RELU,
        [Instruction { op: ChainOp::Gelu, .. }] => MatmulPacked::GELU,
        _ => return None,
    };
    (terms == 1 + usize::from(tail.bias.is_some()) + usize::from(tail.into.is_some())).then_some(tail)
}

/// Whether strides walk along a row of so many elements, again and again.
fn is_row(program: &Program, strides: &[u32], columns: u32) -> bool {
    let mut walked = 1;
    for (&size, &stride) in program.sizes.iter().zip(strides).rev().filter(|(size, _)| **size != 1) {
        let expected = if walked < columns { walked } else { 0 };
        if stride != expected {
            return false;
        }
        walked *= size;
        if walked > columns && expected != 0 {
            return false;
        }
    }
    walked >= columns
}

/// Whether a tensor may be written over by the step at `reader`, in which the one at `index` goes on.
fn is_free(segment: &Segment, slot: Slot, index: usize, reader: usize) -> bool {
    let others = readers(segment, slot, index);
    segment.is_temporary(slot)
        && others.iter().all(|&other| other <= reader && other != index)
        && !written_between(segment, slot, reader, segment.steps.len())
        && segment.steps[..reader].iter().any(|step| step.bindings.contains(&(slot, true)))
}
