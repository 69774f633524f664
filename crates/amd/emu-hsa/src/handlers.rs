//! Signal handlers: functions of the client that are called when a signal meets a condition.

#![expect(unsafe_code, reason = "handlers are C functions")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use roci_hsa::abi::{AsyncFunction, Signal, SignalCondition, SignalHandler, c_void};

use crate::{signal, wake};

/// A registered handler.
#[derive(Clone, Copy)]
struct SignalHandlerEntry {
    /// Null to be called at once.
    signal: Signal,
    condition: SignalCondition,
    /// Value to compare the signal with.
    value: i64,
    callback: HandlerCallback,
    argument: *mut c_void,
}

#[derive(Clone, Copy)]
pub(crate) enum HandlerCallback {
    /// Stays registered as long as it returns true.
    Repeated(SignalHandler),
    Once(AsyncFunction),
}

// SAFETY: the HSA specification lets the runtime call the callback with its argument on any thread.
unsafe impl Send for SignalHandlerEntry {}

impl SignalHandlerEntry {
    /// Value of the signal if it meets the condition.
    fn ready(&self) -> Option<i64> {
        if self.signal.is_null() {
            return Some(0);
        }
        let current = signal::load(self.signal);
        self.condition.holds(current, self.value).then_some(current)
    }
}

#[derive(Default)]
struct HandlerList {
    waiting: Vec<SignalHandlerEntry>,
    /// Signal of the handler that is being called, until that signal is destroyed.
    running: Option<Signal>,
}

#[derive(Default)]
struct HandlerThreadState {
    list: Mutex<HandlerList>,
    stop: AtomicBool,
}

/// All signal handlers, and the thread that calls them.
#[derive(Default)]
pub(crate) struct Handlers {
    shared: Arc<HandlerThreadState>,
    /// Started with the first handler.
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handlers {
    /// Registers a handler; `false` if its thread cannot be started.
    pub(crate) fn add(
        &self,
        signal: Signal,
        condition: SignalCondition,
        value: i64,
        callback: HandlerCallback,
        argument: *mut c_void,
    ) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let started = std::thread::Builder::new().name("roci-handlers".to_owned()).spawn(move || serve(&shared));
            let Ok(started) = started else { return false };
            *thread = Some(started);
        }
        self.shared.list.lock().waiting.push(SignalHandlerEntry { signal, condition, value, callback, argument });
        wake::notify();
        true
    }

    /// Removes the handlers of a signal. One that is running returns normally but is not registered
    /// again.
    pub(crate) fn remove(&self, signal: Signal) {
        let mut list = self.shared.list.lock();
        list.waiting.retain(|handler| handler.signal != signal);
        list.running.take_if(|running| *running == signal);
    }

    /// Stops and joins the thread.
    pub(crate) fn shut_down(&self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        wake::notify();
        if let Some(thread) = self.thread.lock().take()
            // A handler may shut the runtime down.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn serve(shared: &HandlerThreadState) {
    loop {
        let ready = wake::wait_until(None, false, || {
            if shared.stop.load(Ordering::SeqCst) {
                return Some(None);
            }
            let mut list = shared.list.lock();
            let (index, value) =
                list.waiting.iter().enumerate().find_map(|(index, handler)| Some((index, handler.ready()?)))?;
            let handler = list.waiting.remove(index);
            list.running = Some(handler.signal);
            Some(Some((handler, value)))
        });
        let Some(Some((handler, value))) = ready else { return };
        // No lock is held: the callback may call the runtime.
        let again = match handler.callback {
            // SAFETY: the client registered the function to be called with this argument.
            HandlerCallback::Repeated(function) => unsafe { function(value, handler.argument) },
            HandlerCallback::Once(function) => {
                // SAFETY: the client registered the function to be called with this argument.
                unsafe { function(handler.argument) };
                false
            }
        };
        let mut list = shared.list.lock();
        if list.running.take().is_some() && again {
            list.waiting.push(handler);
        }
    }
}
