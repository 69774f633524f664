//! Pages of host memory, mapped for one owner.

#![expect(unsafe_code, reason = "memory is mapped and unmapped")]

use std::ffi::c_void;
use std::ops::Range;

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

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
        let mapping = Self { pointer, size, mapped, offset };
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
