//! Constants of the kernels that look at whole rows or lines.

use bytemuck::{Pod, Zeroable};

use super::{MAX_GROUPS, Params, linear};

/// Elements behind an axis from which one invocation works on one line along it, so that neighbours read neighbours.
const COLUMNS: u32 = 32;

/// `arg_max`, `arg_min`: `y[o, i] =` the `r` of the largest or smallest `x[o, r, i]`, all row-major. NaN counts as
/// either.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ArgReduce {
    /// Elements before the axis.
    pub outer: u32,
    /// Length of the axis: at least 1.
    pub axis: u32,
    /// Elements behind the axis.
    pub inner: u32,
    /// [`Numbers`](super::Numbers) of `x`.
    pub numbers: u32,
    /// Of equals the first if 0, else the last.
    pub last: u32,
}

/// `scan_sum`, `scan_prod`: `y[o, r, i] =` the sum or product of `x[o, s, i]` over `s <= r`, all row-major.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Scan {
    /// Elements before the axis.
    pub outer: u32,
    /// Length of the axis.
    pub axis: u32,
    /// Elements behind the axis.
    pub inner: u32,
    /// [`Numbers`](super::Numbers) of `x` and `y`; integers wrap.
    pub numbers: u32,
    /// Not 0: without `x[o, r, i]` itself.
    pub exclusive: u32,
    /// Not 0: from the end, over `s >= r`.
    pub reverse: u32,
}

/// `normalize_rows` and `moments`: over the rows of a row-major matrix.
///
/// `normalize_rows`: `y = (x - mean) / sqrt(variance + epsilon)`; `moments`: the mean of each row, and
/// `1 / sqrt(variance + epsilon)`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Normalize {
    /// Rows, each normalised by itself.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Added to the variance.
    pub epsilon: f32,
    /// 0: the mean is taken to be 0, and the variance is the mean of the squares.
    pub centred: u32,
}

/// `top_k`: the `k` largest or smallest elements of each row of a row-major matrix, best first, and their columns. Of
/// equals the one of the lower column is first. NaN counts as larger than all numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct TopK {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Results of each row: at most `columns`.
    pub k: u32,
    /// [`Numbers`](super::Numbers) of `x`.
    pub numbers: u32,
    /// The smallest if 0, else the largest.
    pub largest: u32,
}

impl Params for ArgReduce {
    /// One workgroup an output element; the kernel strides over outputs beyond the grid.
    fn grid(&self) -> [u32; 3] {
        lines(self.outer, self.inner)
    }
}

impl Params for Scan {
    /// One workgroup a line; the kernel strides over lines beyond the grid.
    fn grid(&self) -> [u32; 3] {
        lines(self.outer, self.inner)
    }
}

/// Groups for the lines along an axis.
fn lines(outer: u32, inner: u32) -> [u32; 3] {
    let count = outer.saturating_mul(inner);
    if inner >= COLUMNS { linear(count) } else { [count.min(MAX_GROUPS), 1, 1] }
}

impl Params for Normalize {
    /// One workgroup a row; the kernel strides over rows beyond the grid.
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

impl TopK {
    /// Whether the kernel counts for each element those before it, rather than looking for one result after the other.
    fn counts(&self) -> bool {
        self.k > 32 && self.k >= self.columns / 8
    }
}

impl Params for TopK {
    /// One invocation an element or one workgroup a row; the kernel strides over those beyond the grid.
    fn grid(&self) -> [u32; 3] {
        if self.counts() {
            return linear(self.rows.saturating_mul(self.columns));
        }
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}
