//! Host memory as a driver's buffers, for devices that work in host memory.

#![expect(unsafe_code, reason = "allocates memory")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::File;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::driver::{BoundRange, BufferBackend};

/// Alignment of small blocks: a cache line, and the widest vector.
const CACHE_LINE: usize = 64;
/// Blocks of at least this size are mapped directly instead of allocated.
const MMAP_THRESHOLD: usize = 1 << 20;
/// Alignment of prefetched ranges: the largest default page size of any system. Where pages are
/// smaller, slightly more is read.
const PAGE: usize = 64 << 10;
/// Alignment of mapped blocks, so that the operating system can use huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// A zeroed block of host memory.
#[derive(Debug)]
pub struct HostMemory {
    pointer: NonNull<u8>,
    storage: Storage,
}

/// How the block was obtained.
#[derive(Debug)]
enum Storage {
    Allocated(Layout),
    /// Start and length of a mapping.
    Mapped(NonNull<u8>, usize),
}

// SAFETY: the value owns the block, and has no thread affinity. The HAL orders accesses to it.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// Allocates `size` zeroed bytes. Returns `None` if the host is out of memory.
    pub fn new(size: u64) -> Option<Self> {
        let size = usize::try_from(size).ok().filter(|size| *size > 0)?;
        if size >= MMAP_THRESHOLD {
            return Self::mapped(size);
        }
        let layout = Layout::from_size_align(size, CACHE_LINE).ok()?;
        // SAFETY: the layout's size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { pointer, storage: Storage::Allocated(layout) })
    }

    /// Maps anonymous memory. The allocator would zero memory of this alignment itself, on one
    /// thread and before huge pages can be requested. The operating system zeroes pages on first
    /// access, by any thread.
    fn mapped(size: usize) -> Option<Self> {
        let all = size.checked_add(HUGE_PAGE)?;
        // SAFETY: a new mapping at an address chosen by the kernel overlaps no other memory.
        let start = unsafe { mmap_anonymous(null_mut(), all, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        let skipped = start.align_offset(HUGE_PAGE);
        // SAFETY: the mapping is longer than the block by `HUGE_PAGE`, the maximum of `skipped`.
        let pointer = unsafe { start.add(skipped.min(HUGE_PAGE)) };
        // SAFETY: the range belongs to this block, and the advice does not change its content.
        let advised = unsafe { madvise(pointer.as_ptr().cast(), size, Advice::LinuxHugepage) };
        // Huge pages are an optimization.
        let _ = advised;
        Some(Self { pointer, storage: Storage::Mapped(start, all) })
    }
}

impl HostMemory {
    /// Maps a file copy-on-write. Pages are read on first access or by [`BufferBackend::prefetch`].
    /// Writes do not change the file.
    ///
    /// Other processes can still change the file, and the changes may become visible in memory.
    /// Access beyond the end of a truncated file raises SIGBUS, as for every mapped file.
    ///
    /// # Errors
    /// If the file is empty or cannot be mapped.
    pub fn map_file(file: &File) -> std::io::Result<Self> {
        let size = usize::try_from(file.metadata()?.len()).ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| std::io::Error::other("the file is empty or too large to be mapped"))?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // No swap space is reserved for copied pages: few or none are expected.
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address chosen by the kernel overlaps no other memory. The
        // documentation states what happens when another process changes the file.
        let start = unsafe { mmap(null_mut(), size, access, flags, file, 0) }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| std::io::Error::other("mapped at address 0"))?;
        Ok(Self { pointer: start, storage: Storage::Mapped(start, size) })
    }

    /// Usable size in bytes.
    pub fn size(&self) -> u64 {
        match self.storage {
            Storage::Allocated(layout) => layout.size() as u64,
            Storage::Mapped(start, all) => (all - (self.pointer.as_ptr().addr() - start.as_ptr().addr())) as u64,
        }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        match self.storage {
            // SAFETY: allocated in `new` with the same layout, and freed only here.
            Storage::Allocated(layout) => unsafe { dealloc(self.pointer.as_ptr(), layout) },
            Storage::Mapped(start, all) => {
                // SAFETY: mapped in `mapped` or `map_file` with the same length, and unmapped only
                // here.
                let unmapped = unsafe { munmap(start.as_ptr().cast(), all) };
                // Fails only if it would split a mapping when the process has the maximum number of
                // them. Then it leaks.
                let _ = unmapped;
            }
        }
    }
}

// SAFETY: the pointer is to memory owned by the block, initialized (zeroed or file content) and
// freed only when it drops.
unsafe impl BufferBackend for HostMemory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        Some(self.pointer)
    }

    fn prefetch(&self, offset: u64, length: u64) {
        let Storage::Mapped(start, all) = self.storage else { return };
        // `madvise` requires a page-aligned start.
        let first = (self.pointer.as_ptr().addr() - start.as_ptr().addr() + offset as usize) / PAGE * PAGE;
        let length = (length as usize).saturating_add(PAGE).min(all.saturating_sub(first));
        let start = start.as_ptr().wrapping_add(first);
        // SAFETY: the range is inside this block's mapping, and the advice does not change its
        // content.
        let fetched = unsafe { madvise(start.cast(), length, Advice::LinuxPopulateRead) };
        // Linux before 5.14 does not support it: pages are then read on first access.
        let _ = fetched;
    }
}

impl BoundRange {
    /// Host address of a range of [`HostMemory`]. Returns `None` for another driver's memory, which
    /// the HAL never passes.
    pub fn host_memory(&self) -> Option<NonNull<u8>> {
        let start = self.buffer.downcast::<HostMemory>()?.pointer;
        // SAFETY: the HAL has validated that the range is inside the buffer.
        Some(unsafe { start.add(self.offset as usize) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn writes_to_a_mapped_file_do_not_reach_the_file() {
        let path = std::env::temp_dir().join(format!("roci-host-memory-{}", std::process::id()));
        let bytes: Vec<u8> = (0..200_001_u32).map(|at| (at % 251) as u8).collect();
        File::create(&path).and_then(|mut file| file.write_all(&bytes)).expect("a temporary file");
        let file = File::open(&path).expect("it was just written");
        let memory = HostMemory::map_file(&file).expect("a file can be mapped");
        assert_eq!(memory.size(), bytes.len() as u64);
        memory.prefetch(70_000, 130_001);
        let start = memory.host_pointer().expect("it is the host's").as_ptr();
        // SAFETY: the mapping is as long as the file, and no other reference to it exists.
        let mapped = unsafe { std::slice::from_raw_parts_mut(start, bytes.len()) };
        assert_eq!(mapped, bytes);
        mapped.fill(7);
        assert_eq!(std::fs::read(&path).expect("the file exists"), bytes);
        drop(memory);
        let empty = File::create(&path).expect("the file is writable");
        assert!(HostMemory::map_file(&empty).is_err());
        std::fs::remove_file(&path).expect("the test owns it");
    }
}
