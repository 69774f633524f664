//! Pinned host memory that the device can read and write directly.
//!
//! Ordinary memory may be moved or paged out, so drivers copy it through pinned staging memory.

#![expect(unsafe_code, reason = "owns memory that OpenCL has mapped")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use roci_hal::Deadline;

use crate::buffer::BufferContext;
use crate::cl::Mem;
use crate::timeout;

/// Maximum bytes of one block, and of all blocks of a device: the system cannot use pinned memory
/// for anything else.
const MAX_BLOCK: u64 = 64 << 20;
const MAX_TOTAL: u64 = 256 << 20;
/// If mapping takes longer, the device is not asked for pinned memory again.
const MAP_TIMEOUT: Duration = Duration::from_secs(1);

/// A device's use of pinned memory.
#[derive(Debug, Default)]
pub(crate) struct PinnedUsage {
    bytes: AtomicU64,
    refused: AtomicBool,
}

/// Zeroed pinned host memory.
pub(crate) struct PinnedMemory {
    mem: Mem,
    pointer: NonNull<u8>,
    bytes: u64,
    context: Arc<BufferContext>,
}

// SAFETY: the block is memory owned by this value; the HAL's ordering decides who may access it
// when.
unsafe impl Send for PinnedMemory {}
// SAFETY: as above.
unsafe impl Sync for PinnedMemory {}

impl PinnedMemory {
    /// Allocates `size` bytes. Returns `None` beyond the limits, or if the driver cannot pin
    /// memory.
    pub(crate) fn new(context: &Arc<BufferContext>, size: u64) -> Option<Self> {
        let pinned = &context.pinned;
        let fits = size <= MAX_BLOCK && pinned.bytes.load(Relaxed) + size <= MAX_TOTAL && !pinned.refused.load(Relaxed);
        let found = if fits { Self::map(context, size) } else { None };
        pinned.refused.fetch_or(fits && found.is_none(), Relaxed);
        found
    }

    fn map(context: &Arc<BufferContext>, size: u64) -> Option<Self> {
        let bytes = usize::try_from(size).ok()?;
        let mem = context.context.pinned(bytes).ok()?;
        let (pointer, mapped) = context.queue.map(&mem, bytes).ok()?;
        // Owned from here on, so that every path releases it.
        let pinned = Self { mem, pointer: NonNull::new(pointer)?, bytes: size, context: Arc::clone(context) };
        context.pinned.bytes.fetch_add(size, Relaxed);
        context.queue.flush().ok()?;
        timeout::wait(&mapped, Deadline::after(MAP_TIMEOUT)).ok()?;
        // SAFETY: mapped memory of `bytes` bytes, which is not shared yet.
        unsafe { pinned.pointer.write_bytes(0, bytes) };
        Some(pinned)
    }

    pub(crate) fn pointer(&self) -> NonNull<u8> {
        self.pointer
    }
}

impl Drop for PinnedMemory {
    fn drop(&mut self) {
        self.context.pinned.bytes.fetch_sub(self.bytes, Relaxed);
        // SAFETY: the mapped address of this memory; every user of it holds this value. On failure
        // the driver keeps it.
        let _ = unsafe { self.context.queue.unmap(&self.mem, self.pointer.as_ptr()) };
        let _ = self.context.queue.flush();
    }
}
