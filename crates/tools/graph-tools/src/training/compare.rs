//! Compares the loss curves of devices.

use serde::Serialize;

use super::Training;

/// The maximum difference between the losses of two devices in any step, relative to the larger
/// loss or to a tenth of the first loss. Devices round differently, and each step builds on the one
/// before.
pub const LOSS_TOLERANCE: f64 = 0.01;

/// The verdict on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The loss decreased, as on the first device.
    Ok,
    /// The loss did not decrease.
    NoProgress,
    /// The losses differ from those of the first device.
    Differs,
    /// The device failed.
    Failed,
    /// Ctrl-C interrupted the training.
    Interrupted,
}

impl Verdict {
    /// The verdict on a training. `distance` is that of its losses from those of the first device.
    pub fn new(training: &Training, distance: Option<f64>) -> Self {
        match distance {
            _ if training.accuracy.is_none() => Self::Interrupted,
            _ if !decreases(&training.losses) => Self::NoProgress,
            // NaN counts as different.
            Some(distance) if distance.is_nan() || distance > LOSS_TOLERANCE => Self::Differs,
            _ => Self::Ok,
        }
    }
}

/// The distance between two loss curves; see [`LOSS_TOLERANCE`]. NaN if a loss is NaN.
pub fn loss_distance(a: &[f64], b: &[f64]) -> f64 {
    let scale = a.first().map_or(0.0, |first| first.abs() / 10.0);
    let one = |(a, b): (&f64, &f64)| (a - b).abs() / a.abs().max(b.abs()).max(scale).max(f64::MIN_POSITIVE);
    // Not `f64::max`, which drops NaN.
    let larger = |max: f64, one: f64| if one <= max || max.is_nan() { max } else { one };
    a.iter().zip(b).map(one).fold(0.0, larger)
}

/// Whether the mean loss of the last third is below that of the first third. Single batches vary
/// too much.
fn decreases(losses: &[f64]) -> bool {
    let third = (losses.len() / 3).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    losses.len() < 2 || mean(&losses[losses.len() - third..]) < mean(&losses[..third])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_losses_and_nan_are_not_ok() {
        let verdict = |losses: &[f64]| {
            let training =
                Training { losses: losses.to_vec(), accuracy: Some(1.0), first_seconds: 1.0, best_seconds: None };
            Verdict::new(&training, Some(loss_distance(&[2.0, 1.0], losses)))
        };
        assert_eq!([verdict(&[2.0, 1.0]), verdict(&[2.0, 1.01])], [Verdict::Ok; 2]);
        assert_eq!(verdict(&[2.0, 1.5]), Verdict::Differs);
        assert_eq!([verdict(&[2.0, f64::NAN]), verdict(&[1.0, 2.0])], [Verdict::NoProgress; 2]);
        // Small losses are compared relative to a tenth of the first loss.
        assert_eq!(loss_distance(&[2.0, 1e-9], &[2.0, 2e-9]), 5e-9);
        assert!(loss_distance(&[2.0, f64::NAN, 1.0], &[2.0, 1.0, 1.0]).is_nan());
    }
}
