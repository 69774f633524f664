//! Loads of lanes at addresses of their own, by chunks: neighbours mostly read one place, or places one after the other.

use crate::memory::pointer;
use crate::row::{CHUNK, CHUNKS, LANES, Row, each};

/// Where a lane's data are: a distance from a base, or an address.
pub(super) trait Offset: Copy {
    /// As a pointer.
    fn from(self, base: *const u8) -> *const u8;
    /// The bits in which two distances differ from being `bytes` apart.
    fn differs(self, first: Self, bytes: usize) -> Self;
    /// Whether so far from the base is not too far.
    fn within(self, limit: u64) -> bool;
    /// No bits.
    const NONE: Self;
    /// The bits of both.
    fn or(self, other: Self) -> Self;
    /// Whether there are no bits.
    fn is_none(self) -> bool;
}

macro_rules! offset {
    ($type:ty, |$value:ident, $base:ident| $pointer:expr) => {
        impl Offset for $type {
            #[inline(always)]
            fn from(self, $base: *const u8) -> *const u8 {
                let $value = self;
                $pointer
            }
            #[inline(always)]
            fn differs(self, first: Self, bytes: usize) -> Self {
                self.wrapping_sub(first) ^ bytes as Self
            }
            #[inline(always)]
            fn within(self, limit: u64) -> bool {
                self as u64 <= limit
            }
            const NONE: Self = 0;
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn is_none(self) -> bool {
                self == 0
            }
        }
    };
}
offset!(u32, |distance, base| base.wrapping_add(distance as usize));
offset!(u64, |address, _base| pointer(address));

/// Loads words of every lane at its offset from `base` (or at its address), and at so many further bytes: `dwords` words
/// at each place, into consecutive rows. `false` if an offset is beyond `limit`: then some rows may not be written.
///
/// # Safety
/// At each offset up to `limit` plus each of `places` are so many readable words (which need not be aligned).
#[inline(always)]
pub(super) unsafe fn gather<T: Offset>(
    base: *const u8,
    offsets: &[T; LANES],
    limit: u64,
    places: &[usize],
    dwords: usize,
    rows: &[Row],
) -> bool {
    match dwords {
        // SAFETY: the caller's promise.
        1 => unsafe { gather_words::<T, 1>(base, offsets, limit, places, rows) },
        // SAFETY: the same.
        2 => unsafe { gather_words::<T, 2>(base, offsets, limit, places, rows) },
        // SAFETY: the same.
        3 => unsafe { gather_words::<T, 3>(base, offsets, limit, places, rows) },
        // SAFETY: the same.
        _ => unsafe { gather_words::<T, 4>(base, offsets, limit, places, rows) },
    }
}

#[inline(always)]
unsafe fn gather_words<T: Offset, const WORDS: usize>(
    base: *const u8,
    offsets: &[T; LANES],
    limit: u64,
    places: &[usize],
    rows: &[Row],
) -> bool {
    for chunk in 0..CHUNKS {
        let at: [T; CHUNK] = each!(lane => offsets[chunk * CHUNK + lane]);
        let (mut spread, mut gaps) = (T::NONE, T::NONE);
        for (lane, offset) in at.into_iter().enumerate() {
            spread = spread.or(offset.differs(at[0], 0));
            gaps = gaps.or(offset.differs(at[0], 4 * WORDS * lane));
        }
        let near = if gaps.is_none() {
            // One behind the other without wrapping: the last is the farthest, or the first is too far by itself.
            at[0].within(limit) && at[CHUNK - 1].within(limit)
        } else if spread.is_none() {
            at[0].within(limit)
        } else {
            let mut near = true;
            for offset in at {
                near &= offset.within(limit);
            }
            near
        };
        if !near {
            return false;
        }
        for (place, rows) in places.iter().zip(rows.chunks_exact(WORDS)) {
            let first = at[0].from(base).wrapping_add(*place);
            if gaps.is_none() {
                // SAFETY: the caller's promise: the words of all lanes of the chunk, one after the other.
                let words = unsafe { first.cast::<[[u32; WORDS]; CHUNK]>().read_unaligned() };
                for (word, row) in rows.iter().enumerate() {
                    row.set_chunk(chunk, each!(lane => words[lane][word]));
                }
            } else if spread.is_none() {
                // SAFETY: the caller's promise: the words of the chunk's first lane.
                let words = unsafe { first.cast::<[u32; WORDS]>().read_unaligned() };
                for (word, row) in rows.iter().enumerate() {
                    row.set_chunk(chunk, [words[word]; CHUNK]);
                }
            } else {
                for (lane, offset) in at.into_iter().enumerate() {
                    let address = offset.from(base).wrapping_add(*place);
                    // SAFETY: the caller's promise: the words of this lane.
                    let words = unsafe { address.cast::<[u32; WORDS]>().read_unaligned() };
                    for (word, row) in rows.iter().enumerate() {
                        row.set(chunk * CHUNK + lane, words[word]);
                    }
                }
            }
        }
    }
    true
}
