//! Queues in memory. Clients write packets, indices and doorbells here without a call.

use std::sync::atomic::{AtomicU32, AtomicU64};

use super::{QueueFeature, QueueType, Signal, c_void};

/// `hsa_queue_t`: the part of a queue that the specification defines.
#[repr(C)]
#[derive(Debug)]
pub struct Queue {
    /// Who may write packets.
    pub queue_type: QueueType,
    /// What it can do.
    pub features: QueueFeature,
    /// The ring of packets, of 64 bytes each.
    pub base_address: *mut c_void,
    /// Its doorbell.
    pub doorbell_signal: Signal,
    /// Packets in the ring, a power of two.
    pub size: u32,
    /// Reserved.
    pub reserved1: u32,
    /// Its number in the process.
    pub id: u64,
}

/// `amd_queue_t`: what a queue's pointer really points to. What host and device change at the same time is atomic.
///
/// Newer libraries put the state of a second scratch memory into the reserved tail and beyond it; no client reads that.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct AmdQueue {
    /// The part that the specification defines.
    pub hsa_queue: Queue,
    /// Which protocols of scratch memory the firmware and the library know; reserved in older headers.
    pub caps: u32,
    /// Reserved.
    pub reserved1: [u32; 3],
    /// The next packet to write; writers add to it.
    pub write_dispatch_id: AtomicU64,
    /// High half of the addresses of group memory.
    pub group_segment_aperture_base_hi: u32,
    /// High half of the addresses of private memory.
    pub private_segment_aperture_base_hi: u32,
    /// The highest number of a compute unit.
    pub max_cu_id: u32,
    /// The highest number of a wave in a compute unit.
    pub max_wave_id: u32,
    /// For old doorbells.
    pub max_legacy_doorbell_dispatch_id_plus_1: AtomicU64,
    /// For old doorbells.
    pub legacy_doorbell_lock: AtomicU32,
    /// Reserved.
    pub reserved2: [u32; 9],
    /// The next packet to read; the packet processor adds to it.
    pub read_dispatch_id: AtomicU64,
    /// How far [`read_dispatch_id`](Self::read_dispatch_id) is from the start of this struct.
    pub read_dispatch_id_field_base_byte_offset: u32,
    /// What the device needs to know of scratch memory: waves and bytes of each.
    pub compute_tmpring_size: u32,
    /// The buffer descriptor of scratch memory.
    pub scratch_resource_descriptor: [u32; 4],
    /// Where scratch memory lies.
    pub scratch_backing_memory_location: u64,
    /// Bytes of scratch memory; reserved in newer headers.
    pub scratch_backing_memory_byte_size: u64,
    /// Bytes of scratch memory of a lane in a wave of 64.
    pub scratch_wave64_lane_byte_size: u32,
    /// Bits of [`QueueProperties`].
    pub queue_properties: QueueProperties,
    /// Reserved.
    pub reserved3: [u32; 2],
    /// Holds why the queue stopped, or 0.
    pub queue_inactive_signal: Signal,
    /// Reserved.
    pub reserved4: [u32; 14],
}

/// `amd_queue_properties32_t`
#[repr(transparent)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct QueueProperties(pub u32);

impl QueueProperties {
    /// `AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER`: traps are handled.
    pub const ENABLE_TRAP_HANDLER: Self = Self(1);
    /// `AMD_QUEUE_PROPERTIES_IS_PTR64`: addresses have 64 bits.
    pub const IS_PTR64: Self = Self(1 << 1);
    /// `AMD_QUEUE_PROPERTIES_ENABLE_TRAP_HANDLER_DEBUG_SGPRS`: waves have registers for debuggers.
    pub const ENABLE_TRAP_HANDLER_DEBUG_SGPRS: Self = Self(1 << 2);
    /// `AMD_QUEUE_PROPERTIES_ENABLE_PROFILING`: dispatches write their times to their signals.
    pub const ENABLE_PROFILING: Self = Self(1 << 3);
    /// `AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE`: scratch memory goes back after the next dispatch.
    pub const USE_SCRATCH_ONCE: Self = Self(1 << 4);
}
