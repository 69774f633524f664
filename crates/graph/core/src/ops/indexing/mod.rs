//! Operations on indices: gather, scatter, top-k, one-hot, unique.

mod boxes;
mod gather;
mod region;
mod scatter;
mod selection;
mod sorting;

use super::movement::Shape;
use super::{Facts, Inputs, Operation};
use crate::{DType, Fact, OpError, Tensor, Value};

pub use region::{MaxRoiPool, RoiAlign};
pub use scatter::Scatter;

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Indexing {
    /// (data, indices): slices along an axis.
    Gather {
        /// Axis; counted from the last if negative.
        axis: i64,
    },
    /// (data, indices): for each index an element with the same coordinates along the other axes.
    GatherElements {
        /// Axis; counted from the last if negative.
        axis: i64,
    },
    /// (data, indices): for each row of indices the slice that it selects.
    GatherNd {
        /// The number of leading axes that both share.
        batch_dims: usize,
    },
    /// (data, indices, updates): updates the elements that [`Indexing::GatherElements`] would
    /// select.
    ScatterElements {
        /// Axis; counted from the last if negative.
        axis: i64,
        /// How updates combine with old elements.
        reduction: Scatter,
    },
    /// (data, indices, updates): updates the slices that [`Indexing::GatherNd`] would select.
    ScatterNd {
        /// How updates combine with old elements.
        reduction: Scatter,
    },
    /// (cache, update, indices?): writes an update into each sample of a batch.
    TensorScatter {
        /// The time axis.
        axis: i64,
        /// Whether writes wrap around at the end.
        circular: bool,
    },
    /// (indices, depth, values): a new axis, with the second value at the index and the first
    /// elsewhere.
    OneHot {
        /// Axis; counted from the last if negative.
        axis: i64,
    },
    /// (data, k): the first k elements in order along an axis, and their indices. The order is
    /// stable, and NaN is the largest.
    TopK {
        /// Axis; counted from the last if negative.
        axis: i64,
        /// Whether the largest come first, or the smallest.
        largest: bool,
    },
    /// (data): the indices of all non-zero elements, one row per axis.
    NonZero,
    /// (data): each distinct element, or each distinct slice along an axis; then the index of its
    /// first occurrence, the inverse indices, and the counts.
    Unique {
        /// The axis; `None` treats the tensor as flat.
        axis: Option<i64>,
        /// Whether the result is sorted, or in order of first occurrence.
        sorted: bool,
    },
    /// (data, condition): the slices for which a condition holds.
    Compress {
        /// The axis; `None` treats the tensor as flat.
        axis: Option<i64>,
    },
    /// (boxes, scores, max_output?, iou_threshold?, score_threshold?): non-maximum suppression.
    NonMaxSuppression {
        /// Whether boxes are given as center and size, rather than corners.
        center_point: bool,
    },
    /// (images, regions, batch indices): regions resampled to one size.
    RoiAlign(RoiAlign),
    /// (images, regions): the maximum over each bin of each region.
    MaxRoiPool(MaxRoiPool),
}

impl Indexing {
    /// The shape of the first output; `None` if it is unknown.
    fn shape(&self, inputs: &Facts<'_>) -> Shape {
        match self {
            Self::Gather { axis } => gather::gather_shape(inputs, *axis),
            Self::GatherElements { axis } => gather::elements_shape(inputs, *axis),
            Self::GatherNd { batch_dims } => gather::nd_shape(inputs, *batch_dims),
            Self::ScatterElements { axis, .. } => scatter::elements_shape(inputs, *axis),
            Self::ScatterNd { .. } => scatter::nd_shape(inputs),
            Self::TensorScatter { axis, .. } => scatter::cache_shape(inputs, *axis),
            Self::OneHot { axis } => selection::one_hot_shape(inputs, *axis),
            Self::TopK { axis, .. } => sorting::top_shape(inputs, *axis),
            Self::NonZero | Self::Unique { .. } => Ok(None),
            Self::Compress { axis } => selection::compress_shape(inputs, *axis),
            Self::NonMaxSuppression { .. } => boxes::check(inputs).map(|()| None),
            Self::RoiAlign(roi) => roi.shape(inputs),
            Self::MaxRoiPool(roi) => roi.shape(inputs),
        }
    }

    /// The types of the outputs.
    fn dtypes(&self, inputs: &Facts<'_>) -> Result<Vec<DType>, OpError> {
        let dtype = |index: usize| inputs.get(index).map(|fact| fact.dtype);
        Ok(match self {
            Self::OneHot { .. } => vec![dtype(2)?],
            Self::TopK { .. } => vec![dtype(0)?, DType::I64],
            Self::NonZero | Self::NonMaxSuppression { .. } => vec![DType::I64],
            Self::Unique { .. } => vec![dtype(0)?, DType::I64, DType::I64, DType::I64],
            _ => vec![dtype(0)?],
        })
    }

    fn compute(&self, inputs: &Inputs<'_>, shape: Option<Vec<usize>>) -> Result<Vec<Tensor>, OpError> {
        let data = inputs.tensor(0)?;
        match self {
            Self::NonZero => return Ok(vec![selection::non_zero(data)?]),
            Self::Unique { axis, sorted } => return sorting::unique(data, *axis, *sorted),
            Self::NonMaxSuppression { center_point } => return Ok(vec![boxes::suppress(inputs, *center_point)?]),
            _ => {}
        }
        let shape = shape.ok_or_else(|| OpError::invalid("the output shape is unknown"))?;
        let result = match self {
            Self::Gather { axis } => gather::gather(data, inputs.tensor(1)?, *axis, shape)?,
            Self::GatherElements { axis } => gather::elements(data, inputs.tensor(1)?, *axis, shape)?,
            Self::GatherNd { batch_dims } => gather::nd(data, inputs.tensor(1)?, *batch_dims, shape)?,
            Self::ScatterElements { axis, reduction } => scatter::elements(inputs, *axis, *reduction)?,
            Self::ScatterNd { reduction } => scatter::nd(inputs, *reduction)?,
            Self::TensorScatter { axis, circular } => scatter::cache(inputs, *axis, *circular)?,
            Self::OneHot { axis } => selection::one_hot(inputs, *axis, shape)?,
            Self::TopK { axis, largest } => return sorting::top(data, *axis, *largest, shape),
            Self::Compress { axis } => selection::compress(data, inputs.tensor(1)?, *axis, shape)?,
            Self::RoiAlign(roi) => roi.compute(inputs, shape)?,
            Self::MaxRoiPool(roi) => roi.compute(inputs, shape)?,
            Self::NonZero | Self::Unique { .. } | Self::NonMaxSuppression { .. } => return Ok(Vec::new()),
        };
        Ok(vec![result])
    }
}

impl Operation for Indexing {
    fn name(&self) -> &'static str {
        match self {
            Self::Gather { .. } => "Gather",
            Self::GatherElements { .. } => "GatherElements",
            Self::GatherNd { .. } => "GatherND",
            Self::ScatterElements { .. } => "ScatterElements",
            Self::ScatterNd { .. } => "ScatterND",
            Self::TensorScatter { .. } => "TensorScatter",
            Self::OneHot { .. } => "OneHot",
            Self::TopK { .. } => "TopK",
            Self::NonZero => "NonZero",
            Self::Unique { .. } => "Unique",
            Self::Compress { .. } => "Compress",
            Self::NonMaxSuppression { .. } => "NonMaxSuppression",
            Self::RoiAlign(_) => "RoiAlign",
            Self::MaxRoiPool(_) => "MaxRoiPool",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        // Operations with several outputs of one shape.
        let shape = self.shape(inputs)?;
        let fact = |dtype| Fact { dtype, shape: shape.clone(), value: None };
        Ok(self.dtypes(inputs)?.into_iter().map(fact).collect())
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        let facts = inputs.facts()?;
        let shape = self.shape(&Facts::new(&facts, inputs.outputs()))?;
        Ok(self.compute(inputs, shape)?.into_iter().map(Value::from).collect())
    }
}

/// Converts an index as ONNX gives it; negative ones count from the end.
fn index(given: i64, size: usize) -> Result<usize, OpError> {
    let from_front = i128::from(given) + if given < 0 { size as i128 } else { 0 };
    usize::try_from(from_front)
        .ok()
        .filter(|&at| at < size)
        .ok_or_else(|| OpError::invalid(format!("index {given} is out of range for an axis of size {size}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(op: Indexing, inputs: &[Tensor]) -> Result<Vec<Tensor>, OpError> {
        let values: Vec<_> = inputs.iter().cloned().map(Value::from).collect();
        let values: Vec<_> = values.iter().map(Some).collect();
        let result = op.eval(&Inputs::new(&values, 4))?;
        result.iter().map(|one| one.tensor().cloned()).collect()
    }

    #[test]
    fn indices_out_of_range_are_errors() -> Result<(), OpError> {
        let data = Tensor::new([2, 3], (0..6).collect::<Vec<i32>>())?;
        for at in [2i64, -3, i64::MAX, i64::MIN] {
            let (rows, row) = (Tensor::new([1, 1], vec![at])?, Tensor::new([1, 3], vec![0i32; 3])?);
            assert!(eval(Indexing::Gather { axis: 0 }, &[data.clone(), rows.clone()]).is_err());
            assert!(eval(Indexing::GatherElements { axis: 0 }, &[data.clone(), rows.clone()]).is_err());
            assert!(eval(Indexing::GatherNd { batch_dims: 0 }, &[data.clone(), rows.clone()]).is_err());
            let scatter = Indexing::ScatterNd { reduction: Scatter::Add };
            assert!(eval(scatter, &[data.clone(), rows, row]).is_err());
        }
        assert!(eval(Indexing::GatherNd { batch_dims: 9 }, &[data.clone(), Tensor::vector(vec![0i64])]).is_err());
        for count in [-1, 4, i64::MAX] {
            assert!(eval(Indexing::TopK { axis: 1, largest: true }, &[data.clone(), Tensor::scalar(count)]).is_err());
        }
        Ok(())
    }

    #[test]
    fn gathering_from_empty_tensors_is_an_error() -> Result<(), OpError> {
        let empty = Tensor::new([1 << 62, 3, 0], Vec::<f32>::new())?;
        let index = Tensor::new([1, 1, 1], vec![5i64])?;
        assert!(eval(Indexing::GatherElements { axis: 2 }, &[empty.clone(), index]).is_err());
        let rows = Tensor::new([1, 3], vec![5i64, 1, 0])?;
        assert!(eval(Indexing::GatherNd { batch_dims: 0 }, &[empty.clone(), rows]).is_err());
        let result = eval(Indexing::Gather { axis: 1 }, &[empty.clone(), Tensor::vector(vec![2i64, 0])])?;
        assert_eq!(result[0].shape(), [1 << 62, 2, 0]);
        assert_eq!(eval(Indexing::NonZero, std::slice::from_ref(&empty))?[0].shape(), [3, 0]);
        assert!(eval(Indexing::Unique { axis: Some(0), sorted: true }, std::slice::from_ref(&empty)).is_err());
        assert_eq!(eval(Indexing::Unique { axis: None, sorted: true }, &[empty])?[0].shape(), [0]);
        Ok(())
    }

    #[test]
    fn nan_is_the_largest_and_equals_itself() -> Result<(), OpError> {
        let data = Tensor::vector(vec![1.0f32, f32::NAN, f32::INFINITY, 1.0, f32::NAN]);
        let top = |largest| eval(Indexing::TopK { axis: 0, largest }, &[data.clone(), Tensor::vector(vec![3i64])]);
        assert_eq!(top(true)?[1].integers()?, [1, 4, 2]);
        assert_eq!(top(false)?[1].integers()?, [0, 3, 2]);
        let each = eval(Indexing::Unique { axis: None, sorted: true }, &[data])?;
        assert_eq!(each[1].integers()?, [0, 2, 1]);
        assert_eq!(each[3].integers()?, [2, 1, 2]);
        Ok(())
    }

    #[test]
    fn integer_scatter_wraps_and_bool_scatter_is_or_and_and() -> Result<(), OpError> {
        let scatter = |data: Tensor, updates: Tensor, reduction| {
            let indices = Tensor::vector(vec![0i64, 0]);
            eval(Indexing::ScatterElements { axis: 0, reduction }, &[data, indices, updates])
        };
        let result = scatter(Tensor::vector(vec![250u8, 1]), Tensor::vector(vec![5u8, 5]), Scatter::Add)?;
        assert_eq!(result[0].slice::<u8>()?, [4, 1]);
        let truth = || Tensor::vector(vec![true, false]);
        assert_eq!(scatter(truth(), truth(), Scatter::Multiply)?[0].slice::<bool>()?, [false, false]);
        assert_eq!(scatter(truth(), truth(), Scatter::Max)?[0].slice::<bool>()?, [true, false]);
        let text = Tensor::vector(vec!["a".to_owned(), "b".to_owned()]);
        assert!(scatter(text.clone(), text.clone(), Scatter::Add).is_err());
        assert_eq!(scatter(text.clone(), text, Scatter::Replace)?[0].slice::<String>()?, ["b", "b"]);
        Ok(())
    }

    #[test]
    fn regions_of_any_size_terminate() -> Result<(), OpError> {
        let images = Tensor::new([1, 1, 2, 2], vec![1.0f32, 2.0, 3.0, 4.0])?;
        for side in [1e30f32, f32::INFINITY, f32::NAN, -1e30] {
            let region = Tensor::new([1, 4], vec![-side, 0.0, side, side])?;
            let op = RoiAlign { size: [1, 1], samples: None, scale: 1.0, half_pixel: true, max: false };
            let inputs = [images.clone(), region, Tensor::vector(vec![0i64])];
            let result = eval(Indexing::RoiAlign(op), &inputs);
            assert_eq!(result.is_err(), side > 0.0, "{side}");
            let region = Tensor::new([1, 5], vec![0.0, -side, 0.0, side, side])?;
            let pool = MaxRoiPool { size: [2, 2], scale: 1.0 };
            assert_eq!(eval(Indexing::MaxRoiPool(pool), &[images.clone(), region])?[0].len(), 4);
        }
        Ok(())
    }
}
