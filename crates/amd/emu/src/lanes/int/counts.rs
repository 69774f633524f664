//! `v_mbcnt`: counts the mask bits of lower lanes.
//!
//! In wave64 the halves differ, so each has its own function (`@64.0`, `@64.1`).

#![expect(unsafe_code, reason = "works on rows as the lane functions do")]

use crate::lanes::macros::lane;
use crate::lanes::{LaneOp, MapFn};
use crate::row::{CHUNK, CHUNKS, Lane, OperandKind, each};

/// The bits of lower lanes in the same half.
#[inline(always)]
fn lower(lane: usize) -> u32 {
    (1 << lane) - 1
}

/// All lanes of the mask are lower.
#[inline(always)]
fn all(_lane: usize) -> u32 {
    !0
}

/// No lane of the mask is lower.
#[inline(always)]
fn none(_lane: usize) -> u32 {
    0
}

/// Adds the population count of the bits that a function of the lane selects.
macro_rules! count {
    ($below:ident) => {
        lane!(@levels Map, MapFn, [], [u32, u32], OperandKind::B32,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>| -> () {
                for chunk in 0..CHUNKS {
                    lane!(@load [a, b], chunk, masks: u32, bases: u32);
                    let counts = each!(index => {
                        bases[index].wrapping_add((masks[index] & $below(chunk * CHUNK + index)).count_ones())
                    });
                    // SAFETY: the contract covers the row of the result.
                    unsafe { <u32 as Lane>::store(counts, out, chunk) };
                }
            })
    };
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    vec![
        ("v_mbcnt_lo_u32_b32", count!(lower)),
        ("v_mbcnt_lo_u32_b32@64.0", count!(lower)),
        ("v_mbcnt_lo_u32_b32@64.1", count!(all)),
        ("v_mbcnt_hi_u32_b32", count!(none)),
        ("v_mbcnt_hi_u32_b32@64.0", count!(none)),
        ("v_mbcnt_hi_u32_b32@64.1", count!(lower)),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::{Random, run};
    use crate::mode::Mode;
    use crate::row::LANES;

    #[test]
    fn lanes_below_are_counted() {
        let mut random = Random::new(61);
        for (name, op) in super::table() {
            let sources = [random.block(1), random.block(1), Vec::new()];
            let (result, _) = run(name, &op, op.function, &sources, Mode::DEFAULT, 0);
            for lane in 0..LANES {
                let low = name.contains("_lo_");
                let own = if name.ends_with("@64.1") { 1 } else { 0 };
                let below = (0..32).filter(|&bit| bit + if low { 0 } else { 32 } < 32 * own + lane);
                let count = below.filter(|&bit| sources[0][0][lane] >> bit & 1 == 1).count() as u32;
                assert_eq!(result[0][lane], sources[1][0][lane].wrapping_add(count), "{name} lane {lane}");
            }
        }
    }
}
