//! Memory that emulated waves may access: ranges of host memory, registered before use.
//!
//! An emulated address is a host address, as on a GPU that shares virtual memory with its process,
//! or an alias of one: see [`ALIAS`]. Waves never read or write outside the registered ranges.

#![expect(unsafe_code, reason = "emulated code addresses memory by number")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, RwLock};

/// An address with this bit set is an alias of the address without it. A real GPU maps host memory
/// that was not allocated for it at different addresses than the host does, and programs
/// distinguish the two. Process addresses never have this bit, and instructions preserve it: buffer
/// descriptors hold 48-bit addresses.
pub const ALIAS: u64 = 1 << 47;

/// Access rights of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Waves may read.
    Read,
    /// Waves may read and write.
    ReadWrite,
}

/// A registered range.
#[derive(Clone, Debug)]
struct Region {
    range: Range<u64>,
    access: Access,
    /// Keeps the memory alive while kernels may still access it.
    _owner: Option<Owner>,
}

/// Owner of memory; dropping the last reference frees it.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// A snapshot of all ranges, sorted by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressSpace {
    regions: Vec<Region>,
}

impl AddressSpace {
    /// The range that contains an address, if it permits the access.
    pub(crate) fn region(&self, address: u64, write: bool) -> Option<&Range<u64>> {
        let after = self.regions.partition_point(|region| region.range.start <= address);
        let region = self.regions.get(after.checked_sub(1)?)?;
        let allowed = region.range.contains(&address) && (!write || region.access == Access::ReadWrite);
        allowed.then_some(&region.range)
    }

    /// Where to insert a range; `None` if it is empty or overlaps another.
    fn insertion_index(&self, range: &Range<u64>) -> Option<usize> {
        let at = self.regions.partition_point(|region| region.range.start < range.start);
        let before = at.checked_sub(1).and_then(|index| self.regions.get(index));
        let clear = before.is_none_or(|region| region.range.end <= range.start)
            && self.regions.get(at).is_none_or(|region| range.end <= region.range.start);
        (clear && !range.is_empty()).then_some(at)
    }

    /// Index of the range that starts here.
    fn starting(&self, start: u64) -> Option<usize> {
        self.regions.binary_search_by_key(&start, |region| region.range.start).ok()
    }
}

/// The registered ranges of a device.
#[derive(Debug, Default)]
pub struct Memory {
    space: RwLock<Arc<AddressSpace>>,
}

impl Memory {
    /// No ranges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Registers a range. Returns `false` and changes nothing if it is empty or overlaps another
    /// range.
    ///
    /// # Safety
    /// The range, or the one that it is an [`ALIAS`] of, is live host memory until
    /// [`Memory::unregister`], and writable if `access` is [`Access::ReadWrite`]. Waves access it
    /// without synchronization, as a GPU does: while a kernel runs, no Rust reference may exist
    /// that the kernel's accesses would invalidate.
    pub unsafe fn register(&self, range: Range<u64>, access: Access) -> bool {
        self.insert(range, access, None)
    }

    /// Like [`register`](Self::register), for memory that lives as long as its owner. Running
    /// kernels keep the owner alive after the range is unregistered.
    ///
    /// # Safety
    /// As for [`Memory::register`], but the range need only be live as long as the owner.
    pub unsafe fn register_owned(&self, range: Range<u64>, access: Access, owner: Owner) -> bool {
        self.insert(range, access, Some(owner))
    }

    fn insert(&self, range: Range<u64>, access: Access, owner: Option<Owner>) -> bool {
        let mut space = self.space.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(at) = space.insertion_index(&range) else { return false };
        Arc::make_mut(&mut space).regions.insert(at, Region { range, access, _owner: owner });
        true
    }

    /// Atomically unregisters the ranges with the given starts and registers others. Waves see the
    /// state before or after, so a range in both is never missing. Returns which of the new ranges
    /// were registered, by the rules of [`Memory::register`].
    ///
    /// # Safety
    /// As for [`Memory::register`]; with an owner, as for [`Memory::register_owned`].
    pub unsafe fn exchange(
        &self,
        old: impl IntoIterator<Item = u64>,
        new: impl IntoIterator<Item = Range<u64>>,
        access: Access,
        owner: Option<&Owner>,
    ) -> Vec<Range<u64>> {
        let mut space = self.space.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let space = Arc::make_mut(&mut space);
        for start in old {
            if let Some(index) = space.starting(start) {
                space.regions.remove(index);
            }
        }
        let mut registered = Vec::new();
        for range in new {
            if let Some(at) = space.insertion_index(&range) {
                registered.push(range.clone());
                space.regions.insert(at, Region { range, access, _owner: owner.cloned() });
            }
        }
        registered
    }

    /// Unregisters the range that starts here. Running kernels may still access it: wait for them
    /// first, unless the range has an owner.
    pub fn unregister(&self, start: u64) -> bool {
        let mut space = self.space.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(index) = space.starting(start) else { return false };
        Arc::make_mut(&mut space).regions.remove(index);
        true
    }

    /// Whether waves may read or write all bytes of a range.
    pub fn allows(&self, range: Range<u64>, write: bool) -> bool {
        self.space().region(range.start, write).is_some_and(|region| range.end <= region.end)
    }

    /// The current snapshot of the ranges.
    pub(crate) fn space(&self) -> Arc<AddressSpace> {
        Arc::clone(&self.space.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Allocates and registers zeroed memory. Aborts the process if the host is out of memory.
    pub fn allocate(self: &Arc<Self>, size: usize, access: Access) -> Allocation {
        self.try_allocate(size, access)
            .unwrap_or_else(|| handle_alloc_error(layout(size).unwrap_or(Layout::new::<[u8; PAGE]>())))
    }

    /// Allocates and registers zeroed memory; `None` if the host is out of memory.
    pub fn try_allocate(self: &Arc<Self>, size: usize, access: Access) -> Option<Allocation> {
        let mut allocation = self.try_allocate_parts(size)?;
        if size > 0 {
            allocation.open(0..size, access);
        }
        Some(allocation)
    }

    /// Allocates zeroed memory that waves cannot access until a part of it is
    /// [opened](Allocation::open).
    pub fn try_allocate_parts(self: &Arc<Self>, size: usize) -> Option<Allocation> {
        let layout = layout(size)?;
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            return None;
        }
        pointer.expose_provenance();
        let block = Arc::new(HostBlock { pointer, layout });
        Some(Allocation { memory: Arc::clone(self), block, size, open: Vec::new() })
    }
}

const PAGE: usize = 4096;

/// Layout of `size` bytes and an unregistered guard page, so that an access past the end never
/// reaches another allocation.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(PAGE)?, PAGE).ok()
}

/// Registered memory. Dropping it unregisters it; running kernels keep it alive.
#[derive(Debug)]
pub struct Allocation {
    memory: Arc<Memory>,
    block: Arc<HostBlock>,
    size: usize,
    /// Start addresses of the registered parts.
    open: Vec<u64>,
}

/// A block of host memory.
#[derive(Debug)]
struct HostBlock {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: the block owns its memory.
unsafe impl Send for HostBlock {}
// SAFETY: nothing is written through `&self`.
unsafe impl Sync for HostBlock {}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; neither an allocation nor a kernel refers to it any
        // more.
        unsafe { dealloc(self.pointer, self.layout) };
    }
}

impl Allocation {
    /// Start address.
    pub fn address(&self) -> u64 {
        self.block.pointer.addr() as u64
    }

    /// Registers a part. Returns `false` and changes nothing if it is empty, exceeds the allocation
    /// or overlaps an open part.
    pub fn open(&mut self, part: Range<usize>, access: Access) -> bool {
        if part.start >= part.end || part.end > self.size {
            return false;
        }
        let range = self.address() + part.start as u64..self.address() + part.end as u64;
        let owner = Arc::clone(&self.block);
        // SAFETY: the part lives as long as its block, which owns it.
        let opened = unsafe { self.memory.register_owned(range.clone(), access, owner) };
        if opened {
            self.open.push(range.start);
        }
        opened
    }

    /// The contents. No kernel that writes to them may be running.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: live and initialized; by contract no kernel is writing.
        unsafe { std::slice::from_raw_parts(self.block.pointer, self.size) }
    }

    /// The contents. No kernel that accesses them may be running.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: live and initialized; by contract no kernel is accessing them.
        unsafe { std::slice::from_raw_parts_mut(self.block.pointer, self.size) }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        for &start in &self.open {
            self.memory.unregister(start);
        }
    }
}

/// Cached ranges per access kind. Kernels alternate between a few buffers.
const CACHED_RANGES: usize = 4;

/// A worker's cached view of the address space.
pub(crate) struct MemoryView {
    memory: Arc<Memory>,
    /// Latest snapshot.
    space: Arc<AddressSpace>,
    /// Older snapshots; they keep alive the memory that was accessed through them.
    older: Vec<Arc<AddressSpace>>,
    /// Cached ranges for reads and for writes, most recently used first.
    cached: [[Range<u64>; CACHED_RANGES]; 2],
}

impl MemoryView {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        let nothing = || std::array::from_fn(|_| 0..0);
        let (memory, space) = (Arc::clone(memory), memory.space());
        Self { memory, space, older: Vec::new(), cached: [nothing(), nothing()] }
    }

    /// Whether waves may read or write `size` bytes at `address`.
    #[inline(always)]
    pub(crate) fn allows(&mut self, address: u64, size: u64, write: bool) -> bool {
        let cached = &self.cached[usize::from(write)][0];
        // If the sum wraps, it is less than the start.
        let end = address.wrapping_add(size);
        if address >= cached.start && end <= cached.end && end >= address {
            return true;
        }
        self.recall(address, end, write)
    }

    #[inline(never)]
    fn recall(&mut self, address: u64, end: u64, write: bool) -> bool {
        let cached = &mut self.cached[usize::from(write)];
        if let Some(index) = cached.iter().position(|range| range.contains(&address)) {
            cached.swap(0, index);
        } else {
            let range = match self.space.region(address, write) {
                Some(range) => range.clone(),
                // The memory may have been registered after the kernel started, such as when the
                // kernel requested it from the host and waited.
                None => {
                    let now = self.memory.space();
                    if Arc::ptr_eq(&now, &self.space) {
                        return false;
                    }
                    let Some(range) = now.region(address, write).cloned() else { return false };
                    self.older.push(std::mem::replace(&mut self.space, now));
                    range
                }
            };
            cached.rotate_right(1);
            cached[0] = range;
        }
        end <= cached[0].end && end >= address
    }
}

/// The host pointer for an emulated address.
#[inline(always)]
pub(crate) fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut((address & !ALIAS) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_do_not_overlap_and_have_exact_ends() {
        let memory = Arc::new(Memory::new());
        // SAFETY: no wave runs, so the range is never accessed.
        let register = |range, access| unsafe { memory.register(range, access) };
        assert!(register(0x1000..0x2000, Access::ReadWrite));
        assert!(register(0x2000..0x3000, Access::Read));
        assert!(!register(0x1fff..0x2001, Access::Read), "overlaps both");
        assert!(!register(0x5000..0x5000, Access::Read), "is empty");
        let mut window = MemoryView::new(&memory);
        assert!(window.allows(0x1000, 0x1000, true));
        assert!(!window.allows(0x1ffd, 4, true), "leaves the first range");
        assert!(!window.allows(0x2000, 4, true), "may only be read");
        assert!(window.allows(0x2ffc, 4, false));
        assert!(!window.allows(0x2ffd, 4, false));
        assert!(!window.allows(0xfff, 1, false));
        assert!(!window.allows(u64::MAX, 4, false), "wraps around");
        assert!(memory.unregister(0x2000));
        assert!(!memory.unregister(0x2000));
        assert!(!MemoryView::new(&memory).allows(0x2000, 1, false));
    }

    #[test]
    fn ranges_are_exchanged_atomically() {
        let memory = Arc::new(Memory::new());
        let change = |old: &[u64], new: &[Range<u64>]| {
            // The time between unregistering and registering.
            let new = new
                .iter()
                .cloned()
                .inspect(|_| assert!(memory.space.try_read().is_err(), "a snapshot could be taken in between"));
            // SAFETY: no wave runs, so the ranges are never accessed.
            unsafe { memory.exchange(old.iter().copied(), new, Access::ReadWrite, None) }
        };
        let (first, second) = ([0x1000..0x2000, 0x1800..0x3000], [0x1000..0x3000, 0x8000..0x9000]);
        assert_eq!(change(&[], &first), first[..1], "the second overlaps");
        assert_eq!(change(&[0x1000], &second), second);
        assert!(memory.allows(0x1000..0x3000, true) && memory.allows(0x8000..0x9000, true));
        assert_eq!(change(&[0x1000, 0x8000], &first), first[..1]);
        assert!(!memory.allows(0x8000..0x8001, false) && !memory.allows(0x2000..0x2001, false));
    }

    #[test]
    fn later_ranges_become_visible_and_earlier_ones_stay_alive() {
        let memory = Arc::new(Memory::new());
        let first = memory.allocate(100, Access::ReadWrite);
        let mut window = MemoryView::new(&memory);
        assert!(window.allows(first.address(), 4, true));
        let second = memory.allocate(100, Access::Read);
        let (block, addresses) = (Arc::downgrade(&first.block), [first.address(), second.address()]);
        drop(first);
        assert!(window.allows(addresses[1], 4, false), "it is there now");
        assert!(!window.allows(addresses[1], 4, true), "it may only be read");
        assert!(window.allows(addresses[0], 4, true) && block.upgrade().is_some(), "it was seen before");
        drop((window, second));
        assert!(block.upgrade().is_none());
    }

    #[test]
    fn aliases_reach_the_same_memory() {
        let memory = Arc::new(Memory::new());
        let allocation = memory.allocate(8, Access::ReadWrite);
        let alias = allocation.address() | ALIAS;
        assert!(!memory.allows(alias..alias + 8, false));
        // SAFETY: the memory lives until the end of the test, and no wave runs.
        assert!(unsafe { memory.register(alias..alias + 8, Access::Read) });
        assert!(memory.allows(alias..alias + 8, false) && !memory.allows(alias..alias + 8, true));
        assert!(!memory.allows(alias..alias + 9, false));
        assert_eq!(pointer::<u8>(alias), pointer::<u8>(allocation.address()));
    }

    #[test]
    fn an_allocation_ends_with_its_owner() {
        let memory = Arc::new(Memory::new());
        let mut allocation = memory.allocate(100, Access::ReadWrite);
        allocation.bytes_mut()[99] = 7;
        let address = allocation.address();
        assert!(MemoryView::new(&memory).allows(address + 96, 4, true));
        assert!(!MemoryView::new(&memory).allows(address + 97, 4, true));
        let running = memory.space();
        let block = Arc::downgrade(&allocation.block);
        drop(allocation);
        assert!(!MemoryView::new(&memory).allows(address, 1, false));
        assert!(block.upgrade().is_some(), "a kernel that runs keeps it");
        drop(running);
        assert!(block.upgrade().is_none());
    }
}
