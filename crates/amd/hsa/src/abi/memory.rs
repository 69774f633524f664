//! Structs for memory: extents, copies, pointer attributes, links and copy times.

use super::*;

/// A point or an extent.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// First dimension.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Third dimension.
    pub z: u32,
}

/// Memory with rows and slices.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PitchedPtr {
    /// Start address.
    pub base: *mut c_void,
    /// Row pitch in bytes.
    pub pitch: usize,
    /// Slice pitch in bytes.
    pub slice: usize,
}

/// Attributes of a pointer. The caller sets [`size`](Self::size) to the size of its version of
/// this struct.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PointerInfo {
    /// Size of this struct in the caller's version of the API, in bytes.
    pub size: u32,
    /// Kind of memory; the other fields are invalid if it is unknown.
    pub pointer_type: PointerType,
    /// Start address for agents.
    pub agent_base_address: *mut c_void,
    /// Start address for the host; null if the host has no access.
    pub host_base_address: *mut c_void,
    /// Bytes of the allocation.
    pub size_in_bytes: usize,
    /// User data that the client attached.
    pub user_data: *mut c_void,
    /// Agent that owns the memory.
    pub agent_owner: Agent,
    /// Flags of the pool that the memory was allocated from.
    pub global_flags: MemoryPoolGlobalFlag,
    /// Whether it is registered; padding before version 1.13 of AMD's extension.
    pub registered: u8,
}

impl PointerInfo {
    /// Initial value for `hsa_amd_pointer_info`.
    pub const UNKNOWN: Self = Self {
        size: size_of::<Self>() as u32,
        pointer_type: PointerType::UNKNOWN,
        agent_base_address: std::ptr::null_mut(),
        host_base_address: std::ptr::null_mut(),
        size_in_bytes: 0,
        user_data: std::ptr::null_mut(),
        agent_owner: Agent::NULL,
        global_flags: MemoryPoolGlobalFlag::EMPTY,
        registered: 0,
    };
}

/// A link between an agent and a pool. Booleans are bytes; zero is false.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkInfo {
    /// Minimum latency in nanoseconds.
    pub min_latency: u32,
    /// Maximum latency in nanoseconds.
    pub max_latency: u32,
    /// Minimum bandwidth in MB/s.
    pub min_bandwidth: u32,
    /// Maximum bandwidth in MB/s.
    pub max_bandwidth: u32,
    /// Whether it supports 32-bit atomics.
    pub atomic_support_32bit: u8,
    /// Whether it supports 64-bit atomics.
    pub atomic_support_64bit: u8,
    /// Whether it is cache-coherent.
    pub coherent_support: u8,
    /// How the two agents are connected: PCIe, XGMI and others.
    pub link_type: LinkInfoType,
    /// NUMA distance of the operating system.
    pub numa_distance: u32,
}

/// HDP flush registers, mapped for the host; null if there are none. They flush host writes to
/// device memory.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HdpFlush {
    /// Flushes writes to memory.
    pub mem_flush_cntl: *mut u32,
    /// Flushes writes to registers.
    pub reg_flush_cntl: *mut u32,
}

/// Start and end of a dispatch in system clock ticks.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfilingDispatchTime {
    /// Start tick.
    pub start: u64,
    /// End tick.
    pub end: u64,
}

/// Start and end of a copy in system clock ticks.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct AsyncCopyTime {
    /// Start tick.
    pub start: u64,
    /// End tick.
    pub end: u64,
}

/// IPC handle of memory or a signal.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpcMemory {
    /// Opaque value.
    pub handle: [u32; 8],
}

/// IPC handle of a signal.
pub type IpcSignal = IpcMemory;

/// Access permission of an agent to mapped memory.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryAccessDesc {
    /// Granted permission.
    pub permissions: AccessPermission,
    /// Agent that gets it.
    pub agent_handle: Agent,
}

/// An SVM attribute and its value.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SvmAttributePair {
    /// Attribute to set or query.
    pub attribute: SvmAttribute,
    /// Value to set; a query writes it.
    pub value: u64,
}

/// Simultaneous counters of GPU, CPU and system clock.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockCounters {
    /// Ticks of the GPU's own clock.
    pub gpu_clock_counter: u64,
    /// Ticks of the host's clock, read at the same time.
    pub cpu_clock_counter: u64,
    /// Ticks of the system clock, `system_clock_frequency` per second.
    pub system_clock_counter: u64,
    /// System clock frequency in Hz.
    pub system_clock_frequency: u64,
}
