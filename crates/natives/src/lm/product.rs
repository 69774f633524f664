//! `lm_product`: how a product is cut up.

use std::cell::RefCell;
use std::ops::Range;

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access, Extent};
use super::super::parts;
#[cfg(target_arch = "x86_64")]
use super::super::simd::amx::Tiles;
use super::super::simd::{Level, Line};
use super::ROWS;
use super::activations::{BYTES, Place, TILE};
use super::float::{self, Kind};
use super::format::{Codes, Format, GROUP, Sixteen};
#[cfg(target_arch = "x86_64")]
use super::matrix::Whole;
use super::tile::{Area, Tokens, Weights, Widen};
use crate::params;

/// Bytes of activations that are read again and again, for one sixteen rows after the other: half of what a core's second-level
/// cache has to be at least.
const BLOCK: usize = 512 << 10;
/// Multiplications of bytes that are worth as much as reading one byte of weights.
const FREE: u64 = 16;

thread_local! {
    /// The codes of sixteen rows as bytes of their own.
    static WIDE: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// The kernel.
pub(in super::super) struct Product(pub(in super::super) Level);

// SAFETY: `prepare` holds the arrays against their bindings and rejects results that overlap an input or each other; parts
// are disjoint ranges of rows.
unsafe impl NativeKernel for Product {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(4)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::LmProduct = check::constants(launch)?;
        let [w, x, bias, y] = check::bindings(launch)?;
        let format = Format::of_id(p.format)?;
        if !format.is_float() && !p.columns.is_multiple_of(GROUP as u32) {
            return Err(format!("{} columns are no groups of {GROUP}", p.columns));
        }
        if p.tokens > 1 && p.y_stride < p.rows {
            return Err(format!("{} rows a token lie {} elements apart", p.rows, p.y_stride));
        }
        if p.rows == 0 || p.tokens == 0 {
            return Ok(0);
        }
        let groups = p.rows.div_ceil(ROWS as u32);
        let bytes = u128::from(groups) * u128::from(format.piece(p.columns.into()).bytes());
        let w = Access::read::<u32>("w", w, Extent::words(bytes / 4))?;
        let x = if format.is_float() {
            let extent = Extent::of(&[(p.tokens, p.x_stride), (p.columns, 1)]).after(p.x_offset);
            Access::read::<f32>("x", x, extent)?
        } else {
            let words = u128::from(p.tokens) * u128::from(p.columns) / GROUP as u128 * (BYTES / 4) as u128;
            Access::read::<u32>("x", x, Extent::words(words))?
        };
        let y = Access::write::<f32>("y", y, Extent::of(&[(p.tokens, p.y_stride), (p.rows, 1)]).after(p.y_offset))?;
        let y = y.skip::<f32>(p.y_offset);
        y.apart_from(&w)?;
        y.apart_from(&x)?;
        if p.flags & params::LmProduct::BIAS != 0 {
            y.apart_from(&Access::read::<f32>("bias", bias, Extent::words(p.rows.into()))?)?;
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Ok(parts::count(bytes.saturating_mul(1 + u64::from(p.tokens) / FREE), groups as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::LmProduct>(launch) else { return };
        let Ok(format) = Format::of_id(p.format) else { return };
        let [w, x, bias, y] = [0, 1, 2, 3].map(|i| launch.bindings[i].pointer);
        let groups = parts::share((p.rows as usize).div_ceil(ROWS), 1, part, parts);
        let bias = (p.flags & params::LmProduct::BIAS != 0).then_some(bias.cast::<f32>().cast_const());
        let y = y.cast::<f32>().wrapping_add(p.y_offset as usize);
        let own = Own { level: self.0, p: &p, format, w, x, bias, y };
        if let Codes::Floats(size) = format.codes { own.floats(groups, size) } else { own.bytes(groups) }
    }
}

/// What a part works on.
struct Own<'a> {
    level: Level,
    p: &'a params::LmProduct,
    format: Format,
    w: *const u8,
    x: *const u8,
    /// A number for each row.
    bias: Option<*const f32>,
    /// The first row of the first token.
    y: *mut f32,
}

impl Own<'_> {
    /// Where the first of sixteen rows goes, and how many there are.
    fn target(&self, group: usize) -> (*mut f32, usize) {
        let first = group * ROWS;
        (self.y.wrapping_add(first), ROWS.min(self.p.rows as usize - first))
    }

    /// Whether sums are added to what is there: always where that is a bias.
    fn add(&self) -> bool {
        self.p.flags & params::LmProduct::ADD != 0 || self.bias.is_some()
    }

    /// Puts the bias of sixteen rows where sums of some tokens will be added to it.
    fn begin(&self, group: usize, tokens: Range<usize>) {
        let Some(bias) = self.bias else { return };
        let (y, rows) = self.target(group);
        // SAFETY: `prepare` held the bias, which is read only, against its binding.
        let bias = unsafe { std::slice::from_raw_parts(bias.wrapping_add(group * ROWS), rows) };
        for token in tokens {
            let y = y.wrapping_add(token * self.p.y_stride as usize);
            // SAFETY: rows of a token within the extent that `prepare` checked, which are this part's alone.
            let y = unsafe { std::slice::from_raw_parts_mut(y, rows) };
            if self.p.flags & params::LmProduct::ADD == 0 {
                y.copy_from_slice(bias);
            } else {
                y.iter_mut().zip(bias).for_each(|(y, bias)| *y += bias);
            }
        }
    }

    /// Sixteen rows after the other for a block of tokens, then the same for the next.
    fn bytes(&self, groups: Range<usize>) {
        let tokens = self.p.tokens as usize;
        let token = self.p.columns as usize / GROUP * BYTES;
        let block = (BLOCK / token.max(1)).next_multiple_of(TILE);
        for start in (0..tokens).step_by(block) {
            let block = start..(start + block).min(tokens);
            groups.clone().for_each(|group| self.begin(group, block.clone()));
            #[cfg(target_arch = "x86_64")]
            if let Some(units) = self.level.matrix_units().filter(|_| block.len() >= TILE) {
                let tiles = units.begin();
                let whole = block.start..block.end - block.len() % TILE;
                groups.clone().for_each(|group| self.whole(group, whole.clone(), &tiles));
                let rest = whole.end..block.end;
                groups.clone().for_each(|group| self.tiles(self.weights(group), group, rest.clone()));
                continue;
            }
            for group in groups.clone() {
                let weights = self.weights(group);
                if weights.table.is_some() && block.len() > TILE {
                    self.widened(weights, false, |weights| self.tiles(weights, group, block.clone()));
                } else {
                    self.tiles(weights, group, block.clone());
                }
            }
        }
    }

    /// Some tokens of sixteen rows, as a tile has them.
    fn area(&self, weights: Weights, group: usize, tokens: Range<usize>) -> Area {
        let (y, rows) = self.target(group);
        let y_stride = self.p.y_stride as usize;
        Area {
            weights,
            x: self.x.wrapping_add(tokens.start * (self.p.columns as usize / GROUP) * BYTES),
            place: Place { width: tokens.len() },
            y: y.wrapping_add(tokens.start * y_stride),
            y_stride,
            rows,
            add: self.add(),
        }
    }

    /// Sixteen rows of a block of tokens.
    fn tiles(&self, weights: Weights, group: usize, block: Range<usize>) {
        for first in block.clone().step_by(TILE) {
            let tokens = first..(first + TILE).min(block.end);
            // `prepare` held all three against their bindings; these rows are this part's alone.
            self.level.run_codes(Tokens(self.area(weights, group, tokens)));
        }
    }

    /// The same on matrix units; tiles are whole.
    #[cfg(target_arch = "x86_64")]
    fn whole(&self, group: usize, block: Range<usize>, tiles: &Tiles) {
        self.widened(self.weights(group), true, |weights| {
            for first in block.clone().step_by(TILE) {
                let area = self.area(weights, group, first..first + TILE);
                // As in `tiles`.
                self.level.run_codes(Whole(area, tiles));
            }
        });
    }

    /// Runs `work` with codes as bytes of their own, signed or not.
    fn widened(&self, mut weights: Weights, signed: bool, work: impl FnOnce(Weights)) {
        WIDE.with_borrow_mut(|wide| {
            let lines = self.p.columns as usize * ROWS / size_of::<Line>();
            if wide.len() < lines {
                wide.resize(lines, Line::ZERO);
            }
            let (source, target) = (weights.codes, wide.as_mut_ptr().cast());
            // `prepare` held the matrix against its binding; the target was just made large enough.
            self.level.run_codes(Widen { source, target, table: weights.table, signed, groups: weights.groups });
            (weights.codes, weights.table) = (target.cast_const(), None);
            work(weights);
        });
    }

    /// Sixteen rows of a matrix that is not of floats.
    fn weights(&self, group: usize) -> Weights {
        let columns = self.p.columns;
        let piece = self.format.piece(columns.into());
        let codes = self.w.wrapping_add(group * piece.bytes() as usize);
        Weights {
            codes,
            table: if let Codes::Halves(table) = self.format.codes { Some(table) } else { None },
            scales: codes.wrapping_add(piece.scales().start).cast(),
            least: self.format.least.then(|| codes.wrapping_add(piece.least().start).cast()),
            bf16: self.format.sixteen == Sixteen::BF16,
            finer: self.format.finer,
            groups: columns as usize / GROUP,
        }
    }

    fn floats(&self, groups: Range<usize>, size: usize) {
        let (columns, tokens) = (self.p.columns as usize, self.p.tokens as usize);
        let (x_stride, y_stride) = (self.p.x_stride as usize, self.p.y_stride as usize);
        let kind = match (size, self.format.sixteen) {
            (4, _) => Kind::F32,
            (_, Sixteen::F16) => Kind::F16,
            (_, Sixteen::BF16) => Kind::BF16,
        };
        let piece = self.format.piece(self.p.columns.into()).bytes() as usize;
        let x = self.x.cast::<f32>().wrapping_add(self.p.x_offset as usize);
        let block = (BLOCK / (columns * size_of::<f32>()).max(1)).next_multiple_of(TILE);
        for first in (0..tokens).step_by(block) {
            for group in groups.clone() {
                self.begin(group, first..(first + block).min(tokens));
                let (y, rows) = self.target(group);
                // `prepare` held all three against their bindings; these rows are this part's alone.
                self.level.run_codes(float::Tokens {
                    kind,
                    weights: self.w.wrapping_add(group * piece),
                    columns,
                    x: x.wrapping_add(first * x_stride),
                    x_stride,
                    y: y.wrapping_add(first * y_stride),
                    y_stride,
                    tokens: block.min(tokens - first),
                    rows,
                    add: self.add(),
                });
            }
        }
    }
}
