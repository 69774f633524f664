//! What vector ALU instructions compute: pure functions of 32 lanes.
//!
//! Lane functions do not handle the EXEC mask, modifiers, DPP or SDWA: the engine prepares their
//! sources and merges their results. Each is compiled twice, portably and for AVX2 with FMA and
//! F16C; [`Level`] selects one.
//!
//! Each group has a file with a table of names (as [`roci_isa::Op::name`]) and functions, written
//! with [`lane!`].

#![expect(unsafe_code, reason = "lane functions read and write rows through thin pointers")]

pub(crate) mod float;
mod int;
mod macros;
mod masks;
pub(crate) mod rounding;
mod soft;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::mode::Mode;
use crate::row::{OperandKind, Rows};

/// Target features that the lane functions are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Portable.
    Base,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
}

impl Level {
    /// The highest level that the host supports.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
            return Self::Avx2;
        }
        Self::Base
    }
}

/// Computes `out` from up to three sources in all 32 lanes. The result may alias a source.
///
/// # Safety
/// The operands have the rows of the [`LaneOp`]'s kinds, and the host supports the level of the
/// function.
pub(crate) type MapFn = unsafe fn(mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>);

/// Compares two sources in all 32 lanes; bit i of the result is lane i.
///
/// # Safety
/// As for [`MapFn`].
pub(crate) type CompareFn = unsafe fn(mode: Mode, a: Rows<'_>, b: Rows<'_>) -> u32;

/// Computes `out` from three sources and a mask (a carry or select condition), and returns a mask
/// (a carry or flag).
///
/// # Safety
/// As for [`MapFn`].
pub(crate) type MaskFn = unsafe fn(mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>, mask: u32) -> u32;

/// A function compiled for both levels.
#[derive(Clone, Copy)]
pub(crate) struct Levels<F> {
    /// Portable version.
    pub(crate) base: F,
    /// Version for [`Level::Avx2`].
    pub(crate) avx2: F,
}

impl<F: Copy> Levels<F> {
    /// The version for a level.
    pub(crate) fn at(self, level: Level) -> F {
        match level {
            Level::Base => self.base,
            Level::Avx2 => self.avx2,
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum LaneFunction {
    /// Computes a result.
    Map(Levels<MapFn>),
    /// Computes a mask.
    Compare(Levels<CompareFn>),
    /// Computes a result and a mask from sources and a mask.
    Mask(Levels<MaskFn>),
}

/// A lane-by-lane operation.
#[derive(Clone, Copy)]
pub(crate) struct LaneOp {
    /// The function for the default mode: f32 (for [`OperandKind::F16`] and [`OperandKind::F64`]:
    /// f16 and f64) rounds to nearest and preserves denormals.
    pub(crate) function: LaneFunction,
    /// The function for any other mode, if the mode matters.
    pub(crate) special_mode: Option<LaneFunction>,
    /// The saturating function of an integer instruction with `clamp`.
    pub(crate) saturating: Option<LaneFunction>,
    pub(crate) sources: [OperandKind; 3],
    pub(crate) result: OperandKind,
    /// The third source is the destination (`v_fmac_f32` and similar instructions) and is not
    /// listed in the text.
    pub(crate) accumulates: bool,
}

impl LaneOp {
    /// Sets the function for other modes.
    pub(crate) const fn with_modes(self, other: Self) -> Self {
        Self { special_mode: Some(other.function), ..self }
    }

    /// Sets the function for `clamp`.
    pub(crate) const fn saturating(self, other: Self) -> Self {
        Self { saturating: Some(other.function), ..self }
    }

    /// Makes the destination the third source.
    pub(crate) const fn accumulating(self) -> Self {
        Self { accumulates: true, ..self }
    }
}

/// Looks up a mnemonic; `None` if it is not a lane-by-lane computation.
pub(crate) fn find(name: &str) -> Option<LaneOp> {
    static ALL: LazyLock<HashMap<&'static str, LaneOp>> = LazyLock::new(|| tables().into_iter().flatten().collect());
    ALL.get(name).copied()
}

/// Tables of all groups.
fn tables() -> Vec<Vec<(&'static str, LaneOp)>> {
    let mut all = int::tables();
    all.push(float::table());
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = super::tables().into_iter().flatten().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
