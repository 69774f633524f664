//! Asynchronous copies, which run concurrently with the queues, as on the copy engines (SDMA) of a
//! GPU.

#![expect(unsafe_code, reason = "copies go from address to address")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use roci_hsa::abi::Signal;

use crate::{signal, wake};

/// A copy of rows at regular distances; one row is a linear copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyRegion {
    pub(crate) destination: u64,
    pub(crate) source: u64,
    pub(crate) row_bytes: usize,
    /// Rows per slice, and slices.
    pub(crate) counts: [u64; 2],
    /// Row pitch and slice pitch in bytes.
    pub(crate) destination_pitches: [u64; 2],
    /// Row pitch and slice pitch in bytes.
    pub(crate) source_pitches: [u64; 2],
}

impl CopyRegion {
    pub(crate) fn linear(destination: u64, source: u64, bytes: usize) -> Self {
        Self {
            destination,
            source,
            row_bytes: bytes,
            counts: [1, 1],
            destination_pitches: [0; 2],
            source_pitches: [0; 2],
        }
    }

    /// Copies all rows.
    ///
    /// # Safety
    /// All rows are mapped; those of the source are readable, those of the destination writable.
    pub(crate) unsafe fn copy(&self) {
        for slice in 0..self.counts[1] {
            for row in 0..self.counts[0] {
                let address = |start: u64, pitches: [u64; 2]| (start + row * pitches[0] + slice * pitches[1]) as usize;
                let destination = address(self.destination, self.destination_pitches);
                let source = address(self.source, self.source_pitches);
                let destination = std::ptr::with_exposed_provenance_mut::<u8>(destination);
                let source = std::ptr::with_exposed_provenance::<u8>(source);
                // SAFETY: the caller guarantees both rows; `copy` allows them to overlap.
                unsafe { std::ptr::copy(source, destination, self.row_bytes) };
            }
        }
    }
}

/// A submitted copy.
struct CopyJob {
    /// `None` to only complete the signal.
    region: Option<CopyRegion>,
    /// All must be 0 before the copy starts.
    dependencies: Vec<Signal>,
    completion: Signal,
}

#[derive(Default)]
struct CopyThreadState {
    jobs: Mutex<Vec<CopyJob>>,
    stop: AtomicBool,
}

/// Submitted copies, and the thread that runs them.
#[derive(Default)]
pub(crate) struct CopyEngine {
    shared: Arc<CopyThreadState>,
    /// Started with the first copy.
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Whether copies store start and end times in their completion signals.
    pub(crate) profiling: Arc<AtomicBool>,
}

impl CopyEngine {
    /// Copies once all dependencies are 0, then completes a signal. `false` if the thread cannot be
    /// started.
    ///
    /// # Safety
    /// Until the completion, all rows are mapped; those of the source are readable, those of the
    /// destination writable.
    pub(crate) unsafe fn submit(
        &self,
        region: Option<CopyRegion>,
        dependencies: &[Signal],
        completion: Signal,
        clock: impl Fn() -> u64 + Send + 'static,
    ) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (shared, profiling) = (Arc::clone(&self.shared), Arc::clone(&self.profiling));
            let started = std::thread::Builder::new()
                .name("roci-copies".to_owned())
                .spawn(move || serve(&shared, &profiling, clock));
            let Ok(started) = started else { return false };
            *thread = Some(started);
        }
        self.shared.jobs.lock().push(CopyJob { region, dependencies: dependencies.to_vec(), completion });
        wake::notify();
        true
    }

    /// Stops and joins the thread; copies that have not started are dropped.
    pub(crate) fn shut_down(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        wake::notify();
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

fn serve(shared: &CopyThreadState, profiling: &AtomicBool, clock: impl Fn() -> u64) {
    let ready = |job: &CopyJob| job.dependencies.iter().all(|dependency| signal::load(*dependency) == 0);
    loop {
        let next = wake::wait_until(None, false, || {
            if shared.stop.load(Ordering::SeqCst) {
                return Some(None);
            }
            // A job whose dependencies are not met does not block later ones.
            let mut jobs = shared.jobs.lock();
            let index = jobs.iter().position(ready)?;
            Some(Some(jobs.remove(index)))
        });
        let Some(Some(job)) = next else { return };
        let start = clock();
        if let Some(region) = job.region {
            // SAFETY: the caller of `submit` guarantees the memory until the completion.
            unsafe { region.copy() };
        }
        if let Some(completion) = signal::memory(job.completion).filter(|_| profiling.load(Ordering::Relaxed)) {
            completion.start_ts.store(start, Ordering::Relaxed);
            completion.end_ts.store(clock(), Ordering::Relaxed);
        }
        signal::complete(job.completion);
    }
}
