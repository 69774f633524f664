//! What changed against the baseline.

use serde::Serialize;

use super::series::{Series, Verdict};
use super::{BaselineReport, MetricReport, StrategyReport, text};

/// How a figure of a strategy differs from the baseline's.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The strategy.
    pub strategy: String,
    /// The figure.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// The baseline's.
    pub before: Series,
    /// The strategy's.
    pub after: Series,
    /// The change in parts of the baseline's median.
    pub change: Option<f64>,
    /// Whether that is more than noise.
    pub verdict: Verdict,
}

impl Change {
    /// Of two series of a metric.
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

    /// Both medians; where they differ by more than noise, that can be seen.
    pub(super) fn figures(&self) -> [String; 2] {
        let medians = [self.before.median, self.after.median];
        if self.counts() { text::distinct(medians[0], medians[1]) } else { medians.map(text::number) }
    }

    /// The word for it.
    pub fn word(&self) -> &'static str {
        let single = |series: &Series| series.noise.is_none() && series.count == 1;
        match self.verdict {
            Verdict::Unknown if single(&self.before) || single(&self.after) => "single runs, noise not known",
            Verdict::Unknown => "too few runs, noise not known",
            verdict => verdict.word(),
        }
    }

    /// Whether it is more than noise.
    pub fn counts(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }
}

/// All strategies against the baseline, metric by metric.
pub(super) fn against(
    baseline: Option<&BaselineReport>,
    metrics: &[MetricReport],
    strategies: &[StrategyReport],
) -> Vec<Change> {
    let Some(baseline) = baseline else { return Vec::new() };
    let mut changes = Vec::new();
    for metric in metrics {
        let Some(before) = baseline.metrics.get(&metric.name) else { continue };
        for strategy in strategies.iter().filter(|strategy| baseline.strategy.as_ref() != Some(&strategy.name)) {
            if let Some(after) = strategy.metrics.get(&metric.name) {
                changes.push(Change::new(&strategy.name, metric, before, after));
            }
        }
    }
    changes
}
