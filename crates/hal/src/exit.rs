//! The end of the process: no thread of a driver is inside the libraries that it calls while they are torn down.
//!
//! A process may end while work is in flight, or a moment after the last completion was told, when the thread that told
//! it has yet to close the device. The libraries of a driver have handlers of their own for the end of the process, and
//! destructors for every thread that called them; a thread that still calls them, or ends only then, meets what is
//! gone. So:
//!
//! - threads enter such a library with a [`Busy`] in hand, for a bounded time: those of queues always, others to close a
//!   device, as the HAL's watchdog may have to. None is given out once the process ends: whoever asks then stays where
//!   it is for good;
//! - the end of the process waits for those that are out, and joins threads that are on their way out;
//! - what waits is registered whenever libraries may have been loaded, since what is registered last runs first;
//! - no such library is ever unloaded by the driver that calls it.

#![expect(unsafe_code, reason = "declares a function of the C library")]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, lock, wait_for};

/// How long the end of the process waits at most: longer than any one wait inside a library.
const PATIENCE: Duration = Duration::from_secs(2);

static STATE: Mutex<State> = Mutex::new(State { busy: 0, ending: None, left: Vec::new() });
static IDLE: Condvar = Condvar::new();

struct State {
    /// Threads inside a library, or about to be.
    busy: usize,
    /// The thread that ends the process, and until when it waits.
    ending: Option<(Id, Instant)>,
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
#[derive(Debug)]
pub struct Busy(());

impl Busy {
    /// Lets a thread into a library. It must hold no lock of a queue: once the process ends this never returns, except to
    /// the thread that ends it.
    #[expect(clippy::new_without_default, reason = "it may never return, which a default must not do")]
    pub fn new() -> Self {
        let mut state = lock(&STATE);
        let is_late = state.ending.is_some_and(|(thread, _)| thread != id());
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
        lock(&STATE).busy -= 1;
        IDLE.notify_all();
    }
}

/// Set by a thread that will never call a library again, while it still holds its [`Busy`].
#[derive(Clone, Debug, Default)]
pub struct Leaving(Arc<AtomicBool>);

impl Leaving {
    /// Says so.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Leaves a thread to itself until the process ends.
pub fn leave(leaving: Leaving, thread: JoinHandle<()>) {
    let mut state = lock(&STATE);
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
    let mut state = lock(&STATE);
    // Registered more than once, it waits once.
    let until = state.ending.map_or_else(|| Instant::now() + PATIENCE, |(_, until)| until);
    state.ending = Some((id(), until));
    // The thread that ends the process may be one of those, and does not wait for itself.
    let own = DEPTH.get();
    while state.busy > own
        && let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        state = wait_for(&IDLE, state, left);
    }
    let left = std::mem::take(&mut state.left);
    drop(state);
    join(left.into_iter().filter(|(leaving, _)| leaving.is_set()).collect());
}

/// Has the end of the process wait. To be called whenever libraries may have been loaded.
pub fn guard() {
    // Without it everything works but for the rare race.
    let _ = atexit(wait);
}
