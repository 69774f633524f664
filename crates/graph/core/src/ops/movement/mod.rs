//! Data movement by fixed rules: views, permutations, slices, padding, resampling.

mod concat;
mod fold;
mod grid;
mod pad;
mod resize;
mod select;
pub(super) mod select_axes;
mod view;

use super::{Facts, Inputs, Operation};
use crate::{Fact, OpError, Tensor, Value};

pub use grid::{GridMode, GridPadding};
pub use pad::{PadMode, pad_fill, pad_source, pads};
pub use resize::{AspectPolicy, Coordinates, Nearest, Resize, ResizeMode, ResizeStep};
pub use select::{AxisSlice, slice_parts};

/// Returns an unknown shape if an operand that determines it is unknown.
macro_rules! known {
    ($maybe:expr) => {
        match $maybe {
            Some(known) => known,
            None => return Ok(None),
        }
    };
}
pub(super) use known;

/// A shape; `None` if it is unknown.
pub(super) type Shape = Result<Option<Vec<usize>>, OpError>;

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Movement {
    /// (data, shape): reshapes. A size of -1 is inferred; 0 copies the operand's size unless
    /// `allow_zero`.
    Reshape {
        /// Whether 0 means zero.
        allow_zero: bool,
    },
    /// (data): a matrix of all axes before this one and all others.
    Flatten {
        /// The first axis of the columns; may be the rank.
        axis: i64,
    },
    /// (data, axes?): removes axes of size 1; all of them without `axes`.
    Squeeze,
    /// (data, axes): inserts axes of size 1, numbered as in the result.
    Unsqueeze,
    /// (data): permutes axes.
    Transpose {
        /// For each axis of the result the operand's axis; `None` reverses all axes.
        perm: Option<Vec<usize>>,
    },
    /// (data, shape): broadcasts to a shape, or with it.
    Expand,
    /// (data, repeats): repeats along each axis.
    Tile,
    /// (data, starts, ends, axes?, steps?): a slice with steps.
    Slice,
    /// (data…): concatenates.
    Concat {
        /// Axis; counted from the last if negative.
        axis: i64,
    },
    /// (data, sizes?): splits along an axis; without sizes into equal parts, the last of which may
    /// be smaller.
    Split {
        /// Axis; counted from the last if negative.
        axis: i64,
        /// The number of parts.
        parts: usize,
    },
    /// (data, pads, value?, axes?): pads, or crops where a pad is negative.
    Pad {
        /// What the padding contains.
        mode: PadMode,
    },
    /// (data, shape): crops or zero-pads to a shape, centered.
    CenterCropPad {
        /// The axes that the shape refers to; all if `None`.
        axes: Option<Vec<i64>>,
    },
    /// (data): rearranges channels into blocks of pixels.
    DepthToSpace {
        /// The block size.
        block: usize,
        /// Whether the position in the block varies fastest within the channel (`CRD`) or slowest
        /// (`DCR`).
        column_first: bool,
    },
    /// (data): rearranges blocks of pixels into channels.
    SpaceToDepth {
        /// The block size.
        block: usize,
    },
    /// (data, lengths): reverses the first elements of each sequence.
    ReverseSequence {
        /// The time axis, 0 or 1; the other is the batch.
        time_axis: usize,
    },
    /// (data, k?): sets elements below or above a diagonal to zero.
    Trilu {
        /// Whether the upper triangle is kept.
        upper: bool,
    },
    /// (data, roi?, scales?, sizes?): resamples.
    Resize(Resize),
    /// (data, grid): samples at positions from a tensor.
    GridSample {
        /// The interpolation.
        mode: GridMode,
        /// The value of pixels outside.
        padding: GridPadding,
        /// Whether -1 and 1 are the centers of the outermost pixels, rather than their edges.
        align_corners: bool,
    },
    /// (theta, size): sampling grids from affine maps.
    AffineGrid {
        /// Whether -1 and 1 are the centers of the outermost pixels, rather than their edges.
        align_corners: bool,
    },
    /// (columns, image shape, block shape): sums of overlapping blocks.
    Col2Im {
        /// Spacing within a block, by axis; 1 if `None`.
        dilations: Option<Vec<usize>>,
        /// Padding of the image: all starts, then all ends; 0 if `None`.
        pads: Option<Vec<usize>>,
        /// Spacing of the blocks, by axis; 1 if `None`.
        strides: Option<Vec<usize>>,
    },
}

impl Movement {
    /// The shape of the only output; `None` if it is unknown. Not for [`Movement::Split`].
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
            Self::Concat { axis } => concat::concat_shape(inputs, *axis),
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
            Self::Concat { axis } => concat::concat(inputs, *axis, shape),
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
            let shapes = concat::split_shapes(inputs, *axis, *parts)?;
            return Ok(shapes.into_iter().map(|shape| Fact { dtype, shape, value: None }).collect());
        }
        Ok(vec![Fact { dtype, shape: self.shape(inputs)?, value: None }])
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let facts = Facts::new(&facts, inputs.outputs());
        if let Self::Split { axis, parts } = self {
            let shapes = concat::split_shapes(&facts, *axis, *parts)?;
            return concat::split(inputs.tensor(0)?, *axis, shapes);
        }
        let shape = self.shape(&facts)?.ok_or_else(|| OpError::invalid("the output shape is unknown"))?;
        Ok(vec![self.compute(inputs, shape)?.into()])
    }
}

/// The elements of an integer operand, if they are known.
pub(super) fn integers(fact: &Fact) -> Result<Option<Vec<i64>>, OpError> {
    fact.value.as_ref().map(Tensor::integers).transpose()
}

/// Like [`integers`], for an operand that may be omitted: `None` is unknown, and `Some(None)` is
/// omitted.
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
        let result = op.eval(&Inputs::new(&values, 1))?;
        result[0].tensor().cloned()
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
        let result = eval(Movement::Transpose { perm: Some(vec![2, 0, 1]) }, &[Some(huge.clone())])?;
        assert_eq!(result.shape(), [0, 1 << 62, 1 << 62]);
        let result = eval(Movement::Concat { axis: 0 }, &[Some(huge.clone()), Some(huge.clone())])?;
        assert_eq!(result.shape(), [1 << 63, 1 << 62, 0]);
        assert!(eval(Movement::Concat { axis: 0 }, &[Some(result.clone()), Some(result)]).is_err());
        let result = eval(Movement::Slice, &[Some(huge), list(&[-1]), list(&[i64::MIN]), list(&[0]), list(&[-1])])?;
        assert_eq!(result.shape(), [1 << 62, 1 << 62, 0]);
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
    fn negative_pads_apply_before_reflection() -> Result<(), OpError> {
        let pad = |mode, pads: &[i64]| eval(Movement::Pad { mode }, &[ramp(&[4]), list(pads)]);
        assert_eq!(pad(PadMode::Reflect, &[-1, 2])?.floats()?, [1.0, 2.0, 3.0, 2.0, 1.0]);
        assert_eq!(pad(PadMode::Wrap, &[2, -1])?.floats()?, [1.0, 2.0, 0.0, 1.0, 2.0]);
        assert_eq!(pad(PadMode::Edge, &[-2, -2])?.len(), 0);
        // As in NumPy, a reflection may be reflected again.
        assert_eq!(pad(PadMode::Reflect, &[0, 7])?.floats()?[4..], [2.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0]);
        Ok(())
    }

    #[test]
    fn scaled_coordinates_are_exact_in_f32() -> Result<(), OpError> {
        let op = resize(ResizeMode::Nearest(Nearest::Floor), Coordinates::Asymmetric);
        let result = eval(op, &[ramp(&[6]), None, Some(Tensor::vector(vec![8.0f32 / 3.0]))])?;
        assert_eq!(result.len(), 16);
        assert_eq!(result.floats()?[8], 3.0);
        Ok(())
    }

    #[test]
    fn infinite_positions_read_the_padding() -> Result<(), OpError> {
        let grid = Tensor::new([1, 1, 3, 2], vec![f32::INFINITY, 0.0, f32::NEG_INFINITY, 0.0, f32::NAN, 0.0])?;
        for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
            for mode in [GridMode::Nearest, GridMode::Linear, GridMode::Cubic] {
                let op = Movement::GridSample { mode, padding, align_corners: true };
                let result = eval(op, &[ramp(&[1, 1, 1, 3]), Some(grid.clone())])?.floats()?;
                if padding == GridPadding::Zeros {
                    assert_eq!(result[..2], [0.0, 0.0]);
                } else if padding == GridPadding::Border && mode != GridMode::Cubic {
                    assert_eq!(result[..2], [2.0, 0.0]);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn unknown_operands_are_not_an_error() -> Result<(), OpError> {
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
