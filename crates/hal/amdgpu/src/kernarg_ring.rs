//! Ring of memory for kernel arguments: allocated in order when batches are written, released in
//! order when they complete.

use crate::buffer::Buffer;

/// Alignment of each kernel's arguments in bytes.
pub(crate) const KERNARG_ALIGNMENT: usize = 64;

/// Kernel argument memory of one queue.
pub(crate) struct KernargRing {
    buffer: Buffer,
    allocator: RingAllocator,
}

impl KernargRing {
    /// A ring of `size` bytes, a power of two.
    pub(crate) fn new(buffer: Buffer, size: u64) -> Self {
        Self { buffer, allocator: RingAllocator::new(size) }
    }

    /// Allocates contiguous bytes. Returns their address and the mark that releases them; `None` if
    /// there is no room now.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Option<(*mut u8, u64)> {
        let (offset, mark) = self.allocator.allocate(bytes as u64)?;
        Some((self.buffer.pointer().wrapping_add(offset as usize), mark))
    }

    /// Releases everything up to a mark.
    pub(crate) fn release(&mut self, mark: u64) {
        self.allocator.released = self.allocator.released.max(mark);
    }

    /// Undoes the latest allocation, which has this mark. Releasing it would also release those
    /// before it.
    pub(crate) fn undo_latest(&mut self, mark: u64) {
        self.allocator.undo_latest(mark);
    }

    /// Whether an empty ring is large enough for `bytes` bytes.
    pub(crate) fn can_hold(&self, bytes: usize) -> bool {
        bytes as u64 <= self.allocator.size
    }
}

/// Tracks the used bytes of a ring.
struct RingAllocator {
    size: u64,
    /// Total bytes allocated and released so far.
    allocated: u64,
    released: u64,
    /// `allocated` before the latest allocation.
    before_latest: u64,
}

impl RingAllocator {
    fn new(size: u64) -> Self {
        Self { size, allocated: 0, released: 0, before_latest: 0 }
    }

    /// Offset of contiguous bytes, and the mark that releases them.
    fn allocate(&mut self, bytes: u64) -> Option<(u64, u64)> {
        // An empty ring restarts at offset 0, so that its whole size is available.
        if self.released == self.allocated {
            self.allocated = self.allocated.next_multiple_of(self.size);
            self.released = self.allocated;
        }
        let at = self.allocated % self.size;
        // An allocation never wraps: it skips to the start of the ring.
        let skipped = if at + bytes > self.size { self.size - at } else { 0 };
        if self.allocated + skipped + bytes - self.released > self.size {
            return None;
        }
        self.before_latest = self.allocated;
        self.allocated += skipped;
        let offset = self.allocated % self.size;
        self.allocated += bytes;
        Some((offset, self.allocated))
    }

    fn undo_latest(&mut self, mark: u64) {
        // Includes bytes skipped for it. An older allocation stays and is released with the next
        // one.
        if mark == self.allocated {
            self.allocated = self.before_latest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> RingAllocator {
        RingAllocator::new(1024)
    }

    #[test]
    fn an_allocation_neither_wraps_nor_overlaps_another() {
        let mut ring = ring();
        let (first, first_mark) = ring.allocate(640).expect("room");
        let (second, second_mark) = ring.allocate(320).expect("room");
        assert_eq!((first, second), (0, 640));
        assert_eq!(ring.allocate(128), None, "64 bytes are left at the end, none at the beginning");
        ring.released = first_mark;
        let (third, third_mark) = ring.allocate(128).expect("the beginning is free");
        assert_eq!(third, 0);
        assert_eq!(ring.allocate(640), None, "it would reach the second");
        ring.released = second_mark;
        assert!(ring.allocate(512).is_some_and(|(offset, _)| offset == 128));
        assert!(third_mark > second_mark);
    }

    #[test]
    fn undoing_an_allocation_restores_the_ring() {
        let mut ring = ring();
        let (_, first) = ring.allocate(640).expect("room");
        let (_, second) = ring.allocate(256).expect("room");
        ring.released = first;
        // At offset 0, after skipping 128 bytes.
        let (offset, third) = ring.allocate(256).expect("room");
        assert_eq!(offset, 0);
        ring.undo_latest(third);
        assert_eq!(ring.allocate(128).map(|(offset, _)| offset), Some(896), "nothing is skipped any more");
        ring.undo_latest(ring.allocated);
        ring.released = second;
        assert!(ring.allocate(1024).is_some(), "it is empty");
    }

    #[test]
    fn an_empty_ring_can_allocate_its_whole_size() {
        let mut ring = ring();
        for bytes in [512, 768, 1024, 64, 1024] {
            let (offset, mark) = ring.allocate(bytes).expect("nothing is in use");
            assert!(offset + bytes <= 1024);
            ring.released = mark;
        }
    }
}
