//! Kernel descriptors: the 64 bytes that tell the hardware how to launch a kernel.

use crate::Processor;

/// A kernel descriptor. Fields are raw; methods decode the bit fields.
///
/// Specified in LLVM's "User Guide for AMDGPU Backend", section *Kernel Descriptor*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelDescriptor {
    /// Statically allocated LDS in bytes, without the dynamic LDS of the launch.
    pub group_segment_fixed_size: u32,
    /// Scratch memory per work-item, in bytes.
    pub private_segment_fixed_size: u32,
    /// Size of the kernarg segment in bytes; 0 in old code objects, where only the metadata has it.
    pub kernarg_size: u32,
    /// Offset in bytes from the descriptor to the first instruction.
    pub entry_offset: i64,
    /// `COMPUTE_PGM_RSRC3`.
    pub rsrc3: u32,
    /// `COMPUTE_PGM_RSRC1`.
    pub rsrc1: u32,
    /// `COMPUTE_PGM_RSRC2`.
    pub rsrc2: u32,
    /// Kernel code properties: enabled user SGPRs, wavefront size, dynamic stack.
    pub properties: u16,
    /// Kernarg preload: length in dwords (bits 0 to 6) and offset in dwords (bits 7 to 15).
    pub kernarg_preload: u16,
}

/// User SGPRs, in the order in which they are assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserSgpr {
    /// Buffer descriptor of the scratch memory, four registers.
    PrivateSegmentBuffer,
    /// Address of the dispatch packet, two registers.
    DispatchPointer,
    /// Address of the `amd_queue_t`, two registers.
    QueuePointer,
    /// Address of the kernarg segment, two registers.
    KernargPointer,
    /// ID of the dispatch, two registers.
    DispatchId,
    /// Initial value of `FLAT_SCRATCH`, two registers.
    FlatScratchInit,
    /// Scratch memory per work-item in bytes, one register.
    PrivateSegmentSize,
}

impl UserSgpr {
    /// In assignment order; the index is the bit number in the kernel code properties.
    pub const ALL: [Self; 7] = [
        Self::PrivateSegmentBuffer,
        Self::DispatchPointer,
        Self::QueuePointer,
        Self::KernargPointer,
        Self::DispatchId,
        Self::FlatScratchInit,
        Self::PrivateSegmentSize,
    ];

    /// Number of registers.
    pub const fn registers(self) -> u32 {
        match self {
            Self::PrivateSegmentBuffer => 4,
            Self::PrivateSegmentSize => 1,
            _ => 2,
        }
    }
}

/// Bits `low ..= high` of a word.
const fn bits(word: u32, low: u32, high: u32) -> u32 {
    (word >> low) & (u32::MAX >> (31 - (high - low)))
}

const fn bit(word: u32, index: u32) -> bool {
    bits(word, index, index) != 0
}

impl KernelDescriptor {
    /// Size of a descriptor in bytes.
    pub const SIZE: usize = 64;

    /// Decodes a descriptor. Reserved fields are ignored.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Self {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        Self {
            group_segment_fixed_size: word(0),
            private_segment_fixed_size: word(4),
            kernarg_size: word(8),
            entry_offset: (u64::from(word(20)) << 32 | u64::from(word(16))) as i64,
            rsrc3: word(44),
            rsrc1: word(48),
            rsrc2: word(52),
            properties: half(56),
            kernarg_preload: half(58),
        }
    }

    /// The enabled user SGPRs, in order. Their sum may be less than
    /// [`user_sgpr_count`](Self::user_sgpr_count), for example on gfx1100; the system SGPRs start
    /// after that count.
    pub fn user_sgprs(&self) -> impl Iterator<Item = UserSgpr> {
        let properties = u32::from(self.properties);
        UserSgpr::ALL
            .into_iter()
            .enumerate()
            .filter(move |(index, _)| bit(properties, *index as u32))
            .map(|(_, one)| one)
    }

    /// Lanes per wavefront: 32 or 64.
    pub fn wave_size(&self) -> u32 {
        if bit(self.properties.into(), 10) { 32 } else { 64 }
    }

    /// Whether the stack is dynamic: the launch must then provide more scratch than the fixed size.
    pub fn uses_dynamic_stack(&self) -> bool {
        bit(self.properties.into(), 11)
    }

    /// Length of the preloaded kernel arguments, in dwords.
    pub fn kernarg_preload_length(&self) -> u32 {
        bits(self.kernarg_preload.into(), 0, 6)
    }

    /// Offset of the preloaded kernel arguments, in dwords.
    pub fn kernarg_preload_offset(&self) -> u32 {
        bits(self.kernarg_preload.into(), 7, 15)
    }

    /// VGPRs allocated per wavefront on `processor`: the kernel's count, rounded up to the granule.
    pub fn vgprs(&self, processor: Processor) -> u32 {
        let name = processor.name();
        let granule = match (processor.generation(), self.wave_size()) {
            (9, _) if matches!(name, "gfx90a" | "gfx940" | "gfx941" | "gfx942" | "gfx950" | "gfx9-4-generic") => 8,
            (12, 32) if matches!(name, "gfx1250" | "gfx1251" | "gfx12-5-generic") => 16,
            (10.., 32) => 8,
            _ => 4,
        };
        (bits(self.rsrc1, 0, 5) + 1) * granule
    }

    /// SGPRs allocated per wavefront on `processor`; gfx10 and later always allocate 128.
    pub fn sgprs(&self, processor: Processor) -> u32 {
        match processor.generation() {
            10.. => 128,
            9 => (bits(self.rsrc1, 6, 9) / 2 + 1) * 16,
            _ => (bits(self.rsrc1, 6, 9) + 1) * 8,
        }
    }

    /// `FLOAT_MODE`: rounding and denormal modes, laid out as bits 0 to 7 of the MODE register.
    pub fn float_mode(&self) -> u8 {
        bits(self.rsrc1, 12, 19) as u8
    }

    /// Rounding mode of f32: 0 to nearest even, 1 up, 2 down, 3 to zero.
    pub fn round_f32(&self) -> u32 {
        bits(self.rsrc1, 12, 13)
    }

    /// Rounding mode of f16 and f64, coded as for f32.
    pub fn round_f16_f64(&self) -> u32 {
        bits(self.rsrc1, 14, 15)
    }

    /// Denormal mode of f32: bit 0 preserves denormal inputs, bit 1 denormal results.
    pub fn denormals_f32(&self) -> u32 {
        bits(self.rsrc1, 16, 17)
    }

    /// Denormal mode of f16 and f64, coded as for f32.
    pub fn denormals_f16_f64(&self) -> u32 {
        bits(self.rsrc1, 18, 19)
    }

    /// `DX10_CLAMP`: clamping turns NaN into 0. Before gfx12 only; the bit is reused there.
    pub fn dx10_clamp(&self) -> bool {
        bit(self.rsrc1, 21)
    }

    /// `IEEE_MODE`: minimum and maximum quiet signaling NaNs, as IEEE 754 requires. Before gfx12
    /// only.
    pub fn ieee_mode(&self) -> bool {
        bit(self.rsrc1, 23)
    }

    /// `FP16_OVFL`: an f16 overflow gives the largest finite value instead of infinity.
    pub fn fp16_overflow(&self) -> bool {
        bit(self.rsrc1, 26)
    }

    /// `WGP_MODE`: work-groups may span both compute units of a work-group processor (gfx10 and
    /// later).
    pub fn wgp_mode(&self) -> bool {
        bit(self.rsrc1, 29)
    }

    /// `MEM_ORDERED`: memory results return in order (gfx10 and later).
    pub fn mem_ordered(&self) -> bool {
        bit(self.rsrc1, 30)
    }

    /// `FWD_PROGRESS`: the oldest wavefront is scheduled first, so that each one makes progress
    /// (gfx10 and later).
    pub fn forward_progress(&self) -> bool {
        bit(self.rsrc1, 31)
    }

    /// `ENABLE_PRIVATE_SEGMENT`: scratch is set up. Before gfx11, a system SGPR has the wavefront's
    /// scratch offset.
    pub fn private_segment(&self) -> bool {
        bit(self.rsrc2, 0)
    }

    /// Number of user SGPRs. System SGPRs follow them.
    pub fn user_sgpr_count(&self) -> u32 {
        bits(self.rsrc2, 1, 5)
    }

    /// Which work-group IDs (x, y, z) are in system SGPRs.
    pub fn workgroup_ids(&self) -> [bool; 3] {
        [bit(self.rsrc2, 7), bit(self.rsrc2, 8), bit(self.rsrc2, 9)]
    }

    /// `ENABLE_SGPR_WORKGROUP_INFO`: a system SGPR has the number of wavefronts in the work-group.
    pub fn workgroup_info(&self) -> bool {
        bit(self.rsrc2, 10)
    }

    /// Number of work-item IDs in VGPRs: 1 (x), 2 (x, y) or 3.
    pub fn workitem_ids(&self) -> u32 {
        (bits(self.rsrc2, 11, 12) + 1).min(3)
    }

    /// Enabled floating-point and integer exceptions, from bit 0: invalid, denormal input, division
    /// by zero, overflow, underflow, inexact, integer division by zero.
    pub fn exceptions(&self) -> u8 {
        bits(self.rsrc2, 24, 30) as u8
    }

    /// Index of the first accumulation VGPR (gfx90a, gfx942, gfx950).
    pub fn accumulator_offset(&self) -> u32 {
        (bits(self.rsrc3, 0, 5) + 1) * 4
    }

    /// VGPRs shared by both halves of a wave64 (gfx10, gfx11).
    pub fn shared_vgprs(&self) -> u32 {
        bits(self.rsrc3, 0, 3) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// clang 22's output for a gfx1010 kernel with x and y IDs, 12 VGPRs, scratch and LDS.
    fn sample() -> KernelDescriptor {
        let mut bytes = [0_u8; 64];
        bytes[0..4].copy_from_slice(&256_u32.to_le_bytes());
        bytes[4..8].copy_from_slice(&16_u32.to_le_bytes());
        bytes[8..12].copy_from_slice(&280_u32.to_le_bytes());
        bytes[16..24].copy_from_slice(&(-64_i64).to_le_bytes());
        bytes[48..52].copy_from_slice(&(1_u32 | 0xf0 << 12 | 1 << 21 | 1 << 23 | 1 << 29 | 1 << 30).to_le_bytes());
        bytes[52..56].copy_from_slice(&(1_u32 | 6 << 1 | 1 << 7 | 1 << 8 | 1 << 11).to_le_bytes());
        bytes[56..58].copy_from_slice(&(1_u16 | 1 << 3 | 1 << 10 | 1 << 11).to_le_bytes());
        bytes[58..60].copy_from_slice(&(5_u16 | 2 << 7).to_le_bytes());
        KernelDescriptor::parse(&bytes)
    }

    #[test]
    fn fields_are_decoded_at_their_offsets() {
        let descriptor = sample();
        assert_eq!((descriptor.group_segment_fixed_size, descriptor.private_segment_fixed_size), (256, 16));
        assert_eq!((descriptor.kernarg_size, descriptor.entry_offset), (280, -64));
        assert_eq!((descriptor.float_mode(), descriptor.denormals_f32(), descriptor.round_f32()), (0xf0, 3, 0));
        assert!(descriptor.dx10_clamp() && descriptor.ieee_mode() && descriptor.wgp_mode() && descriptor.mem_ordered());
        assert!(!descriptor.forward_progress() && !descriptor.fp16_overflow());
        assert!(descriptor.private_segment() && descriptor.uses_dynamic_stack() && !descriptor.workgroup_info());
        assert_eq!((descriptor.user_sgpr_count(), descriptor.workgroup_ids()), (6, [true, true, false]));
        assert_eq!((descriptor.workitem_ids(), descriptor.wave_size()), (2, 32));
        assert_eq!((descriptor.kernarg_preload_length(), descriptor.kernarg_preload_offset()), (5, 2));
    }

    #[test]
    fn user_sgprs_are_in_assignment_order() {
        let registers: Vec<_> = sample().user_sgprs().collect();
        assert_eq!(registers, [UserSgpr::PrivateSegmentBuffer, UserSgpr::KernargPointer]);
        assert_eq!(registers.iter().map(|one| one.registers()).sum::<u32>(), 6);
    }

    #[test]
    fn register_counts_depend_on_the_processor_and_the_wave() {
        let mut descriptor = sample();
        let processor = |name| Processor::from_name(name).expect(name);
        assert_eq!((descriptor.vgprs(processor("gfx1010")), descriptor.sgprs(processor("gfx1010"))), (16, 128));
        descriptor.properties = 0;
        descriptor.rsrc1 |= 4 << 6;
        assert_eq!((descriptor.vgprs(processor("gfx1010")), descriptor.sgprs(processor("gfx803"))), (8, 40));
        assert_eq!((descriptor.vgprs(processor("gfx90a")), descriptor.sgprs(processor("gfx90a"))), (16, 48));
    }
}
