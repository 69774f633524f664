//! Plans runs, executes them one after the other, records each, and continues where a killed
//! process stopped.

mod owner;
mod resume;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use roci_doctor::{Facts, Root, Snapshot};

use crate::error::LabError;
use crate::executor::{Executor, RunSpec, StartError};
use crate::experiment::{Baseline, ExecutorOptions, Experiment, RequiredResult, Requirement, Strategy};
use crate::guard::{MachineSnapshots, RuleGuard};
use crate::kernel_log::{Explainer, KernelLog};
use crate::outcome::Outcome;
use crate::progress_display::ProgressObserver;
use crate::requirements;
use crate::store::{Event, EventKind, Finished, NewExperiment, PlannedRun, RunRow, RunState, Store};

use owner::ProcessIdentity;
pub use resume::{ResumeOptions, unconfirmed_changes};
use run::{Context, WatchResult};

/// State in which an experiment was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Every run has a result.
    Complete,
    /// The user asked to stop; `resume` continues.
    Interrupted,
}

/// Opens the executor selected by the options.
pub type Opener = dyn Fn(&ExecutorOptions) -> Result<Box<dyn Executor>, StartError>;

/// Everything an engine needs besides the experiment.
pub struct EngineContext<'a> {
    /// Opens executors.
    pub open: &'a Opener,
    /// Source of kernel messages during runs.
    pub log: Box<dyn KernelLog>,
    /// Whether the user asked to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Receives progress reports.
    pub observer: &'a mut dyn ProgressObserver,
    /// Checks the doctor's rules.
    pub guard: RuleGuard,
    /// The snapshot given with `--facts`, if any.
    pub facts: Option<Snapshot>,
    /// Snapshot of this machine, if already taken.
    pub machine: Option<Snapshot>,
    /// Whether to assume that all needs are met.
    pub assume_needs: bool,
    /// Whether to take over an experiment from a process that may still run it.
    pub steal: bool,
}

impl std::fmt::Debug for EngineContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineContext")
            .field("assume_needs", &self.assume_needs)
            .field("steal", &self.steal)
            .finish_non_exhaustive()
    }
}

/// Executes the runs of one experiment.
pub struct Engine<'a, 's> {
    store: &'s mut Store,
    experiment: Experiment,
    id: i64,
    around: EngineContext<'a>,
    runs: Vec<RunRow>,
    explainer: Explainer,
    facts: Option<Facts>,
    /// Manual changes that were confirmed.
    confirmed: BTreeSet<String>,
    /// Kernel log line that reports a lost GPU.
    lost: Option<String>,
}

impl std::fmt::Debug for Engine<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("id", &self.id).field("runs", &self.runs.len()).finish_non_exhaustive()
    }
}

/// The runs of an experiment in execution order: each after those it depends on, the baseline as
/// early as possible.
pub fn plan(experiment: &Experiment) -> Vec<PlannedRun> {
    let order = experiment.order();
    let of = |strategy: &Strategy| {
        let executor = strategy.executor.kind.name().to_owned();
        let name = strategy.name.clone();
        (1..=strategy.repeats).map(move |repeat| PlannedRun {
            strategy: name.clone(),
            repeat,
            executor: executor.clone(),
        })
    };
    order.into_iter().flat_map(|at| of(&experiment.strategies[at])).collect()
}

/// A doctor snapshot of this machine.
pub fn this_machine() -> Snapshot {
    Snapshot::gather(&Root::system(), environment().into_iter())
}

/// Environment of this process.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// Creates an experiment with all runs planned and the machine recorded. Returns its number.
///
/// # Errors
/// Errors of the store.
pub fn create(store: &mut Store, experiment: &Experiment, snapshot: Option<&Snapshot>) -> Result<i64, LabError> {
    let json = snapshot.and_then(|snapshot| serde_json::to_string(snapshot).ok());
    let new = NewExperiment {
        name: &experiment.name,
        toml: &experiment.toml,
        variables: &experiment.variables,
        source: "run",
        snapshot: json.as_deref(),
    };
    store.create(&new, &plan(experiment))
}

/// Executes the remaining runs of an experiment. Terminates and repeats runs that another process
/// left unfinished.
///
/// # Errors
/// Another process is running the experiment, an error of the store, or an executor that cannot be
/// queried for leftover runs.
pub fn continue_experiment(store: &mut Store, id: i64, around: EngineContext<'_>) -> Result<Completion, LabError> {
    resume(store, id, ResumeOptions::default(), around)
}

/// Like [`continue_experiment`], after recording manual changes and changes of the file.
///
/// # Errors
/// Those of [`continue_experiment`], and an invalid request.
pub fn resume(
    store: &mut Store,
    id: i64,
    options: ResumeOptions<'_>,
    around: EngineContext<'_>,
) -> Result<Completion, LabError> {
    let row = store.experiment(&id.to_string())?;
    let own = ProcessIdentity::own().text();
    if let Some(owner) = row.owner.as_deref().filter(|owner| !around.steal && ProcessIdentity::may_live(owner)) {
        return Err(LabError::Busy { id, process: ProcessIdentity::describe(owner) });
    }
    if !store.own(id, row.owner.as_deref(), Some(&own))? {
        let row = store.experiment(&id.to_string())?;
        return Err(LabError::Busy {
            id,
            process: ProcessIdentity::describe(row.owner.as_deref().unwrap_or("another")),
        });
    }
    let result = options.apply(store, &row).and_then(|(experiment, differences)| {
        let mut runs = store.runs(id)?;
        // A changed file can insert new strategies before old ones.
        let order: Vec<&str> =
            experiment.order().into_iter().map(|at| experiment.strategies[at].name.as_str()).collect();
        runs.sort_by_key(|run| (order.iter().position(|name| *name == run.strategy), run.repeat));
        let confirmed = store.confirmed(id)?;
        let (explainer, facts, lost) = Default::default();
        let mut engine = Engine { store, experiment, id, around, runs, explainer, facts, confirmed, lost };
        differences.iter().for_each(|line| engine.around.observer.note(line));
        let result = engine.recover_runs().and_then(|()| engine.work());
        engine.around.observer.over();
        result
    });
    // Also after an error, so that the next process does not have to wait.
    store.own(id, Some(&own), None)?;
    result
}

impl Engine<'_, '_> {
    /// Terminates what a killed process left running, and plans those runs again.
    fn recover_runs(&mut self) -> Result<(), LabError> {
        for at in 0..self.runs.len() {
            if self.runs[at].state != RunState::Running {
                continue;
            }
            let run = self.runs[at].clone();
            let options = self.experiment.strategy(&run.strategy).map(|strategy| strategy.executor.clone());
            if !run.mark.is_empty() {
                let executor = (self.around.open)(&options.unwrap_or_default())?;
                let termination = executor.recover(&run.mark, &run.handle)?;
                if termination.terminated > 0 || !termination.survivors.is_empty() {
                    let text = format!("{}: terminated what a killed roci left running", run.strategy);
                    self.around.observer.note(&text);
                }
            }
            self.store.replan(run.id)?;
            self.runs[at].state = RunState::Planned;
        }
        Ok(())
    }

    fn work(&mut self) -> Result<Completion, LabError> {
        self.around.observer.begin(self.id, &self.experiment, &self.runs);
        for at in 0..self.runs.len() {
            if self.runs[at].state == RunState::Done {
                continue;
            }
            if (self.around.stop)() || self.one(at)? == Completion::Interrupted {
                return Ok(Completion::Interrupted);
            }
        }
        Ok(Completion::Complete)
    }

    /// Executes one run.
    fn one(&mut self, at: usize) -> Result<Completion, LabError> {
        let mark = new_mark();
        let run = self.runs[at].clone();
        if !self.store.begin(run.id, &mark)? {
            // Another process took over the experiment and will produce the result.
            return Err(LabError::Busy { id: self.id, process: "another".into() });
        }
        let strategy = self.experiment.strategy(&run.strategy).cloned();
        let finished = match strategy {
            None => Finished::bare(Outcome::blocked("the experiment no longer has this strategy")),
            Some(strategy) => match self.obstacle(&strategy)? {
                Some(outcome) => Finished::bare(outcome),
                None => match self.execute(&run, &strategy, &mark)? {
                    Some(finished) => finished,
                    None => {
                        self.store.replan(run.id)?;
                        return Ok(Completion::Interrupted);
                    }
                },
            },
        };
        if !self.store.finish(run.id, &finished)? {
            return Err(LabError::Busy { id: self.id, process: "another".into() });
        }
        let row = &mut self.runs[at];
        (row.state, row.outcome) = (RunState::Done, Some(finished.outcome.clone()));
        (row.started, row.ended) = (finished.started, Some(finished.ended));
        self.around.observer.done(row, &finished.metrics);
        Ok(Completion::Complete)
    }

    /// The outcome of a run that cannot be started.
    fn obstacle(&mut self, strategy: &Strategy) -> Result<Option<Outcome>, LabError> {
        if let Some(why) = &strategy.skip {
            return Ok(Some(Outcome::Skipped { why: why.clone() }));
        }
        let machines = MachineSnapshots { given: self.around.facts.as_ref(), here: &mut self.around.machine };
        if let Some(outcome) = self.around.guard.blocked(strategy, machines) {
            return Ok(Some(outcome));
        }
        for after in &strategy.after {
            if let Some(why) = self.unmet_dependency(&after.strategy, &after.result)? {
                return Ok(Some(Outcome::Skipped { why }));
            }
        }
        let here = strategy.executor.kind.is_here();
        if let (Some(line), true) = (&self.lost, here) {
            return Ok(Some(Outcome::blocked(format!("the GPU is lost until a reboot: {line}"))));
        }
        let done =
            |need: &Requirement| matches!(need, Requirement::Manual { change } if self.confirmed.contains(change));
        let needs: Vec<Requirement> = strategy.needs.iter().filter(|need| !done(need)).cloned().collect();
        if needs.is_empty() || self.around.assume_needs {
            return Ok(None);
        }
        if !here && self.around.facts.is_none() {
            let changes = vec![format!(
                "give the machine's snapshot with `--facts FILE` (`roci doctor --capture FILE` there), or `--assume-needs`: \
                 what {} nodes have cannot be seen from here",
                strategy.executor.kind.name()
            )];
            return Ok(Some(Outcome::Pending { changes }));
        }
        let facts = self.facts.get_or_insert_with(|| match &self.around.facts {
            Some(snapshot) => snapshot.facts(),
            None => self.around.machine.get_or_insert_with(this_machine).facts(),
        });
        let environment = |name: &str| {
            let own = || std::env::vars_os().find(|(known, _)| known == name).map(|(_, value)| value);
            strategy.env.get(name).cloned().or_else(|| own().map(|value| value.to_string_lossy().into_owned()))
        };
        let changes = requirements::changes(&needs, facts, &environment);
        Ok((!changes.is_empty()).then_some(Outcome::Pending { changes }))
    }

    /// Why another strategy did not get as far as required; `None` if it did.
    fn unmet_dependency(&self, name: &str, required: &RequiredResult) -> Result<Option<String>, LabError> {
        let of: Vec<&RunRow> = self.runs.iter().filter(|run| run.strategy == name).collect();
        let outcomes: Vec<&Outcome> = of.iter().filter_map(|run| run.outcome.as_ref()).collect();
        let ran = outcomes.iter().any(|outcome| outcome.ran());
        let word = outcomes.last().map_or("not done", |outcome| outcome.word());
        if !ran {
            return Ok(Some(format!("{name} is {word}")));
        }
        let passed = outcomes.iter().all(|outcome| **outcome == Outcome::Pass);
        let phases = || -> Result<Vec<usize>, LabError> {
            let mut reached = Vec::new();
            for run in &of {
                let events = self.store.events(run.id)?;
                let names = events.iter().filter(|event| event.kind == EventKind::Phase);
                reached.extend(names.filter_map(|event| self.experiment.phase_index(&event.text)));
            }
            Ok(reached)
        };
        Ok(match required {
            RequiredResult::Ended => None,
            RequiredResult::Passed => (!passed).then(|| format!("{name} is {word} but must pass")),
            RequiredResult::Failed => passed.then(|| format!("{name} passed")),
            RequiredResult::Phase(phase) => {
                let index = self.experiment.phase_index(phase);
                (!phases()?.into_iter().any(|at| Some(at) == index)).then(|| format!("{name} did not reach {phase}"))
            }
            RequiredResult::Past(phase) => {
                let index = self.experiment.phase_index(phase);
                (!phases()?.into_iter().any(|at| Some(at) > index)).then(|| format!("{name} did not get past {phase}"))
            }
        })
    }

    /// Starts and watches a run; `None` if the user asked to stop.
    fn execute(&mut self, run: &RunRow, strategy: &Strategy, mark: &str) -> Result<Option<Finished>, LabError> {
        let spec = RunSpec {
            mark: mark.to_owned(),
            command: strategy.command.clone(),
            env: strategy.env.clone(),
            unset: strategy.unset.clone(),
            directory: strategy.directory.clone(),
            image: strategy.image.clone(),
            limits: strategy.limits,
            options: strategy.executor.clone(),
        };
        let machines = MachineSnapshots { given: self.around.facts.as_ref(), here: &mut self.around.machine };
        let overridden = self.around.guard.overridden(strategy, machines);
        // Older lines do not belong to this run.
        self.around.log.new_lines();
        let blocked = |error: StartError| {
            let hint = error.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            Some(Finished::bare(Outcome::blocked(format!("{}{hint}", error.reason))))
        };
        let executor = match (self.around.open)(&strategy.executor) {
            Ok(executor) => executor,
            Err(error) => return Ok(blocked(error)),
        };
        let mut job = match executor.start(&spec) {
            Ok(job) => job,
            Err(error) => return Ok(blocked(error)),
        };
        // Before any write to disk, which can take longer than the program.
        let begun = Instant::now();
        self.store.set_handle(run.id, &job.handle())?;
        let baseline = self.baseline()?;
        let reference = self.experiment.baseline.as_ref().and_then(|baseline| baseline.strategy.as_ref());
        let is_baseline = reference == Some(&strategy.name);
        let (stop, observer) = (self.around.stop, &mut *self.around.observer);
        observer.started(run);
        let mut context = Context {
            experiment: &self.experiment,
            limits: strategy.limits,
            baseline: (!is_baseline).then_some(&baseline),
            log: &mut *self.around.log,
            explainer: &mut self.explainer,
            stop,
        };
        let watched = run::watch(&mut context, &mut *job, begun, &mut |progress| observer.tick(run, progress));
        let wrong =
            |reason: String| LabError::Experiment { location: self.experiment.name.clone(), reason, hint: None };
        match watched.map_err(wrong)? {
            WatchResult::Interrupted => Ok(None),
            WatchResult::Over { mut finished, lost } => {
                for rule in overridden {
                    let text = format!("started although {rule} forbids it (`--allow {rule}`)");
                    finished.events.insert(0, Event { at: 0, kind: EventKind::Note, text });
                }
                self.lost = self.lost.take().or(lost);
                Ok(Some(*finished))
            }
        }
    }

    /// Baseline values to compare with: from the baseline's own runs, or given in the experiment.
    fn baseline(&self) -> Result<BTreeMap<String, f64>, LabError> {
        let Some(Baseline { strategy, values, .. }) = &self.experiment.baseline else { return Ok(BTreeMap::new()) };
        let mut figures = values.clone();
        if let Some(name) = strategy {
            let mut measured: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for run in self.runs.iter().filter(|run| run.strategy == *name && run.state == RunState::Done) {
                for metric in self.store.metrics(run.id)? {
                    measured.entry(metric.name).or_default().push(metric.value);
                }
            }
            let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            figures.extend(measured.into_iter().map(|(name, values)| (name, mean(values))));
        }
        Ok(figures)
    }
}

/// A unique mark.
fn new_mark() -> String {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let mut digits: String = uuid.chars().filter(char::is_ascii_hexdigit).take(24).collect();
    if digits.len() < 24 {
        digits =
            format!("{:024x}", (u128::from(std::process::id()) << 64) + crate::store::now().unsigned_abs() as u128);
    }
    format!("roci-lab-{digits}")
}
