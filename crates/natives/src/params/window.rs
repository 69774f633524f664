//! Constants of the kernels that move a window over one to three dimensions: convolutions and pools.

use bytemuck::{Pod, Zeroable};

use super::{MATMUL_TILE, Params, linear};

/// Terms that the tiled kernels add in one step.
const CONV_STEP: u32 = 16;
/// Results of a row that one invocation of `conv` computes.
const CONV_STRIP: u32 = 4;

/// `conv`, `conv_tiled` and `conv_transpose`: convolutions over batches of channels of up to three dimensions;
/// `conv_partial` and `conv_join`: one in two steps.
///
/// `x` is `[batch, in_channels, input]`, `y` is `[batch, out_channels, output]`; `w` is `[out_channels, in_channels /
/// groups, kernel]`, for `conv_transpose` `[in_channels, out_channels / groups, kernel]`. Fewer than three dimensions:
/// lead with ones (and pads of 0). `conv_tiled` takes what [`Conv::is_flat`] tells, and so does `conv_partial`, whose
/// result is one `y` for each part of the sums, and which has no flags; `conv_join` has these parts for its `x`.
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
    /// Into how many parts `conv_partial` cuts its sums; the others do not read it.
    pub parts: u32,
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

    /// Workgroup counts of `conv`: an invocation computes some neighbours of a row.
    pub fn strips(&self) -> [u32; 3] {
        let rows = [self.batch, self.out_channels, self.output[0], self.output[1]];
        let strips = self.output[2].div_ceil(CONV_STRIP);
        linear(rows.iter().fold(strips, |product, &size| product.saturating_mul(size)))
    }

    /// Workgroup counts of `conv_partial`: as [`Conv::tiles`], for each part.
    pub fn part_tiles(&self) -> [u32; 3] {
        let [across, down, groups] = self.tiles();
        [across, down, groups.saturating_mul(self.parts)]
    }

    /// Terms of a sum: channels of a group times places of the window.
    pub fn depth(&self) -> u32 {
        self.in_channels.checked_div(self.groups).unwrap_or(0).saturating_mul(self.taps())
    }

    /// Terms of a part of a sum: whole steps of the tiled kernel.
    pub fn part_depth(&self) -> u32 {
        self.depth().div_ceil(self.parts.max(1).saturating_mul(CONV_STEP)).saturating_mul(CONV_STEP)
    }
}

impl Params for Conv {
    /// That of `conv_transpose` and `conv_join`, which does for `conv`; the others have [`Conv::strips`], [`Conv::tiles`] and
    /// [`Conv::part_tiles`].
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
