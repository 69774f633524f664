//! GridSample and AffineGrid.

use super::{Shape, integers, known};
use crate::ops::Facts;
use crate::{Element, OpError, Tensor, each_type, shape};

/// The interpolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridMode {
    /// The nearest pixel.
    Nearest,
    /// Linear, with two pixels along each axis.
    Linear,
    /// Cubic, with four pixels along each axis.
    Cubic,
}

/// Maximum number of pixels that a point may read: it grows exponentially with the rank.
const MAX_PIXELS: usize = 4096;

/// The value of pixels outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridPadding {
    /// Elements outside are 0.
    Zeros,
    /// The nearest border pixel.
    Border,
    /// The reflected pixel.
    Reflection,
}

pub(super) fn sample_shape(inputs: &Facts<'_>) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let grid = known!(inputs.get(1)?.shape.as_deref());
    let rank = input_shape.len();
    if rank < 3 || grid.len() != rank || grid[0] != input_shape[0] || grid[rank - 1] != rank - 2 {
        return Err(OpError::invalid(format!(
            "the images have shape {input_shape:?} and the grid {grid:?}, \
             expected [N, C, sizes] and [N, output sizes, number of spatial axes]"
        )));
    }
    Ok(Some([&input_shape[..2], &grid[1..rank - 1]].concat()))
}

pub(super) fn sample(
    data: &Tensor,
    grid: &Tensor,
    mode: GridMode,
    padding: GridPadding,
    align_corners: bool,
    shape: Vec<usize>,
) -> Result<Tensor, OpError> {
    if shape::count(&shape)? == 0 {
        return Tensor::zeros(data.dtype(), shape);
    }
    let sizes = &data.shape()[2..];
    if sizes.contains(&0) {
        return Err(OpError::invalid(format!("images of shape {:?} have no pixels", data.shape())));
    }
    let reads = match mode {
        GridMode::Nearest => 1,
        GridMode::Linear => 2usize,
        GridMode::Cubic => 4,
    };
    if reads.checked_pow(sizes.len() as u32).is_none_or(|pixels| pixels > MAX_PIXELS) {
        return Err(OpError::unsupported(format!("a grid with {} axes", sizes.len())));
    }
    let axes: Vec<GridAxis> = sizes.iter().map(|&size| GridAxis { size, align_corners, padding }).collect();
    let points = grid.floats()?;
    let taps = points.chunks_exact(axes.len()).map(|point| taps(&axes, point, mode));
    if mode == GridMode::Nearest {
        // One pixel or none, which is exact for every type.
        return each_type!(any: data, |T, v| Tensor::new(shape.clone(), gather::<T, T>(v, &shape, taps, first)?));
    }
    let weigh = |image: &[f64], taps: &[(usize, f64)]| taps.iter().map(|&(at, weight)| image[at] * weight).sum();
    let result = gather(&data.floats()?, &shape, taps, weigh)?;
    Tensor::from_floats(data.dtype(), shape, &result)
}

fn first<T: Element>(image: &[T], taps: &[(usize, f64)]) -> T {
    taps.first().map(|&(at, _)| image[at].clone()).unwrap_or_default()
}

/// Calls `read` for each point and each channel of its image.
fn gather<T, R: Element>(
    elements: &[T],
    shape: &[usize],
    points: impl Iterator<Item = Vec<(usize, f64)>>,
    read: impl Fn(&[T], &[(usize, f64)]) -> R,
) -> Result<Vec<R>, OpError> {
    let channels = shape[1];
    let (pixels, per_image) = (elements.len() / (shape[0] * channels), shape::count(&shape[2..])?);
    let mut result = shape::reserve(shape)?;
    result.resize(shape::count(shape)?, R::default());
    for (point, taps) in points.enumerate() {
        let (image, point) = (point / per_image, point % per_image);
        for channel in image * channels..(image + 1) * channels {
            result[channel * per_image + point] = read(&elements[channel * pixels..(channel + 1) * pixels], &taps);
        }
    }
    Ok(result)
}

/// An axis of the images.
struct GridAxis {
    size: usize,
    align_corners: bool,
    padding: GridPadding,
}

impl GridAxis {
    /// The pixel position of a coordinate between -1 and 1.
    fn pixel(&self, coordinate: f64) -> f64 {
        let size = self.size as f64;
        let at = if self.align_corners {
            (coordinate + 1.0) / 2.0 * (size - 1.0)
        } else {
            ((coordinate + 1.0) * size - 1.0) / 2.0
        };
        // Clamp infinite positions, which gives the same result.
        at.clamp(-1e15, 1e15)
    }

    /// The position after reflection at both ends.
    fn reflect(&self, at: f64) -> f64 {
        let (low, high) =
            if self.align_corners { (0.0, self.size as f64 - 1.0) } else { (-0.5, self.size as f64 - 0.5) };
        if high <= low {
            return 0.0;
        }
        let period = 2.0 * (high - low);
        let turned = (at - low).rem_euclid(period);
        low + turned.min(period - turned)
    }

    /// The pixel at an index; `None` for zero.
    fn inside(&self, at: f64) -> Option<usize> {
        let last = self.size as f64 - 1.0;
        let at = match self.padding {
            GridPadding::Zeros => Some(at).filter(|at| (0.0..=last).contains(at))?,
            GridPadding::Border => at.clamp(0.0, last),
            GridPadding::Reflection => self.reflect(at).round().clamp(0.0, last),
        };
        Some(at as usize)
    }
}

/// The pixels that a point reads, as offsets into an image, and their weights. The last axis comes
/// first in a point.
fn taps(axes: &[GridAxis], point: &[f64], mode: GridMode) -> Vec<(usize, f64)> {
    let mut result = vec![(0, 1.0)];
    for (axis, &coordinate) in axes.iter().zip(point.iter().rev()) {
        let at = axis.pixel(coordinate);
        let floor = at.floor();
        let ratio = at - floor;
        let own: Vec<(f64, f64)> = match mode {
            GridMode::Nearest => vec![(at.round_ties_even(), 1.0)],
            GridMode::Linear => vec![(floor, 1.0 - ratio), (floor + 1.0, ratio)],
            GridMode::Cubic => {
                let weights = super::resize::cubic(ratio, -0.75);
                (0..4).map(|tap| (floor - 1.0 + tap as f64, weights[tap])).collect()
            }
        };
        // With weight 0 the pixel is ignored, so that infinities near the point have no effect.
        let own = own.into_iter().filter(|&(_, weight)| weight != 0.0);
        let own: Vec<_> = own.filter_map(|(at, weight)| Some((axis.inside(at)?, weight))).collect();
        let join = |&(offset, outer): &(usize, f64)| {
            own.iter().map(move |&(at, weight)| (offset * axis.size + at, outer * weight)).collect::<Vec<_>>()
        };
        result = result.iter().flat_map(join).collect();
    }
    result
}

pub(super) fn affine_shape(inputs: &Facts<'_>) -> Shape {
    let size = shape::sizes(&known!(integers(inputs.get(1)?)?))?;
    if !matches!(size.len(), 4 | 5) {
        return Err(OpError::invalid(format!("the size of the grid is {size:?}, expected 4 or 5 dimensions")));
    }
    let rank = size.len() - 2;
    if let Some(theta) = inputs.get(0)?.shape.as_deref()
        && theta != [size[0], rank, rank + 1]
    {
        let expected = [size[0], rank, rank + 1];
        return Err(OpError::invalid(format!("`theta` has shape {theta:?}, expected {expected:?}")));
    }
    Ok(Some([&size[..1], &size[2..], &[rank]].concat()))
}

pub(super) fn affine(theta: &Tensor, align_corners: bool, shape: Vec<usize>) -> Result<Tensor, OpError> {
    let maps = theta.floats()?;
    let rank = shape.len() - 2;
    let sizes = &shape[1..=rank];
    let strides = shape::strides(sizes);
    let mut result = shape::reserve(&shape)?;
    let points = if shape::count(&shape)? == 0 { 0 } else { shape::count(sizes)? };
    let coordinate = |axis: usize, at: usize| {
        let (at, size) = (at as f64, sizes[axis] as f64);
        match align_corners {
            // A single pixel is in the middle, as in PyTorch; ONNX's formula divides by zero.
            true if size == 1.0 => 0.0,
            true => 2.0 * at / (size - 1.0) - 1.0,
            false => (2.0 * at + 1.0) / size - 1.0,
        }
    };
    for map in maps.chunks_exact(rank * (rank + 1)) {
        for point in 0..points {
            for row in map.chunks_exact(rank + 1) {
                // The last axis has the first column.
                let along =
                    (0..rank).map(|axis| row[rank - 1 - axis] * coordinate(axis, point / strides[axis] % sizes[axis]));
                result.push(along.sum::<f64>() + row[rank]);
            }
        }
    }
    Tensor::from_floats(theta.dtype(), shape, &result)
}
