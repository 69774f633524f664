//! AQL packets: 64 bytes each, of which the first 16 bits are the header.
//!
//! Addresses are plain integers here. A producer writes a packet without its header first, then
//! stores the header together with the next 16 bits with release order.

use super::constants::constants;
use super::{FenceScope, Signal, SignalCondition, SignalValue};

constants! {
    /// Packet type.
    PacketType: u8 as "hsa_packet_type_t" {
        "HSA_PACKET_TYPE_": {
            VENDOR_SPECIFIC = 0, "vendor packet of AMD; the next byte is its format";
            INVALID = 1, "not written yet; the packet processor waits for it";
            KERNEL_DISPATCH = 2, "[`KernelDispatchPacket`]";
            BARRIER_AND = 3, "[`BarrierPacket`]: waits for all of its signals";
            AGENT_DISPATCH = 4, "[`AgentDispatchPacket`]";
            BARRIER_OR = 5, "[`BarrierPacket`]: waits for one of its signals";
        }
    }
}

/// Packet header: type, barrier bit and fence scopes.
#[repr(transparent)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PacketHeader(pub u16);

impl PacketHeader {
    /// Bit number of the barrier bit.
    pub const BARRIER_SHIFT: u32 = 8;
    /// First of the two bits of the acquire fence scope.
    pub const ACQUIRE_SHIFT: u32 = 9;
    /// First of the two bits of the release fence scope.
    pub const RELEASE_SHIFT: u32 = 11;

    /// Creates a header. With `barrier`, the packet starts only after all earlier packets of the
    /// queue are complete.
    pub const fn new(packet_type: PacketType, barrier: bool, acquire: FenceScope, release: FenceScope) -> Self {
        Self(
            packet_type.0 as u16
                | (barrier as u16) << Self::BARRIER_SHIFT
                | (acquire.0 as u16 & 3) << Self::ACQUIRE_SHIFT
                | (release.0 as u16 & 3) << Self::RELEASE_SHIFT,
        )
    }

    /// Type in the lowest 8 bits.
    pub const fn packet_type(self) -> PacketType {
        PacketType(self.0 as u8)
    }

    /// Whether all earlier packets must be complete.
    pub const fn barrier(self) -> bool {
        self.0 >> Self::BARRIER_SHIFT & 1 != 0
    }

    /// Scope of the acquire fence before the packet.
    pub const fn acquire(self) -> FenceScope {
        FenceScope((self.0 >> Self::ACQUIRE_SHIFT & 3) as u32)
    }

    /// Scope of the release fence after the packet.
    pub const fn release(self) -> FenceScope {
        FenceScope((self.0 >> Self::RELEASE_SHIFT & 3) as u32)
    }

    /// First 32 bits of a packet: this header, then `next` (setup of a dispatch, format of a vendor
    /// packet).
    pub const fn with_next(self, next: u16) -> u32 {
        self.0 as u32 | (next as u32) << 16
    }
}

/// Starts a kernel (`hsa_kernel_dispatch_packet_t`); 64 bytes.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelDispatchPacket {
    /// Type, barrier bit and fences. Written last, which makes the packet valid.
    pub header: PacketHeader,
    /// Number of grid dimensions, 1 to 3, in the lowest two bits.
    pub setup: u16,
    /// Workgroup size in work-items, x.
    pub workgroup_size_x: u16,
    /// Workgroup size in work-items, y.
    pub workgroup_size_y: u16,
    /// Workgroup size in work-items, z.
    pub workgroup_size_z: u16,
    /// Reserved, 0.
    pub reserved0: u16,
    /// Grid size in work-items, x.
    pub grid_size_x: u32,
    /// Grid size in work-items, y.
    pub grid_size_y: u32,
    /// Grid size in work-items, z.
    pub grid_size_z: u32,
    /// Private segment of a work-item in bytes.
    pub private_segment_size: u32,
    /// Group segment of a workgroup in bytes, static and dynamic.
    pub group_segment_size: u32,
    /// Address of the kernel descriptor.
    pub kernel_object: u64,
    /// Address of the kernel arguments.
    pub kernarg_address: u64,
    /// Reserved, 0.
    pub reserved2: u64,
    /// Decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Agent dispatch packet; no device of this project supports it.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDispatchPacket {
    /// Type, barrier bit and fences. Written last, which makes the packet valid.
    pub header: PacketHeader,
    /// Requested service.
    pub function: u16,
    /// Reserved, 0.
    pub reserved0: u32,
    /// Address for the result.
    pub return_address: u64,
    /// Arguments of the service.
    pub arg: [u64; 4],
    /// Reserved, 0.
    pub reserved2: u64,
    /// Decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Barrier packet: waits until all ([`PacketType::BARRIER_AND`]) or one
/// ([`PacketType::BARRIER_OR`]) of its signals are 0.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct BarrierPacket {
    /// Type, barrier bit and fences. Written last, which makes the packet valid.
    pub header: PacketHeader,
    /// Reserved, 0.
    pub reserved0: u16,
    /// Reserved, 0.
    pub reserved1: u32,
    /// Signals to wait for; null signals are ignored.
    pub dep_signal: [Signal; 5],
    /// Reserved, 0.
    pub reserved2: u64,
    /// Decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Format of a [`PacketType::VENDOR_SPECIFIC`] packet. In C: `hsa_amd_packet_type8_t`.
#[repr(transparent)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VendorFormat(pub u8);

impl VendorFormat {
    /// [`Pm4IbPacket`].
    pub const PM4_IB: Self = Self(1);
    /// `HSA_AMD_PACKET_TYPE_BARRIER_VALUE`: [`BarrierValuePacket`].
    pub const BARRIER_VALUE: Self = Self(2);
}

/// Waits until the masked value of a signal meets a condition.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct BarrierValuePacket {
    /// Type, barrier bit and fences. Written last, which makes the packet valid.
    pub header: PacketHeader,
    /// Always [`VendorFormat::BARRIER_VALUE`].
    pub format: VendorFormat,
    /// Reserved, 0.
    pub reserved: u8,
    /// Reserved, 0.
    pub reserved0: u32,
    /// Signal to wait for.
    pub signal: Signal,
    /// Value to compare with.
    pub value: SignalValue,
    /// Bits of the signal's value that are compared.
    pub mask: SignalValue,
    /// Comparison.
    pub cond: SignalCondition,
    /// Reserved, 0.
    pub reserved1: u32,
    /// Reserved, 0.
    pub reserved2: u64,
    /// Reserved, 0.
    pub reserved3: u64,
    /// Decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Executes PM4 packets from an indirect buffer.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Pm4IbPacket {
    /// Type, barrier bit and fences. Written last, which makes the packet valid.
    pub header: PacketHeader,
    /// [`VendorFormat::PM4_IB`], in 16 bits.
    pub vendor_header: u16,
    /// PM4 packet that jumps to the indirect buffer.
    pub ib_jump_command: [u32; 4],
    /// Remaining words of this packet after the PM4 packet: 10.
    pub words_remaining: u32,
    /// Reserved, 0.
    pub reserved: [u32; 8],
    /// Decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Bytes of a packet.
pub const PACKET_SIZE: usize = 64;

const _: () = {
    assert!(size_of::<KernelDispatchPacket>() == PACKET_SIZE);
    assert!(size_of::<AgentDispatchPacket>() == PACKET_SIZE);
    assert!(size_of::<BarrierPacket>() == PACKET_SIZE);
    assert!(size_of::<BarrierValuePacket>() == PACKET_SIZE);
    assert!(size_of::<Pm4IbPacket>() == PACKET_SIZE);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_round_trip() {
        let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, true, FenceScope::SYSTEM, FenceScope::AGENT);
        assert_eq!(header.0, 2 | 1 << 8 | 2 << 9 | 1 << 11);
        assert_eq!(header.packet_type(), PacketType::KERNEL_DISPATCH);
        assert!(header.barrier());
        assert_eq!((header.acquire(), header.release()), (FenceScope::SYSTEM, FenceScope::AGENT));
        assert_eq!(header.with_next(3), u32::from(header.0) | 3 << 16);
        assert!(!PacketHeader(PacketType::INVALID.0.into()).barrier());
    }
}
