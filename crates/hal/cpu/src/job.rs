//! A running batch: its leader opens one segment after the other, and workers take parts of the
//! open segment until none is left.
//!
//! Helpers stay with the batch and watch the number of opened segments, so that a segment costs no
//! lock and no wakeup. The leader also runs parts, so the batch ends even if no helper joins.

#![expect(unsafe_code, reason = "runs the parts of kernels on raw memory")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roci_base::panics;
use roci_base::sync::{Condvar, Mutex, MutexGuard, lock, wait_for};
use roci_hal::driver::{BatchFault, Completion};
use roci_hal::profile::CommandTiming;

use crate::run::Run;
use crate::spin::Spin;
use crate::times::StepTimes;
use crate::work_ranges::WorkRanges;

/// How long the leader spins before it sleeps. Parts are balanced, so the others finish soon.
const LEADER_SPIN_TIME: Duration = Duration::from_micros(200);
/// How often a sleeping leader checks for a lost device and reports the command in flight.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long a worker spins while a batch is running. The next segment usually follows soon, and a
/// wakeup takes longer than many kernels.
pub(crate) const SPIN_TIME: Duration = Duration::from_micros(1000);

pub(crate) struct Job {
    run: Arc<Run>,
    /// Segments in the order in which the leader shares them. A lock for each would cost the
    /// workers more than a small kernel takes.
    segments: Vec<OnceLock<SharedSegment>>,
    /// Number of shared segments so far. The last one is open.
    opened: AtomicUsize,
    /// Whether the batch has ended.
    done: AtomicBool,
    /// Per worker: index of the command it executes, plus one; 0 when idle.
    current: Vec<CurrentCommand>,
    faulted: AtomicBool,
    fault: Mutex<Option<BatchFault>>,
    /// Whether the leader sleeps until all parts of the open segment have finished.
    leader_sleeps: AtomicBool,
    ended: Condvar,
}

/// On a cache line of its own, because its worker writes it for every part.
#[repr(align(64))]
#[derive(Default)]
struct CurrentCommand(AtomicUsize);

/// A segment whose parts workers take.
struct SharedSegment {
    items: Vec<StepParts>,
    ranges: WorkRanges,
    /// Parts that have not finished.
    left: AtomicUsize,
    /// Per step; present when the submission is profiled.
    times: Option<StepTimes>,
}

struct StepParts {
    step: usize,
    parts: usize,
    /// Number of parts of all preceding steps.
    first: usize,
}

impl SharedSegment {
    fn new(segment: Range<usize>, counts: &[usize], workers: usize, timed: bool) -> Self {
        let mut total = 0;
        let item = |(step, &parts)| {
            let first = total;
            total += parts;
            StepParts { step, parts, first }
        };
        let items = segment.zip(counts).map(item).collect();
        let times = timed.then(|| StepTimes::new(counts.len()));
        Self { items, ranges: WorkRanges::new(total, workers), left: AtomicUsize::new(total), times }
    }
}

impl Job {
    pub(crate) fn new(run: &Arc<Run>) -> Self {
        Self {
            run: Arc::clone(run),
            segments: run.segments().map(|_| OnceLock::new()).collect(),
            opened: AtomicUsize::new(0),
            done: AtomicBool::new(false),
            current: (0..run.commands.workers()).map(|_| CurrentCommand::default()).collect(),
            faulted: AtomicBool::new(false),
            fault: Mutex::default(),
            leader_sleeps: AtomicBool::new(false),
            ended: Condvar::new(),
        }
    }

    /// Opens a segment: workers take its parts from now on. `counts` has the number of parts of
    /// each step; `timed` records when steps run. Only the leader calls this, once per segment,
    /// after all parts of the previous one have finished.
    pub(crate) fn open(&self, segment: Range<usize>, counts: &[usize], timed: bool) {
        let index = self.opened.load(Ordering::Relaxed);
        let shared = SharedSegment::new(segment, counts, self.run.commands.workers(), timed);
        if let Some(place) = self.segments.get(index) {
            place.get_or_init(|| shared);
            // Release: what earlier segments wrote is visible to the workers that see the number.
            // SeqCst: a worker that goes to sleep sees it, or the leader sees the sleeping worker.
            self.opened.store(index + 1, Ordering::SeqCst);
        }
    }

    /// The open segment.
    fn segment(&self) -> Option<&SharedSegment> {
        self.segments.get(self.opened.load(Ordering::SeqCst).checked_sub(1)?)?.get()
    }

    pub(crate) fn has_parts(&self) -> bool {
        self.segment().is_some_and(|segment| segment.ranges.any())
    }

    /// Marks the batch as finished, so that helpers leave it.
    pub(crate) fn finish(&self) {
        self.done.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// Runs parts of the open segment until none is left to take. The leader also reports progress.
    pub(crate) fn work(&self, worker: usize, leader: Option<&Completion>) {
        let Some(segment) = self.segment() else { return };
        let mut ran = 0;
        while let Some(part) = segment.ranges.take(worker) {
            let index = segment.items.partition_point(|item| item.first <= part) - 1;
            let item = &segment.items[index];
            let command = self.run.commands.steps[item.step].command;
            self.current[worker].0.store(command + 1, Ordering::Relaxed);
            if let Some(completion) = leader {
                completion.progress(command);
            }
            let run = || run_part(&self.run, item.step, part - item.first, item.parts);
            let timed = || segment.times.as_ref().map_or_else(run, |times| times.record(index, run));
            if !self.faulted.load(Ordering::Relaxed)
                && let Err(fault) = timed()
            {
                self.faulted.store(true, Ordering::Relaxed);
                self.lock().get_or_insert(fault);
            }
            ran += 1;
        }
        if ran == 0 {
            return;
        }
        self.current[worker].0.store(0, Ordering::Relaxed);
        // Release: the parts' writes are visible to the thread that sees the count reach zero.
        // SeqCst: a leader that goes to sleep sees the zero, or this thread sees the leader.
        if segment.left.fetch_sub(ran, Ordering::SeqCst) == ran && self.leader_sleeps.load(Ordering::SeqCst) {
            // Take the lock so that a leader between its check and its sleep does not miss the
            // wakeup.
            drop(self.lock());
            self.ended.notify_all();
        }
    }

    /// Runs parts of one segment after the other until the batch ends or `leave` returns true.
    /// Returns false if no segment was opened for [`SPIN_TIME`].
    pub(crate) fn help(&self, worker: usize, leave: impl Fn() -> bool) -> bool {
        let mut seen = usize::MAX;
        let mut spin = Spin::new(SPIN_TIME);
        loop {
            // Acquire, with the store in `open`: the writes of earlier segments are visible.
            let opened = self.opened.load(Ordering::Acquire);
            if opened != seen {
                seen = opened;
                self.work(worker, None);
                spin = Spin::new(SPIN_TIME);
            } else if self.is_done() || leave() {
                return true;
            } else if !spin.wait() {
                return false;
            }
        }
    }

    /// Waits for the parts of the open segment that other workers run. Returns `false` if the
    /// device was lost meanwhile.
    pub(crate) fn wait(&self, completion: &Completion, stopped: &AtomicBool) -> bool {
        let Some(segment) = self.segment() else { return true };
        let mut spin = Spin::new(LEADER_SPIN_TIME);
        while spin.wait() {
            if segment.left.load(Ordering::Acquire) == 0 {
                return true;
            }
        }
        let mut guard = self.lock();
        self.leader_sleeps.store(true, Ordering::SeqCst);
        while segment.left.load(Ordering::SeqCst) > 0 {
            if stopped.load(Ordering::Relaxed) {
                return false;
            }
            let mut current = self.current.iter().map(|current| current.0.load(Ordering::Relaxed));
            if let Some(command) = current.find(|command| *command > 0) {
                completion.progress(command - 1);
            }
            guard = wait_for(&self.ended, guard, POLL_INTERVAL);
        }
        self.leader_sleeps.store(false, Ordering::Relaxed);
        true
    }

    /// When the steps of the open segment ran; empty unless it is timed.
    pub(crate) fn spans(&self) -> impl Iterator<Item = CommandTiming> {
        let span = |segment: &'_ SharedSegment, index: usize| {
            let command = self.run.commands.steps[segment.items[index].step].command;
            segment.times.as_ref().map(|times| times.span(index, command))
        };
        let indices = |segment: &SharedSegment| 0..segment.items.len();
        self.segment()
            .into_iter()
            .flat_map(move |segment| indices(segment).filter_map(move |index| span(segment, index)))
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
