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

impl SlowStep {
    /// Whether it writes vector registers: comparisons do not.
    pub(crate) fn writes_row(&self) -> bool {
        !matches!(self.function, SlowFunction::Compare(_))
    }
}

/// What is done to a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Preparation {
    pub(crate) kind: Kind,
    pub(crate) part: Part,
    /// Sign bits that are cleared: the absolute value is taken. Of several rows this is done to the last, of matrices to all.
    pub(crate) clear: u32,
    /// Sign bits that are flipped afterwards: the source is negated.
    pub(crate) flip: u32,
}

impl Preparation {
    /// A source that is used as it is.
    pub(crate) fn none(kind: Kind) -> Self {
        Self { kind, part: Part::Whole, clear: 0, flip: 0 }
    }

    /// Whether the source can be used as it is.
    pub(crate) fn is_nothing(&self) -> bool {
        self.part == Part::Whole && self.clear == 0 && self.flip == 0
    }

    /// Negates a source, or takes its absolute value.
    pub(crate) fn signs(&mut self, bits: u32, negated: bool, absolute: bool) {
        self.flip = if negated { bits } else { 0 };
        self.clear = if absolute { bits } else { 0 };
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
