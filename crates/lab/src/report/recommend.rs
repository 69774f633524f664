//! Which strategy to use.

use serde::Serialize;

use crate::experiment::Experiment;

use super::sentence::Sentence;
use super::sentence::Word::{Name, Said};
use super::series::Verdict;
use super::{BaselineReport, MetricReport, StrategyReport, snippets, text};

/// What to use, ready to be used.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// The strategy.
    pub strategy: String,
    /// Why this one.
    pub why: Sentence,
    /// A shell script.
    pub script: String,
    /// A Job for Kubernetes.
    pub kubernetes: String,
    /// A file for compose.
    pub compose: String,
}

/// The best of those that passed every run: by the first figure that the experiment wants, or else by its first figure.
/// Of those that are no worse than noise, the one with the fewest settings.
pub(super) fn choose(
    experiment: &Experiment,
    baseline: Option<&BaselineReport>,
    metrics: &[MetricReport],
    strategies: &[StrategyReport],
) -> Option<Recommendation> {
    let passed: Vec<_> = strategies.iter().filter(|strategy| strategy.passed()).collect();
    let wanted = experiment.success.metrics.first().map(|wanted| &wanted.metric);
    let metric = wanted.and_then(|name| metrics.iter().find(|metric| metric.name == *name)).or(metrics.first());
    let measured =
        |strategy: &&&StrategyReport| metric.is_some_and(|metric| strategy.metrics.contains_key(&metric.name));
    let fastest = metric.and_then(|metric| {
        let worth = |strategy: &&&StrategyReport| {
            let median = strategy.metrics[&metric.name].median;
            if metric.higher_is_better { median } else { -median }
        };
        // The first of equals, since files begin with what is plainest.
        passed.iter().filter(measured).rev().max_by(|one, other| worth(one).total_cmp(&worth(other)))
    });
    let best = match (fastest, metric) {
        (Some(fastest), Some(metric)) => {
            let best = &fastest.metrics[&metric.name];
            let as_good = passed.iter().filter(measured).filter(|strategy| {
                let series = &strategy.metrics[&metric.name];
                // Of single runs no noise is known; the same figure is as good all the same.
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
        &[Said(&metric.name), Said(&metric.unit)],
    );
    let before = baseline.filter(|baseline| baseline.strategy.as_ref() != Some(&best.name));
    let before = before.and_then(|baseline| Some((baseline, baseline.metrics.get(&metric.name)?)));
    let against = match before.and_then(|(baseline, before)| Some((baseline, series.change(before)?))) {
        Some((baseline, change)) => {
            Sentence::of(&format!(" ({} against {{}})", text::percent(change)), &[Said(&baseline.label)])
        }
        None => Sentence::of("", &[]),
    };
    let rest = if fastest.name != best.name && fastest.metrics[&metric.name].median == series.median {
        Sentence::of("; {} is no better, and needs more settings.", &[Name(&fastest.name)])
    } else if fastest.name != best.name {
        Sentence::of("; {} is no better by more than noise, and needs more settings.", &[Name(&fastest.name)])
    } else if series.noise.is_none() {
        Sentence::of(", the best of those that pass, of too few runs to know the noise.", &[])
    } else {
        Sentence::of(", the best of those that pass.", &[])
    };
    start.then(figure).then(against).then(rest)
}
