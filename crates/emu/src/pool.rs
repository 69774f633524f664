//! Threads that help with dispatches and wait between them: starting new ones takes longer than many a kernel.

#![expect(unsafe_code, reason = "threads that outlive a call run what it borrows; the call waits for them")]

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The threads.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is work, or there will be none any more.
    begin: Condvar,
    /// Help with a job has ended.
    end: Condvar,
}

#[derive(Debug, Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Helpers that wait.
    idle: usize,
    /// Numbers for jobs.
    next: u64,
    closed: bool,
}

/// What is to be done by how many.
#[derive(Debug)]
struct Job {
    number: u64,
    work: Work,
    /// Helpers that may still begin.
    wanted: usize,
    /// Helpers that have begun and not ended.
    running: usize,
    panicked: bool,
}

/// A borrowed function whose borrow is guarded by [`Pool::run`].
#[derive(Clone, Copy, Debug)]
struct Work(*const (dyn Fn() + Sync));

// SAFETY: the function may be called from any thread, and `Pool::run` keeps it alive until the last call has ended.
unsafe impl Send for Work {}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// Calls `work` on this thread and on up to `helpers` others; returns when all calls have ended.
    pub(crate) fn run(&self, helpers: usize, work: &(dyn Fn() + Sync)) {
        if helpers == 0 {
            return work();
        }
        // SAFETY: only the lifetime changes; this call does not end, not even by a panic, before all uses have.
        let erased = unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(work) };
        let number = self.offer(helpers, Work(erased));
        let own = catch_unwind(AssertUnwindSafe(work));
        let panicked = self.withdraw(number);
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!panicked, "a thread that helped with a dispatch panicked");
    }

    /// Lets helpers begin, starting threads where too few wait.
    fn offer(&self, helpers: usize, work: Work) -> u64 {
        let mut state = self.shared.lock();
        let number = state.next;
        state.next += 1;
        state.jobs.push_back(Job { number, work, wanted: helpers, running: 0, panicked: false });
        let missing = helpers.saturating_sub(state.idle);
        drop(state);
        if missing > 0 {
            self.start(helpers);
        }
        self.shared.begin.notify_all();
        number
    }

    /// Sees to it that there are so many threads; with fewer, for want of resources, the work takes longer.
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

    /// Lets no one else begin and waits for those who have; whether one of them panicked.
    fn withdraw(&self, number: u64) -> bool {
        let mut state = self.shared.lock();
        loop {
            let Some(index) = state.jobs.iter().position(|job| job.number == number) else { return false };
            state.jobs[index].wanted = 0;
            if state.jobs[index].running == 0 {
                return state.jobs.remove(index).is_some_and(|job| job.panicked);
            }
            state = self.shared.end.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What a helper does all its life.
fn help(shared: &Shared) {
    let mut state = shared.lock();
    loop {
        if let Some(job) = state.jobs.iter_mut().find(|job| job.wanted > 0) {
            job.wanted -= 1;
            job.running += 1;
            let (number, work) = (job.number, job.work);
            drop(state);
            // SAFETY: `Pool::run` waits for this call.
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

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.begin.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A helper hands panics on, so it ends well.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn all_calls_have_ended_when_it_returns() {
        let pool = Pool::default();
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
    fn several_at_once() {
        let pool = Pool::default();
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
        let pool = Pool::default();
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
