//! One queue: its memory, which clients and kernels access without calling the runtime, and the
//! thread that serves it.

#![expect(unsafe_code, reason = "clients and kernels access the memory of a queue without a call")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use roci_hsa::abi::{
    AmdQueue, AmdSignal, PACKET_SIZE, PacketType, QueueErrorCallback, QueueFeature, QueueProperties, QueueType, Signal,
    c_void,
};

use crate::gpu::Gpu;
use crate::mapping::{Mapping, PAGE};
use crate::parker::Parker;
use crate::wake;

/// Offsets of doorbell and ring buffer from the `AmdQueue`. The doorbell has its own page, so that
/// a write trap on it catches nothing else.
pub(crate) const DOORBELL_OFFSET: usize = PAGE;
const RING_OFFSET: usize = 2 * PAGE;

/// Error callback of a queue; without a function, an error aborts the process.
#[derive(Clone, Copy)]
pub(crate) struct ErrorCallback {
    pub(crate) function: Option<QueueErrorCallback>,
    pub(crate) data: *mut c_void,
}

// SAFETY: the HSA specification lets the runtime call the function with the data on any thread.
unsafe impl Send for ErrorCallback {}
// SAFETY: as above.
unsafe impl Sync for ErrorCallback {}

/// What a new queue is to be.
pub(crate) struct QueueDesc {
    /// `None` for a soft queue, which the client serves.
    pub(crate) gpu: Option<Arc<Gpu>>,
    /// Packets of the ring buffer, a power of two.
    pub(crate) size: u32,
    pub(crate) kind: QueueType,
    pub(crate) features: QueueFeature,
    pub(crate) on_error: ErrorCallback,
    /// Doorbell that the client provides; null to create one.
    pub(crate) doorbell: Signal,
}

pub(crate) struct Queue {
    /// `None` for a soft queue, which the client serves.
    pub(crate) gpu: Option<Arc<Gpu>>,
    pub(crate) on_error: ErrorCallback,
    /// Tells the packet processor and a running kernel to stop.
    pub(crate) stop: AtomicBool,
    /// Whether dispatches store start and end times in their completion signals.
    pub(crate) profiling: AtomicBool,
    pub(crate) parker: Parker,
    /// Compute unit mask of the client, one bit per unit. Only stored: the emulator has no compute
    /// units to mask.
    pub(crate) cu_mask: Mutex<Vec<u32>>,
    mapping: Arc<Mapping>,
    /// Doorbell signal that the runtime created; null if the client provides it.
    doorbell: Signal,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Queue {
    /// Bytes of a queue with this many packets.
    pub(crate) fn bytes(size: u32) -> usize {
        RING_OFFSET + size as usize * PACKET_SIZE
    }

    /// Initializes a queue in a zeroed mapping of [`Queue::bytes`] bytes. `created` is the doorbell
    /// signal, unless the client provides one.
    pub(crate) fn new(mapping: Arc<Mapping>, desc: QueueDesc, created: Option<Signal>, id: u64) -> Self {
        let start = mapping.start();
        // SAFETY: new zeroed memory of sufficient size that nothing else refers to yet; all zeros
        // is a valid `AmdQueue`.
        let amd = unsafe { &mut *start.cast::<AmdQueue>() };
        amd.hsa_queue.queue_type = desc.kind;
        amd.hsa_queue.features = desc.features;
        amd.hsa_queue.base_address = start.wrapping_add(RING_OFFSET).cast();
        amd.hsa_queue.doorbell_signal = created.unwrap_or(desc.doorbell);
        amd.hsa_queue.size = desc.size;
        amd.hsa_queue.id = id;
        amd.read_dispatch_id_field_base_byte_offset = std::mem::offset_of!(AmdQueue, read_dispatch_id) as u32;
        amd.group_segment_aperture_base_hi = roci_emu::SHARED_APERTURE;
        amd.private_segment_aperture_base_hi = roci_emu::PRIVATE_APERTURE;
        amd.queue_properties = QueueProperties::IS_PTR64;
        for slot in 0..desc.size as usize {
            // SAFETY: inside the ring buffer, which nothing else refers to yet.
            unsafe {
                start.wrapping_add(RING_OFFSET + slot * PACKET_SIZE).cast::<u16>().write(PacketType::INVALID.0.into())
            };
        }
        // SAFETY: inside the mapping, which nothing else refers to yet.
        unsafe { start.wrapping_add(DOORBELL_OFFSET).cast::<u64>().write(u64::MAX) };
        if let Some(doorbell) = created {
            let signal = std::ptr::with_exposed_provenance_mut::<AmdSignal>(doorbell.handle as usize);
            // SAFETY: a signal that was created for this queue and that no client knows yet.
            unsafe { &mut *signal }.queue_ptr = mapping.range().start;
        }
        Self {
            gpu: desc.gpu,
            on_error: desc.on_error,
            stop: AtomicBool::new(false),
            profiling: AtomicBool::new(false),
            parker: Parker::default(),
            cu_mask: Mutex::default(),
            doorbell: created.unwrap_or(Signal::NULL),
            mapping,
            thread: Mutex::new(None),
        }
    }

    pub(crate) fn amd(&self) -> &AmdQueue {
        // SAFETY: initialized by `new` and mapped as long as the queue lives; all fields that
        // change later are atomic.
        unsafe { &*self.mapping.start().cast::<AmdQueue>() }
    }

    /// Address of the `AmdQueue`, by which clients identify the queue.
    pub(crate) fn address(&self) -> u64 {
        self.mapping.range().start
    }

    pub(crate) fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// Doorbell signal that the runtime created; null if the client provides it.
    pub(crate) fn doorbell(&self) -> Signal {
        self.doorbell
    }

    /// Slot of the packet with this index; indices wrap around the ring buffer.
    pub(crate) fn packet(&self, index: u64) -> *mut u8 {
        let slot = index & u64::from(self.amd().hsa_queue.size - 1);
        self.mapping.start().wrapping_add(RING_OFFSET + slot as usize * PACKET_SIZE)
    }

    /// First 32 bits of a packet: the header in the low 16, which the client writes last and
    /// atomically.
    pub(crate) fn header_word(&self, index: u64) -> &AtomicU32 {
        // SAFETY: inside the ring buffer, aligned to 64 bytes, and only accessed atomically after
        // `new`.
        unsafe { &*self.packet(index).cast::<AtomicU32>() }
    }

    /// Address of the doorbell, which is the start of its page.
    pub(crate) fn doorbell_page(&self) -> u64 {
        self.address() + DOORBELL_OFFSET as u64
    }

    /// Last value written to the doorbell: the index of a packet, or -1 before the first.
    pub(crate) fn doorbell_value(&self) -> i64 {
        let doorbell = self.mapping.start().wrapping_add(DOORBELL_OFFSET);
        // SAFETY: inside the mapping, page aligned, and only accessed atomically after `new`.
        unsafe { &*doorbell.cast::<AtomicU64>() }.load(Ordering::Acquire).cast_signed()
    }

    /// Wakes the thread, whether it sleeps in the write trap or is parked.
    fn wake(&self) {
        // Next to the doorbell: a write anywhere in the page triggers the trap.
        let beside = self.mapping.start().wrapping_add(DOORBELL_OFFSET + size_of::<u64>());
        // SAFETY: inside the mapping, aligned, and only accessed atomically.
        unsafe { &*beside.cast::<AtomicU64>() }.store(1, Ordering::SeqCst);
        self.parker.unpark();
    }

    /// Hands over the thread that serves the queue, for [`Queue::shut_down`] to join.
    pub(crate) fn set_thread(&self, thread: JoinHandle<()>) {
        *self.thread.lock() = Some(thread);
    }

    /// Stops and joins the thread.
    pub(crate) fn shut_down(&self) {
        self.stop.store(true, Ordering::SeqCst);
        self.wake();
        wake::notify();
        if let Some(thread) = self.thread.lock().take()
            // The queue's own error callback may destroy it.
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}
