//! Buffers: device memory and host-visible memory.
//!
//! Host-visible buffers use fine-grained shared virtual memory where the device supports it.
//! Without it, host and device have separate copies, and the HAL's `flush` and `invalidate`
//! transfer between them.

#![expect(unsafe_code, reason = "owns memory that OpenCL shares or copies")]

use std::ptr::NonNull;
use std::sync::Arc;

use roci_hal::driver::BufferBackend;
use roci_hal::host_memory::HostMemory;
use roci_hal::{BufferDesc, Deadline, Error, MemoryType};

use crate::cl::{CommandQueue, Context, EnqueueOptions, Event, Mem};
use crate::discover::PhysicalDevice;
use crate::error::ClError;
use crate::options::Options;
use crate::pinned::{PinnedMemory, PinnedUsage};
use crate::sub_buffers::SubBuffers;
use crate::timeout::{self, WaitError};

/// Allocations of at least this size are touched immediately: drivers overcommit and fail only at
/// first use.
const TOUCH_THRESHOLD: u64 = 16 << 20;

/// Allocates buffers from the memory types of a logical device.
pub(crate) struct BufferAllocator {
    context: Arc<BufferContext>,
    fine_grained: bool,
    unified: bool,
    max_allocation: u64,
}

/// State that buffers share with their device.
pub(crate) struct BufferContext {
    device: String,
    pub(crate) context: Arc<Context>,
    /// For transfers between host and device copies. Separate from the queues that run batches.
    pub(crate) queue: CommandQueue,
    /// The device's reported `CL_DEVICE_MAX_MEM_ALLOC_SIZE` in bytes.
    reported: u64,
    pub(crate) pinned: PinnedUsage,
}

impl BufferAllocator {
    pub(crate) fn new(
        device: &str,
        context: &Arc<Context>,
        chosen: &[PhysicalDevice],
        options: &Options,
    ) -> Result<Self, ClError> {
        let properties = || chosen.iter().map(|found| &found.properties);
        let limit = |found: &PhysicalDevice| {
            let max_allocation = found.properties.max_allocation;
            let usable = options.memory.unwrap_or_else(|| found.info.usable_memory());
            // CPU devices enforce the reported limit; GPU drivers often accept more than they
            // report.
            if found.info.kind.is_gpu() || options.memory.is_some() {
                max_allocation.max(usable)
            } else {
                max_allocation
            }
        };
        let queue = context.queue(chosen[0].id, false, false)?;
        let reported = properties().map(|properties| properties.max_allocation).min().unwrap_or(0);
        Ok(Self {
            context: Arc::new(BufferContext {
                device: device.to_owned(),
                context: Arc::clone(context),
                queue,
                reported,
                pinned: PinnedUsage::default(),
            }),
            fine_grained: options.svm && properties().all(|properties| properties.fine_grained),
            unified: properties().all(|properties| properties.unified),
            max_allocation: chosen.iter().map(limit).min().unwrap_or(0),
        })
    }

    /// The supported memory types.
    pub(crate) fn types(&self) -> Vec<MemoryType> {
        let mut types = vec![MemoryType::Device, MemoryType::Host];
        if self.fine_grained && self.unified {
            types.push(MemoryType::Shared);
        }
        types
    }

    /// Largest allocation in bytes that is attempted.
    pub(crate) fn max_allocation(&self) -> u64 {
        self.max_allocation
    }

    pub(crate) fn allocate(&self, desc: &BufferDesc) -> Result<Buffer, Error> {
        let limit = (desc.size > self.context.reported).then_some(self.context.reported);
        let none = || Error::OutOfMemory { device: self.context.device.clone(), requested: desc.size, limit };
        let view = match (desc.memory.host_visible(), self.fine_grained) {
            (false, _) => HostView::None,
            (true, true) => HostView::Shared(SvmAllocation::new(&self.context.context, desc.size).ok_or_else(none)?),
            (true, false) => match PinnedMemory::new(&self.context, desc.size) {
                Some(pinned) => HostView::Pinned(pinned),
                None => HostView::Copied(HostMemory::new(desc.size).ok_or_else(none)?),
            },
        };
        let bytes = usize::try_from(desc.size).map_err(|_| none())?;
        let mem = match &view {
            // SAFETY: the memory has `bytes` bytes, and `BufferInner` drops it after the buffer.
            HostView::Shared(shared) => unsafe {
                self.context.context.buffer_of_shared(shared.pointer.as_ptr(), bytes)
            },
            HostView::None | HostView::Pinned(_) | HostView::Copied(_) => self.context.context.buffer(bytes),
        };
        let mem = mem.map_err(|error| if error.is_out_of_memory() { none() } else { error.unavailable("memory") })?;
        let block =
            Arc::new(BufferInner { sub_buffers: SubBuffers::default(), mem, view, context: Arc::clone(&self.context) });
        let memory = Buffer { block };
        if desc.size >= TOUCH_THRESHOLD && matches!(memory.block.view, HostView::None) {
            let deadline = Deadline::default();
            memory.touch(desc.size).map_err(|error| match error {
                WaitError::Failed(error) if error.is_out_of_memory() => none(),
                error => memory.error(error, "allocating memory", deadline),
            })?;
        }
        Ok(memory)
    }
}

/// A device or host-visible buffer.
pub(crate) struct Buffer {
    block: Arc<BufferInner>,
}

struct BufferInner {
    // Fields drop in order: sub-buffers before their buffer, the buffer before the memory it may
    // use.
    sub_buffers: SubBuffers,
    mem: Mem,
    view: HostView,
    context: Arc<BufferContext>,
}

/// The host's view of a buffer.
enum HostView {
    None,
    Shared(SvmAllocation),
    /// A separate host copy in pinned memory.
    Pinned(PinnedMemory),
    Copied(HostMemory),
}

/// A fine-grained shared virtual memory allocation.
struct SvmAllocation {
    pointer: NonNull<u8>,
    context: Arc<Context>,
}

// SAFETY: the block is memory owned by this value; the HAL's ordering decides who may access it
// when.
unsafe impl Send for SvmAllocation {}
// SAFETY: as above.
unsafe impl Sync for SvmAllocation {}

impl SvmAllocation {
    /// Allocates zeroed bytes. Returns `None` if the device cannot provide them.
    fn new(context: &Arc<Context>, size: u64) -> Option<Self> {
        let bytes = usize::try_from(size).ok()?;
        let pointer = NonNull::new(context.shared(bytes).ok()?)?;
        // SAFETY: fresh memory of `bytes` bytes, which the host may write at any time.
        unsafe { pointer.write_bytes(0, bytes) };
        Some(Self { pointer, context: Arc::clone(context) })
    }
}

impl Drop for SvmAllocation {
    fn drop(&mut self) {
        // SAFETY: every user of the memory holds the block that owns this value.
        unsafe { self.context.free_shared(self.pointer.as_ptr()) };
    }
}

// SAFETY: both kinds of memory stay at their address, initialized, until the block is dropped.
unsafe impl BufferBackend for Buffer {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        match &self.block.view {
            HostView::None => None,
            HostView::Shared(shared) => Some(shared.pointer),
            HostView::Pinned(memory) => Some(memory.pointer()),
            HostView::Copied(memory) => memory.host_pointer(),
        }
    }

    fn invalidate(&self, offset: u64, length: u64) -> Result<(), Error> {
        let Some(pointer) = self.copied(offset, length) else { return Ok(()) };
        let block = &self.block;
        // SAFETY: the HAL has checked the range; the block lives until the event is complete.
        let read = unsafe { block.context.queue.read((&block.mem, offset, length), pointer) };
        self.finish(read.map(Some), "reading memory")
    }

    fn flush(&self, offset: u64, length: u64) -> Result<(), Error> {
        let Some(pointer) = self.copied(offset, length) else { return Ok(()) };
        let block = &self.block;
        // SAFETY: as for `invalidate`.
        let written =
            unsafe { block.context.queue.write(pointer, (&block.mem, offset, length), EnqueueOptions::WITH_EVENT) };
        self.finish(written, "writing memory")
    }
}

impl Buffer {
    /// The OpenCL memory object of the whole buffer.
    pub(crate) fn mem(&self) -> &Mem {
        &self.block.mem
    }

    /// Calls `apply` with the memory object of a range: the buffer itself if the range starts at
    /// zero, otherwise a sub-buffer.
    pub(crate) fn with_range<T>(
        &self,
        offset: u64,
        length: u64,
        apply: impl FnOnce(&Mem) -> Result<T, ClError>,
    ) -> Result<T, ClError> {
        let BufferInner { mem, sub_buffers, .. } = &*self.block;
        if offset == 0 {
            return apply(mem);
        }
        sub_buffers.with((offset, length), || mem.sub_buffer(offset, length), apply)
    }

    /// Whether the host has a separate copy.
    fn has_copy(&self) -> bool {
        matches!(self.block.view, HostView::Pinned(_) | HostView::Copied(_))
    }

    /// The host copy of a range, if host and device have separate copies.
    fn copied(&self, offset: u64, length: u64) -> Option<*mut u8> {
        let start = self.host_pointer().filter(|_| length > 0 && self.has_copy())?;
        Some(start.as_ptr().wrapping_add(offset as usize))
    }

    /// Writes the last word, which makes the driver commit memory for the whole buffer.
    fn touch(&self, size: u64) -> Result<(), WaitError> {
        let last = (size - 4) & !3;
        self.wait(self.block.context.queue.fill((&self.block.mem, last, 4), 0, EnqueueOptions::WITH_EVENT))
    }

    /// Waits for a transfer on the transfer queue.
    fn finish(&self, started: Result<Option<Event>, ClError>, doing: &str) -> Result<(), Error> {
        let deadline = Deadline::default();
        self.wait(started).map_err(|error| self.error(error, doing, deadline))
    }

    fn error(&self, error: WaitError, doing: &str, deadline: Deadline) -> Error {
        let device = &self.block.context.device;
        match error {
            WaitError::Failed(error) => error.unavailable(&format!("{device} while {doing}")),
            WaitError::TimedOut => timeout::timeout_error(device, doing, deadline),
        }
    }

    fn wait(&self, started: Result<Option<Event>, ClError>) -> Result<(), WaitError> {
        let queue = &self.block.context.queue;
        // Without an event of its own, the transfer is complete when everything before it in the
        // queue is.
        let event = started.and_then(|event| event.map_or_else(|| queue.join(&[]), Ok)).map_err(WaitError::Failed)?;
        let flushed = queue.flush().map_err(WaitError::Failed);
        let ended = flushed.and_then(|()| timeout::wait(&event, Deadline::default()));
        if matches!(ended, Err(WaitError::TimedOut)) || ended.is_err() && self.has_copy() {
            // The command may still access the memory later, so the memory is leaked.
            std::mem::forget(Arc::clone(&self.block));
        }
        ended
    }
}
