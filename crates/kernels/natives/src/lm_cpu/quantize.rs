//! `lm_quantize`: activations quantized to eight bits.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, AccessRange, Extent};
use super::super::{memory, partition};
use crate::KernelFactory;
use roci_simd::Level;
use roci_simd::quantized::{GROUP, GROUP_BYTES, TILE, quantize_row};
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("lm_quantize", size_of::<roci_families::LmQuantize>(), |level| Arc::new(Quantize(level)))];

pub(in super::super) struct Quantize(pub(in super::super) Level);

// SAFETY: `prepare` checks both arrays against their bindings and rejects an overlap; parts are
// disjoint ranges of tiles.
unsafe impl NativeKernel for Quantize {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::LmQuantize = check::constants(launch)?;
        let [x, y] = check::bindings(launch)?;
        if p.tokens == 0 || p.columns == 0 {
            return Ok(0);
        }
        let extent = Extent::of(&[(p.tokens, p.x_stride), (p.columns, 1)]).offset_by(p.x_offset);
        let x = AccessRange::read::<f32>("x", x, extent)?;
        let groups = u128::from(p.columns.div_ceil(GROUP as u32));
        let words = u128::from(p.tokens) * groups * (GROUP_BYTES / size_of::<u32>()) as u128;
        let y = AccessRange::write::<u32>("y", y, Extent::count(words))?;
        y.disjoint_from(&x)?;
        let bytes = u64::from(p.tokens) * u64::from(p.columns) * 4;
        Ok(partition::count(bytes, (p.tokens as usize).div_ceil(TILE), launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::LmQuantize>(launch) else { return };
        let [x, y] = [launch.bindings[0], launch.bindings[1]];
        let (tokens, columns) = (p.tokens as usize, p.columns as usize);
        let row = columns.div_ceil(GROUP) * GROUP_BYTES;
        let range = partition::range(tokens, TILE, part, parts);
        for first in range.clone().step_by(TILE) {
            let width = TILE.min(range.end - first);
            // SAFETY: this part's own tile, within the extent that `prepare` checked.
            let tile = unsafe { memory::output::<u8>(y, first * row..(first + width) * row) };
            for token in 0..width {
                let start = p.x_offset as usize + (first + token) * p.x_stride as usize;
                // SAFETY: within the extent that `prepare` checked; `x` is read only.
                let x = unsafe { memory::input::<f32>(x, start..start + columns) };
                quantize_row(self.0, x, tile, token, width);
            }
        }
    }
}
