//! Queries of several tokens together, against some keys at a time.
//!
//! Queries lie side by side in the lanes of vectors, keys and values as the caches have them. So nothing but the queries is
//! transposed, no vector is summed across its lanes, and what is kept of each query (its greatest score, the sum of its
//! weights) is a lane too.

use super::{Text, capped, load};
use crate::matmul::packed::Tile;
use crate::matmul::tile::PANEL;
use crate::simd::{Level, Line, Simd, Task};
use crate::{params::LmAttention, single};

/// Keys at a time: with a panel of queries and their scores they stay in the first-level cache.
const KEYS: usize = 64;
/// Below any score that counts, yet a number: a query that has seen nothing so far stays clear of infinities.
const LEAST: f32 = -1.0e30;

/// Memory that is kept from block to block.
#[derive(Default)]
pub(super) struct Scratch(Vec<Line>);

/// Queries of a panel, and what they have gathered.
struct Panel<'a> {
    /// The first query of the block.
    first: usize,
    /// Queries, and those that fill the last vector up.
    width: usize,
    /// Number by number: `width` each.
    queries: &'a mut [f32],
    /// Sums of values, in the same way.
    sums: &'a mut [f32],
    most: &'a mut [f32],
    total: &'a mut [f32],
    /// The first and the last position that each sees.
    seen: &'a mut [[u32; 2]],
}

impl Text<'_> {
    /// All tokens at once.
    pub(super) fn block(&self, scratch: &mut Scratch) {
        let (p, level) = (self.p, self.level);
        let [keys, values] = [p.key_length, p.value_length].map(|length| length as usize);
        let shared = self.shared();
        let lanes = level.lanes();
        let rows = self.tokens.len() * shared;
        let wide = rows.next_multiple_of(lanes);
        let sizes =
            [wide * keys, wide * values, wide, wide, 2 * wide, KEYS * keys, KEYS * values, KEYS * PANEL * lanes];
        let sizes = sizes.map(|size| size.next_multiple_of(Line::WORDS));
        let room = sizes.iter().sum::<usize>() / Line::WORDS;
        if scratch.0.len() < room {
            scratch.0.resize(room, Line::ZERO);
        }
        let mut rest = Line::words(&mut scratch.0);
        let [queries, sums, most, total, seen, key_tile, value_tile, scores] = sizes.map(|size| {
            let (taken, left) = std::mem::take(&mut rest).split_at_mut(size);
            rest = left;
            taken
        });
        let [mut queries, mut sums, mut most, mut total] =
            [queries, sums, most, total].map(bytemuck::cast_slice_mut::<u32, f32>);
        let [key_tile, value_tile, scores] = [key_tile, value_tile, scores].map(bytemuck::cast_slice_mut::<u32, f32>);
        let mut seen: &mut [[u32; 2]] = bytemuck::cast_slice_mut(seen);
        let mut panels = Vec::with_capacity(wide.div_ceil(PANEL * lanes));
        for first in (0..wide).step_by(PANEL * lanes) {
            let width = (wide - first).min(PANEL * lanes);
            let mut panel = Panel {
                first,
                width,
                queries: queries.split_off_mut(..width * keys).unwrap_or_default(),
                sums: sums.split_off_mut(..width * values).unwrap_or_default(),
                most: most.split_off_mut(..width).unwrap_or_default(),
                total: total.split_off_mut(..width).unwrap_or_default(),
                seen: seen.split_off_mut(..width).unwrap_or_default(),
            };
            self.begin(&mut panel, rows);
            panels.push(panel);
        }
        let all = panels.iter().flat_map(|panel| &*panel.seen);
        let (start, end) = all.fold((u32::MAX, 0), |(start, end), seen| (start.min(seen[0]), end.max(seen[1])));
        // Where a tile begins does not depend on who shares it, so neither does the result.
        let mut start = start as usize / KEYS * KEYS;
        while start <= end as usize {
            let count = KEYS.min(end as usize + 1 - start);
            let (key_tile, value_tile) = (&mut key_tile[..count * keys], &mut value_tile[..count * values]);
            level.run(Read { text: self, cache: self.inputs[2], start, length: keys, to: key_tile });
            level.run(Read { text: self, cache: self.inputs[3], start, length: values, to: value_tile });
            for panel in &mut panels {
                panel.take(p, level, start, (key_tile, value_tile), &mut scores[..count * panel.width]);
            }
            start += KEYS;
        }
        for panel in &panels {
            let width = panel.width;
            for lane in 0..width.min(rows - panel.first) {
                let row = panel.first + lane;
                let sums = |d: usize| panel.sums[d * width + lane];
                let ends = (panel.most[lane], panel.total[lane]);
                self.finish(self.tokens.start + row / shared, row % shared, sums, ends);
            }
        }
    }

    /// A panel before its first keys. Lanes behind the last query see what that one sees.
    fn begin(&self, panel: &mut Panel<'_>, rows: usize) {
        panel.sums.fill(0.0);
        panel.most.fill(LEAST);
        panel.total.fill(0.0);
        panel.queries.fill(0.0);
        for lane in 0..panel.width {
            let row = (panel.first + lane).min(rows - 1);
            let (token, head) = (self.tokens.start + row / self.shared(), row % self.shared());
            let seen = self.seen(token);
            panel.seen[lane] = [seen.start as u32, (seen.end - 1) as u32];
            for (d, value) in self.query(token, head).iter().enumerate() {
                panel.queries[d * panel.width + lane] = value * self.p.scale;
            }
        }
    }
}

impl Panel<'_> {
    /// More keys and values, of positions from `start` on.
    fn take(
        &mut self,
        p: &LmAttention,
        level: Level,
        start: usize,
        (keys, values): (&[f32], &[f32]),
        scores: &mut [f32],
    ) {
        let [key, value] = [p.key_length, p.value_length].map(|length| length as usize);
        let count = scores.len() / self.width;
        let last = start + count - 1;
        let (first_end, last_end) =
            self.seen.iter().fold((u32::MAX, 0), |(a, b), seen| (a.min(seen[1]), b.max(seen[1])));
        let (first_start, last_start) =
            self.seen.iter().fold((u32::MAX, 0), |(a, b), seen| (a.min(seen[0]), b.max(seen[0])));
        if start > last_end as usize || last < first_start as usize {
            return;
        }
        let products = Tile {
            x: keys.as_ptr(),
            x_stride: key,
            x_step: 1,
            depth: key,
            w: self.queries.as_ptr(),
            bias: None,
            y: scores.as_mut_ptr(),
            y_stride: self.width,
            columns: self.width,
            add: false,
        };
        // SAFETY: so many keys are there, a panel of queries, and room for their scores.
        unsafe { products.rows(level, count) };
        let partly = last > first_end as usize || start < last_start as usize;
        level.run(Weigh { panel: self, soft_cap: p.soft_cap, scores, start: partly.then_some(start) });
        let sums = Tile {
            x: values.as_ptr(),
            x_stride: 1,
            x_step: value,
            depth: count,
            w: scores.as_ptr(),
            bias: None,
            y: self.sums.as_mut_ptr(),
            y_stride: self.width,
            columns: self.width,
            add: true,
        };
        // SAFETY: as many values are there as rows of weights, and a row of sums for each number of a value.
        unsafe { sums.rows(level, value) };
    }
}

/// Lines of a cache as numbers.
struct Read<'a> {
    text: &'a Text<'a>,
    cache: &'a [u32],
    start: usize,
    length: usize,
    to: &'a mut [f32],
}

impl Task for Read<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (at, to) in self.to.chunks_exact_mut(self.length.max(1)).enumerate() {
            load(simd, self.text.bytes, self.cache, self.text.place(self.start + at), to);
        }
    }
}

/// Scores of a panel made weights, and its sums adapted to them.
struct Weigh<'a, 'b> {
    panel: &'a mut Panel<'b>,
    soft_cap: f32,
    scores: &'a mut [f32],
    /// The position of the first key, where not all queries see all of them.
    start: Option<usize>,
}

impl Task for Weigh<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // Arrays of a known length become registers.
        match S::LANES {
            16 => self.weigh::<16>(),
            8 => self.weigh::<8>(),
            _ => self.weigh::<4>(),
        }
    }
}

impl Weigh<'_, '_> {
    #[inline(always)]
    fn weigh<const L: usize>(self) {
        let width = self.panel.width / L;
        let scores = self.scores.as_chunks_mut::<L>().0;
        if self.soft_cap > 0.0 {
            for score in scores.as_flattened_mut() {
                *score = capped(*score, self.soft_cap);
            }
        }
        let seen = self.panel.seen.as_chunks::<L>().0;
        if let Some(start) = self.start {
            for (at, scores) in scores.chunks_exact_mut(width).enumerate() {
                let position = (start + at) as u32;
                for (score, [first, last]) in scores.as_flattened_mut().iter_mut().zip(seen.as_flattened()) {
                    *score = if position < *first || position > *last { f32::NEG_INFINITY } else { *score };
                }
            }
        }
        let most = self.panel.most.as_chunks_mut::<L>().0;
        let total = self.panel.total.as_chunks_mut::<L>().0;
        let sums = self.panel.sums.as_chunks_mut::<L>().0;
        for (v, (most, total)) in most.iter_mut().zip(total).enumerate() {
            let mut greatest = *most;
            for scores in scores.iter().skip(v).step_by(width) {
                for (most, &score) in greatest.iter_mut().zip(scores) {
                    *most = if score > *most { score } else { *most };
                }
            }
            let mut weights = [0.0; L];
            for scores in scores.iter_mut().skip(v).step_by(width) {
                for ((score, sum), most) in scores.iter_mut().zip(&mut weights).zip(&greatest) {
                    *score = single::exp(*score - most);
                    *sum += *score;
                }
            }
            let mut factors = [0.0; L];
            for ((factor, before), now) in factors.iter_mut().zip(&*most).zip(&greatest) {
                *factor = single::exp(before - now);
            }
            for ((total, factor), more) in total.iter_mut().zip(&factors).zip(&weights) {
                *total = *total * factor + more;
            }
            if *most != greatest {
                for sums in sums.iter_mut().skip(v).step_by(width) {
                    sums.iter_mut().zip(&factors).for_each(|(sum, factor)| *sum *= factor);
                }
            }
            *most = greatest;
        }
    }
}
