//! Signals.

#![expect(unsafe_code, reason = "calls the library, and reads a signal in memory")]

use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AmdSignal, SignalAttribute, SignalCondition, SignalValue, WaitState};

/// A signal: a number that host and devices change and wait for. It is destroyed when this is dropped.
#[derive(Debug)]
pub struct Signal {
    runtime: Runtime,
    handle: abi::Signal,
}

/// One of several things to wait for.
#[derive(Copy, Clone, Debug)]
pub struct Wait<'a> {
    /// The signal.
    pub signal: &'a Signal,
    /// How its value is compared.
    pub condition: SignalCondition,
    /// With what.
    pub value: SignalValue,
}

impl Runtime {
    /// Creates a signal. Only `consumers` wait for it; everybody may, if the list is empty.
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
        // SAFETY: the list has the length that is passed, the answer has its place.
        let status = unsafe { create(initial, consumers.len() as u32, list, attributes, &raw mut handle) };
        check("hsa_amd_signal_create", status)?;
        if handle.is_null() {
            return Err(Error::Answer { call: "hsa_amd_signal_create", what: "no signal" });
        }
        Ok(Signal { runtime: self.clone(), handle })
    }

    /// Sleeps or spins until one of `waits` is met: its index and the value that met it. `None` after `timeout_ticks`,
    /// or earlier, for no reason: the library may wake up.
    pub fn wait_any(&self, waits: &[Wait<'_>], timeout_ticks: u64, state: WaitState) -> Option<(usize, SignalValue)> {
        let mut signals: Vec<_> = waits.iter().map(|wait| wait.signal.handle).collect();
        let mut conditions: Vec<_> = waits.iter().map(|wait| wait.condition).collect();
        let mut values: Vec<_> = waits.iter().map(|wait| wait.value).collect();
        let mut met = 0;
        let wait = self.api().hsa_amd_signal_wait_any;
        // SAFETY: three lists of the length that is passed, of signals that live; the answer has its place.
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
    /// Its name in the C API, for packets. It must outlive every packet that names it.
    pub fn handle(&self) -> abi::Signal {
        self.handle
    }

    /// The signal in memory.
    pub fn in_memory(&self) -> &AmdSignal {
        // SAFETY: a handle of this runtime is the address of an `amd_signal_t` that lives until the signal is
        // destroyed; what changes in it is atomic.
        unsafe { &*std::ptr::with_exposed_provenance(self.handle.handle as usize) }
    }

    /// Its value, with acquire order.
    pub fn load(&self) -> SignalValue {
        // SAFETY: the signal lives.
        unsafe { (self.runtime.api().hsa_signal_load_scacquire)(self.handle) }
    }

    /// Sets it with release order, and wakes who waits.
    pub fn store(&self, value: SignalValue) {
        // SAFETY: the signal lives.
        unsafe { (self.runtime.api().hsa_signal_store_screlease)(self.handle, value) }
    }

    /// Sets it without order, and wakes who waits.
    pub fn store_relaxed(&self, value: SignalValue) {
        // SAFETY: the signal lives.
        unsafe { (self.runtime.api().hsa_signal_store_relaxed)(self.handle, value) }
    }

    /// Sleeps or spins until the condition is met, `timeout_ticks` have passed, or for no reason: the value then, with
    /// acquire order, which the caller compares again.
    pub fn wait(
        &self,
        condition: SignalCondition,
        value: SignalValue,
        timeout_ticks: u64,
        state: WaitState,
    ) -> SignalValue {
        let wait = self.runtime.api().hsa_signal_wait_scacquire;
        // SAFETY: the signal lives.
        unsafe { wait(self.handle, condition, value, timeout_ticks, state) }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_signal_destroy)(self.handle) };
    }
}
