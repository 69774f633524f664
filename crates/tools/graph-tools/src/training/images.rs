//! Synthetic training images: stripes of three directions, disks and crosses, with noise. Each is
//! determined by the seed and its index, so that every device sees the same images.

use roci_graph::ops::random::Stream;
use roci_graph::train::{CLASSES, SIDE};
use roci_graph::{OpError, Tensor};

/// Amplitude of the noise, relative to shapes of amplitude 1.
const NOISE: f64 = 0.4;

/// Images `[count, 1, SIDE, SIDE]` from an index on, and their classes.
pub(crate) fn images(seed: u64, first: u64, count: usize) -> Result<(Tensor, Tensor), OpError> {
    let mut pixels = Vec::with_capacity(count * SIDE * SIDE);
    let mut classes = Vec::with_capacity(count);
    for number in (first..).take(count) {
        let class = number as usize % CLASSES;
        draw(Stream { seed, run: number + 1 }, class, &mut pixels);
        classes.push(class as i64);
    }
    Ok((Tensor::new([count, 1, SIDE, SIDE], pixels)?, Tensor::vector(classes)))
}

fn draw(stream: Stream, class: usize, pixels: &mut Vec<f32>) {
    // The noise uses the random numbers from 8 on.
    let between = |index: u64, low: f64, high: f64| low + (high - low) * stream.uniform(index);
    let (period, phase) = (between(0, 3.5, 6.0), between(1, 0.0, 1.0));
    let (row, column) = (between(2, 5.0, 10.0), between(3, 5.0, 10.0));
    let (size, strength) = (between(4, 3.0, 5.0), between(5, 0.8, 1.2));
    let stripes = |along: f64| (std::f64::consts::TAU * (along / period + phase)).sin();
    let inside = |yes: bool| if yes { 1.0 } else { -0.5 };
    for at in 0..SIDE * SIDE {
        let (y, x) = ((at / SIDE) as f64, (at % SIDE) as f64);
        let (down, right) = ((y - row).abs(), (x - column).abs());
        let shape = match class {
            0 => stripes(y),
            1 => stripes(x),
            2 => stripes((x + y) / std::f64::consts::SQRT_2),
            3 => inside(down * down + right * right < size * size),
            _ => inside(down.min(right) < 1.2 && down.max(right) < size + 1.0),
        };
        pixels.push((shape * strength + NOISE * stream.normal(8 + at as u64)) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_determined_by_seed_and_index() -> Result<(), OpError> {
        let (many, classes) = images(1, 0, 10)?;
        let (one, class) = images(1, 7, 1)?;
        let size = SIDE * SIDE;
        assert_eq!(many.slice::<f32>()?[7 * size..8 * size], *one.slice::<f32>()?);
        assert_eq!(classes.integers()?[7], class.integers()?[0]);
        assert_ne!(images(2, 7, 1)?.0, one);
        Ok(())
    }
}
