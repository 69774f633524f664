//! Copies by the HSA runtime, which uses the copy engines (SDMA) where it can.

use std::time::Duration;

use roci_hsa::Runtime;
use roci_hsa::abi::{SignalCondition, WaitState};
use roci_hsa::runtime::Signal;

/// Maximum wait for the end of a copy that was released at shutdown.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);

/// A copy in flight in the HSA runtime.
pub(crate) struct EngineCopy {
    /// Index of the command in the recording.
    pub(crate) command: u32,
    /// The copy starts when this signal is zero.
    pub(crate) start: Signal,
    /// Becomes zero when the copy has ended.
    pub(crate) done: Signal,
}

impl EngineCopy {
    /// Releases a queued copy that nothing else will start, and waits for it. It cannot be
    /// canceled, and until it has ended its signals and buffers must live. Returns whether it has
    /// ended.
    pub(crate) fn release(&self, ticks_per_second: u64) -> bool {
        self.start.store(0);
        let ticks = Runtime::ticks(RELEASE_TIMEOUT, ticks_per_second);
        self.done.wait(SignalCondition::LT, 1, ticks, WaitState::BLOCKED) < 1
    }
}
