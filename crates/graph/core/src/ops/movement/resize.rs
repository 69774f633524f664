//! Resampling along axes.

use super::select_axes::pick;
use super::{Shape, integers, known};
use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, shape};

/// Resamples along axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// The interpolation.
    pub mode: ResizeMode,
    /// How output coordinates map to input coordinates.
    pub coordinates: Coordinates,
    /// Whether the filter is widened when downsampling, so that all elements contribute.
    pub antialias: bool,
    /// Whether elements outside have weight 0, instead of repeating the outermost ones.
    pub exclude_outside: bool,
    /// The value outside of the region of interest, for [`Coordinates::CropAndResize`].
    pub extrapolation: f32,
    /// How sizes are interpreted.
    pub policy: AspectPolicy,
    /// The axes that roi, scales and sizes refer to; all if `None`.
    pub axes: Option<Vec<i64>>,
}

/// How a resized element depends on its neighbors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// The nearest element.
    Nearest(Nearest),
    /// Weights fall linearly with the distance.
    Linear,
    /// Cubic, with this coefficient.
    Cubic(f32),
}

/// How a position between two elements is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// To the nearer element; ties to the lower index.
    RoundPreferFloor,
    /// To the nearer element; ties to the higher index.
    RoundPreferCeil,
    /// To the lower index.
    Floor,
    /// To the higher index.
    Ceil,
    /// To the lower index when upsampling, to the higher one when downsampling.
    FloorOrCeil,
}

/// How output coordinates map to input coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// Elements have half-integer centers, and the edges of both tensors coincide.
    HalfPixel,
    /// As `HalfPixel`, but centered if the scale does not give an integral size.
    HalfPixelSymmetric,
    /// As `HalfPixel`, but a single output element maps to the first input element.
    PytorchHalfPixel,
    /// As `HalfPixel`, without subtracting one half in the input.
    HalfPixelForNearest,
    /// The outermost elements of both tensors coincide.
    AlignCorners,
    /// The first elements of both tensors coincide, without an offset.
    Asymmetric,
    /// Maps to a region of interest of the input.
    CropAndResize,
}

/// How sizes are interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AspectPolicy {
    /// Every axis is resized independently.
    Stretch,
    /// One scale for all axes, so that no axis exceeds its size.
    NotLarger,
    /// One scale for all axes, so that no axis falls below its size.
    NotSmaller,
}

/// The resampling of one axis.
#[derive(Clone, Copy, Debug)]
struct ResizedAxis {
    axis: usize,
    /// The sizes of input and output.
    from: usize,
    to: usize,
    scale: f64,
}

/// The resampling along one axis.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ResizeStep {
    /// The axis that is resized.
    pub axis: usize,
    /// For each output element the input elements and their weights.
    pub taps: Vec<Vec<(usize, f64)>>,
    /// Whether the element is outside of the input and becomes [`Resize::extrapolation`].
    pub outside: Vec<bool>,
}

impl Nearest {
    /// The element nearest to a position along an axis.
    fn of(self, axis: ResizedAxis, place: f64) -> usize {
        let rounded = match self {
            Self::RoundPreferFloor => (place - 0.5).ceil(),
            Self::RoundPreferCeil => (place + 0.5).floor(),
            Self::FloorOrCeil if axis.scale < 1.0 => place.ceil(),
            Self::Floor | Self::FloorOrCeil => place.floor(),
            Self::Ceil => place.ceil(),
        };
        (rounded.max(0.0) as usize).min(axis.from - 1)
    }
}

impl Resize {
    /// The axes that are resampled; `None` if operands are unknown.
    fn plan(&self, inputs: &Facts<'_>) -> Result<Option<Vec<ResizedAxis>>, OpError> {
        let input_shape = known!(inputs.get(0)?.shape.as_deref());
        let axes = match &self.axes {
            None => (0..input_shape.len()).collect(),
            Some(axes) => {
                shape::axes(axes, input_shape.len())?;
                axes.iter().map(|&axis| shape::axis(axis, input_shape.len())).collect::<Result<Vec<_>, _>>()?
            }
        };
        let wrong =
            |what: String| OpError::invalid(format!("{what} for each of the axes {axes:?} of shape {input_shape:?}"));
        // An empty list means the same as an omitted one.
        let present = |index: usize| inputs.optional(index).filter(|fact| fact.shape.as_deref() != Some(&[0]));
        match (present(2), present(3)) {
            (Some(scales), None) => {
                let scales = known!(scales.value.as_ref()).floats()?;
                if scales.len() != axes.len() || scales.iter().any(|scale| !(scale.is_finite() && *scale > 0.0)) {
                    return Err(wrong(format!("the scales are {scales:?}, expected a positive number")));
                }
                // In f32, as in other runtimes: a scale of 0.7 makes 7 of 10.
                let axis = |(&axis, scale): (&usize, f64)| {
                    let to = (input_shape[axis] as f32 * scale as f32).floor() as usize;
                    ResizedAxis { axis, from: input_shape[axis], to, scale }
                };
                Ok(Some(axes.iter().zip(scales).map(axis).collect()))
            }
            (None, Some(sizes)) => {
                let sizes = shape::sizes(&known!(integers(sizes)?))?;
                if sizes.len() != axes.len() {
                    return Err(wrong(format!("the sizes are {sizes:?}, expected one")));
                }
                let scale = |(&axis, &size): (&usize, &usize)| size as f64 / input_shape[axis] as f64;
                let scales = axes.iter().zip(&sizes).map(scale);
                let common = match self.policy {
                    AspectPolicy::Stretch => None,
                    AspectPolicy::NotLarger => scales.reduce(f64::min),
                    AspectPolicy::NotSmaller => scales.reduce(f64::max),
                };
                let axis = |(&axis, &size): (&usize, &usize)| {
                    let from = input_shape[axis];
                    match common {
                        None => ResizedAxis { axis, from, to: size, scale: size as f64 / from as f64 },
                        Some(scale) => {
                            ResizedAxis { axis, from, to: (scale * from as f64 + 0.5).floor() as usize, scale }
                        }
                    }
                };
                Ok(Some(axes.iter().zip(&sizes).map(axis).collect()))
            }
            (Some(_), Some(_)) => Err(OpError::invalid("both scales and sizes are given")),
            (None, None) => Err(OpError::invalid("neither scales nor sizes are given")),
        }
    }

    pub(super) fn shape(&self, inputs: &Facts<'_>) -> Shape {
        let mut result = known!(inputs.get(0)?.shape.as_deref()).to_vec();
        for axis in known!(self.plan(inputs)?) {
            result[axis.axis] = axis.to;
        }
        Ok(Some(result))
    }

    /// The resampling of each axis that changes; `None` if operands are unknown. The operand must
    /// not be empty.
    pub fn steps(&self, inputs: &Facts<'_>) -> Result<Option<Vec<ResizeStep>>, OpError> {
        let plan = known!(self.plan(inputs)?);
        let regions = match (self.coordinates, inputs.optional(1)) {
            (Coordinates::CropAndResize, Some(roi)) => regions(&known!(roi.value.as_ref()).floats()?, plan.len())?,
            (Coordinates::CropAndResize, None) => return Err(OpError::MissingInput(1)),
            _ => vec![(0.0, 1.0); plan.len()],
        };
        // An axis that keeps its size is not resampled, for any coordinate mode.
        let crops = self.coordinates == Coordinates::CropAndResize;
        let changes = |(axis, _): &(ResizedAxis, (f64, f64))| crops || axis.from != axis.to || axis.scale != 1.0;
        let step = |(axis, region): (ResizedAxis, (f64, f64))| {
            drop(shape::reserve::<(usize, f64)>(&[axis.to])?);
            let places: Vec<f64> = (0..axis.to).map(|at| self.place(axis, region, at)).collect();
            let outside = places.iter().map(|&place| self.is_outside(axis, place)).collect();
            let taps = |&place: &f64| match self.mode {
                ResizeMode::Nearest(nearest) => vec![(nearest.of(axis, place), 1.0)],
                _ => self.taps(axis, place),
            };
            Ok(ResizeStep { axis: axis.axis, taps: places.iter().map(taps).collect(), outside })
        };
        plan.into_iter().zip(regions).filter(changes).map(step).collect::<Result<Vec<_>, _>>().map(Some)
    }

    pub(super) fn compute(&self, inputs: &Inputs<'_>, shape: Vec<usize>) -> Result<Tensor, OpError> {
        let data = inputs.tensor(0)?;
        if shape::count(&shape)? == 0 {
            return Tensor::zeros(data.dtype(), shape);
        }
        if data.is_empty() {
            return Err(OpError::invalid(format!(
                "an input of shape {:?} is empty and cannot be resized to {shape:?}",
                data.shape()
            )));
        }
        let facts = inputs.facts()?;
        let steps = self.steps(&Facts::new(&facts, 1))?.unwrap_or_default();
        if matches!(self.mode, ResizeMode::Nearest(_)) {
            return self.nearest(data, &steps, shape);
        }
        let mut sizes = data.shape().to_vec();
        let mut elements = data.floats()?;
        let mut outside = vec![Vec::new(); sizes.len()];
        for step in steps {
            elements = resample(&elements, &sizes, step.axis, &step.taps)?;
            sizes[step.axis] = step.taps.len();
            outside[step.axis] = step.outside;
        }
        if outside.iter().flatten().any(|&outside| outside) {
            extrapolate(&mut elements, &shape, &outside, f64::from(self.extrapolation));
        }
        if self.antialias && !data.dtype().is_float() {
            elements.iter_mut().for_each(|element| *element = element.round());
        }
        Tensor::from_floats(data.dtype(), shape, &elements)
    }

    /// The input coordinate of an output element.
    ///
    /// In f32, as in other runtimes. Scales are f32: with 8/3 the eighth element maps to exactly 3,
    /// and in f64 to slightly less.
    fn place(&self, axis: ResizedAxis, (start, end): (f64, f64), at: usize) -> f64 {
        let (x, from, to) = (at as f32, axis.from as f32, axis.to as f32);
        let (scale, start, end) = (axis.scale as f32, start as f32, end as f32);
        let half = (x + 0.5) / scale - 0.5;
        f64::from(match self.coordinates {
            Coordinates::HalfPixel => half,
            Coordinates::HalfPixelSymmetric => from / 2.0 * (1.0 - to / (scale * from)) + (x + 0.5) / scale - 0.5,
            Coordinates::PytorchHalfPixel if axis.to > 1 => half,
            Coordinates::PytorchHalfPixel => 0.0,
            Coordinates::HalfPixelForNearest => (x + 0.5) / scale,
            Coordinates::AlignCorners if axis.to > 1 => x * (from - 1.0) / (to - 1.0),
            Coordinates::AlignCorners => 0.0,
            Coordinates::Asymmetric => x / scale,
            Coordinates::CropAndResize if axis.to > 1 => {
                start * (from - 1.0) + x * (end - start) * (from - 1.0) / (to - 1.0)
            }
            Coordinates::CropAndResize => 0.5 * (start + end) * (from - 1.0),
        })
    }

    fn is_outside(&self, axis: ResizedAxis, place: f64) -> bool {
        self.coordinates == Coordinates::CropAndResize && !(0.0..=axis.from as f64 - 1.0).contains(&place)
    }

    fn nearest(&self, data: &Tensor, steps: &[ResizeStep], shape: Vec<usize>) -> Result<Tensor, OpError> {
        let strides = shape::strides(data.shape());
        let fill = Tensor::from_floats(data.dtype(), [], &[f64::from(self.extrapolation)]);
        let fill = if self.coordinates == Coordinates::CropAndResize { Some(fill?) } else { None };
        pick(data, shape, fill.as_ref(), |axis, at| {
            let step = steps.iter().find(|step| step.axis == axis);
            let Some(step) = step else { return Ok(at * strides[axis]) };
            if step.outside[at] {
                return Ok(super::select_axes::OUTSIDE);
            }
            Ok(step.taps[at][0].0 * strides[axis])
        })
    }

    /// The input elements of an output element, and their weights.
    fn taps(&self, axis: ResizedAxis, place: f64) -> Vec<(usize, f64)> {
        // When downsampling, the filter is wider.
        let stretch = if self.antialias { axis.scale.min(1.0) } else { 1.0 };
        let (reach, coefficient) = match self.mode {
            ResizeMode::Cubic(coefficient) => (2.0 / stretch, f64::from(coefficient)),
            _ => (1.0 / stretch, 0.0),
        };
        let weigh = |distance: f64| match self.mode {
            ResizeMode::Cubic(_) => cubic_weight(distance * stretch, coefficient),
            _ => (1.0 - (distance * stretch).abs()).max(0.0),
        };
        // Without a region of interest, coordinates outside are at most as far away as the filter
        // reaches.
        let last = axis.from as f64 - 1.0;
        let place = place.clamp(-reach - 1.0, last + reach + 1.0);
        let (first, end) = ((place - reach).ceil() as i64, (place + reach).floor() as i64);
        let inside = |at: i64| (0.0..=last).contains(&(at as f64));
        let mut result = Vec::new();
        let mut sum = 0.0;
        for at in first..=end {
            let weight = weigh(at as f64 - place);
            if weight != 0.0 && (inside(at) || !self.exclude_outside) {
                sum += weight;
                result.push(((at.max(0) as usize).min(axis.from - 1), weight));
            }
        }
        if sum != 0.0 && (self.antialias || self.exclude_outside) {
            result.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        result
    }
}

/// Start and end of each axis.
fn regions(roi: &[f64], axes: usize) -> Result<Vec<(f64, f64)>, OpError> {
    if roi.len() != 2 * axes {
        return Err(OpError::invalid(format!(
            "`roi` has {} elements for {axes} axes, expected two per axis",
            roi.len()
        )));
    }
    Ok((0..axes).map(|axis| (roi[axis], roi[axes + axis])).collect())
}

/// Weighted sums along one axis.
fn resample(elements: &[f64], sizes: &[usize], axis: usize, taps: &[Vec<(usize, f64)>]) -> Result<Vec<f64>, OpError> {
    let (outer, size, inner) = shape::around(sizes, axis);
    let mut result = shape::reserve(&[outer, taps.len(), inner])?;
    for row in elements.chunks_exact(size * inner) {
        for taps in taps {
            let start = result.len();
            result.resize(start + inner, 0.0);
            for &(at, weight) in taps {
                let from = &row[at * inner..(at + 1) * inner];
                result[start..].iter_mut().zip(from).for_each(|(sum, element)| *sum += weight * element);
            }
        }
    }
    Ok(result)
}

/// Writes a value wherever a coordinate of any axis is outside.
fn extrapolate(elements: &mut [f64], shape: &[usize], outside: &[Vec<bool>], value: f64) {
    let strides = shape::strides(shape);
    for (index, element) in elements.iter_mut().enumerate() {
        let at = |axis: usize| index / strides[axis] % shape[axis];
        if (0..shape.len()).any(|axis| outside[axis].get(at(axis)) == Some(&true)) {
            *element = value;
        }
    }
}

/// The weight of an element at a distance, by cubic convolution.
fn cubic_weight(distance: f64, a: f64) -> f64 {
    let x = distance.abs();
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// The weights of the four elements around a position at `ratio` after the second.
pub(super) fn cubic(ratio: f64, a: f64) -> [f64; 4] {
    [1.0 + ratio, ratio, 1.0 - ratio, 2.0 - ratio].map(|distance| cubic_weight(distance, a))
}
