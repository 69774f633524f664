//! Packets of the architected queuing language: 64 bytes each, the first 16 bits are the header.
//!
//! Addresses are numbers here, so that a packet is plain data. A packet is written without its header first; then the
//! header is stored with release order, together with the next 16 bits.

use super::constants::constants;
use super::{FenceScope, Signal, SignalCondition, SignalValue};

constants! {
    /// What a packet is.
    PacketType: u8 as "hsa_packet_type_t" {
        "HSA_PACKET_TYPE_": {
            VENDOR_SPECIFIC = 0, "AMD's own; the next byte tells which";
            INVALID = 1, "not written yet: the packet processor waits here";
            KERNEL_DISPATCH = 2, "[`KernelDispatchPacket`]";
            BARRIER_AND = 3, "[`BarrierPacket`]: waits for all of its signals";
            AGENT_DISPATCH = 4, "[`AgentDispatchPacket`]";
            BARRIER_OR = 5, "[`BarrierPacket`]: waits for one of its signals";
        }
    }
}

/// A packet's header: its type, whether earlier packets must be complete, and how far its fences reach.
#[repr(transparent)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PacketHeader(pub u16);

impl PacketHeader {
    /// Where the barrier bit is.
    pub const BARRIER_SHIFT: u32 = 8;
    /// Where the two bits of the acquire fence are.
    pub const ACQUIRE_SHIFT: u32 = 9;
    /// Where the two bits of the release fence are.
    pub const RELEASE_SHIFT: u32 = 11;

    /// A header. With `barrier`, the packet starts only when all earlier ones of the queue are complete.
    pub const fn new(packet_type: PacketType, barrier: bool, acquire: FenceScope, release: FenceScope) -> Self {
        Self(
            packet_type.0 as u16
                | (barrier as u16) << Self::BARRIER_SHIFT
                | (acquire.0 as u16 & 3) << Self::ACQUIRE_SHIFT
                | (release.0 as u16 & 3) << Self::RELEASE_SHIFT,
        )
    }

    /// What the packet is.
    pub const fn packet_type(self) -> PacketType {
        PacketType(self.0 as u8)
    }

    /// Whether all earlier packets must be complete.
    pub const fn barrier(self) -> bool {
        self.0 >> Self::BARRIER_SHIFT & 1 != 0
    }

    /// How far the fence before the packet reaches.
    pub const fn acquire(self) -> FenceScope {
        FenceScope((self.0 >> Self::ACQUIRE_SHIFT & 3) as u32)
    }

    /// How far the fence after the packet reaches.
    pub const fn release(self) -> FenceScope {
        FenceScope((self.0 >> Self::RELEASE_SHIFT & 3) as u32)
    }

    /// The first 32 bits of a packet: this header, then `next` (a dispatch's setup, a vendor packet's format).
    pub const fn with_next(self, next: u16) -> u32 {
        self.0 as u32 | (next as u32) << 16
    }
}

/// Runs a kernel.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelDispatchPacket {
    /// Header.
    pub header: PacketHeader,
    /// Dimensions of the grid, 1 to 3, in the lowest two bits.
    pub setup: u16,
    /// Work-items of a workgroup.
    pub workgroup_size_x: u16,
    /// Work-items of a workgroup.
    pub workgroup_size_y: u16,
    /// Work-items of a workgroup.
    pub workgroup_size_z: u16,
    /// Reserved, 0.
    pub reserved0: u16,
    /// Work-items of the grid.
    pub grid_size_x: u32,
    /// Work-items of the grid.
    pub grid_size_y: u32,
    /// Work-items of the grid.
    pub grid_size_z: u32,
    /// Private bytes of a work-item.
    pub private_segment_size: u32,
    /// Group bytes of a workgroup: static and dynamic ones.
    pub group_segment_size: u32,
    /// The kernel.
    pub kernel_object: u64,
    /// Where its arguments are.
    pub kernarg_address: u64,
    /// Reserved, 0.
    pub reserved2: u64,
    /// Is decremented when the kernel is complete; may be null.
    pub completion_signal: Signal,
}

/// Asks an agent's own service for something; no device of this project has one.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDispatchPacket {
    /// Header.
    pub header: PacketHeader,
    /// What is asked.
    pub function: u16,
    /// Reserved, 0.
    pub reserved0: u32,
    /// Where the answer goes.
    pub return_address: u64,
    /// Arguments.
    pub arg: [u64; 4],
    /// Reserved, 0.
    pub reserved2: u64,
    /// Is decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Waits until all ([`PacketType::BARRIER_AND`]) or one ([`PacketType::BARRIER_OR`]) of its signals are 0.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct BarrierPacket {
    /// Header.
    pub header: PacketHeader,
    /// Reserved, 0.
    pub reserved0: u16,
    /// Reserved, 0.
    pub reserved1: u32,
    /// What to wait for; null ones do not count.
    pub dep_signal: [Signal; 5],
    /// Reserved, 0.
    pub reserved2: u64,
    /// Is decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Which of AMD's packets a [`PacketType::VENDOR_SPECIFIC`] one is. In C: `hsa_amd_packet_type8_t`.
#[repr(transparent)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct VendorFormat(pub u8);

impl VendorFormat {
    /// [`Pm4IbPacket`].
    pub const PM4_IB: Self = Self(1);
    /// `HSA_AMD_PACKET_TYPE_BARRIER_VALUE`: [`BarrierValuePacket`].
    pub const BARRIER_VALUE: Self = Self(2);
}

/// Waits until a signal's bits meet a condition.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct BarrierValuePacket {
    /// Header.
    pub header: PacketHeader,
    /// [`VendorFormat::BARRIER_VALUE`].
    pub format: VendorFormat,
    /// Reserved, 0.
    pub reserved: u8,
    /// Reserved, 0.
    pub reserved0: u32,
    /// What to wait for.
    pub signal: Signal,
    /// What its bits are compared with.
    pub value: SignalValue,
    /// Which of its bits count.
    pub mask: SignalValue,
    /// How they are compared.
    pub cond: SignalCondition,
    /// Reserved, 0.
    pub reserved1: u32,
    /// Reserved, 0.
    pub reserved2: u64,
    /// Reserved, 0.
    pub reserved3: u64,
    /// Is decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Runs commands of the packet processor's own language from memory.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Pm4IbPacket {
    /// Header.
    pub header: PacketHeader,
    /// [`VendorFormat::PM4_IB`], in 16 bits.
    pub vendor_header: u16,
    /// The command that jumps to the commands.
    pub ib_jump_command: [u32; 4],
    /// Words left in this packet after the command: 10.
    pub words_remaining: u32,
    /// Reserved, 0.
    pub reserved: [u32; 8],
    /// Is decremented on completion; may be null.
    pub completion_signal: Signal,
}

/// Bytes of every packet.
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
    fn headers_take_apart_what_they_were_made_of() {
        let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, true, FenceScope::SYSTEM, FenceScope::AGENT);
        assert_eq!(header.0, 2 | 1 << 8 | 2 << 9 | 1 << 11);
        assert_eq!(header.packet_type(), PacketType::KERNEL_DISPATCH);
        assert!(header.barrier());
        assert_eq!((header.acquire(), header.release()), (FenceScope::SYSTEM, FenceScope::AGENT));
        assert_eq!(header.with_next(3), u32::from(header.0) | 3 << 16);
        assert!(!PacketHeader(PacketType::INVALID.0.into()).barrier());
    }
}
