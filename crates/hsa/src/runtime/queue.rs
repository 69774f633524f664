//! Queues.

#![expect(unsafe_code, reason = "calls the library, and reads a queue in memory")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AmdQueue, AmdSignal, QueueType, SignalKind, Status};

/// How a queue is made.
#[derive(Clone, Debug)]
pub struct QueueOptions {
    /// Packets, a power of two within [`Agent::queue_sizes`].
    pub size: u32,
    /// Who writes packets.
    pub queue_type: QueueType,
    /// The most private bytes of a work-item that are expected; the default leaves it to the runtime.
    pub private_segment_size: u32,
    /// The most group bytes of a workgroup that are expected; the default leaves it to the runtime.
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

/// A queue. It is destroyed when this is dropped, which must not happen in its own error handler.
#[derive(Debug)]
pub struct Queue {
    ring: NonNull<u8>,
    size: u32,
    doorbell: NonNull<AtomicU64>,
    /// Before the handler: it goes first.
    created: Created,
    /// What the library's callback points to; shared, because it is used through that pointer too.
    handler: Arc<Handler>,
}

// SAFETY: the library's queue functions may be called from every thread, and what changes in memory is atomic.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

/// A queue of the library, to be destroyed.
#[derive(Debug)]
struct Created {
    runtime: Runtime,
    queue: NonNull<abi::Queue>,
}

impl Drop for Created {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once, before its handler goes. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_queue_destroy)(self.queue.as_ptr()) };
    }
}

/// What happens on an error.
struct Handler {
    on_error: Box<dyn Fn(Status) + Send + Sync>,
    panicked: AtomicBool,
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handler").field("panicked", &self.panicked).finish_non_exhaustive()
    }
}

impl Agent {
    /// Creates a queue. `on_error` is called on a thread of the runtime when the queue fails, after which it runs
    /// nothing more; a panic in it is caught, and [`Queue::handler_panicked`] tells.
    pub fn create_queue(
        &self,
        options: &QueueOptions,
        on_error: impl Fn(Status) + Send + Sync + 'static,
    ) -> Result<Queue, Error> {
        let handler = Arc::new(Handler { on_error: Box::new(on_error), panicked: AtomicBool::new(false) });
        let data = Arc::as_ptr(&handler);
        let mut queue = std::ptr::null_mut();
        let create = self.runtime().api().hsa_queue_create;
        // SAFETY: the handler lives until the queue is destroyed; the answer has its place.
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
        let queue = NonNull::new(queue).ok_or(Error::Answer { call: "hsa_queue_create", what: "no queue" })?;
        let created = Created { runtime: self.runtime().clone(), queue };
        let answer = |what| Error::Answer { call: "hsa_queue_create", what };
        // SAFETY: the library filled this part of the queue and leaves it as it is.
        let fields = unsafe { queue.as_ref() };
        let ring = NonNull::new(fields.base_address.cast()).ok_or(answer("a queue without a ring"))?;
        let doorbell = doorbell(fields.doorbell_signal).ok_or(answer("a queue without a doorbell of its own"))?;
        Ok(Queue { ring, size: fields.size, doorbell, created, handler })
    }
}

/// Where a doorbell's value goes, if `signal` is the doorbell of a queue that is served by hardware.
fn doorbell(signal: abi::Signal) -> Option<NonNull<AtomicU64>> {
    if signal.is_null() {
        return None;
    }
    // SAFETY: a signal's handle is the address of an `amd_signal_t`, and a doorbell lives as long as its queue.
    let signal: &AmdSignal = unsafe { &*std::ptr::with_exposed_provenance(signal.handle as usize) };
    let address = signal.value.load(Ordering::Acquire) as usize;
    let address = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
    address.filter(|_| signal.kind == SignalKind::DOORBELL)
}

/// Calls the handler of a queue.
unsafe extern "C" fn queue_error(status: Status, _source: *mut abi::Queue, data: *mut c_void) {
    // SAFETY: `data` is the handler of a queue that is not destroyed yet.
    let handler = unsafe { &*data.cast_const().cast::<Handler>() };
    if catch_unwind(AssertUnwindSafe(|| (handler.on_error)(status))).is_err() {
        handler.panicked.store(true, Ordering::Release);
    }
}

impl Queue {
    /// The ring of packets, of [`PACKET_SIZE`](abi::PACKET_SIZE) bytes each. They are written there, without a call.
    pub fn ring(&self) -> NonNull<u8> {
        self.ring
    }

    /// Packets in the ring, a power of two.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The next packet to write.
    pub fn write_index(&self) -> &AtomicU64 {
        // SAFETY: a queue's pointer is that of an `amd_queue_t`, which lives until the queue is destroyed. Only this
        // field is borrowed: the runtime and the device change others at any time.
        unsafe { &(*self.in_memory()).write_dispatch_id }
    }

    /// The next packet that the device reads.
    pub fn read_index(&self) -> &AtomicU64 {
        // SAFETY: as for the write index.
        unsafe { &(*self.in_memory()).read_dispatch_id }
    }

    /// Where the number of the last written packet is stored to tell the device.
    pub fn doorbell(&self) -> &AtomicU64 {
        // SAFETY: it was checked when the queue was made, and lives as long as the queue.
        unsafe { self.doorbell.as_ref() }
    }

    /// The queue in memory. Its atomics may be read at any time, the rest only where the runtime promises that it
    /// rests.
    pub fn in_memory(&self) -> *const AmdQueue {
        self.as_ptr().cast_const().cast()
    }

    /// The queue in the C API.
    pub fn as_ptr(&self) -> *mut abi::Queue {
        self.created.queue.as_ptr()
    }

    /// Whether the error handler has panicked.
    pub fn handler_panicked(&self) -> bool {
        self.handler.panicked.load(Ordering::Acquire)
    }

    /// Whether dispatches write their times to their completion signals.
    pub fn set_profiling(&self, enable: bool) -> Result<(), Error> {
        let set = self.created.runtime.api().hsa_amd_profiling_set_profiler_enabled;
        // SAFETY: the queue lives.
        check("hsa_amd_profiling_set_profiler_enabled", unsafe { set(self.as_ptr(), enable.into()) })
    }
}
