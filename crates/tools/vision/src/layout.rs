//! The order of patches, and the tables that depend on their positions.
//!
//! The patches of a merged square are consecutive, and so are the squares of an attention window.
//! Windows at the right and lower border may be smaller: they are padded to the same length.

use crate::description::Description;
use crate::preprocess::Normalized;
use crate::projector::Rope;

/// Added to the scores of hidden keys. Its exponential is 0.
const HIDDEN: f32 = -1e30;

/// The patches of an image, in the order in which the tower processes them.
pub(crate) struct Layout {
    /// Column and line of each patch; `None` for padding.
    patches: Vec<Option<(usize, usize)>>,
    /// For each merged square, line by line, its row in the tower's output.
    pub(crate) rows: Vec<usize>,
    /// Merged squares per line, and number of lines.
    pub(crate) grid: (usize, usize),
    /// Patches per window including padding; the number of patches without windows.
    window: usize,
}

impl Layout {
    /// Creates the layout of an image of `columns` x `lines` patches.
    pub(crate) fn new(description: &Description, columns: usize, lines: usize) -> Self {
        let merged = description.merged;
        let (wide, high) = (columns / merged, lines / merged);
        let side = description.windows.map_or(wide.max(high), |windows| windows.side);
        let mut layout = Self { patches: Vec::new(), rows: vec![0; wide * high], grid: (wide, high), window: 0 };
        for top in (0..high).step_by(side) {
            for left in (0..wide).step_by(side) {
                let start = layout.patches.len();
                for y in top..(top + side).min(high) {
                    for x in left..(left + side).min(wide) {
                        layout.rows[y * wide + x] = layout.patches.len() / description.square();
                        let patch = |at: usize| Some((x * merged + at % merged, y * merged + at / merged));
                        layout.patches.extend((0..description.square()).map(patch));
                    }
                }
                if description.windows.is_some() {
                    layout.patches.resize(start + side * side * description.square(), None);
                }
            }
        }
        layout.window = match description.windows {
            Some(windows) => windows.side * windows.side * description.square(),
            None => layout.patches.len(),
        };
        layout
    }

    /// Number of patches including padding.
    pub(crate) fn len(&self) -> usize {
        self.patches.len()
    }

    /// Patches per window including padding.
    pub(crate) fn window(&self) -> usize {
        self.window
    }

    /// The pixels of all patches; within a patch by channel, then by line.
    pub(crate) fn pixels(&self, image: &Normalized, patch: usize) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.len() * 3 * patch * patch);
        for place in &self.patches {
            let Some((column, line)) = *place else {
                values.resize(values.len() + 3 * patch * patch, 0.0);
                continue;
            };
            for channel in 0..3 {
                for y in line * patch..(line + 1) * patch {
                    let pixels = &image.pixels[y * image.width + column * patch..][..patch];
                    values.extend(pixels.iter().map(|pixel| pixel[channel]));
                }
            }
        }
        debug_assert!(self.patches.iter().flatten().all(|(_, line)| (line + 1) * patch <= image.height));
        values
    }

    /// Cosines and sines of the pairs of a head, patch by patch.
    pub(crate) fn rotations(&self, rope: Rope, base: f64, head: usize) -> [Vec<f32>; 2] {
        if rope == Rope::None {
            return Default::default();
        }
        let (pairs, quarter) = (head / 2, head / 4);
        let frequencies: Vec<f64> = (0..pairs)
            .map(|pair| {
                let (half, index) = (pair / quarter.max(1), (pair % quarter.max(1)) as f64);
                let exponent = match rope {
                    Rope::Adjacent => 2.0 * index + half as f64,
                    _ => 2.0 * index,
                };
                base.powf(-2.0 * exponent / head as f64)
            })
            .collect();
        let [mut cosines, mut sines] = [(); 2].map(|()| Vec::with_capacity(self.len() * pairs));
        for place in &self.patches {
            let (column, line) = place.unwrap_or_default();
            for (pair, frequency) in frequencies.iter().enumerate() {
                let position = if (pair < quarter) == (rope == Rope::Quarters) { column } else { line };
                let (sine, cosine) = (position as f64 * frequency).sin_cos();
                cosines.push(cosine as f32);
                sines.push(sine as f32);
            }
        }
        [cosines, sines]
    }

    /// The position embedding of each patch, bilinearly interpolated from a table for a grid of
    /// `side` x `side` positions. The corners of both grids coincide.
    pub(crate) fn positions(&self, table: &[f32], side: usize, width: usize, description: &Description) -> Vec<f32> {
        let [columns, lines] = [self.grid.0, self.grid.1].map(|size| size * description.merged);
        let tap = |at: usize, size: usize| {
            let ratio = if size > 1 { (side - 1) as f32 / (size - 1) as f32 } else { 0.0 };
            let position = at as f32 * ratio;
            let first = (position as usize).min(side - 1);
            (first, (first + 1).min(side - 1), position - first as f32)
        };
        let mut values = vec![0.0; self.len() * width];
        for (place, row) in self.patches.iter().zip(values.chunks_exact_mut(width)) {
            let Some((column, line)) = *place else { continue };
            let ((left, right, across), (upper, lower, down)) = (tap(column, columns), tap(line, lines));
            let corner = |y: usize, x: usize| &table[(y * side + x) * width..][..width];
            let corners = [corner(upper, left), corner(upper, right), corner(lower, left), corner(lower, right)];
            for (at, value) in row.iter_mut().enumerate() {
                let [a, b, c, d] = corners.map(|corner| corner[at]);
                *value = if (across, down) == (0.0, 0.0) {
                    a
                } else {
                    a * (1.0 - across) * (1.0 - down)
                        + b * across * (1.0 - down)
                        + c * (1.0 - across) * down
                        + d * across * down
                };
            }
        }
        values
    }

    /// The sums of the learned embeddings of the patches' columns and lines, from a table of `side`
    /// rows of this width for each axis. None if the table is too short.
    pub(crate) fn axis_positions(&self, table: &[f32], side: usize, width: usize) -> Option<Vec<f32>> {
        let mut values = Vec::with_capacity(self.len() * width);
        for place in &self.patches {
            let (column, line) = place.unwrap_or_default();
            if column.max(line) >= side {
                return None;
            }
            let row = |at: usize| table.get(at * width..(at + 1) * width);
            let (across, down) = (row(column)?, row(side + line)?);
            values.extend(across.iter().zip(down).map(|(across, down)| across + down));
        }
        Some(values)
    }

    /// Added to the scores of each key: hides padding.
    pub(crate) fn mask(&self) -> Vec<f32> {
        self.patches.iter().map(|place| if place.is_some() { 0.0 } else { HIDDEN }).collect()
    }
}
