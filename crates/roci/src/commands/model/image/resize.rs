//! Pictures in another size.

use super::decode::Picture;
use crate::cli::ImageFit;

/// The picture in a size.
pub(super) fn fitted(picture: Picture, width: usize, height: usize, fit: ImageFit) -> Picture {
    if (picture.width, picture.height) == (width, height) || picture.pixels.is_empty() || width * height == 0 {
        return match fit {
            _ if (picture.width, picture.height) == (width, height) => picture,
            _ => Picture { width, height, pixels: vec![[0; 3]; width * height] },
        };
    }
    let ratios = [width as f64 / picture.width as f64, height as f64 / picture.height as f64];
    let by = |ratio: f64| [picture.width, picture.height].map(|size| ((size as f64 * ratio).round() as usize).max(1));
    let [inner_width, inner_height] = match fit {
        ImageFit::Stretch => [width, height],
        ImageFit::Crop => by(ratios[0].max(ratios[1])),
        ImageFit::Pad => by(ratios[0].min(ratios[1])),
    };
    let inner = resized(&picture, inner_width, inner_height);
    placed(&inner, width, height)
}

/// The middle of a picture, or the picture in the middle of black.
fn placed(picture: &Picture, width: usize, height: usize) -> Picture {
    let mut pixels = vec![[0; 3]; width * height];
    // Where both begin, and how far they go together.
    let along =
        |own: usize, wanted: usize| (own.saturating_sub(wanted) / 2, wanted.saturating_sub(own) / 2, own.min(wanted));
    let ((left, into_left, across), (top, into_top, down)) =
        (along(picture.width, width), along(picture.height, height));
    for row in 0..down {
        let (from, into) = ((top + row) * picture.width + left, (into_top + row) * width + into_left);
        pixels[into..into + across].copy_from_slice(&picture.pixels[from..from + across]);
    }
    Picture { width, height, pixels }
}

/// Both sides as they must be, by linear interpolation; where a picture becomes smaller, over as many pixels as become
/// one, as PIL does it.
fn resized(picture: &Picture, width: usize, height: usize) -> Picture {
    let (across, down) = (taps(picture.width, width), taps(picture.height, height));
    let mut wide = vec![[0f32; 3]; width * picture.height];
    for (row, line) in wide.chunks_exact_mut(width).zip(picture.pixels.chunks_exact(picture.width)) {
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
    Picture { width, height, pixels }
}

fn weighted(weights: &[f32], pixels: impl Iterator<Item = [f32; 3]>) -> [f32; 3] {
    weights.iter().zip(pixels).fold([0.0; 3], |sum, (weight, pixel)| {
        [sum[0] + weight * pixel[0], sum[1] + weight * pixel[1], sum[2] + weight * pixel[2]]
    })
}

/// For each pixel along a side: the first that counts, and the weights from there on.
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

    fn picture(width: usize, height: usize) -> Picture {
        let level = |at: usize| [(at * 37 % 256) as u8, (at * 11 % 256) as u8, (at * 5 % 256) as u8];
        Picture { width, height, pixels: (0..width * height).map(level).collect() }
    }

    /// `Image.fromarray(…).resize((w, h), Image.BILINEAR)` of Pillow 13 gives these; it rounds between both directions,
    /// so a level may differ by one.
    #[test]
    fn sizes_change_as_pil_does_it() {
        let near = |made: &Picture, wanted: &[[u8; 3]]| {
            assert_eq!(made.pixels.len(), wanted.len());
            for (one, other) in made.pixels.iter().zip(wanted) {
                assert!(one.iter().zip(other).all(|(a, b)| a.abs_diff(*b) <= 1), "{:?}\n{wanted:?}", made.pixels);
            }
        };
        near(&resized(&picture(7, 5), 3, 2), PIL_SMALLER);
        near(&resized(&picture(2, 2), 3, 4), PIL_LARGER);
    }

    #[test]
    fn pictures_are_cut_and_padded_in_the_middle() {
        let made = fitted(picture(4, 2), 2, 2, ImageFit::Crop);
        assert_eq!(made.pixels, [1, 2, 5, 6].map(|at| picture(4, 2).pixels[at]));
        let made = fitted(picture(4, 2), 4, 4, ImageFit::Pad);
        assert_eq!(made.pixels[..4], [[0; 3]; 4]);
        assert_eq!(made.pixels[4..12], picture(4, 2).pixels);
    }
}
