//! Worker threads. Each leads a batch or helps with the parts of another worker's batch.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use roci_base::sync::{Condvar, Mutex, MutexGuard, lock, wait};
use roci_hal::driver::{BatchFault, Completion};
use roci_hal::profile::CommandTiming;

use crate::affinity::{pin, processors_for};
use crate::job::{Job, count, run_part};
use crate::run::Run;

/// Number of queued batches considered for starting. Batches behind this window wait.
const WINDOW: usize = 64;
/// How long an idle worker spins while a batch is running. The next segment is near, and a wakeup
/// takes longer than many kernels.
const SPIN_TIME: Duration = Duration::from_micros(1000);
/// Spin iterations between two reads of the clock.
const SPINS_PER_CLOCK_READ: usize = 32;

pub(crate) struct Workers {
    state: Mutex<State>,
    wake: Condvar,
    stopped: AtomicBool,
    /// Number of tasks ever posted; spinning workers watch it.
    posted: AtomicUsize,
    count: usize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<QueuedRun>,
    running: Vec<Arc<Run>>,
    jobs: Vec<Arc<Job>>,
    asleep: usize,
}

struct QueuedRun {
    run: Arc<Run>,
    completion: Completion,
}

enum Task {
    Lead(QueuedRun),
    Help(Arc<Job>),
}

impl Workers {
    pub(crate) fn start(count: usize) -> std::io::Result<Arc<Self>> {
        let workers = Arc::new(Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            stopped: AtomicBool::new(false),
            posted: AtomicUsize::new(0),
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
                self.wake_workers(&state, 1);
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
        while let Some(task) = self.next_task() {
            match task {
                Task::Lead(QueuedRun { run, completion }) => {
                    let result = self.lead(index, &run, &completion);
                    self.retire(&run);
                    drop(run);
                    completion.finish(result);
                }
                Task::Help(job) => job.work(index, None),
            }
        }
    }

    fn next_task(&self) -> Option<Task> {
        let mut state = self.lock();
        let mut spun = false;
        loop {
            if self.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = state.jobs.iter().find(|job| job.has_parts()) {
                return Some(Task::Help(Arc::clone(job)));
            }
            if let Some(waiting) = state.take_ready() {
                return Some(Task::Lead(waiting));
            }
            if !spun && !state.running.is_empty() {
                let posted = self.posted.load(Ordering::Relaxed);
                drop(state);
                self.spin(posted);
                spun = true;
                state = self.lock();
                continue;
            }
            state.asleep += 1;
            state = wait(&self.wake, state);
            state.asleep -= 1;
            spun = false;
        }
    }

    /// Spins until a task is posted after `seen`, or the time is up.
    fn spin(&self, seen: usize) {
        let began = Instant::now();
        while began.elapsed() < SPIN_TIME {
            for _ in 0..SPINS_PER_CLOCK_READ {
                if self.posted.load(Ordering::Relaxed) != seen || self.stopped.load(Ordering::Relaxed) {
                    return;
                }
                std::hint::spin_loop();
            }
        }
    }

    /// Executes a batch. Segments that are large enough are shared with the other workers.
    fn lead(&self, index: usize, run: &Arc<Run>, completion: &Completion) -> Result<(), BatchFault> {
        // A batch without steps still counts as started.
        completion.progress(0);
        // Parts per step of the segment. Queried once, because each query validates the launch.
        let mut counts = Vec::new();
        let mut spans = completion.wants_timing().then(Vec::new);
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
                self.share(index, run, segment, &counts, completion, spans.as_mut())?;
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

    fn share(
        &self,
        index: usize,
        run: &Arc<Run>,
        segment: Range<usize>,
        counts: &[usize],
        completion: &Completion,
        spans: Option<&mut Vec<CommandTiming>>,
    ) -> Result<(), BatchFault> {
        let job = Arc::new(Job::new(run, segment, counts, spans.is_some()));
        {
            let mut state = self.lock();
            state.jobs.push(Arc::clone(&job));
            self.posted.fetch_add(1, Ordering::Relaxed);
            self.wake_workers(&state, self.count - 1);
        }
        job.work(index, Some(completion));
        self.lock().jobs.retain(|other| !Arc::ptr_eq(other, &job));
        // If the device was lost meanwhile, the result no longer matters. A part that still runs
        // keeps the run alive.
        if !job.wait(completion, &self.stopped) {
            return Ok(());
        }
        if let Some(spans) = spans {
            spans.extend(job.spans());
        }
        job.fault().map_or(Ok(()), Err)
    }

    /// Removes a finished batch; batches that conflict with it may start.
    fn retire(&self, run: &Arc<Run>) {
        let mut state = self.lock();
        state.running.retain(|other| !Arc::ptr_eq(other, run));
        self.wake_workers(&state, state.queue.len());
    }

    /// Wakes up to `count` sleeping workers.
    fn wake_workers(&self, state: &State, count: usize) {
        for _ in 0..count.min(state.asleep) {
            self.wake.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
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
