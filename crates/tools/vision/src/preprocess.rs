//! Resizing and normalization of images, with the same pixels as llama.cpp.

use roci_image::Image;

use crate::description::Description;
use crate::projector::{Filter, Size};

/// A resized image with normalized channels, in row-major order.
pub(crate) struct Normalized {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) pixels: Vec<[f32; 3]>,
}

/// Resizes and normalizes an image for a tower. The result is one image, or tiles line by line and
/// an overview, with columns and lines of the tiles. The image has pixels: the decoder rejects empty
/// ones.
pub(crate) fn preprocess(image: &Image, description: &Description) -> (Vec<Normalized>, (usize, usize)) {
    let (filter, side) = (description.projector.filter, description.image);
    let (images, grid) = match (description.projector.size, &description.tiling) {
        (Size::Dynamic { min, max }, _) => {
            let unit = description.patch * description.merged;
            let (width, height) = dynamic_size(image.width, image.height, unit, min as usize, max as usize);
            (vec![padded(image, width, height, filter)], (0, 0))
        }
        (_, None) => (vec![padded(image, side, side, filter)], (0, 0)),
        (_, Some(tiling)) => {
            let (columns, lines) = tiling.grid(image.width, image.height, side);
            let (width, height) = (columns * side, lines * side);
            // The overview does not keep the aspect ratio.
            let (whole, overview) = match tiling.before(image.width, image.height, side) {
                Some((before, beside)) => {
                    let whole = resized(&resized(image, before, beside, filter), width, height, filter);
                    let overview = resized(&whole, side, side, filter);
                    (Some(whole), overview)
                }
                None => {
                    let whole = (columns * lines > 0).then(|| padded(image, width, height, filter));
                    (whole, resized(image, side, side, filter))
                }
            };
            let tile = |at: usize, whole: &Image| crop(whole, at % columns * side, at / columns * side, side);
            let tiles = whole.iter().flat_map(|whole| (0..columns * lines).map(move |at| tile(at, whole)));
            (tiles.chain([overview]).collect(), (columns, lines))
        }
    };
    let normalize = |pixel: &[u8; 3]| {
        std::array::from_fn(|channel| {
            let value =
                (f32::from(pixel[channel]) / 255.0 - description.mean[channel]) / description.deviation[channel];
            if description.projector.centered { 2.0 * value - 1.0 } else { value }
        })
    };
    let normalized = |image: &Image| {
        let (width, height) = (image.width, image.height);
        Normalized { width, height, pixels: image.pixels.iter().map(normalize).collect() }
    };
    (images.iter().map(normalized).collect(), grid)
}

/// A square of an image.
fn crop(image: &Image, left: usize, top: usize, side: usize) -> Image {
    let lines = image.pixels.chunks_exact(image.width).skip(top).take(side);
    let pixels = lines.flat_map(|line| line[left..left + side].iter().copied()).collect();
    Image { width: side, height: side, pixels }
}

/// The multiples of `unit` near the image's size, with about the same aspect ratio, whose product
/// is between `min` and `max` square units. In f32 as in llama.cpp, because rounding affects the
/// result.
fn dynamic_size(width: usize, height: usize, unit: usize, min: usize, max: usize) -> (usize, usize) {
    let [x, y, step] = [width as f32, height as f32, unit as f32];
    let near = |size: f32| ((size / step).round() as usize * unit).max(unit);
    let (wide, high) = (near(x), near(y));
    let (min, max) = (min * unit * unit, max * unit * unit);
    if wide * high > max {
        let factor = (y * x / max as f32).sqrt();
        let below = |size: f32| ((size / factor / step).floor() as usize * unit).max(unit);
        let (wide, high) = (below(x), below(y));
        // For a narrow strip, the longer side alone may exceed the limit.
        let side = |size: usize, other: usize| size.min(max / other / unit * unit).max(unit);
        return (side(wide, high.min(wide)), side(high, wide.min(high)));
    }
    if wide * high < min {
        let factor = (min as f32 / (y * x)).sqrt();
        let above = |size: f32| ((size * factor / step).ceil() as usize * unit).max(unit);
        return (above(x), above(y));
    }
    (wide, high)
}

/// Scales an image to fit the size, keeping its aspect ratio, and centers it on black.
fn padded(image: &Image, width: usize, height: usize, filter: Filter) -> Image {
    if (image.width, image.height) == (width, height) {
        return image.clone();
    }
    let scale = (width as f32 / image.width as f32).min(height as f32 / image.height as f32);
    let inner = |size: usize, limit: usize| ((size as f32 * scale).ceil() as usize).clamp(1, limit);
    let scaled = resized(image, inner(image.width, width), inner(image.height, height), filter);
    let (left, top) = ((width - scaled.width) / 2, (height - scaled.height) / 2);
    let mut pixels = vec![[0; 3]; width * height];
    for (row, line) in scaled.pixels.chunks_exact(scaled.width).enumerate() {
        pixels[(top + row) * width + left..][..scaled.width].copy_from_slice(line);
    }
    Image { width, height, pixels }
}

/// Fraction bits of a filter's fixed-point weights.
const PRECISION: u32 = 22;

/// Resizes with Pillow's arithmetic: the filter covers all source pixels of an output pixel,
/// weights are in fixed point, and each direction is rounded to bytes.
fn resized(image: &Image, width: usize, height: usize, filter: Filter) -> Image {
    let mut pixels = image.pixels.clone();
    if width != image.width {
        let taps = taps(image.width, width, filter);
        let lines = pixels.chunks_exact(image.width);
        pixels = lines.flat_map(|line| taps.iter().map(|tap| tap.apply(line, 1))).collect();
    }
    if height != image.height {
        let columns = |tap: &Tap| (0..width).map(|x| tap.apply(&pixels[x..], width)).collect::<Vec<_>>();
        pixels = taps(image.height, height, filter).iter().flat_map(columns).collect();
    }
    Image { width, height, pixels }
}

/// The filter of an output pixel in one direction.
struct Tap {
    first: usize,
    weights: Vec<i64>,
}

impl Tap {
    /// The weighted sum of pixels at a distance of `step`.
    fn apply(&self, pixels: &[[u8; 3]], step: usize) -> [u8; 3] {
        let mut sums = [1i64 << (PRECISION - 1); 3];
        for (at, weight) in self.weights.iter().enumerate() {
            let pixel = pixels[(self.first + at) * step];
            sums.iter_mut().zip(pixel).for_each(|(sum, level)| *sum += weight * i64::from(level));
        }
        sums.map(|sum| (sum >> PRECISION).clamp(0, 255) as u8)
    }
}

impl Filter {
    /// The distance at which the weights become 0.
    fn reach(self) -> f64 {
        match self {
            Self::Linear => 1.0,
            Self::Cubic => 2.0,
            Self::Lanczos => 3.0,
        }
    }

    fn weight(self, distance: f64) -> f64 {
        const A: f64 = -0.5;
        let x = distance.abs();
        match self {
            Self::Linear => (1.0 - x).max(0.0),
            Self::Cubic if x < 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
            Self::Cubic if x < 2.0 => (((x - 5.0) * x + 8.0) * x - 4.0) * A,
            Self::Cubic => 0.0,
            Self::Lanczos if x == 0.0 => 1.0,
            Self::Lanczos if x < 3.0 => {
                let angle = std::f64::consts::PI * x;
                angle.sin() / angle * ((angle / 3.0).sin() / (angle / 3.0))
            }
            Self::Lanczos => 0.0,
        }
    }
}

fn taps(from: usize, to: usize, filter: Filter) -> Vec<Tap> {
    let scale = from as f64 / to as f64;
    let widened = scale.max(1.0);
    let reach = filter.reach() * widened;
    let tap = |at: usize| {
        let center = (at as f64 + 0.5) * scale;
        let first = (center - reach + 0.5).max(0.0) as usize;
        let end = ((center + reach + 0.5) as usize).min(from);
        let weight = |place: usize| filter.weight((place as f64 - center + 0.5) / widened);
        let weights: Vec<f64> = (first..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        let fixed = |weight: &f64| (weight / sum * f64::from(1u32 << PRECISION) + 0.5).floor() as i64;
        Tap { first, weights: weights.iter().map(fixed).collect() }
    };
    (0..to).map(tap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_multiples_within_the_limits() {
        assert_eq!(dynamic_size(640, 480, 28, 8, 4096), (644, 476));
        assert_eq!(dynamic_size(10, 10, 28, 8, 4096), (84, 84), "at least 8 units");
        let (width, height) = dynamic_size(8000, 4000, 28, 8, 1024);
        assert!(width * height <= 1024 * 28 * 28 && width.is_multiple_of(28) && height.is_multiple_of(28));
        assert_eq!(dynamic_size(1, 100_000, 28, 8, 16), (28, 16 * 28), "a strip is neither empty nor too long");
    }

    #[test]
    fn images_keep_their_aspect_ratio_on_black() {
        let image = Image { width: 2, height: 1, pixels: vec![[10, 20, 30], [50, 60, 70]] };
        let padded = padded(&image, 4, 4, Filter::Linear);
        assert_eq!(padded.pixels[..4], [[0; 3]; 4]);
        assert_eq!(padded.pixels[4..8], [[10, 20, 30], [20, 30, 40], [40, 50, 60], [50, 60, 70]]);
        assert_eq!(padded.pixels[12..], [[0; 3]; 4]);
    }
}
