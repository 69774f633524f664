//! Operations on one signal: 64 bytes that the host, clients and kernels modify without calling the
//! runtime.

#![expect(unsafe_code, reason = "a signal's handle is its address")]

use std::sync::atomic::{AtomicU64, Ordering};

use roci_emu::ALIAS;
use roci_hsa::abi::{AmdSignal, Signal, SignalKind};

use crate::wake;

/// Memory of a signal, which need not come from this runtime; `None` for a null or misaligned
/// handle.
pub(crate) fn memory<'a>(signal: Signal) -> Option<&'a AmdSignal> {
    // The handle may be a device address of locked host memory.
    let pointer = std::ptr::with_exposed_provenance::<AmdSignal>((signal.handle & !ALIAS) as usize);
    // SAFETY: the HSA specification requires clients to pass handles of live signals; all mutable
    // fields are atomic.
    (!pointer.is_null() && pointer.is_aligned()).then(|| unsafe { &*pointer })
}

/// Whether the memory of a signal marks it as live.
pub(crate) fn is_live(signal: Signal) -> bool {
    memory(signal).is_some_and(|memory| memory.kind != SignalKind::INVALID)
}

/// Current value; for a doorbell, the last value written to it. 0 for a null signal.
pub(crate) fn load(signal: Signal) -> i64 {
    let Some(memory) = memory(signal) else { return 0 };
    match doorbell(memory) {
        Some(doorbell) => doorbell.load(Ordering::SeqCst).cast_signed(),
        None => memory.value.load(Ordering::SeqCst),
    }
}

/// Whether a dependency of a packet is met: it is null or its value is 0.
pub(crate) fn is_zero(dependency: Signal) -> bool {
    dependency.is_null() || load(dependency) == 0
}

/// Modifies a signal, wakes its waiters and returns the old value. If the signal is the doorbell of
/// a queue, calls `ring` with the address of that queue instead.
pub(crate) fn update(signal: Signal, mut new: impl FnMut(i64) -> i64, ring: impl FnOnce(u64)) -> i64 {
    let Some(memory) = memory(signal) else { return 0 };
    if let Some(doorbell) = doorbell(memory) {
        let old = doorbell.load(Ordering::SeqCst).cast_signed();
        doorbell.store(new(old).cast_unsigned(), Ordering::SeqCst);
        ring(memory.queue_ptr);
        return old;
    }
    let old = memory.value.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |old| Some(new(old)));
    wake::notify();
    old.unwrap_or_else(|old| old)
}

/// Decrements a completion signal, which may be null.
pub(crate) fn complete(signal: Signal) {
    if let Some(memory) = memory(signal) {
        memory.value.fetch_sub(1, Ordering::SeqCst);
        wake::notify();
    }
}

/// The doorbell that a signal of that kind points to.
fn doorbell(memory: &AmdSignal) -> Option<&AtomicU64> {
    if memory.kind != SignalKind::DOORBELL {
        return None;
    }
    let address = memory.value.load(Ordering::Relaxed) as usize;
    let pointer = std::ptr::with_exposed_provenance::<AtomicU64>(address);
    // SAFETY: `Queues::destroy` destroys the signal before it unmaps the doorbell.
    (!pointer.is_null()).then(|| unsafe { &*pointer })
}
