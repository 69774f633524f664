//! `attention`: a head at a time, so that its scores never leave the caches.

use std::cell::Cell;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::check::{self, Access, Extent};
use super::matmul::packed::Tile;
use super::matmul::tile::PANEL;
use super::simd::{Level, Line, Simd, Task};
use super::{parts, single};
use crate::params::Attention as Params;

/// Rows of scores at a time.
const ROWS: usize = 8;
/// Parts for each worker.
const PER_WORKER: usize = 8;
/// Multiplications that are worth a part.
const MIN_WORK: u64 = 1 << 18;

thread_local! {
    /// Packed keys and values and a few rows of scores, kept for the next head of this thread.
    static SCRATCH: Cell<Vec<Line>> = const { Cell::new(Vec::new()) };
}

/// The kernel.
pub(super) struct Attention(pub(super) Level);

fn units(p: &Params) -> usize {
    p.batch as usize * p.heads as usize
}

/// How far an operand with these strides reaches, of so many heads.
fn extent(p: &Params, heads: u32, [batch, head, row]: [u32; 3], rows: u32, width: u32) -> Extent {
    Extent::of(&[(p.batch, batch), (heads, head), (rows, row), (width, 1)])
}

// SAFETY: `prepare` holds all operands against their bindings, refuses results that overlap one of them, and rows of the
// result that overlap each other; a part is some whole heads.
unsafe impl NativeKernel for Attention {
    fn accesses(&self) -> &[roci_hal::Access] {
        use roci_hal::Access::{Read, ReadWrite};
        &[Read, Read, Read, Read, ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: Params = check::constants(launch)?;
        let [q, k, v, mask, y] = check::bindings::<5>(launch)?;
        let [_, _, row] = p.y;
        // Either order of heads and rows, or a batch at a time.
        let apart = |mut steps: [(u32, u32); 3]| {
            steps.sort_unstable_by_key(|(_, stride)| *stride);
            let mut span = u128::from(p.width);
            steps.iter().filter(|(count, _)| *count > 1).all(|&(count, stride)| {
                let fits = u128::from(stride) >= span;
                span = u128::from(stride) * u128::from(count);
                fits
            })
        };
        let is_empty = [p.batch, p.heads, p.rows, p.width].contains(&0);
        if !is_empty && !apart([(p.batch, p.y[0]), (p.heads, p.y[1]), (p.rows, row)]) {
            return Err(format!("rows of `y` overlap with strides of {:?}", p.y));
        }
        if p.shared_by == 0 {
            return Err("heads share their keys by none".to_owned());
        }
        let groups = p.heads.div_ceil(p.shared_by);
        let y = Access::write::<f32>("y", y, extent(&p, p.heads, p.y, p.rows, p.width))?;
        y.apart_from(&Access::read::<f32>("q", q, extent(&p, p.heads, p.q, p.rows, p.size))?)?;
        y.apart_from(&Access::read::<f32>("k", k, extent(&p, groups, p.k, p.keys, p.size))?)?;
        y.apart_from(&Access::read::<f32>("v", v, extent(&p, groups, p.v, p.keys, p.width))?)?;
        if p.flags & Params::MASK != 0 {
            let [batch, head, row, key] = p.mask;
            let dimensions = [(p.batch, batch), (p.heads, head), (p.rows, row), (p.keys, key)];
            y.apart_from(&Access::read::<f32>("mask", mask, Extent::of(&dimensions))?)?;
        }
        let sizes = [p.batch, p.heads, p.rows, p.keys, p.size.max(p.width)];
        let work = sizes.into_iter().fold(1u64, |all, size| all.saturating_mul(size.into()));
        let most = usize::try_from(work / MIN_WORK).unwrap_or(usize::MAX).max(1);
        Ok(if work == 0 { 0 } else { units(&p).min(most).min(PER_WORKER * launch.workers.max(1)) })
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<Params>(launch) else { return };
        let [q, k, v, mask, y] = [0, 1, 2, 3, 4].map(|i| launch.bindings[i].pointer.cast::<f32>());
        for unit in parts::share(units(&p), 1, part, parts) {
            let (batch, head) = (unit / p.heads as usize, unit % p.heads as usize);
            let at = |start: *mut f32, strides: &[u32], head: usize| {
                start.wrapping_add(batch * strides[0] as usize + head * strides[1] as usize)
            };
            let group = head / p.shared_by as usize;
            let mask = (p.flags & Params::MASK != 0).then(|| at(mask, &p.mask, head).cast_const());
            let [q, k, v] = [at(q, &p.q, head), at(k, &p.k, group), at(v, &p.v, group)].map(<*mut f32>::cast_const);
            Head { p: &p, q, k, v, mask, y: at(y, &p.y, head) }.compute(self.0);
        }
    }
}

/// One head.
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
        // Whole lines of scores, whatever the level: what fills them up weighs nothing.
        let (wide_keys, wide) = (keys.next_multiple_of(Line::WORDS), width.next_multiple_of(lanes));
        let mut scratch = SCRATCH.take();
        let room = (wide_keys * size + wide * keys + ROWS * wide_keys).div_ceil(Line::WORDS);
        if scratch.len() < room {
            scratch.resize(room, Line::ZERO);
        }
        let numbers: &mut [f32] = bytemuck::cast_slice_mut(Line::words(&mut scratch));
        let (packed_keys, rest) = numbers.split_at_mut(wide_keys * size);
        let (packed_values, scores) = rest.split_at_mut(wide * keys);
        let panel = PANEL * lanes;
        for first in (0..wide_keys).step_by(panel) {
            let columns = panel.min(wide_keys - first);
            let target = &mut packed_keys[first * size..][..columns * size];
            for column in 0..columns {
                let key = self.k.wrapping_add((first + column) * p.k[2] as usize);
                for d in 0..size {
                    target[d * columns + column] = if first + column < keys {
                        // SAFETY: an element of a key; behind the last key nothing is read.
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
                // SAFETY: so much of a value's row is there.
                target[..there].copy_from_slice(unsafe { std::slice::from_raw_parts(value, there) });
                target[there..].fill(0.0);
            }
        }
        for row in (0..rows).step_by(ROWS) {
            let count = ROWS.min(rows - row);
            for first in (0..wide_keys).step_by(panel) {
                let tile = Tile {
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
                // SAFETY: these rows of the queries are there, and room for as many of scores.
                unsafe { tile.rows(level, count) };
            }
            for (index, scores) in scores.chunks_exact_mut(wide_keys).take(count).enumerate() {
                let mask = self.mask.map(|mask| mask.wrapping_add((row + index) * p.mask[2] as usize));
                let seen = match p.flags & Params::CAUSAL {
                    0 => keys,
                    _ => keys.min((row + index + 1).saturating_add(p.past as usize)),
                };
                level.run(Weights { p, scores, mask, seen });
            }
            for first in (0..wide).step_by(panel) {
                let tile = Tile {
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
                // SAFETY: as many rows of scores were made, and those of the result are this head's alone.
                unsafe { tile.rows(level, count) };
            }
        }
        SCRATCH.set(scratch);
    }
}

/// Scores of one row made weights.
struct Weights<'a> {
    p: &'a Params,
    /// Whole lines, of which as many count as there are keys.
    scores: &'a mut [f32],
    /// An element for each key, `p.mask[3]` apart.
    mask: Option<*const f32>,
    /// How many keys the row sees, from the first on.
    seen: usize,
}

impl Task for Weights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        weigh(self.p, self.scores, self.mask, self.seen);
    }
}

#[inline(always)]
fn weigh(p: &Params, all: &mut [f32], mask: Option<*const f32>, seen: usize) {
    let (scores, spare) = all.split_at_mut(seen);
    spare.fill(f32::NEG_INFINITY);
    match mask {
        Some(mask) if p.mask[3] == 1 => {
            // SAFETY: the row has an element for each score, which `prepare` held against the binding.
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
    let lines = all.as_chunks_mut::<{ Line::WORDS }>().0;
    let most = largest(lines);
    if most == f32::NEG_INFINITY && p.flags & Params::STRICT == 0 {
        return all.fill(0.0);
    }
    let mut sums = [0.0f32; Line::WORDS];
    for line in lines {
        for (score, sum) in line.iter_mut().zip(&mut sums) {
            *score = single::exp(*score - most);
            *sum += *score;
        }
    }
    let share = 1.0 / sums.iter().sum::<f32>();
    all.iter_mut().for_each(|score| *score *= share);
}

/// The greatest of some numbers; NaN where one is.
#[inline(always)]
fn largest(lines: &[[f32; Line::WORDS]]) -> f32 {
    let greater = |a: f32, b: f32| if b > a || b.is_nan() { b } else { a };
    let mut most = [f32::NEG_INFINITY; Line::WORDS];
    for line in lines {
        most.iter_mut().zip(line).for_each(|(most, &score)| *most = greater(*most, score));
    }
    most.into_iter().fold(f32::NEG_INFINITY, greater)
}
