//! Copies that run beside the queues, as those of a copy engine do.

#![expect(unsafe_code, reason = "memory is copied by its addresses")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use roci_hsa::abi::Signal;

use crate::{signal, wake};

/// Lines of bytes at regular distances: one line is a plain copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) to: u64,
    pub(crate) from: u64,
    /// Bytes of a line.
    pub(crate) bytes: usize,
    /// Lines of a plane, and planes.
    pub(crate) counts: [u64; 2],
    /// From line to line, and from plane to plane, of the target.
    pub(crate) to_steps: [u64; 2],
    /// The same of the source.
    pub(crate) from_steps: [u64; 2],
}

impl Lines {
    /// A plain copy.
    pub(crate) fn plain(to: u64, from: u64, bytes: usize) -> Self {
        Self { to, from, bytes, counts: [1, 1], to_steps: [0; 2], from_steps: [0; 2] }
    }

    /// Copies.
    ///
    /// # Safety
    /// All lines are live memory; those of the source are readable, those of the target writable.
    pub(crate) unsafe fn copy(&self) {
        for plane in 0..self.counts[1] {
            for line in 0..self.counts[0] {
                let place = |start: u64, steps: [u64; 2]| (start + line * steps[0] + plane * steps[1]) as usize;
                let to = std::ptr::with_exposed_provenance_mut::<u8>(place(self.to, self.to_steps));
                let from = std::ptr::with_exposed_provenance::<u8>(place(self.from, self.from_steps));
                // SAFETY: the caller's promise; a client may copy within one buffer.
                unsafe { std::ptr::copy(from, to, self.bytes) };
            }
        }
    }
}

/// A copy that is to run once its signals are zero.
struct Job {
    /// Nothing is copied for those that only wait.
    lines: Option<Lines>,
    after: Vec<Signal>,
    done: Signal,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<Vec<Job>>,
    ended: AtomicBool,
}

/// The copies, and the thread that makes them.
#[derive(Default)]
pub(crate) struct Copies {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether copies note when they began and ended.
    pub(crate) timed: Arc<AtomicBool>,
}

impl Copies {
    /// Copies once all signals are zero, then completes a signal. `false` if there is no thread.
    ///
    /// # Safety
    /// Until then all lines are live memory; those of the source are readable, those of the target writable.
    pub(crate) unsafe fn add(
        &self,
        lines: Option<Lines>,
        after: &[Signal],
        done: Signal,
        clock: impl Fn() -> u64 + Send + 'static,
    ) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (shared, timed) = (Arc::clone(&self.shared), Arc::clone(&self.timed));
            let started =
                std::thread::Builder::new().name("roci-copies".to_owned()).spawn(move || serve(&shared, &timed, clock));
            let Ok(started) = started else { return false };
            *thread = Some(started);
        }
        self.shared.jobs.lock().push(Job { lines, after: after.to_vec(), done });
        wake::changed();
        true
    }

    /// Copies no more.
    pub(crate) fn end(&self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        wake::changed();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

fn serve(shared: &Shared, timed: &AtomicBool, clock: impl Fn() -> u64) {
    let ready = |job: &Job| job.after.iter().all(|after| signal::load(*after) == 0);
    loop {
        let next = wake::wait_until(None, false, || {
            if shared.ended.load(Ordering::SeqCst) {
                return Some(None);
            }
            // Those that wait do not hold up the others.
            let mut jobs = shared.jobs.lock();
            let index = jobs.iter().position(ready)?;
            Some(Some(jobs.remove(index)))
        });
        let Some(Some(job)) = next else { return };
        let start = clock();
        if let Some(lines) = job.lines {
            // SAFETY: whoever added it promised so.
            unsafe { lines.copy() };
        }
        if let Some(done) = signal::of(job.done).filter(|_| timed.load(Ordering::Relaxed)) {
            done.start_ts.store(start, Ordering::Relaxed);
            done.end_ts.store(clock(), Ordering::Relaxed);
        }
        signal::complete(job.done);
    }
}
