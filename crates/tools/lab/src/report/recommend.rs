//! Chooses the strategy to recommend.

use serde::Serialize;

use crate::experiment::Experiment;

use super::sentence::Sentence;
use super::sentence::Word::{Name, Text};
use super::series::Verdict;
use super::{BaselineReport, MetricReport, StrategyReport, snippets, text};

/// The recommended configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// Name of the strategy.
    pub strategy: String,
    /// Reason for the choice.
    pub why: Sentence,
    /// A shell script.
    pub script: String,
    /// Kubernetes Job.
    pub kubernetes: String,
    /// Compose file.
    pub compose: String,
}

/// The best strategy that passed every run, by the first required metric, or by the first metric.
/// Among those within the noise of the best, the one with the fewest settings.
pub(super) fn choose(
    experiment: &Experiment,
    baseline: Option<&BaselineReport>,
    metrics: &[MetricReport],
    strategies: &[StrategyReport],
) -> Option<Recommendation> {
    let passed: Vec<_> = strategies.iter().filter(|strategy| strategy.passed()).collect();
    let criterion = experiment.success.metrics.first().map(|criterion| &criterion.metric);
    let metric = criterion.and_then(|name| metrics.iter().find(|metric| metric.name == *name)).or(metrics.first());
    let measured =
        |strategy: &&&StrategyReport| metric.is_some_and(|metric| strategy.metrics.contains_key(&metric.name));
    let fastest = metric.and_then(|metric| {
        let worth = |strategy: &&&StrategyReport| {
            let median = strategy.metrics[&metric.name].median;
            if metric.higher_is_better { median } else { -median }
        };
        // The first of equals, since files start with the simplest.
        passed.iter().filter(measured).rev().max_by(|one, other| worth(one).total_cmp(&worth(other)))
    });
    let best = match (fastest, metric) {
        (Some(fastest), Some(metric)) => {
            let best = &fastest.metrics[&metric.name];
            let as_good = passed.iter().filter(measured).filter(|strategy| {
                let series = &strategy.metrics[&metric.name];
                // Single runs have no noise; an equal value is still equally good.
                series.median == best.median
                    || matches!(series.against(best, metric.higher_is_better), Verdict::Same | Verdict::Better)
            });
            as_good.min_by_key(|strategy| settings(strategy))?
        }
        _ => passed.first()?,
    };
    let planned = experiment.strategy(&best.name)?;
    let why = reason(best, fastest.copied(), metric, baseline);
    let name = format!("{}-{}", experiment.name, best.name);
    let heading = format!("{}: {}", experiment.name, best.name);
    Some(Recommendation {
        strategy: best.name.clone(),
        why,
        script: snippets::script(planned, &heading),
        kubernetes: snippets::kubernetes(planned, &name),
        compose: snippets::compose(planned, &name),
    })
}

fn settings(strategy: &StrategyReport) -> usize {
    strategy.env.len() + strategy.unset.len() + strategy.command.len()
}

fn reason(
    best: &StrategyReport,
    fastest: Option<&StrategyReport>,
    metric: Option<&MetricReport>,
    baseline: Option<&BaselineReport>,
) -> Sentence {
    let runs =
        if best.done() == 1 { "its one run passed".to_owned() } else { format!("all {} runs passed", best.done()) };
    let start = Sentence::of(&format!("{{}}: {runs}"), &[Name(&best.name)]);
    let (Some(fastest), Some(metric)) = (fastest, metric) else { return start.then(Sentence::of(".", &[])) };
    let series = &best.metrics[&metric.name];
    let figure = Sentence::of(
        &format!(", {{}} {} {{}}", text::number(series.median)),
        &[Text(&metric.name), Text(&metric.unit)],
    );
    let before = baseline.filter(|baseline| baseline.strategy.as_ref() != Some(&best.name));
    let before = before.and_then(|baseline| Some((baseline, baseline.metrics.get(&metric.name)?)));
    let against = match before.and_then(|(baseline, before)| Some((baseline, series.change(before)?))) {
        Some((baseline, change)) => {
            Sentence::of(&format!(" ({} against {{}})", text::percent(change)), &[Text(&baseline.label)])
        }
        None => Sentence::of("", &[]),
    };
    let rest = if fastest.name != best.name && fastest.metrics[&metric.name].median == series.median {
        Sentence::of("; {} is no better, and needs more settings.", &[Name(&fastest.name)])
    } else if fastest.name != best.name {
        Sentence::of("; {} is no better by more than noise, and needs more settings.", &[Name(&fastest.name)])
    } else if series.noise.is_none() {
        Sentence::of(", the best of those that pass, with too few runs to measure the noise.", &[])
    } else {
        Sentence::of(", the best of those that pass.", &[])
    };
    start.then(figure).then(against).then(rest)
}
