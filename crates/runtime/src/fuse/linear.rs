//! What a product can do with its results before it writes them: add a bias and another term, and apply a function.

#[cfg(test)]
pub(crate) mod tests;

use roci_kernels::params::{ChainOp, Linear, Matmul, Matvec};

use super::program::{Instruction, Operand, Program};
use super::tail::clamp;
use super::work::Work;
use crate::segment::{Slot, Step};

/// The element-wise step behind a product, taken apart.
pub(crate) struct Tail {
    /// The step that it is.
    pub(crate) step: usize,
    /// A row that is added to every row.
    pub(crate) bias: Option<Slot>,
    /// What is added to, in whose place the result is made.
    pub(crate) into: Option<Slot>,
    pub(crate) function: Function,
}

/// What becomes of a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Function {
    None,
    /// Between two limits, of which one may be infinite.
    Clamp(f32, f32),
    Gelu,
    Silu,
}

/// Puts layers in the place of products and what follows them.
pub(super) fn join(work: &mut Work<'_>) {
    for index in 0..work.steps.len() {
        let Some((kernel, params, columns)) = layer(&work.steps[index]) else { continue };
        let Some(tail) = tail(work, index, columns) else { continue };
        let Some(params) = with_tail(params, &tail) else { continue };
        let (Some(&(a, _)), Some(&(b, _))) = (work.steps[index].bindings.first(), work.steps[index].bindings.get(1))
        else {
            continue;
        };
        let Some(&(made, _)) = work.steps[tail.step].bindings.last() else { continue };
        let (first, last) = (&work.steps[index], &work.steps[tail.step]);
        let step = Step {
            kernel,
            label: format!("{} + {}", first.label, last.label),
            grid: first.grid,
            constants: bytemuck::bytes_of(&params).to_vec(),
            // Something has to be bound where there is no bias.
            bindings: vec![(a, false), (b, false), (tail.bias.unwrap_or(a), false), (tail.into.unwrap_or(made), true)],
        };
        work.remove(index);
        work.set(tail.step, step);
        if let Some(into) = tail.into {
            work.alias(made, into);
        }
    }
}

/// The layer that a product is without anything behind it, and how many columns its rows have.
fn layer(step: &Step) -> Option<(&'static str, Linear, u32)> {
    if step.bindings.is_empty() {
        return None;
    }
    let kernel = match step.kernel {
        "matmul_f32" => "linear_f32",
        "matmul_large_f32" => "linear_large_f32",
        "matvec_f32" => "linear_row_f32",
        "matvec_f16" => "linear_row_f16",
        known @ ("linear_f16" | "linear_large_f16") => known,
        _ => return None,
    };
    let params = match step.kernel {
        "matmul_f32" | "matmul_large_f32" => Linear::of(&bytemuck::pod_read_unaligned::<Matmul>(&step.constants)),
        "matvec_f32" | "matvec_f16" => {
            let Matvec { m, k, lda } = bytemuck::pod_read_unaligned(&step.constants);
            return Some((kernel, Linear { lda, ..Linear::row(m, k) }, m));
        }
        _ => bytemuck::pod_read_unaligned(&step.constants),
    };
    let is_dense = params.ldc == params.n && (params.batches == 1 || params.batch_c == params.m * params.n);
    (is_dense && params.flags == 0).then_some((kernel, params, params.n))
}

fn with_tail(params: Linear, tail: &Tail) -> Option<Linear> {
    let mut flags = 0;
    flags |= if tail.bias.is_some() { Linear::BIAS } else { 0 };
    flags |= if tail.into.is_some() { Linear::ADD } else { 0 };
    let (function, low, high) = match tail.function {
        Function::None => (0, 0.0, 0.0),
        Function::Clamp(low, high) => (Linear::CLAMP, low, high),
        Function::Gelu => (Linear::GELU, 0.0, 0.0),
        Function::Silu => (Linear::SILU, 0.0, 0.0),
    };
    Some(Linear { flags: flags | function, low, high, ..params }).filter(|params| params.flags != 0)
}

/// The element-wise step behind a product that it can do itself: sums with a row and with a tensor that is of no more use,
/// and one of some functions.
pub(crate) fn tail(work: &Work<'_>, index: usize, columns: u32) -> Option<Tail> {
    let made = work.steps[index].bindings.last()?.0;
    let reader = work.only_reader(index)?;
    let program = Program::of(&work.steps[reader])?;
    // It is computed where its reader stood.
    if work.steps[index].reads().iter().any(|&slot| work.written_between(slot, index, reader)) {
        return None;
    }
    let (mut bias, mut into) = (None, None);
    let mut terms = 0;
    let mut code = program.code.as_slice();
    while let [Instruction { op, operand: Operand::Input(input) }, rest @ ..] = code
        && *op == if terms == 0 { ChainOp::Load } else { ChainOp::Add }
    {
        let input = &program.inputs[*input];
        if input.slot == made {
            program.is_dense(input).then_some(())?;
        } else if bias.is_none() && is_row(&program, &input.strides, columns) {
            bias = Some(input.slot);
        } else if into.is_none() && program.is_dense(input) && is_free(work, input.slot, index, reader) {
            into = Some(input.slot);
        } else {
            return None;
        }
        terms += 1;
        code = rest;
    }
    // Each is there once, and the product is one of them.
    let once = terms == 1 + usize::from(bias.is_some()) + usize::from(into.is_some());
    let is_sum = |operand: Operand| terms == 1 && operand == program.code[0].operand;
    let function = function(code, is_sum)?;
    (once && program.inputs().any(|slot| slot == made)).then_some(Tail { step: reader, bias, into, function })
}

/// The function that a program applies to its sum, which some operands are.
fn function(code: &[Instruction], is_sum: impl Fn(Operand) -> bool) -> Option<Function> {
    if let [Instruction { op: ChainOp::Gelu, .. }] = code {
        return Some(Function::Gelu);
    }
    if is_silu(code, is_sum) {
        return Some(Function::Silu);
    }
    match clamp(code)? {
        (f32::NEG_INFINITY, f32::INFINITY) => Some(Function::None),
        (low, high) => Some(Function::Clamp(low, high)),
    }
}

/// Whether a program multiplies the sum with its sigmoid, in whichever order it was put together.
fn is_silu(code: &[Instruction], is_sum: impl Fn(Operand) -> bool) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Value {
        Sum,
        Sigmoid,
        Silu,
    }
    let mut value = Value::Sum;
    let mut kept = [None; 4];
    for one in code {
        let operand = match one.operand {
            Operand::Temporary(temporary) => kept.get(usize::from(temporary)).copied().flatten(),
            operand => is_sum(operand).then_some(Value::Sum),
        };
        value = match (one.op, one.operand, operand) {
            (ChainOp::Save, Operand::Field(field @ 4..8), _) => {
                kept[usize::from(field) - 4] = Some(value);
                value
            }
            (ChainOp::Sigmoid, ..) if value == Value::Sum => Value::Sigmoid,
            (ChainOp::Load, _, Some(other)) => other,
            (ChainOp::Mul, Operand::Word(word), _) if f32::from_bits(word) == 1.0 => value,
            (ChainOp::Mul, _, Some(Value::Sum)) if value == Value::Sigmoid => Value::Silu,
            (ChainOp::Mul, _, Some(Value::Sigmoid)) if value == Value::Sum => Value::Silu,
            _ => return false,
        };
    }
    value == Value::Silu
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
fn is_free(work: &Work<'_>, slot: Slot, index: usize, reader: usize) -> bool {
    let mut readers = work.readers_of(slot, index);
    work.is_temporary(slot)
        && readers.next_back().is_none_or(|last| last <= reader)
        && !work.steps[index].bindings.contains(&(slot, false))
        && !work.written_between(slot, reader, work.steps.len())
        && work.maker(slot, reader).is_some()
}
