//! Fuses a bias, a residual and an activation into the matrix product before them.

#[cfg(test)]
pub(crate) mod tests;

use roci_kernels::params::{ElementwiseOp, Linear, Matmul, Matvec};

use super::conv_epilogue::clamp;
use super::editor::SegmentEditor;
use super::elementwise::{DecodedProgram, Instruction, Operand};
use crate::segment::{Dispatch, TensorId};

/// A decoded elementwise dispatch after a product.
pub(crate) struct Epilogue {
    /// Index of the dispatch.
    pub(crate) step: usize,
    /// A row that is added to every row.
    pub(crate) bias: Option<TensorId>,
    /// The residual, which is added to in place.
    pub(crate) into: Option<TensorId>,
    pub(crate) function: Activation,
}

/// The activation after the sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Activation {
    None,
    /// The lower and upper bound, one of which may be infinite.
    Clamp(f32, f32),
    Gelu,
    Silu,
}

/// Replaces products and the elementwise dispatches after them by linear layers.
pub(super) fn join(editor: &mut SegmentEditor<'_>) {
    for index in 0..editor.dispatches.len() {
        let Some((kernel, params, columns)) = layer(&editor.dispatches[index]) else { continue };
        let Some(epilogue) = epilogue(editor, index, columns) else { continue };
        let Some(params) = with_epilogue(params, &epilogue) else { continue };
        let (Some(&(a, _)), Some(&(b, _))) =
            (editor.dispatches[index].bindings.first(), editor.dispatches[index].bindings.get(1))
        else {
            continue;
        };
        let Some(&(result, _)) = editor.dispatches[epilogue.step].bindings.last() else { continue };
        let (first, last) = (&editor.dispatches[index], &editor.dispatches[epilogue.step]);
        let step = Dispatch {
            kernel,
            label: format!("{} + {}", first.label, last.label),
            grid: first.grid,
            constants: bytemuck::bytes_of(&params).to_vec(),
            // Without a bias, any buffer has to be bound in its place.
            bindings: vec![
                (a, false),
                (b, false),
                (epilogue.bias.unwrap_or(a), false),
                (epilogue.into.unwrap_or(result), true),
            ],
        };
        editor.remove(index);
        editor.set(epilogue.step, step);
        if let Some(into) = epilogue.into {
            editor.alias(result, into);
        }
    }
}

/// A product as a linear layer without an epilogue: the kernel, its parameters, and the number of
/// columns.
fn layer(step: &Dispatch) -> Option<(&'static str, Linear, u32)> {
    if step.bindings.is_empty() {
        return None;
    }
    let kernel = match step.kernel {
        "matmul_f32" => "linear_f32",
        "matmul_large_f32" => "linear_large_f32",
        "matvec_f32" => "linear_matvec_f32",
        "matvec_f16" => "linear_matvec_f16",
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

fn with_epilogue(params: Linear, epilogue: &Epilogue) -> Option<Linear> {
    let mut flags = 0;
    flags |= if epilogue.bias.is_some() { Linear::BIAS } else { 0 };
    flags |= if epilogue.into.is_some() { Linear::ADD } else { 0 };
    let (function, low, high) = match epilogue.function {
        Activation::None => (0, 0.0, 0.0),
        Activation::Clamp(low, high) => (Linear::CLAMP, low, high),
        Activation::Gelu => (Linear::GELU, 0.0, 0.0),
        Activation::Silu => (Linear::SILU, 0.0, 0.0),
    };
    Some(Linear { flags: flags | function, low, high, ..params }).filter(|params| params.flags != 0)
}

/// Decodes the elementwise dispatch after a product, if a linear layer can apply it: at most one
/// bias row, one residual that can be overwritten, and one activation.
pub(crate) fn epilogue(editor: &SegmentEditor<'_>, index: usize, columns: u32) -> Option<Epilogue> {
    let result = editor.dispatches[index].bindings.last()?.0;
    let reader = editor.only_reader(index)?;
    let program = DecodedProgram::of(&editor.dispatches[reader])?;
    // The fused dispatch runs where the reader was.
    if editor.dispatches[index].reads().iter().any(|&tensor_id| editor.written_between(tensor_id, index, reader)) {
        return None;
    }
    let (mut bias, mut into) = (None, None);
    let mut terms = 0;
    let mut code = program.code.as_slice();
    while let [Instruction { op, operand: Operand::Input(input) }, rest @ ..] = code
        && *op == if terms == 0 { ElementwiseOp::Load } else { ElementwiseOp::Add }
    {
        let input = &program.inputs[*input];
        if input.tensor_id == result {
            program.is_dense(input).then_some(())?;
        } else if bias.is_none() && is_row(&program, &input.strides, columns) {
            bias = Some(input.tensor_id);
        } else if into.is_none() && program.is_dense(input) && can_overwrite(editor, input.tensor_id, index, reader) {
            into = Some(input.tensor_id);
        } else {
            return None;
        }
        terms += 1;
        code = rest;
    }
    // Each term occurs once, and the product is one of them.
    let once = terms == 1 + usize::from(bias.is_some()) + usize::from(into.is_some());
    let is_sum = |operand: Operand| terms == 1 && operand == program.code[0].operand;
    let function = function(code, is_sum)?;
    (once && program.inputs().any(|tensor_id| tensor_id == result)).then_some(Epilogue {
        step: reader,
        bias,
        into,
        function,
    })
}

/// The activation that a program applies to its sum. `is_sum` is true for operands that are the
/// sum.
fn function(code: &[Instruction], is_sum: impl Fn(Operand) -> bool) -> Option<Activation> {
    if let [Instruction { op: ElementwiseOp::Gelu, .. }] = code {
        return Some(Activation::Gelu);
    }
    if is_silu(code, is_sum) {
        return Some(Activation::Silu);
    }
    match clamp(code)? {
        (f32::NEG_INFINITY, f32::INFINITY) => Some(Activation::None),
        (low, high) => Some(Activation::Clamp(low, high)),
    }
}

/// Whether a program multiplies the sum by its sigmoid, in any order.
fn is_silu(code: &[Instruction], is_sum: impl Fn(Operand) -> bool) -> bool {
    #[derive(Clone, Copy, PartialEq)]
    enum Value {
        Sum,
        Sigmoid,
        Silu,
    }
    let mut value = Value::Sum;
    let mut temporaries = [None; 4];
    for one in code {
        let operand = match one.operand {
            Operand::Temporary(temporary) => temporaries.get(usize::from(temporary)).copied().flatten(),
            operand => is_sum(operand).then_some(Value::Sum),
        };
        value = match (one.op, one.operand, operand) {
            (ElementwiseOp::Save, Operand::Field(field @ 4..8), _) => {
                temporaries[usize::from(field) - 4] = Some(value);
                value
            }
            (ElementwiseOp::Sigmoid, ..) if value == Value::Sum => Value::Sigmoid,
            (ElementwiseOp::Load, _, Some(other)) => other,
            (ElementwiseOp::Mul, Operand::Word(word), _) if f32::from_bits(word) == 1.0 => value,
            (ElementwiseOp::Mul, _, Some(Value::Sum)) if value == Value::Sigmoid => Value::Silu,
            (ElementwiseOp::Mul, _, Some(Value::Sigmoid)) if value == Value::Sum => Value::Silu,
            _ => return false,
        };
    }
    value == Value::Silu
}

/// Whether an input repeats a row of this many columns.
fn is_row(program: &DecodedProgram, strides: &[u32], columns: u32) -> bool {
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

/// Whether the dispatch `reader` may overwrite a tensor after the dispatch `index` is fused into
/// it.
fn can_overwrite(editor: &SegmentEditor<'_>, tensor_id: TensorId, index: usize, reader: usize) -> bool {
    let mut readers = editor.readers_of(tensor_id, index);
    editor.is_temporary(tensor_id)
        && readers.next_back().is_none_or(|last| last <= reader)
        && !editor.dispatches[index].bindings.contains(&(tensor_id, false))
        && !editor.written_between(tensor_id, reader, editor.dispatches.len())
        && editor.last_writer(tensor_id, reader).is_some()
}
