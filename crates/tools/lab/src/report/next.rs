//! Next steps of a report.

use serde::Serialize;

use crate::experiment::{Experiment, Requirement};
use crate::message::count;
use crate::outcome::Outcome;

use super::gather::without_numbers;
use super::sentence::Sentence;
use super::sentence::Word::{Name, Text};
use super::{ExperimentInfo, MetricReport, StrategyReport, text};

/// A next step.
#[derive(Clone, Debug, Serialize)]
pub struct NextStep {
    /// What to do, and why.
    pub what: Sentence,
    /// Commands, one per line; empty if no command does it.
    pub commands: Vec<String>,
}

/// Maximum number of steps of a kind.
const MAX_ENTRIES: usize = 12;

/// All steps, in the recommended order.
pub(super) fn steps(
    experiment: &Experiment,
    heading: &ExperimentInfo,
    strategies: &[StrategyReport],
    metrics: &[MetricReport],
) -> Vec<NextStep> {
    let mut steps = Vec::new();
    if heading.open > 0 {
        let runs = count(heading.open, "run has", "runs have");
        let what = Sentence::of(&format!("{runs} no result yet: continue the experiment."), &[]);
        steps.push(NextStep { what, commands: vec![format!("roci lab resume {}", heading.id)] });
    }
    steps.extend(pending(experiment, heading, strategies));
    steps.extend(blocked(heading, strategies));
    steps.extend(noise(strategies, metrics));
    steps
}

/// Causes, each with the strategies that it blocks.
#[derive(Default)]
struct Causes<'a>(Vec<(String, &'a str, Vec<&'a str>)>);

impl<'a> Causes<'a> {
    /// Merges causes that differ only in numbers, such as container IDs and run marks.
    fn add(&mut self, cause: &'a str, name: &'a str) {
        let kind = without_numbers(cause);
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., names)) => names.push(name),
            None => self.0.push((kind, cause, vec![name])),
        }
    }

    /// One step per cause, and a count of the rest.
    fn steps(&self, heading: &ExperimentInfo, step: impl Fn(&'a str, &[&'a str]) -> NextStep) -> Vec<NextStep> {
        let mut steps: Vec<_> = self.0.iter().take(MAX_ENTRIES).map(|(_, cause, names)| step(cause, names)).collect();
        if self.0.len() > MAX_ENTRIES {
            let more = count(self.0.len() - MAX_ENTRIES, "more cause", "more causes");
            let what = Sentence::of(&format!("{more}; the runs show them."), &[]);
            steps.push(NextStep { what, commands: vec![format!("roci lab show {}", heading.id)] });
        }
        steps
    }
}

/// Changes of the machine, each with the strategies that need it.
fn pending(experiment: &Experiment, heading: &ExperimentInfo, strategies: &[StrategyReport]) -> Vec<NextStep> {
    let mut causes = Causes::default();
    for strategy in strategies {
        let Some(Outcome::Pending { changes }) = &strategy.result else { continue };
        changes.iter().for_each(|change| causes.add(change, &strategy.name));
    }
    let by_hand = |cause: &str, name: &str| {
        let needs = experiment.strategy(name).map_or(&[][..], |strategy| &strategy.needs);
        needs.iter().any(|need| matches!(need, Requirement::Manual { change } if change == cause))
    };
    causes.steps(heading, |cause, names| {
        let done = names.iter().find(|name| by_hand(cause, name));
        let done = done.map(|name| format!(" --done {}", text::shell(name))).unwrap_or_default();
        let what = Sentence::of("For ", &[]).then(Sentence::list(names)).then(Sentence::of(": {}", &[Text(cause)]));
        NextStep { what, commands: vec![format!("roci lab resume {}{done}", heading.id)] }
    })
}

fn blocked(heading: &ExperimentInfo, strategies: &[StrategyReport]) -> Vec<NextStep> {
    let mut causes = Causes::default();
    for strategy in strategies {
        if let Some(Outcome::Blocked { why, .. }) = &strategy.result {
            causes.add(why, &strategy.name);
        }
    }
    causes.steps(heading, |cause, names| {
        let what = Sentence::list(names).then(Sentence::of(" could not be started: {}", &[Text(cause)]));
        NextStep { what, commands: vec![format!("roci lab resume {}", heading.id)] }
    })
}

/// Metrics with too few runs to compare.
fn noise(strategies: &[StrategyReport], metrics: &[MetricReport]) -> Option<NextStep> {
    let few = |strategy: &&StrategyReport| {
        let mut series = metrics.iter().filter_map(|metric| strategy.metrics.get(&metric.name));
        strategy.passed() && series.any(|series| series.noise.is_none())
    };
    let names: Vec<_> = strategies.iter().filter(few).map(|strategy| strategy.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let start = Sentence::of("Too few runs to measure the noise: ", &[]).then(Sentence::list(&names));
    Some(NextStep {
        what: start.then(Sentence::of(". Set {} in the experiment to measure it.", &[Name("repeats = 5")])),
        commands: Vec::new(),
    })
}
