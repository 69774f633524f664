//! Memory: which of a device's types serves what, and buffers in it.

#![expect(unsafe_code, reason = "calls Vulkan, and promises the HAL that memory stays where it is")]

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;
use ash::vk::MemoryPropertyFlags as Flags;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme, Allocator, AllocatorCreateDesc};
use gpu_allocator::{AllocationError, AllocationSizes, AllocatorDebugSettings, MemoryLocation};
use parking_lot::Mutex;
use roci_hal::driver::{BoundRange, BufferBackend};
use roci_hal::{BufferDesc, DeviceKind, Error, MemoryType};

use crate::fault::{failed, unavailable};
use crate::instance::lists;
use crate::shared::Shared;

/// From this size on a buffer has memory of its own.
const DEDICATED: u64 = 16 << 20;
/// Memory that small buffers share comes in blocks of this size, and up to that one as there are more of them.
const BLOCKS: (u64, u64) = (16 << 20, 256 << 20);
/// A card shows at least so much of its memory to the host where it shows all of it.
const RESIZED_BAR: u64 = 1 << 30;
/// Types with other rules than plain memory.
const SPECIAL: Flags = Flags::from_raw(
    Flags::LAZILY_ALLOCATED.as_raw()
        | Flags::PROTECTED.as_raw()
        | Flags::DEVICE_COHERENT_AMD.as_raw()
        | Flags::DEVICE_UNCACHED_AMD.as_raw()
        | Flags::RDMA_CAPABLE_NV.as_raw(),
);

/// Where buffers come from.
#[derive(Default)]
pub(crate) struct Heaps {
    /// Absent before it is made and after the device is destroyed.
    allocator: Mutex<Option<Allocator>>,
    /// Numbers of memory types by what they serve, the best first.
    device: Vec<u32>,
    host: Vec<u32>,
    shared: Vec<u32>,
    /// By heap: bytes of buffers.
    used: Vec<AtomicU64>,
    max_allocation: u64,
    has_budget: bool,
}

impl Heaps {
    pub(crate) fn new(shared: &Shared) -> Result<Self, Error> {
        let facts = &shared.card.facts;
        let (memory, kind) = (&facts.memory, shared.card.info.kind);
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: shared.instance.raw.clone(),
            device: shared.device.clone(),
            physical_device: shared.card.raw,
            debug_settings: AllocatorDebugSettings::default(),
            buffer_device_address: false,
            allocation_sizes: AllocationSizes::new(BLOCKS.0, BLOCKS.0)
                .with_max_device_memblock_size(BLOCKS.1)
                .with_max_host_memblock_size(BLOCKS.1),
        });
        let allocator = allocator.map_err(|error| unavailable("memory of the device", error))?;
        let mut heaps = Self {
            allocator: Mutex::new(Some(allocator)),
            device: order(memory, kind, MemoryType::Device),
            host: order(memory, kind, MemoryType::Host),
            shared: order(memory, kind, MemoryType::Shared),
            used: memory.memory_heaps_as_slice().iter().map(|_| AtomicU64::new(0)).collect(),
            max_allocation: 0,
            has_budget: lists(&facts.extensions, ash::ext::memory_budget::NAME),
        };
        if heaps.device.is_empty() || heaps.host.is_empty() {
            return Err(unavailable(&shared.name, "it has no memory that kernels or the host could use"));
        }
        let size = |number: &u32| memory.memory_heaps[memory.memory_types[*number as usize].heap_index as usize].size;
        let largest = heaps.device.iter().map(size).max().unwrap_or(0);
        heaps.max_allocation = facts.max_allocation.min(largest);
        Ok(heaps)
    }

    /// The types of memory that there are.
    pub(crate) fn types(&self) -> Vec<MemoryType> {
        let all = [MemoryType::Device, MemoryType::Host, MemoryType::Shared];
        all.into_iter().filter(|memory| !self.candidates(*memory).is_empty()).collect()
    }

    /// Bytes of one buffer at most.
    pub(crate) fn max_allocation(&self) -> u64 {
        self.max_allocation
    }

    fn candidates(&self, memory: MemoryType) -> &[u32] {
        match memory {
            MemoryType::Device => &self.device,
            MemoryType::Host => &self.host,
            MemoryType::Shared => &self.shared,
        }
    }

    /// Bytes that a heap can still give.
    fn left(&self, shared: &Shared, heap: usize) -> u64 {
        if self.has_budget {
            let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
            let mut query = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
            // SAFETY: the device has the extension.
            unsafe {
                shared.instance.raw.get_physical_device_memory_properties2(shared.card.raw, &mut query);
            }
            return budget.heap_budget[heap].saturating_sub(budget.heap_usage[heap]);
        }
        let size = shared.card.facts.memory.memory_heaps[heap].size;
        size.saturating_sub(self.used[heap].load(Ordering::Relaxed))
    }

    /// Gives everything back.
    pub(crate) fn destroy(&self) {
        drop(self.allocator.lock().take());
    }
}

/// The types that can serve a purpose, the best first.
fn order(memory: &vk::PhysicalDeviceMemoryProperties, kind: DeviceKind, purpose: MemoryType) -> Vec<u32> {
    let is_card = kind == DeviceKind::DiscreteGpu;
    let size = |number: u32| memory.memory_heaps[memory.memory_types[number as usize].heap_index as usize].size;
    let flags = |number: u32| memory.memory_types[number as usize].property_flags;
    let visible = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let local = Flags::DEVICE_LOCAL;
    let fits = |number: u32| {
        let flags = flags(number);
        let common = !flags.intersects(SPECIAL);
        common
            && match purpose {
                // What an integrated GPU does not call its own is the same memory, and often the larger part.
                MemoryType::Device => flags.contains(local) || !is_card,
                MemoryType::Host => flags.contains(visible),
                MemoryType::Shared if is_card => flags.contains(visible | local) && size(number) >= RESIZED_BAR,
                MemoryType::Shared => flags.contains(visible),
            }
    };
    let key = |number: &u32| {
        let has = |flag| flags(*number).contains(flag);
        let merits = match purpose {
            MemoryType::Device => [has(local), !has(Flags::HOST_VISIBLE), false],
            MemoryType::Host => [has(Flags::HOST_CACHED), !has(local), false],
            // The host reads memory that it does not cache at a crawl.
            MemoryType::Shared => [has(local), has(Flags::HOST_CACHED), true],
        };
        (std::cmp::Reverse(merits), std::cmp::Reverse(size(*number)), *number)
    };
    let mut numbers: Vec<u32> = (0..memory.memory_type_count).filter(|number| fits(*number)).collect();
    numbers.sort_by_key(key);
    numbers
}

/// A buffer.
pub(crate) struct Memory {
    shared: Arc<Shared>,
    pub(crate) buffer: vk::Buffer,
    /// Never that of another buffer of this process.
    pub(crate) id: u64,
    /// Present while it lives.
    allocation: Option<Allocation>,
    pointer: Option<NonNull<u8>>,
    heap: usize,
    bytes: u64,
}

// SAFETY: the pointer is to mapped memory of the buffer, owned by it; who may touch it when is decided by the HAL.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

// SAFETY: the memory stays mapped where it is until the buffer is dropped; the driver that mapped it has written its pages.
unsafe impl BufferBackend for Memory {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.pointer
    }
}

impl Memory {
    pub(crate) fn new(shared: &Arc<Shared>, desc: &BufferDesc) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let heaps = &shared.heaps;
        // Fills and kernels work on whole words.
        let size = desc.size.next_multiple_of(4);
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: a valid description.
        let buffer = unsafe { shared.device.create_buffer(&info, None) };
        let buffer = buffer.map_err(|_| shared.out_of_memory(desc.size, heaps.max_allocation))?;
        // From here on dropping it destroys the buffer.
        let mut memory = Self {
            shared: Arc::clone(shared),
            buffer,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            allocation: None,
            pointer: None,
            heap: 0,
            bytes: 0,
        };
        memory.back(desc)?;
        let allocation = memory.allocation.as_ref().ok_or_else(|| shared.out_of_memory(desc.size, 0))?;
        if desc.memory.host_visible() {
            memory.pointer = allocation.mapped_ptr().map(NonNull::cast);
        }
        // SAFETY: the allocation's own memory, which it keeps.
        let raw = unsafe { allocation.memory() };
        // SAFETY: the allocation was made for the needs of this buffer, which has no memory yet.
        unsafe { shared.device.bind_buffer_memory(buffer, raw, allocation.offset()) }.map_err(failed("memory"))?;
        Ok(memory)
    }

    /// Finds memory for it: of the best type that has any left.
    fn back(&mut self, desc: &BufferDesc) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let (heaps, types) = (&shared.heaps, &shared.card.facts.memory.memory_types);
        // SAFETY: a buffer of this device.
        let needs = unsafe { shared.device.get_buffer_memory_requirements(self.buffer) };
        let mut most = 0;
        for number in heaps.candidates(desc.memory).iter().filter(|number| needs.memory_type_bits >> **number & 1 != 0)
        {
            let heap = types[*number as usize].heap_index as usize;
            if needs.size >= DEDICATED {
                let left = heaps.left(&shared, heap);
                most = most.max(left);
                if needs.size > left {
                    continue;
                }
            }
            if let Some(allocation) = self.take(*number, needs)? {
                heaps.used[heap].fetch_add(needs.size, Ordering::Relaxed);
                (self.heap, self.bytes, self.allocation) = (heap, needs.size, Some(allocation));
                return Ok(());
            }
        }
        Err(shared.out_of_memory(desc.size, most.min(heaps.max_allocation)))
    }

    /// Memory of one type; `None` where there is none.
    fn take(&self, number: u32, needs: vk::MemoryRequirements) -> Result<Option<Allocation>, Error> {
        let requirements = vk::MemoryRequirements { memory_type_bits: 1 << number, ..needs };
        let dedicated = AllocationScheme::DedicatedBuffer(self.buffer);
        let pooled = AllocationScheme::GpuAllocatorManaged;
        // Where a block no longer fits, the buffer itself still may.
        let schemes = if needs.size >= DEDICATED { vec![dedicated] } else { vec![pooled, dedicated] };
        for allocation_scheme in schemes {
            let desc = AllocationCreateDesc {
                name: "buffer",
                requirements,
                location: MemoryLocation::Unknown,
                linear: true,
                allocation_scheme,
            };
            let mut allocator = self.shared.heaps.allocator.lock();
            let Some(allocator) = allocator.as_mut() else { break };
            match allocator.allocate(&desc) {
                Ok(allocation) => return Ok(Some(allocation)),
                Err(AllocationError::OutOfMemory | AllocationError::FailedToMap(_)) => {}
                Err(error) => return Err(unavailable("memory", error)),
            }
        }
        Ok(None)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: its own, and no batch in flight, or it would be held.
        unsafe { self.shared.device.destroy_buffer(self.buffer, None) };
        let Some(allocation) = self.allocation.take() else { return };
        let heaps = &self.shared.heaps;
        heaps.used[self.heap].fetch_sub(self.bytes, Ordering::Relaxed);
        if let Some(allocator) = heaps.allocator.lock().as_mut() {
            // It can only fail for memory that is not the allocator's.
            let _ = allocator.free(allocation);
        }
    }
}

/// The buffer behind a range.
pub(crate) fn memory(range: &BoundRange) -> Result<&Memory, Error> {
    let memory = range.buffer.downcast::<Memory>();
    memory.ok_or_else(|| Error::invalid("a command", "a buffer of another driver"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(heaps: &[u64], types: &[(u32, Flags)]) -> vk::PhysicalDeviceMemoryProperties {
        let mut memory = vk::PhysicalDeviceMemoryProperties {
            memory_heap_count: heaps.len() as u32,
            memory_type_count: types.len() as u32,
            ..vk::PhysicalDeviceMemoryProperties::default()
        };
        for (heap, size) in memory.memory_heaps.iter_mut().zip(heaps) {
            heap.size = *size;
        }
        for (place, (heap_index, property_flags)) in memory.memory_types.iter_mut().zip(types) {
            *place = vk::MemoryType { heap_index: *heap_index, property_flags: *property_flags };
        }
        memory
    }

    const VISIBLE: Flags = Flags::from_raw(Flags::HOST_VISIBLE.as_raw() | Flags::HOST_COHERENT.as_raw());

    /// As RADV shows it: own memory, the host's uncached, own memory that the host sees, the host's cached.
    fn types(window: u32) -> Vec<(u32, Flags)> {
        vec![
            (0, Flags::DEVICE_LOCAL),
            (1, VISIBLE),
            (window, Flags::DEVICE_LOCAL | VISIBLE),
            (1, VISIBLE | Flags::HOST_CACHED),
            (0, Flags::DEVICE_LOCAL | Flags::DEVICE_COHERENT_AMD),
        ]
    }

    #[test]
    fn a_card_stages_through_cached_memory_and_shares_only_through_a_large_window() {
        let small = properties(&[8 << 30, 16 << 30, 256 << 20], &types(2));
        assert_eq!(order(&small, DeviceKind::DiscreteGpu, MemoryType::Device), [0, 2]);
        assert_eq!(order(&small, DeviceKind::DiscreteGpu, MemoryType::Host), [3, 1, 2]);
        assert!(order(&small, DeviceKind::DiscreteGpu, MemoryType::Shared).is_empty());
        let whole = properties(&[8 << 30, 16 << 30], &types(0));
        assert_eq!(order(&whole, DeviceKind::DiscreteGpu, MemoryType::Shared), [2]);
    }

    #[test]
    fn an_integrated_gpu_goes_on_in_the_hosts_memory_when_its_own_is_full() {
        let apu = properties(&[512 << 20, 12 << 30], &types(0));
        assert_eq!(order(&apu, DeviceKind::IntegratedGpu, MemoryType::Device), [0, 2, 1, 3]);
        assert_eq!(order(&apu, DeviceKind::IntegratedGpu, MemoryType::Shared), [2, 3, 1]);
    }

    #[test]
    fn one_type_serves_everything_on_a_rasteriser() {
        let all = Flags::DEVICE_LOCAL | VISIBLE | Flags::HOST_CACHED;
        let lavapipe = properties(&[2 << 30], &[(0, all)]);
        for purpose in [MemoryType::Device, MemoryType::Host, MemoryType::Shared] {
            assert_eq!(order(&lavapipe, DeviceKind::Software, purpose), [0]);
        }
    }
}
