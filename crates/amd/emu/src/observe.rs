//! Runs waves one instruction at a time, for traces and checks.
//!
//! The fast path has no hooks. An observed run uses a program that keeps every instruction as a
//! micro-op of its own, and the loop in this module.

#![expect(unsafe_code, reason = "micro-ops are indexed without bounds checks")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roci_isa::{Instruction, Register};

use crate::check::{Checks, GroupChecks};
use crate::engine::{Machine, StopReason};
use crate::fault::Fault;
use crate::launch::Launch;
use crate::program::DecodedProgram;
use crate::wave::Wave;

/// Observes the instructions that waves execute. Called from any thread.
pub trait Observer: Sync {
    /// Whether to observe this workgroup.
    fn wants_group(&self, workgroup: [u32; 3]) -> bool;

    /// Whether to observe the instruction at this offset from the kernel's entry point, in this
    /// wave of the workgroup.
    fn wants(&self, wave: u32, offset: u64) -> bool;

    /// Called after an instruction. `Break` stops the dispatch.
    fn executed(&self, executed: &ExecutedInstruction<'_>) -> ControlFlow<()>;
}

/// An executed instruction.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExecutedInstruction<'a> {
    /// Workgroup ID.
    pub workgroup: [u32; 3],
    /// Index of the wave in its workgroup.
    pub wave: u32,
    /// Address of the instruction.
    pub pc: u64,
    /// Offset from the kernel's entry point.
    pub offset: u64,
    /// Text of the instruction.
    pub text: &'a str,
    /// EXEC mask before the instruction.
    pub exec: u64,
    /// Registers read, with their values before the instruction.
    pub reads: &'a [RegisterValue],
    /// Registers written, with their values after the instruction.
    pub writes: &'a [RegisterValue],
}

/// A 32-bit register and its contents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegisterValue {
    /// Register that the instruction read or wrote.
    pub register: Register,
    /// One value, or one per lane of a VGPR.
    pub values: Vec<u32>,
}

/// Assembly name of a register.
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

/// The checks and the observer of a dispatch.
pub(crate) struct DispatchMonitor<'a> {
    checks: Checks,
    observer: Option<&'a dyn Observer>,
    entry: u64,
    /// Set when the observer returns `Break`.
    done: AtomicBool,
}

impl<'a> DispatchMonitor<'a> {
    /// `None` if there is nothing to observe.
    pub(crate) fn new(checks: Checks, observer: Option<&'a dyn Observer>, entry: u64) -> Option<Self> {
        (checks.any() || observer.is_some()).then_some(Self { checks, observer, entry, done: AtomicBool::new(false) })
    }

    /// Whether the observer ended the dispatch.
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// The monitor of a workgroup, if it is observed.
    pub(crate) fn group(&self, workgroup: [u32; 3], launch: &Launch, waves: &[Wave]) -> Option<WorkgroupMonitor<'_>> {
        let observed = self.observer.is_some_and(|observer| observer.wants_group(workgroup));
        let checks = self.checks.any().then(|| GroupChecks::new(self.checks, launch, waves));
        (observed || checks.is_some()).then(|| WorkgroupMonitor {
            monitor: self,
            workgroup,
            observed,
            checks,
            instructions: Vec::new(),
        })
    }
}

/// Checks and observer of one workgroup.
pub(crate) struct WorkgroupMonitor<'a> {
    monitor: &'a DispatchMonitor<'a>,
    workgroup: [u32; 3],
    observed: bool,
    checks: Option<GroupChecks>,
    /// Observed instructions by micro-op, filled on first use.
    instructions: Vec<Option<Arc<ObservedInstruction>>>,
}

/// An instruction and its register accesses.
pub(crate) struct ObservedInstruction {
    pub(crate) instruction: Instruction,
    pub(crate) accesses: Vec<roci_isa::Access>,
    pub(crate) text: String,
}

impl WorkgroupMonitor<'_> {
    /// All waves have passed a barrier.
    pub(crate) fn barrier(&mut self) {
        if let Some(checks) = &mut self.checks {
            checks.barrier();
        }
    }

    fn decoded(&mut self, program: &DecodedProgram, index: u32) -> Option<Arc<ObservedInstruction>> {
        let at = index as usize;
        if self.instructions.len() <= at {
            self.instructions.resize(program.len(), None);
        }
        if self.instructions[at].is_none() {
            let instruction = program.instruction(index)?;
            let accesses = instruction.accesses(program.target().wave);
            self.instructions[at] =
                Some(Arc::new(ObservedInstruction { instruction, accesses, text: program.text(index) }));
        }
        self.instructions[at].clone()
    }

    /// Reports an executed instruction to the observer.
    fn show(
        &self,
        machine: &Machine<'_>,
        index: u32,
        decoded: &ObservedInstruction,
        before: &StateBefore,
    ) -> ControlFlow<()> {
        let Some(observer) = self.monitor.observer else { return ControlFlow::Continue(()) };
        let pc = machine.program.pc(index);
        let executed = ExecutedInstruction {
            workgroup: self.workgroup,
            wave: machine.wave.number,
            pc,
            offset: pc.wrapping_sub(self.monitor.entry),
            text: &decoded.text,
            exec: before.exec,
            reads: &before.reads,
            writes: &values(machine.wave, decoded, true),
        };
        observer.executed(&executed)
    }

    fn is_observed(&self, machine: &Machine<'_>, index: u32) -> bool {
        let offset = machine.program.pc(index).wrapping_sub(self.monitor.entry);
        self.observed && self.monitor.observer.is_some_and(|observer| observer.wants(machine.wave.number, offset))
    }
}

/// State before an instruction.
struct StateBefore {
    exec: u64,
    reads: Vec<RegisterValue>,
}

/// Values of the registers that an instruction reads or writes.
fn values(wave: &Wave, decoded: &ObservedInstruction, written: bool) -> Vec<RegisterValue> {
    let mut values = Vec::new();
    for access in decoded.accesses.iter().filter(|access| access.write == written) {
        for word in 0..usize::from(access.words) {
            let (register, contents) = match access.register {
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
            values.push(RegisterValue { register, values: contents });
        }
    }
    values
}

impl Machine<'_> {
    /// Runs the wave until it stops, and passes every instruction to `monitor`.
    pub(crate) fn run_observed(&mut self, monitor: &mut WorkgroupMonitor<'_>) -> StopReason {
        let program = self.program;
        // State before an instruction that is not complete: a VOPD pair takes two micro-ops.
        let mut open: Option<StateBefore> = None;
        loop {
            let index = self.wave.next;
            // Micro-ops that only jump to other code have size zero.
            let is_instruction = program.size(index) > 0;
            let decoded = if is_instruction { monitor.decoded(program, index) } else { None };
            if let Some(decoded) = &decoded {
                if let Some(checks) = &mut monitor.checks
                    && let Err(message) = checks.before(self, index, decoded, open.is_none())
                {
                    self.wave.next = index + 1;
                    return self.fault(Fault::Check(message));
                }
                if open.is_none() {
                    let reads =
                        if monitor.is_observed(self, index) { values(self.wave, decoded, false) } else { Vec::new() };
                    open = Some(StateBefore { exec: self.wave.exec64(), reads });
                }
            }
            self.wave.next = index + 1;
            // SAFETY: as in the fast loop, the index is that of a micro-op.
            let uop = unsafe { program.uop(index) };
            let exit = self.execute(uop);
            if matches!(exit, Some(StopReason::Undecoded(_))) {
                return exit.unwrap_or(StopReason::TimeSlice);
            }
            let more = is_instruction && exit.is_none() && same_instruction(program, index);
            if !more
                && let (Some(decoded), Some(before)) = (decoded, open.take())
                && monitor.is_observed(self, index)
                && monitor.show(self, index, &decoded, &before).is_break()
            {
                monitor.monitor.done.store(true, Ordering::Relaxed);
                self.wave.budget = 0;
                return exit.unwrap_or(StopReason::TimeSlice);
            }
            if let Some(exit) = exit {
                return exit;
            }
        }
    }
}

/// Whether the next micro-op belongs to the same instruction.
fn same_instruction(program: &DecodedProgram, index: u32) -> bool {
    let after = index + 1;
    (after as usize) < program.len() && program.size(after) > 0 && program.pc(after) == program.pc(index)
}
