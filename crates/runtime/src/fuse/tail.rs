//! What a convolution can do with its results before it writes them: add what is there, and clamp.

use roci_kernels::params::{ChainOp, Conv};

use super::program::{Instruction, Operand, Program};
use super::work::Work;
use crate::segment::Slot;

/// A convolution that can do the work of an element-wise step behind it.
pub(super) struct Tail {
    /// The step of the convolution.
    pub(super) conv: usize,
    pub(super) params: Conv,
    /// What it adds to, in whose place the sum is made.
    pub(super) into: Option<Slot>,
}

/// The convolution that can do what the step at `index` does.
pub(super) fn find(work: &Work<'_>, index: usize) -> Option<Tail> {
    let program = Program::of(&work.steps[index])?;
    if !program.inputs.iter().all(|input| program.is_dense(input)) {
        return None;
    }
    let (sum, rest) = match program.code.as_slice() {
        [load, add, rest @ ..]
            if is_load(load) && add.op == ChainOp::Add && matches!(add.operand, Operand::Input(_)) =>
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
    // The last of the two that make the terms: the other one is there by then.
    let conv = program.inputs().filter_map(|slot| work.maker(slot, index)).max()?;
    let step = &work.steps[conv];
    if !matches!(step.kernel, "conv" | "conv_tiled" | "conv_tiled_f16" | "conv_join" | "conv_transpose") {
        return None;
    }
    let mut params: Conv = bytemuck::pod_read_unaligned(&step.constants);
    let made = step.bindings.last()?.0;
    if params.flags & (Conv::ADD | Conv::CLAMP) != 0 || work.only_reader(conv) != Some(index) {
        return None;
    }
    let into = if sum {
        let other = program.inputs().find(|slot| *slot != made)?;
        let free = work.is_temporary(other) && work.readers_of(other, conv).all(|reader| reader == index);
        if !free || step.reads().contains(&other) || work.written_between(other, conv, index) {
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
    Some(Tail { conv, params, into })
}

fn is_load(one: &Instruction) -> bool {
    one.op == ChainOp::Load && matches!(one.operand, Operand::Input(_))
}

/// The limits that a program keeps its number between, if it does nothing else.
pub(super) fn clamp(code: &[Instruction]) -> Option<(f32, f32)> {
    let (mut low, mut high) = (f32::NEG_INFINITY, f32::INFINITY);
    for one in code {
        match (one.op, one.operand) {
            (ChainOp::Relu, _) => low = low.max(0.0),
            (ChainOp::Max, Operand::Word(word)) => low = low.max(number(word)?),
            (ChainOp::Min, Operand::Word(word)) => high = high.min(number(word)?),
            _ => return None,
        }
    }
    // Which limit wins where they cross depends on their order.
    (low <= high).then_some((low, high))
}

/// A limit that is a number.
fn number(word: u32) -> Option<f32> {
    let number = f32::from_bits(word);
    (!number.is_nan()).then_some(number)
}
