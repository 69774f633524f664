//! Per-lane loads, in chunks: adjacent lanes usually read the same address or consecutive ones.

use crate::memory::pointer;
use crate::row::{CHUNK, CHUNKS, LANES, Row, each};

/// Location of a lane's data: an offset from a base, or an absolute address.
pub(super) trait GatherOffset: Copy {
    /// Converts to a pointer.
    fn from(self, base: *const u8) -> *const u8;
    /// The bits in which `self` differs from `first + bytes`.
    fn differs(self, first: Self, bytes: usize) -> Self;
    /// Whether the offset is at most `limit`.
    fn within(self, limit: u64) -> bool;
    /// No bits set.
    const NONE: Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Whether no bits are set.
    fn is_none(self) -> bool;
}

macro_rules! offset {
    ($type:ty, |$value:ident, $base:ident| $pointer:expr) => {
        impl GatherOffset for $type {
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

/// Loads `dwords` words into consecutive rows, for every lane and each of the additional offsets.
/// Each lane has an offset from `base`, or an address. Returns `false` if an offset exceeds
/// `limit`; then some rows may not be written.
///
/// # Safety
/// For each offset up to `limit`, plus each additional offset, this many words are readable. They
/// need not be aligned.
#[inline(always)]
pub(super) unsafe fn gather<T: GatherOffset>(
    base: *const u8,
    offsets: &[T; LANES],
    limit: u64,
    extra_offsets: &[usize],
    dwords: usize,
    rows: &[Row],
) -> bool {
    match dwords {
        // SAFETY: the caller's contract is the same.
        1 => unsafe { gather_words::<T, 1>(base, offsets, limit, extra_offsets, rows) },
        // SAFETY: as above.
        2 => unsafe { gather_words::<T, 2>(base, offsets, limit, extra_offsets, rows) },
        // SAFETY: as above.
        3 => unsafe { gather_words::<T, 3>(base, offsets, limit, extra_offsets, rows) },
        // SAFETY: as above.
        _ => unsafe { gather_words::<T, 4>(base, offsets, limit, extra_offsets, rows) },
    }
}

#[inline(always)]
unsafe fn gather_words<T: GatherOffset, const WORDS: usize>(
    base: *const u8,
    offsets: &[T; LANES],
    limit: u64,
    extra_offsets: &[usize],
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
            // Consecutive without wrapping: the last lane has the largest offset, or the first one
            // exceeds the limit itself.
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
        for (extra, rows) in extra_offsets.iter().zip(rows.chunks_exact(WORDS)) {
            let first = at[0].from(base).wrapping_add(*extra);
            if gaps.is_none() {
                // SAFETY: by contract the words of all lanes of the chunk are readable; they are
                // consecutive.
                let words = unsafe { first.cast::<[[u32; WORDS]; CHUNK]>().read_unaligned() };
                for (word, row) in rows.iter().enumerate() {
                    row.set_chunk(chunk, each!(lane => words[lane][word]));
                }
            } else if spread.is_none() {
                // SAFETY: by contract the words of the first lane of the chunk are readable.
                let words = unsafe { first.cast::<[u32; WORDS]>().read_unaligned() };
                for (word, row) in rows.iter().enumerate() {
                    row.set_chunk(chunk, [words[word]; CHUNK]);
                }
            } else {
                for (lane, offset) in at.into_iter().enumerate() {
                    let address = offset.from(base).wrapping_add(*extra);
                    // SAFETY: by contract the words of this lane are readable.
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
