//! Functions of the client that are called when a signal meets a condition.

#![expect(unsafe_code, reason = "handlers are functions of C")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use roci_hsa::abi::{AsyncFunction, Signal, SignalCondition, SignalHandler, c_void};

use crate::{signal, wake};

/// A function to call.
#[derive(Clone, Copy)]
struct Waiting {
    /// What it waits for; nothing if that is null.
    signal: Signal,
    condition: SignalCondition,
    value: i64,
    function: Function,
    argument: *mut c_void,
}

/// What is called.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    /// Wants to be called again if it says so.
    Handler(SignalHandler),
    /// Is called once.
    Once(AsyncFunction),
}

// SAFETY: the client gives function and argument to be used on a thread of the runtime.
unsafe impl Send for Waiting {}

impl Waiting {
    /// What its signal holds, if that is what it waits for.
    fn ready(&self) -> Option<i64> {
        if self.signal.is_null() {
            return Some(0);
        }
        let held = signal::load(self.signal);
        self.condition.holds(held, self.value).then_some(held)
    }
}

/// All that wait.
#[derive(Default)]
struct List {
    waiting: Vec<Waiting>,
    /// The signal of the one that is being called, unless that was destroyed since.
    called: Option<Signal>,
}

#[derive(Default)]
struct Shared {
    list: Mutex<List>,
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
        function: Function,
        argument: *mut c_void,
    ) -> bool {
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let shared = Arc::clone(&self.shared);
            let started = std::thread::Builder::new().name("roci-handlers".to_owned()).spawn(move || serve(&shared));
            let Ok(started) = started else { return false };
            *thread = Some(started);
        }
        self.shared.list.lock().waiting.push(Waiting { signal, condition, value, function, argument });
        self.shared.added.fetch_add(1, Ordering::SeqCst);
        wake::changed();
        true
    }

    /// Forgets those of a signal that is to be destroyed. One that is being called goes on, but is not called again.
    pub(crate) fn forget(&self, signal: Signal) {
        let mut list = self.shared.list.lock();
        list.waiting.retain(|one| one.signal != signal);
        list.called.take_if(|called| *called == signal);
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
            let mut list = shared.list.lock();
            let (index, held) = list.waiting.iter().enumerate().find_map(|(index, one)| Some((index, one.ready()?)))?;
            let one = list.waiting.remove(index);
            list.called = Some(one.signal);
            Some(Some((one, held)))
        });
        let Some(Some((one, held))) = ready else { return };
        let again = match one.function {
            // SAFETY: the client gave both to be called so.
            Function::Handler(function) => unsafe { function(held, one.argument) },
            Function::Once(function) => {
                // SAFETY: the client gave both to be called so.
                unsafe { function(one.argument) };
                false
            }
        };
        let mut list = shared.list.lock();
        if list.called.take().is_some() && again {
            list.waiting.push(one);
        }
    }
}
