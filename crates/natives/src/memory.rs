//! The memory behind bindings: the one place where addresses become slices.

use std::ops::Range;

use bytemuck::Pod;
use roci_hal::native::NativeBinding;

use super::simd::{Level, Line, Simd, Task};

/// Outputs of a part from this many bytes on are written past the caches: they would only push out the inputs.
pub(super) const STREAM_FROM: usize = 4 << 20;

/// How many 32-bit elements ahead of the current one inputs are asked for: a page, beyond which the hardware does not
/// look by itself.
pub(super) const AHEAD: usize = 1024;
/// Cache lines of a page.
pub(super) const PAGE: usize = 64;
/// Pages that a large copy or element-wise kernel walks through side by side: more of the memory's banks are at work
/// than with one.
pub(super) const PAGES: usize = 4;
/// Cache lines of those pages.
const GROUP: usize = PAGES * PAGE;

/// A range of a binding's elements that is only read.
///
/// # Safety
/// The range lies within the binding, which is live, aligned for `T` and not written while the slice is used.
pub(super) unsafe fn input<'a, T: Pod>(binding: NativeBinding, range: Range<usize>) -> &'a [T] {
    let start = binding.pointer.cast::<T>().wrapping_add(range.start);
    // SAFETY: the caller's promise is the one asked for; any bytes are a `T`.
    unsafe { std::slice::from_raw_parts(start, range.len()) }
}

/// A range of a binding's elements that only the caller touches.
///
/// # Safety
/// The range lies within the binding, which is live and aligned for `T`, and nothing else reads or writes the range
/// while the slice is used.
pub(super) unsafe fn output<'a, T: Pod>(binding: NativeBinding, range: Range<usize>) -> &'a mut [T] {
    let start = binding.pointer.cast::<T>().wrapping_add(range.start);
    // SAFETY: the caller's promise is the one asked for; any bytes are a `T`.
    unsafe { std::slice::from_raw_parts_mut(start, range.len()) }
}

/// Copies words, past the caches if they are many.
pub(super) fn copy(level: Level, source: &[u32], target: &mut [u32]) {
    if size_of_val(target) < STREAM_FROM {
        target.copy_from_slice(source);
    } else {
        level.run(Stream { source, target });
    }
}

/// Sets words, past the caches if they are many.
pub(super) fn fill(level: Level, value: u32, target: &mut [u32]) {
    if size_of_val(target) < STREAM_FROM { target.fill(value) } else { level.run(StreamFill { value, target }) }
}

/// Copies past the caches; both slices are of one length.
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
        let (middle, last) = rest.split_at(lines.len() * Line::WORDS);
        head.copy_from_slice(first);
        tail.copy_from_slice(last);
        let middle = middle.as_chunks::<{ Line::WORDS }>().0;
        for (lines, middle) in lines.chunks_mut(GROUP).zip(middle.chunks(GROUP)) {
            for index in (0..GROUP).map(|i| i % PAGES * PAGE + i / PAGES) {
                let (Some(target), Some(source)) = (lines.get_mut(index), middle.get(index)) else { continue };
                simd.prefetch(source.as_ptr().wrapping_add(AHEAD).cast());
                // SAFETY: a whole, aligned line, exclusively borrowed.
                unsafe { simd.stream(target, Line(*source)) };
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
        let line = Line([self.value; Line::WORDS]);
        for target in lines {
            // SAFETY: a whole, aligned line, exclusively borrowed.
            unsafe { simd.stream(target, line) };
        }
        simd.fence();
    }
}

/// Copies past the caches; whoever calls it also calls [`Simd::fence`] before others may look.
#[inline(always)]
pub(super) fn stream<S: Simd>(simd: S, source: &[u32], target: &mut [u32]) {
    let (head, lines, tail) = as_lines(target);
    let (first, rest) = source.split_at(head.len());
    head.copy_from_slice(first);
    let (middle, last) = rest.split_at(lines.len() * Line::WORDS);
    for (target, source) in lines.iter_mut().zip(middle.as_chunks::<{ Line::WORDS }>().0) {
        // SAFETY: a whole, aligned line, exclusively borrowed.
        unsafe { simd.stream(target, Line(*source)) };
    }
    tail.copy_from_slice(last);
}

/// The whole cache lines of a slice, and what lies before and behind them.
fn as_lines(words: &mut [u32]) -> (&mut [u32], &mut [Line], &mut [u32]) {
    // SAFETY: a `Line` is sixteen words without padding; any words are a `Line` and the other way round.
    unsafe { words.align_to_mut::<Line>() }
}
