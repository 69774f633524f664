//! Pictures as inputs: decoded, brought to the model's size, and turned into its numbers.

mod decode;
mod resize;

use roci_graph::graph::Dim;
use roci_graph::{DType, Tensor};

use crate::cli::{ImageArgs, ImageOrder};

use decode::Picture;
pub(super) use decode::{is_image, other_kind};

/// Pixels that a model may ask for.
const LARGEST: usize = 1 << 28;

/// How a model wants a picture: where its channels are, and its size where the model says so.
struct Layout {
    channels: usize,
    channels_first: bool,
    height: Option<usize>,
    width: Option<usize>,
}

/// The tensor of a picture; the error says why there is none.
pub(super) fn tensor(bytes: &[u8], dtype: DType, dims: &[Dim], options: &ImageArgs) -> Result<Tensor, String> {
    let layout = layout(dims)?;
    check_count("--image-mean", &options.image_mean, layout.channels)?;
    check_count("--image-std", &options.image_std, layout.channels)?;
    let picture = decode::decode(bytes)?;
    let (width, height) = (layout.width.unwrap_or(picture.width), layout.height.unwrap_or(picture.height));
    if width.checked_mul(height).is_none_or(|count| count > LARGEST) {
        return Err(format!("the model wants a picture of {width} x {height} pixels, which are too many"));
    }
    let picture = resize::fitted(picture, width, height, options.image_fit);
    numbers(&picture, dtype, &layout, options).map_err(|error| error.to_string())
}

/// An error unless there is one number for all channels, or one for each.
fn check_count(option: &str, numbers: &[f64], channels: usize) -> Result<(), String> {
    let count = numbers.len();
    if count <= 1 || count == channels {
        return Ok(());
    }
    let wanted = if channels == 1 { "one, for its one channel".to_owned() } else { format!("one, or {channels}") };
    Err(format!("{option} has {count} numbers, and the model's pictures have {channels} channels: give {wanted}"))
}

/// What the dimensions say: `[batch, channels, height, width]`, or with the channels last; the batch may be missing.
fn layout(dims: &[Dim]) -> Result<Layout, String> {
    let known = |dim: &Dim| match dim {
        Dim::Known(size) => Some(*size),
        _ => None,
    };
    let dims: Vec<Option<usize>> = dims.iter().map(known).collect();
    let no =
        || "the model wants no picture here: an input for one has 3 or 4 dimensions, with 1 or 3 channels".to_owned();
    let inner = match dims.as_slice() {
        [batch, inner @ ..] if inner.len() == 3 => match batch {
            None | Some(1) => inner,
            Some(batch) => return Err(format!("the model wants {batch} pictures at a time: join them with numpy")),
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

/// The numbers of a picture: integers as they are, floats over the scale, less the mean and over the deviation.
fn numbers(
    picture: &Picture,
    dtype: DType,
    layout: &Layout,
    options: &ImageArgs,
) -> Result<Tensor, roci_graph::OpError> {
    let (width, height, channels) = (picture.width, picture.height, layout.channels);
    let of = |list: &[f64], channel: usize, default: f64| match list {
        [] => default,
        [one] => *one,
        several => several.get(channel).copied().unwrap_or(default),
    };
    let mut made = vec![0.0; width * height * channels];
    for (index, pixel) in picture.pixels.iter().enumerate() {
        for channel in 0..channels {
            let level = match (channels, options.image_order) {
                // The weights of ITU-R BT.601, as most tools that make grey pictures.
                (1, _) => 0.299 * f64::from(pixel[0]) + 0.587 * f64::from(pixel[1]) + 0.114 * f64::from(pixel[2]),
                (_, ImageOrder::Rgb) => f64::from(pixel[channel]),
                (_, ImageOrder::Bgr) => f64::from(pixel[2 - channel]),
            };
            let number = if dtype.is_float() {
                let (mean, deviation) = (of(&options.image_mean, channel, 0.0), of(&options.image_std, channel, 1.0));
                (level / options.image_scale - mean) / deviation
            } else {
                level.round()
            };
            let (x, y) = (index % width, index / width);
            let at = if layout.channels_first {
                (channel * height + y) * width + x
            } else {
                (y * width + x) * channels + channel
            };
            made[at] = number;
        }
    }
    let shape = if layout.channels_first { [1, channels, height, width] } else { [1, height, width, channels] };
    Tensor::from_floats(dtype, shape, &made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ImageFit;

    fn options() -> ImageArgs {
        ImageArgs {
            image_scale: 255.0,
            image_mean: vec![0.5],
            image_std: vec![0.5, 0.25, 1.0],
            image_order: ImageOrder::Rgb,
            image_fit: ImageFit::Stretch,
        }
    }

    fn png(width: u32, height: u32, pixels: &[[u8; 3]]) -> Vec<u8> {
        decode::tests::encode(width, height, ::png::ColorType::Rgb, ::png::BitDepth::Eight, &pixels.concat())
    }

    #[test]
    fn pixels_become_the_numbers_that_the_options_say() {
        let bytes = png(2, 1, &[[255, 0, 51], [255, 0, 102]]);
        let known = |sizes: &[usize]| sizes.iter().map(|&size| Dim::Known(size)).collect::<Vec<_>>();
        let made = tensor(&bytes, DType::F32, &known(&[1, 3, 1, 2]), &options()).expect("a picture");
        assert_eq!(made.shape(), [1, 3, 1, 2]);
        let near: Vec<f64> = made.floats().expect("floats").iter().map(|one| (one * 1e4).round() / 1e4).collect();
        assert_eq!(near, [1.0, 1.0, -2.0, -2.0, -0.3, -0.1]);
        // Channels last, in the other order, as bytes.
        let bytes = png(1, 2, &[[255, 0, 51], [255, 0, 102]]);
        let options = ImageArgs { image_order: ImageOrder::Bgr, ..options() };
        let made = tensor(&bytes, DType::U8, &known(&[1, 2, 1, 3]), &options).expect("a picture");
        assert_eq!(made.floats().expect("numbers"), [51.0, 0.0, 255.0, 102.0, 0.0, 255.0]);
    }

    #[test]
    fn figures_are_one_for_all_channels_or_one_for_each() {
        let bytes = png(1, 1, &[[255, 0, 51]]);
        let color = [1, 3, 1, 1].map(Dim::Known);
        let grey = [1, 1, 1, 1].map(Dim::Known);
        for wrong in [vec![0.5, 0.25], vec![0.1; 4]] {
            for (dims, mean, std) in [(&color, wrong.clone(), vec![]), (&color, vec![], wrong.clone())] {
                let options = ImageArgs { image_mean: mean, image_std: std, ..options() };
                let error = tensor(&bytes, DType::F32, dims, &options).expect_err("a wrong count");
                assert!(error.contains(&format!("has {} numbers", wrong.len())) && error.contains("give one, or 3"));
            }
        }
        let three = ImageArgs { image_mean: vec![0.1; 3], image_std: vec![], ..options() };
        assert!(tensor(&bytes, DType::F32, &color, &three).is_ok());
        assert!(tensor(&bytes, DType::F32, &grey, &three).expect_err("one channel").contains("--image-mean has 3"));
    }

    #[test]
    fn sizes_come_from_the_model_and_other_models_are_refused() {
        let bytes = png(7, 5, &[[0; 3]; 35]);
        for fit in [ImageFit::Stretch, ImageFit::Crop, ImageFit::Pad] {
            let options = ImageArgs { image_fit: fit, ..options() };
            let dims = [Dim::Unknown, Dim::Known(3), Dim::Known(4), Dim::Known(6)];
            assert_eq!(tensor(&bytes, DType::F32, &dims, &options).expect("a picture").shape(), [1, 3, 4, 6]);
        }
        let own = [Dim::Symbol("n".into()), Dim::Known(1), Dim::Unknown, Dim::Unknown];
        let one = ImageArgs { image_std: vec![0.5], ..options() };
        assert_eq!(tensor(&bytes, DType::F32, &own, &one).expect("a picture").shape(), [1, 1, 5, 7]);
        assert!(tensor(&bytes, DType::F32, &[Dim::Known(10)], &options()).is_err());
        assert!(
            tensor(&bytes, DType::F32, &[Dim::Known(4), Dim::Known(3), Dim::Known(8), Dim::Known(8)], &options())
                .is_err()
        );
        assert!(tensor(&bytes[..20], DType::F32, &own, &options()).is_err());
        assert!(!is_image(b"\x93NUMPY") && is_image(&bytes));
    }
}
