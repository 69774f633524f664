//! `conv_*`: convolutions over one to three spatial dimensions.

mod cases;

use crate::family::{constants, linear, plain, read, variants, write};
use crate::{Family, MATMUL_TILE, Params};

/// Reduction depth per step of the tiled kernels.
const CONV_STEP: u32 = 16;

/// Adjacent results of a row that one invocation of `conv` computes.
const CONV_STRIP: u32 = 4;

constants! {
    /// `conv`, `conv_tiled` and `conv_transpose`: convolutions of up to three spatial dimensions.
    /// `conv_split_k` and `conv_split_k_reduce` are a convolution in two passes.
    ///
    /// `x` is `[batch, in_channels, input]` and `y` is `[batch, out_channels, output]`. `w` is
    /// `[out_channels, in_channels / groups, kernel]`, for `conv_transpose` `[in_channels,
    /// out_channels / groups, kernel]`. Pad fewer than three dimensions with leading ones (and pads
    /// of 0). `conv_tiled` and `conv_split_k` require [`Conv::is_flat`]. `conv_split_k` writes one
    /// partial `y` per split and ignores flags; `conv_split_k_reduce` reads these partial results
    /// as its `x`.
    pub struct Conv {
        /// Batch size.
        pub batch: u32,
        /// Channels of `x`.
        pub in_channels: u32,
        /// Channels of `y`.
        pub out_channels: u32,
        /// Groups; divides both channel counts. Output channels of a group only depend on input
        /// channels of the same group.
        pub groups: u32,
        /// Spatial sizes of `x`, outermost first.
        pub input: [u32; 3],
        /// Spatial sizes of `y`.
        pub output: [u32; 3],
        /// Kernel sizes.
        pub kernel: [u32; 3],
        /// Stride; in `conv_transpose`, the step in `y` per element of `x`.
        pub stride: [u32; 3],
        /// Dilation of the kernel.
        pub dilation: [u32; 3],
        /// Leading padding (in `conv_transpose`, elements cropped from the start of `y`); may be
        /// negative. The trailing padding follows from the sizes.
        pub pad: [i32; 3],
        /// Sum of [`Conv::BIAS`], [`Conv::ADD`] and [`Conv::CLAMP`].
        pub flags: u32,
        /// Lower bound of a clamped result.
        pub low: f32,
        /// Upper bound of a clamped result.
        pub high: f32,
        /// Number of splits of the reduction in `conv_split_k`; not read by the other kernels.
        pub parts: u32,
    }
}

impl Conv {
    /// Adds `bias[out_channel]`; without it `bias` is not read.
    pub const BIAS: u32 = 1;
    /// Adds to `y` instead of overwriting it.
    pub const ADD: u32 = 2;
    /// Clamps the result between `low` and `high`; NaN is preserved.
    pub const CLAMP: u32 = 4;

    /// Elements of the kernel window.
    pub fn taps(&self) -> u32 {
        self.kernel.iter().product()
    }

    /// Whether there are at most two spatial dimensions, as `conv_tiled` requires.
    pub fn is_flat(&self) -> bool {
        [self.input[0], self.output[0], self.kernel[0]] == [1; 3] && self.pad[0] == 0
    }

    /// Workgroup counts of `conv_tiled`: tiles of pixels, tiles of output channels of a group, and
    /// groups.
    pub fn tiles(&self) -> [u32; 3] {
        let pixels = self.output.iter().fold(self.batch, |product, &size| product.saturating_mul(size));
        let channels = self.out_channels.checked_div(self.groups).unwrap_or(0);
        [pixels.div_ceil(MATMUL_TILE), channels.div_ceil(MATMUL_TILE), self.groups]
    }

    /// Workgroup counts of `conv`: each invocation computes a strip of adjacent results of a row.
    pub fn strips(&self) -> [u32; 3] {
        let rows = [self.batch, self.out_channels, self.output[0], self.output[1]];
        let strips = self.output[2].div_ceil(CONV_STRIP);
        linear(rows.iter().fold(strips, |product, &size| product.saturating_mul(size)))
    }

    /// Workgroup counts of `conv_split_k`: [`Conv::tiles`] for each split.
    pub fn part_tiles(&self) -> [u32; 3] {
        let [across, down, groups] = self.tiles();
        [across, down, groups.saturating_mul(self.parts)]
    }

    /// Reduction depth: input channels per group times window elements.
    pub fn depth(&self) -> u32 {
        self.in_channels.checked_div(self.groups).unwrap_or(0).saturating_mul(self.taps())
    }

    /// Reduction depth of a split, a multiple of the tiled kernel's step.
    pub fn part_depth(&self) -> u32 {
        self.depth().div_ceil(self.parts.max(1).saturating_mul(CONV_STEP)).saturating_mul(CONV_STEP)
    }
}

impl Params for Conv {
    /// The grid of `conv_transpose` and `conv_split_k_reduce`, also valid for `conv`. The other
    /// forms use [`Conv::strips`], [`Conv::tiles`] and [`Conv::part_tiles`].
    fn grid(&self) -> [u32; 3] {
        let count = self.batch.saturating_mul(self.out_channels);
        linear(self.output.iter().fold(count, |product, &size| product.saturating_mul(size)))
    }
}

/// Epilogue of convolutions and its parameters.
macro_rules! conv_epilogue {
    ($($alias:literal)?) => {
        concat!($($alias, "\n",)? include_str!("conv_epilogue.wgsl"))
    };
}
const WITH_F32: &str = conv_epilogue!("alias Weight = f32;");
const WITH_F16: &str = conv_epilogue!("alias Weight = f16;");

const CONV: Family = Family {
    file: "conv.wgsl",
    text: include_str!("conv.wgsl"),
    entry: "conv",
    aliases: WITH_F32,
    variants: &[plain("conv")],
    bindings: &[read("x"), read("w"), read("bias"), write("y")],
    constants: Conv::CONSTANTS,
    cases: cases::of,
    ..Family::DEFAULT
};

pub(crate) const FAMILIES: &[Family] = &[
    CONV,
    Family {
        file: "conv_transpose.wgsl",
        text: include_str!("conv_transpose.wgsl"),
        entry: "conv_transpose",
        aliases: conv_epilogue!(),
        variants: &[plain("conv_transpose")],
        ..CONV
    },
    Family {
        entry: "conv_tiled",
        variants: variants! {
            "conv_tiled": PARTIAL = 0;
            "conv_split_k": PARTIAL = 1;
        },
        ..CONV
    },
    Family {
        entry: "conv_tiled",
        aliases: WITH_F16,
        variants: variants! {
            "conv_tiled_f16": PARTIAL = 0;
            "conv_split_k_f16": PARTIAL = 1;
        },
        ..CONV
    },
    Family {
        file: "conv_split_k_reduce.wgsl",
        text: include_str!("conv_split_k_reduce.wgsl"),
        entry: "conv_split_k_reduce",
        aliases: conv_epilogue!(),
        variants: &[plain("conv_split_k_reduce")],
        bindings: &[read("x"), read("bias"), write("y")],
        ..CONV
    },
];
