//! Kernels on images in a blocked channel layout (NCHWc, with one vector of channels per block).
//! They exist only for the CPU.
//!
//! A vector holds a block of channels of one pixel. A convolution needs no im2col: planes have zero
//! borders, so each element of the window is a constant offset, and its input is broadcast as it is
//! read. [`BlockedLayout`] defines the layout; [`pack_blocked`] packs the weights once.

pub(super) mod conv;
mod depthwise;
mod grid;
mod pack;
pub(super) mod pool;
pub(super) mod reorder;

pub use pack::pack_blocked;

use super::check::Extent;
use roci_families::BlockedLayout;

/// The elements of a batch of images, or why it is invalid.
fn extent(layout: &BlockedLayout, batch: u32) -> Result<Extent, String> {
    let sizes = [layout.channels, layout.size[0], layout.size[1], layout.block, layout.border, batch];
    // Keeps products of these sizes far below 64 bits.
    if sizes.iter().any(|&size| size > 1 << 24) || layout.block == 0 || layout.block > 64 {
        return Err(format!("unsupported batch of {batch} images {layout:?}"));
    }
    let side = |size: u32| u128::from(size) + 2 * u128::from(layout.border);
    let plane = side(layout.size[0]) * side(layout.size[1]) * u128::from(layout.block);
    let elements = plane * layout.blocks() as u128 * u128::from(batch);
    if elements > u128::from(u32::MAX) {
        return Err(format!("{elements} elements overflow 32 bits"));
    }
    Ok(Extent::count(elements))
}

/// Zeroes the border of some rows of one plane.
///
/// # Safety
/// `plane` is a writable plane of the image. Nothing else touches these rows, nor the border above
/// the first row or below the last one if the range includes it.
unsafe fn clear_border(layout: &BlockedLayout, plane: *mut f32, rows: std::ops::Range<usize>) {
    let border = layout.border as usize;
    if border == 0 || rows.is_empty() {
        return;
    }
    let (row, side) = (layout.row(), border * layout.block as usize);
    let zero = |from: usize, count: usize| {
        // SAFETY: within the plane: all calls below are within the rows and borders that the caller
        // guarantees.
        unsafe { plane.wrapping_add(from).write_bytes(0, count) };
    };
    for index in rows.clone() {
        let start = (index + border) * row;
        zero(start, side);
        zero(start + row - side, side);
    }
    if rows.start == 0 {
        zero(0, border * row);
    }
    if rows.end == layout.size[0] as usize {
        zero((rows.end + border) * row, border * row);
    }
}
