//! Faults of devices, and who is told of them.

#![expect(unsafe_code, reason = "handlers are functions of C")]

use std::io::Write;

use parking_lot::Mutex;
use roci_hsa::abi::{
    Agent, Event, EventInfo, EventType, MemoryFaultInfo, MemoryFaultReason, Status, SystemEventCallback, c_void,
};

/// Functions of the client that want to know of faults.
pub(crate) struct Events {
    handlers: Mutex<Vec<Handler>>,
    quiet: bool,
}

/// The last fault of this process in words.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// What the last fault of an emulated GPU in this process was: kernel, workgroup, wave, instruction and reason.
pub fn last_fault() -> Option<String> {
    LAST.lock().clone()
}

#[derive(Clone, Copy)]
struct Handler {
    function: SystemEventCallback,
    data: *mut c_void,
}

// SAFETY: the client gives function and data to be used on a thread of the runtime.
unsafe impl Send for Handler {}

impl Events {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { handlers: Mutex::default(), quiet }
    }

    /// Notes what happened on a GPU, for those who ask and those who watch.
    pub(crate) fn note(&self, agent: Agent, text: &str) {
        if !self.quiet {
            say(&format!("agent {}: {text}", agent.handle));
        }
        *LAST.lock() = Some(text.to_owned());
    }

    /// Adds a function.
    pub(crate) fn register(&self, function: SystemEventCallback, data: *mut c_void) -> Result<(), Status> {
        self.handlers.lock().push(Handler { function, data });
        Ok(())
    }

    /// Tells of a memory fault; whether anyone wanted to know.
    pub(crate) fn memory_fault(&self, agent: Agent, address: u64, reason: MemoryFaultReason) -> bool {
        let memory_fault = MemoryFaultInfo { agent, virtual_address: address, fault_reason_mask: reason };
        let event = Event { event_type: EventType::MEMORY_FAULT_EVENT, info: EventInfo { memory_fault } };
        let handlers = self.handlers.lock().clone();
        let mut handled = false;
        for handler in &handlers {
            // SAFETY: the client gave both to be called so.
            handled |= unsafe { (handler.function)(&raw const event, handler.data) } == Status::SUCCESS;
        }
        handled
    }
}

/// Says something to whoever watches the process: what a client's callbacks cannot be told.
pub(crate) fn say(text: &str) {
    // There is no one to tell that this failed.
    let _ = writeln!(std::io::stderr().lock(), "roci emulated GPU: {text}");
}
