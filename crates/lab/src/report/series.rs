//! Repeated measurements of one thing, and when two of them differ.
//!
//! The rule: a difference of medians counts when it is larger than three times the noise of the noisier series, and larger
//! than one part in a hundred of the first median. The noise of five values or more is their median absolute deviation, scaled to
//! be a standard deviation where values are normal; of three or four it is half their range, since a median of so few
//! deviations is often zero by chance. Fewer values have no noise of their own, and nothing is claimed about them.

use serde::{Deserialize, Serialize};

/// How many times the noise a difference must be.
const TIMES_NOISE: f64 = 3.0;
/// The smallest part of the first median that counts: two identical series have no noise, and clocks have.
const FLOOR: f64 = 0.01;
/// The standard deviation of a normal distribution, in median absolute deviations.
const NORMAL: f64 = 1.4826;
/// From here on the median absolute deviation says something.
const ENOUGH: usize = 5;
/// From here on there is any noise to speak of.
const FEWEST: usize = 3;

/// What is known of a series of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// How many values there are; those that are not finite are left out.
    pub count: usize,
    /// The middle one.
    pub median: f64,
    /// The smallest one.
    pub least: f64,
    /// The largest one.
    pub most: f64,
    /// How far values lie apart without a cause, in the unit of the values; nothing where they are too few to tell.
    pub noise: Option<f64>,
}

/// How one series compares with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It is better, by more than the noise.
    Better,
    /// It is worse, by more than the noise.
    Worse,
    /// It differs by less than the noise.
    Same,
    /// One of the two has too few values for a noise. Two single values that are equal may be so by chance.
    Unknown,
}

impl Series {
    /// Of these values; nothing if none of them is finite.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<_> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let (&least, &most) = (values.first()?, values.last()?);
        let middle = median(&values);
        let noise = match values.len() {
            0..FEWEST => None,
            FEWEST..ENOUGH => Some((most - least) / 2.0),
            _ => {
                let mut apart: Vec<_> = values.iter().map(|value| (value - middle).abs()).collect();
                apart.sort_by(f64::total_cmp);
                Some(NORMAL * median(&apart))
            }
        };
        Some(Self { count: values.len(), median: middle, least, most, noise })
    }

    /// How `self` compares with what was `before`, by the rule at the top of this file.
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

    /// The change from `before` in parts of it: 0.25 is a quarter more. Nothing where there is nothing to divide by.
    pub fn change(&self, before: &Self) -> Option<f64> {
        let change = (self.median - before.median) / before.median.abs();
        change.is_finite().then_some(change)
    }
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "within noise",
            Self::Unknown => "too few runs",
        }
    }
}

/// The rule in a sentence, for those who read a report.
pub const RULE: &str = "A change is flagged when the medians differ by more than three times the noise of the noisier series and by more \
     than 1 %. The noise is the scaled median absolute deviation of five runs or more, half the range of three or four, \
     and unknown of fewer.";

/// The middle of sorted values, of which there is one at least.
fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    // Halved before they are added: the sum of two large values may overflow.
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
        assert_eq!((five.median, five.least, five.most), (10.5, 9.0, 500.0));
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
    fn nothing_is_claimed_of_single_runs_nor_of_a_trifle() {
        assert_eq!(series(&[200.0]).against(&series(&[100.0]), true), Verdict::Unknown);
        assert_eq!(series(&[100.0]).against(&series(&[100.0]), true), Verdict::Unknown);
        let (still, nudged) = (series(&[100.0; 5]), series(&[100.9; 5]));
        assert_eq!(nudged.against(&still, true), Verdict::Same);
        assert_eq!(series(&[101.1; 5]).against(&still, true), Verdict::Better);
    }

    /// Pairs of series without any difference are called different rarely, and a large difference is seen mostly.
    #[test]
    fn noise_alone_is_seldom_flagged() {
        let mut state = 1_u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // The sum of twelve uniform values is as good as normal here.
        let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        for count in [3, 5, 10] {
            let (mut false_alarms, mut seen) = (0, 0);
            for _ in 0..2000 {
                let mut draw = |mean: f64| Series::of((0..count).map(|_| mean + normal())).expect("values");
                let (first, second, moved) = (draw(100.0), draw(100.0), draw(110.0));
                false_alarms += usize::from(second.against(&first, true) != Verdict::Same);
                seen += usize::from(moved.against(&first, true) == Verdict::Better);
            }
            assert!(false_alarms < 40, "{false_alarms} of 2000 with {count} values");
            assert!(seen > 1900, "{seen} of 2000 with {count} values");
        }
    }
}
