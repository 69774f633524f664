//! Machine code made ready to run: decoded once, operands resolved, branches turned into step numbers.
//!
//! `discover` follows the code from its entry, `meaning` says what each operation is, `scalars`, `vectors` and `memory`
//! turn instructions into the `step`s that the engine runs.

#![expect(unsafe_code, reason = "steps are looked up without a second check; constants are shared between threads")]

mod constants;
mod discover;
mod meaning;
mod memory;
mod modifiers;
mod scalars;
pub(crate) mod slow;
pub(crate) mod step;
mod variants;
mod vectors;

use std::sync::Arc;

use roci_isa::{Chip, Instruction, Op, WaveSize};

use crate::fault::Fault;
use crate::lanes::Level;
use crate::row::Row;
use constants::Constants;
pub(crate) use meaning::Class;
use meaning::Meaning;
pub(crate) use step::Step;

/// The executable bytes of a loaded code object.
#[derive(Debug)]
pub struct Code {
    /// The address of the first byte.
    pub base: u64,
    /// The bytes.
    pub bytes: Box<[u8]>,
}

impl Code {
    /// The bytes from an address on.
    pub(crate) fn at(&self, address: u64) -> Option<&[u8]> {
        let offset = usize::try_from(address.checked_sub(self.base)?).ok()?;
        self.bytes.get(offset..).filter(|rest| !rest.is_empty())
    }
}

/// How a program is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) chip: Chip,
    pub(crate) wave: WaveSize,
    /// Vector registers that the kernel asked for.
    pub(crate) registers: u16,
    /// Keep every instruction as a step of its own, also those that do nothing.
    pub(crate) keep_all: bool,
}

/// Where a step comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// The instruction's distance from the first byte of the code.
    pub(crate) offset: u32,
    /// Bytes of the instruction.
    pub(crate) size: u8,
    /// What it counts as.
    pub(crate) class: Class,
    /// Instructions that it stands for: itself (none for the second half of a pair), and those before it that do nothing.
    pub(crate) instructions: u8,
}

/// A program.
pub(crate) struct Program {
    code: Arc<Code>,
    target: Target,
    steps: Vec<Step>,
    origins: Vec<Origin>,
    constants: Constants,
    /// By word of the code: the step of the instruction that begins there, or `NONE`.
    indices: Vec<u32>,
}

const NONE: u32 = u32::MAX;

impl Program {
    /// The program that begins at these addresses. With more entries at the end the steps of the first ones stay the same.
    pub(crate) fn new(code: &Arc<Code>, target: Target, level: Level, entries: &[u64]) -> Self {
        let mut discovery = discover::Discovery::new(code, &target);
        let words = code.bytes.len().div_ceil(4);
        let mut builder = Builder {
            program: Self {
                code: Arc::clone(code),
                target,
                steps: Vec::new(),
                origins: Vec::new(),
                constants: Constants::new(),
                indices: vec![NONE; words],
            },
            level,
            branches: Vec::new(),
            pending: 0,
            current: Origin { offset: 0, size: 0, class: Class::Scalar, instructions: 0 },
        };
        for &entry in entries {
            let found = discovery.follow(entry);
            builder.emit(&found, &discovery);
        }
        builder.link();
        builder.program
    }

    /// What was asked for.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// The step of a number.
    ///
    /// # Safety
    /// There is one: it is a branch target, an entry or the one after a step that goes on.
    #[inline(always)]
    pub(crate) unsafe fn step(&self, index: u32) -> &Step {
        debug_assert!((index as usize) < self.steps.len(), "step {index} of {}", self.steps.len());
        // SAFETY: the caller's promise.
        unsafe { self.steps.get_unchecked(index as usize) }
    }

    /// The step of a number, if there is one.
    pub(crate) fn step_at(&self, index: u32) -> Option<&Step> {
        self.steps.get(index as usize)
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The rows of constants.
    #[inline(always)]
    pub(crate) fn constants(&self) -> *const Row {
        self.constants.rows()
    }

    /// Where a step comes from.
    pub(crate) fn origin(&self, index: u32) -> &Origin {
        &self.origins[index as usize]
    }

    /// The address of a step's instruction.
    pub(crate) fn pc(&self, index: u32) -> u64 {
        self.code.base + u64::from(self.origin(index).offset)
    }

    /// Bytes of a step's instruction.
    pub(crate) fn size(&self, index: u32) -> u8 {
        self.origin(index).size
    }

    /// The step of the instruction at an address.
    pub(crate) fn index(&self, address: u64) -> Option<u32> {
        let offset = address.checked_sub(self.code.base)?;
        if offset % 4 != 0 {
            return None;
        }
        let index = *self.indices.get(usize::try_from(offset / 4).ok()?)?;
        (index != NONE).then_some(index)
    }

    /// The instruction of a step as text.
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

    /// The decoded instruction of a step.
    pub(crate) fn instruction(&self, index: u32) -> Option<Instruction> {
        let bytes = self.code.at(self.pc(index))?;
        roci_isa::decode(self.target.chip, self.target.wave, bytes).ok()
    }
}

/// A program in the making.
struct Builder {
    program: Program,
    level: Level,
    /// Steps that jump, and the address they jump to.
    branches: Vec<(usize, u64)>,
    /// Instructions that do nothing since the last step.
    pending: u8,
    current: Origin,
}

impl Builder {
    /// Turns instructions into steps, run by run.
    fn emit(&mut self, found: &discover::Found, discovery: &discover::Discovery<'_>) {
        self.program.steps.reserve(found.len() + 8);
        self.program.origins.reserve(found.len() + 8);
        for run in found.runs() {
            for &(offset, decoded) in run {
                self.instruction(offset, decoded, discovery.is_target(offset));
            }
            let (offset, decoded) = run[run.len() - 1];
            self.end_of_run(after(offset, decoded));
        }
        // Who jumps into earlier code has not passed what was pending there, and the steps there must stay: waves have their
        // place in them. So the instruction gets a step of its own that goes on there.
        for &late in &found.late {
            let merged = self.program.index(self.program.code.base + u64::from(late.0));
            if merged.is_none_or(|step| self.program.origin(step).instructions <= 1) {
                continue;
            }
            let (mut offset, mut decoded) = late;
            loop {
                self.instruction(offset, decoded, false);
                let next = after(offset, decoded);
                match discovery.decode(next) {
                    Some(found) if self.pending > 0 => (offset, decoded) = found,
                    _ => break self.end_of_run(next),
                }
            }
        }
    }

    /// Points branches to their targets.
    fn link(&mut self) {
        for (step, address) in std::mem::take(&mut self.branches) {
            let target = self.program.index(address);
            match (&mut self.program.steps[step], target) {
                (Step::Jump(to) | Step::Branch(_, to), Some(target)) => *to = target,
                (step, _) => *step = Step::Fault(Box::new(Fault::OutsideCode { address })),
            }
        }
    }

    /// What follows the last instruction of a run: code that was found before, or nothing.
    fn end_of_run(&mut self, after: u64) {
        let address = self.program.code.base + after;
        self.current = Origin { offset: after as u32, size: 0, class: Class::Control, instructions: 0 };
        match self.program.index(address) {
            Some(target) => self.push(Step::Jump(target)),
            None => self.push(Step::Fault(Box::new(Fault::OutsideCode { address }))),
        }
    }

    fn instruction(&mut self, offset: u32, decoded: Option<Instruction>, target: bool) {
        let size = decoded.map_or(4, |instruction| instruction.size);
        let meaning = decoded.map(|instruction| meaning::of(instruction.op));
        let class = meaning.as_ref().map_or(Class::Control, |meaning| meaning.class());
        if target && self.pending > 0 {
            // Who jumps here has not passed what is pending.
            let pending = self.pending;
            self.pending = 0;
            self.current.instructions = pending;
            self.current.class = Class::Control;
            self.push_raw(Step::Nop);
        }
        self.current = Origin { offset, size, class, instructions: 1 };
        self.program.indices[offset as usize / 4] = self.program.steps.len() as u32;
        let (Some(instruction), Some(meaning)) = (decoded, meaning) else {
            let bytes = self.program.code.bytes.get(offset as usize..).unwrap_or_default();
            let fault = match roci_isa::decode(self.program.target.chip, self.program.target.wave, bytes) {
                // The chip has it.
                Err(roci_isa::DecodeError::Graphics { .. }) => Fault::Unimplemented,
                _ => Fault::IllegalInstruction,
            };
            return self.push(Step::Fault(Box::new(fault)));
        };
        match self.lower(&instruction, meaning) {
            Ok(()) => {}
            Err(fault) => self.push(Step::Fault(Box::new(fault))),
        }
    }

    fn lower(&mut self, instruction: &Instruction, meaning: &Meaning) -> Result<(), Fault> {
        match meaning {
            Meaning::Nothing => {
                if self.program.target.keep_all || self.pending >= 200 {
                    self.push(Step::Nop);
                } else {
                    self.pending += 1;
                }
                Ok(())
            }
            Meaning::Control(control) => self.control(instruction, *control),
            Meaning::Scalar(scalar) => self.scalar(instruction, *scalar),
            Meaning::ScalarLoad { dwords, buffer } => self.scalar_load(instruction, *dwords, *buffer),
            Meaning::ScalarWrite { access, buffer } => self.scalar_write(instruction, *access, *buffer),
            Meaning::Lanes(op) => self.vector(instruction, op),
            Meaning::CrossLane(kind) => self.cross_lane(instruction, *kind),
            Meaning::Memory(access) => self.memory(instruction, *access),
            Meaning::Lds(kind) => self.lds(instruction, *kind),
            Meaning::GridSync { barrier } => self.grid_sync(instruction, *barrier),
            Meaning::Unknown => Err(Fault::Unimplemented),
        }
    }

    /// Adds a step for the current instruction, and for those before it that do nothing.
    fn push(&mut self, step: Step) {
        self.current.instructions += self.pending;
        self.pending = 0;
        self.push_raw(step);
        self.current.instructions = 0;
    }

    fn push_raw(&mut self, step: Step) {
        self.program.steps.push(step);
        self.program.origins.push(self.current);
    }

    /// The first row of a vector register operand of so many rows.
    fn register(&self, register: u8, rows: usize) -> Result<u16, Fault> {
        let last = u32::from(register) + rows.max(1) as u32 - 1;
        let allocated = u32::from(self.program.target.registers);
        if last >= allocated {
            return Err(Fault::RegisterBeyondAllocation { register: last, allocated });
        }
        Ok(u16::from(register))
    }
}

/// The offset behind an instruction.
fn after(offset: u32, decoded: Option<Instruction>) -> u64 {
    u64::from(offset) + decoded.map_or(4, |instruction| u64::from(instruction.size))
}

/// The operation's place in a table of all of them.
fn number(op: Op) -> usize {
    op as usize
}
