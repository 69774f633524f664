//! Faults of GPUs and the system event handlers of clients.

#![expect(unsafe_code, reason = "handlers are C functions")]

use std::io::Write;

use parking_lot::Mutex;
use roci_hsa::abi::{
    Agent, Event, EventInfo, EventType, MemoryFaultInfo, MemoryFaultReason, Status, SystemEventCallback, c_void,
};

/// System event handlers.
pub(crate) struct Events {
    handlers: Mutex<Vec<SystemEventHandler>>,
    /// Faults are not written to standard error.
    quiet: bool,
}

/// Description of the last fault in this process.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// Describes the last fault of an emulated GPU in this process: kernel, workgroup, wave,
/// instruction and reason.
pub fn last_fault() -> Option<String> {
    LAST.lock().clone()
}

#[derive(Clone, Copy)]
struct SystemEventHandler {
    function: SystemEventCallback,
    data: *mut c_void,
}

// SAFETY: the HSA specification lets the runtime call the function with the data on any thread.
unsafe impl Send for SystemEventHandler {}

impl Events {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { handlers: Mutex::default(), quiet }
    }

    /// Stores the message for [`last_fault`] and writes it to standard error unless quiet.
    pub(crate) fn record(&self, agent: Agent, message: &str) {
        if !self.quiet {
            log(&format!("agent {}: {message}", agent.handle));
        }
        *LAST.lock() = Some(message.to_owned());
    }

    /// Registers a system event handler.
    pub(crate) fn register(&self, function: SystemEventCallback, data: *mut c_void) -> Result<(), Status> {
        self.handlers.lock().push(SystemEventHandler { function, data });
        Ok(())
    }

    /// Calls all handlers for a memory fault; whether at least one handled it.
    pub(crate) fn memory_fault(&self, agent: Agent, address: u64, reason: MemoryFaultReason) -> bool {
        let memory_fault = MemoryFaultInfo { agent, virtual_address: address, fault_reason_mask: reason };
        let event = Event { event_type: EventType::MEMORY_FAULT_EVENT, info: EventInfo { memory_fault } };
        let handlers = self.handlers.lock().clone();
        let mut handled = false;
        for handler in &handlers {
            // SAFETY: the client registered the function to be called with this data.
            handled |= unsafe { (handler.function)(&raw const event, handler.data) } == Status::SUCCESS;
        }
        handled
    }
}

/// Writes a message to standard error, for errors that no callback can report.
pub(crate) fn log(message: &str) {
    // Nothing can report a failed write to standard error.
    let _ = writeln!(std::io::stderr().lock(), "roci emulated GPU: {message}");
}
