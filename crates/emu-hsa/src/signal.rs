//! Signals: 64 bytes of memory that host, clients and kernels change without a call.

#![expect(unsafe_code, reason = "a signal's handle is its address")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use roci_emu::ALIAS;
use roci_hsa::abi::{AmdSignal, IpcSignal, Signal, SignalKind, Status};

use crate::handlers::Handlers;
use crate::mapping::{Mapping, PAGE};
use crate::memory::Allocations;
use crate::{ipc, queue, wake};

/// Bytes that are taken at once.
const CHUNK: usize = 64 << 10;

/// Memory for signals.
#[derive(Default)]
pub(crate) struct Signals {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    chunks: Vec<Arc<Mapping>>,
    free: Vec<u64>,
    /// Those that other processes see too have pages of their own.
    shared: BTreeMap<u64, Arc<Mapping>>,
}

impl Signals {
    /// A new signal that every GPU can reach; `None` if the host has no memory.
    pub(crate) fn create(&self, memory: &Allocations, kind: SignalKind, value: i64) -> Option<Signal> {
        let mut state = self.state.lock();
        if state.free.is_empty() {
            let chunk = memory.share(CHUNK)?;
            let range = chunk.range();
            state.free.extend(range.step_by(size_of::<AmdSignal>()));
            state.chunks.push(chunk);
        }
        let handle = state.free.pop()?;
        let fresh = AmdSignal { kind, value: value.into(), ..AmdSignal::default() };
        // SAFETY: the memory is that of a signal no one has, and lives as long as the runtime.
        unsafe { std::ptr::with_exposed_provenance_mut::<AmdSignal>(handle as usize).write(fresh) };
        Some(Signal { handle })
    }

    /// A new signal that other processes can see too.
    pub(crate) fn create_shared(&self, memory: &Allocations, value: i64) -> Option<Signal> {
        let mapping = memory.share(PAGE)?;
        let fresh = AmdSignal { kind: SignalKind::USER, value: value.into(), ..AmdSignal::default() };
        // SAFETY: fresh memory that is large enough.
        unsafe { mapping.start().cast::<AmdSignal>().write(fresh) };
        // Now, since no one knows it yet.
        mapping.file()?;
        Some(self.keep(mapping))
    }

    fn keep(&self, mapping: Arc<Mapping>) -> Signal {
        let handle = mapping.range().start;
        self.state.lock().shared.insert(handle, mapping);
        Signal { handle }
    }

    /// A handle of such a signal for other processes.
    pub(crate) fn export(&self, signal: Signal) -> Result<IpcSignal, Status> {
        let state = self.state.lock();
        ipc::export(state.shared.get(&signal.handle).ok_or(Status::ERROR_INVALID_ARGUMENT)?)
    }

    /// The signal of another process.
    pub(crate) fn import(&self, memory: &Allocations, handle: &IpcSignal) -> Result<Signal, Status> {
        let mapping = ipc::import(handle)?;
        if !is_live(Signal { handle: mapping.range().start }) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        memory.share_mapping(&mapping);
        Ok(self.keep(mapping))
    }

    /// Gives a signal back, after those who wait to be called for it are forgotten; `false` if it is none of these.
    pub(crate) fn destroy(&self, memory: &Allocations, handlers: &Handlers, signal: Signal) -> bool {
        let mut state = self.state.lock();
        if let Some(mapping) = state.shared.remove(&signal.handle) {
            handlers.forget(signal);
            // Other processes keep theirs.
            memory.unshare(&mapping);
            return true;
        }
        let ours = state.chunks.iter().any(|chunk| chunk.range().contains(&signal.handle));
        if !ours || !is_live(signal) {
            return false;
        }
        handlers.forget(signal);
        let place = std::ptr::with_exposed_provenance_mut::<AmdSignal>(signal.handle as usize);
        // The value stays: zero would mean that something is complete.
        // SAFETY: memory of a signal, of which the client says that no one uses it any more.
        let kind = unsafe { &raw mut (*place).kind };
        // SAFETY: the same.
        unsafe { kind.write(SignalKind::INVALID) };
        state.free.push(signal.handle);
        true
    }
}

/// The memory of a signal; it need not be one that this runtime made.
pub(crate) fn of<'a>(signal: Signal) -> Option<&'a AmdSignal> {
    // It may also lie in memory that GPUs know by another address.
    let pointer = std::ptr::with_exposed_provenance::<AmdSignal>((signal.handle & !ALIAS) as usize);
    // SAFETY: a client that hands over a signal promises that it is one, as for any pointer in C.
    (!pointer.is_null() && pointer.is_aligned()).then(|| unsafe { &*pointer })
}

/// Whether there is a signal at this address: its memory says so.
pub(crate) fn is_live(signal: Signal) -> bool {
    of(signal).is_some_and(|memory| memory.kind != SignalKind::INVALID)
}

/// What a signal holds; a doorbell gives what was last written to it.
pub(crate) fn load(signal: Signal) -> i64 {
    let Some(memory) = of(signal) else { return 0 };
    match doorbell(memory) {
        Some(bell) => bell.load(Ordering::SeqCst).cast_signed(),
        None => memory.value.load(Ordering::SeqCst),
    }
}

/// Changes a signal and tells those who wait; what it held before.
pub(crate) fn update(signal: Signal, mut new: impl FnMut(i64) -> i64) -> i64 {
    let Some(memory) = of(signal) else { return 0 };
    if let Some(bell) = doorbell(memory) {
        let old = bell.load(Ordering::SeqCst).cast_signed();
        bell.store(new(old).cast_unsigned(), Ordering::SeqCst);
        queue::ring(memory.queue_ptr);
        return old;
    }
    let old = memory.value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(new(old)));
    wake::changed();
    old.unwrap_or_else(|old| old)
}

/// Takes one from a completion signal, which may be null.
pub(crate) fn complete(signal: Signal) {
    if let Some(memory) = of(signal) {
        memory.value.fetch_sub(1, Ordering::SeqCst);
        wake::changed();
    }
}

/// The memory behind a doorbell.
fn doorbell(memory: &AmdSignal) -> Option<&AtomicU64> {
    if memory.kind != SignalKind::DOORBELL {
        return None;
    }
    let address = memory.value.load(Ordering::Relaxed) as usize;
    let pointer = std::ptr::with_exposed_provenance::<AtomicU64>(address);
    // SAFETY: the doorbell of a queue lives as long as its signal.
    (!pointer.is_null()).then(|| unsafe { &*pointer })
}
