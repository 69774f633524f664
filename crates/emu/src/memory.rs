//! The memory that emulated waves may touch: ranges of host memory, registered before use.
//!
//! An emulated address is a host address, as on a GPU that shares virtual memory with its process, or another name for one:
//! see [`ALIAS`]. Nothing outside a registered range is ever read or written.

#![expect(unsafe_code, reason = "emulated code addresses memory by number")]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::ops::Range;
use std::sync::{Arc, RwLock};

/// An address with this bit leads to the memory at the address without it. Real GPUs see memory of the host that was not
/// allocated for them at other addresses than the host does, and programs tell the two apart. No address of a process has the
/// bit, and instructions keep it: addresses have 48 bits in descriptors of buffers.
pub const ALIAS: u64 = 1 << 47;

/// What may be done with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Waves read it.
    Read,
    /// Waves read and write it.
    ReadWrite,
}

/// A range that waves may touch.
#[derive(Clone, Debug)]
struct Region {
    range: Range<u64>,
    access: Access,
    /// Keeps the memory alive as long as someone may still touch it.
    _owner: Option<Owner>,
}

/// What memory belongs to.
pub type Owner = Arc<dyn Any + Send + Sync>;

/// All ranges at one moment, sorted by address.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddressSpace {
    regions: Vec<Region>,
}

impl AddressSpace {
    /// The range around an address, if waves may do this there.
    pub(crate) fn region(&self, address: u64, write: bool) -> Option<&Range<u64>> {
        let after = self.regions.partition_point(|region| region.range.start <= address);
        let region = self.regions.get(after.checked_sub(1)?)?;
        let allowed = region.range.contains(&address) && (!write || region.access == Access::ReadWrite);
        allowed.then_some(&region.range)
    }

    /// Where a range would go, if it is not empty and overlaps no other.
    fn place(&self, range: &Range<u64>) -> Option<usize> {
        let at = self.regions.partition_point(|region| region.range.start < range.start);
        let before = at.checked_sub(1).and_then(|index| self.regions.get(index));
        let clear = before.is_none_or(|region| region.range.end <= range.start)
            && self.regions.get(at).is_none_or(|region| range.end <= region.range.start);
        (clear && !range.is_empty()).then_some(at)
    }

    /// Which range begins here.
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
    /// Without any range.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets waves touch a range; `false`, and nothing changes, if it is empty or overlaps one that is registered.
    ///
    /// # Safety
    /// The range, or the one that it is an [`ALIAS`] of, is live host memory until [`Memory::unregister`], and with [`Access::ReadWrite`] writable. Waves
    /// access it without synchronisation, as a GPU does: while a kernel runs, Rust code must not hold references into it
    /// that the kernel's accesses would break.
    pub unsafe fn register(&self, range: Range<u64>, access: Access) -> bool {
        self.insert(range, access, None)
    }

    /// The same for memory that lives as long as its owner: kernels that are running when it is taken back keep it alive.
    ///
    /// # Safety
    /// As for [`Memory::register`], but the range need be live only as long as the owner.
    pub unsafe fn register_owned(&self, range: Range<u64>, access: Access, owner: Owner) -> bool {
        self.insert(range, access, Some(owner))
    }

    fn insert(&self, range: Range<u64>, access: Access, owner: Option<Owner>) -> bool {
        let mut space = self.space.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let Some(at) = space.place(&range) else { return false };
        Arc::make_mut(&mut space).regions.insert(at, Region { range, access, _owner: owner });
        true
    }

    /// Takes ranges back by their starts and registers others, all at once: waves see what was before or what is after, so
    /// that what is in both is never missing. Which of the new ones are registered: those that [`Memory::register`] takes.
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
            if let Some(at) = space.place(&range) {
                registered.push(range.clone());
                space.regions.insert(at, Region { range, access, _owner: owner.cloned() });
            }
        }
        registered
    }

    /// Takes back a range by its start. Kernels that are running keep what they have seen: wait for them first, unless the
    /// range has an owner.
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

    /// The ranges now.
    pub(crate) fn space(&self) -> Arc<AddressSpace> {
        Arc::clone(&self.space.read().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Allocates zeroed memory that waves may touch; the process ends if the host has none.
    pub fn allocate(self: &Arc<Self>, size: usize, access: Access) -> Allocation {
        self.try_allocate(size, access)
            .unwrap_or_else(|| handle_alloc_error(layout(size).unwrap_or(Layout::new::<[u8; PAGE]>())))
    }

    /// Allocates zeroed memory that waves may touch, if the host has it.
    pub fn try_allocate(self: &Arc<Self>, size: usize, access: Access) -> Option<Allocation> {
        let mut allocation = self.try_allocate_parts(size)?;
        if size > 0 {
            allocation.open(0..size, access);
        }
        Some(allocation)
    }

    /// Allocates zeroed memory of which waves may touch nothing until it is [opened](Allocation::open).
    pub fn try_allocate_parts(self: &Arc<Self>, size: usize) -> Option<Allocation> {
        let layout = layout(size)?;
        // SAFETY: the size is not zero.
        let pointer = unsafe { alloc_zeroed(layout) };
        if pointer.is_null() {
            return None;
        }
        pointer.expose_provenance();
        let block = Arc::new(Block { pointer, layout });
        Some(Allocation { memory: Arc::clone(self), block, size, open: Vec::new() })
    }
}

const PAGE: usize = 4096;

/// Room for so many bytes and a page that belongs to no one, so that a step beyond the end is never into something else.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(PAGE)?, PAGE).ok()
}

/// Memory that waves may touch. When it is dropped, no new kernel can; those that are running keep it alive.
#[derive(Debug)]
pub struct Allocation {
    memory: Arc<Memory>,
    block: Arc<Block>,
    size: usize,
    /// Where the registered parts begin.
    open: Vec<u64>,
}

/// Memory of the host.
#[derive(Debug)]
struct Block {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: it owns its memory.
unsafe impl Send for Block {}
// SAFETY: through `&self` nothing is written.
unsafe impl Sync for Block {}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and neither an allocation nor a kernel has it any more.
        unsafe { dealloc(self.pointer, self.layout) };
    }
}

impl Allocation {
    /// Where it begins.
    pub fn address(&self) -> u64 {
        self.block.pointer.addr() as u64
    }

    /// Lets waves touch a part; `false`, and nothing changes, if it is empty, leaves the allocation or is open already.
    pub fn open(&mut self, part: Range<usize>, access: Access) -> bool {
        if part.start >= part.end || part.end > self.size {
            return false;
        }
        let range = self.address() + part.start as u64..self.address() + part.end as u64;
        let owner = Arc::clone(&self.block);
        // SAFETY: it lives as long as its block.
        let opened = unsafe { self.memory.register_owned(range.clone(), access, owner) };
        if opened {
            self.open.push(range.start);
        }
        opened
    }

    /// Its bytes. No kernel that writes them may be running.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: live and initialised; kernels have ended, as the caller was told.
        unsafe { std::slice::from_raw_parts(self.block.pointer, self.size) }
    }

    /// Its bytes. No kernel that touches them may be running.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: live and initialised; kernels have ended, as the caller was told.
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

/// Ranges that a worker remembers: kernels go to and fro between a few buffers.
const REMEMBERED: usize = 4;

/// One worker's view of the address space: remembers the ranges it used last.
pub(crate) struct Window {
    memory: Arc<Memory>,
    /// The ranges when they were last looked at.
    space: Arc<AddressSpace>,
    /// Those before, which keep alive what was seen in them.
    before: Vec<Arc<AddressSpace>>,
    /// Ranges read, and ranges written; the one used last comes first.
    known: [[Range<u64>; REMEMBERED]; 2],
}

impl Window {
    pub(crate) fn new(memory: &Arc<Memory>) -> Self {
        let nothing = || std::array::from_fn(|_| 0..0);
        let (memory, space) = (Arc::clone(memory), memory.space());
        Self { memory, space, before: Vec::new(), known: [nothing(), nothing()] }
    }

    /// Whether waves may read or write `size` bytes at `address`.
    #[inline(always)]
    pub(crate) fn allows(&mut self, address: u64, size: u64, write: bool) -> bool {
        let known = &self.known[usize::from(write)][0];
        // The sum may wrap: then it is below the start.
        let end = address.wrapping_add(size);
        if address >= known.start && end <= known.end && end >= address {
            return true;
        }
        self.recall(address, end, write)
    }

    #[inline(never)]
    fn recall(&mut self, address: u64, end: u64, write: bool) -> bool {
        let known = &mut self.known[usize::from(write)];
        if let Some(index) = known.iter().position(|range| range.contains(&address)) {
            known.swap(0, index);
        } else {
            let range = match self.space.region(address, write) {
                Some(range) => range.clone(),
                // A kernel may use memory that came after it began: it asks the host for more, and waits.
                None => {
                    let now = self.memory.space();
                    if Arc::ptr_eq(&now, &self.space) {
                        return false;
                    }
                    let Some(range) = now.region(address, write).cloned() else { return false };
                    self.before.push(std::mem::replace(&mut self.space, now));
                    range
                }
            };
            known.rotate_right(1);
            known[0] = range;
        }
        end <= known[0].end && end >= address
    }
}

/// A host pointer of an emulated address.
#[inline(always)]
pub(crate) fn pointer<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut((address & !ALIAS) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_do_not_overlap_and_end_where_they_end() {
        let memory = Arc::new(Memory::new());
        // SAFETY: no wave runs, so nothing is ever touched.
        let register = |range, access| unsafe { memory.register(range, access) };
        assert!(register(0x1000..0x2000, Access::ReadWrite));
        assert!(register(0x2000..0x3000, Access::Read));
        assert!(!register(0x1fff..0x2001, Access::Read), "overlaps both");
        assert!(!register(0x5000..0x5000, Access::Read), "is empty");
        let mut window = Window::new(&memory);
        assert!(window.allows(0x1000, 0x1000, true));
        assert!(!window.allows(0x1ffd, 4, true), "leaves the first range");
        assert!(!window.allows(0x2000, 4, true), "may only be read");
        assert!(window.allows(0x2ffc, 4, false));
        assert!(!window.allows(0x2ffd, 4, false));
        assert!(!window.allows(0xfff, 1, false));
        assert!(!window.allows(u64::MAX, 4, false), "wraps round");
        assert!(memory.unregister(0x2000));
        assert!(!memory.unregister(0x2000));
        assert!(!Window::new(&memory).allows(0x2000, 1, false));
    }

    #[test]
    fn ranges_change_at_once() {
        let memory = Arc::new(Memory::new());
        let change = |old: &[u64], new: &[Range<u64>]| {
            // Between taking back and registering.
            let new = new.iter().cloned().inspect(|_| assert!(memory.space.try_read().is_err(), "someone could look"));
            // SAFETY: no wave runs, so nothing is ever touched.
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
    fn memory_that_comes_later_is_seen_and_what_was_seen_stays() {
        let memory = Arc::new(Memory::new());
        let first = memory.allocate(100, Access::ReadWrite);
        let mut window = Window::new(&memory);
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
    fn memory_may_have_a_second_address() {
        let memory = Arc::new(Memory::new());
        let allocation = memory.allocate(8, Access::ReadWrite);
        let alias = allocation.address() | ALIAS;
        assert!(!memory.allows(alias..alias + 8, false));
        // SAFETY: it lives until the end, and no wave runs.
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
        assert!(Window::new(&memory).allows(address + 96, 4, true));
        assert!(!Window::new(&memory).allows(address + 97, 4, true));
        let running = memory.space();
        let block = Arc::downgrade(&allocation.block);
        drop(allocation);
        assert!(!Window::new(&memory).allows(address, 1, false));
        assert!(block.upgrade().is_some(), "a kernel that runs keeps it");
        drop(running);
        assert!(block.upgrade().is_none());
    }
}
