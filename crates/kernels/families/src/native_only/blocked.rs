//! Parameters of the CPU-only kernels: convolutions and pools on channel-blocked images (NCHWc),
//! and products with packed weights.

use bytemuck::{Pod, Zeroable};

use super::one_group;
use crate::Params;

/// Layout of a batch of images: `[batch, channel blocks, height, width, channel in block]`, with a
/// border around each plane. The padding channels of the last block are unspecified.
///
/// A block size of one without a border is plain NCHW.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct BlockedLayout {
    /// Channels, without the padding of the last block.
    pub channels: u32,
    /// Height and width, without the border.
    pub size: [u32; 2],
    /// Channels per block.
    pub block: u32,
    /// Border pixels on each side. A kernel that reads them requires them to be zero.
    pub border: u32,
}

impl BlockedLayout {
    /// Channel blocks, rounded up.
    pub fn blocks(&self) -> usize {
        self.channels.div_ceil(self.block.max(1)) as usize
    }

    /// Elements per row, including the border.
    pub fn row(&self) -> usize {
        (self.size[1] as usize + 2 * self.border as usize) * self.block as usize
    }

    /// Elements per plane of a block, including the border.
    pub fn plane(&self) -> usize {
        (self.size[0] as usize + 2 * self.border as usize) * self.row()
    }

    /// Elements per image, including borders.
    pub fn elements(&self) -> usize {
        self.blocks() * self.plane()
    }

    /// Element offset of a pixel within its plane. Pixels of the border have negative coordinates
    /// or coordinates beyond the size.
    pub fn at(&self, row: isize, column: isize) -> isize {
        let border = self.border as isize;
        (row + border) * self.row() as isize + (column + border) * self.block as isize
    }
}

/// `conv_blocked`: convolution on blocked images. `w` is the output of `pack_blocked`, which holds
/// the weights and the bias.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ConvBlocked {
    /// Batch size.
    pub batch: u32,
    /// The input: blocked, or plain NCHW.
    pub x: BlockedLayout,
    /// The output. Its border is written with zeros.
    pub y: BlockedLayout,
    /// Height and width of the kernel.
    pub kernel: [u32; 2],
    /// Vertical and horizontal stride. A depthwise convolution supports a horizontal stride of at
    /// most 2.
    pub stride: [u32; 2],
    /// Dilation of the kernel.
    pub dilation: [u32; 2],
    /// Leading zero padding. It is part of the border of `x`, as is the trailing padding.
    pub pad: [u32; 2],
    /// Sum of flags of [`crate::Conv`] and [`ConvBlocked::DEPTHWISE`]. [`crate::Conv::BIAS`] is
    /// ignored, because `w` holds the bias.
    pub flags: u32,
    /// Lower bound of a clamped result.
    pub low: f32,
    /// Upper bound of a clamped result.
    pub high: f32,
}

impl ConvBlocked {
    /// Depthwise: each channel has its own filter.
    pub const DEPTHWISE: u32 = 8;

    /// Elements of the kernel window.
    pub fn taps(&self) -> usize {
        self.kernel.iter().map(|&size| size as usize).product()
    }
}

/// `pool_blocked_max` and `pool_blocked_average`: pooling on blocked images. An average excludes
/// the padding.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct PoolBlocked {
    /// Batch size.
    pub batch: u32,
    /// The input.
    pub x: BlockedLayout,
    /// The output. Its border is written with zeros.
    pub y: BlockedLayout,
    /// Height and width of the window.
    pub kernel: [u32; 2],
    /// Stride of the window.
    pub stride: [u32; 2],
    /// Dilation of the window.
    pub dilation: [u32; 2],
    /// Leading padding.
    pub pad: [u32; 2],
}

/// `reorder`: converts images from one layout to another and zeroes the border.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Reorder {
    /// Batch size.
    pub batch: u32,
    /// Layout of the input.
    pub x: BlockedLayout,
    /// Layout of the output.
    pub y: BlockedLayout,
}

/// `matmul_packed`: `y = activation(x * w + bias)`, optionally with the previous `y` added before
/// the activation. `w` is the output of `pack_columns`, which holds the matrix and the bias.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct MatmulPacked {
    /// Rows of `x` and `y`.
    pub m: u32,
    /// Columns of `y`.
    pub n: u32,
    /// Columns of `x`.
    pub k: u32,
    /// [`MatmulPacked::LINEAR`], [`MatmulPacked::RELU`] or [`MatmulPacked::GELU`], optionally with
    /// [`MatmulPacked::ADD`].
    pub flags: u32,
}

impl MatmulPacked {
    /// No activation.
    pub const LINEAR: u32 = 0;
    /// `relu` activation.
    pub const RELU: u32 = 1;
    /// Exact `gelu` activation.
    pub const GELU: u32 = 2;
    /// Adds the previous content of `y` before the activation.
    pub const ADD: u32 = 8;
}

one_group!(ConvBlocked PoolBlocked Reorder MatmulPacked);
