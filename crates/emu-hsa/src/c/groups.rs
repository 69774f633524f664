//! Groups of signals, of which clients wait for any.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use roci_hsa::abi::*;

use super::signals::hsa_amd_signal_wait_any;
use super::{array, put, with};
use crate::loader::new_handle;
use crate::signal;

/// All groups by their handles.
#[derive(Default)]
pub(crate) struct Groups {
    all: RwLock<BTreeMap<u64, Arc<[Signal]>>>,
}

pub(crate) unsafe extern "C" fn hsa_signal_group_create(
    num_signals: u32,
    signals: *const Signal,
    num_consumers: u32,
    consumers: *const Agent,
    signal_group: *mut SignalGroup,
) -> Status {
    with(|runtime| {
        if num_signals == 0 || signal_group.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says so.
        let signals = unsafe { array(signals, num_signals as usize) }?;
        // SAFETY: the specification says so.
        let consumers = unsafe { array(consumers, num_consumers as usize) }?;
        if !signals.iter().all(|one| signal::is_live(*one)) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        if !consumers.iter().all(|agent| runtime.knows(*agent)) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let handle = new_handle();
        runtime.groups.all.write().insert(handle, signals.into());
        // SAFETY: the specification says so.
        unsafe { put(signal_group, SignalGroup { handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_group_destroy(signal_group: SignalGroup) -> Status {
    with(|runtime| {
        let removed = runtime.groups.all.write().remove(&signal_group.handle);
        removed.map(drop).ok_or(Status::ERROR_INVALID_SIGNAL_GROUP)
    })
}

pub(crate) unsafe extern "C" fn hsa_signal_group_wait_any_scacquire(
    signal_group: SignalGroup,
    conditions: *const SignalCondition,
    compare_values: *const SignalValue,
    wait_state_hint: WaitState,
    signal: *mut Signal,
    value: *mut SignalValue,
) -> Status {
    with(|runtime| {
        let group = runtime.groups.all.read().get(&signal_group.handle).cloned();
        let group = group.ok_or(Status::ERROR_INVALID_SIGNAL_GROUP)?;
        if signal.is_null() || value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the specification says that there are as many conditions and values as signals; nothing is written but
        // the value.
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
        let met = group.get(index as usize).ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the specification says so.
        unsafe { put(signal, *met) }
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
    // SAFETY: the same promises; all orders are as strict as the strictest.
    unsafe {
        hsa_signal_group_wait_any_scacquire(signal_group, conditions, compare_values, wait_state_hint, signal, value)
    }
}
