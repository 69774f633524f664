//! Windows and filters for signal processing.

use std::f64::consts::PI;

use crate::tensor::with_capacity;
use crate::{OpError, shape};

/// The shape of a window: a sum of a few cosines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names of the windows")]
pub enum WindowFunction {
    Hann,
    Hamming,
    Blackman,
}

impl WindowFunction {
    /// ONNX's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hann => "HannWindow",
            Self::Hamming => "HammingWindow",
            Self::Blackman => "BlackmanWindow",
        }
    }

    /// The constant, and the weights of the cosines of one and two periods.
    pub fn weights(self) -> [f64; 3] {
        match self {
            Self::Hann => [0.5, -0.5, 0.0],
            Self::Hamming => [25.0 / 46.0, -21.0 / 46.0, 0.0],
            Self::Blackman => [0.42, -0.5, 0.08],
        }
    }

    /// Element `index` of a window.
    pub(super) fn at(self, index: usize, count: usize, periodic: bool) -> f64 {
        let period = if periodic { count } else { count - 1 };
        let angle = 2.0 * PI * index as f64 / period as f64;
        let [constant, once, twice] = self.weights();
        constant + once * angle.cos() + twice * (2.0 * angle).cos()
    }
}

/// The mel filter bank, with the element type and shape of `to`.
pub(super) fn mel(to: &[usize], length: f64, rate: f64, edges: [f64; 2]) -> Result<Vec<f64>, OpError> {
    let [low, high] = edges.map(|hertz| 2595.0 * (1.0 + hertz / 700.0).log10());
    let &[spectrum, bins] = to else { return Err(OpError::invalid("the filter bank is not a matrix")) };
    // The reference divides by the number of points, not by the number of intervals.
    let step = (high - low) / (bins as f64 + 2.0);
    let point = |index: usize| {
        let hertz = 700.0 * (10f64.powf((index as f64 * step + low) / 2595.0) - 1.0);
        ((length + 1.0) * hertz / rate).floor() as i64
    };
    let count = shape::count(to)?;
    let mut result = with_capacity(count)?;
    result.resize(count, 0.0);
    // Frequencies beyond the spectrum have no bins.
    let mut set = |at: i64, bin: usize, weight: f64| {
        if let Some(at) = usize::try_from(at).ok().filter(|at| *at < spectrum) {
            result[at * bins + bin] = weight;
        }
    };
    let inside = |at: i64| at.clamp(-1, spectrum as i64);
    for bin in 0..bins {
        let (left, center, right) = (point(bin), point(bin + 1), point(bin + 2));
        let share = |part: i64, from: i64, to: i64| (part as f64) / (to as f64 - from as f64);
        if left == center {
            set(center, bin, 1.0);
        } else {
            for at in inside(left)..=inside(center) {
                set(at, bin, share(at.saturating_sub(left), left, center));
            }
        }
        for at in inside(center)..inside(right) {
            set(at, bin, share(right.saturating_sub(at), center, right));
        }
    }
    Ok(result)
}
