//! `attention`: one head at a time, so that its scores stay in the caches.

use std::cell::Cell;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, AccessRange, Extent};
use super::{fast_math, partition};
use crate::KernelFactory;
use roci_families::Attention as Params;
use roci_simd::gemm::PANEL;
use roci_simd::gemm::PanelTile;
use roci_simd::{CacheLine, Level, Simd, Task};
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[("attention", |level| Arc::new(Attention(level)))];

/// Rows of scores computed at a time.
const ROWS: usize = 8;
/// Parts per worker, for load balancing.
const PER_WORKER: usize = 8;
/// Minimum multiplications per part.
const MIN_WORK: u64 = 1 << 18;

thread_local! {
    /// Packed keys and values and some rows of scores; reused for the next head on this thread.
    static SCRATCH: Cell<Vec<CacheLine>> = const { Cell::new(Vec::new()) };
}

pub(super) struct Attention(pub(super) Level);

fn units(p: &Params) -> usize {
    p.batch as usize * p.heads as usize
}

/// The extent of an operand with these strides and `heads` heads.
fn extent(p: &Params, heads: u32, [batch, head, row]: [u32; 3], rows: u32, width: u32) -> Extent {
    Extent::of(&[(p.batch, batch), (heads, head), (rows, row), (width, 1)])
}

// SAFETY: `prepare` checks all operands against their bindings, rejects results that overlap one of
// them, and rows of the result that overlap each other; a part is some whole heads.
unsafe impl NativeKernel for Attention {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        &[Read, Read, Read, Read, ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: Params = check::constants(launch)?;
        let [q, k, v, mask, y] = check::bindings::<5>(launch)?;
        let [_, _, row] = p.y;
        // Heads and rows in either order, in a batch or across batches.
        let rows_are_disjoint = |mut steps: [(u32, u32); 3]| {
            steps.sort_unstable_by_key(|(_, stride)| *stride);
            let mut span = u128::from(p.width);
            steps.iter().filter(|(count, _)| *count > 1).all(|&(count, stride)| {
                let fits = u128::from(stride) >= span;
                span = u128::from(stride) * u128::from(count);
                fits
            })
        };
        let is_empty = [p.batch, p.heads, p.rows, p.width].contains(&0);
        if !is_empty && !rows_are_disjoint([(p.batch, p.y[0]), (p.heads, p.y[1]), (p.rows, row)]) {
            return Err(format!("rows of `y` overlap with strides of {:?}", p.y));
        }
        if p.gqa_ratio == 0 {
            return Err("`gqa_ratio` is 0; each KV head needs at least one query head".to_owned());
        }
        let groups = p.heads.div_ceil(p.gqa_ratio);
        let y = AccessRange::write::<f32>("y", y, extent(&p, p.heads, p.y, p.rows, p.width))?;
        y.disjoint_from(&AccessRange::read::<f32>("q", q, extent(&p, p.heads, p.q, p.rows, p.size))?)?;
        y.disjoint_from(&AccessRange::read::<f32>("k", k, extent(&p, groups, p.k, p.keys, p.size))?)?;
        y.disjoint_from(&AccessRange::read::<f32>("v", v, extent(&p, groups, p.v, p.keys, p.width))?)?;
        if p.flags & Params::MASK != 0 {
            let [batch, head, row, key] = p.mask;
            let dimensions = [(p.batch, batch), (p.heads, head), (p.rows, row), (p.keys, key)];
            y.disjoint_from(&AccessRange::read::<f32>("mask", mask, Extent::of(&dimensions))?)?;
        }
        let sizes = [p.batch, p.heads, p.rows, p.keys, p.size.max(p.width)];
        let work = sizes.into_iter().fold(1u64, |all, size| all.saturating_mul(size.into()));
        let max = usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        Ok(if work == 0 { 0 } else { units(&p).min(max).min(PER_WORKER * launch.workers.max(1)) })
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<Params>(launch) else { return };
        let [q, k, v, mask, y] = [0, 1, 2, 3, 4].map(|i| launch.bindings[i].pointer.cast::<f32>());
        for unit in partition::range(units(&p), 1, part, parts) {
            let (batch, head) = (unit / p.heads as usize, unit % p.heads as usize);
            let at = |start: *mut f32, strides: &[u32], head: usize| {
                start.wrapping_add(batch * strides[0] as usize + head * strides[1] as usize)
            };
            let group = head / p.gqa_ratio as usize;
            let mask = (p.flags & Params::MASK != 0).then(|| at(mask, &p.mask, head).cast_const());
            let [q, k, v] = [at(q, &p.q, head), at(k, &p.k, group), at(v, &p.v, group)].map(<*mut f32>::cast_const);
            Head { p: &p, q, k, v, mask, y: at(y, &p.y, head) }.compute(self.0);
        }
    }
}

struct Head<'a> {
    p: &'a Params,
    q: *const f32,
    k: *const f32,
    v: *const f32,
    mask: Option<*const f32>,
    y: *mut f32,
}

impl Head<'_> {
    fn compute(&self, level: Level) {
        let p = self.p;
        let lanes = level.lanes();
        let [rows, keys, size, width] = [p.rows, p.keys, p.size, p.width].map(|size| size as usize);
        // Whole cache lines of scores at any level; the padding has weight zero.
        let (wide_keys, wide) = (keys.next_multiple_of(CacheLine::WORDS), width.next_multiple_of(lanes));
        let mut scratch = SCRATCH.take();
        let room = (wide_keys * size + wide * keys + ROWS * wide_keys).div_ceil(CacheLine::WORDS);
        if scratch.len() < room {
            scratch.resize(room, CacheLine::ZERO);
        }
        let floats: &mut [f32] = bytemuck::cast_slice_mut(CacheLine::words(&mut scratch));
        let (packed_keys, rest) = floats.split_at_mut(wide_keys * size);
        let (packed_values, scores) = rest.split_at_mut(wide * keys);
        let panel = PANEL * lanes;
        for first in (0..wide_keys).step_by(panel) {
            let columns = panel.min(wide_keys - first);
            let target = &mut packed_keys[first * size..][..columns * size];
            for column in 0..columns {
                let key = self.k.wrapping_add((first + column) * p.k[2] as usize);
                for d in 0..size {
                    target[d * columns + column] = if first + column < keys {
                        // SAFETY: an element of an existing key.
                        unsafe { *key.wrapping_add(d) }
                    } else {
                        0.0
                    };
                }
            }
        }
        for first in (0..wide).step_by(panel) {
            let columns = panel.min(wide - first);
            let there = columns.min(width - first);
            let target = &mut packed_values[first * keys..][..columns * keys];
            for (key, target) in target.chunks_exact_mut(columns).enumerate() {
                let value = self.v.wrapping_add(key * p.v[2] as usize + first);
                // SAFETY: the row of a value has `there` elements from here on.
                target[..there].copy_from_slice(unsafe { std::slice::from_raw_parts(value, there) });
                target[there..].fill(0.0);
            }
        }
        for row in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - row);
            for first in (0..wide_keys).step_by(panel) {
                let tile = PanelTile {
                    x: self.q.wrapping_add(row * p.q[2] as usize),
                    x_stride: p.q[2] as usize,
                    x_step: 1,
                    depth: size,
                    w: packed_keys[first * size..].as_ptr(),
                    bias: None,
                    y: scores[first..].as_mut_ptr(),
                    y_stride: wide_keys,
                    columns: panel.min(wide_keys - first),
                    add: false,
                };
                // SAFETY: these rows of the queries exist, and there is room for as many rows of
                // scores.
                unsafe { tile.rows(level, count) };
            }
            for (index, scores) in scores.chunks_exact_mut(wide_keys).take(count).enumerate() {
                let mask = self.mask.map(|mask| mask.wrapping_add((row + index) * p.mask[2] as usize));
                let visible = match p.flags & Params::CAUSAL {
                    0 => keys,
                    _ => keys.min((row + index + 1).saturating_add(p.past as usize)),
                };
                level.run(SoftmaxRow { p, scores, mask, visible });
            }
            for first in (0..wide).step_by(panel) {
                let tile = PanelTile {
                    x: scores.as_ptr(),
                    x_stride: wide_keys,
                    x_step: 1,
                    depth: keys,
                    w: packed_values[first * keys..].as_ptr(),
                    bias: None,
                    y: self.y.wrapping_add(row * p.y[2] as usize + first),
                    y_stride: p.y[2] as usize,
                    columns: panel.min(width - first),
                    add: false,
                };
                // SAFETY: that many rows of scores were computed; only this head touches its rows
                // of the result.
                unsafe { tile.rows(level, count) };
            }
        }
        SCRATCH.set(scratch);
    }
}

/// Turns the scores of one row into weights.
struct SoftmaxRow<'a> {
    p: &'a Params,
    /// Padded to whole cache lines; the first elements are the scores, one per key.
    scores: &'a mut [f32],
    /// One mask element per key, `p.mask[3]` elements apart.
    mask: Option<*const f32>,
    /// Number of keys that the row attends to, from the first one.
    visible: usize,
}

impl Task for SoftmaxRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        softmax_row(self.p, self.scores, self.mask, self.visible);
    }
}

#[inline(always)]
fn softmax_row(p: &Params, all: &mut [f32], mask: Option<*const f32>, visible: usize) {
    let (scores, spare) = all.split_at_mut(visible);
    spare.fill(f32::NEG_INFINITY);
    match mask {
        Some(mask) if p.mask[3] == 1 => {
            // SAFETY: the row has an element for each score, which `prepare` checked against the
            // binding.
            let mask = unsafe { std::slice::from_raw_parts(mask, scores.len()) };
            scores.iter_mut().zip(mask).for_each(|(score, mask)| *score = *score * p.scale + mask);
        }
        Some(mask) => {
            for (index, score) in scores.iter_mut().enumerate() {
                // SAFETY: as above.
                *score = *score * p.scale + unsafe { *mask.wrapping_add(index * p.mask[3] as usize) };
            }
        }
        None => scores.iter_mut().for_each(|score| *score *= p.scale),
    }
    let lines = all.as_chunks_mut::<{ CacheLine::WORDS }>().0;
    let max = maximum(lines);
    if max == f32::NEG_INFINITY && p.flags & Params::STRICT == 0 {
        return all.fill(0.0);
    }
    let mut sums = [0.0f32; CacheLine::WORDS];
    for line in lines {
        for (score, sum) in line.iter_mut().zip(&mut sums) {
            *score = fast_math::exp(*score - max);
            *sum += *score;
        }
    }
    let share = 1.0 / sums.iter().sum::<f32>();
    all.iter_mut().for_each(|score| *score *= share);
}

/// The maximum; NaN if there is one.
#[inline(always)]
fn maximum(lines: &[[f32; CacheLine::WORDS]]) -> f32 {
    let greater = |a: f32, b: f32| if b > a || b.is_nan() { b } else { a };
    let mut max = [f32::NEG_INFINITY; CacheLine::WORDS];
    for line in lines {
        max.iter_mut().zip(line).for_each(|(max, &score)| *max = greater(*max, score));
    }
    max.into_iter().fold(f32::NEG_INFINITY, greater)
}
