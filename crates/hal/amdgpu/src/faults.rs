//! Faults that the runtime reports per GPU: memory faults with their address, resets. Errors of
//! queues have less detail, and AMD's runtime does not report memory faults to queues at all.
//!
//! The list is global to the process, because a runtime reports each fault once, regardless of the
//! driver and queue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use roci_hsa::Runtime;
use roci_hsa::abi::Event;
use roci_hsa::runtime::Agent;

/// Describes the last fault in words.
pub(crate) type LastFault = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// Time in which the failing queue can claim a fault. After that, the fault applies to all queues
/// of its GPU.
const CLAIM_TIME: Duration = Duration::from_millis(50);
/// Maximum number of faults kept; older ones are dropped.
const MAX_REPORTED: usize = 64;

/// Reported faults, oldest first.
static REPORTED: Mutex<Vec<ReportedFault>> = Mutex::new(Vec::new());

struct ReportedFault {
    agent: u64,
    at: Instant,
    text: String,
}

/// Registers for a runtime's fault events. Fails silently if another part of the process has
/// registered: faults then have less detail.
pub(crate) fn watch(runtime: &Runtime) {
    let _ = runtime.on_system_event(on_event);
}

fn on_event(event: &Event) {
    let Some(details) = event.details() else { return };
    let (agent, text) = (details.agent().handle, details.to_string());
    let mut reported = REPORTED.lock();
    let is_it = |fault: &ReportedFault| fault.agent == agent && fault.text == text;
    // Several drivers may register with one runtime and receive the same fault.
    if reported.iter().any(|fault| is_it(fault) && fault.at.elapsed() < CLAIM_TIME) {
        return;
    }
    reported.retain(|fault| !is_it(fault));
    if reported.len() == MAX_REPORTED {
        reported.remove(0);
    }
    reported.push(ReportedFault { agent, at: Instant::now(), text });
}

/// Takes the newest recent fault of a GPU, on behalf of a queue that just failed.
pub(crate) fn claim(gpu: &Agent) -> Option<String> {
    let mut reported = REPORTED.lock();
    let is_its = |fault: &ReportedFault| fault.agent == gpu.handle().handle && fault.at.elapsed() < CLAIM_TIME;
    let index = reported.iter().rposition(is_its)?;
    Some(reported.remove(index).text)
}

/// A fault of a GPU since `since` that no queue has claimed in time.
pub(crate) fn unclaimed(gpu: &Agent, since: Instant) -> Option<String> {
    let is_it = |fault: &&ReportedFault| {
        fault.agent == gpu.handle().handle && fault.at >= since && fault.at.elapsed() >= CLAIM_TIME
    };
    REPORTED.lock().iter().find(is_it).map(|fault| fault.text.clone())
}
