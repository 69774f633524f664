//! Memory of the null device: plain host memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;

use crate::driver::{BoundRange, BufferBackend};

/// A zeroed block.
pub(super) struct Block {
    pointer: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block is memory, owned by this value; who may touch it when is decided by the HAL's ordering.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// `None` when the host has no such memory.
    pub(super) fn new(size: u64) -> Option<Self> {
        let layout =
            Layout::from_size_align(usize::try_from(size).ok()?, 64).ok().filter(|layout| layout.size() > 0)?;
        // SAFETY: the layout's size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { pointer, layout })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this very layout, and freed once.
        unsafe { dealloc(self.pointer.as_ptr(), self.layout) }
    }
}

// SAFETY: the pointer is to the block's own zeroed memory, which lives as long as the block.
unsafe impl BufferBackend for Block {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        Some(self.pointer)
    }
}

/// First byte of a range; `None` only for another driver's memory, which the HAL never lets through.
fn first(range: &BoundRange) -> Option<NonNull<u8>> {
    let start = range.buffer.downcast::<Block>()?.pointer;
    // SAFETY: the HAL has checked that the range lies inside the buffer.
    Some(unsafe { start.add(range.offset as usize) })
}

/// Writes bytes to the start of a range that is at least as long.
pub(super) fn write(target: &BoundRange, data: &[u8]) {
    let Some(to) = first(target) else { return };
    let length = data.len().min(target.length as usize);
    // SAFETY: `data` and the range are both at least `length` long, and no host mapping of the buffer exists while a batch
    // uses it, so `data` cannot be part of it.
    unsafe { to.copy_from_nonoverlapping(NonNull::from(data).cast(), length) }
}

/// Copies between ranges of equal length.
pub(super) fn copy(source: &BoundRange, target: &BoundRange) {
    let (Some(from), Some(to)) = (first(source), first(target)) else { return };
    // SAFETY: both ranges are `length` long; `copy_from` allows overlap.
    unsafe { to.copy_from(from, target.length.min(source.length) as usize) }
}
