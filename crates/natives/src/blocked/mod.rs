//! Kernels on pictures whose channels lie in blocks of a vector's length, which only the CPU has.
//!
//! A vector then holds one pixel of so many channels. A convolution needs no patches: each element of the window is a
//! plain offset, since planes have borders of zeros, and its input is spread over the lanes as it is read. What lies
//! how is in [`Picture`]; weights are packed once, by [`pack_blocked`].

mod conv;
mod depthwise;
mod pack;
mod plan;
mod pool;
mod reorder;
mod tile;

pub(super) use conv::ConvBlocked;
pub use pack::pack_blocked;
pub(super) use pool::{Average, Max, PoolBlocked};
pub(super) use reorder::Reorder;

use super::check::Extent;
use crate::params::Picture;

/// What is wrong with a picture, or how far a batch of it reaches.
fn extent(picture: &Picture, batch: u32) -> Result<Extent, String> {
    let sizes = [picture.channels, picture.size[0], picture.size[1], picture.block, picture.border, batch];
    // Far from where any product of theirs could leave 64 bits.
    if sizes.iter().any(|&size| size > 1 << 24) || picture.block == 0 || picture.block > 64 {
        return Err(format!("a batch of {batch} like {picture:?}"));
    }
    let side = |size: u32| u128::from(size) + 2 * u128::from(picture.border);
    let plane = side(picture.size[0]) * side(picture.size[1]) * u128::from(picture.block);
    let elements = plane * picture.blocks() as u128 * u128::from(batch);
    if elements > u128::from(u32::MAX) {
        return Err(format!("{elements} elements; 32 bits count fewer"));
    }
    Ok(Extent::words(elements))
}

/// Zeros around some rows of one plane.
///
/// # Safety
/// `plane` is a plane of the picture that may be written; nothing else touches these rows, nor, where they are the first or
/// last, the border above or below.
unsafe fn clear_border(picture: &Picture, plane: *mut f32, rows: std::ops::Range<usize>) {
    let border = picture.border as usize;
    if border == 0 || rows.is_empty() {
        return;
    }
    let (row, side) = (picture.row(), border * picture.block as usize);
    let zero = |from: usize, count: usize| {
        // SAFETY: within the plane, by the callers of this closure below.
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
    if rows.end == picture.size[0] as usize {
        zero((rows.end + border) * row, border * row);
    }
}
