//! What vector ALU instructions compute: pure functions of 32 lanes.
//!
//! A lane function knows nothing of the execution mask, of modifiers, DPP or SDWA: the engine prepares its sources and
//! merges its result. Each is compiled twice, for any x86-64 and for AVX2 with FMA and F16C; [`Level`] picks.
//!
//! A file per group holds a table of names (as of [`roci_isa::Op::name`]) and functions, written with [`lane!`].

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
use crate::row::{Kind, Rows};

/// Which compilation of the lane functions this machine can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// Any machine.
    Base,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
}

impl Level {
    /// The best that this machine has.
    pub(crate) fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c") {
            return Self::Avx2;
        }
        Self::Base
    }
}

/// Computes `out` from up to three sources in all 32 lanes. A result may be stored where a source lies.
///
/// # Safety
/// The operands have the rows of the [`LaneOp`]'s kinds; the machine has the features of the level it was taken for.
pub(crate) type MapFn = unsafe fn(mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>);

/// Compares two sources in all 32 lanes: bit i of the result is lane i.
///
/// # Safety
/// As for [`MapFn`].
pub(crate) type CompareFn = unsafe fn(mode: Mode, a: Rows<'_>, b: Rows<'_>) -> u32;

/// Computes `out` from three sources and a mask (a carry, a choice); returns a mask (a carry, a flag).
///
/// # Safety
/// As for [`MapFn`].
pub(crate) type MaskFn = unsafe fn(mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>, mask: u32) -> u32;

/// A function at both levels.
#[derive(Clone, Copy)]
pub(crate) struct Levels<F> {
    /// For any machine.
    pub(crate) base: F,
    /// For [`Level::Avx2`].
    pub(crate) avx2: F,
}

impl<F: Copy> Levels<F> {
    /// The function for a machine.
    pub(crate) fn at(self, level: Level) -> F {
        match level {
            Level::Base => self.base,
            Level::Avx2 => self.avx2,
        }
    }
}

/// The shape of a lane function.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    /// A result of the sources alone.
    Map(Levels<MapFn>),
    /// A comparison.
    Compare(Levels<CompareFn>),
    /// A result and a mask, of the sources and a mask.
    Mask(Levels<MaskFn>),
}

/// What an instruction computes.
#[derive(Clone, Copy)]
pub(crate) struct LaneOp {
    /// The function while f32 (for [`Kind::F16`] and [`Kind::F64`] work: f16 and f64) rounds to nearest and keeps denormals.
    pub(crate) function: Function,
    /// The function under any other mode, where the mode matters.
    pub(crate) moded: Option<Function>,
    /// The function of an integer instruction with the `clamp` modifier: it saturates.
    pub(crate) saturating: Option<Function>,
    /// What the sources are.
    pub(crate) sources: [Kind; 3],
    /// What the result is.
    pub(crate) result: Kind,
    /// The third source is the destination (`v_fmac_f32` and its kin), which the text does not list.
    pub(crate) accumulates: bool,
}

impl LaneOp {
    /// The same under other modes.
    pub(crate) const fn moded(self, other: Self) -> Self {
        Self { moded: Some(other.function), ..self }
    }

    /// The same with `clamp`.
    pub(crate) const fn saturating(self, other: Self) -> Self {
        Self { saturating: Some(other.function), ..self }
    }

    /// The third source is the destination.
    pub(crate) const fn accumulating(self) -> Self {
        Self { accumulates: true, ..self }
    }
}

/// What the instruction of this name computes; `None` if it is no lane-by-lane computation.
pub(crate) fn find(name: &str) -> Option<LaneOp> {
    static ALL: LazyLock<HashMap<&'static str, LaneOp>> = LazyLock::new(|| tables().into_iter().flatten().collect());
    ALL.get(name).copied()
}

/// The tables of all groups.
fn tables() -> Vec<Vec<(&'static str, LaneOp)>> {
    let mut all = int::tables();
    all.push(float::table());
    all
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_name_is_given_twice() {
        let mut names: Vec<_> = super::tables().into_iter().flatten().map(|(name, _)| name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
