//! Changes compared with the baseline.

use serde::Serialize;

use super::series::{Series, Verdict};
use super::{BaselineReport, MetricReport, StrategyReport, text};

/// Difference between a strategy's metric and the baseline's.
#[derive(Clone, Debug, Serialize)]
pub struct MetricChange {
    /// Name of the strategy.
    pub strategy: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the metric.
    pub unit: String,
    /// Values of the baseline.
    pub before: Series,
    /// Values of the strategy.
    pub after: Series,
    /// Relative change of the median.
    pub change: Option<f64>,
    /// Whether the change is above the noise.
    pub verdict: Verdict,
}

impl MetricChange {
    /// Compares two series of a metric.
    pub fn new(strategy: &str, metric: &MetricReport, before: &Series, after: &Series) -> Self {
        Self {
            strategy: strategy.to_owned(),
            metric: metric.name.clone(),
            unit: metric.unit.clone(),
            before: before.clone(),
            after: after.clone(),
            change: after.change(before),
            verdict: after.against(before, metric.higher_is_better),
        }
    }

    /// Both medians, with enough digits to show a significant difference.
    pub(super) fn medians(&self) -> [String; 2] {
        let medians = [self.before.median, self.after.median];
        if self.counts() { text::distinct(medians[0], medians[1]) } else { medians.map(text::number) }
    }

    /// Name of the verdict.
    pub fn word(&self) -> &'static str {
        let single = |series: &Series| series.noise.is_none() && series.count == 1;
        match self.verdict {
            Verdict::Unknown if single(&self.before) || single(&self.after) => "single runs, noise unknown",
            Verdict::Unknown => "too few runs, noise unknown",
            verdict => verdict.word(),
        }
    }

    /// Whether it is significant.
    pub fn counts(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }
}

/// Compares all strategies with the baseline, by metric.
pub(super) fn against(
    baseline: Option<&BaselineReport>,
    metrics: &[MetricReport],
    strategies: &[StrategyReport],
) -> Vec<MetricChange> {
    let Some(baseline) = baseline else { return Vec::new() };
    let mut changes = Vec::new();
    for metric in metrics {
        let Some(before) = baseline.metrics.get(&metric.name) else { continue };
        for strategy in strategies.iter().filter(|strategy| baseline.strategy.as_ref() != Some(&strategy.name)) {
            if let Some(after) = strategy.metrics.get(&metric.name) {
                changes.push(MetricChange::new(&strategy.name, metric, before, after));
            }
        }
    }
    changes
}
