//! Signal groups.

use roci_hsa::abi::*;

use super::arguments::{array, put};
use super::signals::hsa_amd_signal_wait_any;
use super::with_runtime;
use crate::signal;

pub(crate) unsafe extern "C" fn hsa_signal_group_create(
    num_signals: u32,
    signals: *const Signal,
    num_consumers: u32,
    consumers: *const Agent,
    signal_group: *mut SignalGroup,
) -> Status {
    with_runtime(|runtime| {
        if num_signals == 0 || signal_group.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to that many elements.
        let signals = unsafe { array(signals, num_signals as usize) }?;
        // SAFETY: the client passes a pointer to that many elements.
        let consumers = unsafe { array(consumers, num_consumers as usize) }?;
        if !signals.iter().all(|one| signal::is_live(*one)) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        if !consumers.iter().all(|agent| runtime.has_agent(*agent)) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let group = runtime.signal_groups.create(signals);
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(signal_group, group) }
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_group_destroy(signal_group: SignalGroup) -> Status {
    with_runtime(|runtime| runtime.signal_groups.destroy(signal_group))
}

pub(crate) unsafe extern "C" fn hsa_signal_group_wait_any_scacquire(
    signal_group: SignalGroup,
    conditions: *const SignalCondition,
    compare_values: *const SignalValue,
    wait_state_hint: WaitState,
    signal: *mut Signal,
    value: *mut SignalValue,
) -> Status {
    with_runtime(|runtime| {
        let group = runtime.signal_groups.get(signal_group)?;
        if signal.is_null() || value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes as many conditions and values as the group has signals; only
        // `value` is written.
        let index = unsafe {
            hsa_amd_signal_wait_any(
                group.len() as u32,
                group.as_ptr().cast_mut(),
                conditions.cast_mut(),
                compare_values.cast_mut(),
                u64::MAX,
                wait_state_hint,
                value,
            )
        };
        let signaled = group.get(index as usize).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(signal, *signaled) }
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_group_wait_any_relaxed(
    signal_group: SignalGroup,
    conditions: *const SignalCondition,
    compare_values: *const SignalValue,
    wait_state_hint: WaitState,
    signal: *mut Signal,
    value: *mut SignalValue,
) -> Status {
    // The stricter order is always allowed.
    // SAFETY: all arguments are passed on unchanged.
    unsafe {
        hsa_signal_group_wait_any_scacquire(signal_group, conditions, compare_values, wait_state_hint, signal, value)
    }
}
