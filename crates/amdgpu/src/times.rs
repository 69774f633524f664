//! When the commands of a batch ran, where somebody asked: each kernel has a completion signal of its own, to which the GPU
//! writes its clock.

use std::sync::atomic::Ordering;

use roci_hal::profile::{Clock, Span};
use roci_hsa::abi::SignalAttribute;
use roci_hsa::runtime::{Agent, Queue, Signal};

use crate::write::EngineCopy;

/// Signals that are kept for the next batch.
const SPARE: usize = 4096;

/// A kernel's own signal.
pub(crate) struct Probe {
    command: u32,
    signal: Signal,
}

/// The signals of a queue that measure.
#[derive(Default)]
pub(crate) struct Probes {
    /// Whether the queue writes times.
    on: bool,
    spare: Vec<Signal>,
}

impl Probes {
    /// Lets the queue write times from now on.
    pub(crate) fn switch_on(&mut self, queue: &Queue, gpu: &Agent) -> Result<(), roci_hsa::Error> {
        if !self.on {
            queue.set_profiling(true)?;
            gpu.runtime().set_copy_profiling(true)?;
            self.on = true;
        }
        Ok(())
    }

    /// A signal for a kernel.
    pub(crate) fn kernel(&mut self, gpu: &Agent, command: usize) -> Result<Probe, roci_hsa::Error> {
        let signal = match self.spare.pop() {
            Some(signal) => signal,
            // Nobody waits for it, so that it needs none of the few interrupts there are.
            None => gpu.runtime().create_signal(1, &[], SignalAttribute::AMD_GPU_ONLY)?,
        };
        let memory = signal.in_memory();
        memory.start_ts.store(0, Ordering::Relaxed);
        memory.end_ts.store(0, Ordering::Relaxed);
        memory.value.store(1, Ordering::Relaxed);
        Ok(Probe { command: command as u32, signal })
    }

    /// The signals of a batch that has ended, for the next one.
    pub(crate) fn give_back(&mut self, probes: Vec<Probe>) {
        let room = SPARE.saturating_sub(self.spare.len());
        self.spare.extend(probes.into_iter().map(|probe| probe.signal).take(room));
    }
}

impl Probe {
    /// The signal.
    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }
}

/// When kernels and copies that have ended ran, by the host's clock. What the runtime cannot tell is left out.
pub(crate) fn spans(gpu: &Agent, probes: &[Probe], copies: &[EngineCopy]) -> Vec<Span> {
    let runtime = gpu.runtime();
    let clock = runtime.timestamp_frequency().ok().and_then(|frequency| {
        // The runtime gives a GPU's times in ticks of the system's clock.
        Clock::read(1e9 / frequency as f64, || runtime.timestamp().ok())
    });
    let Some(clock) = clock else { return Vec::new() };
    let span = |command: u32, start: u64, end: u64| {
        let span = Span { command: command as usize, start: clock.instant(start), end: clock.instant(end) };
        (end != 0).then_some(span)
    };
    let kernels = probes.iter().filter_map(|probe| {
        let time = gpu.dispatch_time(&probe.signal).ok()?;
        span(probe.command, time.start, time.end)
    });
    let copies = copies.iter().filter_map(|copy| {
        let time = runtime.copy_time(&copy.done).ok()?;
        span(copy.command, time.start, time.end)
    });
    kernels.chain(copies).collect()
}
