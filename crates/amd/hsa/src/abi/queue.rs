//! Queues in memory. Clients write packets, indices and doorbells without a call.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::{QueueFeature, QueueType, Signal, c_void};

/// `hsa_queue_t`: the part of a queue that the specification defines.
#[repr(C)]
#[derive(Debug)]
pub struct Queue {
    /// Whether one or several producers may write packets.
    pub queue_type: QueueType,
    /// Supported packet kinds.
    pub features: QueueFeature,
    /// Ring buffer of packets of 64 bytes each.
    pub base_address: *mut c_void,
    /// Signal that a producer writes the last packet's index to.
    pub doorbell_signal: Signal,
    /// Size of the ring buffer in packets, a power of two.
    pub size: u32,
    /// Reserved.
    pub reserved1: u32,
    /// Unique id in the process.
    pub id: u64,
}

/// `amd_queue_t`: the target of a queue pointer. Fields that host and device modify concurrently
/// are atomic.
///
/// Newer libraries store the state of a second scratch buffer in the reserved tail and beyond;
/// clients do not read it.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct AmdQueue {
    /// The part that the specification defines.
    pub hsa_queue: Queue,
    /// Scratch protocols that firmware and library support; reserved in older headers.
    pub caps: u32,
    /// Reserved.
    pub reserved1: [u32; 3],
    /// Index of the next packet to write; producers increment it.
    pub write_dispatch_id: AtomicU64,
    /// High 32 bits of the group segment aperture.
    pub group_segment_aperture_base_hi: u32,
    /// High 32 bits of the private segment aperture.
    pub private_segment_aperture_base_hi: u32,
    /// Highest compute unit id.
    pub max_cu_id: u32,
    /// Highest wave id of a compute unit.
    pub max_wave_id: u32,
    /// Highest packet index that was written, plus 1; only for legacy doorbells.
    pub max_legacy_doorbell_dispatch_id_plus_1: AtomicU64,
    /// Spin lock around writes of the doorbell; only for legacy doorbells.
    pub legacy_doorbell_lock: AtomicU32,
    /// Reserved.
    pub reserved2: [u32; 9],
    /// Index of the next packet to read; the packet processor increments it.
    pub read_dispatch_id: AtomicU64,
    /// Offset of [`read_dispatch_id`](Self::read_dispatch_id) in this struct.
    pub read_dispatch_id_field_base_byte_offset: u32,
    /// Size of scratch memory for the device: number of waves and bytes of each.
    pub compute_tmpring_size: u32,
    /// Buffer descriptor of scratch memory.
    pub scratch_resource_descriptor: [u32; 4],
    /// Address of scratch memory.
    pub scratch_backing_memory_location: u64,
    /// Bytes of scratch memory; reserved in newer headers.
    pub scratch_backing_memory_byte_size: u64,
    /// Scratch bytes per lane of a wave of 64.
    pub scratch_wave64_lane_byte_size: u32,
    /// Bits of [`QueueProperties`].
    pub queue_properties: QueueProperties,
    /// Reserved.
    pub reserved3: [u32; 2],
    /// Signal with the reason why the queue stopped, or 0.
    pub queue_inactive_signal: Signal,
    /// Reserved.
    pub reserved4: [u32; 14],
}

/// `amd_queue_properties32_t`
#[repr(transparent)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct QueueProperties(pub u32);

impl QueueProperties {
    /// `AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER`: the trap handler is enabled.
    pub const ENABLE_TRAP_HANDLER: Self = Self(1);
    /// `AMD_QUEUE_PROPERTIES_IS_PTR64`: addresses have 64 bits.
    pub const IS_PTR64: Self = Self(1 << 1);
    /// `AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS`: waves have SGPRs for debuggers.
    pub const ENABLE_TRAP_HANDLER_DEBUG_SGPRS: Self = Self(1 << 2);
    /// `AMD_QUEUE_PROPERTIES_ENABLE_PROFILING`: dispatches store start and end times in their
    /// signals.
    pub const ENABLE_PROFILING: Self = Self(1 << 3);
    /// `AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE`: scratch memory is released after the next dispatch.
    pub const USE_SCRATCH_ONCE: Self = Self(1 << 4);
}
