//! Two threads for the libraries that have no thread pool.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Threads per implementation.
pub(crate) const THREADS: usize = 2;

/// The calling thread and one worker thread.
pub(crate) struct Pool {
    work: Sender<Job>,
    done: Receiver<()>,
}

/// A reference to the caller's closure. The caller blocks until the worker replies, so the closure
/// outlives its use.
struct Job(&'static (dyn Fn() + Sync));

impl Pool {
    /// Starts the worker thread.
    pub(crate) fn new() -> Pool {
        let (work, jobs) = channel::<Job>();
        let (finished, done) = channel();
        thread::spawn(move || {
            for job in jobs {
                (job.0)();
                if finished.send(()).is_err() {
                    break;
                }
            }
        });
        Pool { work, done }
    }

    /// Runs `task` on both threads concurrently and returns when both have finished.
    pub(crate) fn both(&self, task: &(dyn Fn() + Sync)) {
        // SAFETY: the worker does not use the reference after this function returns: it replies
        // after its last use, and the reply is awaited below.
        let job = Job(unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(task) });
        self.work.send(job).expect("the worker lives as long as the pool");
        task();
        self.done.recv().expect("the worker answers every job");
    }

    /// Runs `piece` once for every index below `pieces`.
    pub(crate) fn share(&self, pieces: usize, piece: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let all = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= pieces {
                    break;
                }
                piece(index);
            }
        };
        if pieces == 1 { all() } else { self.both(&all) }
    }
}
