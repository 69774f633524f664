//! Queues.

use std::sync::atomic::{AtomicU64, Ordering};

use roci_hsa::abi::*;

use super::{array, put, with};
use crate::gpu::Gpu;
use crate::queue::{OnError, Wanted};
use crate::{signal, topology};

/// What clients know a queue by.
fn address(queue: *const Queue) -> u64 {
    queue.expose_provenance() as u64
}

/// The same, where null is an argument of its own kind of wrong.
fn given(queue: *const Queue) -> Result<u64, Status> {
    if queue.is_null() { Err(Status::ERROR_INVALID_ARGUMENT) } else { Ok(address(queue)) }
}

pub(crate) unsafe extern "C" fn hsa_queue_create(
    agent: Agent,
    size: u32,
    kind: QueueType,
    callback: Option<QueueErrorCallback>,
    data: *mut c_void,
    _private_segment_size: u32,
    _group_segment_size: u32,
    queue: *mut *mut Queue,
) -> Status {
    with(|runtime| {
        if queue.is_null() || kind.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if agent == crate::runtime::CPU {
            return Err(Status::ERROR_INVALID_QUEUE_CREATION);
        }
        let gpu = runtime.gpu(agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        if kind == QueueType::COOPERATIVE && !topology::properties(gpu.chip).cooperative() {
            return Err(Status::ERROR_INVALID_QUEUE_CREATION);
        }
        let made = runtime.queues.create(
            runtime,
            Wanted {
                gpu: Some(gpu),
                size,
                kind,
                features: QueueFeature::KERNEL_DISPATCH,
                on_error: OnError { function: callback, data },
                doorbell: Signal::NULL,
            },
        )?;
        // SAFETY: the specification says so.
        unsafe { put(queue, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_soft_queue_create(
    region: Region,
    size: u32,
    kind: QueueType,
    features: QueueFeature,
    doorbell_signal: Signal,
    queue: *mut *mut Queue,
) -> Status {
    with(|runtime| {
        let known = kind == QueueType::MULTI || kind == QueueType::SINGLE;
        let handles = [region.handle, doorbell_signal.handle];
        if queue.is_null() || !known || features == QueueFeature::EMPTY || handles.contains(&0) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.pool(MemoryPool { handle: region.handle }).map_err(|_| Status::ERROR_INVALID_REGION)?;
        if !signal::is_live(doorbell_signal) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        let on_error = OnError { function: None, data: std::ptr::null_mut() };
        let wanted = Wanted { gpu: None, size, kind, features, on_error, doorbell: doorbell_signal };
        let made = runtime.queues.create(runtime, wanted)?;
        // SAFETY: the specification says so.
        unsafe { put(queue, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_queue_destroy(queue: *mut Queue) -> Status {
    with(|runtime| runtime.queues.destroy(runtime, given(queue)?))
}

pub(crate) unsafe extern "C" fn hsa_queue_inactivate(queue: *mut Queue) -> Status {
    with(|runtime| runtime.queues.inactivate(given(queue)?))
}

pub(crate) unsafe extern "C" fn hsa_amd_queue_get_info(
    queue: *mut Queue,
    attribute: QueueInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        let queue = runtime.queues.get(address(queue))?;
        match attribute {
            QueueInfo::AGENT => {
                let agent = queue.gpu.as_ref().map_or(crate::runtime::CPU, |gpu| gpu.agent);
                // SAFETY: the specification says so.
                unsafe { put(value, agent) }
            }
            QueueInfo::DOORBELL_ID => {
                // SAFETY: the specification says so.
                unsafe { put(value, queue.amd().hsa_queue.id) }
            }
            _ => Err(Status::ERROR_INVALID_ARGUMENT),
        }
    })
}

/// As many words as have a bit for each compute unit, with all bits set.
fn all_units(gpu: &Gpu) -> Vec<u32> {
    let units = topology::properties(gpu.chip).compute_units;
    (0..units.div_ceil(32)).map(|word| u32::MAX >> (32 - (units - 32 * word).min(32))).collect()
}

/// Every compute unit runs everything here; a mask is kept for those who ask for it.
pub(crate) unsafe extern "C" fn hsa_amd_queue_cu_set_mask(
    queue: *const Queue,
    num_cu_mask_count: u32,
    cu_mask: *const u32,
) -> Status {
    with(|runtime| {
        let queue = runtime.queues.get(address(queue))?;
        if !num_cu_mask_count.is_multiple_of(32) || num_cu_mask_count > 0 && cu_mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let gpu = queue.gpu.as_ref().ok_or(Status::ERROR_INVALID_QUEUE)?;
        let mut mask = all_units(gpu);
        if num_cu_mask_count > 0 {
            // SAFETY: the specification says so.
            let wanted = unsafe { array(cu_mask, num_cu_mask_count as usize / 32) }?;
            for (index, word) in mask.iter_mut().enumerate() {
                *word &= wanted.get(index).copied().unwrap_or(0);
            }
        }
        *queue.cu_mask.lock() = mask;
        Ok(())
    })
}

pub(crate) unsafe extern "C" fn hsa_amd_queue_cu_get_mask(
    queue: *const Queue,
    num_cu_mask_count: u32,
    cu_mask: *mut u32,
) -> Status {
    with(|runtime| {
        if cu_mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let queue = runtime.queues.get(address(queue))?;
        if num_cu_mask_count == 0 || !num_cu_mask_count.is_multiple_of(32) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let gpu = queue.gpu.as_ref().ok_or(Status::ERROR_INVALID_QUEUE)?;
        let kept = queue.cu_mask.lock().clone();
        let kept = if kept.is_empty() { all_units(gpu) } else { kept };
        for index in 0..num_cu_mask_count as usize / 32 {
            let word = kept.get(index).copied().unwrap_or(0);
            // SAFETY: the specification says so.
            unsafe { put(cu_mask.wrapping_add(index), word) }?;
        }
        Ok(())
    })
}

/// All queues have the same share of the machine.
pub(crate) unsafe extern "C" fn hsa_amd_queue_set_priority(queue: *mut Queue, priority: QueuePriority) -> Status {
    with(|runtime| {
        runtime.queues.get(given(queue)?)?;
        if priority.name().is_some() { Ok(()) } else { Err(Status::ERROR_INVALID_ARGUMENT) }
    })
}

/// The index of a queue that its writers share.
///
/// # Safety
/// It is a live queue of this runtime.
unsafe fn write_index<'a>(queue: *const Queue) -> &'a AtomicU64 {
    // SAFETY: the caller's promise; a queue is the head of an `AmdQueue`.
    unsafe { &(*queue.cast::<AmdQueue>()).write_dispatch_id }
}

/// The index of a queue that its reader moves.
///
/// # Safety
/// It is a live queue of this runtime.
unsafe fn read_index<'a>(queue: *const Queue) -> &'a AtomicU64 {
    // SAFETY: the caller's promise; a queue is the head of an `AmdQueue`.
    unsafe { &(*queue.cast::<AmdQueue>()).read_dispatch_id }
}

/// Loads and stores of indices, as strict as the strictest order of memory.
macro_rules! indices {
    ($index:ident: load $($load:ident)*; store $($store:ident)*) => {
        $(pub(crate) unsafe extern "C" fn $load(queue: *const Queue) -> u64 {
            // SAFETY: the specification says so.
            unsafe { $index(queue) }.load(Ordering::SeqCst)
        })*
        $(pub(crate) unsafe extern "C" fn $store(queue: *const Queue, value: u64) {
            // SAFETY: the specification says so.
            unsafe { $index(queue) }.store(value, Ordering::SeqCst);
        })*
    };
}
indices! { write_index:
    load hsa_queue_load_write_index_relaxed hsa_queue_load_write_index_scacquire;
    store hsa_queue_store_write_index_relaxed hsa_queue_store_write_index_screlease
}
indices! { read_index:
    load hsa_queue_load_read_index_relaxed hsa_queue_load_read_index_scacquire;
    store hsa_queue_store_read_index_relaxed hsa_queue_store_read_index_screlease
}

/// Additions to the write index.
macro_rules! additions {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(queue: *const Queue, value: u64) -> u64 {
            // SAFETY: the specification says so.
            unsafe { write_index(queue) }.fetch_add(value, Ordering::SeqCst)
        }
    )*};
}
additions! {
    hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_scacquire hsa_queue_add_write_index_screlease
    hsa_queue_add_write_index_scacq_screl
}

/// Exchanges of the write index if it is what is expected.
macro_rules! compared {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(queue: *const Queue, expected: u64, value: u64) -> u64 {
            // SAFETY: the specification says so.
            let index = unsafe { write_index(queue) };
            index.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|old| old)
        }
    )*};
}
compared! {
    hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_scacquire hsa_queue_cas_write_index_screlease
    hsa_queue_cas_write_index_scacq_screl
}
