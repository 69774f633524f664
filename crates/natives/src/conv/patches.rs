//! The part of the input that a block of pixels needs, copied so that patches become plain runs of it.
//!
//! [`Source`] holds the rows of some channels with their padding, and with every `stride`-th element side by side:
//! element `k` of the window at neighbouring pixels of a row then lies side by side as well, whatever the stride and
//! the dilation. [`Patches`] packs them into panels with a short list of vector copies, which is the same for every
//! channel and element of the window.

use std::ops::Range;

use super::super::matmul::tile::PANEL;
use super::super::simd::{Line, Simd};
use super::super::window::Window;
use super::check;
use crate::params;

/// A run of the input, and where it goes.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: usize,
    to: usize,
    count: usize,
}

/// The padded input of a block of pixels: where everything lies in it.
pub(super) struct Source {
    window: Window,
    /// First place of the output that it serves.
    first: [usize; 3],
    /// Where the rows of a channel that the window needs start, in the input and here.
    rows: Vec<(usize, usize)>,
    /// The elements of a row for each remainder that the window needs.
    phases: Vec<Run>,
    /// Elements of a row, of a plane and of a channel.
    row: usize,
    plane: usize,
    channel: usize,
    /// Where each element of the window lies for the first pixel.
    taps: Vec<usize>,
}

impl Source {
    /// What `pixels` need.
    pub(super) fn new(p: &params::Conv, pixels: &Range<usize>) -> Source {
        let window = check::window(p);
        let (mut first, mut last) = (window.place(pixels.start).1, window.place(pixels.end - 1).1);
        // More than one plane takes all rows, more than one row all columns.
        for d in 0..2 {
            if first[d] != last[d] {
                (d + 1..3).for_each(|inner| (first[inner], last[inner]) = (0, p.output[inner] as usize - 1));
                break;
            }
        }
        let [kernel, stride, dilation] = [p.kernel, p.stride, p.dilation].map(|sizes| sizes.map(|size| size as usize));
        let span = |d: usize| (last[d] - first[d]) * stride[d] + (kernel[d] - 1) * dilation[d] + 1;
        let mut phases: Vec<usize> = (0..kernel[2]).map(|k| k * dilation[2] % stride[2]).collect();
        phases.sort_unstable();
        phases.dedup();
        let width = last[2] - first[2] + (kernel[2] - 1) * dilation[2] / stride[2] + 1;
        let counts = [span(0), span(1), width];
        let row = phases.len() * width;
        let plane = counts[1] * row;
        let mut taps = Vec::with_capacity(kernel.iter().product());
        for k0 in 0..kernel[0] {
            for k1 in 0..kernel[1] {
                for shift in (0..kernel[2]).map(|k2| k2 * dilation[2]) {
                    let phase = phases.partition_point(|&phase| phase < shift % stride[2]);
                    taps.push(k0 * dilation[0] * plane + k1 * dilation[1] * row + phase * width + shift / stride[2]);
                }
            }
        }
        let [depth, height, across] = window.input.map(|size| size as usize);
        let origin = [0, 1, 2].map(|d| window.position(d, first[d], 0));
        // Places along a dimension that the window needs and the input has, here and there.
        let needed = |d: usize, size: usize| {
            let taken = |at: usize| (0..kernel[d]).any(|k| k * dilation[d] % stride[d] == at % stride[d]);
            let there = |at: usize| usize::try_from(origin[d] + at as isize).ok().filter(|&place| place < size);
            let places = (0..counts[d]).filter(|&at| taken(at)).filter_map(|at| Some((at, there(at)?)));
            places.collect::<Vec<_>>()
        };
        let (planes, lines) = (needed(0, depth), needed(1, height));
        let rows = planes.iter().flat_map(|&(z, from_z)| {
            let run = move |&(y, from_y): &(usize, usize)| {
                let from = (from_z * height + from_y) * across;
                (from, (z * counts[1] + y) * row)
            };
            lines.iter().map(run)
        });
        let elements = phases.iter().enumerate().map(|(index, &phase)| {
            let origin = origin[2] + phase as isize;
            // The first element at or behind place 0, and those before the end.
            let low = ((-origin).max(0) as usize).div_ceil(stride[2]).min(width);
            let from = (origin + (low * stride[2]) as isize) as usize;
            let count = across.saturating_sub(from).div_ceil(stride[2]).min(width - low);
            Run { from, to: index * width + low, count }
        });
        let (rows, elements) = (rows.collect(), elements.filter(|run| run.count > 0).collect());
        Source { window, first, rows, phases: elements, row, plane, channel: counts[0] * plane, taps }
    }

    /// Where the first element of the window of a pixel lies.
    pub(super) fn at(&self, place: [usize; 3]) -> usize {
        let steps = |d: usize| (place[d] - self.first[d]) * self.window.stride[d] as usize;
        steps(0) * self.plane + steps(1) * self.row + place[2] - self.first[2]
    }

    /// Where each element of the window lies from there.
    pub(super) fn taps(&self) -> &[usize] {
        &self.taps
    }

    /// Elements of a channel.
    pub(super) fn channel(&self) -> usize {
        self.channel
    }

    /// Makes room for `channels` and `slack` elements behind them, so that vectors may be read from everywhere. All of
    /// it is zero: what pads the input stays so.
    pub(super) fn clear(&self, channels: usize, slack: usize, target: &mut Vec<f32>) {
        let size = channels * self.channel + slack;
        target.truncate(size);
        target.fill(0.0);
        target.resize(size, 0.0);
    }

    /// Copies `channels` of `x` to the start of `target`, which was cleared for as many.
    #[inline(always)]
    pub(super) fn fill<S: Simd>(&self, simd: S, x: &[f32], channels: Range<usize>, target: &mut [f32]) {
        let size = self.window.input.iter().map(|&size| size as usize).product::<usize>();
        let stride = self.window.stride[2];
        for (channel, target) in channels.zip(target.chunks_exact_mut(self.channel)) {
            let x = &x[channel * size..][..size];
            for &(from, to) in &self.rows {
                let (x, target) = (&x[from..], &mut target[to..]);
                for run in &self.phases {
                    copy_steps(simd, stride, &x[run.from..], &mut target[run.to..][..run.count]);
                }
            }
        }
    }
}

/// Copies every `stride`-th element. The source may be longer than is needed.
#[inline(always)]
fn copy_steps<S: Simd>(simd: S, stride: u32, source: &[f32], target: &mut [f32]) {
    match stride {
        1 => copy(&source[..target.len()], target),
        2 => {
            let take = |at: usize| {
                let at = source.as_ptr().wrapping_add(2 * at);
                // SAFETY: two vectors of the source, which the loops below ask for where they are there.
                let [a, b] = [0, S::LANES].map(|half| unsafe { simd.load(at.wrapping_add(half)) });
                simd.evens(a, b)
            };
            // The last element has no neighbour where the source ends with it.
            let there = source.len() / (2 * S::LANES) * S::LANES;
            let wholes = there.min(target.len() / S::LANES * S::LANES);
            for i in (0..wholes).step_by(S::LANES) {
                // SAFETY: a vector of the target.
                unsafe { simd.store(target.as_mut_ptr().wrapping_add(i), take(i)) };
            }
            let rest = &mut target[wholes..];
            if there > wholes && !rest.is_empty() {
                let mut whole = [0.0; Line::WORDS];
                // SAFETY: no vector is longer.
                unsafe { simd.store(whole.as_mut_ptr(), take(wholes)) };
                let count = rest.len();
                copy(&whole[..count], rest);
            } else {
                let source = source[2 * wholes..].iter().step_by(2);
                rest.iter_mut().zip(source).for_each(|(target, &x)| *target = x);
            }
        }
        _ => target.iter_mut().zip(source.iter().step_by(stride as usize)).for_each(|(target, &x)| *target = x),
    }
}

/// Copies a short run, for which the C library's function takes longer to start than to copy.
#[inline(always)]
pub(super) fn copy(source: &[f32], target: &mut [f32]) {
    /// Whole blocks, the last over the end of the one before it.
    #[inline(always)]
    fn blocks<const N: usize>(source: &[f32], target: &mut [f32]) {
        for (target, source) in target.as_chunks_mut::<N>().0.iter_mut().zip(source.as_chunks::<N>().0) {
            *target = *source;
        }
        if let (Some(target), Some(source)) = (target.last_chunk_mut::<N>(), source.last_chunk::<N>()) {
            *target = *source;
        }
    }
    match target.len() {
        16.. => blocks::<16>(source, target),
        8.. => blocks::<8>(source, target),
        4.. => blocks::<4>(source, target),
        _ => target.iter_mut().zip(source).for_each(|(target, &source)| *target = source),
    }
}

/// One vector moved from a channel of the source into a row of a panel.
#[derive(Clone, Copy, Debug)]
struct Move {
    from: usize,
    to: usize,
}

/// The patches of a block of pixels.
pub(super) struct Patches {
    source: Source,
    pixels: usize,
    /// The moves of each panel.
    panels: Vec<Vec<Move>>,
}

impl Patches {
    /// Plans the patches of `pixels` for vectors of `lanes`.
    pub(super) fn new(p: &params::Conv, pixels: Range<usize>, lanes: usize) -> Patches {
        let source = Source::new(p, &pixels);
        let width = p.output[2] as usize;
        let panel = |start: usize| {
            let mut moves = Vec::new();
            let end = (start + PANEL * lanes).min(pixels.end);
            let mut pixel = start;
            while pixel < end {
                let place = source.window.place(pixel).1;
                let run = (width - place[2]).min(end - pixel);
                let from = source.at(place);
                moves.extend((0..run).step_by(lanes).map(|i| Move { from: from + i, to: pixel - start + i }));
                pixel += run;
            }
            moves
        };
        let panels = pixels.clone().step_by(PANEL * lanes).map(panel).collect();
        Patches { pixels: pixels.len(), panels, source }
    }

    /// Makes room for passes of at most so many rows, see [`Source::clear`].
    pub(super) fn clear(&self, depth: usize, slack: usize, target: &mut Vec<f32>) {
        self.source.clear(depth.div_ceil(self.source.taps.len()) + 1, slack, target);
    }

    /// Packs rows `depths` of the patches of the channels that start `x` into panels, as [`tile::pack_panels`] does.
    ///
    /// [`tile::pack_panels`]: super::super::matmul::tile::pack_panels
    ///
    /// # Safety The scratch was cleared for as many rows with a vector of slack; the target has room for `depths` times
    /// the pixels, rounded up to whole vectors, and one more vector.
    #[inline(always)]
    pub(super) unsafe fn pack<S: Simd>(
        &self,
        simd: S,
        x: &[f32],
        depths: Range<usize>,
        scratch: &mut [f32],
        target: *mut f32,
    ) {
        let taps = self.source.taps.len();
        let channels = depths.start / taps..depths.end.div_ceil(taps);
        self.source.fill(simd, x, channels, scratch);
        let scratch = scratch.as_ptr();
        for (index, moves) in self.panels.iter().enumerate() {
            let column = index * PANEL * S::LANES;
            let width = (self.pixels - column).next_multiple_of(S::LANES).min(PANEL * S::LANES);
            let mut target = target.wrapping_add(depths.len() * column);
            let (mut tap, mut channel) = (depths.start % taps, scratch);
            for _ in depths.clone() {
                let from = channel.wrapping_add(self.source.taps[tap]);
                // In order: a vector that reaches over the end of its run, its row or its panel is written over by the
                // next.
                for &Move { from: offset, to } in moves {
                    // SAFETY: within the channel, but for the vector's last elements, for which there is slack.
                    let vector = unsafe { simd.load(from.wrapping_add(offset)) };
                    // SAFETY: it starts in this panel's row, and there is room for a vector behind the last.
                    unsafe { simd.store(target.wrapping_add(to), vector) };
                }
                target = target.wrapping_add(width);
                tap += 1;
                if tap == taps {
                    (tap, channel) = (0, channel.wrapping_add(self.source.channel));
                }
            }
        }
    }
}
