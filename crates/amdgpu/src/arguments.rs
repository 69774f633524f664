//! A ring of memory for kernel arguments: taken from the front when work is written, given back at the end when it is complete.

use crate::memory::Memory;

/// Bytes that each kernel's arguments are multiples of.
pub(crate) const BLOCK: usize = 64;

/// The ring.
pub(crate) struct ArgumentRing {
    memory: Memory,
    size: u64,
    /// Bytes ever taken, and ever given back.
    taken: u64,
    given_back: u64,
}

impl ArgumentRing {
    /// A ring of so many bytes, a power of two.
    pub(crate) fn new(memory: Memory, size: u64) -> Self {
        Self { memory, size, taken: 0, given_back: 0 }
    }

    /// Bytes in one piece: where, and what to give back once they are no longer used. `None` if there is no room now.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<(*mut u8, u64)> {
        let bytes = bytes as u64;
        let at = self.taken % self.size;
        // What would wrap starts over at the beginning.
        let skipped = if at + bytes > self.size { self.size - at } else { 0 };
        if bytes > self.size || self.taken + skipped + bytes - self.given_back > self.size {
            return None;
        }
        self.taken += skipped;
        let place = self.memory.pointer().wrapping_add((self.taken % self.size) as usize);
        self.taken += bytes;
        Some((place, self.taken))
    }

    /// Gives back everything up to a mark.
    pub(crate) fn give_back(&mut self, mark: u64) {
        self.given_back = self.given_back.max(mark);
    }

    /// Whether so many bytes will ever fit.
    pub(crate) fn can_hold(&self, bytes: usize) -> bool {
        bytes as u64 <= self.size
    }
}
