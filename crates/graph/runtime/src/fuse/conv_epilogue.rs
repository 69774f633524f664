//! Fuses an addition and a clamp into the convolution before them.

use roci_kernels::params::{Conv, ElementwiseOp};

use super::editor::SegmentEditor;
use super::elementwise::{DecodedProgram, Instruction, Operand};
use crate::segment::TensorId;

/// A convolution that can fuse the elementwise dispatch after it.
pub(super) struct ConvEpilogue {
    /// The index of the convolution.
    pub(super) conv: usize,
    pub(super) params: Conv,
    /// The tensor that it adds to in place.
    pub(super) into: Option<TensorId>,
}

/// Finds the convolution that can fuse the elementwise dispatch `index`.
pub(super) fn find(editor: &SegmentEditor<'_>, index: usize) -> Option<ConvEpilogue> {
    let program = DecodedProgram::of(&editor.dispatches[index])?;
    if !program.inputs.iter().all(|input| program.is_dense(input)) {
        return None;
    }
    let (sum, rest) = match program.code.as_slice() {
        [load, add, rest @ ..]
            if is_load(load) && add.op == ElementwiseOp::Add && matches!(add.operand, Operand::Input(_)) =>
        {
            (true, rest)
        }
        [load, rest @ ..] if is_load(load) => (false, rest),
        _ => return None,
    };
    if program.inputs.len() != 1 + usize::from(sum) {
        return None;
    }
    let (low, high) = clamp(rest)?;
    // The later of the two dispatches that write the terms: by then the other term is complete.
    let conv = program.inputs().filter_map(|tensor_id| editor.last_writer(tensor_id, index)).max()?;
    let step = &editor.dispatches[conv];
    if !matches!(step.kernel, "conv" | "conv_tiled" | "conv_tiled_f16" | "conv_split_k_reduce" | "conv_transpose") {
        return None;
    }
    let mut params: Conv = bytemuck::pod_read_unaligned(&step.constants);
    let result = step.bindings.last()?.0;
    if params.flags & (Conv::ADD | Conv::CLAMP) != 0 || editor.only_reader(conv) != Some(index) {
        return None;
    }
    let into = if sum {
        let other = program.inputs().find(|tensor_id| *tensor_id != result)?;
        let free = editor.is_temporary(other) && editor.readers_of(other, conv).all(|reader| reader == index);
        if !free || step.reads().contains(&other) || editor.written_between(other, conv, index) {
            return None;
        }
        Some(other)
    } else {
        None
    };
    if into.is_some() {
        params.flags |= Conv::ADD;
    }
    if low > f32::NEG_INFINITY || high < f32::INFINITY {
        params.flags |= Conv::CLAMP;
        (params.low, params.high) = (low, high);
    }
    Some(ConvEpilogue { conv, params, into })
}

fn is_load(one: &Instruction) -> bool {
    one.op == ElementwiseOp::Load && matches!(one.operand, Operand::Input(_))
}

/// The bounds of a program that only clamps its value.
pub(super) fn clamp(code: &[Instruction]) -> Option<(f32, f32)> {
    let (mut low, mut high) = (f32::NEG_INFINITY, f32::INFINITY);
    for one in code {
        match (one.op, one.operand) {
            (ElementwiseOp::Relu, _) => low = low.max(0.0),
            (ElementwiseOp::Max, Operand::Word(word)) => low = low.max(number(word)?),
            (ElementwiseOp::Min, Operand::Word(word)) => high = high.min(number(word)?),
            _ => return None,
        }
    }
    // If the bounds cross, the result depends on the order of the instructions.
    (low <= high).then_some((low, high))
}

/// A bound that is not NaN.
fn number(word: u32) -> Option<f32> {
    let number = f32::from_bits(word);
    (!number.is_nan()).then_some(number)
}
