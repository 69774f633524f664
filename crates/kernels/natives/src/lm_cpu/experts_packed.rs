//! `lm_experts_packed`: products with the matrices of experts, packed or in place, for the tokens
//! that chose them.
//!
//! Pairs of a token and an expert are grouped by expert, so that a batch reads each matrix once.
//! The selected experts are data, so every part groups the pairs itself and takes its share of the
//! panels: an equal share of the estimated time.

use std::cell::RefCell;
use std::ops::Range;

use roci_families::LmExpertsPacked;
use roci_gguf::Type;
use roci_hal::native::{NativeKernel, NativeLaunch};
use roci_simd::Level;
use roci_simd::quantized::{
    Format, GROUP, GROUP_BYTES, MatrixProduct, ROWS, Segment, gather_tokens, row_decoded_in_place,
};

use super::super::check::{self, AccessRange, Extent};
use super::super::{memory, partition};
use super::read_ahead::read_ahead;
use crate::KernelFactory;
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("lm_experts_packed", size_of::<LmExpertsPacked>(), |level| Arc::new(ExpertsPacked(level)))];

/// Number of tokens whose products take as long as reading the weights.
const TOKENS_PER_READ: u64 = 16;

thread_local! {
    /// Buffers that later parts on this thread reuse.
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

/// Inputs and results of an expert's tokens.
#[derive(Default)]
struct Buffers {
    tokens: Vec<usize>,
    quantized: Vec<u8>,
    floats: Vec<f32>,
    results: Vec<f32>,
}

pub(in super::super) struct ExpertsPacked(pub(in super::super) Level);

// SAFETY: `prepare` checks the arrays against their bindings and rejects results that overlap an
// input. All parts group the same pairs, and their shares of the panels are disjoint.
unsafe impl NativeKernel for ExpertsPacked {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(6)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: LmExpertsPacked = check::constants(launch)?;
        let [w, x, ids, bias, scales, y] = check::bindings(launch)?;
        if p.pairs == 0 || p.rows == 0 {
            return Ok(0);
        }
        let layout = Layout::of(&p)?;
        let format = layout.format;
        let step = format.column_step();
        if !p.columns.is_multiple_of(step as u32) {
            return Err(format!("{} columns are not a multiple of {step}", p.columns));
        }
        if p.flags & LmExpertsPacked::SCALED != 0 && !Type::from_id(p.format).is_some_and(Type::has_code_groups) {
            return Err("weights of this type have no scale".to_owned());
        }
        let outputs = u64::from(p.matrices) * u64::from(p.rows);
        if p.pairs > 1 && u64::from(p.y_stride) < outputs {
            return Err(format!("{outputs} rows per pair overlap with a stride of {}", p.y_stride));
        }
        let w = AccessRange::read::<u8>("w", w, Extent::count(layout.reach(&p)))?;
        let tokens = p.pairs.div_ceil(p.sharing);
        let x = if format.is_float() {
            AccessRange::read::<f32>("x", x, Extent::of(&[(tokens, p.x_stride), (p.columns, 1)]))?
        } else {
            let words = u128::from(tokens) * u128::from(p.columns) / GROUP as u128 * (GROUP_BYTES / 4) as u128;
            AccessRange::read::<u32>("x", x, Extent::count(words))?
        };
        let mut inputs = vec![w, x, AccessRange::read::<u32>("ids", ids, Extent::count(p.pairs.into()))?];
        if p.flags & LmExpertsPacked::BIAS != 0 {
            let extent = Extent::product(&[p.experts, p.matrices, p.rows]);
            inputs.push(AccessRange::read::<f32>("bias", bias, extent)?);
        }
        if p.flags & LmExpertsPacked::SCALED != 0 {
            inputs.push(AccessRange::read::<f32>("scales", scales, Extent::product(&[p.experts, p.matrices]))?);
        }
        let extent = Extent::of(&[(p.pairs, p.y_stride), (p.matrices, p.rows), (p.rows, 1)]).offset_by(p.y_offset);
        let y = AccessRange::write::<f32>("y", y, extent)?.skip::<f32>(p.y_offset);
        inputs.iter().try_for_each(|input| y.disjoint_from(input))?;

        let chosen = p.pairs.min(p.experts);
        let panels = u64::from(chosen) * u64::from(p.matrices) * layout.panels as u64;
        let tokens = u64::from(p.pairs) / u64::from(chosen.max(1));
        let bytes = panels.saturating_mul(layout.panel_bytes).saturating_mul(1 + tokens / TOKENS_PER_READ);
        Ok(partition::count(bytes, usize::try_from(panels).unwrap_or(usize::MAX), launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<LmExpertsPacked>(launch) else { return };
        let Ok(layout) = Layout::of(&p) else { return };
        let pairs = p.pairs as usize;
        // SAFETY: within the extent that `prepare` checked; nothing writes it during the launch.
        let ids = unsafe { memory::input::<u32>(launch.bindings[2], 0..pairs) };
        let groups = Groups::new(ids, p.experts as usize);
        BUFFERS.with_borrow_mut(|buffers| {
            let panels = p.matrices as usize * layout.panels;
            if p.flags & LmExpertsPacked::READ_AHEAD != 0 {
                groups.for_part(panels, part, parts, |expert, _, panels| {
                    request(launch.bindings[0].pointer, &p, &layout, expert, panels);
                });
            }
            groups.for_part(panels, part, parts, |expert, pairs, panels| {
                let work = ExpertWork { level: self.0, p: &p, layout: &layout, launch, expert, pairs };
                // SAFETY: the panels belong to this part only.
                unsafe { work.compute(panels, buffers) };
            });
        });
    }
}

/// Requests the pages of panels, counted over all matrices of the expert.
fn request(w: *const u8, p: &LmExpertsPacked, layout: &Layout, expert: usize, panels: Range<usize>) {
    for matrix in 0..p.matrices as usize {
        let first = matrix * layout.panels;
        let own = panels.start.max(first) - first..panels.end.min(first + layout.panels).max(first) - first;
        if own.is_empty() {
            continue;
        }
        let units = u64::from(p.starts[matrix]) + expert as u64 * u64::from(p.steps[matrix]);
        let bytes = |panels: usize| panels * layout.panel_bytes as usize;
        let start = units as usize * LmExpertsPacked::UNIT as usize + bytes(own.start);
        read_ahead(w.wrapping_add(start).addr(), bytes(own.len()));
    }
}

/// How the matrices are stored.
struct Layout {
    format: Format,
    /// Bytes of a row in place.
    pitch: Option<usize>,
    /// Panels of a matrix.
    panels: usize,
    panel_bytes: u64,
}

impl Layout {
    fn of(p: &LmExpertsPacked) -> Result<Layout, String> {
        if p.experts == 0 || p.sharing == 0 || !(1..=2).contains(&p.matrices) {
            return Err(format!("{} matrices of {} experts, {} pairs per row", p.matrices, p.experts, p.sharing));
        }
        let panels = p.rows.div_ceil(ROWS as u32) as usize;
        if p.flags & LmExpertsPacked::IN_PLACE == 0 {
            let format = Format::of_id(p.format)?;
            return Ok(Layout { format, pitch: None, panels, panel_bytes: format.panel_bytes(p.columns.into()) });
        }
        let kind = Type::from_id(p.format).ok_or_else(|| format!("unknown tensor type {}", p.format))?;
        let pitch = row_decoded_in_place(kind, p.columns as usize).ok_or("rows of this type must be packed")?;
        // Gather instructions address sixteen rows with signed 32-bit offsets from the first.
        if pitch as u128 * ROWS as u128 > i32::MAX as u128 || !p.rows.is_multiple_of(ROWS as u32) {
            return Err(format!("{} rows of {pitch} bytes cannot be in place", p.rows));
        }
        let format = Format::decoded_in_place(p.format)?;
        Ok(Layout { format, pitch: Some(pitch), panels, panel_bytes: (pitch * ROWS) as u64 })
    }

    /// Number of bytes of `w` up to the end of the last matrix.
    fn reach(&self, p: &LmExpertsPacked) -> u128 {
        let matrix = self.panels as u128 * u128::from(self.panel_bytes);
        let matrices = p.starts.iter().zip(&p.steps).take(p.matrices as usize);
        let units = matrices.map(|(start, step)| u128::from(*start) + u128::from(p.experts - 1) * u128::from(*step));
        units.max().unwrap_or(0) * u128::from(LmExpertsPacked::UNIT) + matrix
    }
}

/// Pairs, grouped by expert.
struct Groups {
    /// Pairs in the order of their experts.
    order: Vec<u32>,
    /// The end of each expert's pairs in `order`.
    ends: Vec<usize>,
}

impl Groups {
    fn new(ids: &[u32], experts: usize) -> Groups {
        // An id that is out of range counts as the last expert, as on GPUs.
        let expert = |id: u32| (id as usize).min(experts - 1);
        let mut ends = vec![0; experts];
        ids.iter().for_each(|id| ends[expert(*id)] += 1);
        let mut next = 0;
        for end in &mut ends {
            (*end, next) = (next, next + *end);
        }
        let mut order = vec![0; ids.len()];
        for (pair, id) in ids.iter().enumerate() {
            let at = &mut ends[expert(*id)];
            order[*at] = pair as u32;
            *at += 1;
        }
        Groups { order, ends }
    }

    /// Calls `each` with the experts, their pairs and their panels that belong to a part. Each
    /// expert has `panels` panels; the parts together cover each panel of the selected experts
    /// once.
    fn for_part(&self, panels: usize, part: usize, parts: usize, mut each: impl FnMut(usize, &[u32], Range<usize>)) {
        let ranges = || self.ends.iter().scan(0, |start, end| Some(std::mem::replace(start, *end)..*end)).enumerate();
        let chosen = || ranges().filter(|(_, range)| !range.is_empty());
        let cost = |range: &Range<usize>| TOKENS_PER_READ + range.len() as u64;
        let total: u64 = chosen().map(|(_, range)| panels as u64 * cost(&range)).sum();
        let edge = |part: usize| (u128::from(total) * part as u128 / parts.max(1) as u128) as u64;
        let (low, high) = (edge(part), edge(part + 1));
        let mut before = 0;
        for (expert, range) in chosen() {
            let cost = cost(&range);
            // Panels that start in the part.
            let panel = |edge: u64| (edge.saturating_sub(before).div_ceil(cost) as usize).min(panels);
            let own = panel(low)..panel(high);
            if !own.is_empty() {
                each(expert, &self.order[range], own);
            }
            before += panels as u64 * cost;
        }
    }
}

/// Some pairs of one expert.
struct ExpertWork<'a> {
    level: Level,
    p: &'a LmExpertsPacked,
    layout: &'a Layout,
    launch: &'a NativeLaunch<'a>,
    expert: usize,
    pairs: &'a [u32],
}

impl ExpertWork<'_> {
    /// Computes panels, counted over all matrices of the expert.
    ///
    /// # Safety
    /// `prepare` accepted the launch; nothing else touches the results of these panels.
    unsafe fn compute(&self, panels: Range<usize>, buffers: &mut Buffers) {
        let (p, layout) = (self.p, self.layout);
        let [w, x, _, bias, scales, y] = [0, 1, 2, 3, 4, 5].map(|i| self.launch.bindings[i]);
        let (rows, columns) = (p.rows as usize, p.columns as usize);
        let Buffers { tokens, quantized, floats, results } = buffers;
        tokens.clear();
        tokens.extend(self.pairs.iter().map(|pair| (*pair / p.sharing) as usize));
        let count = (p.pairs as usize).div_ceil(p.sharing as usize);
        let x = match (layout.format.is_float(), &tokens[..]) {
            (true, [token]) => x.pointer.cast_const().wrapping_add(token * p.x_stride as usize * size_of::<f32>()),
            (true, _) => {
                floats.clear();
                for token in &*tokens {
                    let start = token * p.x_stride as usize;
                    // SAFETY: within the extent that `prepare` checked; `x` is only read.
                    floats.extend_from_slice(unsafe { memory::input::<f32>(x, start..start + columns) });
                }
                floats.as_ptr().cast()
            }
            // The activations of a single token already have the layout of a tile.
            (false, [0]) if count == 1 => x.pointer.cast_const(),
            (false, _) => {
                let row = columns / GROUP * GROUP_BYTES;
                quantized.resize(tokens.len() * row, 0);
                // SAFETY: within the extent that `prepare` checked; `x` is only read.
                let source = unsafe { memory::input::<u8>(x, 0..count * row) };
                gather_tokens(source, count, columns, tokens, quantized);
                quantized.as_ptr()
            }
        };
        for matrix in 0..p.matrices as usize {
            let first = matrix * layout.panels;
            let own = panels.start.max(first) - first..panels.end.min(first + layout.panels).max(first) - first;
            if own.is_empty() {
                continue;
            }
            let at = self.expert * p.matrices as usize + matrix;
            let units = u64::from(p.starts[matrix]) + self.expert as u64 * u64::from(p.steps[matrix]);
            let segments = [Segment { start: 0, end: layout.panels * ROWS }];
            let scale = match p.flags & LmExpertsPacked::SCALED {
                0 => &[1.0],
                // SAFETY: within the extent that `prepare` checked; scales are only read.
                _ => unsafe { memory::input::<f32>(scales, at..at + 1) },
            };
            let bias = (p.flags & LmExpertsPacked::BIAS != 0)
                .then(|| bias.pointer.cast::<f32>().cast_const().wrapping_add(at * rows));
            let start = own.start * ROWS;
            let width = (own.end * ROWS).min(rows) - start;
            // Results of several pairs are not adjacent in `y`.
            let target = |pair: u32| pair as usize * p.y_stride as usize + p.y_offset as usize + matrix * rows + start;
            let (results_at, stride) = match self.pairs {
                [pair] => (y.pointer.cast::<f32>().wrapping_add(target(*pair)), 0),
                pairs => {
                    results.resize(pairs.len() * width, 0.0);
                    (results.as_mut_ptr(), width)
                }
            };
            let product = MatrixProduct {
                level: self.level,
                format: layout.format,
                columns,
                rows,
                tokens: self.pairs.len(),
                w: w.pointer.wrapping_add(units as usize * LmExpertsPacked::UNIT as usize),
                pitch: layout.pitch,
                segments: &segments,
                scale: scale[0],
                x,
                x_stride: columns,
                bias,
                y: results_at.wrapping_sub(start),
                y_stride: stride,
                add: false,
                next_panels: own.end,
            };
            // SAFETY: `prepare` checked all arrays against their bindings. The results are this
            // part's rows of a pair, or this thread's buffer, which has `width` rows per token.
            unsafe { product.compute(own) };
            if stride == 0 {
                continue;
            }
            for (pair, results) in self.pairs.iter().zip(results.chunks_exact(width)) {
                let start = target(*pair);
                // SAFETY: this part's rows of a pair, within the extent that `prepare` checked.
                unsafe { memory::output::<f32>(y, start..start + width) }.copy_from_slice(results);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_panel_of_the_chosen_experts_once() {
        let ids = [5, 0, 5, 2, 9, 5, 2, u32::MAX];
        let groups = Groups::new(&ids, 10);
        for parts in [1, 2, 3, 7, 40] {
            let mut seen = vec![Vec::new(); 10];
            for part in 0..parts {
                groups.for_part(7, part, parts, |expert, pairs, panels| {
                    let own: Vec<u32> = (0..8).filter(|pair| ids[*pair as usize].min(9) as usize == expert).collect();
                    assert_eq!(pairs, own, "the pairs of expert {expert}");
                    seen[expert].extend(panels);
                });
            }
            for (expert, mut seen) in seen.into_iter().enumerate() {
                seen.sort_unstable();
                let expected = if [0, 2, 5, 9].contains(&expert) { 0..7 } else { 0..0 };
                assert_eq!(seen, expected.collect::<Vec<_>>(), "expert {expert} in {parts} parts");
            }
        }
    }
}
