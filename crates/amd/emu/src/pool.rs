//! Helper threads for dispatches. They are kept between dispatches, because starting a thread takes
//! longer than many kernels.

#![expect(unsafe_code, reason = "threads that outlive a call run what it borrows; the call waits for them")]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

#[derive(Debug, Default)]
pub(crate) struct ThreadPool {
    shared: Arc<PoolShared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct PoolShared {
    state: Mutex<PoolState>,
    /// Signaled when there is a job, or on shutdown.
    begin: Condvar,
    /// Signaled when a helper has finished its part of a job.
    end: Condvar,
}

#[derive(Debug, Default)]
struct PoolState {
    jobs: VecDeque<Job>,
    /// Number of idle helpers.
    idle: usize,
    /// Next job number.
    next: u64,
    closed: bool,
}

/// A job and its helpers.
#[derive(Debug)]
struct Job {
    number: u64,
    work: JobFn,
    /// Helpers that may still join.
    openings: usize,
    /// Helpers that are running it.
    running: usize,
    panicked: bool,
}

/// A function pointer without its lifetime; [`ThreadPool::run`] keeps the function alive.
#[derive(Clone, Copy, Debug)]
struct JobFn(*const (dyn Fn() + Sync));

// SAFETY: the function may be called from any thread, and `ThreadPool::run` keeps it alive until
// the last call has ended.
unsafe impl Send for JobFn {}

impl PoolShared {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ThreadPool {
    /// Calls `work` on this thread and on up to `helpers` others. Returns when all calls have
    /// ended.
    pub(crate) fn run(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        if helpers == 0 {
            return work();
        }
        // SAFETY: only the lifetime changes; this call does not return, not even by panicking,
        // before the last use.
        let erased = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
        let number = self.offer(helpers, JobFn(erased));
        let own = catch_unwind(AssertUnwindSafe(work));
        let panicked = self.withdraw(number);
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!panicked, "a thread that helped with a dispatch panicked");
    }

    /// Publishes a job and starts threads if too few are idle.
    fn offer(&self, helpers: usize, work: JobFn) -> u64 {
        let mut state = self.shared.lock();
        let number = state.next;
        state.next += 1;
        state.jobs.push_back(Job { number, work, openings: helpers, running: 0, panicked: false });
        let missing = helpers.saturating_sub(state.idle);
        drop(state);
        if missing > 0 {
            self.start(helpers);
        }
        self.shared.begin.notify_all();
        number
    }

    /// Starts threads up to this number. If that fails, the job takes longer.
    fn start(&self, most: usize) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        while threads.len() < most {
            let shared = Arc::clone(&self.shared);
            let Ok(thread) = std::thread::Builder::new().name("roci-emu".to_owned()).spawn(move || help(&shared))
            else {
                return;
            };
            threads.push(thread);
        }
    }

    /// Closes a job and waits for its helpers. Returns whether one of them panicked.
    fn withdraw(&self, number: u64) -> bool {
        let mut state = self.shared.lock();
        loop {
            let Some(index) = state.jobs.iter().position(|job| job.number == number) else { return false };
            state.jobs[index].openings = 0;
            if state.jobs[index].running == 0 {
                return state.jobs.remove(index).is_some_and(|job| job.panicked);
            }
            state = self.shared.end.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Main loop of a helper.
fn help(shared: &PoolShared) {
    let mut state = shared.lock();
    loop {
        if let Some(job) = state.jobs.iter_mut().find(|job| job.openings > 0) {
            job.openings -= 1;
            job.running += 1;
            let (number, work) = (job.number, job.work);
            drop(state);
            // SAFETY: `ThreadPool::run` waits for this call.
            let function = unsafe { &*work.0 };
            let panicked = catch_unwind(AssertUnwindSafe(function)).is_err();
            state = shared.lock();
            if let Some(job) = state.jobs.iter_mut().find(|job| job.number == number) {
                job.running -= 1;
                job.panicked |= panicked;
            }
            shared.end.notify_all();
        } else if state.closed {
            return;
        } else {
            state.idle += 1;
            state = shared.begin.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.begin.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // Helpers catch panics, so the join succeeds.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn run_returns_after_all_calls() {
        let pool = ThreadPool::default();
        for round in 0..200 {
            let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            pool.run(round % 4, &|| {
                begun.fetch_add(1, Ordering::SeqCst);
                std::thread::yield_now();
                ended.fetch_add(1, Ordering::SeqCst);
            });
            let (begun, ended) = (begun.into_inner(), ended.into_inner());
            assert!(begun == ended && (1..=1 + round % 4).contains(&begun), "{begun} begun, {ended} ended");
        }
    }

    #[test]
    fn jobs_run_concurrently() {
        let pool = ThreadPool::default();
        let calls = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        pool.run(2, &|| {
                            calls.fetch_add(1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert!(calls.into_inner() >= 400);
    }

    #[test]
    fn a_panic_reaches_the_caller() {
        let pool = ThreadPool::default();
        let (here, elsewhere) = (std::thread::current().id(), AtomicUsize::new(0));
        let run = catch_unwind(AssertUnwindSafe(|| {
            pool.run(1, &|| {
                if std::thread::current().id() == here {
                    while elsewhere.load(Ordering::SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                } else {
                    elsewhere.store(1, Ordering::SeqCst);
                    panic!("on purpose");
                }
            });
        }));
        assert!(run.is_err());
        pool.run(1, &|| {});
    }
}
