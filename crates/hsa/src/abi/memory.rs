//! Structs about memory: places, copies, pointers, links, and times of copies.

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
    /// Where it starts.
    pub base: *mut c_void,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes from one slice to the next.
    pub slice: usize,
}

/// What a pointer points to. The caller sets [`size`](Self::size) to the bytes of its own version of this struct.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PointerInfo {
    /// Bytes of this struct, as the caller knows it.
    pub size: u32,
    /// What kind of memory it is; nothing else holds if that is unknown.
    pub pointer_type: PointerType,
    /// Where it starts for agents.
    pub agent_base_address: *mut c_void,
    /// Where it starts for the host; null if the host cannot use it.
    pub host_base_address: *mut c_void,
    /// Bytes of the allocation.
    pub size_in_bytes: usize,
    /// What the user attached to it.
    pub user_data: *mut c_void,
    /// Whose memory it is.
    pub agent_owner: Agent,
    /// The flags of its pool.
    pub global_flags: MemoryPoolGlobalFlag,
    /// Whether it is registered; from version 1.13 of AMD's extension, where it takes the place of padding.
    pub registered: u8,
}

impl PointerInfo {
    /// To be filled by `hsa_amd_pointer_info`.
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

/// One link between an agent and a pool. Truth values are bytes: zero is false.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkInfo {
    /// Nanoseconds at best.
    pub min_latency: u32,
    /// Nanoseconds at worst.
    pub max_latency: u32,
    /// MB/s at worst.
    pub min_bandwidth: u32,
    /// MB/s at best.
    pub max_bandwidth: u32,
    /// Whether 32-bit atomics cross it.
    pub atomic_support_32bit: u8,
    /// Whether 64-bit atomics cross it.
    pub atomic_support_64bit: u8,
    /// Whether caches agree across it.
    pub coherent_support: u8,
    /// What it is.
    pub link_type: LinkInfoType,
    /// The distance as the operating system counts it.
    pub numa_distance: u32,
}

/// Registers that flush host writes to device memory, mapped for the host; null where there are none.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HdpFlush {
    /// Flushes writes to memory.
    pub mem_flush_cntl: *mut u32,
    /// Flushes writes to registers.
    pub reg_flush_cntl: *mut u32,
}

/// When a dispatch ran, in ticks of the system clock.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfilingDispatchTime {
    /// Start.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// When a copy ran, in ticks of the system clock.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct AsyncCopyTime {
    /// Start.
    pub start: u64,
    /// End.
    pub end: u64,
}

/// Names memory, or a signal, to another process.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct IpcMemory {
    /// Opaque.
    pub handle: [u32; 8],
}

/// Names a signal to another process.
pub type IpcSignal = IpcMemory;

/// Who may use mapped memory, and how.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryAccessDesc {
    /// How.
    pub permissions: AccessPermission,
    /// Who.
    pub agent_handle: Agent,
}

/// An attribute of shared virtual memory and its value.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct SvmAttributePair {
    /// The attribute.
    pub attribute: SvmAttribute,
    /// Its value.
    pub value: u64,
}

/// The clocks of a GPU and of the host, read together.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockCounters {
    /// The GPU's.
    pub gpu_clock_counter: u64,
    /// The CPU's.
    pub cpu_clock_counter: u64,
    /// The system's.
    pub system_clock_counter: u64,
    /// Hz of the system's.
    pub system_clock_frequency: u64,
}
