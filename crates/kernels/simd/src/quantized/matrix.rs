//! The product with a matrix or with some of its panels: the loops over blocks, and the choice of
//! inner loops.

use std::cell::RefCell;
use std::ops::Range;

use super::ROWS;
use super::activations::{GROUP_BYTES, TILE, TileLayout};
#[cfg(target_arch = "x86_64")]
use super::amx_product::AmxProduct;
use super::decode::with_decoded_panel;
use super::float::{self, Kind};
use super::format::{CENTERED, Encoding, Float16, Format, GROUP, row_bytes};
use super::product::{Int8Product, PanelProduct, WeightPanel};
use super::unpack::Unpack;
#[cfg(target_arch = "x86_64")]
use crate::amx::Tiles;
use crate::{CacheLine, Level};

/// Bytes of activations that stay in the L2 cache while panel after panel reads them: half of the
/// smallest L2 cache.
const BLOCK: usize = 512 << 10;
/// Minimum number of tokens for which rows in place are first copied to a packed panel.
const COPY_TOKENS: usize = 4;

thread_local! {
    /// A panel with one byte per code, reused by later products of this thread.
    static UNPACKED: RefCell<Vec<CacheLine>> = const { RefCell::new(Vec::new()) };
}

/// A matrix in place. Its rows follow those of the segment before it.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The offset of its first row from [`MatrixProduct::w`], in bytes.
    pub start: usize,
    /// The end of its rows within the product, a multiple of [`ROWS`].
    pub end: usize,
}

/// `y = w * x` for some tokens, with `w` packed or in place.
#[derive(Clone, Copy, Debug)]
pub struct MatrixProduct<'a> {
    /// The instruction set.
    pub level: Level,
    /// The format of `w`.
    pub format: Format,
    /// Columns of `w`; a multiple of [`GROUP`] unless its format is a float.
    pub columns: usize,
    /// Rows of `w`.
    pub rows: usize,
    /// Tokens of `x`.
    pub tokens: usize,
    /// The packed matrix, or the base of the segments.
    pub w: *const u8,
    /// Bytes between rows of a matrix in place; `None` for a packed matrix.
    pub pitch: Option<usize>,
    /// The matrices in place.
    pub segments: &'a [Segment],
    /// Factor of the weights; read only if the format has blocks ([`Format::has_blocks`]).
    pub scale: f32,
    /// Activations as [`super::quantize_row`] writes them, or f32 for a format of floats.
    pub x: *const u8,
    /// Elements between tokens of f32 activations.
    pub x_stride: usize,
    /// One value per row, added to the sums.
    pub bias: Option<*const f32>,
    /// The first row of the first token.
    pub y: *mut f32,
    /// Elements between tokens of `y`.
    pub y_stride: usize,
    /// Whether to add to `y` instead of overwriting it.
    pub add: bool,
    /// End of the panels that this thread computes now and next, the limit of prefetches.
    pub next_panels: usize,
}

impl MatrixProduct<'_> {
    /// Computes the rows of `panels`, [`ROWS`] each.
    ///
    /// # Safety
    /// All memory that the fields describe is readable; `y` is writable at the rows of these
    /// panels, which nothing else touches.
    #[inline(never)]
    pub unsafe fn compute(&self, panels: Range<usize>) {
        match self.format.codes {
            Encoding::Floats(size) => self.floats(panels, size),
            _ => self.bytes(panels),
        }
    }

    /// The target of a panel's first row, and the number of its rows.
    fn target(&self, panel: usize) -> (*mut f32, usize) {
        let first = panel * ROWS;
        (self.y.wrapping_add(first), ROWS.min(self.rows - first))
    }

    /// Whether to add to `y`, which includes the case of a bias.
    fn accumulates(&self) -> bool {
        self.add || self.bias.is_some()
    }

    /// Writes a panel's bias to `y`, where the sums of `tokens` are added to it.
    fn write_bias(&self, panel: usize, tokens: Range<usize>) {
        let Some(bias) = self.bias else { return };
        let (y, rows) = self.target(panel);
        // SAFETY: `compute`'s caller guarantees a value for each row, which is only read.
        let bias = unsafe { std::slice::from_raw_parts(bias.wrapping_add(panel * ROWS), rows) };
        for token in tokens {
            let y = y.wrapping_add(token * self.y_stride);
            // SAFETY: rows of this panel, guaranteed by `compute`'s caller.
            let y = unsafe { std::slice::from_raw_parts_mut(y, rows) };
            if self.add {
                y.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
            } else {
                y.copy_from_slice(bias);
            }
        }
    }

    /// Panel after panel for a block of tokens, then for the next block.
    fn bytes(&self, panels: Range<usize>) {
        let token = self.columns / GROUP * GROUP_BYTES;
        let block = (BLOCK / token.max(1)).next_multiple_of(TILE);
        for start in (0..self.tokens).step_by(block) {
            let block = start..(start + block).min(self.tokens);
            panels.clone().for_each(|panel| self.write_bias(panel, block.clone()));
            #[cfg(target_arch = "x86_64")]
            if let Some(amx) = self.level.amx().filter(|_| block.len() >= TILE) {
                let tiles = amx.begin();
                let whole = block.start..block.end - block.len() % TILE;
                panels.clone().for_each(|panel| self.whole_tiles(panel, whole.clone(), &tiles));
                let rest = whole.end..block.end;
                if !rest.is_empty() {
                    panels.clone().for_each(|panel| {
                        self.with_weights(panel, |weights| self.tiles(weights, panel, rest.clone()));
                    });
                }
                continue;
            }
            for panel in panels.clone() {
                self.with_weights(panel, |weights| {
                    let few = if weights.pitch.is_some() { COPY_TOKENS } else { TILE };
                    let is_bytes = weights.table.is_none() && weights.pitch.is_none() && weights.split == 0;
                    if !is_bytes && block.len() > few {
                        self.unpacked(weights, false, |weights| self.tiles(weights, panel, block.clone()));
                    } else {
                        self.tiles(weights, panel, block.clone());
                    }
                });
            }
        }
    }

    /// A panel by the tokens of one tile.
    fn panel_product(&self, weights: WeightPanel, panel: usize, tokens: Range<usize>) -> PanelProduct {
        let (y, rows) = self.target(panel);
        PanelProduct {
            weights,
            x: self.x.wrapping_add(tokens.start * (self.columns / GROUP) * GROUP_BYTES),
            layout: TileLayout { width: tokens.len() },
            y: y.wrapping_add(tokens.start * self.y_stride),
            y_stride: self.y_stride,
            rows,
            add: self.accumulates(),
        }
    }

    /// A panel by a block of tokens.
    fn tiles(&self, weights: WeightPanel, panel: usize, block: Range<usize>) {
        for first in block.clone().step_by(TILE) {
            let tokens = first..(first + TILE).min(block.end);
            let weights = WeightPanel { streamed: weights.streamed && first == block.start, ..weights };
            // `compute`'s caller guarantees the memory of all three.
            self.level.run_int8(Int8Product(self.panel_product(weights, panel, tokens)));
        }
    }

    /// The same on AMX; all tiles are whole.
    #[cfg(target_arch = "x86_64")]
    fn whole_tiles(&self, panel: usize, block: Range<usize>, tiles: &Tiles) {
        self.with_weights(panel, |weights| {
            self.unpacked(weights, true, |weights| {
                for first in block.clone().step_by(TILE) {
                    let product = self.panel_product(weights, panel, first..first + TILE);
                    // As in `tiles`.
                    self.level.run_vnni(AmxProduct(product, tiles));
                }
            });
        });
    }

    /// Runs `work` with the panel's codes unpacked to one byte each, signed or not.
    fn unpacked(&self, mut weights: WeightPanel, signed: bool, work: impl FnOnce(WeightPanel)) {
        UNPACKED.with_borrow_mut(|unpacked| {
            let lines = Unpack::bytes(weights.groups).div_ceil(size_of::<CacheLine>());
            if unpacked.len() < lines {
                unpacked.resize(lines, CacheLine::ZERO);
            }
            let target = unpacked.as_mut_ptr().cast::<u8>();
            // `compute`'s caller guarantees the panel; the target has been resized.
            self.level.run_int8(Unpack { weights, target, signed });
            if weights.pitch.take().is_some() {
                weights.scales = target.wrapping_add(Unpack::scales(weights.groups)).cast_const().cast();
            }
            (weights.codes, weights.table, weights.split) = (target.cast_const(), None, 0);
            weights.streamed = false;
            work(weights);
        });
    }

    /// A row of a matrix in place, and the last of the rows that follow it in memory up to `end`.
    fn row_in_place(&self, row: usize, end: usize, pitch: usize) -> [*const u8; 2] {
        let mut first = 0;
        for segment in self.segments {
            if row < segment.end {
                return [row, end.min(segment.end)]
                    .map(|row| self.w.wrapping_add(segment.start + (row - first) * pitch));
            }
            first = first.max(segment.end);
        }
        [self.w; 2]
    }

    /// Runs `work` with a panel of a quantized matrix, which is decoded if the format says so.
    fn with_weights(&self, panel: usize, work: impl FnOnce(WeightPanel)) {
        let next = self.next_panels.max(panel + 1);
        let [source, end] = match self.pitch {
            Some(pitch) => self.row_in_place(panel * ROWS, next * ROWS, pitch),
            None => {
                let bytes = self.format.panel_bytes(self.columns as u64) as usize;
                [panel, next].map(|panel| self.w.wrapping_add(panel * bytes))
            }
        };
        let Some(kind) = self.format.blocks else {
            return work(WeightPanel { end, ..self.weights(source, self.pitch) });
        };
        let bytes = ROWS * row_bytes(kind, self.columns as u64) as usize;
        // SAFETY: sixteen rows, in place or of a packed panel, which `compute`'s caller guarantees
        // to be readable.
        let rows = unsafe { std::slice::from_raw_parts(source, bytes) };
        with_decoded_panel(kind, self.format, self.columns, rows, self.scale, |decoded| {
            work(WeightPanel { streamed: false, ..self.weights(decoded, None) });
        });
    }

    /// A panel whose codes start at `codes`.
    fn weights(&self, codes: *const u8, pitch: Option<usize>) -> WeightPanel {
        let layout = self.format.panel(self.columns as u64);
        let (split, bias) = if let Encoding::Split { bits, bias } = self.format.codes { (bits, bias) } else { (0, 0) };
        WeightPanel {
            split,
            bias,
            codes,
            table: if let Encoding::Nibbles(table) = self.format.codes { Some(table) } else { None },
            centered: self.format.codes == Encoding::Nibbles(&CENTERED),
            scales: codes.wrapping_add(layout.scales().start).cast(),
            mins: self.format.mins.then(|| codes.wrapping_add(layout.mins().start).cast()),
            bf16: self.format.float16 == Float16::BF16,
            fine_scales: self.format.fine_scales,
            groups: self.columns / GROUP,
            streamed: true,
            end: codes,
            pitch,
        }
    }

    /// Panels of a matrix of floats.
    fn floats(&self, panels: Range<usize>, size: usize) {
        let kind = match (size, self.format.float16) {
            (4, _) => Kind::F32,
            (_, Float16::F16) => Kind::F16,
            (_, Float16::BF16) => Kind::BF16,
        };
        let bytes = self.format.panel_bytes(self.columns as u64) as usize;
        let x = self.x.cast::<f32>();
        let block = (BLOCK / (self.columns * size_of::<f32>()).max(1)).next_multiple_of(TILE);
        for first in (0..self.tokens).step_by(block) {
            for panel in panels.clone() {
                self.write_bias(panel, first..(first + block).min(self.tokens));
                let (y, rows) = self.target(panel);
                // `compute`'s caller guarantees the memory of all three.
                self.level.run_int8(float::FloatProduct {
                    kind,
                    weights: self.w.wrapping_add(panel * bytes),
                    end: self.w.wrapping_add(self.next_panels.max(panel + 1) * bytes),
                    columns: self.columns,
                    x: x.wrapping_add(first * self.x_stride),
                    x_stride: self.x_stride,
                    y: y.wrapping_add(first * self.y_stride),
                    y_stride: self.y_stride,
                    tokens: block.min(self.tokens - first),
                    rows,
                    add: self.accumulates(),
                });
            }
        }
    }
}
