//! Single rows of a packed matrix.

use half::{bf16, f16};

use super::ROWS;
use super::format::{Encoding, Float16, Format, GROUP, LINES, row_bytes, split_bits};
use crate::int8::{LINE, LINE_COLUMNS};

/// Dequantizes one of the sixteen rows of a panel.
pub fn read_row(format: &Format, panel: &[u8], row: usize, values: &mut [f32]) {
    let float16 = |bytes: &[u8]| {
        let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
        match format.float16 {
            Float16::F16 => f16::from_bits(bits).to_f32(),
            Float16::BF16 => bf16::from_bits(bits).to_f32(),
        }
    };
    if let Encoding::Floats(size) = format.codes {
        for (value, bytes) in values.iter_mut().zip(panel.chunks_exact(ROWS * size)) {
            let bytes = &bytes[row * size..][..size];
            *value = if let Ok(bytes) = bytes.try_into() { f32::from_le_bytes(bytes) } else { float16(bytes) };
        }
        return;
    }
    if let Some(kind) = format.blocks {
        let bytes = row_bytes(kind, values.len() as u64) as usize;
        // Rows are whole blocks, which their packing has checked.
        if kind.dequantize(&panel[row * bytes..][..bytes], values).is_err() {
            values.fill(0.0);
        }
        return;
    }
    let layout = format.panel(values.len() as u64);
    let (scales, mins) = (&panel[layout.scales()], &panel[layout.mins()]);
    let each = if format.fine_scales { 2 } else { 1 };
    let lines = format.group_codes() / LINE;
    for (group, values) in values.chunks_mut(GROUP).enumerate() {
        for (j, values) in values.chunks_mut(LINE_COLUMNS).enumerate() {
            let half = j * 2 / LINES;
            let at = ((group * each + half.min(each - 1)) * ROWS + row) * size_of::<u16>();
            let scale = float16(&scales[at..]);
            let min = if format.mins { float16(&mins[at..]) } else { 0.0 };
            let codes = |line: usize| &panel[(group * lines + line) * LINE + row * LINE_COLUMNS..][..LINE_COLUMNS];
            let own = codes(if format.codes == Encoding::Bytes { j } else { j % (LINES / 2) });
            for (at, (value, &byte)) in values.iter_mut().zip(own).enumerate() {
                let code = match format.codes {
                    Encoding::Nibbles(table) => table[usize::from(byte >> (4 * half) & 0xf)],
                    Encoding::Split { bits, bias } => {
                        let (line, first) = split_bits(j, bits);
                        let high = codes(LINES / 2 + line)[at] >> first & ((1 << bits) - 1);
                        (byte >> (4 * half) & 0xf | high << 4) + bias
                    }
                    _ => byte,
                };
                *value = scale * (f32::from(code) - 128.0) + min;
            }
        }
    }
}
