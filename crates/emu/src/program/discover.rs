//! Follows code from its entries to all instructions that can be reached by branches.

use roci_isa::{Fields, Instruction, decode};

use crate::program::meaning::{self, Control, Meaning};
use crate::program::{Code, Target};

/// An instruction at an offset; `None` if the bytes there are none.
pub(super) type Decoded = (u32, Option<Instruction>);

/// The instructions found.
pub(super) struct Found {
    /// Straight runs: each instruction follows the one before it.
    instructions: Vec<Decoded>,
    /// Where runs end in `instructions`.
    ends: Vec<usize>,
    /// By word: something jumps here.
    targets: Vec<bool>,
}

impl Found {
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &[Decoded]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter().copied()).map(|(start, end)| &self.instructions[start..end])
    }

    pub(super) fn is_target(&self, offset: u32) -> bool {
        self.targets[offset as usize / 4]
    }
}

/// Finds all instructions that branches lead to from the entries.
pub(super) fn discover(code: &Code, target: &Target, entries: &[u64]) -> Found {
    let words = code.bytes.len().div_ceil(4);
    let mut found = Found { instructions: Vec::new(), ends: Vec::new(), targets: vec![false; words] };
    let mut seen = vec![false; words];
    let mut open: Vec<u64> = entries.iter().rev().copied().collect();
    while let Some(start) = open.pop() {
        let Some(mut offset) = start.checked_sub(code.base).filter(|offset| offset % 4 == 0) else { continue };
        if offset >= code.bytes.len() as u64 {
            continue;
        }
        found.targets[offset as usize / 4] = true;
        let first = found.instructions.len();
        while (offset as usize) < code.bytes.len() && !seen[offset as usize / 4] {
            seen[offset as usize / 4] = true;
            let decoded = decode(target.chip, target.wave, &code.bytes[offset as usize..]).ok();
            found.instructions.push((offset as u32, decoded));
            let Some(instruction) = decoded else { break };
            offset += u64::from(instruction.size);
            let next = code.base + offset;
            match flow(&instruction) {
                Flow::On => {}
                Flow::End => break,
                Flow::Branch(distance) => open.push(next.wrapping_add_signed(distance)),
                Flow::Jump(distance) => {
                    open.push(next.wrapping_add_signed(distance));
                    break;
                }
            }
        }
        if found.instructions.len() > first {
            found.ends.push(found.instructions.len());
        }
    }
    found
}

/// Where code goes after an instruction.
enum Flow {
    On,
    End,
    /// On, or elsewhere, so far from the next instruction.
    Branch(i64),
    Jump(i64),
}

fn flow(instruction: &Instruction) -> Flow {
    let Fields::Scalar { simm, .. } = instruction.fields else { return Flow::On };
    let distance = 4 * i64::from(simm.cast_signed());
    match meaning::of(instruction.op) {
        Meaning::Control(Control::End) => Flow::End,
        Meaning::Control(Control::Jump) => Flow::Jump(distance),
        Meaning::Control(Control::Branch(_)) => Flow::Branch(distance),
        Meaning::Scalar(crate::scalar::ScalarMeaning::Special(crate::scalar::Special::SetPc)) => Flow::End,
        Meaning::Scalar(crate::scalar::ScalarMeaning::Special(crate::scalar::Special::Call)) => Flow::Branch(distance),
        _ => Flow::On,
    }
}
