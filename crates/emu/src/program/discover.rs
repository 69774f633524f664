//! Follows code from its entries to all instructions that can be reached by branches.

use roci_isa::{Fields, Instruction, decode};

use crate::program::meaning::{self, Control, Meaning};
use crate::program::{Code, Target};

/// An instruction at an offset; `None` if the bytes there are none.
pub(super) type Decoded = (u32, Option<Instruction>);

/// The instructions found from one entry that were not found from those before it.
pub(super) struct Found {
    /// Straight runs: each instruction follows the one before it.
    instructions: Vec<Decoded>,
    /// Where runs end in `instructions`.
    ends: Vec<usize>,
    /// Where something jumps into what was found before, though nothing had.
    pub(super) late: Vec<Decoded>,
}

/// Follows code from one entry after the other.
pub(super) struct Discovery<'a> {
    code: &'a Code,
    target: &'a Target,
    /// By word: an instruction begins here that was found.
    seen: Vec<bool>,
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
}

impl<'a> Discovery<'a> {
    pub(super) fn new(code: &'a Code, target: &'a Target) -> Self {
        let words = code.bytes.len().div_ceil(4);
        Self { code, target, seen: vec![false; words], targets: vec![false; words] }
    }

    pub(super) fn is_target(&self, offset: u32) -> bool {
        self.targets[offset as usize / 4]
    }

    /// What begins at an offset, if it lies inside the code.
    pub(super) fn decode(&self, offset: u64) -> Option<Decoded> {
        let bytes = self.code.bytes.get(usize::try_from(offset).ok()?..).filter(|bytes| !bytes.is_empty())?;
        Some((offset as u32, decode(self.target.chip, self.target.wave, bytes).ok()))
    }

    /// Finds all instructions that branches lead to from an entry.
    pub(super) fn follow(&mut self, entry: u64) -> Found {
        let mut found = Found { instructions: Vec::new(), ends: Vec::new(), late: Vec::new() };
        let before = self.seen.clone();
        let mut open = vec![entry];
        while let Some(start) = open.pop() {
            let Some(mut offset) = start.checked_sub(self.code.base).filter(|offset| offset % 4 == 0) else { continue };
            let Some(&is_target) = self.targets.get(offset as usize / 4) else { continue };
            if before[offset as usize / 4] && !is_target {
                found.late.extend(self.decode(offset));
            }
            self.targets[offset as usize / 4] = true;
            let first = found.instructions.len();
            while self.seen.get(offset as usize / 4) == Some(&false)
                && let Some(decoded) = self.decode(offset)
            {
                self.seen[offset as usize / 4] = true;
                found.instructions.push(decoded);
                let Some(instruction) = decoded.1 else { break };
                offset += u64::from(instruction.size);
                let next = self.code.base + offset;
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
