//! A convolution as a product of the weights with patches, by the tiles of the matrix product.

use std::cell::Cell;

use super::super::matmul::tile::{self, A_STRIDE, DEPTH, PANEL, Tile};
use super::super::parts;
use super::super::simd::{Element, Level, Line, Simd, Task};
use super::patches::Patches;
use super::plan::{Area, PIXEL_STEP};
use crate::params;

/// Most pixels of a block: their patches and the weights stay in the second-level cache.
const PIXELS: usize = 384;
/// Most rows of weights packed at once.
const ROWS: usize = 252;

thread_local! {
    /// Packing space and padded input, kept for the next block of this thread.
    static SCRATCH: Cell<(Vec<Line>, Vec<f32>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// One area of a convolution.
pub(super) struct Product<'a> {
    p: &'a params::Conv,
    /// The batch and group's channels of `x`, the group's weights, and all of `bias`.
    x: &'a [f32],
    w: &'a [f32],
    bias: &'a [f32],
    area: Area,
    /// The batch and group's first plane.
    y: *mut f32,
    level: Level,
}

impl<'a> Product<'a> {
    /// Promises that the result's memory is there.
    ///
    /// # Safety
    /// The area of the planes from `y` on is readable and writable until the task has run; nothing else touches it.
    pub(super) unsafe fn new(
        p: &'a params::Conv,
        inputs: [&'a [f32]; 3],
        area: Area,
        y: *mut f32,
        level: Level,
    ) -> Self {
        let [x, w, bias] = super::of_group(p, inputs, &area);
        Self { p, x, w, bias, area, y, level }
    }

    /// Whether the input is the matrix of patches.
    fn is_matrix(&self) -> bool {
        let p = self.p;
        p.kernel == [1; 3] && p.stride == [1; 3] && p.pad == [0; 3] && p.input == p.output
    }
}

impl Task for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (p, area) = (self.p, &self.area);
        let depth = (p.in_channels / p.groups * p.taps()) as usize;
        let plane: usize = p.output.iter().map(|&size| size as usize).product();
        let matrix = self.is_matrix();
        let blocks = area.pixels.len().div_ceil(PIXELS);
        let row_blocks = area.rows.len().div_ceil(ROWS);
        // Equal passes: a short last one would spend its time reading and writing the result.
        let passes = depth.div_ceil(DEPTH).max(1);
        // Taken out of its cell, not borrowed in a closure: code in a closure would be compiled for the baseline CPU.
        let (mut lines, mut input) = SCRATCH.take();
        let a_size = ROWS.min(area.rows.len()) * A_STRIDE;
        let b_size = DEPTH * (PIXELS + PIXEL_STEP).min(area.pixels.len().next_multiple_of(S::LANES)) + S::LANES;
        let size = (a_size + b_size).div_ceil(Line::WORDS);
        if lines.len() < size {
            lines.resize(size, Line::ZERO);
        }
        let packed_a = lines.as_mut_ptr().cast::<f32>();
        let packed_b = packed_a.wrapping_add(a_size);
        // Where a plane ends, few pixels behind the last whole vector are summed along the depth instead: it wastes
        // less. Areas start at whole panels, so it is the same pixels whatever the number of parts.
        let tail = plane % S::LANES;
        let tail = if tail <= S::LANES / 8 && area.pixels.end == plane { tail } else { 0 };
        for block in 0..blocks {
            let within = parts::share(area.pixels.len(), PIXEL_STEP, block, blocks);
            let pixels = area.pixels.start + within.start..area.pixels.start + within.end;
            if pixels.is_empty() {
                continue;
            }
            let patches = (!matrix).then(|| Patches::new(p, pixels.clone(), S::LANES));
            if let Some(patches) = &patches {
                patches.clear(depth.div_ceil(passes), S::LANES, &mut input);
            }
            for pass in 0..passes {
                let depths = parts::share(depth, 1, pass, passes);
                match &patches {
                    _ if depths.is_empty() => {}
                    // SAFETY: room for a pass over this many pixels, and a vector.
                    Some(patches) => unsafe { patches.pack(simd, self.x, depths.clone(), &mut input, packed_b) },
                    None => {
                        let x = self.x[depths.start * plane + pixels.start..].as_ptr();
                        // SAFETY: rows of the input, which is the matrix itself; room as above.
                        unsafe { tile::pack_panels(simd, depths.len(), pixels.len(), x, plane, packed_b) };
                    }
                }
                let tail = if pixels.end == plane { tail } else { 0 };
                let whole = pixels.len() - tail;
                let last = pixels.len() % (PANEL * S::LANES);
                let panel = packed_b.wrapping_add(depths.len() * (pixels.len() - last)).cast_const();
                let columns = (last - tail..last).map(|index| {
                    // SAFETY: the last panel is packed, and the tail is what it ends with.
                    unsafe { column(depths.len(), panel, last.next_multiple_of(S::LANES), index) }
                });
                let columns: Vec<Vec<f32>> = columns.collect();
                let accumulate = pass > 0 || p.flags & params::Conv::ADD != 0;
                for row_block in 0..row_blocks {
                    let rows = parts::share(area.rows.len(), 1, row_block, row_blocks);
                    let first = area.rows.start + rows.start;
                    let w = self.w.as_ptr().wrapping_add(first * depth + depths.start);
                    // SAFETY: these rows of the weights, and room for as many.
                    unsafe { tile::pack_rows(simd, rows.len(), depths.len(), w, depth, packed_a) };
                    for column in (0..whole).step_by(PANEL * S::LANES) {
                        let packed = (PANEL * S::LANES).min(pixels.len() - column);
                        let tile = Tile {
                            depth: depths.len(),
                            rows: 0,
                            columns: packed.min(whole - column),
                            a: packed_a.cast_const(),
                            b: packed_b.wrapping_add(depths.len() * column).cast_const(),
                            b_stride: packed.next_multiple_of(S::LANES),
                            c: self.y.wrapping_add(first * plane + pixels.start + column),
                            c_stride: plane,
                            accumulate,
                        };
                        // SAFETY: both are packed, and the strip lies in the area, which is writable by `new`.
                        unsafe { tile.strip(self.level, rows.len()) };
                    }
                    for (index, column) in columns.iter().enumerate() {
                        let y = self.y.wrapping_add(first * plane + pixels.start + whole + index);
                        // SAFETY: the weights are packed, and the pixel of these rows lies in the area.
                        unsafe { sum_along(simd, rows.len(), packed_a.cast_const(), column, y, plane, accumulate) };
                    }
                }
            }
            for row in area.rows.clone() {
                let channel = area.group * (p.out_channels / p.groups) as usize + row;
                let sums = self.y.wrapping_add(row * plane + pixels.start);
                // SAFETY: one row of the block, which is this task's alone by `new`.
                let sums = unsafe { std::slice::from_raw_parts_mut(sums, pixels.len()) };
                super::finish(p, self.bias, channel, sums);
            }
        }
        SCRATCH.set((lines, input));
    }
}

/// One column of a packed panel.
///
/// # Safety
/// The panel has `depth` rows, `stride` apart, of more than `index` columns.
unsafe fn column(depth: usize, panel: *const f32, stride: usize, index: usize) -> Vec<f32> {
    // SAFETY: within the panel by the caller's promise.
    (0..depth).map(|k| unsafe { *panel.wrapping_add(k * stride + index) }).collect()
}

/// The products of packed rows of weights with one column of the patches, written `stride` apart.
///
/// # Safety
/// `rows` rows of the column's length are packed in `a`, and as many elements of `y` are readable and writable.
#[inline(always)]
unsafe fn sum_along<S: Simd>(
    simd: S,
    rows: usize,
    a: *const f32,
    column: &[f32],
    y: *mut f32,
    stride: usize,
    accumulate: bool,
) {
    for row in 0..rows {
        let (a, y) = (a.wrapping_add(row * A_STRIDE), y.wrapping_add(row * stride));
        let mut sum = simd.splat(0.0);
        for k in (0..column.len()).step_by(S::LANES) {
            let count = S::LANES.min(column.len() - k);
            let (a, b) = (a.wrapping_add(k), column.as_ptr().wrapping_add(k));
            sum = if count == S::LANES {
                // SAFETY: a whole vector of the row.
                let a = unsafe { simd.load(a) };
                // SAFETY: a whole vector of the column.
                simd.mul_add(a, unsafe { simd.load(b) }, sum)
            } else {
                // SAFETY: what is left of the row.
                let a = unsafe { f32::load_first(simd, a, count) };
                // SAFETY: what is left of the column.
                simd.mul_add(a, unsafe { f32::load_first(simd, b, count) }, sum)
            };
        }
        // SAFETY: this row's element, by the caller's promise.
        let old = if accumulate { unsafe { *y } } else { 0.0 };
        // SAFETY: as above.
        unsafe { *y = old + simd.sum(sum) };
    }
}
