//! Slices of bindings, and copies and fills with non-temporal stores.

use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::NativeBinding;

use roci_simd::{CacheLine, Level, Simd, Task};

/// Parts that write at least this many bytes use non-temporal stores: ordinary stores would evict
/// the inputs from the caches.
pub(super) const STREAM_THRESHOLD: usize = 4 << 20;

/// Prefetch distance of inputs, in 32-bit elements: a page, beyond which the hardware prefetcher
/// does not look.
pub(super) const PREFETCH_DISTANCE: usize = 1024;
/// Cache lines per page.
pub(super) const PAGE: usize = 64;
/// Pages that a large copy or elementwise kernel processes in an interleaved order: this keeps
/// more memory banks busy than one page does.
pub(super) const INTERLEAVED_PAGES: usize = 4;
/// Cache lines of those pages.
const GROUP: usize = INTERLEAVED_PAGES * PAGE;

/// A range of a binding's elements that is only read.
///
/// # Safety
/// The range is within the binding, which is live, aligned for `T` and not written while the slice
/// is used.
pub(super) unsafe fn input<'a, T: Pod>(binding: NativeBinding, range: Range<usize>) -> &'a [T] {
    let start = binding.pointer.cast::<T>().wrapping_add(range.start);
    // SAFETY: the caller guarantees the same; any bytes are a valid `T`.
    unsafe { std::slice::from_raw_parts(start, range.len()) }
}

/// A range of a binding's elements that only the caller touches.
///
/// # Safety
/// The range is within the binding, which is live and aligned for `T`, and nothing else reads or
/// writes the range while the slice is used.
pub(super) unsafe fn output<'a, T: Pod>(binding: NativeBinding, range: Range<usize>) -> &'a mut [T] {
    let start = binding.pointer.cast::<T>().wrapping_add(range.start);
    // SAFETY: the caller guarantees the same; any bytes are a valid `T`.
    unsafe { std::slice::from_raw_parts_mut(start, range.len()) }
}

/// Copies words; large copies use non-temporal stores.
pub(super) fn copy(level: Level, source: &[u32], target: &mut [u32]) {
    if size_of_val(target) < STREAM_THRESHOLD {
        target.copy_from_slice(source);
    } else {
        level.run(Stream { source, target });
    }
}

/// Fills words; large fills use non-temporal stores.
pub(super) fn fill(level: Level, value: u32, target: &mut [u32]) {
    if size_of_val(target) < STREAM_THRESHOLD { target.fill(value) } else { level.run(StreamFill { value, target }) }
}

/// A copy with non-temporal stores; both slices have the same length.
struct Stream<'a> {
    source: &'a [u32],
    target: &'a mut [u32],
}

impl Task for Stream<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (head, lines, tail) = as_lines(self.target);
        let (first, rest) = self.source.split_at(head.len());
        let (middle, last) = rest.split_at(lines.len() * CacheLine::WORDS);
        head.copy_from_slice(first);
        tail.copy_from_slice(last);
        let middle = middle.as_chunks::<{ CacheLine::WORDS }>().0;
        for (lines, middle) in lines.chunks_mut(GROUP).zip(middle.chunks(GROUP)) {
            for index in (0..GROUP).map(|i| i % INTERLEAVED_PAGES * PAGE + i / INTERLEAVED_PAGES) {
                let (Some(target), Some(source)) = (lines.get_mut(index), middle.get(index)) else { continue };
                simd.prefetch(source.as_ptr().wrapping_add(PREFETCH_DISTANCE).cast());
                // SAFETY: a whole, aligned line, exclusively borrowed.
                unsafe { simd.stream(target, CacheLine(*source)) };
            }
        }
        simd.fence();
    }
}

struct StreamFill<'a> {
    value: u32,
    target: &'a mut [u32],
}

impl Task for StreamFill<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (head, lines, tail) = as_lines(self.target);
        head.fill(self.value);
        tail.fill(self.value);
        let line = CacheLine([self.value; CacheLine::WORDS]);
        for target in lines {
            // SAFETY: a whole, aligned line, exclusively borrowed.
            unsafe { simd.stream(target, line) };
        }
        simd.fence();
    }
}

/// Copies with non-temporal stores. The caller must call [`Simd::fence`] before other threads read
/// the target.
#[inline(always)]
pub(super) fn stream<S: Simd>(simd: S, source: &[u32], target: &mut [u32]) {
    let (head, lines, tail) = as_lines(target);
    let (first, rest) = source.split_at(head.len());
    head.copy_from_slice(first);
    let (middle, last) = rest.split_at(lines.len() * CacheLine::WORDS);
    for (target, source) in lines.iter_mut().zip(middle.as_chunks::<{ CacheLine::WORDS }>().0) {
        // SAFETY: a whole, aligned line, exclusively borrowed.
        unsafe { simd.stream(target, CacheLine(*source)) };
    }
    tail.copy_from_slice(last);
}

/// The whole cache lines of a slice, and the words before and after them.
fn as_lines(words: &mut [u32]) -> (&mut [u32], &mut [CacheLine], &mut [u32]) {
    // SAFETY: a `CacheLine` is sixteen words without padding; any words are a valid `CacheLine`,
    // and vice versa.
    unsafe { words.align_to_mut::<CacheLine>() }
}
