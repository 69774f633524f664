//! Worker threads. Each leads a batch or helps with the parts of another worker's batch.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use roci_base::sync::{Condvar, Mutex, MutexGuard, lock, wait};
use roci_hal::driver::{BatchFault, Completion};
use roci_hal::profile::CommandTiming;

use crate::affinity::{pin, processors_for};
use crate::job::{Job, SPIN_TIME, count, run_part};
use crate::run::Run;
use crate::spin::Spin;

/// Number of queued batches considered for starting. Batches behind this window wait.
const WINDOW: usize = 64;

pub(crate) struct Workers {
    state: Mutex<State>,
    wake: Condvar,
    stopped: AtomicBool,
    /// Changes when workers should look for other work: a batch or a segment was posted, or a batch
    /// that others wait for ended. Spinning workers watch it.
    posted: AtomicUsize,
    /// Number of sleeping workers; changes under the lock.
    asleep: AtomicUsize,
    /// Number of jobs; changes under the lock.
    sharing: AtomicUsize,
    count: usize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<QueuedRun>,
    running: Vec<Arc<Run>>,
    jobs: Vec<Arc<Job>>,
}

struct QueuedRun {
    run: Arc<Run>,
    completion: Completion,
}

enum Task {
    Lead(QueuedRun),
    /// With the number of tasks posted so far.
    Help(Arc<Job>, usize),
}

impl Workers {
    pub(crate) fn start(count: usize) -> std::io::Result<Arc<Self>> {
        let workers = Arc::new(Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            stopped: AtomicBool::new(false),
            posted: AtomicUsize::new(0),
            asleep: AtomicUsize::new(0),
            sharing: AtomicUsize::new(0),
            count,
        });
        let processors = processors_for(count);
        for index in 0..count {
            let (own, processor) = (Arc::clone(&workers), processors.get(index).copied());
            let work = move || {
                processor.into_iter().for_each(pin);
                own.work(index);
            };
            let spawned = std::thread::Builder::new().name(format!("roci-cpu-{index}")).spawn(work);
            if let Err(error) = spawned {
                workers.stop();
                return Err(error);
            }
        }
        Ok(workers)
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn submit(&self, run: Arc<Run>, completion: Completion) {
        let refused = {
            let mut state = self.lock();
            if self.stopped.load(Ordering::Relaxed) {
                Some(completion)
            } else {
                state.queue.push_back(QueuedRun { run, completion });
                self.posted.fetch_add(1, Ordering::Relaxed);
                self.wake_workers(1);
                None
            }
        };
        // Outside the lock: dropping a completion may start other submissions, which call back into
        // `submit`.
        drop(refused);
    }

    /// Ends the threads. A thread inside a kernel ends when the kernel returns, if it ever does.
    pub(crate) fn stop(&self) {
        let queue = {
            let mut state = self.lock();
            self.stopped.store(true, Ordering::Relaxed);
            std::mem::take(&mut state.queue)
        };
        self.wake.notify_all();
        drop(queue);
    }

    fn work(&self, index: usize) {
        let mut busy = false;
        while let Some(task) = self.next_task(busy) {
            busy = match task {
                Task::Lead(QueuedRun { run, completion }) => {
                    let result = self.lead(index, &run, &completion);
                    self.retire(&run);
                    drop(run);
                    completion.finish(result);
                    true
                }
                Task::Help(job, posted) => {
                    let leave =
                        || self.posted.load(Ordering::Relaxed) != posted || self.stopped.load(Ordering::Relaxed);
                    job.help(index, leave)
                }
            }
        }
    }

    /// Waits for a task. A `busy` worker, which has just finished one, spins before it sleeps,
    /// because the next batch often follows soon.
    fn next_task(&self, busy: bool) -> Option<Task> {
        let mut state = self.lock();
        let mut spins = busy;
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            let posted = self.posted.load(Ordering::Relaxed);
            if let Some(waiting) = state.take_ready() {
                return Some(Task::Lead(waiting));
            }
            if let Some(job) = state.jobs.iter().find(|job| job.has_parts()) {
                return Some(Task::Help(Arc::clone(job), posted));
            }
            if let Some(job) = state.jobs.iter().find(|job| spins && !job.is_done()) {
                return Some(Task::Help(Arc::clone(job), posted));
            }
            if spins {
                drop(state);
                spins = self.spin(posted);
                state = self.lock();
                continue;
            }
            self.asleep.fetch_add(1, Ordering::SeqCst);
            // A leader that did not see this worker asleep has already opened its segment.
            if !state.jobs.iter().any(|job| job.has_parts()) {
                state = wait(&self.wake, state);
            }
            self.asleep.fetch_sub(1, Ordering::SeqCst);
            spins = !state.running.is_empty();
        }
    }

    /// Spins until a task is posted after `seen`. Returns false if that takes too long.
    fn spin(&self, seen: usize) -> bool {
        let mut spin = Spin::new(SPIN_TIME);
        while self.posted.load(Ordering::Relaxed) == seen && !self.stopped.load(Ordering::Relaxed) {
            if !spin.wait() {
                return false;
            }
        }
        true
    }

    /// Executes a batch. Segments that are large enough are shared with the other workers.
    fn lead(&self, index: usize, run: &Arc<Run>, completion: &Completion) -> Result<(), BatchFault> {
        // A batch without steps still counts as started.
        completion.progress(0);
        // Parts per step of the segment. Queried once, because each query validates the launch.
        let mut counts = Vec::new();
        let mut spans = completion.wants_timing().then(Vec::new);
        let mut team = None;
        for segment in run.segments() {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            counts.clear();
            for step in segment.clone() {
                completion.progress(run.commands.steps[step].command);
                counts.push(count(run, step)?);
            }
            // Kernels return one part for work that is too small to share.
            if self.count > 1 && counts.iter().any(|&parts| parts > 1) {
                let team = team.get_or_insert_with(|| BatchWorkers::new(self, run));
                if !team.run(index, segment, &counts, completion, spans.as_mut())? {
                    return Ok(());
                }
                continue;
            }
            for (step, &parts) in segment.zip(&counts) {
                completion.progress(run.commands.steps[step].command);
                let start = spans.as_ref().map(|_| Instant::now());
                (0..parts).try_for_each(|part| run_part(run, step, part, parts))?;
                if let (Some(spans), Some(start)) = (&mut spans, start) {
                    spans.push(CommandTiming { command: run.commands.steps[step].command, start, end: Instant::now() });
                }
            }
        }
        if let Some(spans) = spans {
            completion.report_timing(spans);
        }
        Ok(())
    }

    /// Removes a finished batch. Queued batches that conflict with it can start then.
    fn retire(&self, run: &Arc<Run>) {
        let mut state = self.lock();
        state.running.retain(|other| !Arc::ptr_eq(other, run));
        if !state.queue.is_empty() {
            // Helpers of other batches look at the queue again.
            self.posted.fetch_add(1, Ordering::Relaxed);
        }
        self.wake_workers(state.queue.len());
    }

    /// Wakes up to `count` sleeping workers. The caller holds the lock.
    fn wake_workers(&self, count: usize) {
        let asleep = self.asleep.load(Ordering::SeqCst);
        if count >= asleep && asleep > 1 {
            self.wake.notify_all();
        } else {
            (0..count.min(asleep)).for_each(|_| self.wake.notify_one());
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// The workers that execute a batch together with its leader.
struct BatchWorkers<'a> {
    workers: &'a Workers,
    job: Arc<Job>,
}

impl<'a> BatchWorkers<'a> {
    fn new(workers: &'a Workers, run: &Arc<Run>) -> Self {
        let job = Arc::new(Job::new(run));
        let mut state = workers.lock();
        state.jobs.push(Arc::clone(&job));
        workers.sharing.store(state.jobs.len(), Ordering::Relaxed);
        workers.posted.fetch_add(1, Ordering::Relaxed);
        Self { workers, job }
    }

    /// Executes a segment. Returns false if the device was lost.
    fn run(
        &self,
        index: usize,
        segment: Range<usize>,
        counts: &[usize],
        completion: &Completion,
        spans: Option<&mut Vec<CommandTiming>>,
    ) -> Result<bool, BatchFault> {
        let Self { workers, job } = self;
        job.open(segment, counts, spans.is_some());
        if workers.sharing.load(Ordering::Relaxed) > 1 {
            // Workers that spin for the next segment of another batch look for tasks again.
            workers.posted.fetch_add(1, Ordering::Relaxed);
        }
        if workers.asleep.load(Ordering::SeqCst) > 0 {
            let _state = workers.lock();
            workers.wake_workers(workers.count - 1);
        }
        job.work(index, Some(completion));
        // If the device was lost meanwhile, the result no longer matters. A part that still runs
        // keeps the run alive.
        if !job.wait(completion, &workers.stopped) {
            return Ok(false);
        }
        if let Some(spans) = spans {
            spans.extend(job.spans());
        }
        job.fault().map_or(Ok(true), Err)
    }
}

impl Drop for BatchWorkers<'_> {
    fn drop(&mut self) {
        self.job.finish();
        let mut state = self.workers.lock();
        state.jobs.retain(|other| !Arc::ptr_eq(other, &self.job));
        self.workers.sharing.store(state.jobs.len(), Ordering::Relaxed);
    }
}

impl State {
    /// Takes the first queued batch that conflicts neither with a running batch nor with one queued
    /// before it.
    fn take_ready(&mut self) -> Option<QueuedRun> {
        let window = self.queue.len().min(WINDOW);
        let free = |index: &usize| {
            let run = &self.queue[*index].run;
            let ahead = self.queue.iter().take(*index).map(|waiting| &waiting.run);
            !self.running.iter().chain(ahead).any(|other| run.conflicts(other))
        };
        let waiting = (0..window).find(free).and_then(|index| self.queue.remove(index))?;
        self.running.push(Arc::clone(&waiting.run));
        Some(waiting)
    }
}
