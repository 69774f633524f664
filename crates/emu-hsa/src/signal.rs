//! Signals: 64 bytes of memory that host, clients and kernels change without a call.

#![expect(unsafe_code, reason = "a signal's handle is its address")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use roci_hsa::abi::{AmdSignal, Signal, SignalKind};

use crate::mapping::Mapping;
use crate::memory::Allocations;
use crate::{queue, wake};

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

    /// Gives a signal back; `false` if it is none of these.
    pub(crate) fn destroy(&self, signal: Signal) -> bool {
        let mut state = self.state.lock();
        let ours = state.chunks.iter().any(|chunk| chunk.range().contains(&signal.handle));
        let Some(memory) = (if ours { of(signal) } else { None }) else { return false };
        if memory.kind == SignalKind::INVALID {
            return false;
        }
        // SAFETY: the client says that no one uses it any more.
        unsafe {
            std::ptr::with_exposed_provenance_mut::<AmdSignal>(signal.handle as usize).write(AmdSignal::default())
        };
        state.free.push(signal.handle);
        true
    }
}

/// The memory of a signal; it need not be one that this runtime made.
pub(crate) fn of<'a>(signal: Signal) -> Option<&'a AmdSignal> {
    let pointer = std::ptr::with_exposed_provenance::<AmdSignal>(signal.handle as usize);
    // SAFETY: a client that hands over a signal promises that it is one, as for any pointer in C.
    (!pointer.is_null() && pointer.is_aligned()).then(|| unsafe { &*pointer })
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
