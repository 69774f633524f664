//! `lm_product`: how a product is cut up.

use std::cell::RefCell;
use std::ops::Range;

use roci_gguf::Type;
use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access, Extent};
use super::super::parts;
#[cfg(target_arch = "x86_64")]
use super::super::simd::amx::Tiles;
use super::super::simd::{Level, Line};
use super::ROWS;
use super::activations::{BYTES, Place, TILE};
use super::float::{self, Kind};
use super::format::{CENTRED, Codes, Format, GROUP, Sixteen, row_in_place};
#[cfg(target_arch = "x86_64")]
use super::matrix::Whole;
use super::tile::{Area, Tokens, Weights};
use super::widen::Widen;
use crate::params;

/// Bytes of activations that are read again and again, for one sixteen rows after the other: half of what a core's second-level
/// cache has to be at least.
const BLOCK: usize = 512 << 10;
/// So many tokens are worth a copy of rows that are used in place.
const COPIED: usize = 4;
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
        let (bytes, w) = if p.flags & params::LmProduct::IN_PLACE == 0 {
            let bytes = u128::from(groups) * u128::from(format.piece(p.columns.into()).bytes());
            (bytes, Access::read::<u32>("w", w, Extent::words(bytes / 4))?)
        } else {
            let (bytes, reach) = in_place(&p)?;
            (bytes, Access::read::<u8>("w", w, Extent::words(reach))?)
        };
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
        let pitch = (p.flags & params::LmProduct::IN_PLACE != 0).then(|| pitch(&p)).flatten();
        let own = Own { level: self.0, p: &p, format, pitch, w, x, bias, y };
        if let Codes::Floats(size) = format.codes { own.floats(groups, size) } else { own.bytes(groups) }
    }
}

/// Bytes of a row that is used in place.
fn pitch(p: &params::LmProduct) -> Option<usize> {
    row_in_place(Type::from_id(p.format)?, p.columns as usize)
}

/// Bytes of all rows that are used in place, and how far they reach into `w`.
fn in_place(p: &params::LmProduct) -> Result<(u128, u128), String> {
    let pitch = pitch(p).ok_or("rows of that type or length are not used in place")? as u128;
    // Sixteen rows are reached by 32 bits from the first of them.
    if pitch * ROWS as u128 > i32::MAX as u128 {
        return Err(format!("rows of {} columns are too long to be used in place", p.columns));
    }
    let (mut first, mut reach) = (0, 0);
    for (&start, &end) in p.starts.iter().zip(&p.ends) {
        let end = end.min(p.rows);
        if !end.is_multiple_of(ROWS as u32) {
            return Err(format!("a matrix that is used in place ends at row {end}, which {ROWS} do not divide"));
        }
        if end > first {
            let bytes = u128::from(end - first) * pitch;
            reach = reach.max(u128::from(start) * u128::from(params::LmProduct::UNIT) + bytes);
            first = end;
        }
    }
    if first < p.rows {
        return Err(format!("matrices in place have {first} rows of {}", p.rows));
    }
    Ok((u128::from(p.rows) * pitch, reach))
}

/// What a part works on.
struct Own<'a> {
    level: Level,
    p: &'a params::LmProduct,
    format: Format,
    /// Bytes between rows, where these are used in place.
    pitch: Option<usize>,
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
                let few = if self.pitch.is_some() { COPIED } else { TILE };
                if (weights.table.is_some() || self.pitch.is_some()) && block.len() > few {
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
            let weights = Weights { fresh: weights.fresh && first == block.start, ..weights };
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
                self.level.run_vnni(Whole(area, tiles));
            }
        });
    }

    /// Runs `work` with codes as bytes of their own, signed or not.
    fn widened(&self, mut weights: Weights, signed: bool, work: impl FnOnce(Weights)) {
        WIDE.with_borrow_mut(|wide| {
            let lines = Widen::bytes(weights.groups).div_ceil(size_of::<Line>());
            if wide.len() < lines {
                wide.resize(lines, Line::ZERO);
            }
            let target = wide.as_mut_ptr().cast::<u8>();
            // `prepare` held the matrix against its binding; the target was just made large enough.
            self.level.run_codes(Widen { weights, target, signed });
            if weights.pitch.take().is_some() {
                weights.scales = target.wrapping_add(Widen::scales(weights.groups)).cast_const().cast();
            }
            (weights.codes, weights.table, weights.fresh) = (target.cast_const(), None, false);
            work(weights);
        });
    }

    /// A row that is used in place.
    fn row_in_place(&self, row: usize, pitch: usize) -> *const u8 {
        let mut first = 0;
        for (&start, &end) in self.p.starts.iter().zip(&self.p.ends) {
            if row < end as usize {
                let start = start as usize * params::LmProduct::UNIT as usize;
                return self.w.wrapping_add(start + (row - first) * pitch);
            }
            first = first.max(end as usize);
        }
        self.w
    }

    /// Sixteen rows of a matrix that is not of floats.
    fn weights(&self, group: usize) -> Weights {
        let columns = self.p.columns;
        let piece = self.format.piece(columns.into());
        let codes = match self.pitch {
            Some(pitch) => self.row_in_place(group * ROWS, pitch),
            None => self.w.wrapping_add(group * piece.bytes() as usize),
        };
        Weights {
            codes,
            table: if let Codes::Halves(table) = self.format.codes { Some(table) } else { None },
            plain: self.format.codes == Codes::Halves(&CENTRED),
            scales: codes.wrapping_add(piece.scales().start).cast(),
            least: self.format.least.then(|| codes.wrapping_add(piece.least().start).cast()),
            bf16: self.format.sixteen == Sixteen::BF16,
            finer: self.format.finer,
            groups: columns as usize / GROUP,
            fresh: true,
            pitch: self.pitch,
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
