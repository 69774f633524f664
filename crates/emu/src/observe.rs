//! Runs waves one instruction at a time for those who look at each: traces and checks.
//!
//! The fast path has no hook for this. A watched run uses a program that keeps every instruction as a step, and this loop.

#![expect(unsafe_code, reason = "steps are looked up without a second check")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roci_isa::{Instruction, Register};

use crate::check::{Checks, GroupChecks};
use crate::engine::{Exit, Machine};
use crate::fault::Fault;
use crate::launch::Launch;
use crate::program::Program;
use crate::wave::Wave;

/// Looks at the instructions that waves run, from any thread.
pub trait Observer: Sync {
    /// Whether it looks at waves of this workgroup.
    fn wants_group(&self, workgroup: [u32; 3]) -> bool;

    /// Whether it looks at this instruction, so far from the kernel's entry, in this wave of the group.
    fn wants(&self, wave: u32, offset: u64) -> bool;

    /// An instruction has run. `Break` ends the dispatch as if it had been told to stop.
    fn executed(&self, executed: &Executed<'_>) -> ControlFlow<()>;
}

/// An instruction that a wave has run.
#[derive(Debug)]
pub struct Executed<'a> {
    /// The workgroup.
    pub workgroup: [u32; 3],
    /// The wave's number in the workgroup.
    pub wave: u32,
    /// The address of the instruction.
    pub pc: u64,
    /// Its distance from the kernel's entry.
    pub offset: u64,
    /// The instruction as text.
    pub text: &'a str,
    /// Which lanes were on when it began.
    pub exec: u64,
    /// Registers that it read, with their values before it ran.
    pub reads: &'a [RegisterValue],
    /// Registers that it wrote, with their values after it.
    pub writes: &'a [RegisterValue],
}

/// A register of 32 bits and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterValue {
    /// The register.
    pub register: Register,
    /// One value, or one a lane of a vector register.
    pub values: Vec<u32>,
}

/// The name of a register as in assembly.
pub fn register_name(register: Register) -> String {
    match register {
        Register::Vector(number) => format!("v{number}"),
        Register::Scalar(number @ 0..=105) => format!("s{number}"),
        Register::Scalar(106) => "vcc_lo".to_owned(),
        Register::Scalar(107) => "vcc_hi".to_owned(),
        Register::Scalar(125) => "m0".to_owned(),
        Register::Scalar(126) => "exec_lo".to_owned(),
        Register::Scalar(127) => "exec_hi".to_owned(),
        Register::Scalar(number) => format!("ttmp{}", number.saturating_sub(108)),
        Register::Scc => "scc".to_owned(),
    }
}

/// What a watched dispatch has for all its groups.
pub(crate) struct Watch<'a> {
    checks: Checks,
    observer: Option<&'a dyn Observer>,
    entry: u64,
    /// The observer has seen enough.
    enough: AtomicBool,
}

impl<'a> Watch<'a> {
    /// Nothing to watch for: `None`.
    pub(crate) fn new(checks: Checks, observer: Option<&'a dyn Observer>, entry: u64) -> Option<Self> {
        (checks.any() || observer.is_some()).then_some(Self { checks, observer, entry, enough: AtomicBool::new(false) })
    }

    /// Whether the observer has seen enough: the dispatch is to stop.
    pub(crate) fn has_enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }

    /// What watches one group, if anything does.
    pub(crate) fn group(&self, workgroup: [u32; 3], launch: &Launch, waves: &[Wave]) -> Option<GroupWatch<'_>> {
        let observed = self.observer.is_some_and(|observer| observer.wants_group(workgroup));
        let checks = self.checks.any().then(|| GroupChecks::new(self.checks, launch, waves));
        (observed || checks.is_some()).then(|| GroupWatch {
            watch: self,
            workgroup,
            observed,
            checks,
            instructions: Vec::new(),
        })
    }
}

/// What watches one group.
pub(crate) struct GroupWatch<'a> {
    watch: &'a Watch<'a>,
    workgroup: [u32; 3],
    observed: bool,
    checks: Option<GroupChecks>,
    /// By step: the instructions seen so far.
    instructions: Vec<Option<Arc<Decoded>>>,
}

/// An instruction as watchers want it.
pub(crate) struct Decoded {
    pub(crate) instruction: Instruction,
    pub(crate) accesses: Vec<roci_isa::Access>,
    pub(crate) text: String,
}

impl GroupWatch<'_> {
    /// All waves have come to a barrier and go on.
    pub(crate) fn barrier(&mut self) {
        if let Some(checks) = &mut self.checks {
            checks.barrier();
        }
    }

    fn decoded(&mut self, program: &Program, index: u32) -> Option<Arc<Decoded>> {
        let at = index as usize;
        if self.instructions.len() <= at {
            self.instructions.resize(program.len(), None);
        }
        if self.instructions[at].is_none() {
            let instruction = program.instruction(index)?;
            let accesses = instruction.accesses(program.target().wave);
            self.instructions[at] = Some(Arc::new(Decoded { instruction, accesses, text: program.text(index) }));
        }
        self.instructions[at].clone()
    }

    /// Shows an instruction that has run to the observer.
    fn show(&self, machine: &Machine<'_>, index: u32, decoded: &Decoded, before: &Before) -> ControlFlow<()> {
        let Some(observer) = self.watch.observer else { return ControlFlow::Continue(()) };
        let pc = machine.program.pc(index);
        let executed = Executed {
            workgroup: self.workgroup,
            wave: machine.wave.number,
            pc,
            offset: pc.wrapping_sub(self.watch.entry),
            text: &decoded.text,
            exec: before.exec,
            reads: &before.reads,
            writes: &values(machine.wave, decoded, true),
        };
        observer.executed(&executed)
    }

    fn shown(&self, machine: &Machine<'_>, index: u32) -> bool {
        let offset = machine.program.pc(index).wrapping_sub(self.watch.entry);
        self.observed && self.watch.observer.is_some_and(|observer| observer.wants(machine.wave.number, offset))
    }
}

/// The state before an instruction.
struct Before {
    exec: u64,
    reads: Vec<RegisterValue>,
}

/// The registers that an instruction reads, or writes.
fn values(wave: &Wave, decoded: &Decoded, written: bool) -> Vec<RegisterValue> {
    let mut values = Vec::new();
    for access in decoded.accesses.iter().filter(|access| access.write == written) {
        for word in 0..usize::from(access.words) {
            let (register, held) = match access.register {
                Register::Scc => (Register::Scc, vec![u32::from(wave.scc)]),
                Register::Scalar(first) => {
                    let number = usize::from(first) + word;
                    (Register::Scalar(number as u8), vec![wave.scalars[number]])
                }
                Register::Vector(first) => {
                    let number = usize::from(first) + word;
                    if number >= wave.registers {
                        continue;
                    }
                    let lanes = (0..wave.halves).flat_map(|half| wave.row(half, number).array());
                    (Register::Vector(number as u8), lanes.collect())
                }
            };
            values.push(RegisterValue { register, values: held });
        }
    }
    values
}

impl Machine<'_> {
    /// Runs the wave until it stops, and lets `watch` look at every instruction.
    pub(crate) fn run_watched(&mut self, watch: &mut GroupWatch<'_>) -> Exit {
        let program = self.program;
        // The state before an instruction of which steps are still to come: a pair is two.
        let mut open: Option<Before> = None;
        loop {
            let index = self.wave.next;
            // What only leads on to other code has no size.
            let is_instruction = program.size(index) > 0;
            let decoded = if is_instruction { watch.decoded(program, index) } else { None };
            if let Some(decoded) = &decoded {
                if let Some(checks) = &mut watch.checks
                    && let Err(message) = checks.before(self, index, decoded, open.is_none())
                {
                    self.wave.next = index + 1;
                    return self.fault(Fault::Check(message));
                }
                if open.is_none() {
                    let reads = if watch.shown(self, index) { values(self.wave, decoded, false) } else { Vec::new() };
                    open = Some(Before { exec: self.wave.exec64(), reads });
                }
            }
            self.wave.next = index + 1;
            // SAFETY: the same as in the fast loop: the number is that of a step.
            let step = unsafe { program.step(index) };
            let exit = self.one(step);
            if matches!(exit, Some(Exit::Undecoded(_))) {
                return exit.unwrap_or(Exit::Turn);
            }
            let more = is_instruction && exit.is_none() && same_instruction(program, index);
            if !more
                && let (Some(decoded), Some(before)) = (decoded, open.take())
                && watch.shown(self, index)
                && watch.show(self, index, &decoded, &before).is_break()
            {
                watch.watch.enough.store(true, Ordering::Relaxed);
                self.wave.budget = 0;
                return exit.unwrap_or(Exit::Turn);
            }
            if let Some(exit) = exit {
                return exit;
            }
        }
    }
}

/// Whether the next step belongs to the same instruction.
fn same_instruction(program: &Program, index: u32) -> bool {
    let after = index + 1;
    (after as usize) < program.len() && program.size(after) > 0 && program.pc(after) == program.pc(index)
}
