//! Queues.

#![expect(unsafe_code, reason = "calls the library, and reads a queue in memory")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AmdQueue, AmdSignal, QueueType, SignalKind, Status};

/// Parameters of a new queue; by default 65,536 packets and several producers.
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// Size in packets, a power of two within [`Agent::queue_sizes`].
    pub size: u32,
    /// Whether one or several producers write packets.
    pub queue_type: QueueType,
    /// Maximum expected private segment of a work-item in bytes; by default the runtime decides.
    pub private_segment_size: u32,
    /// Maximum expected group segment of a workgroup in bytes; by default the runtime decides.
    pub group_segment_size: u32,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            size: 65_536,
            queue_type: QueueType::MULTI,
            private_segment_size: u32::MAX,
            group_segment_size: u32::MAX,
        }
    }
}

/// A queue, destroyed on drop. It must not be dropped in its own error handler.
#[derive(Debug)]
pub struct Queue {
    ring: NonNull<u8>,
    size: u32,
    doorbell: NonNull<AtomicU64>,
    /// Declared before the handler, so the queue is destroyed first.
    owned: OwnedQueue,
    /// Data of the error callback; an `Arc`, because the library holds a pointer to it.
    handler: Arc<ErrorHandler>,
}

// SAFETY: the queue functions of the library are thread-safe, and shared fields in memory are
// atomic.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

/// A queue that the library created, destroyed on drop.
#[derive(Debug)]
struct OwnedQueue {
    runtime: Runtime,
    queue: NonNull<abi::Queue>,
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: the queue is live, only this destroys it, and its handler is dropped afterwards.
        let _ = unsafe { (self.runtime.api().hsa_queue_destroy)(self.queue.as_ptr()) };
    }
}

/// Data of the error callback.
struct ErrorHandler {
    on_error: Box<dyn Fn(Status) + Send + Sync>,
    panicked: AtomicBool,
}

impl std::fmt::Debug for ErrorHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ErrorHandler").field("panicked", &self.panicked).finish_non_exhaustive()
    }
}

impl Agent {
    /// Creates a queue. When the queue fails, it stops, and `on_error` is called on a thread of the
    /// runtime. A panic in `on_error` is caught; see [`Queue::handler_panicked`].
    pub fn create_queue(
        &self,
        options: &QueueOptions,
        on_error: impl Fn(Status) + Send + Sync + 'static,
    ) -> Result<Queue, Error> {
        let handler = Arc::new(ErrorHandler { on_error: Box::new(on_error), panicked: AtomicBool::new(false) });
        let data = Arc::as_ptr(&handler);
        let mut queue = std::ptr::null_mut();
        let create = self.runtime().api().hsa_queue_create;
        // SAFETY: the handler lives until the queue is destroyed, and `queue` is valid for the
        // write.
        let status = unsafe {
            create(
                self.handle(),
                options.size,
                options.queue_type,
                Some(queue_error),
                data.cast_mut().cast(),
                options.private_segment_size,
                options.group_segment_size,
                &raw mut queue,
            )
        };
        check("hsa_queue_create", status)?;
        let queue = NonNull::new(queue).ok_or(Error::InvalidResult { call: "hsa_queue_create", what: "no queue" })?;
        let owned = OwnedQueue { runtime: self.runtime().clone(), queue };
        let error = |what| Error::InvalidResult { call: "hsa_queue_create", what };
        // SAFETY: the library has initialized this part of the queue, which does not change
        // afterwards.
        let fields = unsafe { queue.as_ref() };
        let ring = NonNull::new(fields.base_address.cast()).ok_or(error("a queue without a ring buffer"))?;
        let doorbell = doorbell(fields.doorbell_signal).ok_or(error("a queue without a hardware doorbell"))?;
        Ok(Queue { ring, size: fields.size, doorbell, owned, handler })
    }
}

/// The 64-bit hardware doorbell behind a doorbell signal.
fn doorbell(signal: abi::Signal) -> Option<NonNull<AtomicU64>> {
    if signal.is_null() {
        return None;
    }
    // SAFETY: a signal handle is the address of an `amd_signal_t`, and the doorbell signal lives as
    // long as its queue.
    let signal: &AmdSignal = unsafe { &*std::ptr::with_exposed_provenance(signal.handle as usize) };
    let address = signal.value.load(Ordering::Acquire) as usize;
    let address = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
    address.filter(|_| signal.kind == SignalKind::DOORBELL)
}

/// Error callback of all queues.
unsafe extern "C" fn queue_error(status: Status, _source: *mut abi::Queue, data: *mut c_void) {
    // SAFETY: `data` is the handler, which lives until the queue is destroyed.
    let handler = unsafe { &*data.cast_const().cast::<ErrorHandler>() };
    if catch_unwind(AssertUnwindSafe(|| (handler.on_error)(status))).is_err() {
        handler.panicked.store(true, Ordering::Release);
    }
}

impl Queue {
    /// Ring buffer of packets of [`PACKET_SIZE`](abi::PACKET_SIZE) bytes each.
    pub fn ring(&self) -> NonNull<u8> {
        self.ring
    }

    /// Size of the ring buffer in packets, a power of two.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Index of the next packet to write.
    pub fn write_index(&self) -> &AtomicU64 {
        // SAFETY: the pointer is that of an `amd_queue_t`, which lives until the queue is
        // destroyed. Only this atomic field is borrowed, since the runtime and the device modify
        // others at any time.
        unsafe { &(*self.in_memory()).write_dispatch_id }
    }

    /// Index of the next packet that the device reads.
    pub fn read_index(&self) -> &AtomicU64 {
        // SAFETY: as for `write_index`.
        unsafe { &(*self.in_memory()).read_dispatch_id }
    }

    /// Doorbell: storing the index of the last written packet notifies the device.
    pub fn doorbell(&self) -> &AtomicU64 {
        // SAFETY: `create_queue` checked the pointer, which is valid as long as the queue lives.
        unsafe { self.doorbell.as_ref() }
    }

    /// The queue in memory. Atomic fields may be read at any time, others only while the runtime
    /// does not modify them.
    pub fn in_memory(&self) -> *const AmdQueue {
        self.as_ptr().cast_const().cast()
    }

    /// Pointer in the C API.
    pub fn as_ptr(&self) -> *mut abi::Queue {
        self.owned.queue.as_ptr()
    }

    /// Whether the error handler has panicked.
    pub fn handler_panicked(&self) -> bool {
        self.handler.panicked.load(Ordering::Acquire)
    }

    /// Enables start and end times in the completion signals of dispatches.
    pub fn set_profiling(&self, enable: bool) -> Result<(), Error> {
        let set = self.owned.runtime.api().hsa_amd_profiling_set_profiler_enabled;
        // SAFETY: the queue is alive.
        check("hsa_amd_profiling_set_profiler_enabled", unsafe { set(self.as_ptr(), enable.into()) })
    }
}
