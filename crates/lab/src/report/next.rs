//! What to do after this.

use serde::Serialize;

use crate::experiment::{Experiment, Need};
use crate::outcome::Outcome;
use crate::words::count;

use super::gather::without_numbers;
use super::sentence::Sentence;
use super::sentence::Word::{Name, Said};
use super::{Heading, MetricReport, StrategyReport, text};

/// Something to do.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// What, and why.
    pub what: Sentence,
    /// Commands that do it, one a line; empty where no command does.
    pub commands: Vec<String>,
}

/// Steps of a kind that are listed one by one.
const MOST: usize = 12;

/// All steps, in the order in which they make sense.
pub(super) fn steps(
    experiment: &Experiment,
    heading: &Heading,
    strategies: &[StrategyReport],
    metrics: &[MetricReport],
) -> Vec<Step> {
    let mut steps = Vec::new();
    if heading.open > 0 {
        let runs = count(heading.open, "run has", "runs have");
        let what = Sentence::of(&format!("{runs} no result yet: go on where it was left."), &[]);
        steps.push(Step { what, commands: vec![format!("roci lab resume {}", heading.id)] });
    }
    steps.extend(pending(experiment, heading, strategies));
    steps.extend(blocked(heading, strategies));
    steps.extend(noise(strategies, metrics));
    steps
}

/// Causes, each with the strategies that it holds up.
#[derive(Default)]
struct Causes<'a>(Vec<(String, &'a str, Vec<&'a str>)>);

impl<'a> Causes<'a> {
    /// Those that differ in numbers alone are one: ids of containers, marks of runs.
    fn add(&mut self, cause: &'a str, name: &'a str) {
        let kind = without_numbers(cause);
        match self.0.iter_mut().find(|(known, ..)| *known == kind) {
            Some((.., names)) => names.push(name),
            None => self.0.push((kind, cause, vec![name])),
        }
    }

    /// A step each, and how many more there are.
    fn steps(&self, heading: &Heading, step: impl Fn(&'a str, &[&'a str]) -> Step) -> Vec<Step> {
        let mut steps: Vec<_> = self.0.iter().take(MOST).map(|(_, cause, names)| step(cause, names)).collect();
        if self.0.len() > MOST {
            let more = count(self.0.len() - MOST, "more cause", "more causes");
            let what = Sentence::of(&format!("{more}, which the runs tell."), &[]);
            steps.push(Step { what, commands: vec![format!("roci lab show {}", heading.id)] });
        }
        steps
    }
}

/// Changes of the machine, each with the strategies that wait for it.
fn pending(experiment: &Experiment, heading: &Heading, strategies: &[StrategyReport]) -> Vec<Step> {
    let mut causes = Causes::default();
    for strategy in strategies {
        let Some(Outcome::Pending { changes }) = &strategy.result else { continue };
        changes.iter().for_each(|change| causes.add(change, &strategy.name));
    }
    let by_hand = |cause: &str, name: &str| {
        let needs = experiment.strategy(name).map_or(&[][..], |strategy| &strategy.needs);
        needs.iter().any(|need| matches!(need, Need::Manual { change } if change == cause))
    };
    causes.steps(heading, |cause, names| {
        let done = names.iter().find(|name| by_hand(cause, name));
        let done = done.map(|name| format!(" --done {}", text::shell(name))).unwrap_or_default();
        let what = Sentence::of("For ", &[]).then(Sentence::list(names)).then(Sentence::of(": {}", &[Said(cause)]));
        Step { what, commands: vec![format!("roci lab resume {}{done}", heading.id)] }
    })
}

fn blocked(heading: &Heading, strategies: &[StrategyReport]) -> Vec<Step> {
    let mut causes = Causes::default();
    for strategy in strategies {
        if let Some(Outcome::Blocked { why, .. }) = &strategy.result {
            causes.add(why, &strategy.name);
        }
    }
    causes.steps(heading, |cause, names| {
        let what = Sentence::list(names).then(Sentence::of(" could not be started: {}", &[Said(cause)]));
        Step { what, commands: vec![format!("roci lab resume {}", heading.id)] }
    })
}

/// Figures of fewer runs than have a noise cannot be compared.
fn noise(strategies: &[StrategyReport], metrics: &[MetricReport]) -> Option<Step> {
    let few = |strategy: &&StrategyReport| {
        let mut series = metrics.iter().filter_map(|metric| strategy.metrics.get(&metric.name));
        strategy.passed() && series.any(|series| series.noise.is_none())
    };
    let names: Vec<_> = strategies.iter().filter(few).map(|strategy| strategy.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let start = Sentence::of("Too few runs to tell a change from noise: ", &[]).then(Sentence::list(&names));
    Some(Step {
        what: start
            .then(Sentence::of(". With {} in the experiment there is a noise to trust.", &[Name("repeats = 5")])),
        commands: Vec::new(),
    })
}
