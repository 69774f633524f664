//! Process exit: keeps driver threads out of libraries that are being torn down.
//!
//! A process may exit while work is in flight, or just after the last completion, while the thread
//! that reported it still has to close the device. A driver's libraries have exit handlers and
//! per-thread destructors. A thread that calls such a library during or after them, or that ends
//! only then, accesses freed state. Therefore:
//!
//! - A thread enters such a library only while it holds an [`ExitGuard`], for a bounded time. Queue
//!   threads always do; other threads do to close a device, as the HAL's watchdog may have to. Once
//!   the process exits, acquiring a guard blocks forever.
//! - The exit handler waits until all guards are dropped, and joins threads that are about to end.
//! - The handler is registered whenever libraries may have been loaded, because handlers run in
//!   reverse order of registration.
//! - A driver never unloads such a library.

#![expect(unsafe_code, reason = "declares a function of the C library")]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, lock, wait_for};

/// Timeout of the exit handler, longer than any single wait inside a library.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

static STATE: Mutex<State> = Mutex::new(State { busy: 0, ending: None, left: Vec::new() });
static IDLE: Condvar = Condvar::new();

struct State {
    /// Number of guards held, by threads inside a library or about to enter one.
    busy: usize,
    /// The thread that runs the exit handler, and its deadline.
    ending: Option<(Id, Instant)>,
    /// Detached threads, not joined yet.
    left: Vec<(ThreadExit, JoinHandle<()>)>,
}

thread_local! {
    /// Number of [`ExitGuard`]s that this thread holds.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Thread id: the address of a thread-local variable. Rust's own thread handle may be gone when
/// exit handlers run.
type Id = usize;

fn id() -> Id {
    DEPTH.with(|depth| std::ptr::from_ref(depth).addr())
}

unsafe extern "C" {
    safe fn atexit(function: extern "C" fn()) -> c_int;
}

/// Makes process exit wait for this thread. Guards may be nested. Each must be dropped by the
/// thread that created it.
#[derive(Debug)]
pub struct ExitGuard(());

impl ExitGuard {
    /// Acquires a guard, which allows calls into libraries. The caller must not hold a queue's
    /// lock: once the process exits, this blocks forever, except on the thread that runs the exit
    /// handlers.
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

impl Drop for ExitGuard {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        lock(&STATE).busy -= 1;
        IDLE.notify_all();
    }
}

/// Set by a thread that will not call a library again, while it still holds its [`ExitGuard`].
#[derive(Clone, Debug, Default)]
pub struct ThreadExit(Arc<AtomicBool>);

impl ThreadExit {
    /// Marks the thread as ending.
    pub fn set(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Detaches a thread; the exit handler joins it if `leaving` is set by then.
pub fn detach(leaving: ThreadExit, thread: JoinHandle<()>) {
    let mut state = lock(&STATE);
    let (exited, mut left): (Vec<_>, Vec<_>) =
        std::mem::take(&mut state.left).into_iter().partition(|(_, thread)| thread.is_finished());
    left.push((leaving, thread));
    state.left = left;
    drop(state);
    join(exited);
}

/// Joins threads that have only thread-local destructors left to run, so that this does not block
/// for long.
fn join(threads: Vec<(ThreadExit, JoinHandle<()>)>) {
    for (_, thread) in threads {
        // The thread's batches have already reported a panic.
        let _ = thread.join();
    }
}

extern "C" fn wait() {
    let mut state = lock(&STATE);
    // If the handler is registered more than once, all calls share one deadline.
    let until = state.ending.map_or_else(|| Instant::now() + EXIT_TIMEOUT, |(_, until)| until);
    state.ending = Some((id(), until));
    // Ignore guards of the thread that runs the handler: it cannot wait for itself.
    let own = DEPTH.get();
    while state.busy > own
        && let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    {
        state = wait_for(&IDLE, state, left);
    }
    let threads = std::mem::take(&mut state.left);
    drop(state);
    join(threads.into_iter().filter(|(leaving, _)| leaving.is_set()).collect());
}

/// Registers an exit handler that waits for driver threads. Call it whenever libraries may have
/// been loaded.
pub fn wait_for_threads_at_exit() {
    // Ignore failure: without the handler, only a rare race at exit remains.
    let _ = atexit(wait);
}
