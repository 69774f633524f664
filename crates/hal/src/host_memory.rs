//! Host memory as a driver's buffers: for drivers whose devices work in the host's own memory.

#![expect(unsafe_code, reason = "allocates memory")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::fs::File;
use std::ptr::{NonNull, null_mut};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::driver::{BoundRange, BufferBackend};

/// Alignment of small blocks: a cache line, and the widest vector.
const LINE: usize = 64;
/// From this size on memory comes from the kernel itself.
const LARGE: usize = 1 << 20;
/// What maps begin at multiples of: the largest page that a system may have by default. Where pages are smaller, a little more is fetched.
const PAGE: usize = 64 << 10;
/// Alignment of large blocks, so that the kernel can back them with huge pages.
const HUGE_PAGE: usize = 2 << 20;

/// A zeroed block of host memory.
pub struct HostMemory {
    pointer: NonNull<u8>,
    kind: Kind,
}

/// Where it is from.
enum Kind {
    Allocated(Layout),
    /// From the kernel itself, so many bytes from there on.
    Mapped(NonNull<u8>, usize),
}

// SAFETY: the block is memory, owned by this value; who may touch it when is decided by the HAL's ordering.
unsafe impl Send for HostMemory {}
// SAFETY: as above.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `size` zeroed bytes; `None` when the host has no such memory.
    pub fn new(size: u64) -> Option<Self> {
        let size = usize::try_from(size).ok().filter(|size| *size > 0)?;
        if size >= LARGE {
            return Self::mapped(size);
        }
        let layout = Layout::from_size_align(size, LINE).ok()?;
        // SAFETY: the layout's size is not zero.
        let pointer = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        Some(Self { pointer, kind: Kind::Allocated(layout) })
    }

    /// Not by the allocator: asked for zeros at such an alignment it writes them itself, on one thread and before it can be told of huge
    /// pages. The kernel gives zeros when a page is first touched, by whom it may be.
    fn mapped(size: usize) -> Option<Self> {
        let all = size.checked_add(HUGE_PAGE)?;
        // SAFETY: a new map at a place of the kernel's choice.
        let start = unsafe { mmap_anonymous(null_mut(), all, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) };
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        let skipped = start.align_offset(HUGE_PAGE);
        // SAFETY: the map is longer than the block by as much as can be skipped.
        let pointer = unsafe { start.add(skipped.min(HUGE_PAGE)) };
        // SAFETY: the whole range is this block's own; the advice changes how it is backed, not what it holds.
        let advised = unsafe { madvise(pointer.as_ptr().cast(), size, Advice::LinuxHugepage) };
        // Without huge pages everything works, only slower.
        let _ = advised;
        Some(Self { pointer, kind: Kind::Mapped(start, all) })
    }
}

impl HostMemory {
    /// The bytes of a file: read when they are first touched, or before ([`BufferBackend::fetch`]). Writing is allowed and changes a copy of
    /// what is written, not the file.
    ///
    /// Others may still change the file, or cut it short. The first changes numbers that were read from it as well; after the second, what
    /// was cut off ends the process with a bus error, as it does for every program that maps files.
    ///
    /// # Errors
    /// If the file is empty, or the system refuses.
    pub fn of_file(file: &File) -> std::io::Result<Self> {
        let size = usize::try_from(file.metadata()?.len()).ok().filter(|size| *size > 0);
        let size = size.ok_or_else(|| std::io::Error::other("a file of a size that cannot be mapped"))?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // Nothing is set aside for copies, since none are expected.
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new map at a place of the kernel's choice. That others may change the file is said above.
        let start = unsafe { mmap(null_mut(), size, access, flags, file, 0) }?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(|| std::io::Error::other("mapped nowhere"))?;
        Ok(Self { pointer: start, kind: Kind::Mapped(start, size) })
    }

    /// Bytes from its beginning on.
    pub fn size(&self) -> u64 {
        match self.kind {
            Kind::Allocated(layout) => layout.size() as u64,
            Kind::Mapped(start, all) => (all - (self.pointer.as_ptr().addr() - start.as_ptr().addr())) as u64,
        }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        match self.kind {
            // SAFETY: allocated in `new` with this very layout, and freed once.
            Kind::Allocated(layout) => unsafe { dealloc(self.pointer.as_ptr(), layout) },
            Kind::Mapped(start, all) => {
                // SAFETY: mapped in `mapped` with this very length, and given back once.
                let given_back = unsafe { munmap(start.as_ptr().cast(), all) };
                // It fails only where it would split a map at the limit of their number; then the memory stays.
                let _ = given_back;
            }
        }
    }
}

// SAFETY: the pointer is to the block's own zeroed memory, which lives as long as the block.
unsafe impl BufferBackend for HostMemory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        Some(self.pointer)
    }

    fn fetch(&self, offset: u64, length: u64) {
        let Kind::Mapped(start, all) = self.kind else { return };
        // From the beginning of a page on, as is asked for.
        let first = (self.pointer.as_ptr().addr() - start.as_ptr().addr() + offset as usize) / PAGE * PAGE;
        let length = (length as usize).saturating_add(PAGE).min(all.saturating_sub(first));
        let start = start.as_ptr().wrapping_add(first);
        // SAFETY: within this block's own map, whose bytes stay what they are.
        let fetched = unsafe { madvise(start.cast(), length, Advice::LinuxPopulateRead) };
        // Older kernels do not know it: pages then come when they are touched.
        let _ = fetched;
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_is_read_and_never_written() {
        let path = std::env::temp_dir().join(format!("roci-host-memory-{}", std::process::id()));
        let bytes: Vec<u8> = (0..200_001_u32).map(|at| (at % 251) as u8).collect();
        File::create(&path).and_then(|mut file| file.write_all(&bytes)).expect("a temporary file");
        let file = File::open(&path).expect("it was just written");
        let memory = HostMemory::of_file(&file).expect("a file can be mapped");
        assert_eq!(memory.size(), bytes.len() as u64);
        memory.fetch(70_000, 130_001);
        let start = memory.host_pointer().expect("it is the host's").as_ptr();
        // SAFETY: the map is as long as the file, and nothing else has it.
        let mapped = unsafe { std::slice::from_raw_parts_mut(start, bytes.len()) };
        assert_eq!(mapped, bytes);
        mapped.fill(7);
        assert_eq!(std::fs::read(&path).expect("it is still there"), bytes);
        drop(memory);
        let empty = File::create(&path).expect("it can be written again");
        assert!(HostMemory::of_file(&empty).is_err());
        std::fs::remove_file(&path).expect("it is ours");
    }
}
