//! Queues.

#![expect(unsafe_code, reason = "calls the library, and reads a queue in memory")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AmdQueue, QueueType, Status};

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
    runtime: Runtime,
    queue: NonNull<abi::Queue>,
    /// What the library's callback points to.
    handler: Box<Handler>,
}

// SAFETY: the library's queue functions may be called from every thread, and what changes in memory is atomic.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

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
    /// Creates a queue. `on_error` is called on a thread of the runtime when the queue fails, after which it runs nothing more;
    /// a panic in it is caught, and [`Queue::handler_panicked`] tells.
    pub fn create_queue(
        &self,
        options: &QueueOptions,
        on_error: impl Fn(Status) + Send + Sync + 'static,
    ) -> Result<Queue, Error> {
        let handler = Box::new(Handler { on_error: Box::new(on_error), panicked: AtomicBool::new(false) });
        let data: *const Handler = &raw const *handler;
        let mut queue = std::ptr::null_mut();
        let create = self.runtime().api().hsa_queue_create;
        // SAFETY: the handler lives in its box until the queue is destroyed; the answer has its place.
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
        Ok(Queue { runtime: self.runtime().clone(), queue, handler })
    }
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
    /// The queue in memory: its ring, its indices, its doorbell. Packets are written there, without a call.
    pub fn in_memory(&self) -> &AmdQueue {
        // SAFETY: a queue's pointer is that of an `amd_queue_t`, which lives until the queue is destroyed; what changes in it
        // is atomic.
        unsafe { self.queue.cast().as_ref() }
    }

    /// The queue in the C API.
    pub fn as_ptr(&self) -> *mut abi::Queue {
        self.queue.as_ptr()
    }

    /// Whether the error handler has panicked.
    pub fn handler_panicked(&self) -> bool {
        self.handler.panicked.load(Ordering::Acquire)
    }

    /// Whether dispatches write their times to their completion signals.
    pub fn set_profiling(&self, enable: bool) -> Result<(), Error> {
        let set = self.runtime.api().hsa_amd_profiling_set_profiler_enabled;
        // SAFETY: the queue lives.
        check("hsa_amd_profiling_set_profiler_enabled", unsafe { set(self.as_ptr(), enable.into()) })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once, before its handler goes. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_queue_destroy)(self.as_ptr()) };
    }
}
