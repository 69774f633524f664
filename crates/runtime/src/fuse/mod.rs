//! Steps of a segment that one kernel can do at once: element-wise programs that follow each other, what follows a
//! convolution (`tail`) or a product (`linear`), and attention.
//!
//! This looks at kernels rather than at operations, so that it finds what several operations became as well as what one
//! did. A step may go where its result has one reader, nobody asks for it later, and nothing that it reads is written in
//! between.

mod attention;
pub(crate) mod linear;
pub(crate) mod program;
mod tail;
#[cfg(test)]
pub(crate) mod tests;

use roci_kernels::params::Chain;

use crate::segment::{Segment, Slot, Step};
use program::{Operand, Program};

/// Joins what can be joined, for native code or for groups of invocations. Native code has products of its own, which take
/// along what follows them.
pub(crate) fn fuse(segment: &mut Segment, is_native: bool) {
    immediates(segment);
    // What was joined may have left something with one reader that had two.
    while chains(segment) {}
    sweep(segment);
    attention::join(segment, is_native);
    tails(segment);
    if !is_native {
        linear::join(segment);
    }
    sweep(segment);
}

/// Drops steps that others do.
fn sweep(segment: &mut Segment) {
    segment.steps.retain(|step| !step.bindings.is_empty());
}

/// Marks a step as done by another.
pub(crate) fn remove(step: &mut Step) {
    step.bindings.clear();
}

/// The steps that read a slot behind a place.
pub(crate) fn readers(segment: &Segment, slot: Slot, from: usize) -> Vec<usize> {
    let reads = |step: &Step| step.reads().contains(&slot);
    (from..segment.steps.len()).filter(|&index| reads(&segment.steps[index])).collect()
}

/// Whether a step between two places writes a slot.
pub(crate) fn written_between(segment: &Segment, slot: Slot, from: usize, to: usize) -> bool {
    // Nothing stands between neighbours, nor between a step and itself.
    segment.steps.get(from + 1..to).is_some_and(|steps| steps.iter().any(|step| step.bindings.contains(&(slot, true))))
}

/// The one step that reads what a step makes, if nobody else wants it.
pub(crate) fn only_reader(segment: &Segment, index: usize) -> Option<usize> {
    let made = segment.steps[index].bindings.last()?.0;
    if !segment.is_temporary(made) || written_between(segment, made, index, segment.steps.len()) {
        return None;
    }
    match readers(segment, made, index + 1)[..] {
        [reader] => Some(reader),
        _ => None,
    }
}

/// Puts constants of one word into the programs that read them.
fn immediates(segment: &mut Segment) {
    for index in 0..segment.steps.len() {
        let Some(mut program) = Program::of(&segment.steps[index]).filter(|program| !program.has_coordinates()) else {
            continue;
        };
        let mut changed = false;
        for one in &mut program.code {
            if let Operand::Input(at) = one.operand
                && let Some(word) = segment.scalar(program.inputs[at].slot)
            {
                one.operand = Operand::Word(word);
                changed = true;
            }
        }
        let Some(&(output, _)) = segment.steps[index].bindings.last().filter(|_| changed) else { continue };
        // One that has no room for them stays as it is.
        if let Some(step) = program.step(segment.steps[index].label.clone(), output) {
            segment.steps[index] = step;
        }
    }
}

/// Joins element-wise programs, first to last: a joined one may be joined again. Tells whether any were.
fn chains(segment: &mut Segment) -> bool {
    let mut any = false;
    for index in 0..segment.steps.len() {
        let joined = chained(segment, index);
        if let Some((reader, step)) = joined {
            segment.steps[reader] = step;
            remove(&mut segment.steps[index]);
            any = true;
        }
    }
    any
}

fn chained(segment: &Segment, index: usize) -> Option<(usize, Step)> {
    let first = Program::of(&segment.steps[index])?;
    let reader = only_reader(segment, index)?;
    let second = Program::of(&segment.steps[reader])?;
    if first.inputs().any(|slot| written_between(segment, slot, index, reader)) {
        return None;
    }
    let made = segment.steps[index].bindings.last()?.0;
    let joined = first.followed_by(&second, made)?;
    let output = segment.steps[reader].bindings.last()?.0;
    let label = format!("{} + {}", segment.steps[index].label, segment.steps[reader].label);
    Some((reader, joined.step(label, output)?))
}

/// Lets convolutions add and clamp what element-wise programs behind them would.
fn tails(segment: &mut Segment) {
    for index in 0..segment.steps.len() {
        if segment.steps[index].kernel != "chain" {
            continue;
        }
        if let Some(tail) = tail::find(segment, index) {
            let label = format!("{} + {}", segment.steps[tail.conv].label, segment.steps[index].label);
            let made = segment.steps[index].bindings.last().map(|(slot, _)| *slot);
            let step = &mut segment.steps[tail.conv];
            step.label = label;
            step.constants = bytemuck::bytes_of(&tail.params).to_vec();
            if let (Some(last), Some(made)) = (step.bindings.last_mut(), made) {
                // The sum is made in the place of the other term, or in the place of the result.
                last.0 = tail.into.unwrap_or(made);
                if let Some(into) = tail.into {
                    segment.alias(made, into);
                }
            }
            remove(&mut segment.steps[index]);
        }
    }
}

/// The constants of an element-wise step that is still there.
pub(crate) fn chain_of(step: &Step) -> Option<Chain> {
    (step.kernel == "chain" && !step.bindings.is_empty()).then(|| bytemuck::pod_read_unaligned(&step.constants))
}
