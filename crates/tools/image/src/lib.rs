//! PNG and JPEG images as input tensors: decoding, resizing and normalization.

#![deny(unsafe_code)]

mod decode;
mod resize;

use roci_graph::graph::Dim;
use roci_graph::{DType, Tensor};

pub use decode::{Image, decode, is_image, other_kind};

/// How pixel values become tensor elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Divisor of pixel values from 0 to 255, for float tensors.
    pub scale: f64,
    /// Subtracted from each channel after scaling: one value, one per channel, or none for 0.
    pub mean: Vec<f64>,
    /// Divisor of each channel after the mean is subtracted: one value, one per channel, or none
    /// for 1.
    pub std: Vec<f64>,
    /// RGB, or BGR for models that were trained so.
    pub order: ChannelOrder,
    /// How the image is fitted to the size of the input.
    pub fit: Fit,
}

/// Order of an image's channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelOrder {
    /// Red first.
    #[default]
    Rgb,
    /// Blue first.
    Bgr,
}

/// How an image is fitted to a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// Scale both sides independently.
    #[default]
    Stretch,
    /// Scale to cover the size, and crop.
    Crop,
    /// Scale to fit the size, and pad with black.
    Pad,
}

/// Maximum number of pixels of an image input.
const MAX_PIXELS: usize = 1 << 28;

/// The layout of an image input: its channel axis, and its size if the model fixes it.
struct Layout {
    channels: usize,
    channels_first: bool,
    height: Option<usize>,
    width: Option<usize>,
}

/// Decodes an image into a tensor for an input of these dimensions. The error says why that fails.
pub fn tensor(bytes: &[u8], dtype: DType, dims: &[Dim], options: &Options) -> Result<Tensor, String> {
    let layout = layout(dims)?;
    check_count("--image-mean", &options.mean, layout.channels)?;
    check_count("--image-std", &options.std, layout.channels)?;
    let image = decode(bytes)?;
    let (width, height) = (layout.width.unwrap_or(image.width), layout.height.unwrap_or(image.height));
    if width.checked_mul(height).is_none_or(|count| count > MAX_PIXELS) {
        return Err(format!("the model takes an image of {width} x {height} pixels, which is too large"));
    }
    let image = resize::fitted(image, width, height, options.fit);
    elements(&image, dtype, &layout, options).map_err(|error| error.to_string())
}

/// Checks that there is one value for all channels, or one for each.
fn check_count(option: &str, numbers: &[f64], channels: usize) -> Result<(), String> {
    let count = numbers.len();
    if count <= 1 || count == channels {
        return Ok(());
    }
    let expected = if channels == 1 { "one, for its one channel".to_owned() } else { format!("one, or {channels}") };
    Err(format!("{option} has {count} numbers, and the model's images have {channels} channels: give {expected}"))
}

/// The layout of dimensions `[batch, channels, height, width]` or `[batch, height, width,
/// channels]`; the batch is optional.
fn layout(dims: &[Dim]) -> Result<Layout, String> {
    let known = |dim: &Dim| match dim {
        Dim::Known(size) => Some(*size),
        _ => None,
    };
    let dims: Vec<Option<usize>> = dims.iter().map(known).collect();
    let no =
        || "this input does not take an image: an image input has 3 or 4 dimensions, with 1 or 3 channels".to_owned();
    let inner = match dims.as_slice() {
        [batch, inner @ ..] if inner.len() == 3 => match batch {
            None | Some(1) => inner,
            Some(batch) => return Err(format!("the model takes {batch} images at a time: stack them with numpy")),
        },
        inner if inner.len() == 3 => inner,
        _ => return Err(no()),
    };
    let is_color = |size: Option<usize>| matches!(size, Some(1 | 3));
    match *inner {
        [channels, height, width] if is_color(channels) => {
            Ok(Layout { channels: channels.unwrap_or(3), channels_first: true, height, width })
        }
        [height, width, channels] if is_color(channels) => {
            Ok(Layout { channels: channels.unwrap_or(3), channels_first: false, height, width })
        }
        _ => Err(no()),
    }
}

/// The elements of an image: integers unchanged, floats as `(value / scale - mean) / std`.
fn elements(image: &Image, dtype: DType, layout: &Layout, options: &Options) -> Result<Tensor, roci_graph::OpError> {
    let (width, height, channels) = (image.width, image.height, layout.channels);
    let of = |list: &[f64], channel: usize, default: f64| match list {
        [] => default,
        [one] => *one,
        several => several.get(channel).copied().unwrap_or(default),
    };
    let mut elements = vec![0.0; width * height * channels];
    for (index, pixel) in image.pixels.iter().enumerate() {
        for channel in 0..channels {
            let level = match (channels, options.order) {
                // The luma weights of ITU-R BT.601.
                (1, _) => 0.299 * f64::from(pixel[0]) + 0.587 * f64::from(pixel[1]) + 0.114 * f64::from(pixel[2]),
                (_, ChannelOrder::Rgb) => f64::from(pixel[channel]),
                (_, ChannelOrder::Bgr) => f64::from(pixel[2 - channel]),
            };
            let number = if dtype.is_float() {
                let (mean, deviation) = (of(&options.mean, channel, 0.0), of(&options.std, channel, 1.0));
                (level / options.scale - mean) / deviation
            } else {
                level.round()
            };
            let (x, y) = (index % width, index / width);
            let at = if layout.channels_first {
                (channel * height + y) * width + x
            } else {
                (y * width + x) * channels + channel
            };
            elements[at] = number;
        }
    }
    let shape = if layout.channels_first { [1, channels, height, width] } else { [1, height, width, channels] };
    Tensor::from_floats(dtype, shape, &elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options {
            scale: 255.0,
            mean: vec![0.5],
            std: vec![0.5, 0.25, 1.0],
            order: ChannelOrder::Rgb,
            fit: Fit::Stretch,
        }
    }

    fn png(width: u32, height: u32, pixels: &[[u8; 3]]) -> Vec<u8> {
        decode::tests::encode(width, height, ::png::ColorType::Rgb, ::png::BitDepth::Eight, &pixels.concat())
    }

    #[test]
    fn pixels_are_normalized_by_the_options() {
        let bytes = png(2, 1, &[[255, 0, 51], [255, 0, 102]]);
        let known = |sizes: &[usize]| sizes.iter().map(|&size| Dim::Known(size)).collect::<Vec<_>>();
        let tensor_of_image = tensor(&bytes, DType::F32, &known(&[1, 3, 1, 2]), &options()).expect("an image");
        assert_eq!(tensor_of_image.shape(), [1, 3, 1, 2]);
        let near: Vec<f64> =
            tensor_of_image.floats().expect("floats").iter().map(|one| (one * 1e4).round() / 1e4).collect();
        assert_eq!(near, [1.0, 1.0, -2.0, -2.0, -0.3, -0.1]);
        // Channels last, in the other order, as bytes.
        let bytes = png(1, 2, &[[255, 0, 51], [255, 0, 102]]);
        let options = Options { order: ChannelOrder::Bgr, ..options() };
        let tensor_of_image = tensor(&bytes, DType::U8, &known(&[1, 2, 1, 3]), &options).expect("an image");
        assert_eq!(tensor_of_image.floats().expect("numbers"), [51.0, 0.0, 255.0, 102.0, 0.0, 255.0]);
    }

    #[test]
    fn one_mean_applies_to_all_channels_or_one_to_each() {
        let bytes = png(1, 1, &[[255, 0, 51]]);
        let color = [1, 3, 1, 1].map(Dim::Known);
        let gray = [1, 1, 1, 1].map(Dim::Known);
        for wrong in [vec![0.5, 0.25], vec![0.1; 4]] {
            for (dims, mean, std) in [(&color, wrong.clone(), vec![]), (&color, vec![], wrong.clone())] {
                let options = Options { mean, std, ..options() };
                let error = tensor(&bytes, DType::F32, dims, &options).expect_err("a wrong count");
                assert!(error.contains(&format!("has {} numbers", wrong.len())) && error.contains("give one, or 3"));
            }
        }
        let three = Options { mean: vec![0.1; 3], std: vec![], ..options() };
        assert!(tensor(&bytes, DType::F32, &color, &three).is_ok());
        assert!(tensor(&bytes, DType::F32, &gray, &three).expect_err("one channel").contains("--image-mean has 3"));
    }

    #[test]
    fn sizes_come_from_the_model_and_other_models_are_refused() {
        let bytes = png(7, 5, &[[0; 3]; 35]);
        for fit in [Fit::Stretch, Fit::Crop, Fit::Pad] {
            let options = Options { fit, ..options() };
            let dims = [Dim::Unknown, Dim::Known(3), Dim::Known(4), Dim::Known(6)];
            assert_eq!(tensor(&bytes, DType::F32, &dims, &options).expect("an image").shape(), [1, 3, 4, 6]);
        }
        let own = [Dim::Symbol("n".into()), Dim::Known(1), Dim::Unknown, Dim::Unknown];
        let one = Options { std: vec![0.5], ..options() };
        assert_eq!(tensor(&bytes, DType::F32, &own, &one).expect("an image").shape(), [1, 1, 5, 7]);
        assert!(tensor(&bytes, DType::F32, &[Dim::Known(10)], &options()).is_err());
        assert!(
            tensor(&bytes, DType::F32, &[Dim::Known(4), Dim::Known(3), Dim::Known(8), Dim::Known(8)], &options())
                .is_err()
        );
        assert!(tensor(&bytes[..20], DType::F32, &own, &options()).is_err());
        assert!(!is_image(b"\x93NUMPY") && is_image(&bytes));
    }
}
