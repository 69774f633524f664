//! Tables for reading the IQ types: their grids with a byte per value, and signs.

use super::grid_data;

/// Entries of eight values with a byte each.
const fn eight<const N: usize>(grid: &[u16; N], values: [u8; 3]) -> [u64; N] {
    let mut entries = [0; N];
    let mut at = 0;
    while at < N {
        let mut column = 0;
        while column < 8 {
            let index = (grid[at] >> (2 * column)) & 3;
            entries[at] |= (values[index as usize] as u64) << (8 * column);
            column += 1;
        }
        at += 1;
    }
    entries
}

/// Entries of four values with a byte each.
const fn four<const N: usize>(grid: &[u16; N], values: [u8; 8]) -> [u32; N] {
    let mut entries = [0; N];
    let mut at = 0;
    while at < N {
        let mut column = 0;
        while column < 4 {
            let index = (grid[at] >> (3 * column)) & 7;
            entries[at] |= (values[index as usize] as u32) << (8 * column);
            column += 1;
        }
        at += 1;
    }
    entries
}

/// For each eight sign bits, bytes of ones where the bit is set.
const fn masks() -> [u64; 256] {
    let mut masks = [0; 256];
    let mut bits = 0;
    while bits < 256 {
        let mut column = 0;
        while column < 8 {
            if bits >> column & 1 == 1 {
                masks[bits] |= 0xff << (8 * column);
            }
            column += 1;
        }
        bits += 1;
    }
    masks
}

/// Eight times -1, 0 and 1, with 128 added.
pub(super) static IQ1: [u64; 2048] = eight(&grid_data::IQ1, [0x78, 0x80, 0x88]);
/// Magnitudes of the 2-bit types.
const TWO_BITS: [u8; 3] = [8, 25, 43];
pub(super) static IQ2_XXS: [u64; 256] = eight(&grid_data::IQ2_XXS, TWO_BITS);
pub(super) static IQ2_XS: [u64; 512] = eight(&grid_data::IQ2_XS, TWO_BITS);
pub(super) static IQ2_S: [u64; 1024] = eight(&grid_data::IQ2_S, TWO_BITS);
pub(super) static IQ3_XXS: [u32; 256] = four(&grid_data::IQ3_XXS, [4, 12, 20, 28, 36, 44, 52, 62]);
pub(super) static IQ3_S: [u32; 512] = four(&grid_data::IQ3_S, [1, 3, 5, 7, 9, 11, 13, 15]);
pub(super) static MASKS: [u64; 256] = masks();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_distinct_and_have_values_of_their_type() {
        fn distinct<T: Ord + Copy>(entries: &[T]) {
            let mut sorted = entries.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), entries.len());
        }
        [&IQ2_XXS[..], &IQ2_XS, &IQ2_S, &IQ1].into_iter().for_each(distinct);
        [&IQ3_XXS[..], &IQ3_S].into_iter().for_each(distinct);
        let all = [&IQ2_XXS[..], &IQ2_XS, &IQ2_S].concat();
        assert!(all.iter().all(|entry| entry.to_le_bytes().iter().all(|byte| TWO_BITS.contains(byte))));
        assert_eq!(MASKS[0b1000_0001], 0xff00_0000_0000_00ff);
    }
}
