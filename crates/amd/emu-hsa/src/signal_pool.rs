//! Memory of signals: creation, destruction and sharing with other processes.

#![expect(unsafe_code, reason = "a signal's handle is its address")]

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use roci_hsa::abi::{AmdSignal, IpcSignal, Signal, SignalKind, Status};

use crate::handlers::Handlers;
use crate::ipc;
use crate::mapping::{Mapping, PAGE};
use crate::memory::Allocations;
use crate::signal::is_live;

/// Bytes mapped at once for new signals.
const CHUNK: usize = 64 << 10;

/// All signals of the runtime.
pub(crate) struct SignalPool {
    memory: Arc<Allocations>,
    handlers: Arc<Handlers>,
    state: Mutex<SignalPoolState>,
}

#[derive(Default)]
struct SignalPoolState {
    chunks: Vec<Arc<Mapping>>,
    /// Addresses of unused signals.
    free: Vec<u64>,
    /// IPC signals by address. Each has its own page, so that no other signal is exported with it.
    ipc: BTreeMap<u64, Arc<Mapping>>,
}

impl SignalPool {
    /// A pool of signals in `memory`. Destroying a signal removes it from `handlers`.
    pub(crate) fn new(memory: Arc<Allocations>, handlers: Arc<Handlers>) -> Self {
        Self { memory, handlers, state: Mutex::default() }
    }

    /// Creates a signal that every GPU can access; `None` if the host is out of memory.
    pub(crate) fn create(&self, kind: SignalKind, value: i64) -> Option<Signal> {
        let mut state = self.state.lock();
        if state.free.is_empty() {
            let chunk = self.memory.allocate_internal(CHUNK)?;
            let range = chunk.range();
            state.free.extend(range.step_by(size_of::<AmdSignal>()));
            state.chunks.push(chunk);
        }
        let handle = state.free.pop()?;
        let new = AmdSignal { kind, value: value.into(), ..AmdSignal::default() };
        // SAFETY: the address was on the free list, so no signal uses it; its chunk stays mapped as
        // long as the pool lives.
        unsafe { std::ptr::with_exposed_provenance_mut::<AmdSignal>(handle as usize).write(new) };
        Some(Signal { handle })
    }

    /// Creates a signal that can be exported to other processes.
    pub(crate) fn create_ipc(&self, value: i64) -> Option<Signal> {
        let mapping = self.memory.allocate_internal(PAGE)?;
        let new = AmdSignal { kind: SignalKind::USER, value: value.into(), ..AmdSignal::default() };
        // SAFETY: a new mapping of one page, which is larger than a signal.
        unsafe { mapping.start().cast::<AmdSignal>().write(new) };
        // Moving the page into a file could lose concurrent writes; nothing writes to it yet.
        mapping.file()?;
        Some(self.insert_ipc(mapping))
    }

    fn insert_ipc(&self, mapping: Arc<Mapping>) -> Signal {
        let handle = mapping.range().start;
        self.state.lock().ipc.insert(handle, mapping);
        Signal { handle }
    }

    /// Exports a signal that [`SignalPool::create_ipc`] created.
    pub(crate) fn export(&self, signal: Signal) -> Result<IpcSignal, Status> {
        let state = self.state.lock();
        ipc::export(state.ipc.get(&signal.handle).ok_or(Status::ERROR_INVALID_ARGUMENT)?)
    }

    /// Maps a signal of another process.
    pub(crate) fn import(&self, handle: &IpcSignal) -> Result<Signal, Status> {
        let mapping = ipc::import(handle)?;
        if !is_live(Signal { handle: mapping.range().start }) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        self.memory.register_internal(&mapping);
        Ok(self.insert_ipc(mapping))
    }

    /// Removes the handlers of a signal and frees it; `false` if the pool has no such signal.
    pub(crate) fn destroy(&self, signal: Signal) -> bool {
        let mut state = self.state.lock();
        if let Some(mapping) = state.ipc.remove(&signal.handle) {
            self.handlers.remove(signal);
            // Other processes have their own mappings of the page.
            self.memory.unregister_internal(&mapping);
            return true;
        }
        let ours = state.chunks.iter().any(|chunk| chunk.range().contains(&signal.handle));
        if !ours || !is_live(signal) {
            return false;
        }
        self.handlers.remove(signal);
        let address = std::ptr::with_exposed_provenance_mut::<AmdSignal>(signal.handle as usize);
        // The value stays: a late reader would take zero for completion.
        // SAFETY: a live signal of one of our chunks, which stay mapped.
        let kind = unsafe { &raw mut (*address).kind };
        // SAFETY: the same; a client that destroys a signal no longer uses it.
        unsafe { kind.write(SignalKind::INVALID) };
        state.free.push(signal.handle);
        true
    }
}
