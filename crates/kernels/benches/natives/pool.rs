//! Two threads for the peers that bring none of their own.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Threads that every contestant gets.
pub(crate) const THREADS: usize = 2;

/// The calling thread and one helper.
pub(crate) struct Pool {
    work: Sender<Job>,
    done: Receiver<()>,
}

/// A reference to the caller's closure, which waits for the answer before it returns.
struct Job(&'static (dyn Fn() + Sync));

impl Pool {
    /// Starts the helper.
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

    /// Runs `task` on both threads at once and returns when both are done.
    pub(crate) fn both(&self, task: &(dyn Fn() + Sync)) {
        // SAFETY: the helper is done with the reference before this function returns: it answers after its last use,
        // and the answer is awaited below.
        let job = Job(unsafe { std::mem::transmute::<&(dyn Fn() + Sync), &'static (dyn Fn() + Sync)>(task) });
        self.work.send(job).expect("the helper lives as long as the pool");
        task();
        self.done.recv().expect("the helper answers every job");
    }

    /// Runs `piece` for every index below `pieces`, each once.
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
