//! Constants of the kernels that only the CPU has: pictures whose channels lie in blocks, and products with packed weights.

use bytemuck::{Pod, Zeroable};

use super::Params;

/// How the pictures of a batch lie: `[batch, blocks of channels, height, width, channel of the block]`, each plane with a
/// border around it. Channels that fill up the last block hold anything.
///
/// With blocks of one channel and no border it is the usual order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Picture {
    /// Channels.
    pub channels: u32,
    /// Height and width, without the border.
    pub size: [u32; 2],
    /// Channels of a block.
    pub block: u32,
    /// Pixels on each side that are not part of the picture: zeros, where somebody reads them.
    pub border: u32,
}

impl Picture {
    /// Blocks of channels.
    pub fn blocks(&self) -> usize {
        self.channels.div_ceil(self.block.max(1)) as usize
    }

    /// Elements of a row, with the border.
    pub fn row(&self) -> usize {
        (self.size[1] as usize + 2 * self.border as usize) * self.block as usize
    }

    /// Elements of a block's plane, with the border.
    pub fn plane(&self) -> usize {
        (self.size[0] as usize + 2 * self.border as usize) * self.row()
    }

    /// Elements of one picture.
    pub fn elements(&self) -> usize {
        self.blocks() * self.plane()
    }

    /// Where a pixel of a plane starts; places in the border are negative or beyond the size.
    pub fn at(&self, row: isize, column: isize) -> isize {
        let border = self.border as isize;
        (row + border) * self.row() as isize + (column + border) * self.block as isize
    }
}

/// `conv_blocked`: a convolution between blocked pictures. `w` is what `pack_blocked` makes of weights and bias.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ConvBlocked {
    /// Batches.
    pub batch: u32,
    /// What is read: in blocks, or in the usual order.
    pub x: Picture,
    /// What is written, with zeros in its border.
    pub y: Picture,
    /// Height and width of the window.
    pub kernel: [u32; 2],
    /// Steps of the window; across, at most 2 where depthwise.
    pub stride: [u32; 2],
    /// Steps between neighbours within the window.
    pub dilation: [u32; 2],
    /// Zeros before the start of `x`, which are part of its border, as are those behind the end.
    pub pad: [u32; 2],
    /// Sum of the flags of [`super::Conv`] (the bias is part of `w`, whatever they say) and [`ConvBlocked::DEPTHWISE`].
    pub flags: u32,
    /// Least value of a clamped result.
    pub low: f32,
    /// Greatest value of a clamped result.
    pub high: f32,
}

impl ConvBlocked {
    /// Every channel has a window of its own.
    pub const DEPTHWISE: u32 = 8;

    /// Elements of the window.
    pub fn taps(&self) -> usize {
        self.kernel.iter().map(|&size| size as usize).product()
    }
}

/// `pool_blocked_max` and `pool_blocked_average`: a pool between blocked pictures. Averages are taken over what of a window
/// lies in the picture.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct PoolBlocked {
    /// Batches.
    pub batch: u32,
    /// What is read.
    pub x: Picture,
    /// What is written, with zeros in its border.
    pub y: Picture,
    /// Height and width of the window.
    pub kernel: [u32; 2],
    /// Steps of the window.
    pub stride: [u32; 2],
    /// Steps between neighbours within the window.
    pub dilation: [u32; 2],
    /// Elements before the start of `x` at which the first window begins.
    pub pad: [u32; 2],
}

/// `reorder`: the same pictures in another order, with zeros in the border.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Reorder {
    /// Batches.
    pub batch: u32,
    /// What is read.
    pub x: Picture,
    /// What is written.
    pub y: Picture,
}

/// `matmul_packed`: `y = x * w + bias`, perhaps added to what is there, through a function. `w` is what `pack_columns` makes
/// of the matrix and the bias.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct MatmulPacked {
    /// Rows of `x` and `y`.
    pub m: u32,
    /// Columns of `y`.
    pub n: u32,
    /// Columns of `x`.
    pub k: u32,
    /// One of [`MatmulPacked::LINEAR`] and its neighbours, perhaps with [`MatmulPacked::ADD`].
    pub flags: u32,
}

impl MatmulPacked {
    /// The sums as they are.
    pub const LINEAR: u32 = 0;
    /// Through `relu`.
    pub const RELU: u32 = 1;
    /// Through the exact `gelu`.
    pub const GELU: u32 = 2;
    /// Added to what is in `y`, in front of the function.
    pub const ADD: u32 = 8;
}

super::one_group!(ConvBlocked PoolBlocked Reorder MatmulPacked);
