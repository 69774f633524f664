//! A ring of memory for kernel arguments: taken from the front when work is written, given back at the end when it is complete.

use crate::memory::Memory;

/// Bytes that each kernel's arguments are multiples of.
pub(crate) const BLOCK: usize = 64;

/// The ring.
pub(crate) struct ArgumentRing {
    memory: Memory,
    places: Places,
}

impl ArgumentRing {
    /// A ring of so many bytes, a power of two.
    pub(crate) fn new(memory: Memory, size: u64) -> Self {
        Self { memory, places: Places::new(size) }
    }

    /// Bytes in one piece: where, and what to give back once they are no longer used. `None` if there is no room now.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<(*mut u8, u64)> {
        let (place, mark) = self.places.take(bytes as u64)?;
        Some((self.memory.pointer().wrapping_add(place as usize), mark))
    }

    /// Gives back everything up to a mark.
    pub(crate) fn give_back(&mut self, mark: u64) {
        self.places.given_back = self.places.given_back.max(mark);
    }

    /// Undoes the latest taking, the one with this mark, as if it had never been: giving back would free those before it, too.
    pub(crate) fn untake(&mut self, mark: u64) {
        self.places.untake(mark);
    }

    /// Whether so many bytes will ever fit.
    pub(crate) fn can_hold(&self, bytes: usize) -> bool {
        bytes as u64 <= self.places.size
    }
}

/// Which bytes of a ring are in use.
struct Places {
    size: u64,
    /// Bytes ever taken, and ever given back.
    taken: u64,
    given_back: u64,
    /// Bytes that were taken before the latest piece.
    before_latest: u64,
}

impl Places {
    fn new(size: u64) -> Self {
        Self { size, taken: 0, given_back: 0, before_latest: 0 }
    }

    /// Where so many bytes in one piece are, and the mark that gives them back.
    fn take(&mut self, bytes: u64) -> Option<(u64, u64)> {
        // What is empty has room for all that fits, wherever the last one ended.
        if self.given_back == self.taken {
            self.taken = self.taken.next_multiple_of(self.size);
            self.given_back = self.taken;
        }
        let at = self.taken % self.size;
        // What would wrap starts over at the beginning.
        let skipped = if at + bytes > self.size { self.size - at } else { 0 };
        if self.taken + skipped + bytes - self.given_back > self.size {
            return None;
        }
        self.before_latest = self.taken;
        self.taken += skipped;
        let place = self.taken % self.size;
        self.taken += bytes;
        Some((place, self.taken))
    }

    fn untake(&mut self, mark: u64) {
        // With what was skipped for it. An older piece stays, and goes back with the next one.
        if mark == self.taken {
            self.taken = self.before_latest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Places {
        Places::new(1024)
    }

    #[test]
    fn a_piece_never_wraps_and_never_overlaps_one_in_use() {
        let mut ring = ring();
        let (first, first_mark) = ring.take(640).expect("room");
        let (second, second_mark) = ring.take(320).expect("room");
        assert_eq!((first, second), (0, 640));
        assert_eq!(ring.take(128), None, "64 bytes are left at the end, none at the beginning");
        ring.given_back = first_mark;
        let (third, third_mark) = ring.take(128).expect("the beginning is free");
        assert_eq!(third, 0);
        assert_eq!(ring.take(640), None, "it would reach the second");
        ring.given_back = second_mark;
        assert!(ring.take(512).is_some_and(|(place, _)| place == 128));
        assert!(third_mark > second_mark);
    }

    #[test]
    fn what_was_not_used_leaves_no_trace() {
        let mut ring = ring();
        let (_, first) = ring.take(640).expect("room");
        let (_, second) = ring.take(256).expect("room");
        ring.given_back = first;
        // At the beginning, after 128 bytes that are skipped.
        let (place, third) = ring.take(256).expect("room");
        assert_eq!(place, 0);
        ring.untake(third);
        assert_eq!(ring.take(128).map(|(place, _)| place), Some(896), "nothing is skipped any more");
        ring.untake(ring.taken);
        ring.given_back = second;
        assert!(ring.take(1024).is_some(), "it is empty");
    }

    #[test]
    fn what_fits_is_found_in_an_empty_ring_wherever_it_stands() {
        let mut ring = ring();
        for bytes in [512, 768, 1024, 64, 1024] {
            let (place, mark) = ring.take(bytes).expect("nothing is in use");
            assert!(place + bytes <= 1024);
            ring.given_back = mark;
        }
    }
}
