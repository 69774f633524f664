//! Subcommands that show experiments, runs and plans.

use std::collections::BTreeSet;
use std::io::Write;

use roci_doctor::Api;
use serde::Serialize;

use crate::engine;
use crate::error::LabError;
use crate::executor::Stream;
use crate::experiment::{Experiment, Strategy, builtin};
use crate::message::count;
use crate::outcome::{Outcome, Stack};
use crate::store::{Event, ExperimentRow, RunRow, RunState, Store};

use super::{CommandOutcome, print_json};

#[derive(Serialize)]
struct JsonDocument<T> {
    schema: &'static str,
    version: u32,
    #[serde(flatten)]
    content: T,
}

fn listed<T>(schema: &'static str, content: T) -> JsonDocument<T> {
    JsonDocument { schema, version: 1, content }
}

#[derive(Serialize)]
struct Experiments {
    experiments: Vec<ExperimentEntry>,
}

#[derive(Serialize)]
struct ExperimentEntry {
    id: i64,
    name: String,
    created: i64,
    source: String,
    done: u64,
    open: u64,
}

fn entry(row: &ExperimentRow) -> ExperimentEntry {
    let ExperimentRow { id, name, created, source, done, open, .. } = row.clone();
    ExperimentEntry { id, name, created, source, done, open }
}

pub(super) fn list(store: &Store, json: bool, out: &mut dyn Write) -> Result<CommandOutcome, LabError> {
    let rows = store.experiments()?;
    if json {
        let experiments = rows.iter().map(entry).collect();
        print_json(out, &listed("roci.lab.list", Experiments { experiments }))?;
        return Ok(CommandOutcome::Fine);
    }
    if rows.is_empty() {
        writeln!(out, "no experiments yet: `roci lab new --list` lists the built-in ones")?;
    }
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    for row in rows {
        let open = if row.open > 0 { format!(", {} to do", row.open) } else { String::new() };
        writeln!(out, "{:>5}  {:<width$}  {} done{open}  ({})", row.id, row.name, row.done, row.source)?;
    }
    Ok(CommandOutcome::Fine)
}

#[derive(Serialize)]
struct Runs {
    experiment: ExperimentEntry,
    runs: Vec<RunEntry>,
}

#[derive(Serialize)]
struct RunEntry {
    id: i64,
    strategy: String,
    repeat: u32,
    state: &'static str,
    #[serde(flatten)]
    outcome: Option<Outcome>,
    started: Option<i64>,
    ended: Option<i64>,
    executor: String,
    attempts: u32,
}

fn run_entry(run: &RunRow) -> RunEntry {
    let RunRow { id, strategy, repeat, outcome, started, ended, executor, attempts, .. } = run.clone();
    RunEntry { id, strategy, repeat, state: state(run), outcome, started, ended, executor, attempts }
}

fn state(run: &RunRow) -> &'static str {
    match run.state {
        RunState::Planned => "planned",
        RunState::Running => "running",
        RunState::Done => "done",
    }
}

pub(super) fn experiment(
    store: &Store,
    which: &str,
    json: bool,
    out: &mut dyn Write,
) -> Result<CommandOutcome, LabError> {
    let row = store.experiment(which)?;
    let runs = store.runs(row.id)?;
    if json {
        let content = Runs { experiment: entry(&row), runs: runs.iter().map(run_entry).collect() };
        print_json(out, &listed("roci.lab.show", content))?;
        return Ok(CommandOutcome::Fine);
    }
    writeln!(out, "experiment {} ({}): {} finished, {} pending", row.id, row.name, row.done, row.open)?;
    let width = runs.iter().map(|run| run.strategy.chars().count()).max().unwrap_or(0);
    // Maximum number of equal lines that are printed one by one.
    const FEW: usize = 3;
    for alike in runs.chunk_by(never_for_the_same_reason) {
        let (shown, more) = alike.split_at(if alike.len() > FEW { 1 } else { alike.len() });
        for run in shown {
            let (word, detail) = match &run.outcome {
                Some(outcome) => (outcome.word(), outcome.detail()),
                None => (state(run), String::new()),
            };
            let line = format!("{:>6}  {:<width$} {:>3}  {word:<8} {detail}", run.id, run.strategy, run.repeat);
            writeln!(out, "{}", line.trim_end())?;
        }
        if let Some(last) = more.last() {
            writeln!(
                out,
                "        and {} more for the same reason, up to run {} ({})",
                more.len(),
                last.id,
                last.strategy
            )?;
        }
    }
    Ok(CommandOutcome::Fine)
}

/// Whether neither run was started, for the same reason.
fn never_for_the_same_reason(one: &RunRow, other: &RunRow) -> bool {
    one.outcome.as_ref().is_some_and(|outcome| !outcome.ran()) && one.outcome == other.outcome
}

#[derive(Serialize)]
struct RunDetails {
    run: RunEntry,
    events: Vec<EventEntry>,
    metrics: Vec<MetricEntry>,
    output: Vec<OutputEntry>,
    kernel_lines: Vec<KernelLogEntry>,
}

#[derive(Serialize)]
struct EventEntry {
    at_ms: i64,
    kind: &'static str,
    text: String,
}

#[derive(Serialize)]
struct MetricEntry {
    name: String,
    value: f64,
    unit: String,
}

#[derive(Serialize)]
struct OutputEntry {
    at_ms: i64,
    stream: &'static str,
    text: String,
    omitted_bytes: u64,
}

#[derive(Serialize)]
struct KernelLogEntry {
    line: String,
    finding: Option<String>,
}

/// Shows all details of a run.
pub(super) fn run(store: &Store, id: i64, json: bool, out: &mut dyn Write) -> Result<CommandOutcome, LabError> {
    let row = store.run(id)?;
    let (events, metrics) = (store.events(id)?, store.metrics(id)?);
    let (output, kernel_lines) = (store.output(id)?, store.kernel_lines(id)?);
    if json {
        let event = |Event { at, kind, text }: Event| EventEntry { at_ms: at, kind: kind.name(), text };
        let content = RunDetails {
            run: run_entry(&row),
            events: events.into_iter().map(event).collect(),
            metrics: metrics
                .into_iter()
                .map(|one| MetricEntry { name: one.name, value: one.value, unit: one.unit })
                .collect(),
            output: (output.into_iter())
                .map(|part| OutputEntry {
                    at_ms: part.at,
                    stream: part.stream.name(),
                    text: String::from_utf8_lossy(&part.bytes).into_owned(),
                    omitted_bytes: part.omitted,
                })
                .collect(),
            kernel_lines: kernel_lines
                .into_iter()
                .map(|one| KernelLogEntry { line: one.line, finding: one.finding })
                .collect(),
        };
        print_json(out, &listed("roci.lab.show.run", content))?;
        return Ok(CommandOutcome::Fine);
    }
    let what = row.outcome.as_ref().map_or_else(|| state(&row).to_owned(), ToString::to_string);
    writeln!(out, "run {id}: {} #{} on {}: {what}", row.strategy, row.repeat, row.executor)?;
    for metric in metrics {
        writeln!(out, "  {} {} {}", metric.name, metric.value, metric.unit)?;
    }
    for event in events {
        writeln!(out, "  {:>9.3} s  {:<8}  {}", event.at as f64 / 1000.0, event.kind.name(), event.text)?;
    }
    for stack in stacks(row.outcome.as_ref()) {
        let Stack { process, thread, name, state, source, frames } = stack;
        writeln!(out, "thread {thread} of process {process} ({name}, state {state}, by {source}):")?;
        for frame in frames {
            writeln!(out, "    {frame}")?;
        }
    }
    if !kernel_lines.is_empty() {
        writeln!(out, "kernel log during the run:")?;
    }
    for line in kernel_lines {
        writeln!(out, "    {}", line.line)?;
        if let Some(finding) = line.finding {
            writeln!(out, "      -> {finding}")?;
        }
    }
    if !output.is_empty() {
        writeln!(out, "output:")?;
    }
    for part in output {
        let mark = if part.stream == Stream::Err { '!' } else { ' ' };
        for line in String::from_utf8_lossy(&part.bytes).lines() {
            writeln!(out, "{:>9.3}{mark} {}", part.at as f64 / 1000.0, crate::output_parser::shown(line))?;
        }
        if part.omitted > 0 {
            writeln!(out, "          … {} bytes omitted …", part.omitted)?;
        }
    }
    Ok(CommandOutcome::Fine)
}

fn stacks(outcome: Option<&Outcome>) -> &[Stack] {
    match outcome {
        Some(Outcome::Hang { stack, .. }) => stack,
        Some(Outcome::Partial { end: Some(end), .. }) => stacks(Some(end)),
        _ => &[],
    }
}

#[derive(Serialize)]
struct ExperimentPlan {
    name: String,
    title: String,
    targets: Vec<String>,
    runs: usize,
    strategies: Vec<StrategyPlan>,
    /// Settings without effect.
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct StrategyPlan {
    name: String,
    changes: String,
    command: Vec<String>,
    executor: &'static str,
    repeats: u32,
    /// Compute APIs that it uses; null if not declared.
    uses: Option<BTreeSet<Api>>,
    /// The outcome without a start: BLOCKED by the doctor's rules.
    #[serde(flatten)]
    outcome: Option<Outcome>,
}

/// Shows what an experiment would run. `blocked` returns the outcome of a strategy that would not
/// start.
pub(super) fn plan(
    experiment: &Experiment,
    warnings: &[String],
    blocked: &mut dyn FnMut(&Strategy) -> Option<Outcome>,
    json: bool,
    out: &mut dyn Write,
) -> Result<CommandOutcome, LabError> {
    let runs = engine::plan(experiment).len();
    let in_order = experiment.order().into_iter().map(|at| &experiment.strategies[at]);
    if json {
        let strategies = in_order.map(|strategy| StrategyPlan {
            name: strategy.name.clone(),
            changes: strategy.changes.clone(),
            command: strategy.command.clone(),
            executor: strategy.executor.kind.name(),
            repeats: strategy.repeats,
            uses: strategy.uses.clone(),
            outcome: blocked(strategy),
        });
        let (strategies, warnings) = (strategies.collect(), warnings.to_vec());
        let Experiment { name, title, targets, .. } = experiment.clone();
        let content = ExperimentPlan { name, title, targets, runs, strategies, warnings };
        print_json(out, &listed("roci.lab.check", content))?;
        return Ok(CommandOutcome::Fine);
    }
    writeln!(
        out,
        "{}: {} ({}, {})",
        experiment.name,
        experiment.title,
        count(experiment.strategies.len(), "strategy", "strategies"),
        count(runs, "run", "runs")
    )?;
    let mut reasons = BTreeSet::new();
    for strategy in in_order {
        let times = if strategy.repeats > 1 { format!(" x{}", strategy.repeats) } else { String::new() };
        let line = format!("  {}{times}: {}", strategy.name, strategy.changes);
        let line = line.trim_end().trim_end_matches(':');
        match blocked(strategy) {
            Some(outcome) => {
                writeln!(out, "{line} ({} by {})", outcome.word(), outcome.rules().join(", "))?;
                reasons.insert(outcome.to_string());
            }
            None => writeln!(out, "{line}")?,
        }
    }
    for reason in reasons {
        writeln!(out, "{reason}")?;
    }
    Ok(CommandOutcome::Fine)
}

#[derive(Serialize)]
struct BuiltInNames {
    experiments: Vec<&'static str>,
    workloads: Vec<&'static str>,
}

/// Lists the built-in experiments.
pub(super) fn builtins(json: bool, out: &mut dyn Write) -> Result<CommandOutcome, LabError> {
    let names = |of: &[builtin::BuiltIn]| of.iter().map(|file| file.name).collect::<Vec<_>>();
    let content = BuiltInNames { experiments: names(builtin::EXPERIMENTS), workloads: names(builtin::WORKLOADS) };
    if json {
        print_json(out, &listed("roci.lab.ready", content))?;
        return Ok(CommandOutcome::Fine);
    }
    writeln!(out, "experiments: {}", content.experiments.join(", "))?;
    writeln!(out, "workloads: {}", content.workloads.join(", "))?;
    Ok(CommandOutcome::Fine)
}
