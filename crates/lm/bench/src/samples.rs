//! Repeated measurements, mean and standard deviation.

use std::time::Duration;

/// The durations of a test's runs; not empty in results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Tokens of one run.
    pub tokens: usize,
    /// The duration of each run.
    pub runs: Vec<Duration>,
}

/// A mean and the sample standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation; 0 for one value.
    pub deviation: f64,
}

impl Samples {
    /// Nanoseconds of each run.
    pub fn nanoseconds(&self) -> Vec<u64> {
        self.runs.iter().map(|run| u64::try_from(run.as_nanos()).unwrap_or(u64::MAX).max(1)).collect()
    }

    /// Tokens per second of each run.
    pub fn rates(&self) -> Vec<f64> {
        self.nanoseconds().iter().map(|run| self.tokens as f64 * 1e9 / *run as f64).collect()
    }

    /// Tokens per second.
    pub fn rate(&self) -> Mean {
        Mean::of(&self.rates())
    }

    /// Nanoseconds per run.
    pub fn time(&self) -> Mean {
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
    fn the_deviation_is_the_sample_deviation() {
        assert_eq!(Mean::of(&[2.0, 4.0, 6.0]), Mean { mean: 4.0, deviation: 2.0 });
        assert_eq!(Mean::of(&[3.0]), Mean { mean: 3.0, deviation: 0.0 });
        assert_eq!(Mean::of(&[]), Mean { mean: 0.0, deviation: 0.0 });
    }

    #[test]
    fn the_mean_is_of_rates_rather_than_durations() {
        let samples = Samples { tokens: 100, runs: vec![Duration::from_secs(1), Duration::from_secs(4)] };
        assert_eq!((samples.rates(), samples.rate().mean), (vec![100.0, 25.0], 62.5));
        assert_eq!(samples.time().mean, 2.5e9);
    }
}
