//! The end of the process: no thread of this driver is inside Vulkan's libraries while they are torn down.
//!
//! A process may end while work is in flight, or a moment after the last completion was told, when the thread that told
//! it has yet to close the device. The libraries of a driver have handlers of their own for the end of the process, and
//! destructors for every thread that called them; a thread that still calls them, or ends only then, meets what is
//! gone. So:
//!
//! - threads enter Vulkan with a [`Busy`] in hand, for a bounded time: those of queues always, others to close a
//!   device, as the HAL's watchdog may have to. None is given out once the process ends: whoever asks then stays where
//!   it is for good;
//! - the end of the process waits for those that are out, and joins threads that are on their way out;
//! - what waits is registered whenever libraries may have been loaded, since what is registered last runs first;
//! - no driver's library is ever unloaded (`instance`).

#![expect(unsafe_code, reason = "declares a function of the C library")]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// How long the end of the process waits at most: longer than any one wait inside Vulkan.
const PATIENCE: Duration = Duration::from_secs(2);

static STATE: Mutex<State> = Mutex::new(State { busy: 0, ending: None, left: Vec::new() });
static IDLE: Condvar = Condvar::new();

struct State {
    /// Threads inside Vulkan, or about to be.
    busy: usize,
    /// The thread that ends the process.
    ending: Option<Id>,
    /// Threads that nobody joined.
    left: Vec<(Leaving, JoinHandle<()>)>,
}

thread_local! {
    /// How many [`Busy`] this thread has.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A thread, by where its own memory is. Rust's handle of a thread may be gone when handlers run.
type Id = usize;

fn id() -> Id {
    DEPTH.with(|depth| std::ptr::from_ref(depth).addr())
}

unsafe extern "C" {
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// A thread that the end of the process waits for. It must be dropped by the thread that made it; one may stand inside
/// another.
pub(crate) struct Busy(());

impl Busy {
    /// Lets a thread into Vulkan. It must hold no lock of a queue: once the process ends this never returns, except to
    /// the thread that ends it.
    pub(crate) fn new() -> Self {
        let mut state = STATE.lock();
        let is_late = state.ending.is_some_and(|thread| thread != id());
        if is_late && DEPTH.get() == 0 {
            drop(state);
            loop {
                std::thread::park();
            }
        }
        state.busy += 1;
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        STATE.lock().busy -= 1;
        IDLE.notify_all();
    }
}

/// Set by a thread that will never call Vulkan again, while it still holds its [`Busy`].
#[derive(Clone, Default)]
pub(crate) struct Leaving(Arc<AtomicBool>);

impl Leaving {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Leaves a thread to itself until the process ends.
pub(crate) fn leave(leaving: Leaving, thread: JoinHandle<()>) {
    let mut state = STATE.lock();
    let (gone, mut left): (Vec<_>, Vec<_>) =
        std::mem::take(&mut state.left).into_iter().partition(|(_, thread)| thread.is_finished());
    left.push((leaving, thread));
    state.left = left;
    drop(state);
    join(gone);
}

/// Joins threads that run the libraries' destructors for threads, and nothing else that could take long.
fn join(threads: Vec<(Leaving, JoinHandle<()>)>) {
    for (_, thread) in threads {
        // A panic in it has nothing to say that the batches have not said.
        let _ = thread.join();
    }
}

extern "C" fn wait() {
    let mut state = STATE.lock();
    state.ending = Some(id());
    // The thread that ends the process may be one of those, and does not wait for itself.
    let own = DEPTH.get();
    let _ = IDLE.wait_while_for(&mut state, |state| state.busy > own, PATIENCE);
    let left = std::mem::take(&mut state.left);
    drop(state);
    join(left.into_iter().filter(|(leaving, _)| leaving.is_set()).collect());
}

/// Has the end of the process wait. To be called whenever Vulkan may have loaded libraries.
pub(crate) fn guard() {
    // Without it everything works but for the rare race.
    let _ = atexit(wait);
}
