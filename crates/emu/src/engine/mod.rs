//! Runs waves: one step after the other until the wave ends, waits or has used up its turn.

#![expect(
    unsafe_code,
    reason = "lane functions take thin pointers to rows; steps are looked up without a second check"
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
use crate::memory::Window;
use crate::program::{Program, Step};
use crate::row::{LANES, Row};
use crate::wave::{Status, Wave};

/// Why a wave stopped running.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// It ended.
    Ended,
    /// It waits for its group.
    Barrier,
    /// Its turn is over.
    Turn,
    /// It jumped to code that is not decoded yet.
    Undecoded(u64),
    /// It did what no wave may do.
    Fault(Fault),
}

/// What a worker thread has for itself.
pub(crate) struct Worker {
    /// Rows for spread scalars, prepared sources and results before they are merged.
    pub(crate) rows: Box<[Row]>,
    /// Its view of memory.
    pub(crate) window: Window,
    /// By step: straight runs that begin there minus runs that ended before it. The sum up to a step is how often it ran.
    pub(crate) runs: Vec<i64>,
    /// Bytes that waves read and wrote in global memory.
    pub(crate) bytes: [u64; 2],
    /// Bytes that waves read and wrote in LDS.
    pub(crate) lds_bytes: [u64; 2],
    /// The lane functions this machine can run.
    pub(crate) level: Level,
}

/// Rows of a worker: two for each of three spread scalars, eight for each of three prepared sources, sixteen results.
pub(crate) mod rows {
    pub(crate) const PREPARED: usize = 6;
    pub(crate) const PREPARED_EACH: usize = 8;
    pub(crate) const RESULTS: usize = PREPARED + 3 * PREPARED_EACH;
    pub(crate) const COUNT: usize = RESULTS + 16;
}

impl Worker {
    pub(crate) fn new(window: Window, level: Level) -> Self {
        let rows = (0..rows::COUNT).map(|_| Row::zero()).collect();
        Self { rows, window, runs: Vec::new(), bytes: [0; 2], lds_bytes: [0; 2], level }
    }
}

/// A wave and what it runs in.
pub(crate) struct Machine<'a> {
    pub(crate) wave: &'a mut Wave,
    pub(crate) lds: &'a mut [u8],
    pub(crate) worker: &'a mut Worker,
    pub(crate) program: &'a Program,
    pub(crate) launch: &'a Launch,
    /// For each half, the first row of each [`Space`](crate::program::step::Space).
    bases: [[*const Row; 3]; 2],
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        wave: &'a mut Wave,
        lds: &'a mut [u8],
        worker: &'a mut Worker,
        program: &'a Program,
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
    /// Runs the wave until it stops.
    pub(crate) fn run(&mut self) -> Exit {
        match self.worker.level {
            Level::Base => self.steps(),
            // SAFETY: the level says that the machine has these features.
            Level::Avx2 => unsafe { self.steps_avx2() },
        }
    }

    #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
    fn steps_avx2(&mut self) -> Exit {
        self.steps()
    }

    #[inline(always)]
    fn steps(&mut self) -> Exit {
        // In a register; the wave's own copy is up to date whenever something else can look at it.
        let mut next = self.wave.next;
        loop {
            // SAFETY: indices are those of steps: targets are checked when a program is made, and the last step is a fault,
            // so the one after a step that goes on exists.
            let step = unsafe { self.program.step(next) };
            next += 1;
            let target = match step {
                Step::Nop => continue,
                Step::Map(step) => {
                    self.map(step);
                    continue;
                }
                Step::Scalar(step) => {
                    self.scalar(step);
                    continue;
                }
                Step::Lds(step) => {
                    self.lds_access(step);
                    continue;
                }
                Step::Compare(step) => {
                    self.compare(step);
                    continue;
                }
                Step::Mask(step) => {
                    self.mask(step);
                    continue;
                }
                Step::Global(step) => match self.global(step) {
                    Ok(()) => continue,
                    Err(fault) => {
                        self.wave.next = next;
                        return self.fault(fault);
                    }
                },
                Step::ScalarMemory(step) => match self.scalar_memory(step) {
                    Ok(()) => continue,
                    Err(fault) => {
                        self.wave.next = next;
                        return self.fault(fault);
                    }
                },
                Step::Branch(condition, target) => {
                    if !self.holds(*condition) {
                        continue;
                    }
                    *target
                }
                Step::Jump(target) => *target,
                other => {
                    self.wave.next = next;
                    if let Some(exit) = self.one(other) {
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

    /// Runs one step, whatever it is: also those that the loop does itself, for whoever looks at every step.
    #[inline(never)]
    pub(crate) fn one(&mut self, step: &Step) -> Option<Exit> {
        let result = match step {
            Step::Nop => Ok(()),
            Step::End => {
                self.end_run();
                self.wave.status = Status::Ended;
                return Some(Exit::Ended);
            }
            Step::Barrier => {
                self.end_run();
                self.wave.status = Status::AtBarrier;
                return Some(Exit::Barrier);
            }
            Step::Yield => {
                self.end_run();
                return Some(Exit::Turn);
            }
            Step::Fault(fault) => return Some(self.fault(fault.as_ref().clone())),
            Step::Trap(id) => return Some(self.fault(Fault::Trap { id: *id })),
            Step::Special(step) => return self.special(step),
            Step::GridSync(step) => return self.grid_sync(step),
            Step::Jump(target) => return self.jump(*target),
            Step::Branch(condition, target) => {
                return if self.holds(*condition) { self.jump(*target) } else { None };
            }
            Step::Global(step) => self.global(step),
            Step::ScalarMemory(step) => self.scalar_memory(step),
            Step::ScalarWrite(step) => self.scalar_write(step),
            Step::Flat(step) => self.flat(step),
            Step::Scratch(step) => self.scratch(step),
            Step::Buffer(step) => self.buffer(step),
            Step::CrossLane(step) => self.cross_lane(step),
            Step::Fill(step) => self.lds_fill(step),
            other => {
                self.compute(other);
                Ok(())
            }
        };
        result.err().map(|fault| self.fault(fault))
    }

    /// The steps that always go on.
    fn compute(&mut self, step: &Step) {
        match step {
            Step::Map(step) => self.map(step),
            Step::Scalar(step) => self.scalar(step),
            Step::Lds(step) => self.lds_access(step),
            Step::Compare(step) => self.compare(step),
            Step::Mask(step) => self.mask(step),
            Step::Slow(step) => self.slow(step),
            Step::Dual(pair) => self.dual(pair),
            Step::Halves(steps) => self.by_halves(steps),
            _ => {}
        }
    }

    /// Notes that the straight run ends after the step before `next`, and that another begins there.
    #[inline(always)]
    pub(crate) fn end_run(&mut self) {
        let (start, end) = (self.wave.run, self.wave.next);
        self.worker.runs[start as usize] += 1;
        self.worker.runs[end as usize] -= 1;
        self.wave.budget -= i64::from(end - start);
        self.wave.run = end;
    }

    /// Goes on at another step, or stops when the turn is over.
    #[inline(always)]
    pub(crate) fn jump(&mut self, target: u32) -> Option<Exit> {
        self.end_run();
        self.wave.next = target;
        self.wave.run = target;
        (self.wave.budget <= 0).then_some(Exit::Turn)
    }

    /// Ends with a fault at the step that runs.
    #[cold]
    pub(crate) fn fault(&mut self, fault: Fault) -> Exit {
        self.end_run();
        self.wave.next -= 1;
        self.wave.status = Status::Ended;
        Exit::Fault(fault)
    }
}

/// The first lane of a mask.
#[inline(always)]
pub(crate) fn first_lane(mask: u32) -> usize {
    (mask.trailing_zeros() as usize).min(LANES - 1)
}

/// The lanes of a mask.
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
