//! Integers and bits.
//!
//! `clamp` saturates sums, differences and products. All other instructions ignore it and have no
//! saturating function.

mod bits;
mod bytes;
mod carries;
mod compares;
mod counts;
mod dots;
mod int16;
mod int32;
mod pairs;
mod permute;
mod wmma;

use super::LaneOp;

/// All integer tables.
pub(super) fn tables() -> Vec<Vec<(&'static str, LaneOp)>> {
    vec![
        bits::table(),
        bytes::table(),
        carries::table(),
        compares::table(),
        counts::table(),
        dots::table(),
        int16::table(),
        int32::table(),
        permute::table(),
        wmma::table(),
    ]
}

#[cfg(test)]
mod tests {
    use crate::lanes::testing::levels_agree;
    use crate::mode::Mode;

    #[test]
    fn levels_agree_on_all() {
        for (name, op) in super::tables().into_iter().flatten() {
            levels_agree(name, &op, &[Mode::DEFAULT]);
        }
    }
}
