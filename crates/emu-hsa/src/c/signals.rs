//! Signals.

use std::time::{Duration, Instant};

use roci_hsa::abi::*;

use super::{array, put, with};
use crate::clock::TICKS_PER_SECOND;
use crate::handlers::Function;
use crate::{signal, wake};

pub(crate) unsafe extern "C" fn hsa_signal_create(
    initial_value: SignalValue,
    num_consumers: u32,
    consumers: *const Agent,
    signal: *mut Signal,
) -> Status {
    // SAFETY: the same promises.
    unsafe { hsa_amd_signal_create(initial_value, num_consumers, consumers, SignalAttribute::EMPTY, signal) }
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_create(
    initial_value: SignalValue,
    num_consumers: u32,
    consumers: *const Agent,
    attributes: SignalAttribute,
    signal: *mut Signal,
) -> Status {
    with(|runtime| {
        if signal.is_null() || num_consumers > 0 && consumers.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says so.
        let consumers = unsafe { array(consumers, num_consumers as usize) }?;
        // Whoever they are, all can wait; but none may be named twice.
        if (1..consumers.len()).any(|index| consumers[..index].contains(&consumers[index])) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let made = if attributes.contains(SignalAttribute::IPC) {
            runtime.signals.create_shared(&runtime.memory, initial_value)
        } else {
            runtime.signals.create(&runtime.memory, SignalKind::USER, initial_value)
        };
        // SAFETY: the specification says so.
        unsafe { put(signal, made.ok_or(Status::ERROR_OUT_OF_RESOURCES)?) }
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_destroy(signal: Signal) -> Status {
    with(|runtime| {
        if signal.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let destroyed = runtime.signals.destroy(&runtime.memory, &runtime.handlers, signal);
        if destroyed { Ok(()) } else { Err(Status::ERROR_INVALID_SIGNAL) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_value_pointer(
    signal: Signal,
    value_ptr: *mut *mut SignalValue,
) -> Status {
    with(|_| {
        if value_ptr.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let memory = signal::of(signal).ok_or(Status::ERROR_INVALID_SIGNAL)?;
        // A doorbell's value is where the hardware has it.
        let place = match memory.kind {
            SignalKind::USER => memory.value.as_ptr(),
            SignalKind::INVALID => return Err(Status::ERROR_INVALID_SIGNAL),
            _ => return Err(Status::ERROR_INVALID_ARGUMENT),
        };
        // SAFETY: the specification says so.
        unsafe { put(value_ptr, place) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_signal_async_handler(
    signal: Signal,
    cond: SignalCondition,
    value: SignalValue,
    handler: Option<SignalHandler>,
    arg: *mut c_void,
) -> Status {
    with(|runtime| {
        let handler = Function::Handler(handler.ok_or(Status::ERROR_INVALID_ARGUMENT)?);
        if !signal::is_live(signal) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        let added = runtime.handlers.add(signal, cond, value, handler, arg);
        if added { Ok(()) } else { Err(Status::ERROR_OUT_OF_RESOURCES) }
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_async_function(callback: Option<AsyncFunction>, arg: *mut c_void) -> Status {
    with(|runtime| {
        let function = Function::Once(callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?);
        let added = runtime.handlers.add(Signal::NULL, SignalCondition::EQ, 0, function, arg);
        if added { Ok(()) } else { Err(Status::ERROR_OUT_OF_RESOURCES) }
    })
}

/// When a wait ends; the longest timeouts mean that it does not.
fn deadline(timeout: u64) -> Option<Instant> {
    let seconds = timeout / TICKS_PER_SECOND;
    // A century is for ever.
    if seconds > 100 * 365 * 24 * 3600 {
        return None;
    }
    let nanoseconds = timeout % TICKS_PER_SECOND * (1_000_000_000 / TICKS_PER_SECOND);
    Instant::now().checked_add(Duration::new(seconds, nanoseconds as u32))
}

fn wait(signal: Signal, condition: SignalCondition, value: i64, timeout: u64, hint: WaitState) -> i64 {
    let held = || Some(signal::load(signal)).filter(|held| condition.holds(*held, value));
    match held() {
        Some(held) => held,
        None => {
            wake::wait_until(deadline(timeout), hint == WaitState::ACTIVE, held).unwrap_or_else(|| signal::load(signal))
        }
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

/// Signals, conditions and values, as many of each.
type Several<'a> = (&'a [Signal], &'a [SignalCondition], &'a [SignalValue]);

/// The arrays of a wait for several signals.
///
/// # Safety
/// Each is good for `count` values.
unsafe fn several<'a>(
    count: u32,
    signals: *mut Signal,
    conds: *mut SignalCondition,
    values: *mut SignalValue,
) -> Result<Several<'a>, Status> {
    let count = count as usize;
    // SAFETY: the caller's promise.
    let signals = unsafe { array(signals, count) }?;
    // SAFETY: the caller's promise.
    let conds = unsafe { array(conds, count) }?;
    // SAFETY: the caller's promise.
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
    // SAFETY: the specification says so.
    let Ok((signals, conds, values)) = (unsafe { several(signal_count, signals, conds, values) }) else {
        return u32::MAX;
    };
    if signals.is_empty() {
        return u32::MAX;
    }
    let found = wake::wait_until(deadline(timeout_hint), wait_hint == WaitState::ACTIVE, || {
        signals.iter().zip(conds).zip(values).enumerate().find_map(|(index, ((signal, condition), value))| {
            let held = signal::load(*signal);
            (!signal.is_null() && condition.holds(held, *value)).then_some((index as u32, held))
        })
    });
    let Some((index, held)) = found else { return u32::MAX };
    // SAFETY: the specification says so; null means that no one wants it.
    let _ = unsafe { put(satisfying_value, held) };
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
    // SAFETY: the specification says so.
    let Ok((signals, conds, values)) = (unsafe { several(signal_count, signals, conds, values) }) else {
        return u32::MAX;
    };
    // Each counts once it was seen to hold.
    let mut seen: Vec<Option<i64>> = vec![None; signals.len()];
    let found = wake::wait_until(deadline(timeout_hint), wait_hint == WaitState::ACTIVE, || {
        for (index, seen) in seen.iter_mut().enumerate().filter(|(_, seen)| seen.is_none()) {
            let held = signal::load(signals[index]);
            *seen = conds[index].holds(held, values[index]).then_some(held);
        }
        seen.iter().all(Option::is_some).then_some(())
    });
    if found.is_none() {
        return u32::MAX;
    }
    if !satisfying_values.is_null() {
        for (index, held) in seen.into_iter().flatten().enumerate() {
            // SAFETY: the specification says so.
            unsafe { satisfying_values.wrapping_add(index).write(held) };
        }
    }
    0
}

/// Loads, in every order of memory: all are as strict as the strictest.
macro_rules! loads {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(signal: Signal) -> SignalValue {
            signal::load(signal)
        }
    )*};
}
loads! { hsa_signal_load_relaxed hsa_signal_load_scacquire }

/// Changes without a result.
macro_rules! changes {
    ($(|$old:ident, $value:ident| $new:expr => $($name:ident)*;)*) => {$($(
        pub(crate) unsafe extern "C" fn $name(signal: Signal, $value: SignalValue) {
            signal::update(signal, |$old| $new);
        }
    )*)*};
}
changes! {
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

/// Exchanges.
macro_rules! exchanges {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(signal: Signal, value: SignalValue) -> SignalValue {
            signal::update(signal, |_| value)
        }
    )*};
}
exchanges! {
    hsa_signal_exchange_relaxed hsa_signal_exchange_scacquire hsa_signal_exchange_screlease
    hsa_signal_exchange_scacq_screl
}

/// Exchanges if the signal holds what is expected.
macro_rules! compared {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(
            signal: Signal,
            expected: SignalValue,
            value: SignalValue,
        ) -> SignalValue {
            signal::update(signal, |old| if old == expected { value } else { old })
        }
    )*};
}
compared! {
    hsa_signal_cas_relaxed hsa_signal_cas_scacquire hsa_signal_cas_screlease hsa_signal_cas_scacq_screl
}
