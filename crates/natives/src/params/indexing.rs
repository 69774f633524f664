//! Constants of the kernels that move words by indices from other buffers.
//!
//! Indices are signed 32-bit words; those below zero count from the end. One that lies outside its axis reads the
//! nearest element, and writes nothing. Sizes of axes that are read from are at least 1.

use bytemuck::{Pod, Zeroable};

use super::{Params, linear};

/// How a kernel reads the words of a buffer; its constants block holds it [as a word](Self::word).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// IEEE single precision.
    F32 = 0,
    /// Signed integers.
    I32 = 1,
    /// Unsigned integers.
    U32 = 2,
}

impl Numbers {
    /// What stands in a constants block.
    pub fn word(self) -> u32 {
        self as u32
    }

    /// What stands for `word`, if anything does.
    pub fn of(word: u32) -> Option<Self> {
        [Self::F32, Self::I32, Self::U32].into_iter().find(|numbers| numbers.word() == word)
    }
}

/// What becomes of an element and an update to it; a constants block holds it [as a word](Self::word).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The update.
    Replace = 0,
    /// Their sum; integers wrap.
    Add = 1,
    /// Their product; integers wrap.
    Mul = 2,
    /// The smaller; NaN wins.
    Min = 3,
    /// The larger; NaN wins.
    Max = 4,
}

impl Combine {
    /// What stands in a constants block.
    pub fn word(self) -> u32 {
        self as u32
    }

    /// What stands for `word`, if anything does.
    pub fn of(word: u32) -> Option<Self> {
        [Self::Replace, Self::Add, Self::Mul, Self::Min, Self::Max].into_iter().find(|combine| combine.word() == word)
    }
}

/// `take`: `y[o, j, i] = x[o, index[j], i]`, all row-major; `x` has the shape `outer x axis x inner`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Take {
    /// Elements before the axis.
    pub outer: u32,
    /// Length of the axis of `x`.
    pub axis: u32,
    /// Elements behind the axis.
    pub inner: u32,
    /// Indices.
    pub count: u32,
}

/// `take_elements`: `y[p] = x[strides * position of p in shape + axis_stride * index[p]]`; `index` and `y` are
/// row-major.
///
/// Fewer than five dimensions: lead with ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct TakeElements {
    /// Elements of `index` and `y`: the product of `shape`.
    pub count: u32,
    /// Their shape, outermost first.
    pub shape: [u32; 5],
    /// Element strides of `x` along each dimension; 0 for the axis that is indexed.
    pub strides: [u32; 5],
    /// Length of that axis in `x`.
    pub axis: u32,
    /// Element stride of `x` along it.
    pub axis_stride: u32,
}

/// `take_nd`: `y[b, n, i] = x[b * batch_stride + strides * index[b, n, ..] + i]`; `index` and `y` are row-major.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct TakeNd {
    /// Batches, each with indices of its own.
    pub batches: u32,
    /// Tuples of indices in each batch.
    pub count: u32,
    /// Elements that a tuple takes.
    pub slice: u32,
    /// Indices of a tuple: at most 5.
    pub depth: u32,
    /// Lengths of the indexed axes.
    pub sizes: [u32; 5],
    /// Element strides of `x` along them.
    pub strides: [u32; 5],
    /// Elements of `x` between batches.
    pub batch_stride: u32,
}

/// `scatter_elements`: for each line and step, in the order of the steps, combines an update with
/// `y[strides * line + axis_stride * index[update]]`, where the update is the one at
/// `update_strides * line + step_stride * step`, in `index` as in `updates`.
///
/// `y` is updated in place. Different lines must lead to different elements. Fewer than four dimensions of lines: lead
/// with ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ScatterElements {
    /// Lines: the product of `shape`.
    pub lines: u32,
    /// The shape of `index` without the axis that is indexed.
    pub shape: [u32; 4],
    /// Element strides of `y` along each of these dimensions.
    pub strides: [u32; 4],
    /// Element strides of `index` and `updates` along each of these dimensions.
    pub update_strides: [u32; 4],
    /// Length of the indexed axis in `y`.
    pub axis: u32,
    /// Element stride of `y` along it.
    pub axis_stride: u32,
    /// Length of the axis in `index` and `updates`.
    pub steps: u32,
    /// Element stride of `index` and `updates` along it.
    pub step_stride: u32,
    /// A [`Combine`].
    pub combine: u32,
    /// [`Numbers`] of `updates` and `y`.
    pub numbers: u32,
    /// Not 0 where it is known that no two updates meet: they need not be walked in order then.
    pub apart: u32,
}

/// `scatter_nd`: for each `n`, in order, combines `updates[n, i]` with `y[strides * index[n, ..] + i]`.
///
/// `y` is updated in place; `index` and `updates` are row-major.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ScatterNd {
    /// Tuples of indices.
    pub count: u32,
    /// Elements that a tuple updates.
    pub slice: u32,
    /// Indices of a tuple: at most 5.
    pub depth: u32,
    /// Lengths of the indexed axes.
    pub sizes: [u32; 5],
    /// Element strides of `y` along them.
    pub strides: [u32; 5],
    /// A [`Combine`].
    pub combine: u32,
    /// [`Numbers`] of `updates` and `y`.
    pub numbers: u32,
    /// Not 0 where it is known that no two updates meet: they need not be walked in order then.
    pub apart: u32,
}

/// `resample`: `y[o, j, i] = sum over t of weight[j, t] * x[o, index[j, t], i]`, all row-major.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Resample {
    /// Elements before the axis.
    pub outer: u32,
    /// Length of the axis of `x`.
    pub axis: u32,
    /// Elements behind the axis.
    pub inner: u32,
    /// Length of the axis of `y`.
    pub count: u32,
    /// Elements that one of `y` is made of.
    pub taps: u32,
}

/// The product, as far as 32 bits reach.
fn product(sizes: &[u32]) -> u32 {
    sizes.iter().fold(1, |product: u32, &size| product.saturating_mul(size))
}

impl Params for Take {
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.outer, self.count, self.inner]))
    }
}

impl Params for TakeElements {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for TakeNd {
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.batches, self.count, self.slice]))
    }
}

impl Params for ScatterElements {
    /// One invocation a line, or an update where they are apart.
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.lines, if self.apart == 0 { 1 } else { self.steps }]))
    }
}

impl Params for ScatterNd {
    /// One invocation an element of the slices, or an element of the updates where they are apart.
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.slice, if self.apart == 0 { 1 } else { self.count }]))
    }
}

impl Params for Resample {
    fn grid(&self) -> [u32; 3] {
        linear(product(&[self.outer, self.count, self.inner]))
    }
}
