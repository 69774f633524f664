//! Faults that the runtime tells of GPUs as a whole: a memory fault's address, a reset. A queue's own error says less, and
//! AMD's runtime does not tell queues of memory faults at all.
//!
//! One list serves the process, as runtimes tell of faults once for all who listen, whichever driver's queue it was.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use roci_hsa::Runtime;
use roci_hsa::abi::Event;
use roci_hsa::runtime::Agent;

/// How long a fault waits for the queue that it comes from to say so. After that it belongs to every queue of its GPU.
const GRACE: Duration = Duration::from_millis(50);
/// Faults that are kept: of a GPU that fails again and again the newest tell enough.
const KEPT: usize = 64;

/// What was told.
static NOTED: Mutex<Vec<Noted>> = Mutex::new(Vec::new());

struct Noted {
    agent: u64,
    at: Instant,
    text: String,
}

/// Listens to a runtime from now on. Where another part of the process does so already, less is known of faults.
pub(crate) fn watch(runtime: &Runtime) {
    let _ = runtime.on_system_event(note);
}

fn note(event: &Event) {
    let Some(details) = event.details() else { return };
    let (agent, text) = (details.agent().handle, details.to_string());
    let mut noted = NOTED.lock();
    let is_it = |fault: &Noted| fault.agent == agent && fault.text == text;
    // Several drivers may listen to one runtime, and are told of the same fault within moments.
    if noted.iter().any(|fault| is_it(fault) && fault.at.elapsed() < GRACE) {
        return;
    }
    noted.retain(|fault| !is_it(fault));
    if noted.len() == KEPT {
        noted.remove(0);
    }
    noted.push(Noted { agent, at: Instant::now(), text });
}

/// Takes the newest fault of a GPU, for the queue that just failed. An older one is not its.
pub(crate) fn claim(gpu: &Agent) -> Option<String> {
    let mut noted = NOTED.lock();
    let is_its = |fault: &Noted| fault.agent == gpu.handle().handle && fault.at.elapsed() < GRACE;
    let index = noted.iter().rposition(is_its)?;
    Some(noted.remove(index).text)
}

/// A fault of a GPU since a time that no queue has claimed.
pub(crate) fn unclaimed(gpu: &Agent, since: Instant) -> Option<String> {
    let is_it = |fault: &&Noted| fault.agent == gpu.handle().handle && fault.at >= since && fault.at.elapsed() >= GRACE;
    NOTED.lock().iter().find(is_it).map(|fault| fault.text.clone())
}
