//! Repeated measurements and what they have in common.

use std::time::Duration;

/// How long each run of a test took; never empty where it is printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples {
    /// Tokens of one run.
    pub(super) tokens: usize,
    pub(super) runs: Vec<Duration>,
}

/// A mean with the standard deviation of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) deviation: f64,
}

impl Samples {
    /// Nanoseconds of each run.
    pub(super) fn nanoseconds(&self) -> Vec<u64> {
        self.runs.iter().map(|run| u64::try_from(run.as_nanos()).unwrap_or(u64::MAX).max(1)).collect()
    }

    /// Tokens in a second, of each run.
    pub(super) fn rates(&self) -> Vec<f64> {
        self.nanoseconds().iter().map(|run| self.tokens as f64 * 1e9 / *run as f64).collect()
    }

    /// Tokens in a second.
    pub(super) fn rate(&self) -> Mean {
        Mean::of(&self.rates())
    }

    /// Nanoseconds of a run.
    pub(super) fn time(&self) -> Mean {
        Mean::of(&self.nanoseconds().iter().map(|run| *run as f64).collect::<Vec<_>>())
    }
}

impl Mean {
    fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        if values.is_empty() {
            return Self { mean: 0.0, deviation: 0.0 };
        }
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self { mean, deviation: if values.len() > 1 { (squares / (count - 1.0)).sqrt() } else { 0.0 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        assert_eq!(Mean::of(&[2.0, 4.0, 6.0]), Mean { mean: 4.0, deviation: 2.0 });
        assert_eq!(Mean::of(&[3.0]), Mean { mean: 3.0, deviation: 0.0 });
        assert_eq!(Mean::of(&[]), Mean { mean: 0.0, deviation: 0.0 });
    }

    #[test]
    fn rates_are_averaged_and_not_times() {
        let samples = Samples { tokens: 100, runs: vec![Duration::from_secs(1), Duration::from_secs(4)] };
        assert_eq!((samples.rates(), samples.rate().mean), (vec![100.0, 25.0], 62.5));
        assert_eq!(samples.time().mean, 2.5e9);
    }
}
