//! Keeps the head and the tail of the output, with times, and counts the omitted bytes between.

use std::collections::VecDeque;

use crate::executor::Chunk;
use crate::store::Output;

/// Bytes of the head.
const HEAD: usize = 256 << 10;
/// Bytes of the tail.
const TAIL: usize = 256 << 10;
/// Maximum size of a merged chunk, for chunks that arrive at about the same time.
const PART: usize = 4 << 10;
/// Milliseconds within which chunks count as arriving at the same time.
const TOGETHER: i64 = 20;

/// Bounded buffer of a run's output.
#[derive(Debug, Default)]
pub struct OutputBuffer {
    head: Vec<Output>,
    head_bytes: usize,
    tail: VecDeque<Output>,
    tail_bytes: usize,
    omitted: u64,
    total: u64,
}

impl OutputBuffer {
    /// Adds a chunk.
    pub fn keep(&mut self, chunk: &Chunk) {
        self.total += chunk.bytes.len() as u64;
        let at = i64::try_from(chunk.at.as_millis()).unwrap_or(i64::MAX);
        let mut rest = chunk.bytes.as_slice();
        if self.head_bytes < HEAD {
            let (first, behind) = rest.split_at(rest.len().min(HEAD - self.head_bytes));
            self.head_bytes += first.len();
            match self.head.last_mut() {
                Some(last) if joins(last, chunk, at) => last.bytes.extend_from_slice(first),
                _ => self.head.push(Output { stream: chunk.stream, at, bytes: first.to_vec(), omitted: 0 }),
            }
            rest = behind;
        }
        // Bytes that cannot remain in the tail are not copied.
        let skipped = rest.len().saturating_sub(TAIL);
        self.omitted += skipped as u64;
        let rest = &rest[skipped..];
        if rest.is_empty() {
            return;
        }
        self.tail_bytes += rest.len();
        match self.tail.back_mut() {
            Some(last) if joins(last, chunk, at) => last.bytes.extend_from_slice(rest),
            _ => self.tail.push_back(Output { stream: chunk.stream, at, bytes: rest.to_vec(), omitted: 0 }),
        }
        while self.tail_bytes > TAIL {
            let surplus = self.tail_bytes - TAIL;
            let Some(first) = self.tail.front_mut() else { break };
            let cut = surplus.min(first.bytes.len());
            first.bytes.drain(..cut);
            if first.bytes.is_empty() {
                self.tail.pop_front();
            }
            self.tail_bytes -= cut;
            self.omitted += cut as u64;
        }
    }

    /// Total bytes written.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The kept output.
    pub fn finish(mut self) -> Vec<Output> {
        if let Some(last) = self.head.last_mut() {
            last.omitted = self.omitted;
        }
        self.head.extend(self.tail);
        self.head
    }
}

fn joins(last: &Output, chunk: &Chunk, at: i64) -> bool {
    last.stream == chunk.stream && at - last.at <= TOGETHER && last.bytes.len() < PART
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::executor::Stream;

    fn chunk(second: u64, bytes: Vec<u8>) -> Chunk {
        Chunk { stream: Stream::Out, at: Duration::from_secs(second), bytes }
    }

    #[test]
    fn short_output_is_kept_with_its_times() {
        let mut keeper = OutputBuffer::default();
        keeper.keep(&chunk(1, b"one\n".to_vec()));
        keeper.keep(&chunk(1, b"two\n".to_vec()));
        keeper.keep(&chunk(5, b"three\n".to_vec()));
        let parts = keeper.finish();
        assert_eq!(
            parts.iter().map(|part| (part.at, part.bytes.as_slice())).collect::<Vec<_>>(),
            [(1000, &b"one\ntwo\n"[..]), (5000, &b"three\n"[..])]
        );
    }

    #[test]
    fn a_flood_keeps_head_and_tail() {
        let mut keeper = OutputBuffer::default();
        for second in 0..100 {
            keeper.keep(&chunk(second, vec![second as u8; 100_000]));
        }
        // A chunk larger than the whole buffer.
        keeper.keep(&chunk(100, vec![100; 5_000_000]));
        let total = keeper.total();
        let parts = keeper.finish();
        let bytes: usize = parts.iter().map(|part| part.bytes.len()).sum();
        let omitted: u64 = parts.iter().map(|part| part.omitted).sum();
        assert_eq!((bytes as u64 + omitted, bytes), (total, HEAD + TAIL));
        assert_eq!((parts[0].bytes[0], parts.last().and_then(|part| part.bytes.last().copied())), (0, Some(100)));
    }
}
