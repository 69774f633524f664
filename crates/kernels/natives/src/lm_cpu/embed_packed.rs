//! `lm_embed_packed`: single rows of a packed matrix.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, AccessRange, Extent};
use super::super::{memory, partition};
use crate::KernelFactory;
use roci_simd::quantized::{Format, ROWS, read_row};
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("lm_embed_packed", size_of::<roci_families::LmEmbedPacked>(), |_| Arc::new(EmbedPacked))];

pub(in super::super) struct EmbedPacked;

// SAFETY: `prepare` checks the three arrays against their bindings and rejects results that overlap
// an input or each other; parts are disjoint ranges of tokens.
unsafe impl NativeKernel for EmbedPacked {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(3)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::LmEmbedPacked = check::constants(launch)?;
        let [w, index, y] = check::bindings(launch)?;
        let format = Format::of_id(p.format)?;
        if p.tokens > 1 && p.y_stride < p.columns {
            return Err(format!("{} columns per token overlap with a stride of {}", p.columns, p.y_stride));
        }
        let step = format.column_step();
        if !p.columns.is_multiple_of(step as u32) {
            return Err(format!("{} columns are not a multiple of {step}", p.columns));
        }
        let groups = u128::from(p.rows.div_ceil(ROWS as u32));
        let bytes = groups * u128::from(format.panel_bytes(p.columns.into()));
        let w = AccessRange::read::<u32>("w", w, Extent::count(bytes / 4))?;
        let index = AccessRange::read::<u32>("index", index, Extent::of(&[(p.tokens, 1)]))?;
        let extent = Extent::of(&[(p.tokens, p.y_stride), (p.columns, 1)]).offset_by(p.y_offset);
        let y = AccessRange::write::<f32>("y", y, extent)?.skip::<f32>(p.y_offset);
        y.disjoint_from(&w)?;
        y.disjoint_from(&index)?;
        let bytes = u64::from(p.tokens) * u64::from(p.columns) * 4;
        Ok(partition::count(bytes, p.tokens as usize, launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::LmEmbedPacked>(launch) else { return };
        let Ok(format) = Format::of_id(p.format) else { return };
        let [w, index, y] = [0, 1, 2].map(|i| launch.bindings[i]);
        let panel = format.panel_bytes(p.columns.into()) as usize;
        for token in partition::range(p.tokens as usize, 1, part, parts) {
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
            // SAFETY: the panel of an existing row, within the extent that `prepare` checked; it is
            // read only.
            let bytes = unsafe { memory::input::<u8>(w, group * panel..(group + 1) * panel) };
            read_row(&format, bytes, row, y);
            y.iter_mut().for_each(|y| *y *= p.scale);
        }
    }
}
