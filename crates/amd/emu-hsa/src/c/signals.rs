//! Signals: creation, waits, handlers and atomic operations.

use std::time::{Duration, Instant};

use roci_hsa::abi::*;

use super::arguments::{array, put};
use super::{process, with_runtime};
use crate::clock::TICKS_PER_SECOND;
use crate::handlers::HandlerCallback;
use crate::{signal, wake};

/// Modifies a signal and returns its old value. A write to a doorbell wakes the thread of its
/// queue.
fn update(signal: Signal, new: impl FnMut(i64) -> i64) -> i64 {
    signal::update(signal, new, |queue| {
        if let Ok(runtime) = process::runtime_unchecked() {
            runtime.queues.ring(queue);
        }
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_create(
    initial_value: SignalValue,
    num_consumers: u32,
    consumers: *const Agent,
    signal: *mut Signal,
) -> Status {
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_amd_signal_create(initial_value, num_consumers, consumers, SignalAttribute::EMPTY, signal) }
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_create(
    initial_value: SignalValue,
    num_consumers: u32,
    consumers: *const Agent,
    attributes: SignalAttribute,
    signal: *mut Signal,
) -> Status {
    with_runtime(|runtime| {
        if signal.is_null() || num_consumers > 0 && consumers.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to that many elements.
        let consumers = unsafe { array(consumers, num_consumers as usize) }?;
        // Any agent can wait for the signal, so the list is only checked for duplicates.
        if (1..consumers.len()).any(|index| consumers[..index].contains(&consumers[index])) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let created = if attributes.contains(SignalAttribute::IPC) {
            runtime.signals.create_ipc(initial_value)
        } else {
            runtime.signals.create(SignalKind::USER, initial_value)
        };
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(signal, created.ok_or(Status::ERROR_OUT_OF_RESOURCES)?) }
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_destroy(signal: Signal) -> Status {
    with_runtime(|runtime| {
        if signal.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if runtime.signals.destroy(signal) { Ok(()) } else { Err(Status::ERROR_INVALID_SIGNAL) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_value_pointer(
    signal: Signal,
    value_ptr: *mut *mut SignalValue,
) -> Status {
    with_runtime(|_| {
        if value_ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let memory = signal::memory(signal).ok_or(Status::ERROR_INVALID_SIGNAL)?;
        // The value of a doorbell is not in its signal.
        let pointer = match memory.kind {
            SignalKind::USER => memory.value.as_ptr(),
            SignalKind::INVALID => return Err(Status::ERROR_INVALID_SIGNAL),
            _ => return Err(Status::ERROR_INVALID_ARGUMENT),
        };
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(value_ptr, pointer) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_async_handler(
    signal: Signal,
    cond: SignalCondition,
    value: SignalValue,
    handler: Option<SignalHandler>,
    arg: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let handler = HandlerCallback::Repeated(handler.ok_or(Status::ERROR_INVALID_ARGUMENT)?);
        if !signal::is_live(signal) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        let added = runtime.handlers.add(signal, cond, value, handler, arg);
        if added { Ok(()) } else { Err(Status::ERROR_OUT_OF_RESOURCES) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_async_function(callback: Option<AsyncFunction>, arg: *mut c_void) -> Status {
    with_runtime(|runtime| {
        let callback = HandlerCallback::Once(callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?);
        let added = runtime.handlers.add(Signal::NULL, SignalCondition::EQ, 0, callback, arg);
        if added { Ok(()) } else { Err(Status::ERROR_OUT_OF_RESOURCES) }
    })
}

/// Deadline of a timeout in system clock ticks; `None` for no deadline.
fn deadline(timeout: u64) -> Option<Instant> {
    let seconds = timeout / TICKS_PER_SECOND;
    // More than a century, such as `u64::MAX`, means forever.
    if seconds > 100 * 365 * 24 * 3600 {
        return None;
    }
    let nanoseconds = timeout % TICKS_PER_SECOND * (1_000_000_000 / TICKS_PER_SECOND);
    Instant::now().checked_add(Duration::new(seconds, nanoseconds as u32))
}

fn wait(signal: Signal, condition: SignalCondition, value: i64, timeout: u64, hint: WaitState) -> i64 {
    let check = || Some(signal::load(signal)).filter(|current| condition.holds(*current, value));
    // `deadline` reads the clock, so it is only called if the condition does not hold yet.
    match check() {
        Some(current) => current,
        None => wake::wait_until(deadline(timeout), hint == WaitState::ACTIVE, check)
            .unwrap_or_else(|| signal::load(signal)),
    }
}

pub(crate) unsafe extern "C" fn hsa_signal_wait_relaxed(
    signal: Signal,
    condition: SignalCondition,
    compare_value: SignalValue,
    timeout_hint: u64,
    wait_state_hint: WaitState,
) -> SignalValue {
    wait(signal, condition, compare_value, timeout_hint, wait_state_hint)
}

pub(crate) unsafe extern "C" fn hsa_signal_wait_scacquire(
    signal: Signal,
    condition: SignalCondition,
    compare_value: SignalValue,
    timeout_hint: u64,
    wait_state_hint: WaitState,
) -> SignalValue {
    wait(signal, condition, compare_value, timeout_hint, wait_state_hint)
}

/// Signals, conditions and values of a wait for several signals, equally many of each.
type WaitArrays<'a> = (&'a [Signal], &'a [SignalCondition], &'a [SignalValue]);

/// # Safety
/// Each pointer is null or valid for reads of `count` values.
unsafe fn wait_arrays<'a>(
    count: u32,
    signals: *mut Signal,
    conds: *mut SignalCondition,
    values: *mut SignalValue,
) -> Result<WaitArrays<'a>, Status> {
    let count = count as usize;
    // SAFETY: the caller upholds the same contract.
    let signals = unsafe { array(signals, count) }?;
    // SAFETY: the caller upholds the same contract.
    let conds = unsafe { array(conds, count) }?;
    // SAFETY: the caller upholds the same contract.
    let values = unsafe { array(values, count) }?;
    Ok((signals, conds, values))
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_wait_any(
    signal_count: u32,
    signals: *mut Signal,
    conds: *mut SignalCondition,
    values: *mut SignalValue,
    timeout_hint: u64,
    wait_hint: WaitState,
    satisfying_value: *mut SignalValue,
) -> u32 {
    // SAFETY: the client passes arrays of `signal_count` elements.
    let Ok((signals, conds, values)) = (unsafe { wait_arrays(signal_count, signals, conds, values) }) else {
        return u32::MAX;
    };
    if signals.is_empty() {
        return u32::MAX;
    }
    let found = wake::wait_until(deadline(timeout_hint), wait_hint == WaitState::ACTIVE, || {
        signals.iter().zip(conds).zip(values).enumerate().find_map(|(index, ((signal, condition), value))| {
            let current = signal::load(*signal);
            (!signal.is_null() && condition.holds(current, *value)).then_some((index as u32, current))
        })
    });
    let Some((index, current)) = found else { return u32::MAX };
    // SAFETY: the client passes a pointer that is valid for this write, or null to ignore the
    // value.
    let _ = unsafe { put(satisfying_value, current) };
    index
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_wait_all(
    signal_count: u32,
    signals: *mut Signal,
    conds: *mut SignalCondition,
    values: *mut SignalValue,
    timeout_hint: u64,
    wait_hint: WaitState,
    satisfying_values: *mut SignalValue,
) -> u32 {
    // SAFETY: the client passes arrays of `signal_count` elements.
    let Ok((signals, conds, values)) = (unsafe { wait_arrays(signal_count, signals, conds, values) }) else {
        return u32::MAX;
    };
    // A condition counts as met once it was seen to hold.
    let mut met: Vec<Option<i64>> = vec![None; signals.len()];
    let found = wake::wait_until(deadline(timeout_hint), wait_hint == WaitState::ACTIVE, || {
        for (index, met) in met.iter_mut().enumerate().filter(|(_, met)| met.is_none()) {
            let current = signal::load(signals[index]);
            *met = conds[index].holds(current, values[index]).then_some(current);
        }
        met.iter().all(Option::is_some).then_some(())
    });
    if found.is_none() {
        return u32::MAX;
    }
    if !satisfying_values.is_null() {
        for (index, current) in met.into_iter().flatten().enumerate() {
            // SAFETY: not null, so the client passes an array of `signal_count` elements.
            unsafe { satisfying_values.wrapping_add(index).write(current) };
        }
    }
    0
}

/// Loads. All memory orders are sequentially consistent.
macro_rules! loads {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(signal: Signal) -> SignalValue {
            signal::load(signal)
        }
    )*};
}
loads! { hsa_signal_load_relaxed hsa_signal_load_scacquire }

/// Atomic operations without a result.
macro_rules! operations {
    ($(|$old:ident, $value:ident| $new:expr => $($name:ident)*;)*) => {$($(
        pub(crate) unsafe extern "C" fn $name(signal: Signal, $value: SignalValue) {
            update(signal, |$old| $new);
        }
    )*)*};
}
operations! {
    |_old, value| value => hsa_signal_store_relaxed hsa_signal_store_screlease
        hsa_signal_silent_store_relaxed hsa_signal_silent_store_screlease;
    |old, value| old.wrapping_add(value) => hsa_signal_add_relaxed hsa_signal_add_scacquire
        hsa_signal_add_screlease hsa_signal_add_scacq_screl;
    |old, value| old.wrapping_sub(value) => hsa_signal_subtract_relaxed hsa_signal_subtract_scacquire
        hsa_signal_subtract_screlease hsa_signal_subtract_scacq_screl;
    |old, value| old & value => hsa_signal_and_relaxed hsa_signal_and_scacquire
        hsa_signal_and_screlease hsa_signal_and_scacq_screl;
    |old, value| old | value => hsa_signal_or_relaxed hsa_signal_or_scacquire
        hsa_signal_or_screlease hsa_signal_or_scacq_screl;
    |old, value| old ^ value => hsa_signal_xor_relaxed hsa_signal_xor_scacquire
        hsa_signal_xor_screlease hsa_signal_xor_scacq_screl;
}

macro_rules! exchanges {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(signal: Signal, value: SignalValue) -> SignalValue {
            update(signal, |_| value)
        }
    )*};
}
exchanges! {
    hsa_signal_exchange_relaxed hsa_signal_exchange_scacquire hsa_signal_exchange_screlease
    hsa_signal_exchange_scacq_screl
}

macro_rules! compare_and_swap {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(
            signal: Signal,
            expected: SignalValue,
            value: SignalValue,
        ) -> SignalValue {
            update(signal, |old| if old == expected { value } else { old })
        }
    )*};
}
compare_and_swap! {
    hsa_signal_cas_relaxed hsa_signal_cas_scacquire hsa_signal_cas_screlease hsa_signal_cas_scacq_screl
}
