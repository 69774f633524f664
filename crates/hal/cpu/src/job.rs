//! A segment in execution: workers take its parts until none is left.

#![expect(unsafe_code, reason = "runs the parts of kernels on raw memory")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use roci_base::panics;
use roci_base::sync::{Condvar, Mutex, MutexGuard, lock, wait_for};
use roci_hal::driver::{BatchFault, Completion};
use roci_hal::profile::CommandTiming;

use crate::run::Run;
use crate::times::StepTimes;
use crate::work_ranges::WorkRanges;

/// Iterations for which the leader spins before it sleeps. Parts are balanced, so the others finish
/// soon.
const SPINS: u32 = 2_000;
/// How often a sleeping leader checks for a lost device and reports the command in flight.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(crate) struct Job {
    run: Arc<Run>,
    items: Vec<StepParts>,
    ranges: WorkRanges,
    /// Parts that have not finished.
    left: AtomicUsize,
    /// Per worker: index of the command it executes, plus one; 0 when idle.
    current: Vec<AtomicUsize>,
    /// Per step; present when the submission is profiled.
    times: Option<StepTimes>,
    faulted: AtomicBool,
    fault: Mutex<Option<BatchFault>>,
    ended: Condvar,
}

struct StepParts {
    step: usize,
    parts: usize,
    /// Number of parts of all preceding steps.
    first: usize,
}

impl Job {
    /// Creates the job of a segment. `counts` has the number of parts of each step; `timed` records
    /// when steps run.
    pub(crate) fn new(run: &Arc<Run>, segment: Range<usize>, counts: &[usize], timed: bool) -> Self {
        let commands = &run.commands;
        let mut total = 0;
        let item = |(step, &parts)| {
            let first = total;
            total += parts;
            StepParts { step, parts, first }
        };
        let items = segment.zip(counts).map(item).collect();
        Self {
            run: Arc::clone(run),
            items,
            ranges: WorkRanges::new(total, commands.workers()),
            left: AtomicUsize::new(total),
            current: (0..commands.workers()).map(|_| AtomicUsize::new(0)).collect(),
            times: timed.then(|| StepTimes::new(counts.len())),
            faulted: AtomicBool::new(false),
            fault: Mutex::default(),
            ended: Condvar::new(),
        }
    }

    pub(crate) fn has_parts(&self) -> bool {
        self.ranges.any()
    }

    /// Runs parts until none is left to take. The leader also reports progress.
    pub(crate) fn work(&self, worker: usize, leader: Option<&Completion>) {
        while let Some(part) = self.ranges.take(worker) {
            let index = self.items.partition_point(|item| item.first <= part) - 1;
            let item = &self.items[index];
            let command = self.run.commands.steps[item.step].command;
            self.current[worker].store(command + 1, Ordering::Relaxed);
            if let Some(completion) = leader {
                completion.progress(command);
            }
            let run = || run_part(&self.run, item.step, part - item.first, item.parts);
            let timed = || self.times.as_ref().map_or_else(run, |times| times.record(index, run));
            if !self.faulted.load(Ordering::Relaxed)
                && let Err(fault) = timed()
            {
                self.faulted.store(true, Ordering::Relaxed);
                self.lock().get_or_insert(fault);
            }
            self.current[worker].store(0, Ordering::Relaxed);
            // Release: the part's writes are visible to the thread that sees the count reach zero.
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                // Take the lock so that a leader between its check and its sleep does not miss the
                // wakeup.
                drop(self.lock());
                self.ended.notify_all();
            }
        }
    }

    /// Waits for parts that other workers run. Returns `false` if the device was lost meanwhile.
    pub(crate) fn wait(&self, completion: &Completion, stopped: &AtomicBool) -> bool {
        for _ in 0..SPINS {
            if self.left.load(Ordering::Acquire) == 0 {
                return true;
            }
            std::hint::spin_loop();
        }
        let mut guard = self.lock();
        while self.left.load(Ordering::Acquire) > 0 {
            if stopped.load(Ordering::Relaxed) {
                return false;
            }
            if let Some(command) = self.current.iter().map(|current| current.load(Ordering::Relaxed)).find(|c| *c > 0) {
                completion.progress(command - 1);
            }
            guard = wait_for(&self.ended, guard, POLL_INTERVAL);
        }
        true
    }

    /// When the steps ran; empty unless the job is timed.
    pub(crate) fn spans(&self) -> impl Iterator<Item = CommandTiming> {
        let span = |(index, item): (usize, &StepParts)| {
            let command = self.run.commands.steps[item.step].command;
            self.times.as_ref().map(|times| times.span(index, command))
        };
        self.items.iter().enumerate().filter_map(span)
    }

    pub(crate) fn fault(&self) -> Option<BatchFault> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<BatchFault>> {
        lock(&self.fault)
    }
}

/// Number of parts of a step.
pub(crate) fn count(run: &Run, step: usize) -> Result<usize, BatchFault> {
    let commands = &run.commands;
    let step = &commands.steps[step];
    let counted = guard(step.command, || step.count(run.table(), commands.workers()))?;
    counted.map_err(|reason| BatchFault::Kernel { command: step.command, reason })
}

pub(crate) fn run_part(run: &Run, step: usize, part: usize, parts: usize) -> Result<(), BatchFault> {
    let commands = &run.commands;
    let step = &commands.steps[step];
    guard(step.command, || {
        // SAFETY: the run keeps the memory behind its table alive; `Workers` runs no conflicting
        // batch concurrently and `Commands` puts no conflicting steps into one segment; `parts`
        // came from `count` for this table; `Job` and the inline path in `Workers` hand out each
        // part once.
        unsafe { step.run(run.table(), commands.workers(), part, parts) }
    })
}

/// Calls a kernel's code. A panic becomes a fault of that kernel and does not end the worker.
fn guard<T>(command: usize, call: impl FnOnce() -> T) -> Result<T, BatchFault> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let detail = panics::message(&*panic).map_or_else(String::new, |message| format!(": {message}"));
        let reason = format!("the kernel panicked{detail}");
        BatchFault::Kernel { command, reason }
    })
}
