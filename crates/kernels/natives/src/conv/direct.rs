//! Convolutions with few channels per group, such as depthwise ones: sums along the rows of the
//! output, without im2col.

use std::cell::Cell;
use std::ops::Range;

use super::grid::Region;
use super::patches::{Source, copy};
use roci_simd::{CacheLine, Element, Simd, Task};

thread_local! {
    /// Padded input, reused for the next region of this thread.
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Computes whole rows of pixels for all channels of a group, over many groups.
pub(super) struct Direct<'a, I> {
    p: &'a roci_families::Conv,
    inputs: [&'a [f32]; 3],
    regions: I,
    y: *mut f32,
}

impl<'a, I: Iterator<Item = Region>> Direct<'a, I> {
    /// A task for some regions.
    ///
    /// # Safety
    /// The regions of `y`, all of them whole rows, are readable and writable until the task has
    /// run; nothing else touches them.
    pub(super) unsafe fn new(p: &'a roci_families::Conv, inputs: [&'a [f32]; 3], regions: I, y: *mut f32) -> Self {
        Self { p, inputs, regions, y }
    }
}

/// The layout of the input of some pixels, the same for all channels.
struct Layout {
    pixels: Range<usize>,
    source: Source,
    /// Offsets of the windows of each row's first pixel.
    rows: Vec<usize>,
    /// Offsets of the window's elements in all channels of a group.
    taps: Vec<usize>,
}

impl Layout {
    fn new(p: &roci_families::Conv, pixels: Range<usize>) -> Layout {
        let source = Source::new(p, &pixels);
        let channels = (0..(p.in_channels / p.groups) as usize).map(|channel| channel * source.channel());
        let taps = channels.flat_map(|start| source.taps().iter().map(move |tap| start + tap)).collect();
        let window = super::check::window(p);
        let starts = pixels.clone().step_by(p.output[2] as usize);
        let rows = starts.map(|pixel| source.at(window.locate(pixel).1)).collect();
        Layout { pixels, source, rows, taps }
    }
}

impl<I: Iterator<Item = Region>> Task for Direct<'_, I> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let p = self.p;
        let depth = (p.in_channels / p.groups) as usize;
        let width = p.output[2] as usize;
        let plane: usize = p.output.iter().map(|&size| size as usize).product();
        // Taken out of its cell instead of borrowed in a closure, because the closure would be
        // compiled for the baseline CPU.
        let mut input = SCRATCH.take();
        let mut last: Option<Layout> = None;
        for region in self.regions {
            let [x, w, bias] = super::group_slices(p, self.inputs, &region);
            let layout = match last.take() {
                Some(layout) if layout.pixels == region.pixels => layout,
                _ => {
                    let layout = Layout::new(p, region.pixels.clone());
                    layout.source.clear(depth, 4 * S::LANES, &mut input);
                    layout
                }
            };
            layout.source.fill(simd, x, 0..depth, &mut input);
            for row in region.rows.clone() {
                let channel = region.group * (p.out_channels / p.groups) as usize + row;
                let weights = &w[row * layout.taps.len()..][..layout.taps.len()];
                let sums = ChannelSums { taps: &layout.taps, weights, add: p.flags & roci_families::Conv::ADD != 0 };
                let y = self.y.wrapping_add((region.image(p) + row) * plane + region.pixels.start);
                // SAFETY: one channel of the region, which only this task touches, as guaranteed by
                // `new`'s caller.
                let y = unsafe { std::slice::from_raw_parts_mut(y, region.pixels.len()) };
                let mut rows = &layout.rows[..];
                let mut start = 0;
                while let [at, rest @ ..] = rows {
                    // Computes several rows at once if they are short and evenly spaced.
                    let step = rest.first().map_or(0, |next| next - at);
                    let even = rows.len() >= ROWS && (1..ROWS).all(|row| rows[row] == at + row * step);
                    if width < S::LANES && even {
                        let positions = VectorPositions { input: &input[*at..], step, remaining: width, next: width };
                        // SAFETY: a channel holds all inputs of these pixels, with four vectors of
                        // slack after it.
                        unsafe { sums.compute::<S, ROWS>(simd, &positions, &mut y[start..]) };
                        (rows, start) = (&rows[ROWS..], start + ROWS * width);
                        continue;
                    }
                    let mut column = 0;
                    while column < width {
                        let remaining = width - column;
                        let positions =
                            VectorPositions { input: &input[at + column..], step: S::LANES, remaining, next: S::LANES };
                        let y = &mut y[start + column..];
                        column += S::LANES
                            * match remaining.div_ceil(S::LANES) {
                                // SAFETY: as above.
                                1 => unsafe { sums.compute::<S, 1>(simd, &positions, y) },
                                // SAFETY: as above.
                                2 | 3 => unsafe { sums.compute::<S, 2>(simd, &positions, y) },
                                // SAFETY: as above.
                                _ => unsafe { sums.compute::<S, 4>(simd, &positions, y) },
                            };
                    }
                    (rows, start) = (rest, start + width);
                }
                super::epilogue(p, bias, channel, y);
            }
            last = Some(layout);
        }
        SCRATCH.set(input);
    }
}

/// Rows that are summed at once where a row is shorter than a vector.
const ROWS: usize = 4;

/// The positions of some vectors of pixels: along a row, or in consecutive rows.
struct VectorPositions<'a> {
    /// The input from the first vector's window on.
    input: &'a [f32],
    /// Elements between vectors in the input.
    step: usize,
    /// Pixels from the first vector to the end of its row.
    remaining: usize,
    /// Elements between vectors in the output.
    next: usize,
}

/// The sums of one channel.
struct ChannelSums<'a> {
    taps: &'a [usize],
    weights: &'a [f32],
    add: bool,
}

impl ChannelSums<'_> {
    /// Computes `V` vectors of pixels, starting at `y`, and returns `V`. May overwrite what follows
    /// the end of a row in `y`: that is computed later.
    ///
    /// # Safety
    /// A vector at each tap of each position of the input is readable.
    #[inline(always)]
    unsafe fn compute<S: Simd, const V: usize>(
        &self,
        simd: S,
        positions: &VectorPositions<'_>,
        y: &mut [f32],
    ) -> usize {
        // Along a row only the last vector is partial; in consecutive rows, all are as short as the
        // row.
        let count = |v: usize| {
            S::LANES.min(if positions.next == S::LANES {
                positions.remaining - v * S::LANES
            } else {
                positions.remaining
            })
        };
        let mut sums = [simd.splat(0.0); V];
        if self.add {
            for (v, sum) in sums.iter_mut().enumerate() {
                let y = &y[v * positions.next..][..count(v)];
                // SAFETY: `y` has that many elements.
                *sum = unsafe { f32::load_first(simd, y.as_ptr(), y.len()) };
            }
        }
        for (&tap, &weight) in self.taps.iter().zip(self.weights) {
            let weight = simd.splat(weight);
            for (v, sum) in sums.iter_mut().enumerate() {
                // SAFETY: readable as the caller guarantees.
                let x = unsafe { simd.load(positions.input.as_ptr().wrapping_add(tap + v * positions.step)) };
                *sum = simd.mul_add(weight, x, *sum);
            }
        }
        for (v, &sum) in sums.iter().enumerate() {
            let y = &mut y[v * positions.next..];
            let count = count(v);
            // Elements to which sums are still to be added must not be overwritten.
            if y.len() >= S::LANES && (count == S::LANES || !self.add) {
                // SAFETY: `y` has a whole vector.
                unsafe { simd.store(y.as_mut_ptr(), sum) };
            } else {
                let mut whole = [0.0; CacheLine::WORDS];
                // SAFETY: no vector is longer than a cache line.
                unsafe { simd.store(whole.as_mut_ptr(), sum) };
                copy(&whole[..count], &mut y[..count]);
            }
        }
        V
    }
}
