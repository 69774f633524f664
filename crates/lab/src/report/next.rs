//! What to do after this.

use serde::Serialize;

use crate::outcome::Outcome;

use super::sentence::Sentence;
use super::sentence::Word::{Name, Said};
use super::{Heading, MetricReport, StrategyReport};

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
pub(super) fn steps(heading: &Heading, strategies: &[StrategyReport], metrics: &[MetricReport]) -> Vec<Step> {
    let mut steps = Vec::new();
    if heading.open > 0 {
        let runs = if heading.open == 1 { "1 run has".to_owned() } else { format!("{} runs have", heading.open) };
        let what = Sentence::of(&format!("{runs} no result yet: go on where it was left."), &[]);
        steps.push(Step { what, commands: vec![format!("roci lab resume {}", heading.id)] });
    }
    steps.extend(pending(heading, strategies));
    steps.extend(blocked(strategies));
    steps.extend(noise(strategies, metrics));
    steps
}

/// Changes of the machine, each with the strategies that wait for it.
fn pending(heading: &Heading, strategies: &[StrategyReport]) -> Vec<Step> {
    let mut changes: Vec<(&str, Vec<&str>)> = Vec::new();
    for strategy in strategies {
        let Some(Outcome::Pending { changes: wanted }) = &strategy.result else { continue };
        for change in wanted {
            match changes.iter_mut().find(|(known, _)| known == change) {
                Some((_, names)) => names.push(&strategy.name),
                None => changes.push((change, vec![&strategy.name])),
            }
        }
    }
    let step = |(change, names): &(&str, Vec<&str>)| {
        let start = Sentence::of("For ", &[]).then(Sentence::list(names));
        Step {
            what: start.then(Sentence::of(": {}", &[Said(change)])),
            commands: vec![format!("roci lab resume {}", heading.id)],
        }
    };
    changes.iter().take(MOST).map(step).collect()
}

fn blocked(strategies: &[StrategyReport]) -> Vec<Step> {
    let why = |strategy: &'_ StrategyReport| match &strategy.result {
        Some(Outcome::Blocked { why }) => {
            let what = Sentence::of("{} could not be started: {}", &[Name(&strategy.name), Said(why)]);
            Some(Step { what, commands: Vec::new() })
        }
        _ => None,
    };
    strategies.iter().filter_map(why).take(MOST).collect()
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
