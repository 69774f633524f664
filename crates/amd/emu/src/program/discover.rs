//! Finds all instructions that are reachable from the entry points through branches.

use roci_isa::{Fields, Instruction, decode};

use crate::program::semantics::{self, ControlOp, Semantics};
use crate::program::{DecodeOptions, LoadedCode};

/// Offset and instruction; `None` if the bytes are not an instruction.
pub(super) type DecodedInstruction = (u32, Option<Instruction>);

/// Instructions discovered from one entry point but not from earlier ones.
pub(super) struct DiscoveredCode {
    /// Straight-line runs, one after the other.
    instructions: Vec<DecodedInstruction>,
    /// End indices of the runs.
    ends: Vec<usize>,
    /// Instructions of earlier runs that are now branch targets.
    pub(super) late: Vec<DecodedInstruction>,
}

/// Discovers code from one entry point after another.
pub(super) struct Discovery<'a> {
    code: &'a LoadedCode,
    target: &'a DecodeOptions,
    /// By word: an instruction that was discovered begins here.
    seen: Vec<bool>,
    /// By word: a branch target.
    targets: Vec<bool>,
}

impl DiscoveredCode {
    pub(super) fn len(&self) -> usize {
        self.instructions.len()
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = &[DecodedInstruction]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(self.ends.iter().copied()).map(|(start, end)| &self.instructions[start..end])
    }
}

impl<'a> Discovery<'a> {
    pub(super) fn new(code: &'a LoadedCode, target: &'a DecodeOptions) -> Self {
        let words = code.bytes.len().div_ceil(4);
        Self { code, target, seen: vec![false; words], targets: vec![false; words] }
    }

    pub(super) fn is_target(&self, offset: u32) -> bool {
        self.targets[offset as usize / 4]
    }

    /// Decodes the instruction at an offset; `None` outside the code.
    pub(super) fn decode(&self, offset: u64) -> Option<DecodedInstruction> {
        let bytes = self.code.bytes.get(usize::try_from(offset).ok()?..).filter(|bytes| !bytes.is_empty())?;
        Some((offset as u32, decode(self.target.chip, self.target.wave, bytes).ok()))
    }

    /// Discovers all instructions reachable from an entry point.
    pub(super) fn follow(&mut self, entry: u64) -> DiscoveredCode {
        let mut found = DiscoveredCode { instructions: Vec::new(), ends: Vec::new(), late: Vec::new() };
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
                    ControlFlow::On => {}
                    ControlFlow::End => break,
                    ControlFlow::Branch(distance) => open.push(next.wrapping_add_signed(distance)),
                    ControlFlow::Jump(distance) => {
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

/// Control flow after an instruction.
enum ControlFlow {
    On,
    End,
    /// Conditional: continues, or jumps by a distance relative to the next instruction.
    Branch(i64),
    Jump(i64),
}

fn flow(instruction: &Instruction) -> ControlFlow {
    let Fields::Scalar { simm, .. } = instruction.fields else { return ControlFlow::On };
    let distance = 4 * i64::from(simm.cast_signed());
    match semantics::of(instruction.op) {
        Semantics::Control(ControlOp::End) => ControlFlow::End,
        Semantics::Control(ControlOp::Jump) => ControlFlow::Jump(distance),
        Semantics::Control(ControlOp::Branch(_)) => ControlFlow::Branch(distance),
        Semantics::Scalar(crate::scalar::ScalarSemantics::Special(crate::scalar::SpecialKind::SetPc)) => {
            ControlFlow::End
        }
        Semantics::Scalar(crate::scalar::ScalarSemantics::Special(crate::scalar::SpecialKind::Call)) => {
            ControlFlow::Branch(distance)
        }
        _ => ControlFlow::On,
    }
}
