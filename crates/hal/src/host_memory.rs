//! Host memory as a driver's buffers: for drivers whose devices work in the host's own memory.

#![expect(unsafe_code, reason = "allocates memory")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use rustix::mm::{Advice, madvise};

use crate::driver::{BoundRange, BufferBackend};

/// Alignment of small blocks: a cache line, and the widest vector.
const LINE: usize = 64;
/// Alignment of large blocks, so that the kernel can back them with huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// A zeroed block of host memory.
pub struct HostMemory {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block is memory, owned by this value; who may touch it when is decided by the HAL's ordering.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `size` zeroed bytes; `None` when the host has no such memory.
    pub fn new(size: u64) -> Option<Self> {
        let size = usize::try_from(size).ok().filter(|size| *size > 0)?;
        let large = size >= 2 * HUGE_PAGE;
        let layout = Layout::from_size_align(size, if large { HUGE_PAGE } else { LINE }).ok()?;
        // SAFETY: the layout's size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        if large {
            // SAFETY: the whole range is this block's own; the advice changes how it is backed, not what it holds.
            let advised = unsafe { madvise(pointer.as_ptr().cast(), layout.size(), Advice::LinuxHugepage) };
            // Without huge pages everything works, only slower.
            let _ = advised;
        }
        Some(Self { pointer, layout })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout, and freed once.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}

// SAFETY: the pointer is to the block's own zeroed memory, which lives as long as the block.
unsafe impl BufferBackend for HostMemory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        Some(self.pointer)
    }
}

impl BoundRange {
    /// First byte of a range of [`HostMemory`]; `None` for another driver's memory, which the HAL never lets through.
    pub fn host_memory(&self) -> Option<NonNull<u8>> {
        let start = self.buffer.downcast::<HostMemory>()?.pointer;
        // SAFETY: the HAL has checked that the range lies inside the buffer.
        Some(unsafe { start.add(self.offset as usize) })
    }
}
