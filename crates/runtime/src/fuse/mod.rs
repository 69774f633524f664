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
pub(crate) mod work;

use roci_kernels::params::Chain;

use crate::segment::{Segment, Step};
use program::{Operand, Program};
use work::Work;

/// Joins what can be joined, for native code or for groups of invocations. Native code has products of its own, which take
/// along what follows them.
pub(crate) fn fuse(segment: &mut Segment, is_native: bool) {
    let mut work = Work::new(segment);
    immediates(&mut work);
    // What was joined may have left something with one reader that had two. That one then goes into the same program, of
    // which sixteen instructions are the end, so that the passes are few whatever the segment.
    while chains(&mut work) {}
    work.sweep();
    attention::join(&mut work, is_native);
    tails(&mut work);
    if !is_native {
        linear::join(&mut work);
    }
    work.sweep();
}

/// Puts constants of one word into the programs that read them.
fn immediates(work: &mut Work<'_>) {
    for index in 0..work.steps.len() {
        let Some(mut program) = Program::of(&work.steps[index]).filter(|program| !program.has_coordinates()) else {
            continue;
        };
        let mut changed = false;
        for one in &mut program.code {
            if let Operand::Input(at) = one.operand
                && let Some(word) = work.scalar(program.inputs[at].slot)
            {
                one.operand = Operand::Word(word);
                changed = true;
            }
        }
        let Some(&(output, _)) = work.steps[index].bindings.last().filter(|_| changed) else { continue };
        // One that has no room for them stays as it is.
        if let Some(step) = program.step(work.steps[index].label.clone(), output) {
            work.set(index, step);
        }
    }
}

/// Joins element-wise programs, first to last: a joined one may be joined again. Tells whether any were.
fn chains(work: &mut Work<'_>) -> bool {
    let mut any = false;
    for index in 0..work.steps.len() {
        let joined = chained(work, index);
        if let Some((reader, step)) = joined {
            work.set(reader, step);
            work.remove(index);
            any = true;
        }
    }
    any
}

fn chained(work: &Work<'_>, index: usize) -> Option<(usize, Step)> {
    let first = Program::of(&work.steps[index])?;
    let reader = work.only_reader(index)?;
    let second = Program::of(&work.steps[reader])?;
    if first.inputs().any(|slot| work.written_between(slot, index, reader)) {
        return None;
    }
    let made = work.steps[index].bindings.last()?.0;
    let joined = first.followed_by(&second, made)?;
    let output = work.steps[reader].bindings.last()?.0;
    let label = format!("{} + {}", work.steps[index].label, work.steps[reader].label);
    Some((reader, joined.step(label, output)?))
}

/// Lets convolutions add and clamp what element-wise programs behind them would.
fn tails(work: &mut Work<'_>) {
    for index in 0..work.steps.len() {
        if work.steps[index].kernel != "chain" {
            continue;
        }
        if let Some(tail) = tail::find(work, index) {
            let label = format!("{} + {}", work.steps[tail.conv].label, work.steps[index].label);
            let made = work.steps[index].bindings.last().map(|(slot, _)| *slot);
            work.change(tail.conv, |step| {
                step.label = label;
                step.constants = bytemuck::bytes_of(&tail.params).to_vec();
                // The sum is made in the place of the other term, or in the place of the result.
                if let (Some(last), Some(place)) = (step.bindings.last_mut(), tail.into.or(made)) {
                    last.0 = place;
                }
            });
            if let (Some(made), Some(into)) = (made, tail.into) {
                work.alias(made, into);
            }
            work.remove(index);
        }
    }
}

/// The constants of an element-wise step that is still there.
pub(crate) fn chain_of(step: &Step) -> Option<Chain> {
    (step.kernel == "chain" && !step.bindings.is_empty()).then(|| bytemuck::pod_read_unaligned(&step.constants))
}
