//! Resizing of images.

use super::decode::Image;
use crate::Fit;

/// Resizes an image to this size.
pub(super) fn fitted(image: Image, width: usize, height: usize, fit: Fit) -> Image {
    if (image.width, image.height) == (width, height) || image.pixels.is_empty() || width * height == 0 {
        return match fit {
            _ if (image.width, image.height) == (width, height) => image,
            _ => Image { width, height, pixels: vec![[0; 3]; width * height] },
        };
    }
    let ratios = [width as f64 / image.width as f64, height as f64 / image.height as f64];
    let by = |ratio: f64| [image.width, image.height].map(|size| ((size as f64 * ratio).round() as usize).max(1));
    let [inner_width, inner_height] = match fit {
        Fit::Stretch => [width, height],
        Fit::Crop => by(ratios[0].max(ratios[1])),
        Fit::Pad => by(ratios[0].min(ratios[1])),
    };
    let inner = resized(&image, inner_width, inner_height);
    placed(&inner, width, height)
}

/// The center of an image that is larger, or a smaller image centered on black.
fn placed(image: &Image, width: usize, height: usize) -> Image {
    let mut pixels = vec![[0; 3]; width * height];
    // Along one side: the start in the image, the start in the result, and the number of pixels.
    let along =
        |own: usize, target: usize| (own.saturating_sub(target) / 2, target.saturating_sub(own) / 2, own.min(target));
    let ((left, into_left, across), (top, into_top, down)) = (along(image.width, width), along(image.height, height));
    for row in 0..down {
        let (from, into) = ((top + row) * image.width + left, (into_top + row) * width + into_left);
        pixels[into..into + across].copy_from_slice(&image.pixels[from..from + across]);
    }
    Image { width, height, pixels }
}

/// Resizes by linear interpolation. When an image shrinks, the filter covers all pixels that become
/// one, as in PIL.
fn resized(image: &Image, width: usize, height: usize) -> Image {
    let (across, down) = (taps(image.width, width), taps(image.height, height));
    let mut wide = vec![[0f32; 3]; width * image.height];
    for (row, line) in wide.chunks_exact_mut(width).zip(image.pixels.chunks_exact(image.width)) {
        for (into, (first, weights)) in row.iter_mut().zip(&across) {
            *into = weighted(weights, line[*first..].iter().map(|pixel| pixel.map(f32::from)));
        }
    }
    let mut pixels = Vec::with_capacity(width * height);
    for (first, weights) in &down {
        for column in 0..width {
            let lines = wide[first * width + column..].iter().step_by(width).copied();
            pixels.push(weighted(weights, lines).map(|level| level.round().clamp(0.0, 255.0) as u8));
        }
    }
    Image { width, height, pixels }
}

fn weighted(weights: &[f32], pixels: impl Iterator<Item = [f32; 3]>) -> [f32; 3] {
    weights.iter().zip(pixels).fold([0.0; 3], |sum, (weight, pixel)| {
        [sum[0] + weight * pixel[0], sum[1] + weight * pixel[1], sum[2] + weight * pixel[2]]
    })
}

/// For each output pixel along a side: the first input pixel of the filter, and the weights.
fn taps(from: usize, to: usize) -> Vec<(usize, Vec<f32>)> {
    let scale = from as f64 / to as f64;
    let reach = scale.max(1.0);
    let tap = |at: usize| {
        let center = (at as f64 + 0.5) * scale;
        let first = (center - reach + 0.5).floor().max(0.0) as usize;
        let end = ((center + reach + 0.5).floor() as usize).min(from);
        let weights: Vec<f64> = (first..end).map(|one| 1.0 - ((one as f64 - center + 0.5) / reach).abs()).collect();
        let weights: Vec<f64> = weights.into_iter().map(|weight| weight.max(0.0)).collect();
        let sum: f64 = weights.iter().sum();
        (first, weights.iter().map(|weight| (weight / sum) as f32).collect())
    };
    (0..to).map(tap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIL_SMALLER: &[[u8; 3]] =
        &[[35, 86, 39], [114, 102, 50], [193, 122, 61], [41, 159, 109], [120, 109, 120], [199, 102, 131]];
    const PIL_LARGER: &[[u8; 3]] = &[
        [0, 0, 0],
        [19, 6, 3],
        [37, 11, 5],
        [19, 6, 3],
        [38, 12, 6],
        [56, 17, 8],
        [56, 17, 8],
        [75, 23, 11],
        [93, 28, 13],
        [74, 22, 10],
        [93, 28, 13],
        [111, 33, 15],
    ];

    fn image(width: usize, height: usize) -> Image {
        let level = |at: usize| [(at * 37 % 256) as u8, (at * 11 % 256) as u8, (at * 5 % 256) as u8];
        Image { width, height, pixels: (0..width * height).map(level).collect() }
    }

    /// Expected values from Pillow 13: `Image.fromarray(…).resize((w, h), Image.BILINEAR)`. Pillow
    /// rounds between the horizontal and the vertical pass, so a level may differ by one.
    #[test]
    fn resizing_matches_pil() {
        let near = |image: &Image, expected: &[[u8; 3]]| {
            assert_eq!(image.pixels.len(), expected.len());
            for (one, other) in image.pixels.iter().zip(expected) {
                assert!(one.iter().zip(other).all(|(a, b)| a.abs_diff(*b) <= 1), "{:?}\n{expected:?}", image.pixels);
            }
        };
        near(&resized(&image(7, 5), 3, 2), PIL_SMALLER);
        near(&resized(&image(2, 2), 3, 4), PIL_LARGER);
    }

    #[test]
    fn images_are_cut_and_padded_in_the_middle() {
        let cropped = fitted(image(4, 2), 2, 2, Fit::Crop);
        assert_eq!(cropped.pixels, [1, 2, 5, 6].map(|at| image(4, 2).pixels[at]));
        let padded = fitted(image(4, 2), 4, 4, Fit::Pad);
        assert_eq!(padded.pixels[..4], [[0; 3]; 4]);
        assert_eq!(padded.pixels[4..12], image(4, 2).pixels);
    }
}
