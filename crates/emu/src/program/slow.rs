//! Vector computations with modifiers: what is done to sources before and to results after.

use roci_isa::{LaneControl, SdwaPart};

use crate::lanes::{CompareFn, MapFn, MaskFn};
use crate::program::step::Sources;
use crate::row::Kind;

/// The function at the heart of the step.
#[derive(Clone, Copy)]
pub(crate) enum SlowFunction {
    /// A result.
    Map(MapFn),
    /// A comparison.
    Compare(CompareFn),
    /// A result and a mask.
    Mask(MaskFn),
}

/// A vector computation with modifiers.
pub(crate) struct SlowStep {
    pub(crate) function: SlowFunction,
    pub(crate) moded: SlowFunction,
    pub(crate) modes: u8,
    pub(crate) sources: Sources,
    pub(crate) preparations: [Preparation; 3],
    /// Where the lanes of source 0 come from.
    pub(crate) lanes: LaneControl,
    /// The first row written, or the scalar register of a comparison.
    pub(crate) dst: u16,
    pub(crate) result: Kind,
    pub(crate) placement: Placement,
    pub(crate) omod: u8,
    pub(crate) clamp: bool,
    /// The mask read, or [`NO_MASK`](super::step::NO_MASK).
    pub(crate) mask: u8,
    /// Where a mask goes.
    pub(crate) dst_mask: u8,
}

/// What is done to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preparation {
    pub(crate) kind: Kind,
    pub(crate) part: Part,
    /// Bit 0: negated (of a packed source the low half); bit 1: the high half of a packed source is negated.
    pub(crate) negate: u8,
    pub(crate) absolute: bool,
}

impl Preparation {
    /// Whether the source can be used as it is.
    pub(crate) fn is_nothing(&self) -> bool {
        self.part == Part::Whole && self.negate == 0 && !self.absolute
    }
}

/// Which part of a source is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it; of a 16-bit source the lower half.
    Whole,
    /// The upper half.
    High,
    /// A part, extended.
    Sdwa(SdwaPart, bool),
    /// Which halves become the low and the high one of a packed source.
    Packed { low: bool, high: bool },
    /// An f16 half, converted to f32.
    MixedHalf { high: bool },
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Whole registers.
    Whole,
    /// The lower half; the upper one stays.
    Low,
    /// The upper half; the lower one stays.
    High,
    /// A part; the rest becomes zero (0), the sign (1) or stays (2).
    Sdwa(SdwaPart, u8),
}
