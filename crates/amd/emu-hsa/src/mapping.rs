//! Mapped pages of host memory.

#![expect(unsafe_code, reason = "memory is mapped and unmapped")]

use std::ffi::c_void;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// Bytes of inaccessible addresses after a mapping: a kernel that overruns its buffer by less than
/// this faults.
const GUARD: usize = 16 << 20;

/// Zeroed pages followed by a guard area. Pages take memory on first use.
#[derive(Debug)]
pub(crate) struct Mapping {
    pointer: *mut c_void,
    size: usize,
    mapped: usize,
    offset: usize,
    /// File that backs the pages, once they are shared with other processes.
    file: OnceLock<File>,
    /// Held while the pages move into the file.
    move_lock: Mutex<()>,
}

// SAFETY: the mapping owns its pages, which are not bound to a thread.
unsafe impl Send for Mapping {}
// SAFETY: shared references only give out addresses; `file` takes the lock before it replaces
// pages.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `size` bytes, rounded up to pages, at a multiple of `alignment`, a power of two.
    pub(crate) fn new(size: usize, alignment: usize) -> Option<Self> {
        let size = size.max(1).checked_next_multiple_of(PAGE)?;
        let alignment = alignment.max(PAGE);
        let mapped = size.checked_add(alignment)?.checked_add(GUARD)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: new pages at an address that the kernel chooses.
        let pointer = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), flags) }.ok()?;
        let offset = (pointer as usize).next_multiple_of(alignment) - pointer as usize;
        let mapping = Self { pointer, size, mapped, offset, file: OnceLock::new(), move_lock: Mutex::new(()) };
        // SAFETY: pages of this new mapping, which nothing refers to yet.
        let opened = unsafe {
            rustix::mm::mprotect(
                mapping.start().cast(),
                size,
                rustix::mm::MprotectFlags::READ | rustix::mm::MprotectFlags::WRITE,
            )
        };
        opened.ok()?;
        Some(mapping)
    }

    /// Maps the first pages of a file; `None` if the file is shorter.
    pub(crate) fn from_file(file: File, pages: usize) -> Option<Self> {
        let bytes = pages.checked_mul(PAGE)?;
        // An access beyond the end of the file would raise SIGBUS.
        if file.metadata().map_or(true, |metadata| metadata.len() < bytes as u64) {
            return None;
        }
        let mapping = Self::new(bytes, PAGE)?;
        mapping.replace_pages(&file)?;
        mapping.file.get_or_init(|| file);
        Some(mapping)
    }

    /// File that backs the pages, for other processes. The first call moves the pages into it;
    /// writes during that call may be lost.
    pub(crate) fn file(&self) -> Option<&File> {
        let _guard = self.move_lock.lock();
        if self.file.get().is_none() {
            let file = File::from(memfd_create("roci-shared", MemfdFlags::CLOEXEC).ok()?);
            ftruncate(&file, self.size as u64).ok()?;
            // SAFETY: mapped pages of this size; the documented race with writers only loses their
            // writes.
            let bytes = unsafe { std::slice::from_raw_parts(self.start(), self.size) };
            file.write_all_at(bytes, 0).ok()?;
            self.replace_pages(&file)?;
            self.file.get_or_init(|| file);
        }
        self.file.get()
    }

    /// Maps the pages of a file over the mapping's own.
    fn replace_pages(&self, file: &File) -> Option<()> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: `FIXED` replaces only pages of this mapping, which `from_file` or `file` has
        // found the file to cover.
        unsafe { mmap(self.start().cast(), self.size, protection, flags, file, 0) }.ok().map(drop)
    }

    /// Number of pages, without the guard area.
    pub(crate) fn pages(&self) -> usize {
        self.size / PAGE
    }

    /// Address of the first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.pointer.cast::<u8>().wrapping_add(self.offset)
    }

    /// Addresses without the guard area.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.start().expose_provenance() as u64;
        start..start + self.size as u64
    }
}

#[cfg(test)]
impl Mapping {
    pub(crate) fn read(&self, index: usize) -> u8 {
        assert!(index < self.size);
        // SAFETY: the assertion checks the bounds; tests access it from one thread.
        unsafe { self.start().wrapping_add(index).read_volatile() }
    }

    pub(crate) fn write(&self, index: usize, byte: u8) {
        assert!(index < self.size);
        // SAFETY: the assertion checks the bounds; tests access it from one thread.
        unsafe { self.start().wrapping_add(index).write_volatile(byte) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping's own pages, to which the dropped value was the last reference.
        // Failure only leaks them.
        let _ = unsafe { munmap(self.pointer, self.mapped) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_and_zero() {
        for alignment in [1, PAGE, 1 << 16, 2 << 20] {
            let mapping = Mapping::new(5000, alignment).expect("two pages");
            assert!((mapping.start() as usize).is_multiple_of(alignment.max(PAGE)));
            assert_eq!(mapping.range().end - mapping.range().start, 8192);
            // SAFETY: the last byte of the two mapped pages.
            assert_eq!(unsafe { mapping.start().wrapping_add(8191).read() }, 0);
        }
        assert!(Mapping::new(usize::MAX, PAGE).is_none());
    }
}
