//! Plans runs, has them done one after the other, records each, and goes on where a killed process stopped.

mod again;
mod owner;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use roci_doctor::{Facts, Root, Snapshot};

use crate::error::LabError;
use crate::executor::{Executor, RunSpec, StartError};
use crate::experiment::{Baseline, ExecutorOptions, Experiment, Need, Reached, Strategy};
use crate::guard::{Guard, Machines};
use crate::kernel_log::{Explainer, KernelLog};
use crate::live::Observer;
use crate::outcome::Outcome;
use crate::requirements;
use crate::store::{Event, EventKind, Finished, NewExperiment, PlannedRun, RunRow, RunState, Store};

pub use again::{Again, by_hand};
use owner::Owner;
use run::{Context, Watched};

/// How an experiment was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Every run has a result.
    Complete,
    /// Somebody asked to stop; `resume` goes on.
    Interrupted,
}

/// Opens the executor that options name.
pub type Opener = dyn Fn(&ExecutorOptions) -> Result<Box<dyn Executor>, StartError>;

/// What an engine is told beside the experiment.
pub struct Surroundings<'a> {
    /// Opens executors.
    pub open: &'a Opener,
    /// The kernel's log.
    pub log: Box<dyn KernelLog>,
    /// Whether somebody asked to stop.
    pub stop: &'a dyn Fn() -> bool,
    /// Hears how it goes.
    pub observer: &'a mut dyn Observer,
    /// Says what the doctor's rules forbid.
    pub guard: Guard,
    /// The machine that runs happen on, if somebody said so.
    pub facts: Option<Snapshot>,
    /// This machine, if it was looked at already.
    pub machine: Option<Snapshot>,
    /// Takes needs for granted.
    pub assume_needs: bool,
    /// Takes an experiment away from a process that may still be there.
    pub steal: bool,
}

/// Does the runs of one experiment.
pub struct Engine<'a, 's> {
    store: &'s mut Store,
    experiment: Experiment,
    id: i64,
    around: Surroundings<'a>,
    runs: Vec<RunRow>,
    explainer: Explainer,
    facts: Option<Facts>,
    /// What a person said to have done.
    confirmed: BTreeSet<String>,
    /// The line that says that the GPU is gone.
    lost: Option<String>,
}

/// The runs of an experiment, in the order in which they are to be done: nobody before what he waits for, the baseline as
/// early as can be.
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

/// This machine, as the doctor sees it.
pub fn this_machine() -> Snapshot {
    Snapshot::gather(&Root::system(), environment().into_iter())
}

/// The variables of this process.
pub(crate) fn environment() -> BTreeMap<String, String> {
    let text = |value: std::ffi::OsString| value.to_string_lossy().into_owned();
    std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect()
}

/// Begins an experiment: all its runs planned, the machine noted; its number.
///
/// # Errors
/// Those of the store.
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

/// Does what is left to do of an experiment. What another process left half done is cleared away and done again.
///
/// # Errors
/// Another process is at it, those of the store, or a place that cannot be asked about what was left there.
pub fn carry_on(store: &mut Store, id: i64, around: Surroundings<'_>) -> Result<Left, LabError> {
    resume(store, id, Again::default(), around)
}

/// As [`carry_on`], after what was done and changed meanwhile has been noted.
///
/// # Errors
/// As [`carry_on`], and if what is asked for makes no sense.
pub fn resume(store: &mut Store, id: i64, again: Again<'_>, around: Surroundings<'_>) -> Result<Left, LabError> {
    let row = store.experiment(&id.to_string())?;
    let own = Owner::own().text();
    if let Some(owner) = row.owner.as_deref().filter(|owner| !around.steal && Owner::may_live(owner)) {
        return Err(LabError::Busy { id, process: Owner::describe(owner) });
    }
    if !store.own(id, row.owner.as_deref(), Some(&own))? {
        let row = store.experiment(&id.to_string())?;
        return Err(LabError::Busy { id, process: Owner::describe(row.owner.as_deref().unwrap_or("another")) });
    }
    let left = again.apply(store, &row).and_then(|(experiment, said)| {
        let mut runs = store.runs(id)?;
        // A file that changed may have put new strategies before old ones.
        let order: Vec<&str> =
            experiment.order().into_iter().map(|at| experiment.strategies[at].name.as_str()).collect();
        runs.sort_by_key(|run| (order.iter().position(|name| *name == run.strategy), run.repeat));
        let confirmed = store.confirmed(id)?;
        let (explainer, facts, lost) = Default::default();
        let mut engine = Engine { store, experiment, id, around, runs, explainer, facts, confirmed, lost };
        said.iter().for_each(|line| engine.around.observer.note(line));
        let left = engine.clear_away().and_then(|()| engine.work());
        engine.around.observer.over();
        left
    });
    // Also after an error: whoever comes next need not wait.
    store.own(id, Some(&own), None)?;
    left
}

impl Engine<'_, '_> {
    /// Ends what a killed process left running, and plans those runs again.
    fn clear_away(&mut self) -> Result<(), LabError> {
        for at in 0..self.runs.len() {
            if self.runs[at].state != RunState::Running {
                continue;
            }
            let run = self.runs[at].clone();
            let options = self.experiment.strategy(&run.strategy).map(|strategy| strategy.executor.clone());
            if !run.mark.is_empty() {
                let executor = (self.around.open)(&options.unwrap_or_default())?;
                let ended = executor.recover(&run.mark, &run.handle)?;
                if ended.ended > 0 || !ended.survivors.is_empty() {
                    let text = format!("{}: cleared away what a killed roci left running", run.strategy);
                    self.around.observer.note(&text);
                }
            }
            self.store.put_back(run.id)?;
            self.runs[at].state = RunState::Planned;
        }
        Ok(())
    }

    fn work(&mut self) -> Result<Left, LabError> {
        self.around.observer.begin(self.id, &self.experiment, &self.runs);
        for at in 0..self.runs.len() {
            if self.runs[at].state == RunState::Done {
                continue;
            }
            if (self.around.stop)() || self.one(at)? == Left::Interrupted {
                return Ok(Left::Interrupted);
            }
        }
        Ok(Left::Complete)
    }

    /// Does one run.
    fn one(&mut self, at: usize) -> Result<Left, LabError> {
        let mark = new_mark();
        let run = self.runs[at].clone();
        if !self.store.begin(run.id, &mark)? {
            // Somebody stole the experiment; the result is theirs to make.
            return Err(LabError::Busy { id: self.id, process: "another".into() });
        }
        let strategy = self.experiment.strategy(&run.strategy).cloned();
        let finished = match strategy {
            None => Finished::bare(Outcome::blocked("the experiment has no such strategy any more")),
            Some(strategy) => match self.obstacle(&strategy)? {
                Some(outcome) => Finished::bare(outcome),
                None => match self.perform(&run, &strategy, &mark)? {
                    Some(finished) => finished,
                    None => {
                        self.store.put_back(run.id)?;
                        return Ok(Left::Interrupted);
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
        Ok(Left::Complete)
    }

    /// What stands against a run before it is started.
    fn obstacle(&mut self, strategy: &Strategy) -> Result<Option<Outcome>, LabError> {
        if let Some(why) = &strategy.skip {
            return Ok(Some(Outcome::Skipped { why: why.clone() }));
        }
        let machines = Machines { given: self.around.facts.as_ref(), here: &mut self.around.machine };
        if let Some(outcome) = self.around.guard.blocked(strategy, machines) {
            return Ok(Some(outcome));
        }
        for after in &strategy.after {
            if let Some(why) = self.not_reached(&after.strategy, &after.what)? {
                return Ok(Some(Outcome::Skipped { why }));
            }
        }
        let here = strategy.executor.kind.is_here();
        if let (Some(line), true) = (&self.lost, here) {
            return Ok(Some(Outcome::blocked(format!("the GPU is gone until a reboot: {line}"))));
        }
        let done = |need: &Need| matches!(need, Need::Manual { change } if self.confirmed.contains(change));
        let needs: Vec<Need> = strategy.needs.iter().filter(|need| !done(need)).cloned().collect();
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

    /// Why another strategy did not get as far as it must have; nothing if it did.
    fn not_reached(&self, name: &str, what: &Reached) -> Result<Option<String>, LabError> {
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
        Ok(match what {
            Reached::Ended => None,
            Reached::Passed => (!passed).then(|| format!("{name} is {word}, it had to pass")),
            Reached::Failed => passed.then(|| format!("{name} passed")),
            Reached::Phase(phase) => {
                let wanted = self.experiment.phase_index(phase);
                (!phases()?.into_iter().any(|at| Some(at) == wanted)).then(|| format!("{name} did not reach {phase}"))
            }
            Reached::Past(phase) => {
                let wanted = self.experiment.phase_index(phase);
                (!phases()?.into_iter().any(|at| Some(at) > wanted)).then(|| format!("{name} did not get past {phase}"))
            }
        })
    }

    /// Starts a run and watches it; nothing if somebody asked to stop.
    fn perform(&mut self, run: &RunRow, strategy: &Strategy, mark: &str) -> Result<Option<Finished>, LabError> {
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
        let machines = Machines { given: self.around.facts.as_ref(), here: &mut self.around.machine };
        let overridden = self.around.guard.overridden(strategy, machines);
        // Lines that were there before are nobody's.
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
        // Before anything is written to a disk: that takes longer than some programs do.
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
        let wrong = |reason: String| LabError::Experiment { place: self.experiment.name.clone(), reason, hint: None };
        match watched.map_err(wrong)? {
            Watched::Interrupted => Ok(None),
            Watched::Over { mut finished, lost } => {
                for rule in overridden {
                    let text = format!("started although {rule} forbids it (`--allow {rule}`)");
                    finished.events.insert(0, Event { at: 0, kind: EventKind::Note, text });
                }
                self.lost = self.lost.take().or(lost);
                Ok(Some(*finished))
            }
        }
    }

    /// The figures to compare with: those of the baseline's own runs, or those that are known.
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

/// A mark that no other run has.
fn new_mark() -> String {
    let uuid = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
    let mut digits: String = uuid.chars().filter(char::is_ascii_hexdigit).take(24).collect();
    if digits.len() < 24 {
        digits =
            format!("{:024x}", (u128::from(std::process::id()) << 64) + crate::store::now().unsigned_abs() as u128);
    }
    format!("roci-lab-{digits}")
}
