//! Statistics of repeated measurements, and the significance of differences.
//!
//! A difference of medians is significant if it exceeds three times the noise of the noisier series
//! and 1 % of the first median. With five values or more, the noise is the median absolute
//! deviation, scaled to the standard deviation of a normal distribution. With three or four it is
//! half the range, since the median of so few deviations is often zero by chance. With fewer values
//! the noise is unknown, and so is the significance.

use roci_base::renamed_key;
use serde::{Deserialize, Serialize};

renamed_key!(min: "min", formerly "least");
renamed_key!(max: "max", formerly "most");

/// Factor between noise and a significant difference.
const TIMES_NOISE: f64 = 3.0;
/// Minimum relative change that is significant, for series without any noise.
const FLOOR: f64 = 0.01;
/// Ratio of standard deviation to median absolute deviation in a normal distribution.
const NORMAL: f64 = 1.4826;
/// Minimum number of values for a median absolute deviation.
const MIN_FOR_MAD: usize = 5;
/// Minimum number of values for any estimate of the noise.
const MIN_FOR_NOISE: usize = 3;

/// Statistics of a series of values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Number of values, without those that are not finite.
    pub count: usize,
    /// Middle value, or the mean of the two middle ones.
    pub median: f64,
    /// Minimum.
    #[serde(flatten, serialize_with = "min::serialize")]
    pub min: f64,
    /// Maximum.
    #[serde(flatten, serialize_with = "max::serialize")]
    pub max: f64,
    /// Noise in the unit of the values; `None` with too few values.
    pub noise: Option<f64>,
}

/// Comparison of two series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Significantly better.
    Better,
    /// Significantly worse.
    Worse,
    /// Within the noise.
    Same,
    /// A series has too few values to estimate its noise. Two equal single values can be a
    /// coincidence.
    Unknown,
}

impl Series {
    /// Statistics of these values; `None` if none is finite.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let middle = median(&values);
        let noise = match values.len() {
            0..MIN_FOR_NOISE => None,
            MIN_FOR_NOISE..MIN_FOR_MAD => Some((max - min) / 2.0),
            _ => {
                let mut apart: Vec<_> = values.iter().map(|value| (value - middle).abs()).collect();
                apart.sort_by(f64::total_cmp);
                Some(NORMAL * median(&apart))
            }
        };
        Some(Self { count: values.len(), median: middle, min, max, noise })
    }

    /// Compares with `before`, by the rule of this module.
    pub fn against(&self, before: &Self, higher_is_better: bool) -> Verdict {
        let difference = self.median - before.median;
        let (Some(noise), Some(noise_before)) = (self.noise, before.noise) else { return Verdict::Unknown };
        let limit = (TIMES_NOISE * noise.max(noise_before)).max(FLOOR * before.median.abs());
        if difference.abs() <= limit {
            Verdict::Same
        } else if (difference > 0.0) == higher_is_better {
            Verdict::Better
        } else {
            Verdict::Worse
        }
    }

    /// Relative change from `before`: 0.25 is 25 % more. `None` if `before` is zero.
    pub fn change(&self, before: &Self) -> Option<f64> {
        let change = (self.median - before.median) / before.median.abs();
        change.is_finite().then_some(change)
    }
}

impl Verdict {
    /// Name of the verdict.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "within noise",
            Self::Unknown => "too few runs",
        }
    }
}

/// The rule as text for reports.
pub const RULE: &str = "A change is flagged when the medians differ by more than three times the noise of the noisier series and by more \
     than 1 %. The noise is the scaled median absolute deviation of five runs or more, half the range of three or four, \
     and unknown of fewer.";

/// Median of sorted values; there is at least one.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    // Halve before adding: the sum of two large values can overflow.
    if sorted.len() % 2 == 1 { sorted[half] } else { sorted[half - 1] / 2.0 + sorted[half] / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Series {
        Series::of(values.iter().copied()).expect("there are values")
    }

    #[test]
    fn medians_and_noise_are_those_of_the_rule() {
        assert_eq!(Series::of([]), None);
        assert_eq!(Series::of([f64::NAN, f64::INFINITY]), None);
        let one = series(&[4.0]);
        assert_eq!((one.count, one.median, one.noise), (1, 4.0, None));
        assert_eq!(series(&[1.0, 2.0]).noise, None);
        assert_eq!(series(&[3.0, 1.0, 2.0]).noise, Some(1.0));
        let five = series(&[10.0, 11.0, 9.0, 10.5, 500.0]);
        assert_eq!((five.median, five.min, five.max), (10.5, 9.0, 500.0));
        assert_eq!(five.noise, Some(1.4826 * 0.5));
        assert_eq!(series(&[f64::MAX, f64::MAX]).median, f64::MAX);
    }

    #[test]
    fn a_difference_counts_only_above_the_noise_of_either_side() {
        let calm = series(&[100.0, 101.0, 99.0, 100.5, 99.5]);
        let wild = series(&[90.0, 112.0, 130.0, 105.0, 98.0]);
        let faster = series(&[120.0, 121.0, 119.0, 120.5, 119.5]);
        assert_eq!(faster.against(&calm, true), Verdict::Better);
        assert_eq!(faster.against(&calm, false), Verdict::Worse);
        assert_eq!(calm.against(&faster, true), Verdict::Worse);
        assert_eq!(faster.against(&wild, true), Verdict::Same);
        assert_eq!(wild.against(&faster, true), Verdict::Same);
        assert_eq!(calm.against(&calm, true), Verdict::Same);
        assert!((faster.change(&calm).expect("a ratio") - 0.2).abs() < 1e-12);
        assert_eq!(faster.change(&series(&[0.0])), None);
    }

    #[test]
    fn single_runs_and_tiny_differences_are_not_significant() {
        assert_eq!(series(&[200.0]).against(&series(&[100.0]), true), Verdict::Unknown);
        assert_eq!(series(&[100.0]).against(&series(&[100.0]), true), Verdict::Unknown);
        let (still, nudged) = (series(&[100.0; 5]), series(&[100.9; 5]));
        assert_eq!(nudged.against(&still, true), Verdict::Same);
        assert_eq!(series(&[101.1; 5]).against(&still, true), Verdict::Better);
    }

    /// Equal distributions are rarely flagged, and large differences usually are.
    #[test]
    fn noise_alone_is_rarely_significant() {
        let mut random = fastrand::Rng::with_seed(1);
        // The sum of twelve uniform values approximates a normal distribution.
        let mut normal = move || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        for count in [3, 5, 10] {
            let (mut false_alarms, mut detected) = (0, 0);
            for _ in 0..2000 {
                let mut draw = |mean: f64| Series::of((0..count).map(|_| mean + normal())).expect("values");
                let (first, second, moved) = (draw(100.0), draw(100.0), draw(110.0));
                false_alarms += usize::from(second.against(&first, true) != Verdict::Same);
                detected += usize::from(moved.against(&first, true) == Verdict::Better);
            }
            // The expected rate is 1.5 % for three and five values, and lower for ten.
            assert!(false_alarms < 60, "{false_alarms} of 2000 with {count} values");
            assert!(detected > 1900, "{detected} of 2000 with {count} values");
        }
    }
}
