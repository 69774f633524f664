//! Signals.

#![expect(unsafe_code, reason = "calls the library, and reads a signal in memory")]

use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AmdSignal, SignalAttribute, SignalCondition, SignalValue, WaitState};

/// A signal: a number that host and devices modify and wait for. Destroyed on drop.
#[derive(Debug)]
pub struct Signal {
    runtime: Runtime,
    handle: abi::Signal,
}

/// One condition of a wait for several signals.
#[derive(Copy, Clone, Debug)]
pub struct Wait<'a> {
    /// Its value ends the wait when the condition holds.
    pub signal: &'a Signal,
    /// Comparison of its value with `value`.
    pub condition: SignalCondition,
    /// Value to compare with.
    pub value: SignalValue,
}

impl Runtime {
    /// Creates a signal. Only `consumers` may wait for it, or all agents if the list is empty.
    pub fn create_signal(
        &self,
        initial: SignalValue,
        consumers: &[&Agent],
        attributes: SignalAttribute,
    ) -> Result<Signal, Error> {
        let consumers: Vec<_> = consumers.iter().map(|agent| agent.handle()).collect();
        let list = if consumers.is_empty() { std::ptr::null() } else { consumers.as_ptr() };
        let mut handle = abi::Signal::NULL;
        let create = self.api().hsa_amd_signal_create;
        // SAFETY: the length is that of the list, and `handle` is valid for the write.
        let status = unsafe { create(initial, consumers.len() as u32, list, attributes, &raw mut handle) };
        check("hsa_amd_signal_create", status)?;
        if handle.is_null() {
            return Err(Error::InvalidResult { call: "hsa_amd_signal_create", what: "no signal" });
        }
        Ok(Signal { runtime: self.clone(), handle })
    }

    /// Waits until one of `waits` is met and returns its index and the value. Returns `None` after
    /// `timeout_ticks`, or earlier on a spurious wakeup.
    pub fn wait_any(&self, waits: &[Wait<'_>], timeout_ticks: u64, state: WaitState) -> Option<(usize, SignalValue)> {
        let mut signals: Vec<_> = waits.iter().map(|wait| wait.signal.handle).collect();
        let mut conditions: Vec<_> = waits.iter().map(|wait| wait.condition).collect();
        let mut values: Vec<_> = waits.iter().map(|wait| wait.value).collect();
        let mut met = 0;
        let wait = self.api().hsa_amd_signal_wait_any;
        // SAFETY: three lists of the passed length with live signals, and `met` is valid for the
        // write.
        let index = unsafe {
            wait(
                waits.len() as u32,
                signals.as_mut_ptr(),
                conditions.as_mut_ptr(),
                values.as_mut_ptr(),
                timeout_ticks,
                state,
                &raw mut met,
            )
        };
        let index = usize::try_from(index).ok().filter(|index| *index < waits.len())?;
        Some((index, met))
    }
}

impl Signal {
    /// Handle in the C API. The signal must outlive every packet that uses it.
    pub fn handle(&self) -> abi::Signal {
        self.handle
    }

    /// The memory of an AMD signal, which packets and doorbells refer to.
    pub fn in_memory(&self) -> &AmdSignal {
        // SAFETY: the handle is the address of an `amd_signal_t` that lives until the signal is
        // destroyed; fields that change are atomic.
        unsafe { &*std::ptr::with_exposed_provenance(self.handle.handle as usize) }
    }

    /// Loads the value with acquire order.
    pub fn load(&self) -> SignalValue {
        // SAFETY: the signal is alive.
        unsafe { (self.runtime.api().hsa_signal_load_scacquire)(self.handle) }
    }

    /// Stores a value with release order and wakes waiters.
    pub fn store(&self, value: SignalValue) {
        // SAFETY: the signal is alive.
        unsafe { (self.runtime.api().hsa_signal_store_screlease)(self.handle, value) }
    }

    /// Stores a value with relaxed order and wakes waiters.
    pub fn store_relaxed(&self, value: SignalValue) {
        // SAFETY: the signal is alive.
        unsafe { (self.runtime.api().hsa_signal_store_relaxed)(self.handle, value) }
    }

    /// Waits until the condition is met or `timeout_ticks` have passed and returns the value with
    /// acquire order. The caller checks the condition again, since wakeups may be spurious.
    pub fn wait(
        &self,
        condition: SignalCondition,
        value: SignalValue,
        timeout_ticks: u64,
        state: WaitState,
    ) -> SignalValue {
        let wait = self.runtime.api().hsa_signal_wait_scacquire;
        // SAFETY: the signal is alive.
        unsafe { wait(self.handle, condition, value, timeout_ticks, state) }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: the signal is live, and only this destroys it.
        let _ = unsafe { (self.runtime.api().hsa_signal_destroy)(self.handle) };
    }
}
