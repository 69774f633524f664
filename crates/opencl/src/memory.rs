//! Memory: the device's own, and the host's as the device sees it.
//!
//! Where host and device can see the same bytes at any time (fine-grained shared virtual memory), host-visible buffers are
//! that. Elsewhere they are two, one on either side, and the HAL's `flush` and `invalidate` copy between them.

#![expect(unsafe_code, reason = "owns memory that OpenCL shares or copies")]

use std::ptr::NonNull;
use std::sync::Arc;

use roci_hal::driver::BufferBackend;
use roci_hal::host_memory::HostMemory;
use roci_hal::{BufferDesc, Deadline, Error, MemoryType};

use crate::cl::{Context, Event, Mem, Order, Queue};
use crate::discover::Found;
use crate::error::Failed;
use crate::options::Options;
use crate::patience::{self, Missed};
use crate::pinned::{Pinned, Pins};
use crate::sub_buffers::SubBuffers;

/// From this size on an allocation is touched at once: drivers promise memory and find out later that there is none.
const TOUCHED: u64 = 16 << 20;

/// What memory a logical device has.
pub(crate) struct Memories {
    side: Arc<Side>,
    fine_grained: bool,
    unified: bool,
    max_allocation: u64,
}

/// What buffers need of their device.
pub(crate) struct Side {
    device: String,
    pub(crate) context: Arc<Context>,
    /// For copies between the two sides, beside the queues that run batches.
    pub(crate) queue: Queue,
    /// What the device says one allocation may have.
    reported: u64,
    pub(crate) pins: Pins,
}

impl Memories {
    pub(crate) fn new(
        device: &str,
        context: &Arc<Context>,
        chosen: &[Found],
        options: &Options,
    ) -> Result<Self, Failed> {
        let facts = || chosen.iter().map(|found| &found.facts);
        let limit = |found: &Found| {
            let told = found.facts.max_allocation;
            let usable = options.memory.unwrap_or_else(|| found.info.usable_memory());
            // A processor keeps its word; a GPU's driver often has more than it tells.
            if found.info.kind.is_gpu() || options.memory.is_some() { told.max(usable) } else { told }
        };
        let queue = context.queue(chosen[0].id, false, false)?;
        let reported = facts().map(|facts| facts.max_allocation).min().unwrap_or(0);
        Ok(Self {
            side: Arc::new(Side {
                device: device.to_owned(),
                context: Arc::clone(context),
                queue,
                reported,
                pins: Pins::default(),
            }),
            fine_grained: options.svm && facts().all(|facts| facts.fine_grained),
            unified: facts().all(|facts| facts.unified),
            max_allocation: chosen.iter().map(limit).min().unwrap_or(0),
        })
    }

    /// The types of memory that there are.
    pub(crate) fn types(&self) -> Vec<MemoryType> {
        let mut types = vec![MemoryType::Device, MemoryType::Host];
        if self.fine_grained && self.unified {
            types.push(MemoryType::Shared);
        }
        types
    }

    /// Bytes of one allocation at most, as far as it is worth a try.
    pub(crate) fn max_allocation(&self) -> u64 {
        self.max_allocation
    }

    pub(crate) fn allocate(&self, desc: &BufferDesc) -> Result<Memory, Error> {
        let limit = (desc.size > self.side.reported).then_some(self.side.reported);
        let none = || Error::OutOfMemory { device: self.side.device.clone(), requested: desc.size, limit };
        let view = match (desc.memory.host_visible(), self.fine_grained) {
            (false, _) => View::None,
            (true, true) => View::Shared(Shared::new(&self.side.context, desc.size).ok_or_else(none)?),
            (true, false) => match Pinned::new(&self.side, desc.size) {
                Some(pinned) => View::Pinned(pinned),
                None => View::Copied(HostMemory::new(desc.size).ok_or_else(none)?),
            },
        };
        let bytes = usize::try_from(desc.size).map_err(|_| none())?;
        let mem = match &view {
            // SAFETY: the memory has that many bytes, and `Block` drops it after the buffer.
            View::Shared(shared) => unsafe { self.side.context.buffer_of_shared(shared.pointer.as_ptr(), bytes) },
            View::None | View::Pinned(_) | View::Copied(_) => self.side.context.buffer(bytes),
        };
        let mem = mem.map_err(|error| if error.is_memory() { none() } else { error.unavailable("memory") })?;
        let block = Arc::new(Block { sub_buffers: SubBuffers::default(), mem, view, side: Arc::clone(&self.side) });
        let memory = Memory { block };
        if desc.size >= TOUCHED && matches!(memory.block.view, View::None) {
            let deadline = Deadline::default();
            memory.touch(desc.size).map_err(|missed| match missed {
                Missed::Failed(error) if error.is_memory() => none(),
                missed => memory.error(missed, "allocating memory", deadline),
            })?;
        }
        Ok(memory)
    }
}

/// A buffer.
pub(crate) struct Memory {
    block: Arc<Block>,
}

struct Block {
    // Fields drop in order: sub-buffers before their buffer, the buffer before the memory it may use.
    sub_buffers: SubBuffers,
    mem: Mem,
    view: View,
    side: Arc<Side>,
}

/// What the host sees.
enum View {
    None,
    Shared(Shared),
    /// A copy of its own, as is the next.
    Pinned(Pinned),
    Copied(HostMemory),
}

/// Memory that both sides see.
struct Shared {
    pointer: NonNull<u8>,
    context: Arc<Context>,
}

// SAFETY: the block is memory, owned by this value; who may touch it when is decided by the HAL's ordering.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    /// Zeroed bytes; `None` when there is no such memory.
    fn new(context: &Arc<Context>, size: u64) -> Option<Self> {
        let bytes = usize::try_from(size).ok()?;
        let pointer = NonNull::new(context.shared(bytes).ok()?)?;
        // SAFETY: fresh memory of that many bytes, which the host may write at any time.
        unsafe { pointer.write_bytes(0, bytes) };
        Some(Self { pointer, context: Arc::clone(context) })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: whoever uses the memory holds the block that owns this value.
        unsafe { self.context.free_shared(self.pointer.as_ptr()) };
    }
}

// SAFETY: both kinds of memory stay where they are, initialised, until the block is dropped.
unsafe impl BufferBackend for Memory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        match &self.block.view {
            View::None => None,
            View::Shared(shared) => Some(shared.pointer),
            View::Pinned(memory) => Some(memory.pointer()),
            View::Copied(memory) => memory.host_pointer(),
        }
    }

    fn invalidate(&self, offset: u64, length: u64) -> Result<(), Error> {
        let Some(pointer) = self.copied(offset, length) else { return Ok(()) };
        let block = &self.block;
        // SAFETY: the HAL has checked the range; the block lives until the event is complete.
        let read = unsafe { block.side.queue.read((&block.mem, offset, length), pointer) };
        self.finish(read.map(Some), "reading memory")
    }

    fn flush(&self, offset: u64, length: u64) -> Result<(), Error> {
        let Some(pointer) = self.copied(offset, length) else { return Ok(()) };
        let block = &self.block;
        // SAFETY: as for `invalidate`.
        let written = unsafe { block.side.queue.write(pointer, (&block.mem, offset, length), Order::NOTED) };
        self.finish(written, "writing memory")
    }
}

impl Memory {
    /// The buffer of OpenCL.
    pub(crate) fn mem(&self) -> &Mem {
        &self.block.mem
    }

    /// Calls `apply` with the memory object of a range: the buffer itself from its start, else a sub-buffer.
    pub(crate) fn with_range<T>(
        &self,
        offset: u64,
        length: u64,
        apply: impl FnOnce(&Mem) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let Block { mem, sub_buffers, .. } = &*self.block;
        if offset == 0 {
            return apply(mem);
        }
        sub_buffers.with((offset, length), || mem.part(offset, length), apply)
    }

    /// Whether the host has a copy of its own.
    fn has_copy(&self) -> bool {
        matches!(self.block.view, View::Pinned(_) | View::Copied(_))
    }

    /// The host's copy of a range, if there are two copies of it.
    fn copied(&self, offset: u64, length: u64) -> Option<*mut u8> {
        let start = self.host_pointer().filter(|_| length > 0 && self.has_copy())?;
        Some(start.as_ptr().wrapping_add(offset as usize))
    }

    /// Makes the driver find memory for all of it now.
    fn touch(&self, size: u64) -> Result<(), Missed> {
        let last = (size - 4) & !3;
        self.settle(self.block.side.queue.fill((&self.block.mem, last, 4), 0, Order::NOTED))
    }

    /// Waits for a transfer on the side queue.
    fn finish(&self, started: Result<Option<Event>, Failed>, doing: &str) -> Result<(), Error> {
        let deadline = Deadline::default();
        self.settle(started).map_err(|missed| self.error(missed, doing, deadline))
    }

    fn error(&self, missed: Missed, doing: &str, deadline: Deadline) -> Error {
        let device = &self.block.side.device;
        match missed {
            Missed::Failed(error) => error.unavailable(&format!("{device} while {doing}")),
            Missed::Late => patience::late(device, doing, deadline),
        }
    }

    fn settle(&self, started: Result<Option<Event>, Failed>) -> Result<(), Missed> {
        let queue = &self.block.side.queue;
        // Without an event of its own it ends with all that is in the queue.
        let event = started.and_then(|event| event.map_or_else(|| queue.join(&[]), Ok)).map_err(Missed::Failed)?;
        let flushed = queue.flush().map_err(Missed::Failed);
        let ended = flushed.and_then(|()| patience::wait(&event, Deadline::default()));
        if matches!(ended, Err(Missed::Late)) || ended.is_err() && self.has_copy() {
            // The command may still come and touch the memory: it must be there for good.
            std::mem::forget(Arc::clone(&self.block));
        }
        ended
    }
}
