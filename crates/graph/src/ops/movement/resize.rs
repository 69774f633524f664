//! Resampling along axes.

use super::walk::pick;
use super::{Shape, integers, known};
use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, shape};

/// Resamples along axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// How elements are weighted.
    pub mode: ResizeMode,
    /// Where an element of the result lies in the operand.
    pub coordinates: Coordinates,
    /// Whether the weights are stretched where the result is smaller, so that all elements count.
    pub antialias: bool,
    /// Whether elements outside count nothing, instead of being the outermost ones.
    pub exclude_outside: bool,
    /// What stands where a place lies outside of the operand, for [`Coordinates::CropAndResize`].
    pub extrapolation: f32,
    /// What the sizes mean.
    pub policy: AspectPolicy,
    /// The axes that roi, scales and sizes are about; all where nothing is said.
    pub axes: Option<Vec<i64>>,
}

/// How elements are weighted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResizeMode {
    /// One element.
    Nearest(Nearest),
    /// By distance.
    Linear,
    /// By a cubic function of distance, with this coefficient.
    Cubic(f32),
}

/// Which of two elements is the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearest {
    /// The nearer one; the first if both are as far.
    RoundPreferFloor,
    /// The nearer one; the second if both are as far.
    RoundPreferCeil,
    /// The first.
    Floor,
    /// The second.
    Ceil,
    /// The first where the result is larger, the second where it is smaller.
    FloorOrCeil,
}

/// Where an element of the result lies in the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coordinates {
    /// Elements are squares, and both tensors have the same edges.
    HalfPixel,
    /// As before, and the middles are the same where a scale gives no whole size.
    HalfPixelSymmetric,
    /// As the first, and a single element lies at the first one.
    PytorchHalfPixel,
    /// As the first, without the half that is subtracted.
    HalfPixelForNearest,
    /// The outermost elements of both are at the same places.
    AlignCorners,
    /// Both begin at the same place.
    Asymmetric,
    /// A part of the operand that is given.
    CropAndResize,
}

/// What sizes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AspectPolicy {
    /// Every axis by itself.
    Stretch,
    /// One scale, by which no axis gets larger than it is told.
    NotLarger,
    /// One scale, by which no axis gets smaller than it is told.
    NotSmaller,
}

/// What happens to one axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    axis: usize,
    /// Elements of the operand and of the result.
    from: usize,
    to: usize,
    scale: f64,
}

/// What resampling does along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct ResizeStep {
    /// Which one.
    pub axis: usize,
    /// For each element of the result those that it is made of, and their weights.
    pub taps: Vec<Vec<(usize, f64)>>,
    /// Whether it lies outside of the operand, and is [`Resize::extrapolation`].
    pub outside: Vec<bool>,
}

impl Nearest {
    /// The element nearest to a place along an axis.
    fn of(self, axis: Axis, place: f64) -> usize {
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
    /// The axes that are resampled; `None` where operands are not known.
    fn plan(&self, inputs: &Facts<'_>) -> Result<Option<Vec<Axis>>, OpError> {
        let given = known!(inputs.get(0)?.shape.as_deref());
        let axes = match &self.axes {
            None => (0..given.len()).collect(),
            Some(axes) => {
                shape::axes(axes, given.len())?;
                axes.iter().map(|&axis| shape::axis(axis, given.len())).collect::<Result<Vec<_>, _>>()?
            }
        };
        let wrong = |what: String| OpError::invalid(format!("{what} for axes {axes:?} of shape {given:?}"));
        // An empty list stands for nothing, as a missing one.
        let present = |index: usize| inputs.optional(index).filter(|fact| fact.shape.as_deref() != Some(&[0]));
        match (present(2), present(3)) {
            (Some(scales), None) => {
                let scales = known!(scales.value.as_ref()).floats()?;
                if scales.len() != axes.len() || scales.iter().any(|scale| !(scale.is_finite() && *scale > 0.0)) {
                    return Err(wrong(format!("scales {scales:?}")));
                }
                // In single precision, as everybody else does it: a scale of 0.7 makes 7 of 10.
                let axis = |(&axis, scale): (&usize, f64)| {
                    let to = (given[axis] as f32 * scale as f32).floor() as usize;
                    Axis { axis, from: given[axis], to, scale }
                };
                Ok(Some(axes.iter().zip(scales).map(axis).collect()))
            }
            (None, Some(sizes)) => {
                let sizes = shape::sizes(&known!(integers(sizes)?))?;
                if sizes.len() != axes.len() {
                    return Err(wrong(format!("sizes {sizes:?}")));
                }
                let scale = |(&axis, &size): (&usize, &usize)| size as f64 / given[axis] as f64;
                let scales = axes.iter().zip(&sizes).map(scale);
                let common = match self.policy {
                    AspectPolicy::Stretch => None,
                    AspectPolicy::NotLarger => scales.reduce(f64::min),
                    AspectPolicy::NotSmaller => scales.reduce(f64::max),
                };
                let axis = |(&axis, &size): (&usize, &usize)| {
                    let from = given[axis];
                    match common {
                        None => Axis { axis, from, to: size, scale: size as f64 / from as f64 },
                        Some(scale) => Axis { axis, from, to: (scale * from as f64 + 0.5).floor() as usize, scale },
                    }
                };
                Ok(Some(axes.iter().zip(&sizes).map(axis).collect()))
            }
            (Some(_), Some(_)) => Err(OpError::invalid("both scales and sizes are given")),
            (None, None) => Err(OpError::invalid("neither scales nor sizes are given")),
        }
    }

    pub(super) fn shape(&self, inputs: &Facts<'_>) -> Shape {
        let mut made = known!(inputs.get(0)?.shape.as_deref()).to_vec();
        for axis in known!(self.plan(inputs)?) {
            made[axis.axis] = axis.to;
        }
        Ok(Some(made))
    }

    /// What is done along each axis that changes; `None` where operands are not known. The operand must have elements.
    pub fn steps(&self, inputs: &Facts<'_>) -> Result<Option<Vec<ResizeStep>>, OpError> {
        let plan = known!(self.plan(inputs)?);
        let regions = match (self.coordinates, inputs.optional(1)) {
            (Coordinates::CropAndResize, Some(roi)) => regions(&known!(roi.value.as_ref()).floats()?, plan.len())?,
            (Coordinates::CropAndResize, None) => return Err(OpError::MissingInput(1)),
            _ => vec![(0.0, 1.0); plan.len()],
        };
        // An axis that keeps its size is left alone, wherever its elements would lie.
        let crops = self.coordinates == Coordinates::CropAndResize;
        let changes = |(axis, _): &(Axis, (f64, f64))| crops || axis.from != axis.to || axis.scale != 1.0;
        let step = |(axis, region): (Axis, (f64, f64))| {
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
            return Err(OpError::invalid(format!("shape {:?} cannot become {shape:?}", data.shape())));
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

    /// Where an element lies, in elements of the operand.
    ///
    /// In single precision, as everybody else does it. Scales are given in it: with one of 8/3, the eighth element lies
    /// at the third, and in double precision it would lie a little before that.
    fn place(&self, axis: Axis, (start, end): (f64, f64), at: usize) -> f64 {
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

    fn is_outside(&self, axis: Axis, place: f64) -> bool {
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
                return Ok(super::walk::OUTSIDE);
            }
            Ok(step.taps[at][0].0 * strides[axis])
        })
    }

    /// The elements that one of the result is made of, and their weights.
    fn taps(&self, axis: Axis, place: f64) -> Vec<(usize, f64)> {
        // Where the result is smaller, the weights reach as much further.
        let stretch = if self.antialias { axis.scale.min(1.0) } else { 1.0 };
        let (reach, coefficient) = match self.mode {
            ResizeMode::Cubic(coefficient) => (2.0 / stretch, f64::from(coefficient)),
            _ => (1.0 / stretch, 0.0),
        };
        let weigh = |distance: f64| match self.mode {
            ResizeMode::Cubic(_) => cubic_weight(distance * stretch, coefficient),
            _ => (1.0 - (distance * stretch).abs()).max(0.0),
        };
        // Places outside are at most as far away as the weights reach, but for regions that are given.
        let last = axis.from as f64 - 1.0;
        let place = place.clamp(-reach - 1.0, last + reach + 1.0);
        let (first, end) = ((place - reach).ceil() as i64, (place + reach).floor() as i64);
        let inside = |at: i64| (0.0..=last).contains(&(at as f64));
        let mut made = Vec::new();
        let mut sum = 0.0;
        for at in first..=end {
            let weight = weigh(at as f64 - place);
            if weight != 0.0 && (inside(at) || !self.exclude_outside) {
                sum += weight;
                made.push(((at.max(0) as usize).min(axis.from - 1), weight));
            }
        }
        if sum != 0.0 && (self.antialias || self.exclude_outside) {
            made.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        made
    }
}

/// Start and end of each axis.
fn regions(roi: &[f64], axes: usize) -> Result<Vec<(f64, f64)>, OpError> {
    if roi.len() != 2 * axes {
        return Err(OpError::invalid(format!("a region of {} numbers for {axes} axes", roi.len())));
    }
    Ok((0..axes).map(|axis| (roi[axis], roi[axes + axis])).collect())
}

/// Weighted sums along one axis.
fn resample(elements: &[f64], sizes: &[usize], axis: usize, taps: &[Vec<(usize, f64)>]) -> Result<Vec<f64>, OpError> {
    let (outer, size, inner) = shape::around(sizes, axis);
    let mut made = shape::reserve(&[outer, taps.len(), inner])?;
    for row in elements.chunks_exact(size * inner) {
        for taps in taps {
            let start = made.len();
            made.resize(start + inner, 0.0);
            for &(at, weight) in taps {
                let from = &row[at * inner..(at + 1) * inner];
                made[start..].iter_mut().zip(from).for_each(|(sum, element)| *sum += weight * element);
            }
        }
    }
    Ok(made)
}

/// Puts a value wherever a place of any axis is outside.
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

/// The weights of the four elements around a place that lies `ratio` behind the second.
pub(super) fn cubic(ratio: f64, a: f64) -> [f64; 4] {
    [1.0 + ratio, ratio, 1.0 - ratio, 2.0 - ratio].map(|distance| cubic_weight(distance, a))
}
