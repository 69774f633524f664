//! Loads of lanes at addresses of their own, by chunks: neighbours mostly read one place, or places one after the other.

use crate::row::{CHUNK, CHUNKS, LANES, Row};

/// Loads `dwords` words of every lane at `base` plus its offset into consecutive rows.
///
/// # Safety
/// `base` plus each offset is the address of so many readable words (which need not be aligned), and there are as many rows.
#[inline(always)]
pub(super) unsafe fn gather(base: *const u8, offsets: &[u64; LANES], dwords: usize, rows: &[Row]) {
    for chunk in 0..CHUNKS {
        let at: [u64; CHUNK] = crate::row::each!(lane => offsets[chunk * CHUNK + lane]);
        let stride = 4 * dwords as u64;
        let (mut spread, mut gaps) = (0, 0);
        for (lane, offset) in at.into_iter().enumerate() {
            let distance = offset.wrapping_sub(at[0]);
            spread |= distance;
            gaps |= distance ^ stride * lane as u64;
        }
        let first = base.wrapping_add(at[0] as usize);
        if spread == 0 {
            for (dword, row) in rows.iter().enumerate().take(dwords) {
                // SAFETY: the caller's promise: the word of the chunk's first lane.
                let value = unsafe { first.wrapping_add(4 * dword).cast::<u32>().read_unaligned() };
                row.set_chunk(chunk, [value; CHUNK]);
            }
        } else if gaps == 0 && dwords == 1 {
            // SAFETY: the caller's promise: the words of all lanes of the chunk, one after the other.
            rows[0].set_chunk(chunk, unsafe { first.cast::<[u32; CHUNK]>().read_unaligned() });
        } else if gaps == 0 && dwords == 4 {
            // SAFETY: the caller's promise: four words of all lanes of the chunk, one after the other.
            let words = unsafe { first.cast::<[[u32; 4]; CHUNK]>().read_unaligned() };
            for (dword, row) in rows.iter().enumerate().take(4) {
                row.set_chunk(chunk, crate::row::each!(lane => words[lane][dword]));
            }
        } else {
            for (dword, row) in rows.iter().enumerate().take(dwords) {
                for (lane, offset) in at.into_iter().enumerate() {
                    let address = base.wrapping_add(offset as usize + 4 * dword);
                    // SAFETY: the caller's promise: a word of this lane.
                    row.set(chunk * CHUNK + lane, unsafe { address.cast::<u32>().read_unaligned() });
                }
            }
        }
    }
}
