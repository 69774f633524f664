//! Vector computations with modifiers: source preparation and result placement.

use roci_isa::{LaneControl, SdwaPart};

use crate::lanes::{CompareFn, MapFn, MaskFn};
use crate::program::micro_op::VectorSources;
use crate::row::OperandKind;

/// The lane function.
#[derive(Clone, Copy)]
pub(crate) enum SlowFunction {
    /// Computes a result.
    Map(MapFn),
    /// Computes a mask.
    Compare(CompareFn),
    /// Computes a result and a mask.
    Mask(MaskFn),
}

/// A vector computation with modifiers.
pub(crate) struct SlowOp {
    pub(crate) function: SlowFunction,
    pub(crate) special_mode: SlowFunction,
    pub(crate) modes: u8,
    pub(crate) sources: VectorSources,
    pub(crate) preparations: [SourcePreparation; 3],
    /// DPP or SDWA control.
    pub(crate) lanes: LaneControl,
    /// First destination row, or the SGPR of a comparison.
    pub(crate) dst: u16,
    pub(crate) result: OperandKind,
    pub(crate) placement: ResultPlacement,
    pub(crate) omod: u8,
    pub(crate) clamp: bool,
    /// Mask register read, or [`NO_MASK`](super::micro_op::NO_MASK).
    pub(crate) mask: u8,
    /// Mask register written.
    pub(crate) dst_mask: u8,
}

impl SlowOp {
    /// Whether it writes VGPRs; comparisons do not.
    pub(crate) fn writes_row(&self) -> bool {
        !matches!(self.function, SlowFunction::Compare(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourcePreparation {
    pub(crate) kind: OperandKind,
    pub(crate) part: SourcePart,
    /// Sign bits to clear for the absolute value. Applied to the last of several rows; for
    /// matrices, to all.
    pub(crate) clear: u32,
    /// Sign bits to flip afterwards for negation.
    pub(crate) flip: u32,
}

impl SourcePreparation {
    /// No preparation.
    pub(crate) fn none(kind: OperandKind) -> Self {
        Self { kind, part: SourcePart::Whole, clear: 0, flip: 0 }
    }

    /// Whether the source is used unchanged.
    pub(crate) fn is_nothing(&self) -> bool {
        self.part == SourcePart::Whole && self.clear == 0 && self.flip == 0
    }

    /// Adds negation and absolute value.
    pub(crate) fn signs(&mut self, bits: u32, negated: bool, absolute: bool) {
        self.flip = if negated { bits } else { 0 };
        self.clear = if absolute { bits } else { 0 };
    }
}

/// The part of a source that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SourcePart {
    /// All of it; for a 16-bit source, the lower half.
    Whole,
    /// The upper half.
    High,
    /// A byte, word or dword, optionally sign-extended.
    Sdwa(SdwaPart, bool),
    /// Halves that become the low and high half of a packed source.
    Packed { low: bool, high: bool },
    /// An f16 half, converted to f32.
    MixedHalf { high: bool },
}

/// Where a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultPlacement {
    /// All bits.
    Whole,
    /// The lower half; the upper half is preserved.
    Low,
    /// The upper half; the lower half is preserved.
    High,
    /// A byte, word or dword. The rest becomes zero (0), the sign (1) or is preserved (2).
    Sdwa(SdwaPart, u8),
}
