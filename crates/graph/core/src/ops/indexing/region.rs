//! Regions of interest: RoiAlign and MaxRoiPool.

use super::index;
use crate::ops::movement::{Shape, known};
use crate::ops::{Facts, Inputs};
use crate::{OpError, Tensor, shape};

/// Maximum number of samples of a bin along an axis: regions are data and could require any number.
const MAX_SAMPLES: f64 = 4096.0;

/// RoiAlign: regions resampled to one size.
#[derive(Clone, Debug, PartialEq)]
pub struct RoiAlign {
    /// Height and width of the output.
    pub size: [usize; 2],
    /// Samples along each axis of a bin; `None` for as many as it has pixels.
    pub samples: Option<usize>,
    /// The factor from the regions' coordinates to pixels.
    pub scale: f32,
    /// Whether coordinates are shifted by half a pixel.
    pub half_pixel: bool,
    /// Whether a bin is the maximum of its samples, rather than the mean.
    pub max: bool,
}

/// MaxRoiPool: the maximum over each bin of each region.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxRoiPool {
    /// Height and width of the output.
    pub size: [usize; 2],
    /// The factor from the regions' coordinates to pixels.
    pub scale: f32,
}

/// The output shape, for regions of `numbers` numbers each.
fn shape_of(inputs: &Facts<'_>, size: [usize; 2], numbers: usize) -> Shape {
    let input_shape = known!(inputs.get(0)?.shape.as_deref());
    let regions = known!(inputs.get(1)?.shape.as_deref());
    match (input_shape, regions) {
        (&[_, channels, _, _], &[count, columns]) if columns == numbers => {
            Ok(Some(vec![count, channels, size[0], size[1]]))
        }
        _ => Err(OpError::invalid(format!(
            "the regions have shape {regions:?} and the images {input_shape:?}, expected [R, {numbers}] and [N, C, H, W]"
        ))),
    }
}

/// Images, and the sizes of the output.
struct Images {
    elements: Vec<f64>,
    count: usize,
    channels: usize,
    height: usize,
    width: usize,
}

impl Images {
    fn new(data: &Tensor) -> Result<Self, OpError> {
        let &[count, channels, height, width] = data.shape() else {
            return Err(OpError::invalid(format!("the images have shape {:?}, expected 4 dimensions", data.shape())));
        };
        Ok(Self { elements: data.floats()?, count, channels, height, width })
    }

    fn channel(&self, image: usize, channel: usize) -> &[f64] {
        let pixels = self.height * self.width;
        &self.elements[(image * self.channels + channel) * pixels..][..pixels]
    }
}

/// The two pixels around a position along an axis, and their weights; `None` outside of the image.
type Taps = Option<[(usize, f64); 2]>;

fn taps(place: f64, size: usize) -> Taps {
    // Positions up to one pixel outside count as inside. NaN does not.
    if !(-1.0..=size as f64).contains(&place) {
        return None;
    }
    let place = place.max(0.0);
    let low = place as usize;
    if low + 1 >= size {
        return Some([(size.checked_sub(1)?, 1.0), (size - 1, 0.0)]);
    }
    let ratio = place - low as f64;
    Some([(low, 1.0 - ratio), (low + 1, ratio)])
}

impl RoiAlign {
    pub(super) fn shape(&self, inputs: &Facts<'_>) -> Shape {
        let result = known!(shape_of(inputs, self.size, 4)?);
        match inputs.get(2)?.shape.as_deref() {
            Some(indices) if indices != [result[0]] => {
                Err(OpError::invalid(format!("the batch indices have shape {indices:?}, expected [{}]", result[0])))
            }
            _ => Ok(Some(result)),
        }
    }

    pub(super) fn compute(&self, inputs: &Inputs<'_>, shape: Vec<usize>) -> Result<Tensor, OpError> {
        let data = inputs.tensor(0)?;
        let images = Images::new(data)?;
        let batch = inputs.tensor(2)?.integers()?;
        let all = shape::count(&shape)?;
        if all == 0 {
            return Tensor::zeros(data.dtype(), shape);
        }
        let mut result = shape::reserve(&shape)?;
        let parts = self.parts(inputs.tensor(1)?, [images.height, images.width])?;
        for (parts, &image) in parts.chunks_exact(self.size[0] * self.size[1]).zip(&batch) {
            let image = index(image, images.count)?;
            for channel in 0..images.channels {
                let pixels = images.channel(image, channel);
                result.extend(parts.iter().map(|part| {
                    let weighed = part.iter().map(|&(at, weight)| pixels[at] * weight);
                    if self.max { weighed.reduce(f64::max).unwrap_or(0.0) } else { weighed.sum() }
                }));
            }
        }
        Tensor::from_floats(data.dtype(), shape, &result)
    }

    /// For each bin of each region the pixels that it consists of, as offsets into a channel, and
    /// their weights. A bin is their weighted sum or maximum.
    pub fn parts(&self, regions: &Tensor, [rows, columns]: [usize; 2]) -> Result<Vec<Vec<(usize, f64)>>, OpError> {
        let [height, width] = self.size;
        let offset = if self.half_pixel { 0.5 } else { 0.0 };
        let regions = regions.floats()?;
        let mut result = Vec::new();
        for region in regions.chunks_exact(4) {
            let scaled = |at: usize| region[at] * f64::from(self.scale) - offset;
            for part in 0..height * width {
                let down = self.samples(scaled(1), scaled(3), (part / width, height), rows)?;
                let across = self.samples(scaled(0), scaled(2), (part % width, width), columns)?;
                result.push(self.pixels(columns, &down, &across));
            }
        }
        Ok(result)
    }

    /// The samples of bin `part` of `parts` along one axis.
    fn samples(&self, start: f64, end: f64, (part, parts): (usize, usize), size: usize) -> Result<Vec<Taps>, OpError> {
        let length = if self.half_pixel { end - start } else { (end - start).max(1.0) };
        let each = length / parts as f64;
        let count = self.samples.map_or(each.ceil(), |samples| samples as f64);
        if count > MAX_SAMPLES {
            return Err(OpError::unsupported(format!("a region with {count} samples per bin")));
        }
        let place = |sample: usize| start + part as f64 * each + (sample as f64 + 0.5) * each / count;
        Ok((0..count as usize).map(|sample| taps(place(sample), size)).collect())
    }

    /// The pixels of one output element. Samples outside of the image are zero.
    fn pixels(&self, width: usize, rows: &[Taps], columns: &[Taps]) -> Vec<(usize, f64)> {
        // The maximum of the weighted pixels, not of the interpolated samples: that is ONNX's
        // definition.
        let each = if self.max { 1.0 } else { 1.0 / (rows.len() * columns.len()).max(1) as f64 };
        let weighed = |row: &Taps, column: &Taps| match (row, column) {
            (Some([top, bottom]), Some([left, right])) => {
                let corners = [(top, left), (top, right), (bottom, left), (bottom, right)];
                corners.map(|(row, column)| (row.0 * width + column.0, row.1 * column.1 * each)).to_vec()
            }
            _ => vec![(0, 0.0)],
        };
        rows.iter().flat_map(|row| columns.iter().flat_map(move |column| weighed(row, column))).collect()
    }
}

impl MaxRoiPool {
    pub(super) fn shape(&self, inputs: &Facts<'_>) -> Shape {
        shape_of(inputs, self.size, 5)
    }

    pub(super) fn compute(&self, inputs: &Inputs<'_>, shape: Vec<usize>) -> Result<Tensor, OpError> {
        let data = inputs.tensor(0)?;
        let images = Images::new(data)?;
        let mut result = shape::reserve(&shape)?;
        if shape::count(&shape)? == 0 {
            return Tensor::zeros(data.dtype(), shape);
        }
        let (numbers, parts) = self.parts(inputs.tensor(1)?, [images.height, images.width])?;
        for (image, parts) in numbers.into_iter().zip(parts.chunks_exact(self.size[0] * self.size[1])) {
            let image = index(image, images.count)?;
            for channel in 0..images.channels {
                let pixels = images.channel(image, channel);
                let most = |part: &Vec<usize>| part.iter().map(|&at| pixels[at]).reduce(f64::max);
                // An empty bin is zero.
                result.extend(parts.iter().map(|part| most(part).unwrap_or(0.0)));
            }
        }
        Tensor::from_floats(data.dtype(), shape, &result)
    }

    /// The image of each region, and for each bin of each region its pixels, as offsets into a
    /// channel.
    pub fn parts(&self, regions: &Tensor, [rows, columns]: [usize; 2]) -> Result<(Vec<i64>, Vec<Vec<usize>>), OpError> {
        let (mut images, mut result) = (Vec::new(), Vec::new());
        for region in regions.floats()?.chunks_exact(5) {
            images.push(region[0] as i64);
            // In f32, so that regions are rounded as in other runtimes.
            let pixel = |at: usize| (region[at] as f32 * self.scale).round();
            let across = parts(pixel(1), pixel(3), self.size[1], columns);
            for down in parts(pixel(2), pixel(4), self.size[0], rows) {
                let line = |across: &std::ops::Range<usize>| {
                    down.clone().flat_map(|row| across.clone().map(move |column| row * columns + column)).collect()
                };
                result.extend(across.iter().map(line));
            }
        }
        Ok((images, result))
    }
}

/// The pixels of each bin of a region, clipped to the image.
fn parts(start: f32, end: f32, parts: usize, size: usize) -> Vec<std::ops::Range<usize>> {
    let part = (end - start + 1.0).max(1.0) / parts as f32;
    let inside = |place: f32| ((place + start).max(0.0) as usize).min(size);
    (0..parts).map(|at| inside((at as f32 * part).floor())..inside(((at + 1) as f32 * part).ceil())).collect()
}
