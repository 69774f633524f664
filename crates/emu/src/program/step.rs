//! A program as the engine runs it: instructions with everything resolved that does not change.

use crate::engine::atomics::AtomicOp;
use crate::lanes::{CompareFn, MapFn, MaskFn};
use crate::program::slow::SlowStep;
use crate::scalar::ScalarFn;

/// What the engine does next.
pub(crate) enum Step {
    /// Nothing, but it counts.
    Nop,
    /// The wave ends.
    End,
    /// The wave waits for its group.
    Barrier,
    /// The wave goes on after others had their turn.
    Yield,
    /// The wave faults.
    Fault(Box<crate::Fault>),
    /// The kernel stops itself.
    Trap(u8),
    /// Goes on elsewhere.
    Jump(u32),
    /// Goes on elsewhere if a condition holds.
    Branch(Condition, u32),
    /// A computation on scalars.
    Scalar(ScalarStep),
    /// A scalar instruction that touches more than its operands.
    Special(SpecialStep),
    /// Loads scalars.
    ScalarMemory(ScalarMemoryStep),
    /// Stores scalars, or combines memory with them.
    ScalarWrite(ScalarWriteStep),
    /// A computation on vectors.
    Map(MapStep),
    /// A comparison of vectors.
    Compare(CompareStep),
    /// A computation with a mask.
    Mask(MaskStep),
    /// A computation on vectors with modifiers.
    Slow(Box<SlowStep>),
    /// Two computations, of which the second reads before the first writes.
    Dual(Box<[Step; 2]>),
    /// A computation that differs between the halves of a wave of 64 lanes.
    Halves(Box<[Step; 2]>),
    /// An instruction that moves data between lanes.
    CrossLane(CrossLaneStep),
    /// Global memory.
    Global(MemoryStep),
    /// Global, shared or private memory.
    Flat(MemoryStep),
    /// Private memory.
    Scratch(MemoryStep),
    /// Memory through a buffer descriptor.
    Buffer(BufferStep),
    /// Shared memory.
    Lds(LdsStep),
    /// Shared memory, from global memory.
    Fill(Box<FillStep>),
    /// A barrier of the whole grid.
    GridSync(GridSyncStep),
}

/// Sets or takes part in a barrier of the whole grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GridSyncStep {
    /// Whether it takes part.
    pub(crate) barrier: bool,
    /// Which one, to which a register is added.
    pub(crate) resource: u8,
    /// The row with how many waves take part besides the last.
    pub(crate) data: u16,
}

impl Step {
    /// The first row of vector registers that a computation writes.
    pub(crate) fn result_row(&self) -> Option<u16> {
        match self {
            Self::Map(step) => Some(step.dst),
            Self::Mask(step) => Some(step.dst),
            Self::Slow(step) => step.writes_row().then_some(step.dst),
            _ => None,
        }
    }
}

/// When a branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// SCC is clear.
    Scc0,
    /// SCC is set.
    Scc1,
    /// `vcc` is zero.
    Vccz,
    /// `vcc` is not zero.
    Vccnz,
    /// No lane is on.
    Execz,
    /// Some lane is on.
    Execnz,
    /// Never: debugging branches.
    Never,
}

/// A scalar source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScalarSource {
    /// A register or the first of a pair.
    Register(u8),
    /// A value, extended to 64 bits with its sign.
    Constant(i32),
    /// A value, extended to 64 bits with zeros.
    Low(u32),
    /// A value whose lower half is zero.
    High(u32),
    /// A special register by its encoding.
    Special(u8),
}

/// A computation on scalars.
#[derive(Clone, Copy)]
pub(crate) struct ScalarStep {
    pub(crate) function: ScalarFn,
    pub(crate) sources: [ScalarSource; 2],
    /// Bit i: source i is a pair.
    pub(crate) wide: u8,
    pub(crate) dst: u8,
    /// Registers written: 0, 1 or 2.
    pub(crate) results: u8,
}

/// A scalar instruction that touches more than its operands.
#[derive(Clone, Copy)]
pub(crate) struct SpecialStep {
    pub(crate) kind: crate::scalar::Special,
    pub(crate) dst: u8,
    pub(crate) source: ScalarSource,
    pub(crate) others: [ScalarSource; 2],
    pub(crate) simm: u16,
}

/// Loads scalars.
#[derive(Clone, Copy)]
pub(crate) struct ScalarMemoryStep {
    pub(crate) dst: u8,
    pub(crate) base: u8,
    pub(crate) dwords: u8,
    /// The base is a buffer descriptor.
    pub(crate) buffer: bool,
    pub(crate) offset: i32,
    pub(crate) soffset: ScalarSource,
}

/// Stores scalars, or combines memory with them.
#[derive(Clone, Copy)]
pub(crate) struct ScalarWriteStep {
    /// Whole registers, or an atomic operation.
    pub(crate) access: Access,
    /// Where, and what: `dst` is the first register of the data.
    pub(crate) place: ScalarMemoryStep,
}

/// Where rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Space {
    /// The wave's registers.
    Registers = 0,
    /// The program's constants.
    Constants = 1,
    /// The worker's scratch rows, filled from scalars.
    Splats = 2,
}

/// The vector sources of a step.
#[derive(Clone, Copy)]
pub(crate) struct Sources {
    pub(crate) spaces: [Space; 3],
    /// Whether a scalar must be spread first, by source; bit 7: a pair.
    pub(crate) splats: u8,
    /// The scalars (registers, or special ones by encoding).
    pub(crate) scalars: [u8; 3],
    /// The first row of each.
    pub(crate) rows: [u16; 3],
}

/// A computation on vectors.
#[derive(Clone, Copy)]
pub(crate) struct MapStep {
    pub(crate) function: MapFn,
    pub(crate) moded: MapFn,
    pub(crate) sources: Sources,
    pub(crate) dst: u16,
    /// Rows of the result.
    pub(crate) results: u8,
    /// Which [`special_modes`](crate::wave::Wave::special_modes) call for `moded`.
    pub(crate) modes: u8,
}

/// A comparison of vectors.
#[derive(Clone, Copy)]
pub(crate) struct CompareStep {
    pub(crate) function: CompareFn,
    pub(crate) moded: CompareFn,
    pub(crate) sources: Sources,
    pub(crate) dst: u8,
    pub(crate) modes: u8,
}

/// A computation with a mask.
#[derive(Clone, Copy)]
pub(crate) struct MaskStep {
    pub(crate) function: MaskFn,
    pub(crate) moded: MaskFn,
    pub(crate) sources: Sources,
    pub(crate) dst: u16,
    pub(crate) results: u8,
    pub(crate) modes: u8,
    /// The mask read: a scalar register, or [`NO_MASK`].
    pub(crate) mask: u8,
    /// Where the mask goes: a scalar register, or the sink.
    pub(crate) dst_mask: u8,
}

/// There is no mask to read: it counts as zero.
pub(crate) const NO_MASK: u8 = 255;

/// An instruction that moves data between lanes.
#[derive(Clone, Copy)]
pub(crate) struct CrossLaneStep {
    pub(crate) kind: CrossLane,
    pub(crate) sources: Sources,
    pub(crate) dst: u16,
    /// Scalar sources: the lane selectors.
    pub(crate) select: [ScalarSource; 2],
    /// `op_sel`: fetch inactive (bit 0) and bound control (bit 1) of permlanes.
    pub(crate) options: u8,
}

/// What a [`CrossLaneStep`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrossLane {
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
    /// Source and destination have indices of their own.
    MovRelTwo,
    SwapRel,
}

impl CrossLane {
    /// How far `m0` moves the registers that are read and written.
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

/// How memory is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Whole registers.
    Load(u8),
    /// One or two bytes.
    LoadSmall { bytes: u8, signed: bool, half: Half },
    /// Whole registers.
    Store(u8),
    /// One or two bytes of the lower or upper half.
    StoreSmall { bytes: u8, high: bool },
    /// An atomic operation.
    Atomic { op: AtomicOp, wide: bool, returns: bool },
}

impl Access {
    /// Bytes accessed by a lane.
    pub(crate) fn size(self) -> u64 {
        match self {
            Self::Load(dwords) | Self::Store(dwords) => 4 * u64::from(dwords),
            Self::LoadSmall { bytes, .. } | Self::StoreSmall { bytes, .. } => u64::from(bytes),
            Self::Atomic { wide, .. } => 4 << u32::from(wide),
        }
    }
}

/// Where a small value goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// It fills the register.
    Both,
    /// It fills the lower half; the upper one stays.
    Low,
    /// It fills the upper half; the lower one stays.
    High,
}

/// No register.
pub(crate) const NO_ROW: u16 = u16::MAX;
/// In place of a register for the address: four times the lane's number.
pub(crate) const LANE_ROW: u16 = NO_ROW - 1;
/// No scalar register.
pub(crate) const NO_SCALAR: u8 = 255;

/// A FLAT, GLOBAL or SCRATCH instruction.
#[derive(Clone, Copy)]
pub(crate) struct MemoryStep {
    pub(crate) access: Access,
    /// The first row of the address, or [`NO_ROW`].
    pub(crate) addr: u16,
    pub(crate) data: u16,
    pub(crate) dst: u16,
    /// The scalar base, or [`NO_SCALAR`].
    pub(crate) saddr: u8,
    pub(crate) offset: i32,
}

/// A MUBUF instruction.
#[derive(Clone, Copy)]
pub(crate) struct BufferStep {
    pub(crate) access: Access,
    pub(crate) vaddr: u16,
    pub(crate) data: u16,
    pub(crate) resource: u8,
    pub(crate) offen: bool,
    pub(crate) idxen: bool,
    pub(crate) soffset: ScalarSource,
    pub(crate) offset: u16,
}

/// A load that fills LDS.
#[derive(Clone, Copy)]
pub(crate) struct FillStep {
    pub(crate) source: FillSource,
    /// The instruction's offset, which moves both addresses.
    pub(crate) offset: i32,
}

/// Where a [`FillStep`] loads from.
#[derive(Clone, Copy)]
pub(crate) enum FillSource {
    Global(MemoryStep),
    Buffer(BufferStep),
}

/// A DS instruction.
#[derive(Clone, Copy)]
pub(crate) struct LdsStep {
    pub(crate) kind: Lds,
    pub(crate) addr: u16,
    pub(crate) data: [u16; 2],
    pub(crate) dst: u16,
    /// In bytes: one offset, or two.
    pub(crate) offsets: [u32; 2],
}

/// What a [`LdsStep`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lds {
    /// One address.
    One(Access),
    /// Loads of one (or two) registers from two addresses.
    Load2 { wide: bool },
    /// Stores of one (or two) registers to two addresses.
    Store2 { wide: bool },
    /// Exchanges at two addresses.
    Exchange2 { wide: bool },
    /// The lane's own address.
    LoadThread,
    /// The lane's own address.
    StoreThread,
    /// `ds_swizzle_b32`.
    Swizzle(u16),
    /// `ds_permute_b32`: to a lane.
    Permute,
    /// `ds_bpermute_b32`: from a lane.
    BackPermute,
    /// `ds_append` and `ds_consume`: counts active lanes at an address.
    Count { add: bool },
}
