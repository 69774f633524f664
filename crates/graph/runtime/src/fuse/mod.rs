//! Fuses dispatches of a segment: chains of elementwise programs, epilogues of convolutions
//! (`conv_epilogue`) and of products (`linear`), and attention.
//!
//! Fusion works on dispatches rather than on operations, so patterns match regardless of the
//! operations that they were lowered from. A dispatch can be fused into its reader if its result
//! has one reader, does not outlive the segment, and none of its inputs is written in between.

mod attention;
mod conv_epilogue;
pub(crate) mod editor;
pub(crate) mod elementwise;
pub(crate) mod linear;
#[cfg(test)]
pub(crate) mod tests;

use roci_kernels::params::ElementwiseProgram;

use crate::segment::{Dispatch, Segment};
use editor::SegmentEditor;
use elementwise::{DecodedProgram, Operand};

/// Fuses all patterns. Native code has its own kernels for products, which `native` selects
/// together with their epilogues.
pub(crate) fn fuse(segment: &mut Segment, is_native: bool) {
    let mut editor = SegmentEditor::new(segment);
    immediates(&mut editor);
    // Joining two programs may leave a tensor with one reader that had two before, which allows
    // another join. A program has at most sixteen instructions, so there are few passes.
    while chains(&mut editor) {}
    editor.remove_dead();
    attention::join(&mut editor, is_native);
    conv_epilogues(&mut editor);
    if !is_native {
        linear::join(&mut editor);
    }
    editor.remove_dead();
}

/// Replaces inputs that are one-element constants by immediates.
fn immediates(editor: &mut SegmentEditor<'_>) {
    for index in 0..editor.dispatches.len() {
        let Some(mut program) =
            DecodedProgram::of(&editor.dispatches[index]).filter(|program| !program.has_coordinates())
        else {
            continue;
        };
        let mut changed = false;
        for one in &mut program.code {
            if let Operand::Input(at) = one.operand
                && let Some(word) = editor.scalar(program.inputs[at].tensor_id)
            {
                one.operand = Operand::Word(word);
                changed = true;
            }
        }
        let Some(&(output, _)) = editor.dispatches[index].bindings.last().filter(|_| changed) else { continue };
        // A program without room for the immediates stays unchanged.
        if let Some(step) = program.step(editor.dispatches[index].label.clone(), output) {
            editor.set(index, step);
        }
    }
}

/// Joins elementwise programs, in order, so that a joined program can be joined again. Returns
/// whether any were joined.
fn chains(editor: &mut SegmentEditor<'_>) -> bool {
    let mut any = false;
    for index in 0..editor.dispatches.len() {
        let joined = chained(editor, index);
        if let Some((reader, step)) = joined {
            editor.set(reader, step);
            editor.remove(index);
            any = true;
        }
    }
    any
}

fn chained(editor: &SegmentEditor<'_>, index: usize) -> Option<(usize, Dispatch)> {
    let first = DecodedProgram::of(&editor.dispatches[index])?;
    let reader = editor.only_reader(index)?;
    let second = DecodedProgram::of(&editor.dispatches[reader])?;
    if first.inputs().any(|tensor_id| editor.written_between(tensor_id, index, reader)) {
        return None;
    }
    let result = editor.dispatches[index].bindings.last()?.0;
    let joined = first.followed_by(&second, result)?;
    let output = editor.dispatches[reader].bindings.last()?.0;
    let label = format!("{} + {}", editor.dispatches[index].label, editor.dispatches[reader].label);
    Some((reader, joined.step(label, output)?))
}

/// Fuses elementwise programs that add and clamp into the convolutions before them.
fn conv_epilogues(editor: &mut SegmentEditor<'_>) {
    for index in 0..editor.dispatches.len() {
        if editor.dispatches[index].kernel != "elementwise_program" {
            continue;
        }
        if let Some(epilogue) = conv_epilogue::find(editor, index) {
            let label = format!("{} + {}", editor.dispatches[epilogue.conv].label, editor.dispatches[index].label);
            let result = editor.dispatches[index].bindings.last().map(|(tensor_id, _)| *tensor_id);
            editor.change(epilogue.conv, |step| {
                step.label = label;
                step.constants = bytemuck::bytes_of(&epilogue.params).to_vec();
                // The sum is written to the other term's memory, or to the result's.
                if let (Some(last), Some(place)) = (step.bindings.last_mut(), epilogue.into.or(result)) {
                    last.0 = place;
                }
            });
            if let (Some(result), Some(into)) = (result, epilogue.into) {
                editor.alias(result, into);
            }
            editor.remove(index);
        }
    }
}

/// The parameters of an elementwise dispatch that is not dead.
pub(crate) fn elementwise_params(step: &Dispatch) -> Option<ElementwiseProgram> {
    (step.kernel == "elementwise_program" && !step.bindings.is_empty())
        .then(|| bytemuck::pod_read_unaligned(&step.constants))
}
