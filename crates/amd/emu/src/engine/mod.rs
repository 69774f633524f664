//! The interpreter: executes micro-ops until the wave ends, waits or has used its time slice.

#![expect(
    unsafe_code,
    reason = "lane functions take thin pointers to rows; micro-ops are indexed without bounds checks"
)]

pub(crate) mod atomics;
pub(crate) mod buffer;
pub(crate) mod control;
mod cross_lane;
mod gather;
pub(crate) mod global;
mod grid_sync;
pub(crate) mod lds;
mod lds_fill;
#[cfg(test)]
mod modifiers;
mod scalar_memory;
mod scalar_write;
mod scratch;
pub(crate) mod slow;
mod vector;

use crate::fault::Fault;
use crate::lanes::Level;
use crate::launch::Launch;
use crate::memory::MemoryView;
use crate::program::{DecodedProgram, MicroOp};
use crate::row::{LANES, Row};
use crate::wave::{Wave, WaveStatus};

/// Why a wave stopped executing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    Ended,
    /// It waits at a workgroup barrier.
    Barrier,
    /// Its time slice is over.
    TimeSlice,
    /// It jumped to an address that is not decoded.
    Undecoded(u64),
    Fault(Fault),
}

/// State of a worker thread.
pub(crate) struct Worker {
    /// Temporary rows: broadcast scalars, prepared sources, results before they are merged.
    pub(crate) rows: Box<[Row]>,
    /// Cached view of memory.
    pub(crate) window: MemoryView,
    /// By micro-op: straight-line runs that begin there minus runs that end before it. The prefix
    /// sum is the execution count.
    pub(crate) runs: Vec<i64>,
    /// Bytes read and written in global memory.
    pub(crate) bytes: [u64; 2],
    /// Bytes read and written in LDS.
    pub(crate) lds_bytes: [u64; 2],
    /// The feature level of lane functions.
    pub(crate) level: Level,
}

/// Layout of the temporary rows: two for each of three broadcast scalars, eight for each of three
/// prepared sources, sixteen for results.
pub(crate) mod rows {
    pub(crate) const PREPARED: usize = 6;
    pub(crate) const PREPARED_EACH: usize = 8;
    pub(crate) const RESULTS: usize = PREPARED + 3 * PREPARED_EACH;
    pub(crate) const COUNT: usize = RESULTS + 16;
}

impl Worker {
    pub(crate) fn new(window: MemoryView, level: Level) -> Self {
        let rows = (0..rows::COUNT).map(|_| Row::zero()).collect();
        Self { rows, window, runs: Vec::new(), bytes: [0; 2], lds_bytes: [0; 2], level }
    }
}

/// A wave and its execution environment.
pub(crate) struct Machine<'a> {
    pub(crate) wave: &'a mut Wave,
    pub(crate) lds: &'a mut [u8],
    pub(crate) worker: &'a mut Worker,
    pub(crate) program: &'a DecodedProgram,
    pub(crate) launch: &'a Launch,
    /// For each half, the first row of each [`RowSpace`](crate::program::micro_op::RowSpace).
    bases: [[*const Row; 3]; 2],
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        wave: &'a mut Wave,
        lds: &'a mut [u8],
        worker: &'a mut Worker,
        program: &'a DecodedProgram,
        launch: &'a Launch,
    ) -> Self {
        let half = |half: usize| {
            [wave.bank.as_ptr().wrapping_add(half * wave.registers), program.constants(), worker.rows.as_ptr()]
        };
        let bases = [half(0), half(1)];
        Self { wave, lds, worker, program, launch, bases }
    }
}

impl Machine<'_> {
    /// Executes the wave until it stops.
    pub(crate) fn run(&mut self) -> StopReason {
        match self.worker.level {
            Level::Base => self.uops(),
            // SAFETY: the level says that the host has these features.
            Level::Avx2 => unsafe { self.run_avx2() },
        }
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
    fn run_avx2(&mut self) -> StopReason {
        self.uops()
    }

    #[inline(always)]
    fn uops(&mut self) -> StopReason {
        // Kept in a register; `wave.next` is updated before anything else can read it.
        let mut next = self.wave.next;
        loop {
            // SAFETY: indices are those of micro-ops: branch targets are checked when a program is
            // built, and the last micro-op is a fault, so every micro-op that continues has a
            // successor.
            let uop = unsafe { self.program.uop(next) };
            next += 1;
            let target = match uop {
                MicroOp::Nop => continue,
                MicroOp::Map(uop) => {
                    self.map(uop);
                    continue;
                }
                MicroOp::Scalar(uop) => {
                    self.scalar(uop);
                    continue;
                }
                MicroOp::Lds(uop) => {
                    self.lds_access(uop);
                    continue;
                }
                MicroOp::Compare(uop) => {
                    self.compare(uop);
                    continue;
                }
                MicroOp::Mask(uop) => {
                    self.mask(uop);
                    continue;
                }
                MicroOp::Global(uop) => match self.global(uop) {
                    Ok(()) => continue,
                    Err(fault) => {
                        self.wave.next = next;
                        return self.fault(fault);
                    }
                },
                MicroOp::ScalarMemory(uop) => match self.scalar_memory(uop) {
                    Ok(()) => continue,
                    Err(fault) => {
                        self.wave.next = next;
                        return self.fault(fault);
                    }
                },
                MicroOp::Branch(condition, target) => {
                    if !self.holds(*condition) {
                        continue;
                    }
                    *target
                }
                MicroOp::Jump(target) => *target,
                other => {
                    self.wave.next = next;
                    if let Some(exit) = self.execute(other) {
                        return exit;
                    }
                    next = self.wave.next;
                    continue;
                }
            };
            self.wave.next = next;
            if let Some(exit) = self.jump(target) {
                return exit;
            }
            next = target;
        }
    }

    /// Executes one micro-op of any kind, including those that the fast loop inlines. Used for
    /// observed runs.
    #[inline(never)]
    pub(crate) fn execute(&mut self, uop: &MicroOp) -> Option<StopReason> {
        let result = match uop {
            MicroOp::Nop => Ok(()),
            MicroOp::End => {
                self.end_run();
                self.wave.status = WaveStatus::Ended;
                return Some(StopReason::Ended);
            }
            MicroOp::Barrier => {
                self.end_run();
                self.wave.status = WaveStatus::AtBarrier;
                return Some(StopReason::Barrier);
            }
            MicroOp::Yield => {
                self.end_run();
                return Some(StopReason::TimeSlice);
            }
            MicroOp::Fault(fault) => return Some(self.fault(fault.as_ref().clone())),
            MicroOp::Trap(id) => return Some(self.fault(Fault::Trap { id: *id })),
            MicroOp::Special(uop) => return self.special(uop),
            MicroOp::GridSync(uop) => return self.grid_sync(uop),
            MicroOp::Jump(target) => return self.jump(*target),
            MicroOp::Branch(condition, target) => {
                return if self.holds(*condition) { self.jump(*target) } else { None };
            }
            MicroOp::Global(uop) => self.global(uop),
            MicroOp::ScalarMemory(uop) => self.scalar_memory(uop),
            MicroOp::ScalarWrite(uop) => self.scalar_write(uop),
            MicroOp::Flat(uop) => self.flat(uop),
            MicroOp::Scratch(uop) => self.scratch(uop),
            MicroOp::Buffer(uop) => self.buffer(uop),
            MicroOp::CrossLane(uop) => self.cross_lane(uop),
            MicroOp::Fill(uop) => self.lds_fill(uop),
            other => {
                self.compute(other);
                Ok(())
            }
        };
        result.err().map(|fault| self.fault(fault))
    }

    /// Executes a micro-op that always continues with the next one.
    fn compute(&mut self, uop: &MicroOp) {
        match uop {
            MicroOp::Map(uop) => self.map(uop),
            MicroOp::Scalar(uop) => self.scalar(uop),
            MicroOp::Lds(uop) => self.lds_access(uop),
            MicroOp::Compare(uop) => self.compare(uop),
            MicroOp::Mask(uop) => self.mask(uop),
            MicroOp::Slow(uop) => self.slow(uop),
            MicroOp::Dual(pair) => self.dual(pair),
            MicroOp::Halves(uops) => self.by_halves(uops),
            _ => {}
        }
    }

    /// Ends a straight-line run before `next` and begins another one there.
    #[inline(always)]
    pub(crate) fn end_run(&mut self) {
        let (start, end) = (self.wave.run, self.wave.next);
        self.worker.runs[start as usize] += 1;
        self.worker.runs[end as usize] -= 1;
        self.wave.budget -= i64::from(end - start);
        self.wave.run = end;
    }

    /// Continues at another micro-op, or stops if the time slice is over.
    #[inline(always)]
    pub(crate) fn jump(&mut self, target: u32) -> Option<StopReason> {
        self.end_run();
        self.wave.next = target;
        self.wave.run = target;
        (self.wave.budget <= 0).then_some(StopReason::TimeSlice)
    }

    /// Stops with a fault at the current micro-op.
    #[cold]
    pub(crate) fn fault(&mut self, fault: Fault) -> StopReason {
        self.end_run();
        self.wave.next -= 1;
        self.wave.status = WaveStatus::Ended;
        StopReason::Fault(fault)
    }
}

/// The lowest active lane of a mask.
#[inline(always)]
pub(crate) fn first_lane(mask: u32) -> usize {
    (mask.trailing_zeros() as usize).min(LANES - 1)
}

/// Iterates over the active lanes of a mask.
#[inline(always)]
pub(crate) fn lanes_of(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let lane = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            lane
        })
    })
}
