//! Pages of host memory, mapped for one owner.

#![expect(unsafe_code, reason = "memory is mapped and unmapped")]

use std::ffi::c_void;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::ipc::holds;

/// Bytes of a page.
pub(crate) const PAGE: usize = 4096;
/// Addresses behind a mapping that belong to no one: a kernel that leaves its buffer by less faults, as it should.
const GUARD: usize = 16 << 20;

/// Zeroed pages with addresses behind them that no one may touch. They take memory when they are first used.
#[derive(Debug)]
pub(crate) struct Mapping {
    pointer: *mut c_void,
    size: usize,
    mapped: usize,
    offset: usize,
    /// The file whose pages these are, once other processes may see them.
    file: OnceLock<File>,
    /// Who moves the pages to a file takes turns.
    turns: Mutex<()>,
}

// SAFETY: it owns its pages.
unsafe impl Send for Mapping {}
// SAFETY: through a shared reference only addresses are had.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// So many bytes at a multiple of `alignment`, which is a power of two.
    pub(crate) fn new(size: usize, alignment: usize) -> Option<Self> {
        let size = size.max(1).checked_next_multiple_of(PAGE)?;
        let alignment = alignment.max(PAGE);
        let mapped = size.checked_add(alignment)?.checked_add(GUARD)?;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: new pages wherever the kernel puts them.
        let pointer = unsafe { mmap_anonymous(std::ptr::null_mut(), mapped, ProtFlags::empty(), flags) }.ok()?;
        let offset = (pointer as usize).next_multiple_of(alignment) - pointer as usize;
        let mapping = Self { pointer, size, mapped, offset, file: OnceLock::new(), turns: Mutex::new(()) };
        // SAFETY: the pages are ours, and nothing refers to them.
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

    /// The first pages of a file, as many as it must have.
    pub(crate) fn of_file(file: File, pages: usize) -> Option<Self> {
        let bytes = pages.checked_mul(PAGE)?;
        if !holds(&file, bytes) {
            return None;
        }
        let mapping = Self::new(bytes, PAGE)?;
        mapping.lay(&file)?;
        mapping.file.get_or_init(|| file);
        Some(mapping)
    }

    /// The file whose pages these are, for other processes. The first call moves the pages there: whoever writes to them at
    /// that moment may be too late.
    pub(crate) fn file(&self) -> Option<&File> {
        let _turn = self.turns.lock();
        if self.file.get().is_none() {
            let file = File::from(memfd_create("roci-shared", MemfdFlags::CLOEXEC).ok()?);
            ftruncate(&file, self.size as u64).ok()?;
            // SAFETY: live pages; what another thread writes meanwhile is copied or not.
            let bytes = unsafe { std::slice::from_raw_parts(self.start(), self.size) };
            file.write_all_at(bytes, 0).ok()?;
            self.lay(&file)?;
            self.file.get_or_init(|| file);
        }
        self.file.get()
    }

    /// Puts pages of a file where the mapping's own are.
    fn lay(&self, file: &File) -> Option<()> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: over pages that are this mapping's, and stay so.
        unsafe { mmap(self.start().cast(), self.size, protection, flags, file, 0) }.ok().map(drop)
    }

    /// Pages that can be used.
    pub(crate) fn pages(&self) -> usize {
        self.size / PAGE
    }

    /// The first byte.
    pub(crate) fn start(&self) -> *mut u8 {
        self.pointer.cast::<u8>().wrapping_add(self.offset)
    }

    /// The addresses.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.start().expose_provenance() as u64;
        start..start + self.size as u64
    }
}

#[cfg(test)]
impl Mapping {
    pub(crate) fn read(&self, index: usize) -> u8 {
        assert!(index < self.size);
        // SAFETY: inside, and tests share it with no thread.
        unsafe { self.start().wrapping_add(index).read_volatile() }
    }

    pub(crate) fn write(&self, index: usize, byte: u8) {
        assert!(index < self.size);
        // SAFETY: inside, and tests share it with no thread.
        unsafe { self.start().wrapping_add(index).write_volatile(byte) };
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and its owner is gone. Failure would only leak it.
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
            // SAFETY: the last byte is mapped, and no one else uses it.
            assert_eq!(unsafe { mapping.start().wrapping_add(8191).read() }, 0);
        }
        assert!(Mapping::new(usize::MAX, PAGE).is_none());
    }
}
