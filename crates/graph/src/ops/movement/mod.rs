//! Another view of the same elements, or a selection by fixed rules.

mod fold;
mod grid;
mod join;
mod pad;
mod resize;
mod select;
mod view;
pub(super) mod walk;

use super::{Facts, Inputs, Operation};
use crate::{Fact, OpError, Tensor, Value};

pub use grid::{GridMode, GridPadding};
pub use pad::PadMode;
pub use resize::{AspectPolicy, Coordinates, Nearest, Resize, ResizeMode};

/// Gives up on a shape where what it depends on is not known.
macro_rules! known {
    ($maybe:expr) => {
        match $maybe {
            Some(known) => known,
            None => return Ok(None),
        }
    };
}
pub(super) use known;

/// A shape, as far as it can be told.
pub(super) type Shape = Result<Option<Vec<usize>>, OpError>;

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Movement {
    /// (data, shape): other sizes. A size of -1 is what is left over; 0 is the operand's own unless `allow_zero`.
    Reshape {
        /// Whether 0 means zero.
        allow_zero: bool,
    },
    /// (data): a matrix of all axes before this one and all others.
    Flatten {
        /// The first axis of the columns; it may be the rank.
        axis: i64,
    },
    /// (data, axes?): drops axes of size 1, all of them if none are named.
    Squeeze,
    /// (data, axes): puts axes of size 1 in; they are counted in the result.
    Unsqueeze,
    /// (data): axes in another order.
    Transpose {
        /// For each axis of the result the operand's; all reversed where nothing is said.
        perm: Option<Vec<usize>>,
    },
    /// (data, shape): broadcast to a shape, or with it.
    Expand,
    /// (data, repeats): repeated along each axis.
    Tile,
    /// (data, starts, ends, axes?, steps?): a part, with steps.
    Slice,
    /// (data…): one behind the other.
    Concat {
        /// Along this axis.
        axis: i64,
    },
    /// (data, sizes?): parts along an axis; of equal sizes, but for a smaller last one, where none are given.
    Split {
        /// The axis.
        axis: i64,
        /// How many parts there are.
        parts: usize,
    },
    /// (data, pads, value?, axes?): more elements around, or fewer where a pad is negative.
    Pad {
        /// What is put there.
        mode: PadMode,
    },
    /// (data): centred in a box of another size: (data, shape).
    CenterCropPad {
        /// The axes that the shape is about; all where nothing is said.
        axes: Option<Vec<i64>>,
    },
    /// (data): channels become blocks of pixels.
    DepthToSpace {
        /// The sides of a block.
        block: usize,
        /// Whether the position in the block is the fast part of the channel (`CRD`) or the slow one (`DCR`).
        column_first: bool,
    },
    /// (data): blocks of pixels become channels.
    SpaceToDepth {
        /// The sides of a block.
        block: usize,
    },
    /// (data, lengths): the front of each sequence reversed.
    ReverseSequence {
        /// The axis of time, 0 or 1; the other one counts the sequences.
        time_axis: usize,
    },
    /// (data, k?): zeros below or above a diagonal.
    Trilu {
        /// Whether the upper part stays.
        upper: bool,
    },
    /// (data, roi?, scales?, sizes?): resampled.
    Resize(Resize),
    /// (data, grid): sampled at points that are data.
    GridSample {
        /// How pixels are weighted.
        mode: GridMode,
        /// What lies outside.
        padding: GridPadding,
        /// Whether -1 and 1 are the centres of the outermost pixels, not their edges.
        align_corners: bool,
    },
    /// (theta, size): the points of a grid under affine maps.
    AffineGrid {
        /// Whether -1 and 1 are the centres of the outermost pixels, not their edges.
        align_corners: bool,
    },
    /// (columns, image shape, block shape): sums of blocks that overlap.
    Col2Im {
        /// Between the pixels of a block, by axis; 1 where nothing is said.
        dilations: Option<Vec<usize>>,
        /// Around the image: all starts, then all ends; 0 where nothing is said.
        pads: Option<Vec<usize>>,
        /// Between blocks, by axis; 1 where nothing is said.
        strides: Option<Vec<usize>>,
    },
}

impl Movement {
    /// The shape of the only output; `None` where it cannot be told. Not for [`Movement::Split`].
    fn shape(&self, inputs: &Facts<'_>) -> Shape {
        match self {
            Self::Reshape { allow_zero } => view::reshape(inputs, *allow_zero),
            Self::Flatten { axis } => view::flatten(inputs, *axis),
            Self::Squeeze => view::squeeze(inputs),
            Self::Unsqueeze => view::unsqueeze(inputs),
            Self::Transpose { perm } => select::transpose_shape(inputs, perm.as_deref()),
            Self::Expand => select::expand_shape(inputs),
            Self::Tile => select::tile_shape(inputs),
            Self::Slice => select::slice_shape(inputs),
            Self::Concat { axis } => join::concat_shape(inputs, *axis),
            Self::Split { .. } => Ok(None),
            Self::Pad { .. } => pad::pad_shape(inputs),
            Self::CenterCropPad { axes } => pad::center_shape(inputs, axes.as_deref()),
            Self::DepthToSpace { block, .. } => select::depth_to_space_shape(inputs, *block),
            Self::SpaceToDepth { block } => select::space_to_depth_shape(inputs, *block),
            Self::ReverseSequence { .. } => select::reverse_shape(inputs),
            Self::Trilu { .. } => select::trilu_shape(inputs),
            Self::Resize(resize) => resize.shape(inputs),
            Self::GridSample { .. } => grid::sample_shape(inputs),
            Self::AffineGrid { .. } => grid::affine_shape(inputs),
            Self::Col2Im { dilations, pads, strides } => {
                fold::shape(inputs, dilations.as_deref(), pads.as_deref(), strides.as_deref())
            }
        }
    }

    fn compute(&self, inputs: &Inputs<'_>, shape: Vec<usize>) -> Result<Tensor, OpError> {
        let data = inputs.tensor(0)?;
        match self {
            Self::Reshape { .. } | Self::Flatten { .. } | Self::Squeeze | Self::Unsqueeze => data.reshaped(shape),
            Self::Transpose { perm } => select::transpose(data, perm.as_deref(), shape),
            Self::Expand => select::expand(data, shape),
            Self::Tile => select::tile(data, shape),
            Self::Slice => select::slice(inputs, shape),
            Self::Concat { axis } => join::concat(inputs, *axis, shape),
            Self::Split { .. } => Err(OpError::unsupported("a split with one output")),
            Self::Pad { mode } => pad::pad(inputs, *mode, shape),
            Self::CenterCropPad { .. } => pad::center(data, shape),
            Self::DepthToSpace { block, column_first } => select::depth_to_space(data, *block, *column_first, shape),
            Self::SpaceToDepth { block } => select::space_to_depth(data, *block, shape),
            Self::ReverseSequence { time_axis } => select::reverse(data, inputs.tensor(1)?, *time_axis, shape),
            Self::Trilu { upper } => select::trilu(data, inputs.optional(1)?, *upper, shape),
            Self::Resize(resize) => resize.compute(inputs, shape),
            Self::GridSample { mode, padding, align_corners } => {
                grid::sample(data, inputs.tensor(1)?, *mode, *padding, *align_corners, shape)
            }
            Self::AffineGrid { align_corners } => grid::affine(data, *align_corners, shape),
            Self::Col2Im { dilations, pads, strides } => {
                fold::compute(inputs, dilations.as_deref(), pads.as_deref(), strides.as_deref(), shape)
            }
        }
    }
}

impl Operation for Movement {
    fn name(&self) -> &'static str {
        match self {
            Self::Reshape { .. } => "Reshape",
            Self::Flatten { .. } => "Flatten",
            Self::Squeeze => "Squeeze",
            Self::Unsqueeze => "Unsqueeze",
            Self::Transpose { .. } => "Transpose",
            Self::Expand => "Expand",
            Self::Tile => "Tile",
            Self::Slice => "Slice",
            Self::Concat { .. } => "Concat",
            Self::Split { .. } => "Split",
            Self::Pad { .. } => "Pad",
            Self::CenterCropPad { .. } => "CenterCropPad",
            Self::DepthToSpace { .. } => "DepthToSpace",
            Self::SpaceToDepth { .. } => "SpaceToDepth",
            Self::ReverseSequence { .. } => "ReverseSequence",
            Self::Trilu { .. } => "Trilu",
            Self::Resize(_) => "Resize",
            Self::GridSample { .. } => "GridSample",
            Self::AffineGrid { .. } => "AffineGrid",
            Self::Col2Im { .. } => "Col2Im",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        let dtype = inputs.get(0)?.dtype;
        if let Self::Split { axis, parts } = self {
            let shapes = join::split_shapes(inputs, *axis, *parts)?;
            return Ok(shapes.into_iter().map(|shape| Fact { dtype, shape, value: None }).collect());
        }
        Ok(vec![Fact { dtype, shape: self.shape(inputs)?, value: None }])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let facts = Facts::new(&facts, inputs.outputs());
        if let Self::Split { axis, parts } = self {
            let shapes = join::split_shapes(&facts, *axis, *parts)?;
            return join::split(inputs.tensor(0)?, *axis, shapes);
        }
        let shape = self.shape(&facts)?.ok_or_else(|| OpError::invalid("a shape that nothing tells"))?;
        Ok(vec![self.compute(inputs, shape)?.into()])
    }
}

/// The elements of an operand of integers, where they are known.
pub(super) fn integers(fact: &Fact) -> Result<Option<Vec<i64>>, OpError> {
    fact.value.as_ref().map(Tensor::integers).transpose()
}

/// The same for an operand that may be missing: `None` is unknown, and `Some(None)` missing.
pub(super) fn optional_integers(inputs: &Facts<'_>, index: usize) -> Result<Option<Option<Vec<i64>>>, OpError> {
    match inputs.optional(index) {
        None => Ok(Some(None)),
        Some(fact) => Ok(integers(fact)?.map(Some)),
    }
}
