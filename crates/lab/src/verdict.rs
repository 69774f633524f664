//! What came of a run: a pure function of what was seen, how it ended and what was wanted.

use std::collections::BTreeMap;

use crate::executor::Exit;
use crate::experiment::{Better, Experiment, Wanted};
use crate::outcome::{Outcome, Stack, Survivor};
use crate::phases::Seen;
use crate::store::MetricValue;
use crate::watch::Alarm;

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// By itself.
    Exited(Exit),
    /// The watchdog ended it.
    Ended {
        /// Why.
        alarm: Alarm,
        /// What its threads waited for.
        stack: Vec<Stack>,
    },
    /// Nobody knows.
    Gone(String),
}

/// What is known when a run has ended.
#[derive(Clone, Debug)]
pub struct Evidence<'a> {
    /// How it ended.
    pub end: End,
    /// Processes that could not be ended.
    pub survivors: Vec<Survivor>,
    /// What its output told.
    pub seen: &'a Seen,
    /// A line of the kernel's log that tells of a fault of the GPU or of a process of this run.
    pub kernel_fault: Option<String>,
    /// Figures to compare with, by metric; nothing for a run of the baseline itself.
    pub baseline: Option<&'a BTreeMap<String, f64>>,
}

/// What came of it.
pub fn verdict(experiment: &Experiment, evidence: &Evidence<'_>) -> Outcome {
    let phase = evidence.seen.phase(experiment);
    let failure = failure(experiment, evidence, phase.clone());
    if let Some(failure) = failure {
        return match past_progress(experiment, evidence.seen) {
            Some(mark) => {
                let why = format!("past {mark}, {}", short(&failure));
                Outcome::Partial { phase, why, end: Some(Box::new(failure)) }
            }
            None => failure,
        };
    }
    if let Some(line) = &evidence.seen.wrong {
        return Outcome::Wrong { phase, why: line.clone() };
    }
    let silent = experiment.success.right.iter().zip(&evidence.seen.right).find(|(_, seen)| !**seen);
    if let Some((pattern, _)) = silent {
        return Outcome::Wrong { phase, why: format!("no line matches `{}`", pattern.as_str()) };
    }
    match missing(experiment, evidence) {
        Some(why) => Outcome::Partial { phase, why, end: None },
        None => Outcome::Pass,
    }
}

/// How it failed, if it did.
fn failure(experiment: &Experiment, evidence: &Evidence<'_>, phase: Option<String>) -> Option<Outcome> {
    let survivors = evidence.survivors.clone();
    let fault = || evidence.seen.fault.clone().or_else(|| evidence.kernel_fault.clone());
    match &evidence.end {
        End::Ended { alarm: alarm @ Alarm::Memory(..), .. } => {
            Some(Outcome::Crash { phase, signal: Some(9), code: None, fault: Some(alarm.describe()) })
        }
        End::Ended { alarm, stack } => {
            Some(Outcome::Hang { phase, why: alarm.describe(), stack: stack.clone(), survivors })
        }
        End::Gone(why) => Some(Outcome::Crash { phase, signal: None, code: None, fault: Some(why.clone()) }),
        End::Exited(exit) => {
            let well = exit.signal.is_none()
                && !exit.out_of_memory
                && exit.code.is_some_and(|code| experiment.success.exit.contains(&code));
            if well && evidence.seen.fault.is_none() {
                return None;
            }
            let out_of_memory = exit.out_of_memory.then(|| "ended for want of memory".to_owned());
            let last = || (!evidence.seen.last_line.is_empty()).then(|| evidence.seen.last_line.clone());
            let fault = out_of_memory.or_else(fault).or_else(|| exit.note.clone()).or_else(last);
            Some(Outcome::Crash { phase, signal: exit.signal, code: exit.code, fault })
        }
    }
}

/// The phase that counts as progress, if the run got past it.
fn past_progress<'a>(experiment: &'a Experiment, seen: &Seen) -> Option<&'a str> {
    let name = experiment.success.partial.as_deref()?;
    let mark = experiment.phase_index(name)?;
    (seen.furthest? > mark).then_some(name)
}

/// How it ended, in few words.
fn short(failure: &Outcome) -> String {
    let at = failure.phase().map(|phase| format!(" at {phase}")).unwrap_or_default();
    match failure {
        Outcome::Hang { .. } => format!("hung{at}"),
        Outcome::Crash { signal, code, .. } => {
            let how = match (signal, code) {
                (Some(signal), _) => format!(" ({})", crate::outcome::signal_name(*signal)),
                (None, Some(code)) => format!(" (exit code {code})"),
                (None, None) => String::new(),
            };
            format!("crashed{at}{how}")
        }
        other => other.detail(),
    }
}

/// What was wanted and did not come, of a run that ended well.
fn missing(experiment: &Experiment, evidence: &Evidence<'_>) -> Option<String> {
    if let Some(wanted) = &experiment.success.phase {
        let reached = evidence.seen.phases.iter().any(|event| event.text == *wanted);
        if !reached {
            return Some(format!("ended without reaching {wanted}"));
        }
    }
    let metrics = evidence.seen.metrics(experiment);
    experiment.success.metrics.iter().find_map(|wanted| shortfall(experiment, wanted, &metrics, evidence.baseline))
}

fn shortfall(
    experiment: &Experiment,
    wanted: &Wanted,
    metrics: &[MetricValue],
    baseline: Option<&BTreeMap<String, f64>>,
) -> Option<String> {
    let name = &wanted.metric;
    let Some(MetricValue { value, unit, .. }) = metrics.iter().find(|metric| metric.name == *name) else {
        return Some(format!("ended without a figure for {name}"));
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    if let Some(min) = wanted.min.filter(|min| value < min) {
        return Some(format!("{name} is {value}{unit}, at least {min} is wanted"));
    }
    if let Some(max) = wanted.max.filter(|max| value > max) {
        return Some(format!("{name} is {value}{unit}, at most {max} is wanted"));
    }
    let (ratio, baseline) = wanted.ratio.zip(baseline)?;
    let Some(base) = baseline.get(name).filter(|base| **base > 0.0) else {
        return Some(format!("{name} cannot be compared: the baseline has no figure for it"));
    };
    let higher = experiment.metrics.iter().any(|metric| metric.name == *name && metric.better == Better::Higher);
    let reached = if higher { value / base } else { base / value.max(f64::MIN_POSITIVE) };
    (reached < ratio).then(|| format!("{name} is {value}{unit}: {reached:.2} of the baseline, {ratio} is wanted"))
}
