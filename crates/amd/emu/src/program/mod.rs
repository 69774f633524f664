//! Decoded programs: machine code lowered to micro-ops, with operands and branch targets resolved.
//!
//! `discover` finds the code reachable from the entry points, `semantics` says what each operation
//! does, and `scalars`, `vectors` and `memory` lower instructions to the micro-ops in `micro_op`.

#![expect(unsafe_code, reason = "micro-ops are indexed without bounds checks; constants are shared between threads")]

mod constants;
mod discover;
mod memory;
pub(crate) mod micro_op;
mod modifiers;
mod scalars;
mod semantics;
pub(crate) mod slow;
mod variants;
mod vectors;

use std::sync::Arc;

use roci_isa::{Chip, Instruction, Op, WaveSize};

use crate::fault::Fault;
use crate::lanes::Level;
use crate::row::Row;
use constants::Constants;
pub(crate) use micro_op::MicroOp;
pub(crate) use semantics::InstructionClass;
use semantics::Semantics;

/// The executable bytes of a loaded code object.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoadedCode {
    /// Address of the first byte.
    pub base: u64,
    /// Machine code.
    pub bytes: Box<[u8]>,
}

impl LoadedCode {
    /// The code from an address on.
    pub(crate) fn at(&self, address: u64) -> Option<&[u8]> {
        let offset = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(offset..).filter(|rest| !rest.is_empty())
    }
}

/// What decoded micro-ops depend on, besides the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DecodeOptions {
    pub(crate) chip: Chip,
    pub(crate) wave: WaveSize,
    /// VGPRs allocated to the kernel.
    pub(crate) registers: u16,
    /// Keep every instruction as a micro-op of its own, including those without effect.
    pub(crate) keep_all: bool,
}

/// The instruction that a micro-op comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MicroOpOrigin {
    /// Offset of the instruction in the code.
    pub(crate) offset: u32,
    /// Size of the instruction in bytes.
    pub(crate) size: u8,
    /// Class for statistics.
    pub(crate) class: InstructionClass,
    /// Number of instructions it counts for: its own (0 for the second half of a pair), plus
    /// preceding ones without effect.
    pub(crate) instructions: u8,
}

/// A kernel lowered to micro-ops.
pub(crate) struct DecodedProgram {
    code: Arc<LoadedCode>,
    target: DecodeOptions,
    uops: Vec<MicroOp>,
    origins: Vec<MicroOpOrigin>,
    constants: Constants,
    /// By word of the code: index of the instruction's micro-op, or `NONE`.
    indices: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl DecodedProgram {
    /// Decodes the code reachable from the entry points. Appending entry points does not change
    /// existing indices.
    pub(crate) fn new(code: &Arc<LoadedCode>, target: DecodeOptions, level: Level, entries: &[u64]) -> Self {
        let mut discovery = discover::Discovery::new(code, &target);
        let words = code.bytes.len().div_ceil(4);
        let mut builder = ProgramBuilder {
            program: Self {
                code: Arc::clone(code),
                target,
                uops: Vec::new(),
                origins: Vec::new(),
                constants: Constants::new(),
                indices: vec![NONE; words],
            },
            level,
            branches: Vec::new(),
            pending: 0,
            current: MicroOpOrigin { offset: 0, size: 0, class: InstructionClass::Scalar, instructions: 0 },
        };
        for &entry in entries {
            let discovered = discovery.follow(entry);
            builder.emit(&discovered, &discovery);
        }
        builder.link();
        builder.program
    }

    /// Parameters it was decoded with.
    pub(crate) fn target(&self) -> &DecodeOptions {
        &self.target
    }

    /// The micro-op at an index.
    ///
    /// # Safety
    /// The index is valid: a branch target, an entry point or the successor of a micro-op that
    /// continues.
    #[inline(always)]
    pub(crate) unsafe fn uop(&self, index: u32) -> &MicroOp {
        debug_assert!((index as usize) < self.uops.len(), "uop {index} of {}", self.uops.len());
        // SAFETY: valid by contract.
        unsafe { self.uops.get_unchecked(index as usize) }
    }

    /// The micro-op at an index, if it exists.
    pub(crate) fn uop_at(&self, index: u32) -> Option<&MicroOp> {
        self.uops.get(index as usize)
    }

    /// Number of micro-ops.
    pub(crate) fn len(&self) -> usize {
        self.uops.len()
    }

    #[inline(always)]
    pub(crate) fn constants(&self) -> *const Row {
        self.constants.rows()
    }

    /// The instruction that a micro-op comes from.
    pub(crate) fn origin(&self, index: u32) -> &MicroOpOrigin {
        &self.origins[index as usize]
    }

    /// Address of the micro-op's instruction.
    pub(crate) fn pc(&self, index: u32) -> u64 {
        self.code.base + u64::from(self.origin(index).offset)
    }

    /// Size of the micro-op's instruction in bytes.
    pub(crate) fn size(&self, index: u32) -> u8 {
        self.origin(index).size
    }

    /// Index of the micro-op for the instruction at an address.
    pub(crate) fn index(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.code.base)?;
        if offset % 4 != 0 {
            return None;
        }
        let index = *self.indices.get(usize::try_from(offset / 4).ok()?)?;
        (index != NONE).then_some(index)
    }

    /// Text of the micro-op's instruction.
    pub(crate) fn text(&self, index: u32) -> String {
        let bytes = self.code.at(self.pc(index)).unwrap_or_default();
        match roci_isa::decode(self.target.chip, self.target.wave, bytes) {
            Ok(instruction) => instruction.text(self.target.chip, self.target.wave),
            Err(_) => {
                let word = bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                format!(".long {word:#010x}")
            }
        }
    }

    /// The micro-op's instruction, decoded again.
    pub(crate) fn instruction(&self, index: u32) -> Option<Instruction> {
        let bytes = self.code.at(self.pc(index))?;
        roci_isa::decode(self.target.chip, self.target.wave, bytes).ok()
    }
}

/// Builds a program.
struct ProgramBuilder {
    program: DecodedProgram,
    level: Level,
    /// Micro-ops that branch, with their target addresses.
    branches: Vec<(usize, u64)>,
    /// Instructions without effect since the last micro-op.
    pending: u8,
    current: MicroOpOrigin,
}

impl ProgramBuilder {
    /// Lowers discovered code, run by run.
    fn emit(&mut self, discovered: &discover::DiscoveredCode, discovery: &discover::Discovery<'_>) {
        self.program.uops.reserve(discovered.len() + 8);
        self.program.origins.reserve(discovered.len() + 8);
        for run in discovered.runs() {
            for &(offset, decoded) in run {
                self.instruction(offset, decoded, discovery.is_target(offset));
            }
            let (offset, decoded) = run[run.len() - 1];
            self.end_of_run(after(offset, decoded));
        }
        // A jump to the middle of earlier code skips the instructions without effect that were
        // merged into its micro-op. Waves refer to existing micro-ops, which must stay, so the
        // instruction gets a second micro-op that continues there.
        for &late in &discovered.late {
            let merged = self.program.index(self.program.code.base + u64::from(late.0));
            if merged.is_none_or(|uop| self.program.origin(uop).instructions <= 1) {
                continue;
            }
            let (mut offset, mut decoded) = late;
            loop {
                self.instruction(offset, decoded, false);
                let next = after(offset, decoded);
                match discovery.decode(next) {
                    Some(discovered) if self.pending > 0 => (offset, decoded) = discovered,
                    _ => break self.end_of_run(next),
                }
            }
        }
    }

    /// Resolves branch targets.
    fn link(&mut self) {
        for (uop, address) in std::mem::take(&mut self.branches) {
            let target = self.program.index(address);
            match (&mut self.program.uops[uop], target) {
                (MicroOp::Jump(to) | MicroOp::Branch(_, to), Some(target)) => *to = target,
                (uop, _) => *uop = MicroOp::Fault(Box::new(Fault::OutsideCode { address })),
            }
        }
    }

    /// Ends a run: continues with code that is already lowered, or faults.
    fn end_of_run(&mut self, after: u64) {
        let address = self.program.code.base + after;
        self.current =
            MicroOpOrigin { offset: after as u32, size: 0, class: InstructionClass::Control, instructions: 0 };
        match self.program.index(address) {
            Some(target) => self.push(MicroOp::Jump(target)),
            None => self.push(MicroOp::Fault(Box::new(Fault::OutsideCode { address }))),
        }
    }

    fn instruction(&mut self, offset: u32, decoded: Option<Instruction>, target: bool) {
        let size = decoded.map_or(4, |instruction| instruction.size);
        let semantics = decoded.map(|instruction| semantics::of(instruction.op));
        let class = semantics.as_ref().map_or(InstructionClass::Control, |semantics| semantics.class());
        if target && self.pending > 0 {
            // A jump to this instruction skips the pending ones.
            let pending = self.pending;
            self.pending = 0;
            self.current.instructions = pending;
            self.current.class = InstructionClass::Control;
            self.push_raw(MicroOp::Nop);
        }
        self.current = MicroOpOrigin { offset, size, class, instructions: 1 };
        self.program.indices[offset as usize / 4] = self.program.uops.len() as u32;
        let (Some(instruction), Some(semantics)) = (decoded, semantics) else {
            let bytes = self.program.code.bytes.get(offset as usize..).unwrap_or_default();
            let fault = match roci_isa::decode(self.program.target.chip, self.program.target.wave, bytes) {
                // The chip has the instruction.
                Err(roci_isa::DecodeError::Graphics { .. }) => Fault::Unimplemented,
                _ => Fault::IllegalInstruction,
            };
            return self.push(MicroOp::Fault(Box::new(fault)));
        };
        match self.lower(&instruction, semantics) {
            Ok(()) => {}
            Err(fault) => self.push(MicroOp::Fault(Box::new(fault))),
        }
    }

    fn lower(&mut self, instruction: &Instruction, semantics: &Semantics) -> Result<(), Fault> {
        match semantics {
            Semantics::Nothing => {
                if self.program.target.keep_all || self.pending >= 200 {
                    self.push(MicroOp::Nop);
                } else {
                    self.pending += 1;
                }
                Ok(())
            }
            Semantics::Control(control) => self.control(instruction, *control),
            Semantics::Scalar(scalar) => self.scalar(instruction, *scalar),
            Semantics::ScalarLoad { dwords, buffer } => self.scalar_load(instruction, *dwords, *buffer),
            Semantics::ScalarWrite { access, buffer } => self.scalar_write(instruction, *access, *buffer),
            Semantics::Lanes(op) => self.vector(instruction, op),
            Semantics::CrossLane(kind) => self.cross_lane(instruction, *kind),
            Semantics::Memory(access) => self.memory(instruction, *access),
            Semantics::Lds(kind) => self.lds(instruction, *kind),
            Semantics::GridSync { barrier } => self.grid_sync(instruction, *barrier),
            Semantics::Unknown => Err(Fault::Unimplemented),
        }
    }

    /// Adds a micro-op for the current instruction and the pending ones without effect.
    fn push(&mut self, uop: MicroOp) {
        self.current.instructions += self.pending;
        self.pending = 0;
        self.push_raw(uop);
        self.current.instructions = 0;
    }

    fn push_raw(&mut self, uop: MicroOp) {
        self.program.uops.push(uop);
        self.program.origins.push(self.current);
    }

    /// First row of a VGPR operand of this many rows.
    fn register(&self, register: u8, rows: usize) -> Result<u16, Fault> {
        let last = u32::from(register) + rows.max(1) as u32 - 1;
        let allocated = u32::from(self.program.target.registers);
        if last >= allocated {
            return Err(Fault::RegisterBeyondAllocation { register: last, allocated });
        }
        Ok(u16::from(register))
    }
}

/// Offset of the next instruction.
fn after(offset: u32, decoded: Option<Instruction>) -> u64 {
    u64::from(offset) + decoded.map_or(4, |instruction| u64::from(instruction.size))
}

/// Index of an operation in a table of all operations.
fn number(op: Op) -> usize {
    op as usize
}
