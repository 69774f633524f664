//! Loads of lanes at addresses of their own, by chunks: neighbours mostly read one place, or places one after the other.

use crate::row::{CHUNK, CHUNKS, LANES, Row, each};

/// The distance of a lane's data from a base.
pub(super) trait Offset: Copy {
    /// As a number of bytes.
    fn bytes(self) -> usize;
    /// The bits in which two distances differ from being `bytes` apart.
    fn differs(self, first: Self, bytes: usize) -> Self;
    /// No bits.
    const NONE: Self;
    /// The bits of both.
    fn or(self, other: Self) -> Self;
    /// Whether there are no bits.
    fn is_none(self) -> bool;
}

macro_rules! offset {
    ($type:ty) => {
        impl Offset for $type {
            #[inline(always)]
            fn bytes(self) -> usize {
                self as usize
            }
            #[inline(always)]
            fn differs(self, first: Self, bytes: usize) -> Self {
                self.wrapping_sub(first) ^ bytes as Self
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
offset!(u32);
offset!(u64);

/// Loads words of every lane at `base` plus its offset, and at so many further bytes: `dwords` words at each place, into
/// consecutive rows.
///
/// # Safety
/// `base` plus each offset plus each of `places` is the address of so many readable words (which need not be aligned).
#[inline(always)]
pub(super) unsafe fn gather<T: Offset>(
    base: *const u8,
    offsets: &[T; LANES],
    places: &[usize],
    dwords: usize,
    rows: &[Row],
) {
    match dwords {
        // SAFETY: the caller's promise.
        1 => unsafe { gather_words::<T, 1>(base, offsets, places, rows) },
        // SAFETY: the same.
        2 => unsafe { gather_words::<T, 2>(base, offsets, places, rows) },
        // SAFETY: the same.
        3 => unsafe { gather_words::<T, 3>(base, offsets, places, rows) },
        // SAFETY: the same.
        _ => unsafe { gather_words::<T, 4>(base, offsets, places, rows) },
    }
}

#[inline(always)]
unsafe fn gather_words<T: Offset, const WORDS: usize>(
    base: *const u8,
    offsets: &[T; LANES],
    places: &[usize],
    rows: &[Row],
) {
    for chunk in 0..CHUNKS {
        let at: [T; CHUNK] = each!(lane => offsets[chunk * CHUNK + lane]);
        let (mut spread, mut gaps) = (T::NONE, T::NONE);
        for (lane, offset) in at.into_iter().enumerate() {
            spread = spread.or(offset.differs(at[0], 0));
            gaps = gaps.or(offset.differs(at[0], 4 * WORDS * lane));
        }
        for (place, rows) in places.iter().zip(rows.chunks_exact(WORDS)) {
            let base = base.wrapping_add(*place);
            let first = base.wrapping_add(at[0].bytes());
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
                    let address = base.wrapping_add(offset.bytes());
                    // SAFETY: the caller's promise: the words of this lane.
                    let words = unsafe { address.cast::<[u32; WORDS]>().read_unaligned() };
                    for (word, row) in rows.iter().enumerate() {
                        row.set(chunk * CHUNK + lane, words[word]);
                    }
                }
            }
        }
    }
}
