//! `lm_rows`: single rows of a packed matrix.

use half::{bf16, f16};
use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access, Extent};
use super::super::simd::codes::{LINE, LINE_COLUMNS};
use super::super::{memory, parts};
use super::ROWS;
use super::format::{Codes, Format, GROUP, LINES, Sixteen};
use crate::params;

/// The kernel.
pub(in super::super) struct Rows;

// SAFETY: `prepare` holds the three arrays against their bindings and rejects results that overlap an input or each other; parts
// are disjoint ranges of tokens.
unsafe impl NativeKernel for Rows {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::LmRows = check::constants(launch)?;
        let [w, index, y] = check::bindings(launch)?;
        let format = Format::of_id(p.format)?;
        if p.tokens > 1 && p.y_stride < p.columns {
            return Err(format!("{} columns a token lie {} elements apart", p.columns, p.y_stride));
        }
        let groups = u128::from(p.rows.div_ceil(ROWS as u32));
        let bytes = groups * u128::from(format.piece(p.columns.into()).bytes());
        let w = Access::read::<u32>("w", w, Extent::words(bytes / 4))?;
        let index = Access::read::<u32>("index", index, Extent::of(&[(p.tokens, 1)]))?;
        let extent = Extent::of(&[(p.tokens, p.y_stride), (p.columns, 1)]).after(p.y_offset);
        let y = Access::write::<f32>("y", y, extent)?.skip::<f32>(p.y_offset);
        y.apart_from(&w)?;
        y.apart_from(&index)?;
        let bytes = u64::from(p.tokens) * u64::from(p.columns) * 4;
        Ok(parts::count(bytes, p.tokens as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::LmRows>(launch) else { return };
        let Ok(format) = Format::of_id(p.format) else { return };
        let [w, index, y] = [0, 1, 2].map(|i| launch.bindings[i]);
        let piece = format.piece(p.columns.into()).bytes() as usize;
        for token in parts::share(p.tokens as usize, 1, part, parts) {
            let start = p.y_offset as usize + token * p.y_stride as usize;
            // SAFETY: this token's own elements, within the extent that `prepare` checked.
            let y = unsafe { memory::output::<f32>(y, start..start + p.columns as usize) };
            // SAFETY: within the extent that `prepare` checked; indices are read only.
            let row = unsafe { memory::input::<u32>(index, token..token + 1) }[0];
            if row >= p.rows {
                y.fill(0.0);
                continue;
            }
            let (group, row) = (row as usize / ROWS, row as usize % ROWS);
            // SAFETY: the piece of a row that is there, within the extent that `prepare` checked; it is read only.
            let bytes = unsafe { memory::input::<u8>(w, group * piece..(group + 1) * piece) };
            read(&format, bytes, row, y);
            y.iter_mut().for_each(|y| *y *= p.scale);
        }
    }
}

/// One of sixteen rows.
fn read(format: &Format, piece: &[u8], row: usize, values: &mut [f32]) {
    let sixteen = |bytes: &[u8]| {
        let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
        match format.sixteen {
            Sixteen::F16 => f16::from_bits(bits).to_f32(),
            Sixteen::BF16 => bf16::from_bits(bits).to_f32(),
        }
    };
    if let Codes::Floats(size) = format.codes {
        for (value, bytes) in values.iter_mut().zip(piece.chunks_exact(ROWS * size)) {
            let bytes = &bytes[row * size..][..size];
            *value = if let Ok(bytes) = bytes.try_into() { f32::from_le_bytes(bytes) } else { sixteen(bytes) };
        }
        return;
    }
    let parts = format.piece(values.len() as u64);
    let (scales, least) = (&piece[parts.scales()], &piece[parts.least()]);
    let each = if format.finer { 2 } else { 1 };
    let lines = format.group_codes() / LINE;
    for (group, values) in values.chunks_mut(GROUP).enumerate() {
        for (j, values) in values.chunks_mut(LINE_COLUMNS).enumerate() {
            let half = j * 2 / LINES;
            let at = ((group * each + half.min(each - 1)) * ROWS + row) * size_of::<u16>();
            let scale = sixteen(&scales[at..]);
            let least = if format.least { sixteen(&least[at..]) } else { 0.0 };
            let codes = &piece[(group * lines + j % lines) * LINE + row * LINE_COLUMNS..];
            for (value, &byte) in values.iter_mut().zip(codes) {
                let code = match format.codes {
                    Codes::Halves(table) => table[usize::from(byte >> (4 * half) & 0xf)],
                    _ => byte,
                };
                *value = scale * (f32::from(code) - 128.0) + least;
            }
        }
    }
}
