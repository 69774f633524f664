//! Convolutions of few channels a group, depthwise ones above all: sums along the rows of the output, without patches.

use std::cell::Cell;
use std::ops::Range;

use super::super::simd::{Element, Line, Simd, Task};
use super::patches::{Source, copy};
use super::plan::Area;
use crate::params;

thread_local! {
    /// Padded input, kept for the next area of this thread.
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Whole rows of pixels of all channels of a group, of many groups.
pub(super) struct Direct<'a, I> {
    p: &'a params::Conv,
    inputs: [&'a [f32]; 3],
    areas: I,
    y: *mut f32,
}

impl<'a, I: Iterator<Item = Area>> Direct<'a, I> {
    /// Promises that the result's memory is there.
    ///
    /// # Safety The areas of `y`, all of them whole rows, are readable and writable until the task has run; nothing
    /// else touches them.
    pub(super) unsafe fn new(p: &'a params::Conv, inputs: [&'a [f32]; 3], areas: I, y: *mut f32) -> Self {
        Self { p, inputs, areas, y }
    }
}

/// Where the input of the pixels at hand lies: the same for all channels.
struct Layout {
    pixels: Range<usize>,
    source: Source,
    /// Where the window of each row's first pixel lies.
    rows: Vec<usize>,
    /// The elements of the window in all channels of a group.
    taps: Vec<usize>,
}

impl Layout {
    fn new(p: &params::Conv, pixels: Range<usize>) -> Layout {
        let source = Source::new(p, &pixels);
        let channels = (0..(p.in_channels / p.groups) as usize).map(|channel| channel * source.channel());
        let taps = channels.flat_map(|start| source.taps().iter().map(move |tap| start + tap)).collect();
        let window = super::check::window(p);
        let starts = pixels.clone().step_by(p.output[2] as usize);
        let rows = starts.map(|pixel| source.at(window.place(pixel).1)).collect();
        Layout { pixels, source, rows, taps }
    }
}

impl<I: Iterator<Item = Area>> Task for Direct<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let p = self.p;
        let depth = (p.in_channels / p.groups) as usize;
        let width = p.output[2] as usize;
        let plane: usize = p.output.iter().map(|&size| size as usize).product();
        // Taken out of its cell, not borrowed in a closure: code in a closure would be compiled for the baseline CPU.
        let mut input = SCRATCH.take();
        let mut last: Option<Layout> = None;
        for area in self.areas {
            let [x, w, bias] = super::of_group(p, self.inputs, &area);
            let layout = match last.take() {
                Some(layout) if layout.pixels == area.pixels => layout,
                _ => {
                    let layout = Layout::new(p, area.pixels.clone());
                    layout.source.clear(depth, 4 * S::LANES, &mut input);
                    layout
                }
            };
            layout.source.fill(simd, x, 0..depth, &mut input);
            for row in area.rows.clone() {
                let channel = area.group * (p.out_channels / p.groups) as usize + row;
                let weights = &w[row * layout.taps.len()..][..layout.taps.len()];
                let sums = Sums { taps: &layout.taps, weights, add: p.flags & params::Conv::ADD != 0 };
                let y = self.y.wrapping_add((area.image(p) + row) * plane + area.pixels.start);
                // SAFETY: one channel of the area, which is this task's alone by `new`.
                let y = unsafe { std::slice::from_raw_parts_mut(y, area.pixels.len()) };
                let mut rows = &layout.rows[..];
                let mut start = 0;
                while let [at, rest @ ..] = rows {
                    // Several rows at once, if they are short and lie evenly.
                    let step = rest.first().map_or(0, |next| next - at);
                    let even = rows.len() >= ROWS && (1..ROWS).all(|row| rows[row] == at + row * step);
                    if width < S::LANES && even {
                        let place = Place { input: &input[*at..], step, left: width, next: width };
                        // SAFETY: a channel holds what these pixels need, and there is room for four vectors behind it.
                        unsafe { sums.take::<S, ROWS>(simd, &place, &mut y[start..]) };
                        (rows, start) = (&rows[ROWS..], start + ROWS * width);
                        continue;
                    }
                    let mut column = 0;
                    while column < width {
                        let left = width - column;
                        let place = Place { input: &input[at + column..], step: S::LANES, left, next: S::LANES };
                        let y = &mut y[start + column..];
                        column += S::LANES
                            * match left.div_ceil(S::LANES) {
                                // SAFETY: as above.
                                1 => unsafe { sums.take::<S, 1>(simd, &place, y) },
                                // SAFETY: as above.
                                2 | 3 => unsafe { sums.take::<S, 2>(simd, &place, y) },
                                // SAFETY: as above.
                                _ => unsafe { sums.take::<S, 4>(simd, &place, y) },
                            };
                    }
                    (rows, start) = (rest, start + width);
                }
                super::finish(p, bias, channel, y);
            }
            last = Some(layout);
        }
        SCRATCH.set(input);
    }
}

/// Rows that are summed at once where one is shorter than a vector.
const ROWS: usize = 4;

/// Where vectors of pixels lie: along a row, or one row below the other.
struct Place<'a> {
    /// From the first one's window on.
    input: &'a [f32],
    /// Elements between them there.
    step: usize,
    /// Pixels from the first one's start to the end of its row.
    left: usize,
    /// Elements between them in the output.
    next: usize,
}

/// The sums of one channel.
struct Sums<'a> {
    taps: &'a [usize],
    weights: &'a [f32],
    add: bool,
}

impl Sums<'_> {
    /// `V` vectors of pixels, of which `y` starts with the first; tells `V`. What of `y` is behind the end of a row may
    /// be written over: it is computed later.
    ///
    /// # Safety
    /// A vector from each tap of each place of the input is readable.
    #[inline(always)]
    unsafe fn take<S: Simd, const V: usize>(&self, simd: S, place: &Place<'_>, y: &mut [f32]) -> usize {
        // Along a row only the last vector is short; below each other, all are as short as the row.
        let count =
            |v: usize| S::LANES.min(if place.next == S::LANES { place.left - v * S::LANES } else { place.left });
        let mut sums = [simd.splat(0.0); V];
        if self.add {
            for (v, sum) in sums.iter_mut().enumerate() {
                let y = &y[v * place.next..][..count(v)];
                // SAFETY: so many elements are there.
                *sum = unsafe { f32::load_first(simd, y.as_ptr(), y.len()) };
            }
        }
        for (&tap, &weight) in self.taps.iter().zip(self.weights) {
            let weight = simd.splat(weight);
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: readable by the caller's promise.
                let x = unsafe { simd.load(place.input.as_ptr().wrapping_add(tap + v * place.step)) };
                *sum = simd.mul_add(weight, x, *sum);
            }
        }
        for (v, &sum) in sums.iter().enumerate() {
            let y = &mut y[v * place.next..];
            let count = count(v);
            // What is added to must not be written over before.
            if y.len() >= S::LANES && (count == S::LANES || !self.add) {
                // SAFETY: a whole vector is there.
                unsafe { simd.store(y.as_mut_ptr(), sum) };
            } else {
                let mut whole = [0.0; Line::WORDS];
                // SAFETY: no vector is longer.
                unsafe { simd.store(whole.as_mut_ptr(), sum) };
                copy(&whole[..count], &mut y[..count]);
            }
        }
        V
    }
}
