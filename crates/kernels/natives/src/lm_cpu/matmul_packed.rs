//! `lm_matmul_packed`: a product with a packed matrix, or with rows in place.

use roci_gguf::Type;
use roci_hal::native::{NativeKernel, NativeLaunch};
use roci_simd::Level;
use roci_simd::quantized::{Format, GROUP, GROUP_BYTES, MatrixProduct, ROWS, Segment, row_in_place};

use super::super::check::{self, AccessRange, Extent};
use super::super::partition;
use crate::KernelFactory;
use std::sync::Arc;

/// The kernels of this file, with the sizes of their constants blocks.
pub(crate) const NATIVE_ONLY_KERNELS: &[(&str, usize, KernelFactory)] =
    &[("lm_matmul_packed", size_of::<roci_families::LmMatmulPacked>(), |level| Arc::new(MatmulPacked(level)))];

/// Multiplications of bytes that cost as much as reading one byte of weights.
const MULTIPLICATIONS_PER_BYTE: u64 = 16;

pub(in super::super) struct MatmulPacked(pub(in super::super) Level);

// SAFETY: `prepare` checks the arrays against their bindings and rejects results that overlap an
// input or each other; parts are disjoint ranges of rows.
unsafe impl NativeKernel for MatmulPacked {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(4)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: roci_families::LmMatmulPacked = check::constants(launch)?;
        let [w, x, bias, y] = check::bindings(launch)?;
        let format = Format::of_id(p.format)?;
        let step = format.column_step();
        if !p.columns.is_multiple_of(step as u32) {
            return Err(format!("{} columns are not a multiple of {step}", p.columns));
        }
        if p.flags & roci_families::LmMatmulPacked::SCALED != 0 && !format.has_blocks() {
            return Err("weights of this type have no scale".to_owned());
        }
        if p.tokens > 1 && p.y_stride < p.rows {
            return Err(format!("{} rows per token overlap with a stride of {}", p.rows, p.y_stride));
        }
        if p.rows == 0 || p.tokens == 0 {
            return Ok(0);
        }
        let groups = p.rows.div_ceil(ROWS as u32);
        let (bytes, w) = if p.flags & roci_families::LmMatmulPacked::IN_PLACE == 0 {
            let bytes = u128::from(groups) * u128::from(format.panel_bytes(p.columns.into()));
            (bytes, AccessRange::read::<u32>("w", w, Extent::count(bytes / 4))?)
        } else {
            let (bytes, reach) = in_place(&p)?;
            (bytes, AccessRange::read::<u8>("w", w, Extent::count(reach))?)
        };
        let x = if format.is_float() {
            let extent = Extent::of(&[(p.tokens, p.x_stride), (p.columns, 1)]).offset_by(p.x_offset);
            AccessRange::read::<f32>("x", x, extent)?
        } else {
            let words = u128::from(p.tokens) * u128::from(p.columns) / GROUP as u128 * (GROUP_BYTES / 4) as u128;
            AccessRange::read::<u32>("x", x, Extent::count(words))?
        };
        let y = AccessRange::write::<f32>(
            "y",
            y,
            Extent::of(&[(p.tokens, p.y_stride), (p.rows, 1)]).offset_by(p.y_offset),
        )?;
        let y = y.skip::<f32>(p.y_offset);
        y.disjoint_from(&w)?;
        y.disjoint_from(&x)?;
        if p.flags & roci_families::LmMatmulPacked::BIAS != 0 {
            y.disjoint_from(&AccessRange::read::<f32>("bias", bias, Extent::count(p.rows.into()))?)?;
        }
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Ok(partition::count(
            bytes.saturating_mul(1 + u64::from(p.tokens) / MULTIPLICATIONS_PER_BYTE),
            groups as usize,
            launch.workers,
        ))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<roci_families::LmMatmulPacked>(launch) else { return };
        let Ok(format) = Format::of_id(p.format) else { return };
        let [w, x, bias, y] = [0, 1, 2, 3].map(|i| launch.bindings[i].pointer);
        let all_panels = (p.rows as usize).div_ceil(ROWS);
        let panels = partition::range(all_panels, 1, part, parts);
        let end = |part| partition::range(all_panels, 1, part, parts).end;
        let segments = [0, 1, 2].map(|i| Segment {
            start: p.starts[i] as usize * roci_families::LmMatmulPacked::UNIT as usize,
            end: p.ends[i] as usize,
        });
        let product = MatrixProduct {
            level: self.0,
            format,
            columns: p.columns as usize,
            rows: p.rows as usize,
            tokens: p.tokens as usize,
            w,
            pitch: (p.flags & roci_families::LmMatmulPacked::IN_PLACE != 0).then(|| pitch(&p)).flatten(),
            segments: &segments,
            scale: if p.flags & roci_families::LmMatmulPacked::SCALED != 0 { p.scale } else { 1.0 },
            x: if format.is_float() { x.wrapping_add(p.x_offset as usize * size_of::<f32>()) } else { x },
            x_stride: p.x_stride as usize,
            bias: (p.flags & roci_families::LmMatmulPacked::BIAS != 0).then_some(bias.cast::<f32>().cast_const()),
            y: y.cast::<f32>().wrapping_add(p.y_offset as usize),
            y_stride: p.y_stride as usize,
            add: p.flags & roci_families::LmMatmulPacked::ADD != 0,
            next_panels: partition::worker_end(part, parts, launch.workers, end),
        };
        // SAFETY: `prepare` checked all arrays against their bindings; only this part touches the
        // rows of these panels.
        unsafe { product.compute(panels) };
    }
}

/// Bytes of a row in place.
fn pitch(p: &roci_families::LmMatmulPacked) -> Option<usize> {
    row_in_place(Type::from_id(p.format)?, p.columns as usize)
}

/// Bytes of all rows in place, and the extent of `w` that they span.
fn in_place(p: &roci_families::LmMatmulPacked) -> Result<(u128, u128), String> {
    let pitch = pitch(p).ok_or("rows of this type or length must be packed")? as u128;
    // Gather instructions address sixteen rows with signed 32-bit offsets from the first.
    if pitch * ROWS as u128 > i32::MAX as u128 {
        return Err(format!("rows of {} columns are too long for a product in place", p.columns));
    }
    let (mut first, mut reach) = (0, 0);
    for (&start, &end) in p.starts.iter().zip(&p.ends) {
        let end = end.min(p.rows);
        if !end.is_multiple_of(ROWS as u32) {
            return Err(format!("a matrix in place ends at row {end}, which is not a multiple of {ROWS}"));
        }
        if end > first {
            let bytes = u128::from(end - first) * pitch;
            reach = reach.max(u128::from(start) * u128::from(roci_families::LmMatmulPacked::UNIT) + bytes);
            first = end;
        }
    }
    if first < p.rows {
        return Err(format!("the matrices in place have {first} rows, expected {}", p.rows));
    }
    Ok((u128::from(p.rows) * pitch, reach))
}
