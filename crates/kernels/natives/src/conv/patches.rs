//! The part of the input that a block of pixels needs, copied so that patches become contiguous
//! runs of it.
//!
//! [`Source`] holds the padded rows of some channels, with every `stride`-th element adjacent:
//! element `k` of the window is then adjacent for adjacent pixels of a row, whatever the stride and
//! the dilation. [`Patches`] packs it into panels by a short list of vector copies, which is the
//! same for every channel and element of the window.

use std::ops::Range;

use super::super::window::Window;
use super::check;
use roci_simd::gemm::PANEL;
use roci_simd::{CacheLine, Simd};

/// A run of input elements, and its target.
#[derive(Clone, Copy, Debug)]
struct Run {
    from: usize,
    to: usize,
    count: usize,
}

/// The layout of the padded input of a block of pixels.
pub(super) struct Source {
    window: Window,
    /// The first output position that it serves.
    first: [usize; 3],
    /// The start of each row of a channel that the window needs, in the input and here.
    rows: Vec<(usize, usize)>,
    /// The elements of a row for each remainder modulo the stride that the window needs.
    phases: Vec<Run>,
    /// Elements of a row, of a plane and of a channel.
    row: usize,
    plane: usize,
    channel: usize,
    /// Offsets of the window's elements for the first pixel.
    taps: Vec<usize>,
}

impl Source {
    /// The layout for `pixels`.
    pub(super) fn new(p: &roci_families::Conv, pixels: &Range<usize>) -> Source {
        let window = check::window(p);
        let (mut first, mut last) = (window.locate(pixels.start).1, window.locate(pixels.end - 1).1);
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
        // Positions along a dimension that the window needs and that lie within the input: the
        // index in this layout and the index in the input.
        let needed = |d: usize, size: usize| {
            let taken = |at: usize| (0..kernel[d]).any(|k| k * dilation[d] % stride[d] == at % stride[d]);
            let there = |at: usize| usize::try_from(origin[d] + at as isize).ok().filter(|&position| position < size);
            let positions = (0..counts[d]).filter(|&at| taken(at)).filter_map(|at| Some((at, there(at)?)));
            positions.collect::<Vec<_>>()
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
            // The first element at or after position 0, and the number before the end.
            let low = ((-origin).max(0) as usize).div_ceil(stride[2]).min(width);
            let from = (origin + (low * stride[2]) as isize) as usize;
            let count = across.saturating_sub(from).div_ceil(stride[2]).min(width - low);
            Run { from, to: index * width + low, count }
        });
        let (rows, elements) = (rows.collect(), elements.filter(|run| run.count > 0).collect());
        Source { window, first, rows, phases: elements, row, plane, channel: counts[0] * plane, taps }
    }

    /// The offset of the window of an output position.
    pub(super) fn at(&self, position: [usize; 3]) -> usize {
        let steps = |d: usize| (position[d] - self.first[d]) * self.window.stride[d] as usize;
        steps(0) * self.plane + steps(1) * self.row + position[2] - self.first[2]
    }

    /// Offsets of the window's elements from there.
    pub(super) fn taps(&self) -> &[usize] {
        &self.taps
    }

    /// Elements of a channel.
    pub(super) fn channel(&self) -> usize {
        self.channel
    }

    /// Zeroes room for `channels`, and `slack` elements after them, so that vectors can be read
    /// from any element. The padding stays zero.
    pub(super) fn clear(&self, channels: usize, slack: usize, target: &mut Vec<f32>) {
        let size = channels * self.channel + slack;
        target.truncate(size);
        target.fill(0.0);
        target.resize(size, 0.0);
    }

    /// Copies `channels` of `x` to the start of `target`, which was cleared for that many.
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

/// Copies every `stride`-th element. The source may be longer than needed.
#[inline(always)]
fn copy_steps<S: Simd>(simd: S, stride: u32, source: &[f32], target: &mut [f32]) {
    match stride {
        1 => copy(&source[..target.len()], target),
        2 => {
            let take = |at: usize| {
                let at = source.as_ptr().wrapping_add(2 * at);
                // SAFETY: two vectors of the source; the loops below only call it where they exist.
                let [a, b] = [0, S::LANES].map(|half| unsafe { simd.load(at.wrapping_add(half)) });
                simd.evens(a, b)
            };
            // The last element has no successor where the source ends with it.
            let there = source.len() / (2 * S::LANES) * S::LANES;
            let wholes = there.min(target.len() / S::LANES * S::LANES);
            for i in (0..wholes).step_by(S::LANES) {
                // SAFETY: a vector of the target.
                unsafe { simd.store(target.as_mut_ptr().wrapping_add(i), take(i)) };
            }
            let rest = &mut target[wholes..];
            if there > wholes && !rest.is_empty() {
                let mut whole = [0.0; CacheLine::WORDS];
                // SAFETY: no vector is longer than a cache line.
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

/// Copies a short run inline: calling `memcpy` takes longer than the copy.
#[inline(always)]
pub(super) fn copy(source: &[f32], target: &mut [f32]) {
    /// Whole blocks; the last one overlaps the one before it.
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

/// A vector copied from a channel of the source to a row of a panel.
#[derive(Clone, Copy, Debug)]
struct VectorCopy {
    from: usize,
    to: usize,
}

/// The patches of a block of pixels.
pub(super) struct Patches {
    source: Source,
    pixels: usize,
    /// The copies of each panel.
    panels: Vec<Vec<VectorCopy>>,
}

impl Patches {
    /// Plans the patches of `pixels` for vectors of `lanes`.
    pub(super) fn new(p: &roci_families::Conv, pixels: Range<usize>, lanes: usize) -> Patches {
        let source = Source::new(p, &pixels);
        let width = p.output[2] as usize;
        let panel = |start: usize| {
            let mut moves = Vec::new();
            let end = (start + PANEL * lanes).min(pixels.end);
            let mut pixel = start;
            while pixel < end {
                let position = source.window.locate(pixel).1;
                let run = (width - position[2]).min(end - pixel);
                let from = source.at(position);
                moves.extend((0..run).step_by(lanes).map(|i| VectorCopy { from: from + i, to: pixel - start + i }));
                pixel += run;
            }
            moves
        };
        let panels = pixels.clone().step_by(PANEL * lanes).map(panel).collect();
        Patches { pixels: pixels.len(), panels, source }
    }

    /// Makes room for passes of at most `depth` rows; see [`Source::clear`].
    pub(super) fn clear(&self, depth: usize, slack: usize, target: &mut Vec<f32>) {
        self.source.clear(depth.div_ceil(self.source.taps.len()) + 1, slack, target);
    }

    /// Packs rows `depths` of the patches into panels, as [`roci_simd::gemm::pack_panels`] does;
    /// `x` starts with the group's channels.
    ///
    /// # Safety
    /// The scratch was cleared for that many rows with a vector of slack; the target has room for
    /// `depths` times the pixels, rounded up to whole vectors, and one more vector.
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
                // In order: a vector that crosses the end of its run, row or panel is overwritten
                // by the next.
                for &VectorCopy { from: offset, to } in moves {
                    // SAFETY: within the channel, except for the vector's last elements, for which
                    // there is slack.
                    let vector = unsafe { simd.load(from.wrapping_add(offset)) };
                    // SAFETY: it starts in this panel's row, and there is room for a vector after
                    // the last row.
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
