//! The emulated HSA runtime with some functions replaced.

#![expect(unsafe_code, reason = "functions of the HSA runtime's C interface")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use roci_hal::Error;
use roci_hsa::abi::{Agent, Queue, QueueErrorCallback, QueueType, Signal, Status};
use roci_hsa::{Api, Runtime, Source, Table};

use crate::emulated::runtime;

/// The original functions.
static ORIGINAL: OnceLock<Api> = OnceLock::new();
static COPIES: AtomicUsize = AtomicUsize::new(0);
/// Signals of watched copies that have not been destroyed.
static WATCHED: Mutex<Vec<Signal>> = Mutex::new(Vec::new());
/// Number of signals that were destroyed before their copy had completed.
static EARLY: AtomicUsize = AtomicUsize::new(0);
static CREATED: AtomicUsize = AtomicUsize::new(0);
static DESTROYED: AtomicUsize = AtomicUsize::new(0);

/// Number of copies requested from the runtime.
pub(crate) fn copies() -> usize {
    COPIES.load(Ordering::SeqCst)
}

/// A runtime with these chips that counts copies.
pub(crate) fn counting_copies(chips: &[String]) -> Result<Runtime, Error> {
    changed(chips, |api| api.hsa_amd_memory_async_copy = count_and_copy)
}

/// A runtime with these chips that drops the error callbacks of queues.
pub(crate) fn without_queue_errors(chips: &[String]) -> Result<Runtime, Error> {
    changed(chips, |api| api.hsa_queue_create = create_without_callback)
}

/// A runtime with these chips that tracks the signals of copies.
pub(crate) fn watching_copies(chips: &[String]) -> Result<Runtime, Error> {
    changed(chips, |api| {
        api.hsa_amd_memory_async_copy = watch_and_copy;
        api.hsa_signal_destroy = watch_and_destroy;
    })
}

/// The number of watched copies whose signal has not been destroyed, and the number whose signal
/// was destroyed too early.
pub(crate) fn watched_copies() -> (usize, usize) {
    (watched().len(), EARLY.load(Ordering::SeqCst))
}

/// A runtime with these chips whose copies fail.
pub(crate) fn without_copies(chips: &[String]) -> Result<Runtime, Error> {
    changed(chips, |api| api.hsa_amd_memory_async_copy = refuse_to_copy)
}

/// A runtime with these chips that creates only one queue.
pub(crate) fn with_one_queue(chips: &[String]) -> Result<Runtime, Error> {
    changed(chips, |api| {
        api.hsa_queue_create = create_once;
        api.hsa_queue_destroy = destroy_and_count;
    })
}

/// For the runtime with one queue: the number of creation requests, and of destroyed queues.
pub(crate) fn queues() -> (usize, usize) {
    (CREATED.load(Ordering::SeqCst), DESTROYED.load(Ordering::SeqCst))
}

fn changed(chips: &[String], change: impl FnOnce(&mut Api)) -> Result<Runtime, Error> {
    let mut api = *ORIGINAL.get_or_init(|| *runtime(chips).expect("the emulated runtime starts").api());
    change(&mut api);
    // Adds the chips to the runtime, and starts it once more.
    let _started = runtime(chips)?;
    // SAFETY: the emulated runtime's functions, and replacements that forward to them.
    let table = unsafe { Table::new(api, "the changed emulated runtime") };
    Runtime::open(Source::Table(table)).map_err(|error| Error::invalid("the runtime", error.to_string()))
}

fn original() -> &'static Api {
    ORIGINAL.get().expect("set before the table is built")
}

unsafe extern "C" fn count_and_copy(
    to: *mut c_void,
    to_agent: Agent,
    from: *const c_void,
    from_agent: Agent,
    size: usize,
    after: u32,
    signals: *const Signal,
    done: Signal,
) -> Status {
    COPIES.fetch_add(1, Ordering::SeqCst);
    let copy = original().hsa_amd_memory_async_copy;
    // SAFETY: forwards the caller's arguments.
    unsafe { copy(to, to_agent, from, from_agent, size, after, signals, done) }
}

unsafe extern "C" fn create_without_callback(
    agent: Agent,
    size: u32,
    kind: QueueType,
    _callback: Option<QueueErrorCallback>,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    let create = original().hsa_queue_create;
    // SAFETY: forwards the caller's arguments, except the error callback.
    unsafe { create(agent, size, kind, None, data, private, group, queue) }
}

fn watched() -> MutexGuard<'static, Vec<Signal>> {
    WATCHED.lock().expect("the lock is not poisoned")
}

unsafe extern "C" fn watch_and_copy(
    to: *mut c_void,
    to_agent: Agent,
    from: *const c_void,
    from_agent: Agent,
    size: usize,
    after: u32,
    signals: *const Signal,
    done: Signal,
) -> Status {
    watched().push(done);
    let copy = original().hsa_amd_memory_async_copy;
    // SAFETY: forwards the caller's arguments.
    unsafe { copy(to, to_agent, from, from_agent, size, after, signals, done) }
}

unsafe extern "C" fn watch_and_destroy(signal: Signal) -> Status {
    let mut watched = watched();
    if let Some(index) = watched.iter().position(|done| *done == signal) {
        // SAFETY: the signal is alive until it is destroyed below.
        if unsafe { (original().hsa_signal_load_scacquire)(signal) } > 0 {
            EARLY.fetch_add(1, Ordering::SeqCst);
        }
        watched.remove(index);
    }
    // SAFETY: forwards the caller's argument.
    unsafe { (original().hsa_signal_destroy)(signal) }
}

unsafe extern "C" fn refuse_to_copy(
    _to: *mut c_void,
    _to_agent: Agent,
    _from: *const c_void,
    _from_agent: Agent,
    _size: usize,
    _after: u32,
    _signals: *const Signal,
    _done: Signal,
) -> Status {
    Status::ERROR_OUT_OF_RESOURCES
}

unsafe extern "C" fn create_once(
    agent: Agent,
    size: u32,
    kind: QueueType,
    callback: Option<QueueErrorCallback>,
    data: *mut c_void,
    private: u32,
    group: u32,
    queue: *mut *mut Queue,
) -> Status {
    if CREATED.fetch_add(1, Ordering::SeqCst) > 0 {
        return Status::ERROR_OUT_OF_RESOURCES;
    }
    let create = original().hsa_queue_create;
    // SAFETY: forwards the caller's arguments.
    unsafe { create(agent, size, kind, callback, data, private, group, queue) }
}

unsafe extern "C" fn destroy_and_count(queue: *mut Queue) -> Status {
    DESTROYED.fetch_add(1, Ordering::SeqCst);
    // SAFETY: forwards the caller's argument.
    unsafe { (original().hsa_queue_destroy)(queue) }
}
