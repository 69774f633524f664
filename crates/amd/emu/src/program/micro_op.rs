//! Micro-ops: decoded instructions with all static information resolved.

use crate::engine::atomics::AtomicOp;
use crate::lanes::{CompareFn, MapFn, MaskFn};
use crate::program::slow::SlowOp;
use crate::scalar::ScalarFn;

pub(crate) enum MicroOp {
    /// No effect, but it counts as an instruction.
    Nop,
    /// Ends the wave.
    End,
    /// Workgroup barrier.
    Barrier,
    /// Ends the time slice of the wave.
    Yield,
    /// Raises a fault.
    Fault(Box<crate::Fault>),
    /// `s_trap`.
    Trap(u8),
    /// Unconditional jump to a micro-op.
    Jump(u32),
    /// Conditional jump to a micro-op.
    Branch(BranchCondition, u32),
    Scalar(ScalarAluOp),
    /// Scalar instruction with side effects.
    Special(SpecialScalarOp),
    /// Scalar load.
    ScalarMemory(ScalarMemoryOp),
    /// Scalar store or atomic.
    ScalarWrite(ScalarWriteOp),
    /// Vector ALU.
    Map(MapOp),
    /// Vector comparison.
    Compare(CompareOp),
    /// Vector ALU with a mask operand or result.
    Mask(MaskOp),
    /// Vector ALU with modifiers.
    Slow(Box<SlowOp>),
    /// VOPD pair: the second half reads before the first writes.
    Dual(Box<[MicroOp; 2]>),
    /// Different functions for the two halves of a wave64.
    Halves(Box<[MicroOp; 2]>),
    /// Cross-lane data movement.
    CrossLane(CrossLaneOp),
    Global(MemoryOp),
    /// FLAT: global memory, LDS or private memory.
    Flat(MemoryOp),
    /// Private memory.
    Scratch(MemoryOp),
    /// Buffer memory (MUBUF).
    Buffer(BufferOp),
    Lds(LdsOp),
    /// Load from memory into LDS.
    Fill(Box<LdsFillOp>),
    /// Grid-wide barrier.
    GridSync(GridSyncOp),
}

/// Sets the count of a grid-wide barrier, or arrives at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridSyncOp {
    /// Whether it arrives.
    pub(crate) barrier: bool,
    /// Resource number, to which `m0` is added.
    pub(crate) resource: u8,
    /// Row with the number of waves, not counting the last.
    pub(crate) data: u16,
}

impl MicroOp {
    /// First VGPR row that a computation writes.
    pub(crate) fn result_row(&self) -> Option<u16> {
        match self {
            Self::Map(uop) => Some(uop.dst),
            Self::Mask(uop) => Some(uop.dst),
            Self::Slow(uop) => uop.writes_row().then_some(uop.dst),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchCondition {
    /// SCC is 0.
    Scc0,
    /// SCC is 1.
    Scc1,
    /// `vcc` is zero.
    Vccz,
    /// `vcc` is not zero.
    Vccnz,
    /// EXEC is zero.
    Execz,
    /// EXEC is not zero.
    Execnz,
    /// Never taken (debug branches).
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarSource {
    /// A register, or the first of a pair.
    Register(u8),
    /// A constant, sign-extended to 64 bits.
    Constant(i32),
    /// A constant, zero-extended to 64 bits.
    Low(u32),
    /// The upper half of a 64-bit constant whose lower half is zero.
    High(u32),
    /// A special source, by its encoding.
    Special(u8),
}

/// A scalar computation.
#[derive(Clone, Copy)]
pub(crate) struct ScalarAluOp {
    pub(crate) function: ScalarFn,
    pub(crate) sources: [ScalarSource; 2],
    /// Bit i: source i is a pair.
    pub(crate) wide: u8,
    pub(crate) dst: u8,
    /// Number of registers written: 0, 1 or 2.
    pub(crate) results: u8,
}

/// A scalar instruction with side effects.
#[derive(Clone, Copy)]
pub(crate) struct SpecialScalarOp {
    pub(crate) kind: crate::scalar::SpecialKind,
    pub(crate) dst: u8,
    pub(crate) source: ScalarSource,
    pub(crate) others: [ScalarSource; 2],
    pub(crate) simm: u16,
}

/// A scalar load.
#[derive(Clone, Copy)]
pub(crate) struct ScalarMemoryOp {
    pub(crate) dst: u8,
    pub(crate) base: u8,
    pub(crate) dwords: u8,
    /// Whether the base is a buffer descriptor.
    pub(crate) buffer: bool,
    pub(crate) offset: i32,
    pub(crate) soffset: ScalarSource,
}

/// A scalar store or atomic.
#[derive(Clone, Copy)]
pub(crate) struct ScalarWriteOp {
    /// Whole registers, or an atomic operation.
    pub(crate) access: AccessKind,
    /// Memory operands; `dst` is the first register of the data.
    pub(crate) operands: ScalarMemoryOp,
}

/// Where rows are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RowSpace {
    /// VGPRs of the wave.
    Registers = 0,
    /// Constants of the program.
    Constants = 1,
    /// Temporary rows of the worker, filled with broadcast scalars.
    Splats = 2,
}

/// Vector sources of a micro-op.
#[derive(Clone, Copy)]
pub(crate) struct VectorSources {
    pub(crate) spaces: [RowSpace; 3],
    /// Bit i: source i is a scalar to broadcast; bit 7: as a pair.
    pub(crate) splats: u8,
    /// The scalar sources (SGPRs, or special ones by encoding).
    pub(crate) scalars: [u8; 3],
    /// First row of each source.
    pub(crate) rows: [u16; 3],
}

/// A vector computation.
#[derive(Clone, Copy)]
pub(crate) struct MapOp {
    pub(crate) function: MapFn,
    pub(crate) special_mode: MapFn,
    pub(crate) sources: VectorSources,
    pub(crate) dst: u16,
    /// Rows of the result.
    pub(crate) results: u8,
    /// Bits of [`special_modes`](crate::wave::Wave::special_modes) that require `special_mode`.
    pub(crate) modes: u8,
}

/// A vector comparison.
#[derive(Clone, Copy)]
pub(crate) struct CompareOp {
    pub(crate) function: CompareFn,
    pub(crate) special_mode: CompareFn,
    pub(crate) sources: VectorSources,
    pub(crate) dst: u8,
    pub(crate) modes: u8,
}

/// A vector computation with a mask operand or result.
#[derive(Clone, Copy)]
pub(crate) struct MaskOp {
    pub(crate) function: MaskFn,
    pub(crate) special_mode: MaskFn,
    pub(crate) sources: VectorSources,
    pub(crate) dst: u16,
    pub(crate) results: u8,
    pub(crate) modes: u8,
    /// Mask read: an SGPR, or [`NO_MASK`].
    pub(crate) mask: u8,
    /// Mask written: an SGPR, or the sink.
    pub(crate) dst_mask: u8,
}

/// No mask operand; it counts as zero.
pub(crate) const NO_MASK: u8 = 255;

/// A cross-lane instruction.
#[derive(Clone, Copy)]
pub(crate) struct CrossLaneOp {
    pub(crate) kind: CrossLaneKind,
    pub(crate) sources: VectorSources,
    pub(crate) dst: u16,
    /// Scalar sources: lane selectors.
    pub(crate) select: [ScalarSource; 2],
    /// `op_sel` of permlanes: fetch inactive (bit 0) and bound control (bit 1).
    pub(crate) options: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrossLaneKind {
    ReadFirst,
    Read,
    Write,
    Permute16,
    PermuteX16,
    Permute64,
    Swap,
    MovRelSource,
    MovRelDestination,
    MovRelBoth,
    /// Source and destination have separate indices.
    MovRelTwo,
    SwapRel,
}

impl CrossLaneKind {
    /// Offsets that `m0` adds to the registers read and written.
    pub(crate) fn offsets(self, m0: u32) -> [usize; 2] {
        let all = m0 as usize;
        match self {
            Self::MovRelSource => [all, 0],
            Self::MovRelDestination => [0, all],
            Self::MovRelBoth => [all, all],
            Self::MovRelTwo | Self::SwapRel => [all & 0x3ff, all >> 16 & 0x3ff],
            _ => [0, 0],
        }
    }
}

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessKind {
    /// Whole registers.
    Load(u8),
    /// One or two bytes.
    LoadSmall { bytes: u8, signed: bool, half: RegisterHalf },
    /// Whole registers.
    Store(u8),
    /// One or two bytes from the lower or upper half.
    StoreSmall { bytes: u8, high: bool },
    /// An atomic operation.
    Atomic { op: AtomicOp, wide: bool, returns: bool },
}

impl AccessKind {
    /// Bytes per lane.
    pub(crate) fn size(self) -> u64 {
        match self {
            Self::Load(dwords) | Self::Store(dwords) => 4 * u64::from(dwords),
            Self::LoadSmall { bytes, .. } | Self::StoreSmall { bytes, .. } => u64::from(bytes),
            Self::Atomic { wide, .. } => 4 << u32::from(wide),
        }
    }
}

/// Destination of a small load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RegisterHalf {
    /// The whole register.
    Both,
    /// The lower half; the upper half is preserved.
    Low,
    /// The upper half; the lower half is preserved.
    High,
}

/// No VGPR.
pub(crate) const NO_ROW: u16 = u16::MAX;
/// In place of an address register: four times the lane index.
pub(crate) const LANE_ROW: u16 = NO_ROW - 1;
/// No SGPR.
pub(crate) const NO_SCALAR: u8 = 255;

/// A FLAT, GLOBAL or SCRATCH instruction.
#[derive(Clone, Copy)]
pub(crate) struct MemoryOp {
    pub(crate) access: AccessKind,
    /// First row of the address, or [`NO_ROW`].
    pub(crate) addr: u16,
    pub(crate) data: u16,
    pub(crate) dst: u16,
    /// SGPR of the scalar base, or [`NO_SCALAR`].
    pub(crate) saddr: u8,
    pub(crate) offset: i32,
}

/// A MUBUF instruction.
#[derive(Clone, Copy)]
pub(crate) struct BufferOp {
    pub(crate) access: AccessKind,
    pub(crate) vaddr: u16,
    pub(crate) data: u16,
    pub(crate) resource: u8,
    pub(crate) offen: bool,
    pub(crate) idxen: bool,
    pub(crate) soffset: ScalarSource,
    pub(crate) offset: u16,
}

/// A load from memory into LDS.
#[derive(Clone, Copy)]
pub(crate) struct LdsFillOp {
    pub(crate) source: LdsFillSource,
    /// Instruction offset, added to both addresses.
    pub(crate) offset: i32,
}

#[derive(Clone, Copy)]
pub(crate) enum LdsFillSource {
    Global(MemoryOp),
    Buffer(BufferOp),
}

/// A DS instruction.
#[derive(Clone, Copy)]
pub(crate) struct LdsOp {
    pub(crate) kind: LdsOpKind,
    pub(crate) addr: u16,
    pub(crate) data: [u16; 2],
    pub(crate) dst: u16,
    /// In bytes; the second one only for two-address operations.
    pub(crate) offsets: [u32; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LdsOpKind {
    /// Access to one address.
    One(AccessKind),
    /// Loads one (or two) registers from each of two addresses.
    Load2 { wide: bool },
    /// Stores one (or two) registers to each of two addresses.
    Store2 { wide: bool },
    /// Exchanges at two addresses.
    Exchange2 { wide: bool },
    /// Load from an address derived from the lane index (`addtid`).
    LoadThread,
    /// Store to an address derived from the lane index (`addtid`).
    StoreThread,
    /// `ds_swizzle_b32`.
    Swizzle(u16),
    /// `ds_permute_b32`: pushes to a lane.
    Permute,
    /// `ds_bpermute_b32`: pulls from a lane.
    BackPermute,
    /// `ds_append` and `ds_consume`: adds or subtracts the number of active lanes.
    Count { add: bool },
}
