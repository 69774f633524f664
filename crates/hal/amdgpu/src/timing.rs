//! Timing of commands, on request: each kernel gets its own completion signal, to which the GPU
//! writes start and end timestamps.

use std::sync::atomic::Ordering;

use roci_hal::profile::{Clock, CommandTiming};
use roci_hsa::abi::SignalAttribute;
use roci_hsa::runtime::{Agent, Queue, Signal};

use crate::engine_copy::EngineCopy;

/// Maximum number of spare signals kept for reuse.
const MAX_SPARE: usize = 4096;

/// The completion signal of one kernel, for timing.
pub(crate) struct ProfilingSignal {
    command: u32,
    signal: Signal,
}

/// Pool of profiling signals of a queue.
#[derive(Default)]
pub(crate) struct ProfilingSignals {
    /// Whether the queue writes timestamps.
    enabled: bool,
    spare: Vec<Signal>,
}

impl ProfilingSignals {
    /// Enables timestamps for the queue and for copies.
    pub(crate) fn enable(&mut self, queue: &Queue, gpu: &Agent) -> Result<(), roci_hsa::Error> {
        if !self.enabled {
            queue.set_profiling(true)?;
            gpu.runtime().set_copy_profiling(true)?;
            self.enabled = true;
        }
        Ok(())
    }

    /// A reset signal for a kernel.
    pub(crate) fn acquire(&mut self, gpu: &Agent, command: usize) -> Result<ProfilingSignal, roci_hsa::Error> {
        let signal = match self.spare.pop() {
            Some(signal) => signal,
            // No host thread waits for it, so it does not take one of the few interrupt events.
            None => gpu.runtime().create_signal(1, &[], SignalAttribute::AMD_GPU_ONLY)?,
        };
        let memory = signal.in_memory();
        memory.start_ts.store(0, Ordering::Relaxed);
        memory.end_ts.store(0, Ordering::Relaxed);
        memory.value.store(1, Ordering::Relaxed);
        Ok(ProfilingSignal { command: command as u32, signal })
    }

    /// Takes back the signals of a completed batch.
    pub(crate) fn recycle(&mut self, signals: Vec<ProfilingSignal>) {
        let room = MAX_SPARE.saturating_sub(self.spare.len());
        self.spare.extend(signals.into_iter().map(|signal| signal.signal).take(room));
    }
}

impl ProfilingSignal {
    /// The HSA signal.
    pub(crate) fn signal(&self) -> &Signal {
        &self.signal
    }
}

/// Timings of completed kernels and copies in host time. Omits those that the runtime cannot
/// report.
pub(crate) fn timings(gpu: &Agent, signals: &[ProfilingSignal], copies: &[EngineCopy]) -> Vec<CommandTiming> {
    let runtime = gpu.runtime();
    let clock = runtime.timestamp_frequency().ok().and_then(|frequency| {
        // The runtime converts GPU timestamps to ticks of the system clock.
        Clock::read(1e9 / frequency as f64, || runtime.timestamp().ok())
    });
    let Some(clock) = clock else { return Vec::new() };
    let timing = |command: u32, start: u64, end: u64| {
        let timing = CommandTiming { command: command as usize, start: clock.instant(start), end: clock.instant(end) };
        (end != 0).then_some(timing)
    };
    let kernels = signals.iter().filter_map(|signal| {
        let time = gpu.dispatch_time(&signal.signal).ok()?;
        timing(signal.command, time.start, time.end)
    });
    let copies = copies.iter().filter_map(|copy| {
        let time = runtime.copy_time(&copy.done).ok()?;
        timing(copy.command, time.start, time.end)
    });
    kernels.chain(copies).collect()
}
