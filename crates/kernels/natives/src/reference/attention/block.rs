//! Computes the queries of several tokens together, against some keys at a time.
//!
//! Lanes are queries; keys and values keep the layout of the caches. So only the queries are
//! transposed, no vector is summed across its lanes, and the state of each query (its maximum
//! score, the sum of its weights) is a lane too.

use super::{SequenceTokens, apply_soft_cap, load};
use crate::fast_math;
use roci_families::LmAttention;
use roci_simd::gemm::PANEL;
use roci_simd::gemm::PanelTile;
use roci_simd::{CacheLine, Level, Simd, Task};

/// Keys processed at a time: with a panel of queries and their scores they fit the L1 cache.
const KEYS: usize = 64;
/// Below any relevant score, but finite: avoids infinities for a query that has not attended to any
/// key yet.
const MIN_SCORE: f32 = -1.0e30;

/// Buffers that are reused for the next block.
#[derive(Default)]
pub(super) struct Scratch(Vec<CacheLine>);

/// Queries of a panel, and their running state.
struct Panel<'a> {
    /// The first query of the block.
    first: usize,
    /// Queries, padded to whole vectors.
    width: usize,
    /// Transposed: `width` queries for each element.
    queries: &'a mut [f32],
    /// Sums of values, in the same layout.
    sums: &'a mut [f32],
    max: &'a mut [f32],
    total: &'a mut [f32],
    /// The first and the last position that each query attends to.
    visible: &'a mut [[u32; 2]],
    /// The position and the ALiBi slope of each query.
    positions: &'a mut [u32],
    slopes: &'a mut [f32],
}

impl SequenceTokens<'_> {
    /// Computes all tokens at once.
    pub(super) fn block(&self, scratch: &mut Scratch) {
        let (p, level) = (self.p, self.level);
        let [keys, values] = [p.key_length, p.value_length].map(|length| length as usize);
        let query_heads = self.query_heads();
        let lanes = level.lanes();
        let rows = self.tokens.len() * query_heads;
        let wide = rows.next_multiple_of(lanes);
        let sizes = [
            wide * keys,
            wide * values,
            wide,
            wide,
            2 * wide,
            wide,
            wide,
            KEYS * keys,
            KEYS * values,
            KEYS * PANEL * lanes,
        ];
        let sizes = sizes.map(|size| size.next_multiple_of(CacheLine::WORDS));
        let room = sizes.iter().sum::<usize>() / CacheLine::WORDS;
        if scratch.0.len() < room {
            scratch.0.resize(room, CacheLine::ZERO);
        }
        let mut rest = CacheLine::words(&mut scratch.0);
        let [queries, sums, max, total, visible, mut positions, slopes, key_tile, value_tile, scores] =
            sizes.map(|size| {
                let (taken, left) = std::mem::take(&mut rest).split_at_mut(size);
                rest = left;
                taken
            });
        let [mut queries, mut sums, mut max, mut total, mut slopes] =
            [queries, sums, max, total, slopes].map(bytemuck::cast_slice_mut::<u32, f32>);
        let [key_tile, value_tile, scores] = [key_tile, value_tile, scores].map(bytemuck::cast_slice_mut::<u32, f32>);
        let mut visible: &mut [[u32; 2]] = bytemuck::cast_slice_mut(visible);
        let mut panels = Vec::with_capacity(wide.div_ceil(PANEL * lanes));
        for first in (0..wide).step_by(PANEL * lanes) {
            let width = (wide - first).min(PANEL * lanes);
            let mut panel = Panel {
                first,
                width,
                queries: queries.split_off_mut(..width * keys).unwrap_or_default(),
                sums: sums.split_off_mut(..width * values).unwrap_or_default(),
                max: max.split_off_mut(..width).unwrap_or_default(),
                total: total.split_off_mut(..width).unwrap_or_default(),
                visible: visible.split_off_mut(..width).unwrap_or_default(),
                positions: positions.split_off_mut(..width).unwrap_or_default(),
                slopes: slopes.split_off_mut(..width).unwrap_or_default(),
            };
            self.init(&mut panel, rows);
            panels.push(panel);
        }
        let all = panels.iter().flat_map(|panel| &*panel.visible);
        let (start, end) =
            all.fold((u32::MAX, 0), |(start, end), visible| (start.min(visible[0]), end.max(visible[1])));
        // The start positions of tiles do not depend on how work is split, so neither does the
        // result.
        let mut start = start as usize / KEYS * KEYS;
        while start <= end as usize {
            let count = KEYS.min(end as usize + 1 - start);
            let (key_tile, value_tile) = (&mut key_tile[..count * keys], &mut value_tile[..count * values]);
            level.run(LoadRows { sequence: self, cache: self.inputs[2], start, length: keys, to: key_tile });
            if p.values_in_keys == 0 {
                level.run(LoadRows { sequence: self, cache: self.inputs[3], start, length: values, to: value_tile });
            }
            for panel in &mut panels {
                panel.update(p, level, start, (key_tile, value_tile), &mut scores[..count * panel.width]);
            }
            start += KEYS;
        }
        for panel in &panels {
            let width = panel.width;
            for lane in 0..width.min(rows - panel.first) {
                let row = panel.first + lane;
                let sums = |d: usize| panel.sums[d * width + lane];
                let ends = (panel.max[lane], panel.total[lane]);
                self.finish(self.tokens.start + row / query_heads, row % query_heads, sums, ends);
            }
        }
    }

    /// Initializes a panel. Padding lanes attend to the positions of the last query.
    fn init(&self, panel: &mut Panel<'_>, rows: usize) {
        panel.sums.fill(0.0);
        panel.max.fill(MIN_SCORE);
        panel.total.fill(0.0);
        panel.queries.fill(0.0);
        for lane in 0..panel.width {
            let row = (panel.first + lane).min(rows - 1);
            let (token, head) = (self.tokens.start + row / self.query_heads(), row % self.query_heads());
            let visible = self.visible(token);
            panel.visible[lane] = [visible.start as u32, (visible.end - 1) as u32];
            panel.positions[lane] = self.position(token) as u32;
            panel.slopes[lane] = self.slope(head);
            for (d, value) in self.query(token, head).iter().enumerate() {
                panel.queries[d * panel.width + lane] = value * self.p.scale;
            }
        }
    }
}

impl Panel<'_> {
    /// Adds keys and values of positions from `start` on.
    fn update(
        &mut self,
        p: &LmAttention,
        level: Level,
        start: usize,
        (keys, values): (&[f32], &[f32]),
        scores: &mut [f32],
    ) {
        let [key, value] = [p.key_length, p.value_length].map(|length| length as usize);
        // Values of this many elements, this far apart.
        let (values, pitch) = if p.values_in_keys == 0 { (values, value) } else { (&keys[key - value..], key) };
        let count = scores.len() / self.width;
        let last = start + count - 1;
        let (first_end, last_end) =
            self.visible.iter().fold((u32::MAX, 0), |(a, b), visible| (a.min(visible[1]), b.max(visible[1])));
        let (first_start, last_start) =
            self.visible.iter().fold((u32::MAX, 0), |(a, b), visible| (a.min(visible[0]), b.max(visible[0])));
        if start > last_end as usize || last < first_start as usize {
            return;
        }
        let products = PanelTile {
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
        // SAFETY: `count` keys and a panel of queries exist, and there is room for their scores.
        unsafe { products.rows(level, count) };
        let partly = last > first_end as usize || start < last_start as usize;
        let alibi = (p.alibi_heads > 0).then_some(start);
        let start = partly.then_some(start);
        level.run(SoftmaxUpdate { panel: self, soft_cap: p.soft_cap, scores, start, alibi });
        let sums = PanelTile {
            x: values.as_ptr(),
            x_stride: 1,
            x_step: pitch,
            depth: count,
            w: scores.as_ptr(),
            bias: None,
            y: self.sums.as_mut_ptr(),
            y_stride: self.width,
            columns: self.width,
            add: true,
        };
        // SAFETY: there are as many values as rows of weights, and a row of sums for each element
        // of a value.
        unsafe { sums.rows(level, value) };
    }
}

/// Dequantizes rows of a cache.
struct LoadRows<'a> {
    sequence: &'a SequenceTokens<'a>,
    cache: &'a [u32],
    start: usize,
    length: usize,
    to: &'a mut [f32],
}

impl Task for LoadRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for (at, to) in self.to.chunks_exact_mut(self.length.max(1)).enumerate() {
            load(simd, self.sequence.bytes, self.cache, self.sequence.cache_row(self.start + at), to);
        }
    }
}

/// Turns the scores of a panel into weights, and rescales its sums.
struct SoftmaxUpdate<'a, 'b> {
    panel: &'a mut Panel<'b>,
    soft_cap: f32,
    scores: &'a mut [f32],
    /// The position of the first key, unless all queries attend to all of these keys.
    start: Option<usize>,
    /// The position of the first key, with ALiBi.
    alibi: Option<usize>,
}

impl Task for SoftmaxUpdate<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // Arrays of a constant length become registers.
        match S::LANES {
            16 => self.update::<16>(),
            8 => self.update::<8>(),
            _ => self.update::<4>(),
        }
    }
}

impl SoftmaxUpdate<'_, '_> {
    #[inline(always)]
    fn update<const L: usize>(self) {
        let width = self.panel.width / L;
        let scores = self.scores.as_chunks_mut::<L>().0;
        if self.soft_cap > 0.0 {
            for score in scores.as_flattened_mut() {
                *score = apply_soft_cap(*score, self.soft_cap);
            }
        }
        if let Some(start) = self.alibi {
            for (at, scores) in scores.chunks_exact_mut(width).enumerate() {
                let lanes = self.panel.positions.iter().zip(&*self.panel.slopes);
                for (score, (position, slope)) in scores.as_flattened_mut().iter_mut().zip(lanes) {
                    *score -= slope * ((start + at) as u32).abs_diff(*position) as f32;
                }
            }
        }
        let visible = self.panel.visible.as_chunks::<L>().0;
        if let Some(start) = self.start {
            for (at, scores) in scores.chunks_exact_mut(width).enumerate() {
                let position = (start + at) as u32;
                for (score, [first, last]) in scores.as_flattened_mut().iter_mut().zip(visible.as_flattened()) {
                    *score = if position < *first || position > *last { f32::NEG_INFINITY } else { *score };
                }
            }
        }
        let max = self.panel.max.as_chunks_mut::<L>().0;
        let total = self.panel.total.as_chunks_mut::<L>().0;
        let sums = self.panel.sums.as_chunks_mut::<L>().0;
        for (v, (max, total)) in max.iter_mut().zip(total).enumerate() {
            let mut new_max = *max;
            for scores in scores.iter().skip(v).step_by(width) {
                for (max, &score) in new_max.iter_mut().zip(scores) {
                    *max = if score > *max { score } else { *max };
                }
            }
            let mut weights = [0.0; L];
            for scores in scores.iter_mut().skip(v).step_by(width) {
                for ((score, sum), max) in scores.iter_mut().zip(&mut weights).zip(&new_max) {
                    *score = fast_math::exp(*score - max);
                    *sum += *score;
                }
            }
            let mut factors = [0.0; L];
            for ((factor, before), now) in factors.iter_mut().zip(&*max).zip(&new_max) {
                *factor = fast_math::exp(before - now);
            }
            for ((total, factor), more) in total.iter_mut().zip(&factors).zip(&weights) {
                *total = *total * factor + more;
            }
            if *max != new_max {
                for sums in sums.iter_mut().skip(v).step_by(width) {
                    sums.iter_mut().zip(&factors).for_each(|(sum, factor)| *sum *= factor);
                }
            }
            *max = new_max;
        }
    }
}
