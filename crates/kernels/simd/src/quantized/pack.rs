//! Packing of GGUF matrices.

use std::ops::Range;

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use roci_gguf::Type;

use super::ROWS;
use super::blocks::{self, Group};
use super::format::{Format, GROUP, PackError, SCALES, panel_bytes};
use crate::int8::LINE;
use crate::transpose::transpose_words;

/// Packs the rows of `panels`, sixteen each. `source` is the whole matrix as in a GGUF file,
/// `target` the packed matrix from `panels.start * panel_bytes` on. Several threads may pack one
/// matrix.
///
/// # Errors
/// If the type cannot be packed or a slice has the wrong length.
pub fn pack_rows(
    kind: Type,
    source: &[u8],
    columns: usize,
    panels: Range<usize>,
    target: &mut [u8],
) -> Result<(), PackError> {
    let format = Format::of(kind).ok_or(PackError::Type(kind))?;
    let bytes = panel_bytes(kind, columns)?;
    let too_large = || PackError::Size { rows: panels.len().saturating_mul(ROWS), columns };
    let expected = panels.len().checked_mul(bytes).ok_or_else(too_large)?;
    if target.len() != expected {
        return Err(PackError::Length { what: "the packed matrix", got: target.len(), expected });
    }
    let row = columns / kind.block_size() * kind.block_bytes();
    if row == 0 {
        return Ok(());
    }
    if !source.len().is_multiple_of(row) || source.len() / row < panels.end.saturating_sub(1).saturating_mul(ROWS) {
        let expected = panels.end.saturating_mul(ROWS).saturating_mul(row);
        return Err(PackError::Length { what: "the matrix", got: source.len(), expected });
    }
    for (panel, target) in panels.zip(target.chunks_exact_mut(bytes)) {
        let end = ((panel + 1) * ROWS * row).min(source.len());
        let source = &source[(panel * ROWS * row).min(end)..end];
        if format.blocks.is_some() {
            let (rows, padding) = target.split_at_mut(source.len());
            rows.copy_from_slice(source);
            padding.fill(0);
            continue;
        }
        if source.len() < ROWS * row {
            target.fill(0);
        }
        let rows = PanelPacker { format, rows: source, row, columns, target };
        pack_blocks(kind, rows);
    }
    Ok(())
}

/// Packs rows of a type without code groups.
pub(super) fn pack_blocks(kind: Type, rows: PanelPacker<'_>) {
    match kind {
        Type::Q4_0 | Type::IQ4_NL => rows.pack::<4, 1, 0, _, _>(None, blocks::q4_0),
        Type::Q4_1 => rows.pack::<4, 1, 1, _, _>(None, blocks::q4_1),
        Type::Q5_0 => rows.pack::<5, 1, 0, _, _>(None, blocks::q5_0),
        Type::Q5_1 => rows.pack::<5, 1, 1, _, _>(None, blocks::q5_1),
        Type::Q8_0 => rows.pack::<8, 1, 0, _, _>(None, blocks::q8_0),
        Type::MXFP4 => rows.pack::<4, 1, 0, _, _>(None, blocks::mxfp4),
        Type::Q2_K => rows.pack::<4, 2, 2, _, _>(Some([80, 82]), blocks::q2_k),
        Type::Q3_K => rows.pack::<4, 2, 0, _, _>(Some([108; 2]), blocks::q3_k),
        Type::Q4_K => rows.pack::<4, 1, 1, _, _>(Some([0, 2]), blocks::q4_k),
        Type::Q5_K => rows.pack::<5, 1, 1, _, _>(Some([0, 2]), blocks::q5_k),
        Type::Q6_K => rows.pack::<6, 2, 0, _, _>(Some([208; 2]), blocks::q6_k),
        Type::IQ4_XS => rows.pack::<4, 1, 0, _, _>(Some([0; 2]), blocks::iq4_xs),
        Type::F32 => rows.interleave::<4>(),
        _ => rows.interleave::<2>(),
    }
}

/// Scales as blocks have them.
pub(super) trait Scale: Copy + Default {
    /// Writes sixteen scales in the packed type.
    fn store(scales: &[Self; ROWS], target: &mut [u8; SCALES]);
}

impl Scale for u16 {
    #[inline(always)]
    fn store(scales: &[u16; ROWS], target: &mut [u8; SCALES]) {
        for (target, scale) in target.as_chunks_mut().0.iter_mut().zip(scales) {
            *target = scale.to_le_bytes();
        }
    }
}

/// Computed scales are rounded, sixteen at once.
impl Scale for f32 {
    #[inline(always)]
    fn store(scales: &[f32; ROWS], target: &mut [u8; SCALES]) {
        let mut rounded = [f16::ZERO; ROWS];
        rounded.convert_from_f32_slice(scales);
        u16::store(&rounded.map(f16::to_bits), target);
    }
}

/// At most sixteen rows, and their panel.
pub(super) struct PanelPacker<'a> {
    pub(super) format: Format,
    pub(super) rows: &'a [u8],
    /// Bytes of a row.
    pub(super) row: usize,
    pub(super) columns: usize,
    pub(super) target: &'a mut [u8],
}

impl PanelPacker<'_> {
    /// Packs blocks of `BYTES`, each of some groups of 32 columns, with this many words of codes,
    /// scales and minimums per group. `by` is the position of the two factors of scales and
    /// minimums in a block.
    #[inline(never)]
    pub(super) fn pack<const WORDS: usize, const SCALED: usize, const MINS: usize, const BYTES: usize, S: Scale>(
        self,
        by: Option<[usize; 2]>,
        read: impl Fn(&[u8; BYTES], usize, [f32; 2]) -> Group<WORDS, S>,
    ) {
        debug_assert_eq!(self.format.group_codes(), WORDS * LINE);
        debug_assert_eq!(self.format.group_scales(), SCALED * SCALES);
        debug_assert_eq!(self.format.mins, MINS > 0);
        let blocks = self.row / BYTES;
        let groups = self.columns / GROUP / blocks.max(1);
        let panel = self.format.panel(self.columns as u64);
        let (codes, rest) = self.target.split_at_mut(panel.scales().start);
        let (scales, rest) = rest.split_at_mut(panel.scales().len());
        let mins = &mut rest[..panel.mins().len()];
        let count = self.rows.len() / self.row;
        for block in 0..blocks {
            let start = |r: usize| r * self.row + block * BYTES;
            let mut factors = [[0.0; ROWS]; 2];
            for (at, factors) in by.into_iter().flatten().zip(&mut factors) {
                let mut bits = [f16::ZERO; ROWS];
                for (r, bits) in bits.iter_mut().enumerate().take(count) {
                    let at = start(r) + at;
                    *bits = f16::from_le_bytes([self.rows[at], self.rows[at + 1]]);
                }
                bits.convert_to_f32_slice(factors);
            }
            for group in 0..groups {
                let at = block * groups + group;
                let codes = &mut codes[at * WORDS * LINE..][..WORDS * LINE];
                let mut words = [[0; WORDS]; ROWS];
                let mut numbers = [[[S::default(); ROWS]; 2]; 2];
                for r in 0..count {
                    let Some(bytes) = self.rows[start(r)..].first_chunk() else { continue };
                    let read = read(bytes, group, [factors[0][r], factors[1][r]]);
                    words[r] = read.words;
                    let [scales, mins] = &mut numbers;
                    for (numbers, scale) in scales.iter_mut().zip(read.scales).take(SCALED) {
                        numbers[r] = scale;
                    }
                    for (numbers, value) in mins.iter_mut().zip(read.mins).take(MINS) {
                        numbers[r] = value;
                    }
                }
                transpose_words(&words, codes.as_chunks_mut().0);
                let scales = &mut scales[at * SCALED * SCALES..][..SCALED * SCALES];
                let mins = &mut mins[at * MINS * SCALES..][..MINS * SCALES];
                for (target, numbers) in scales.as_chunks_mut().0.iter_mut().zip(&numbers[0]) {
                    S::store(numbers, target);
                }
                for (target, numbers) in mins.as_chunks_mut().0.iter_mut().zip(&numbers[1]) {
                    S::store(numbers, target);
                }
            }
        }
    }

    /// Packs floats of `BYTES`, column by column.
    fn interleave<const BYTES: usize>(self) {
        let target = self.target.as_chunks_mut::<BYTES>().0;
        for (r, row) in self.rows.chunks_exact(self.row).enumerate() {
            for (column, value) in row.as_chunks::<BYTES>().0.iter().enumerate() {
                target[column * ROWS + r] = *value;
            }
        }
    }
}
