//! Builds a report from the store with a constant number of queries.

use std::collections::{BTreeMap, HashMap};

use crate::error::LabError;
use crate::experiment::{ExecutorKind, Experiment, MetricDirection, Strategy};
use crate::message::count;
use crate::outcome::{Outcome, signal_name};
use crate::requirements::in_words;
use crate::store::{Event, EventKind, ExperimentRow, KernelLine, MetricValue, RunRow, Store};

use super::series::Series;
use super::{
    BaselineReport, ExperimentInfo, KernelReport, MetricReport, RULE, ReachedPhase, Report, SCHEMA, Status,
    StrategyReport, VERSION, changes, findings, next, recommend, text,
};

/// Maximum number of strategies whose output is read.
const MAX_TAILS: usize = 100;
/// Number of output lines shown in a report.
const TAIL_LINES: usize = 15;
/// Number of characters shown of each line.
const TAIL_WIDTH: usize = 300;
/// Number of kinds of kernel log lines shown per strategy.
const KERNEL_LINES: usize = 12;

impl Report {
    /// Loads the current report of an experiment by number or name; see [`Store::experiment`].
    ///
    /// # Errors
    /// If there is none, its text is from a newer roci, or the store fails.
    pub fn load(store: &Store, which: &str) -> Result<Self, LabError> {
        let row = store.experiment(which)?;
        let location = format!("the stored text of experiment {}", row.id);
        let experiment = Experiment::parse(&location, &row.toml, &row.variables)?;
        Self::read(store, &row, &experiment)
    }

    /// Builds the current report of an experiment.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn read(store: &Store, row: &ExperimentRow, experiment: &Experiment) -> Result<Self, LabError> {
        let runs = store.runs(row.id)?;
        let mut events = store.events_of_experiment(row.id)?;
        let mut figures = store.metrics_of_experiment(row.id)?;
        let mut kernel = store.kernel_lines_of_experiment(row.id)?;
        let metrics = metrics(experiment, &figures);

        let mut by_strategy: HashMap<&str, Vec<&RunRow>> = HashMap::new();
        for run in &runs {
            by_strategy.entry(&run.strategy).or_default().push(run);
        }
        let mut strategies = Vec::with_capacity(experiment.strategies.len());
        for strategy in &experiment.strategies {
            let mut report = settings(strategy);
            let runs = by_strategy.remove(strategy.name.as_str()).unwrap_or_default();
            fill(&mut report, experiment, &runs, &mut events, &mut figures, &mut kernel);
            strategies.push(report);
        }
        mark_same(&mut strategies);
        tails(store, &mut strategies)?;

        let open = strategies.iter().map(|strategy| strategy.open).sum();
        let experiment_heading = ExperimentInfo {
            id: row.id,
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            goal: experiment.goal.clone(),
            notes: experiment.notes.clone(),
            created: row.created,
            source: row.source.clone(),
            done: strategies.iter().map(StrategyReport::done).sum(),
            open,
        };
        let baseline = baseline(experiment, &strategies);
        let phases: Vec<_> = experiment.phases.iter().map(|phase| phase.name.clone()).collect();
        let changes = changes::against(baseline.as_ref(), &metrics, &strategies);
        let findings = findings::draw(&phases, baseline.as_ref(), &metrics, &strategies, &changes);
        let recommendation = recommend::choose(experiment, baseline.as_ref(), &metrics, &strategies);
        let next = next::steps(experiment, &experiment_heading, &strategies, &metrics);
        let status = status(baseline.as_ref(), &strategies, open);
        Ok(Self {
            schema: SCHEMA,
            version: VERSION,
            experiment: experiment_heading,
            status,
            baseline,
            metrics,
            phases,
            strategies,
            findings,
            changes,
            rule: RULE,
            recommendation,
            next,
        })
    }
}

/// The experiment's metrics, then additional ones of the runs: from imports, or from an older file.
fn metrics(experiment: &Experiment, figures: &BTreeMap<i64, Vec<MetricValue>>) -> Vec<MetricReport> {
    let mut metrics: Vec<_> = experiment
        .metrics
        .iter()
        .map(|metric| MetricReport {
            name: metric.name.clone(),
            unit: metric.unit.clone(),
            higher_is_better: metric.direction == MetricDirection::Higher,
        })
        .collect();
    for value in figures.values().flatten() {
        if !metrics.iter().any(|metric| metric.name == value.name) {
            metrics.push(MetricReport { name: value.name.clone(), unit: value.unit.clone(), higher_is_better: true });
        }
    }
    metrics
}

fn settings(strategy: &Strategy) -> StrategyReport {
    StrategyReport {
        name: strategy.name.clone(),
        hypothesis: strategy.hypothesis.clone(),
        // Settings that the executor does not use make no difference.
        image: strategy.image.clone().filter(|_| strategy.executor.kind != ExecutorKind::Local),
        changes: strategy.changes.clone(),
        needs: strategy.needs.iter().map(in_words).collect(),
        env: strategy.env.clone(),
        unset: strategy.unset.clone(),
        command: strategy.command.clone(),
        result: None,
        same_as: None,
        counts: BTreeMap::new(),
        open: 0,
        furthest: None,
        metrics: BTreeMap::new(),
        run: None,
        timeline: Vec::new(),
        seconds: None,
        kernel: Vec::new(),
        resets: 0,
        tail: String::new(),
    }
}

fn fill(
    report: &mut StrategyReport,
    experiment: &Experiment,
    runs: &[&RunRow],
    events: &mut BTreeMap<i64, Vec<Event>>,
    figures: &mut BTreeMap<i64, Vec<MetricValue>>,
    kernel: &mut BTreeMap<i64, Vec<KernelLine>>,
) {
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut tracks: HashMap<i64, Vec<ReachedPhase>> = HashMap::new();
    let mut lines = Vec::new();
    let mut furthest = None;
    for run in runs {
        let Some(outcome) = &run.outcome else {
            report.open += 1;
            continue;
        };
        *report.counts.entry(outcome.word()).or_default() += 1;
        lines.extend(kernel.remove(&run.id).unwrap_or_default());
        let mut track = Vec::new();
        for event in events.remove(&run.id).unwrap_or_default() {
            match event.kind {
                EventKind::Phase => track.push(ReachedPhase { at: event.at as f64 / 1e3, phase: event.text }),
                EventKind::Reset => report.resets += 1,
                _ => {}
            }
        }
        let reached = track.iter().map(|reached| reached.phase.as_str()).chain(outcome.phase());
        furthest = reached.filter_map(|phase| experiment.phase_index(phase)).max().max(furthest);
        tracks.insert(run.id, track);
        if counts_as_measured(outcome) {
            for figure in figures.remove(&run.id).unwrap_or_default() {
                values.entry(figure.name).or_default().push(figure.value);
            }
        }
    }
    report.furthest = furthest.map(|index| experiment.phases[index].name.clone());
    report.metrics = values.into_iter().filter_map(|(name, values)| Some((name, Series::of(values)?))).collect();
    report.kernel = alike(lines);
    if let Some(run) = representative(runs, &report.counts) {
        report.result = run.outcome.clone();
        report.run = Some(run.id);
        report.timeline = tracks.remove(&run.id).unwrap_or_default();
        report.seconds =
            run.started.zip(run.ended).map(|(started, ended)| ended.saturating_sub(started).max(0) as f64 / 1e3);
    }
}

/// Whether metrics of a run count: those of a killed or crashed run do not.
fn counts_as_measured(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Pass | Outcome::Partial { end: None, .. })
}

/// The representative run: the last one with the most frequent failure, or the last pass if nothing
/// failed.
fn representative<'a>(runs: &[&'a RunRow], counts: &BTreeMap<&'static str, usize>) -> Option<&'a RunRow> {
    let failures = counts.iter().filter(|(word, _)| **word != Outcome::Pass.word());
    let word = failures.max_by_key(|(_, count)| **count).map_or(Outcome::Pass.word(), |(word, _)| word);
    runs.iter().rev().find(|run| run.outcome.as_ref().is_some_and(|outcome| outcome.word() == word)).copied()
}

/// Merges lines that differ only in numbers; explained lines come first.
fn alike(lines: Vec<KernelLine>) -> Vec<KernelReport> {
    let mut kinds: Vec<KernelReport> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for KernelLine { line, finding } in lines {
        let next = kinds.len();
        match *places.entry(without_numbers(&line)).or_insert(next) {
            location if location < next => kinds[location].count += 1,
            _ => kinds.push(KernelReport { line, finding, count: 1 }),
        }
    }
    kinds.sort_by_key(|kind| kind.finding.is_none());
    kinds.truncate(KERNEL_LINES);
    kinds
}

pub(super) fn without_numbers(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    for word in line.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
        let (word, end) = match word.char_indices().next_back() {
            Some((at, last)) if !last.is_ascii_alphanumeric() => (&word[..at], &word[at..]),
            _ => (word, ""),
        };
        text.push_str(if word.contains(|letter: char| letter.is_ascii_digit()) { "#" } else { word });
        text.push_str(end);
    }
    text
}

/// Marks strategies that failed like an earlier one.
fn mark_same(strategies: &mut [StrategyReport]) {
    let mut first: HashMap<String, String> = HashMap::new();
    for strategy in strategies {
        let Some(way) = strategy.result.as_ref().and_then(failure_kind) else { continue };
        match first.get(&way) {
            Some(name) => strategy.same_as = Some(name.clone()),
            None => drop(first.insert(way, strategy.name.clone())),
        }
    }
}

/// A key that equal failures share; `None` if it is not a failure of a program.
pub(super) fn failure_kind(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Partial { end: Some(end), .. } => failure_kind(end),
        Outcome::Partial { phase, why, end: None } => Some(format!("partial {phase:?} {why}")),
        Outcome::Hang { phase, .. } => Some(format!("hang {phase:?}")),
        Outcome::Crash { phase, signal, code, .. } => Some(format!("crash {phase:?} {signal:?} {code:?}")),
        Outcome::Wrong { phase, .. } => Some(format!("wrong {phase:?}")),
        _ => None,
    }
}

/// How a program ended, without how that was detected: `hung at graph_reserve`.
pub(super) fn ending(outcome: &Outcome) -> String {
    let at = |phase: &Option<String>| phase.as_ref().map(|phase| format!(" at {phase}")).unwrap_or_default();
    match outcome {
        Outcome::Partial { end: Some(end), .. } => ending(end),
        Outcome::Hang { phase, .. } => {
            format!("hung{}", if phase.is_some() { at(phase) } else { " before any phase".into() })
        }
        Outcome::Crash { phase, signal, code, .. } => {
            let how = match (signal, code) {
                (Some(signal), _) => signal_name(*signal),
                (None, Some(code)) => format!("exit code {code}"),
                (None, None) => "it went away".to_owned(),
            };
            format!("crashed{} ({how})", at(phase))
        }
        Outcome::Wrong { .. } => "wrong result".to_owned(),
        Outcome::Pass => "passed".to_owned(),
        other => other.detail(),
    }
}

/// The last output lines of failed runs.
fn tails(store: &Store, strategies: &mut [StrategyReport]) -> Result<(), LabError> {
    let failed = |strategy: &&mut StrategyReport| {
        strategy.result.as_ref().is_some_and(|result| result.ran() && *result != Outcome::Pass)
    };
    for strategy in strategies.iter_mut().filter(failed).take(MAX_TAILS) {
        let Some(run) = strategy.run else { continue };
        let bytes = store.output_tail(run)?;
        let all = text::block(&String::from_utf8_lossy(&bytes));
        let mut lines: Vec<_> =
            all.lines().rev().take(TAIL_LINES).map(|line| text::shortened(line, TAIL_WIDTH)).collect();
        lines.reverse();
        strategy.tail = lines.join("\n");
    }
    Ok(())
}

fn baseline(experiment: &Experiment, strategies: &[StrategyReport]) -> Option<BaselineReport> {
    let baseline = experiment.baseline.as_ref()?;
    // A value given in the experiment counts as exact: its measurement is unknown.
    let exact = |value: f64| Some(Series { noise: Some(0.0), ..Series::of([value])? });
    let values = baseline.values.iter().filter_map(|(name, &value)| Some((name.clone(), exact(value)?)));
    let mut metrics: BTreeMap<_, _> = values.collect();
    if let Some(name) = &baseline.strategy {
        let measured =
            strategies.iter().find(|strategy| strategy.name == *name).map(|strategy| strategy.metrics.clone());
        metrics.extend(measured.unwrap_or_default());
    }
    Some(BaselineReport { label: baseline.label.clone(), strategy: baseline.strategy.clone(), metrics })
}

fn status(baseline: Option<&BaselineReport>, strategies: &[StrategyReport], open: usize) -> Status {
    let reference = baseline.and_then(|baseline| baseline.strategy.as_ref());
    let reference = reference.and_then(|name| strategies.iter().find(|strategy| strategy.name == *name));
    let is_reference = |strategy: &&StrategyReport| reference.is_some_and(|reference| reference.name == strategy.name);
    let others: Vec<_> = strategies.iter().filter(|strategy| !is_reference(strategy)).collect();
    // An experiment with only a baseline tries the baseline.
    let (tried, reference) = if others.is_empty() { (strategies.iter().collect(), None) } else { (others, reference) };
    let with = |matches: fn(&Outcome) -> bool| {
        tried.iter().filter(|strategy| strategy.result.as_ref().is_some_and(matches)).count()
    };
    let (passed, ran) = (with(|outcome| *outcome == Outcome::Pass), with(Outcome::ran));
    let pending = with(|outcome| matches!(outcome, Outcome::Pending { .. }));
    let blocked = with(|outcome| matches!(outcome, Outcome::Blocked { .. }));
    let skipped = with(|outcome| matches!(outcome, Outcome::Skipped { .. }));
    let other = if reference.is_some() { "other " } else { "" };
    let many = |number: usize| count(number, &format!("{other}strategy"), &format!("{other}strategies"));
    let (state, why) = match (passed, ran) {
        (1.., _) => ("WORKS", format!("{passed} of {} pass{}", many(tried.len()), if passed == 1 { "es" } else { "" })),
        (0, 1) => ("BLOCKED", format!("the one {other}strategy that ran does not pass")),
        (0, 1..) => ("BLOCKED", format!("none of the {} that ran passes", many(ran))),
        (0, 0) if blocked + pending + skipped == 0 => ("UNFINISHED", format!("no {other}strategy has run yet")),
        (0, 0) if blocked > 0 && blocked >= pending => ("BLOCKED", format!("no {other}strategy could be run")),
        (0, 0) if pending > 0 => ("PENDING", format!("the machine must be changed before any {other}strategy can run")),
        (0, 0) => ("BLOCKED", format!("every {other}strategy is skipped")),
    };
    let mut parts = vec![why];
    let mut part = |number: usize, text: String| parts.extend((number > 0).then_some(text));
    part(blocked, format!("{blocked} could not be started"));
    part(pending, format!("{pending} need{} a change of the machine", if pending == 1 { "s" } else { "" }));
    part(skipped, format!("{skipped} {} skipped", if skipped == 1 { "was" } else { "were" }));
    part(open, format!("{} still to be done", count(open, "run is", "runs are")));
    if let Some(reference) = reference {
        parts.push(match &reference.result {
            None => format!("the baseline {} has not run yet", reference.name),
            Some(Outcome::Pass) => format!("the baseline {} passes", reference.name),
            Some(result) => format!("the baseline {} is {}", reference.name, result.word()),
        });
    }
    Status { state, why: parts.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_in_numbers_are_one() {
        let line =
            |line: &str, finding: Option<&str>| KernelLine { line: line.into(), finding: finding.map(str::to_owned) };
        let kinds = alike(vec![
            line("[ 12.5] something else", None),
            line("[ 13.0] amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout, signaled seq=1", Some("a hang")),
            line("[ 14.0] amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout, signaled seq=7ab", Some("a hang")),
        ]);
        assert_eq!(kinds.len(), 2);
        assert_eq!((kinds[0].count, kinds[0].finding.as_deref(), kinds[1].count), (2, Some("a hang"), 1));
        assert_eq!(without_numbers("é1é x=0x7f ü"), "é#é x=# ü");
    }

    #[test]
    fn one_failure_among_passes_is_reported() {
        let run = |id: i64, outcome: Outcome| RunRow {
            id,
            experiment: 1,
            strategy: "s".into(),
            repeat: 1,
            state: crate::store::RunState::Done,
            outcome: Some(outcome),
            started: None,
            ended: None,
            executor: "local".into(),
            mark: String::new(),
            handle: String::new(),
            attempts: 1,
        };
        let hang = Outcome::Hang { phase: None, why: "x".into(), stack: vec![], survivors: vec![] };
        let rows = [run(1, Outcome::Pass), run(2, hang), run(3, Outcome::Pass)];
        let rows: Vec<_> = rows.iter().collect();
        let counts = BTreeMap::from([("PASS", 2), ("HANG", 1)]);
        assert_eq!(representative(&rows, &counts).expect("a run").id, 2);
        assert_eq!(representative(&rows[2..], &BTreeMap::from([("PASS", 1)])).expect("a run").id, 3);
        assert!(representative(&[], &BTreeMap::new()).is_none());
    }
}
