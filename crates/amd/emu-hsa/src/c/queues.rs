//! Queues and their indices.

use std::sync::atomic::{AtomicU64, Ordering};

use roci_hsa::abi::*;

use super::arguments::{array, put};
use super::with_runtime;
use crate::agent::CPU;
use crate::chips::properties;
use crate::gpu::Gpu;
use crate::queue::{ErrorCallback, QueueDesc};
use crate::signal;

fn address(queue: *const Queue) -> u64 {
    queue.expose_provenance() as u64
}

/// Address of a queue, for functions where null is an invalid argument rather than an invalid
/// queue.
fn non_null_address(queue: *const Queue) -> Result<u64, Status> {
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
    with_runtime(|runtime| {
        if queue.is_null() || kind.name().is_none() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if agent == CPU {
            return Err(Status::ERROR_INVALID_QUEUE_CREATION);
        }
        let gpu = runtime.gpu(agent).ok_or(Status::ERROR_INVALID_AGENT)?;
        if kind == QueueType::COOPERATIVE && !properties(gpu.chip).cooperative() {
            return Err(Status::ERROR_INVALID_QUEUE_CREATION);
        }
        let created = runtime.queues.create(QueueDesc {
            gpu: Some(gpu),
            size,
            kind,
            features: QueueFeature::KERNEL_DISPATCH,
            on_error: ErrorCallback { function: callback, data },
            doorbell: Signal::NULL,
        })?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(queue, created) }
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
    with_runtime(|runtime| {
        let supported = kind == QueueType::MULTI || kind == QueueType::SINGLE;
        let handles = [region.handle, doorbell_signal.handle];
        if queue.is_null() || !supported || features == QueueFeature::EMPTY || handles.contains(&0) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.pool(MemoryPool { handle: region.handle }).map_err(|_| Status::ERROR_INVALID_REGION)?;
        if !signal::is_live(doorbell_signal) {
            return Err(Status::ERROR_INVALID_SIGNAL);
        }
        let on_error = ErrorCallback { function: None, data: std::ptr::null_mut() };
        let desc = QueueDesc { gpu: None, size, kind, features, on_error, doorbell: doorbell_signal };
        let created = runtime.queues.create(desc)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(queue, created) }
    })
}

pub(crate) unsafe extern "C" fn hsa_queue_destroy(queue: *mut Queue) -> Status {
    with_runtime(|runtime| runtime.queues.destroy(non_null_address(queue)?))
}

pub(crate) unsafe extern "C" fn hsa_queue_inactivate(queue: *mut Queue) -> Status {
    with_runtime(|runtime| runtime.queues.inactivate(non_null_address(queue)?))
}

pub(crate) unsafe extern "C" fn hsa_amd_queue_get_info(
    queue: *mut Queue,
    attribute: QueueInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let queue = runtime.queues.get(address(queue))?;
        match attribute {
            QueueInfo::AGENT => {
                let agent = queue.gpu.as_ref().map_or(CPU, |gpu| gpu.agent);
                // SAFETY: the client passes a pointer that is valid for this write.
                unsafe { put(value, agent) }
            }
            QueueInfo::DOORBELL_ID => {
                // SAFETY: the client passes a pointer that is valid for this write.
                unsafe { put(value, queue.amd().hsa_queue.id) }
            }
            _ => Err(Status::ERROR_INVALID_ARGUMENT),
        }
    })
}

/// Mask with one set bit per compute unit.
fn full_mask(gpu: &Gpu) -> Vec<u32> {
    let units = properties(gpu.chip).compute_units;
    (0..units.div_ceil(32)).map(|word| u32::MAX >> (32 - (units - 32 * word).min(32))).collect()
}

/// Stores the mask for `hsa_amd_queue_cu_get_mask`; it does not restrict where kernels run.
pub(crate) unsafe extern "C" fn hsa_amd_queue_cu_set_mask(
    queue: *const Queue,
    num_cu_mask_count: u32,
    cu_mask: *const u32,
) -> Status {
    with_runtime(|runtime| {
        let queue = runtime.queues.get(address(queue))?;
        if !num_cu_mask_count.is_multiple_of(32) || num_cu_mask_count > 0 && cu_mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let gpu = queue.gpu.as_ref().ok_or(Status::ERROR_INVALID_QUEUE)?;
        let mut mask = full_mask(gpu);
        if num_cu_mask_count > 0 {
            // SAFETY: the client passes a pointer to that many elements.
            let requested = unsafe { array(cu_mask, num_cu_mask_count as usize / 32) }?;
            for (index, word) in mask.iter_mut().enumerate() {
                *word &= requested.get(index).copied().unwrap_or(0);
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
    with_runtime(|runtime| {
        if cu_mask.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let queue = runtime.queues.get(address(queue))?;
        if num_cu_mask_count == 0 || !num_cu_mask_count.is_multiple_of(32) {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let gpu = queue.gpu.as_ref().ok_or(Status::ERROR_INVALID_QUEUE)?;
        let mask = queue.cu_mask.lock().clone();
        let mask = if mask.is_empty() { full_mask(gpu) } else { mask };
        for index in 0..num_cu_mask_count as usize / 32 {
            let word = mask.get(index).copied().unwrap_or(0);
            // SAFETY: the client passes a pointer that is valid for this write.
            unsafe { put(cu_mask.wrapping_add(index), word) }?;
        }
        Ok(())
    })
}

/// Accepted and ignored: all queues have the same priority.
pub(crate) unsafe extern "C" fn hsa_amd_queue_set_priority(queue: *mut Queue, priority: QueuePriority) -> Status {
    with_runtime(|runtime| {
        runtime.queues.get(non_null_address(queue)?)?;
        if priority.name().is_some() { Ok(()) } else { Err(Status::ERROR_INVALID_ARGUMENT) }
    })
}

/// Write index, which producers share.
///
/// # Safety
/// `queue` is a live queue of this runtime.
unsafe fn write_index<'a>(queue: *const Queue) -> &'a AtomicU64 {
    // SAFETY: the caller guarantees a live queue, which is the first field of an `AmdQueue`.
    unsafe { &(*queue.cast::<AmdQueue>()).write_dispatch_id }
}

/// Read index, which the packet processor advances.
///
/// # Safety
/// `queue` is a live queue of this runtime.
unsafe fn read_index<'a>(queue: *const Queue) -> &'a AtomicU64 {
    // SAFETY: the caller guarantees a live queue, which is the first field of an `AmdQueue`.
    unsafe { &(*queue.cast::<AmdQueue>()).read_dispatch_id }
}

/// Loads and stores of an index. All memory orders are sequentially consistent.
macro_rules! indices {
    ($index:ident: load $($load:ident)*; store $($store:ident)*) => {
        $(pub(crate) unsafe extern "C" fn $load(queue: *const Queue) -> u64 {
            // SAFETY: the client passes a live queue.
            unsafe { $index(queue) }.load(Ordering::SeqCst)
        })*
        $(pub(crate) unsafe extern "C" fn $store(queue: *const Queue, value: u64) {
            // SAFETY: the client passes a live queue.
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

macro_rules! additions {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(queue: *const Queue, value: u64) -> u64 {
            // SAFETY: the client passes a live queue.
            unsafe { write_index(queue) }.fetch_add(value, Ordering::SeqCst)
        }
    )*};
}
additions! {
    hsa_queue_add_write_index_relaxed hsa_queue_add_write_index_scacquire hsa_queue_add_write_index_screlease
    hsa_queue_add_write_index_scacq_screl
}

/// Compare-and-swap of the write index.
macro_rules! compare_and_swap {
    ($($name:ident)*) => {$(
        pub(crate) unsafe extern "C" fn $name(queue: *const Queue, expected: u64, value: u64) -> u64 {
            // SAFETY: the client passes a live queue.
            let index = unsafe { write_index(queue) };
            index.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|old| old)
        }
    )*};
}
compare_and_swap! {
    hsa_queue_cas_write_index_relaxed hsa_queue_cas_write_index_scacquire hsa_queue_cas_write_index_screlease
    hsa_queue_cas_write_index_scacq_screl
}
