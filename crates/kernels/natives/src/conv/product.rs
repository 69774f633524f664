//! A convolution as a product of the weights with im2col patches, on the tiles of the matrix
//! product.

use std::cell::Cell;

use super::super::partition;
use super::grid::{PIXEL_STEP, Region};
use super::patches::Patches;
use roci_simd::gemm::{self, A_STRIDE, DEPTH, PANEL, Tile};
use roci_simd::{CacheLine, Element, Level, Simd, Task};

/// Maximum pixels of a block: their patches and the weights stay in the L2 cache.
const PIXELS: usize = 384;
/// Maximum rows of weights packed at once.
const ROWS: usize = 252;

thread_local! {
    /// Packing buffer and padded input, reused for the next block of this thread.
    static SCRATCH: Cell<(Vec<CacheLine>, Vec<f32>)> = const { Cell::new((Vec::new(), Vec::new())) };
}

/// A region of a convolution.
pub(super) struct Product<'a> {
    p: &'a roci_families::Conv,
    /// The channels of `x` of the batch and group, the group's weights, and all of `bias`.
    x: &'a [f32],
    w: &'a [f32],
    bias: &'a [f32],
    region: Region,
    /// The first plane of the batch and group.
    y: *mut f32,
    level: Level,
}

impl<'a> Product<'a> {
    /// A task for a region.
    ///
    /// # Safety
    /// The region of the planes from `y` on is readable and writable until the task has run;
    /// nothing else touches it.
    pub(super) unsafe fn new(
        p: &'a roci_families::Conv,
        inputs: [&'a [f32]; 3],
        region: Region,
        y: *mut f32,
        level: Level,
    ) -> Self {
        let [x, w, bias] = super::group_slices(p, inputs, &region);
        Self { p, x, w, bias, region, y, level }
    }

    /// Whether the input itself is the matrix of patches.
    fn is_matrix(&self) -> bool {
        let p = self.p;
        p.kernel == [1; 3] && p.stride == [1; 3] && p.pad == [0; 3] && p.input == p.output
    }
}

impl Task for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (p, region) = (self.p, &self.region);
        let depth = (p.in_channels / p.groups * p.taps()) as usize;
        let plane: usize = p.output.iter().map(|&size| size as usize).product();
        let matrix = self.is_matrix();
        let blocks = region.pixels.len().div_ceil(PIXELS);
        let row_blocks = region.rows.len().div_ceil(ROWS);
        // Passes of equal depth: a short last pass would spend its time on reading and writing the
        // result.
        let passes = depth.div_ceil(DEPTH).max(1);
        // Taken out of its cell instead of borrowed in a closure, because the closure would be
        // compiled for the baseline CPU.
        let (mut lines, mut input) = SCRATCH.take();
        let a_size = ROWS.min(region.rows.len()) * A_STRIDE;
        let b_size = DEPTH * (PIXELS + PIXEL_STEP).min(region.pixels.len().next_multiple_of(S::LANES)) + S::LANES;
        let size = (a_size + b_size).div_ceil(CacheLine::WORDS);
        if lines.len() < size {
            lines.resize(size, CacheLine::ZERO);
        }
        let packed_a = lines.as_mut_ptr().cast::<f32>();
        let packed_b = packed_a.wrapping_add(a_size);
        // At the end of a plane, the few pixels after the last whole vector are summed along the
        // depth instead, which wastes fewer lanes. Regions start at whole panels, so these pixels
        // do not depend on the number of parts.
        let tail = plane % S::LANES;
        let tail = if tail <= S::LANES / 8 && region.pixels.end == plane { tail } else { 0 };
        for block in 0..blocks {
            let within = partition::range(region.pixels.len(), PIXEL_STEP, block, blocks);
            let pixels = region.pixels.start + within.start..region.pixels.start + within.end;
            if pixels.is_empty() {
                continue;
            }
            let patches = (!matrix).then(|| Patches::new(p, pixels.clone(), S::LANES));
            if let Some(patches) = &patches {
                patches.clear(depth.div_ceil(passes), S::LANES, &mut input);
            }
            for pass in 0..passes {
                let depths = partition::range(depth, 1, pass, passes);
                match &patches {
                    _ if depths.is_empty() => {}
                    // SAFETY: room for a pass over this many pixels, and a vector.
                    Some(patches) => unsafe { patches.pack(simd, self.x, depths.clone(), &mut input, packed_b) },
                    None => {
                        let x = self.x[depths.start * plane + pixels.start..].as_ptr();
                        // SAFETY: rows of the input, which is the matrix of patches; room as above.
                        unsafe { gemm::pack_panels(simd, depths.len(), pixels.len(), x, plane, packed_b) };
                    }
                }
                let tail = if pixels.end == plane { tail } else { 0 };
                let whole = pixels.len() - tail;
                let last = pixels.len() % (PANEL * S::LANES);
                let panel = packed_b.wrapping_add(depths.len() * (pixels.len() - last)).cast_const();
                let columns = (last - tail..last).map(|index| {
                    // SAFETY: the last panel is packed, and ends with the tail.
                    unsafe { column(depths.len(), panel, last.next_multiple_of(S::LANES), index) }
                });
                let columns: Vec<Vec<f32>> = columns.collect();
                let accumulate = pass > 0 || p.flags & roci_families::Conv::ADD != 0;
                for row_block in 0..row_blocks {
                    let rows = partition::range(region.rows.len(), 1, row_block, row_blocks);
                    let first = region.rows.start + rows.start;
                    let w = self.w.as_ptr().wrapping_add(first * depth + depths.start);
                    // SAFETY: the weights have these rows, and `packed_a` has room for them.
                    unsafe { gemm::pack_rows(simd, rows.len(), depths.len(), w, depth, packed_a) };
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
                        // SAFETY: both are packed, and the strip is within the region, which
                        // `new`'s caller guarantees.
                        unsafe { tile.strip(self.level, rows.len()) };
                    }
                    for (index, column) in columns.iter().enumerate() {
                        let y = self.y.wrapping_add(first * plane + pixels.start + whole + index);
                        // SAFETY: the weights are packed, and the pixel of these rows is within the
                        // region.
                        unsafe { sum_along(simd, rows.len(), packed_a.cast_const(), column, y, plane, accumulate) };
                    }
                }
            }
            for row in region.rows.clone() {
                let channel = region.group * (p.out_channels / p.groups) as usize + row;
                let sums = self.y.wrapping_add(row * plane + pixels.start);
                // SAFETY: one row of the block, which only this task touches.
                let sums = unsafe { std::slice::from_raw_parts_mut(sums, pixels.len()) };
                super::epilogue(p, self.bias, channel, sums);
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
    // SAFETY: within the panel as the caller guarantees.
    (0..depth).map(|k| unsafe { *panel.wrapping_add(k * stride + index) }).collect()
}

/// The products of packed rows of weights with one column of the patches, written `stride` apart.
///
/// # Safety
/// `rows` rows of the column's length are packed in `a`, and as many elements of `y` are readable
/// and writable.
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
                // SAFETY: the rest of the row.
                let a = unsafe { f32::load_first(simd, a, count) };
                // SAFETY: the rest of the column.
                simd.mul_add(a, unsafe { f32::load_first(simd, b, count) }, sum)
            };
        }
        // SAFETY: this row's element, guaranteed by the caller.
        let old = if accumulate { unsafe { *y } } else { 0.0 };
        // SAFETY: as above.
        unsafe { *y = old + simd.sum(sum) };
    }
}
