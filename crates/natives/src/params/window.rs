//! Constants of the kernels that move a window over one to three dimensions: convolutions and pools.

use bytemuck::{Pod, Zeroable};

use super::{MATMUL_TILE, Params, linear};

/// `conv`, `conv_tiled` and `conv_transpose`: convolutions over batches of channels of up to three dimensions.
///
/// `x` is `[batch, in_channels, input]`, `y` is `[batch, out_channels, output]`; `w` is `[out_channels, in_channels /
/// groups, kernel]`, for `conv_transpose` `[in_channels, out_channels / groups, kernel]`. Fewer than three dimensions:
/// lead with ones (and pads of 0). `conv_tiled` takes what [`Conv::is_flat`] tells.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Conv {
    /// Batches.
    pub batch: u32,
    /// Channels of `x`.
    pub in_channels: u32,
    /// Channels of `y`.
    pub out_channels: u32,
    /// Groups that divide both numbers of channels; channels of one group see each other alone.
    pub groups: u32,
    /// Sizes of `x`, outermost first.
    pub input: [u32; 3],
    /// Sizes of `y`.
    pub output: [u32; 3],
    /// Sizes of the window.
    pub kernel: [u32; 3],
    /// Steps of the window; in `conv_transpose`, of `y` for a step of `x`.
    pub stride: [u32; 3],
    /// Steps between neighbours within the window.
    pub dilation: [u32; 3],
    /// Zeros before the start of `x` (in `conv_transpose`, elements cut off the start of `y`); may be negative. What is
    /// behind the end follows from the sizes.
    pub pad: [i32; 3],
    /// Sum of [`Conv::BIAS`], [`Conv::ADD`] and [`Conv::CLAMP`].
    pub flags: u32,
    /// Least value of a clamped result.
    pub low: f32,
    /// Greatest value of a clamped result.
    pub high: f32,
}

impl Conv {
    /// Adds `bias[out_channel]`; without it `bias` is not read.
    pub const BIAS: u32 = 1;
    /// Adds to what is in `y`.
    pub const ADD: u32 = 2;
    /// Clamps the result between `low` and `high`; NaN stays.
    pub const CLAMP: u32 = 4;

    /// Elements of the window.
    pub fn taps(&self) -> u32 {
        self.kernel.iter().product()
    }

    /// Whether there are at most two dimensions, as `conv_tiled` takes them.
    pub fn is_flat(&self) -> bool {
        [self.input[0], self.output[0], self.kernel[0]] == [1; 3] && self.pad[0] == 0
    }

    /// Workgroup counts of `conv_tiled`: tiles of pixels, of output channels of a group, and groups.
    pub fn tiles(&self) -> [u32; 3] {
        let pixels = self.output.iter().fold(self.batch, |product, &size| product.saturating_mul(size));
        let channels = self.out_channels.checked_div(self.groups).unwrap_or(0);
        [pixels.div_ceil(MATMUL_TILE), channels.div_ceil(MATMUL_TILE), self.groups]
    }
}

impl Params for Conv {
    /// That of `conv` and `conv_transpose`; `conv_tiled` has [`Conv::tiles`].
    fn grid(&self) -> [u32; 3] {
        let count = self.batch.saturating_mul(self.out_channels);
        linear(self.output.iter().fold(count, |product, &size| product.saturating_mul(size)))
    }
}

/// `pool_*`: one result for every position of a window, over planes of up to three dimensions.
///
/// `x` is `[planes, input]`, `y` is `[planes, output]`. Fewer than three dimensions: lead with ones (and pads of 0).
/// Where nothing of a window lies in `x`, the greatest is minus infinity, its index that of the plane's start, and the
/// others are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Pool {
    /// Planes: batches times channels.
    pub planes: u32,
    /// Sizes of `x`, outermost first.
    pub input: [u32; 3],
    /// Sizes of `y`.
    pub output: [u32; 3],
    /// Sizes of the window.
    pub kernel: [u32; 3],
    /// Steps of the window.
    pub stride: [u32; 3],
    /// Steps between neighbours within the window.
    pub dilation: [u32; 3],
    /// Elements before the start of `x` at which the first window begins; may be negative.
    pub pad: [i32; 3],
    /// Elements behind the end of `x` that [`Pool::COUNT_PAD`] counts.
    pub pad_end: [i32; 3],
    /// Sum of [`Pool::COUNT_PAD`] and [`Pool::COLUMN_MAJOR`].
    pub flags: u32,
    /// The norm of `pool_lp`, from 1 to 128; the others do not read it.
    pub norm: u32,
}

impl Pool {
    /// `pool_average` divides by the window's elements between the pads, not by those in `x`.
    pub const COUNT_PAD: u32 = 1;
    /// `pool_max_indices` counts the positions in a plane with the first of its dimensions running fastest.
    pub const COLUMN_MAJOR: u32 = 2;
}

impl Params for Pool {
    fn grid(&self) -> [u32; 3] {
        linear(self.output.iter().fold(self.planes, |product, &size| product.saturating_mul(size)))
    }
}
