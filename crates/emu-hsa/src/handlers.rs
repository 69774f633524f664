//! Functions of the client that are called when a signal meets a condition.

#![expect(unsafe_code, reason = "handlers are functions of C")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use roci_hsa::abi::{Signal, SignalCondition, SignalHandler, c_void};

use crate::{signal, wake};

/// A function to call.
#[derive(Clone, Copy)]
struct Waiting {
    signal: Signal,
    condition: SignalCondition,
    value: i64,
    function: SignalHandler,
    argument: *mut c_void,
}

// SAFETY: the client gives function and argument to be used on a thread of the runtime.
unsafe impl Send for Waiting {}

impl Waiting {
    /// What its signal holds, if that is what it waits for. Without a signal it waits for nothing.
    fn ready(&self) -> Option<i64> {
        if self.signal.is_null() {
            return Some(0);
        }
        let held = signal::load(self.signal);
        self.condition.holds(held, self.value).then_some(held)
    }
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Vec<Waiting>>,
    /// Counts new ones.
    added: AtomicU64,
    ended: AtomicBool,
}

/// All of them, and the thread that calls them.
#[derive(Default)]
pub(crate) struct Handlers {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Handlers {
    /// Calls a function once a signal meets a condition, and again as long as it returns true. `false` if there is no thread.
    pub(crate) fn add(
        &self,
        signal: Signal,
        condition: SignalCondition,
        value: i64,
        function: SignalHandler,
        argument: *mut c_void,
    ) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let started = std::thread::Builder::new().name("roci-handlers".to_owned()).spawn(move || serve(&shared));
            let Ok(started) = started else { return false };
            *thread = Some(started);
        }
        self.shared.waiting.lock().push(Waiting { signal, condition, value, function, argument });
        self.shared.added.fetch_add(1, Ordering::SeqCst);
        wake::changed();
        true
    }

    /// Calls no more.
    pub(crate) fn end(&self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        wake::changed();
        if let Some(thread) = self.thread.lock().take()
            // A handler may shut the runtime down.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

fn serve(shared: &Shared) {
    loop {
        let ready = wake::wait_until(None, false, || {
            if shared.ended.load(Ordering::SeqCst) {
                return Some(None);
            }
            let mut waiting = shared.waiting.lock();
            let found = waiting.iter().enumerate().find_map(|(index, one)| Some((index, one.ready()?)))?;
            Some(Some((waiting.remove(found.0), found.1)))
        });
        let Some(Some((one, held))) = ready else { return };
        // SAFETY: the client gave both to be called so.
        if unsafe { (one.function)(held, one.argument) } {
            shared.waiting.lock().push(one);
        }
    }
}
