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
pub use pad::{PadMode, pad_fill, pad_source, pads};
pub use resize::{AspectPolicy, Coordinates, Nearest, Resize, ResizeMode, ResizeStep};
pub use select::{Part, slice_parts};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(op: Movement, inputs: &[Option<Tensor>]) -> Result<Tensor, OpError> {
        let values: Vec<_> = inputs.iter().map(|one| one.clone().map(Value::from)).collect();
        let values: Vec<_> = values.iter().map(Option::as_ref).collect();
        let made = op.eval(&Inputs::new(&values, 1))?;
        made[0].tensor().cloned()
    }

    fn list(values: &[i64]) -> Option<Tensor> {
        Some(Tensor::vector(values.to_vec()))
    }

    fn ramp(shape: &[usize]) -> Option<Tensor> {
        let count: usize = shape.iter().product();
        Tensor::new(shape, (0..count).map(|at| at as f32).collect()).ok()
    }

    fn resize(mode: ResizeMode, coordinates: Coordinates) -> Movement {
        Movement::Resize(Resize {
            mode,
            coordinates,
            antialias: false,
            exclude_outside: false,
            extrapolation: 0.0,
            policy: AspectPolicy::Stretch,
            axes: None,
        })
    }

    #[test]
    fn hostile_sizes_are_errors() {
        let reshape = || Movement::Reshape { allow_zero: false };
        assert!(eval(reshape(), &[ramp(&[2, 3]), list(&[i64::MAX, i64::MAX])]).is_err());
        assert!(eval(reshape(), &[ramp(&[2, 3]), list(&[-2, -3])]).is_err());
        assert!(eval(reshape(), &[ramp(&[0, 3]), list(&[0, -1])]).is_err());
        assert!(eval(Movement::Expand, &[ramp(&[1]), list(&[i64::MAX])]).is_err());
        assert!(eval(Movement::Expand, &[ramp(&[1]), list(&[1 << 59])]).is_err());
        assert!(eval(Movement::Tile, &[ramp(&[2]), list(&[i64::MAX])]).is_err());
        assert!(eval(Movement::Tile, &[ramp(&[2]), list(&[-1])]).is_err());
        let pad = || Movement::Pad { mode: PadMode::Reflect };
        assert!(eval(pad(), &[ramp(&[2]), list(&[i64::MAX, i64::MAX])]).is_err());
        assert!(eval(pad(), &[ramp(&[2]), list(&[i64::MIN, i64::MAX])]).is_err());
        assert!(eval(pad(), &[ramp(&[0]), list(&[1, 1])]).is_err());
        assert!(eval(Movement::SpaceToDepth { block: usize::MAX }, &[ramp(&[1, 1, 2, 2])]).is_err());
        assert!(
            eval(Movement::DepthToSpace { block: usize::MAX, column_first: true }, &[ramp(&[1, 1, 2, 2])]).is_err()
        );
        let scales = |scales: &[f32]| [ramp(&[4]), None, Some(Tensor::vector(scales.to_vec()))];
        for scale in [f32::NAN, f32::INFINITY, -1.0, 0.0, 1e30] {
            assert!(eval(resize(ResizeMode::Linear, Coordinates::HalfPixel), &scales(&[scale])).is_err(), "{scale}");
        }
    }

    #[test]
    fn empty_tensors_with_huge_sizes_stay_empty() -> Result<(), OpError> {
        let huge = Tensor::new([1 << 62, 1 << 62, 0], Vec::<f32>::new())?;
        let made = eval(Movement::Transpose { perm: Some(vec![2, 0, 1]) }, &[Some(huge.clone())])?;
        assert_eq!(made.shape(), [0, 1 << 62, 1 << 62]);
        let made = eval(Movement::Concat { axis: 0 }, &[Some(huge.clone()), Some(huge.clone())])?;
        assert_eq!(made.shape(), [1 << 63, 1 << 62, 0]);
        assert!(eval(Movement::Concat { axis: 0 }, &[Some(made.clone()), Some(made)]).is_err());
        let made = eval(Movement::Slice, &[Some(huge), list(&[-1]), list(&[i64::MIN]), list(&[0]), list(&[-1])])?;
        assert_eq!(made.shape(), [1 << 62, 1 << 62, 0]);
        Ok(())
    }

    #[test]
    fn slices_take_any_start_end_and_step() -> Result<(), OpError> {
        let take = |start, end, step| {
            eval(Movement::Slice, &[ramp(&[5]), list(&[start]), list(&[end]), list(&[-1]), list(&[step])])
        };
        assert_eq!(take(i64::MAX, i64::MIN, -2)?.floats()?, [4.0, 2.0, 0.0]);
        assert_eq!(take(i64::MIN, i64::MAX, i64::MAX)?.floats()?, [0.0]);
        assert_eq!(take(-1, 0, i64::MIN)?.floats()?, [4.0]);
        assert_eq!(take(3, 1, 1)?.len(), 0);
        assert!(take(0, 1, 0).is_err());
        Ok(())
    }

    #[test]
    fn pads_that_cut_off_come_before_those_that_repeat() -> Result<(), OpError> {
        let pad = |mode, pads: &[i64]| eval(Movement::Pad { mode }, &[ramp(&[4]), list(pads)]);
        assert_eq!(pad(PadMode::Reflect, &[-1, 2])?.floats()?, [1.0, 2.0, 3.0, 2.0, 1.0]);
        assert_eq!(pad(PadMode::Wrap, &[2, -1])?.floats()?, [1.0, 2.0, 0.0, 1.0, 2.0]);
        assert_eq!(pad(PadMode::Edge, &[-2, -2])?.len(), 0);
        // As NumPy: a reflection may be reflected again.
        assert_eq!(pad(PadMode::Reflect, &[0, 7])?.floats()?[4..], [2.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0]);
        Ok(())
    }

    #[test]
    fn places_of_scales_are_exact_in_single_precision() -> Result<(), OpError> {
        let op = resize(ResizeMode::Nearest(Nearest::Floor), Coordinates::Asymmetric);
        let made = eval(op, &[ramp(&[6]), None, Some(Tensor::vector(vec![8.0f32 / 3.0]))])?;
        assert_eq!(made.len(), 16);
        assert_eq!(made.floats()?[8], 3.0);
        Ok(())
    }

    #[test]
    fn points_at_infinity_read_the_padding() -> Result<(), OpError> {
        let grid = Tensor::new([1, 1, 3, 2], vec![f32::INFINITY, 0.0, f32::NEG_INFINITY, 0.0, f32::NAN, 0.0])?;
        for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
            for mode in [GridMode::Nearest, GridMode::Linear, GridMode::Cubic] {
                let op = Movement::GridSample { mode, padding, align_corners: true };
                let made = eval(op, &[ramp(&[1, 1, 1, 3]), Some(grid.clone())])?.floats()?;
                if padding == GridPadding::Zeros {
                    assert_eq!(made[..2], [0.0, 0.0]);
                } else if padding == GridPadding::Border && mode != GridMode::Cubic {
                    assert_eq!(made[..2], [2.0, 0.0]);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn what_is_not_known_is_no_error() -> Result<(), OpError> {
        let unknown = Fact::unknown(crate::DType::I64);
        let known = Fact::new(crate::DType::F32, [2, 3]);
        let facts = [Some(known), Some(unknown)];
        for op in [Movement::Reshape { allow_zero: false }, Movement::Expand, Movement::Tile, Movement::Unsqueeze] {
            assert_eq!(op.infer(&Facts::new(&facts, 1))?, [Fact::unknown(crate::DType::F32)]);
        }
        assert_eq!(Movement::Split { axis: 0, parts: 2 }.infer(&Facts::new(&facts, 2))?.len(), 2);
        Ok(())
    }
}
