//! Buffers, and the choice of memory types for them.

#![expect(unsafe_code, reason = "calls Vulkan, and guarantees to the HAL that mapped memory does not move")]

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

use crate::device_state::DeviceState;
use crate::error::{failed, unavailable};
use crate::instance::lists;

/// Buffers of at least this many bytes get a dedicated allocation.
const DEDICATED_THRESHOLD: u64 = 16 << 20;
/// Initial and maximum size of the blocks that small buffers are allocated from.
const BLOCK_SIZES: (u64, u64) = (16 << 20, 256 << 20);
/// A card with resizable BAR exposes at least this many bytes of device-local memory to the host.
const MIN_RESIZABLE_BAR: u64 = 1 << 30;
/// Flags of memory types with special rules.
const UNSUPPORTED_FLAGS: Flags = Flags::from_raw(
    Flags::LAZILY_ALLOCATED.as_raw()
        | Flags::PROTECTED.as_raw()
        | Flags::DEVICE_COHERENT_AMD.as_raw()
        | Flags::DEVICE_UNCACHED_AMD.as_raw()
        | Flags::RDMA_CAPABLE_NV.as_raw(),
);

/// Allocates buffers from the device's memory types.
#[derive(Default)]
pub(crate) struct BufferAllocator {
    /// `None` before creation and after the device is destroyed.
    allocator: Mutex<Option<Allocator>>,
    /// Indices of the memory types for each purpose, best first.
    device: Vec<u32>,
    host: Vec<u32>,
    shared: Vec<u32>,
    /// Bytes of buffers per heap.
    used: Vec<AtomicU64>,
    max_allocation: u64,
    has_budget: bool,
}

impl BufferAllocator {
    pub(crate) fn new(shared: &DeviceState) -> Result<Self, Error> {
        let properties = &shared.card.properties;
        let (memory, kind) = (&properties.memory, shared.card.info.kind);
        let allocator = Allocator::new(&AllocatorCreateDesc {
            instance: shared.instance.raw.clone(),
            device: shared.device.clone(),
            physical_device: shared.card.raw,
            debug_settings: AllocatorDebugSettings::default(),
            buffer_device_address: false,
            allocation_sizes: AllocationSizes::new(BLOCK_SIZES.0, BLOCK_SIZES.0)
                .with_max_device_memblock_size(BLOCK_SIZES.1)
                .with_max_host_memblock_size(BLOCK_SIZES.1),
        });
        let allocator = allocator.map_err(|error| unavailable("device memory", error))?;
        let mut allocator = Self {
            allocator: Mutex::new(Some(allocator)),
            device: rank_memory_types(memory, kind, MemoryType::Device),
            host: rank_memory_types(memory, kind, MemoryType::Host),
            shared: rank_memory_types(memory, kind, MemoryType::Shared),
            used: memory.memory_heaps_as_slice().iter().map(|_| AtomicU64::new(0)).collect(),
            max_allocation: 0,
            has_budget: lists(&properties.extensions, ash::ext::memory_budget::NAME),
        };
        if allocator.device.is_empty() || allocator.host.is_empty() {
            return Err(unavailable(&shared.name, "it has no memory that kernels or the host could use"));
        }
        let size = |number: &u32| memory.memory_heaps[memory.memory_types[*number as usize].heap_index as usize].size;
        let largest = allocator.device.iter().map(size).max().unwrap_or(0);
        allocator.max_allocation = properties.max_allocation.min(largest);
        Ok(allocator)
    }

    /// The supported memory types.
    pub(crate) fn types(&self) -> Vec<MemoryType> {
        let all = [MemoryType::Device, MemoryType::Host, MemoryType::Shared];
        all.into_iter().filter(|memory| !self.candidates(*memory).is_empty()).collect()
    }

    /// Maximum size of one buffer in bytes.
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

    /// Bytes still available in a heap.
    fn available(&self, shared: &DeviceState, heap: usize) -> u64 {
        if self.has_budget {
            let mut budget = vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
            let mut query = vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
            // SAFETY: the device has the extension.
            unsafe {
                shared.instance.raw.get_physical_device_memory_properties2(shared.card.raw, &mut query);
            }
            return budget.heap_budget[heap].saturating_sub(budget.heap_usage[heap]);
        }
        let size = shared.card.properties.memory.memory_heaps[heap].size;
        size.saturating_sub(self.used[heap].load(Ordering::Relaxed))
    }

    /// Frees all blocks. Must precede the destruction of the device.
    pub(crate) fn destroy(&self) {
        drop(self.allocator.lock().take());
    }
}

/// Indices of the memory types that suit a purpose, best first.
fn rank_memory_types(memory: &vk::PhysicalDeviceMemoryProperties, kind: DeviceKind, purpose: MemoryType) -> Vec<u32> {
    let is_card = kind == DeviceKind::DiscreteGpu;
    let size = |number: u32| memory.memory_heaps[memory.memory_types[number as usize].heap_index as usize].size;
    let flags = |number: u32| memory.memory_types[number as usize].property_flags;
    let visible = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let local = Flags::DEVICE_LOCAL;
    let fits = |number: u32| {
        let flags = flags(number);
        let common = !flags.intersects(UNSUPPORTED_FLAGS);
        common
            && match purpose {
                // An integrated GPU's memory without the device-local flag is the same memory, and
                // often the larger heap.
                MemoryType::Device => flags.contains(local) || !is_card,
                MemoryType::Host => flags.contains(visible),
                MemoryType::Shared if is_card => flags.contains(visible | local) && size(number) >= MIN_RESIZABLE_BAR,
                MemoryType::Shared => flags.contains(visible),
            }
    };
    let key = |number: &u32| {
        let has = |flag| flags(*number).contains(flag);
        let merits = match purpose {
            MemoryType::Device => [has(local), !has(Flags::HOST_VISIBLE), false],
            MemoryType::Host => [has(Flags::HOST_CACHED), !has(local), false],
            // Host reads of uncached memory are very slow.
            MemoryType::Shared => [has(local), has(Flags::HOST_CACHED), true],
        };
        (std::cmp::Reverse(merits), std::cmp::Reverse(size(*number)), *number)
    };
    let mut numbers: Vec<u32> = (0..memory.memory_type_count).filter(|number| fits(*number)).collect();
    numbers.sort_by_key(key);
    numbers
}

pub(crate) struct Buffer {
    shared: Arc<DeviceState>,
    pub(crate) buffer: vk::Buffer,
    /// Unique among all buffers of this process, including destroyed ones.
    pub(crate) id: u64,
    /// Present from allocation until drop.
    allocation: Option<Allocation>,
    pointer: Option<NonNull<u8>>,
    heap: usize,
    bytes: u64,
}

// SAFETY: the pointer is to mapped memory that the buffer owns; the HAL decides who may access it
// when.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

// SAFETY: the memory stays mapped at its address until the buffer is dropped; the driver has
// committed its pages.
unsafe impl BufferBackend for Buffer {
    fn host_pointer(&self) -> Option<NonNull<u8>> {
        self.pointer
    }
}

impl Buffer {
    pub(crate) fn new(shared: &Arc<DeviceState>, desc: &BufferDesc) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let allocator = &shared.allocator;
        // Fills and kernels access whole words.
        let size = desc.size.next_multiple_of(4);
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER
            | vk::BufferUsageFlags::TRANSFER_SRC
            | vk::BufferUsageFlags::TRANSFER_DST;
        let info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: valid create info.
        let buffer = unsafe { shared.device.create_buffer(&info, None) };
        let buffer = buffer.map_err(|_| shared.out_of_memory(desc.size, allocator.max_allocation))?;
        // From here on, dropping it destroys the buffer.
        let mut memory = Self {
            shared: Arc::clone(shared),
            buffer,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            allocation: None,
            pointer: None,
            heap: 0,
            bytes: 0,
        };
        memory.allocate_memory(desc)?;
        let allocation = memory.allocation.as_ref().ok_or_else(|| shared.out_of_memory(desc.size, 0))?;
        if desc.memory.host_visible() {
            memory.pointer = allocation.mapped_ptr().map(NonNull::cast);
        }
        // SAFETY: the allocation's own memory, which it keeps alive.
        let raw = unsafe { allocation.memory() };
        // SAFETY: the allocation meets this buffer's requirements, and the buffer is not bound yet.
        unsafe { shared.device.bind_buffer_memory(buffer, raw, allocation.offset()) }.map_err(failed("memory"))?;
        Ok(memory)
    }

    /// A host buffer with this content.
    pub(crate) fn with_data(shared: &Arc<DeviceState>, data: &[u8]) -> Result<Self, Error> {
        let desc = BufferDesc::new(data.len() as u64, MemoryType::Host);
        let buffer = Self::new(shared, &desc)?;
        let pointer = buffer.pointer.ok_or_else(|| unavailable("host memory", "it is not mapped"))?;
        // SAFETY: fresh memory, at least as long as the data, which nothing else accesses.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), pointer.as_ptr(), data.len()) };
        Ok(buffer)
    }

    /// Allocates from the best memory type that has room.
    fn allocate_memory(&mut self, desc: &BufferDesc) -> Result<(), Error> {
        let shared = Arc::clone(&self.shared);
        let (allocator, types) = (&shared.allocator, &shared.card.properties.memory.memory_types);
        // SAFETY: a buffer of this device.
        let needs = unsafe { shared.device.get_buffer_memory_requirements(self.buffer) };
        let mut most = 0;
        for number in
            allocator.candidates(desc.memory).iter().filter(|number| needs.memory_type_bits >> **number & 1 != 0)
        {
            let heap = types[*number as usize].heap_index as usize;
            if needs.size >= DEDICATED_THRESHOLD {
                let available = allocator.available(&shared, heap);
                most = most.max(available);
                if needs.size > available {
                    continue;
                }
            }
            if let Some(allocation) = self.allocate_type(*number, needs)? {
                allocator.used[heap].fetch_add(needs.size, Ordering::Relaxed);
                (self.heap, self.bytes, self.allocation) = (heap, needs.size, Some(allocation));
                return Ok(());
            }
        }
        Err(shared.out_of_memory(desc.size, most.min(allocator.max_allocation)))
    }

    /// Allocates memory of one type. Returns `None` if there is none left.
    fn allocate_type(&self, number: u32, needs: vk::MemoryRequirements) -> Result<Option<Allocation>, Error> {
        let requirements = vk::MemoryRequirements { memory_type_bits: 1 << number, ..needs };
        let dedicated = AllocationScheme::DedicatedBuffer(self.buffer);
        let pooled = AllocationScheme::GpuAllocatorManaged;
        // If no further block fits, a dedicated allocation may still.
        let schemes = if needs.size >= DEDICATED_THRESHOLD { vec![dedicated] } else { vec![pooled, dedicated] };
        for allocation_scheme in schemes {
            let desc = AllocationCreateDesc {
                name: "buffer",
                requirements,
                location: MemoryLocation::Unknown,
                linear: true,
                allocation_scheme,
            };
            let mut allocator = self.shared.allocator.allocator.lock();
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

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: owned by this value, and no batch in flight uses it, because batches hold it.
        unsafe { self.shared.device.destroy_buffer(self.buffer, None) };
        let Some(allocation) = self.allocation.take() else { return };
        let allocator = &self.shared.allocator;
        allocator.used[self.heap].fetch_sub(self.bytes, Ordering::Relaxed);
        if let Some(allocator) = allocator.allocator.lock().as_mut() {
            // Freeing fails only for memory of another allocator.
            let _ = allocator.free(allocation);
        }
    }
}

/// The buffer behind a range.
pub(crate) fn buffer_of(range: &BoundRange) -> Result<&Buffer, Error> {
    let memory = range.buffer.downcast::<Buffer>();
    memory.ok_or_else(|| Error::invalid("a command", "a buffer of another driver"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(allocator: &[u64], types: &[(u32, Flags)]) -> vk::PhysicalDeviceMemoryProperties {
        let mut memory = vk::PhysicalDeviceMemoryProperties {
            memory_heap_count: allocator.len() as u32,
            memory_type_count: types.len() as u32,
            ..vk::PhysicalDeviceMemoryProperties::default()
        };
        for (heap, size) in memory.memory_heaps.iter_mut().zip(allocator) {
            heap.size = *size;
        }
        for (slot, (heap_index, property_flags)) in memory.memory_types.iter_mut().zip(types) {
            *slot = vk::MemoryType { heap_index: *heap_index, property_flags: *property_flags };
        }
        memory
    }

    const VISIBLE: Flags = Flags::from_raw(Flags::HOST_VISIBLE.as_raw() | Flags::HOST_COHERENT.as_raw());

    /// RADV's types: device-local, uncached host-visible, device-local host-visible, cached
    /// host-visible.
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
    fn a_discrete_gpu_stages_in_cached_memory_and_shares_only_with_a_large_bar() {
        let small = properties(&[8 << 30, 16 << 30, 256 << 20], &types(2));
        assert_eq!(rank_memory_types(&small, DeviceKind::DiscreteGpu, MemoryType::Device), [0, 2]);
        assert_eq!(rank_memory_types(&small, DeviceKind::DiscreteGpu, MemoryType::Host), [3, 1, 2]);
        assert!(rank_memory_types(&small, DeviceKind::DiscreteGpu, MemoryType::Shared).is_empty());
        let whole = properties(&[8 << 30, 16 << 30], &types(0));
        assert_eq!(rank_memory_types(&whole, DeviceKind::DiscreteGpu, MemoryType::Shared), [2]);
    }

    #[test]
    fn an_integrated_gpu_falls_back_to_the_host_heap() {
        let apu = properties(&[512 << 20, 12 << 30], &types(0));
        assert_eq!(rank_memory_types(&apu, DeviceKind::IntegratedGpu, MemoryType::Device), [0, 2, 1, 3]);
        assert_eq!(rank_memory_types(&apu, DeviceKind::IntegratedGpu, MemoryType::Shared), [2, 3, 1]);
    }

    #[test]
    fn a_rasterizer_has_one_memory_type() {
        let all = Flags::DEVICE_LOCAL | VISIBLE | Flags::HOST_CACHED;
        let lavapipe = properties(&[2 << 30], &[(0, all)]);
        for purpose in [MemoryType::Device, MemoryType::Host, MemoryType::Shared] {
            assert_eq!(rank_memory_types(&lavapipe, DeviceKind::Software, purpose), [0]);
        }
    }
}
