//! Runs as Slurm jobs: `sbatch` starts them, `scontrol` and `sacct` report their state, `scancel`
//! ends them. Output goes to files in a folder shared between this machine and the nodes.

mod script;
mod state;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use self::script::{Files, Record};
use self::state::SlurmState;
use super::file_follower::FileFollower;
use super::state_observer::StateObserver;
use super::tool::{TIMEOUT, Tool};
use super::{Chunk, Executor, JobState, RunSpec, RunningJob, StartError, Stream, Termination, Usage, command};
use crate::experiment::SlurmOptions;
use crate::outcome::{Stack, Survivor};

/// Poll interval of a job; a controller serves many users.
const INTERVAL: Duration = Duration::from_secs(1);

/// Timeout for the last output after the end of the job, since file systems lag.
const SETTLE: Duration = Duration::from_secs(10);

/// Timeout for Slurm to end a job: its own delay between the two signals, and the node's cleanup.
const CLEARING: Duration = Duration::from_secs(90);

/// Consecutive "unknown job" answers before a job counts as gone: Slurm forgets finished jobs.
const MAX_UNKNOWN: u32 = 5;

/// Executor for Slurm jobs.
#[derive(Clone, Debug)]
pub struct Slurm {
    options: SlurmOptions,
}

impl Slurm {
    /// With an experiment's options.
    pub fn new(options: SlurmOptions) -> Self {
        Self { options }
    }

    fn tool(&self, program: &str) -> Tool {
        let configuration = self.options.configuration.iter().map(|path| ("SLURM_CONF", path.into()));
        Tool {
            program: program.to_owned(),
            env: configuration.collect(),
            remedy: "install Slurm's client programs (Debian: slurm-client), or choose another executor",
        }
    }

    /// The folder of all runs.
    fn shared(&self) -> Result<PathBuf, StartError> {
        let folder = self.options.folder.clone().unwrap_or_else(|| PathBuf::from("."));
        std::path::absolute(&folder).map_err(|error| unusable(&folder.display().to_string(), &error))
    }

    /// Cancels all jobs of a mark, by job name, including jobs that roci never recorded.
    fn cancel(&self, mark: &str, more: &[&str]) -> Result<(), StartError> {
        let mut arguments = vec![format!("--name={mark}")];
        arguments.extend(more.iter().map(|argument| (*argument).to_owned()));
        let answer = self.tool("scancel").call(&arguments, TIMEOUT)?;
        answer.success("cannot cancel the job", "check it with `squeue --me`").map(drop)
    }

    /// Unfinished jobs of a mark, with their states.
    fn left(&self, mark: &str) -> Result<Vec<(u32, String)>, StartError> {
        let arguments = ["--noheader".to_owned(), format!("--name={mark}"), "--format=%i|%T".to_owned()];
        let answer = self.tool("squeue").call(&arguments, TIMEOUT)?;
        let lines = answer.success("cannot list Slurm's jobs", "check that `squeue` works")?;
        let job = |line: &str| {
            let (id, state) = line.trim().split_once('|')?;
            Some((id.parse().ok()?, state.to_owned()))
        };
        Ok(lines.lines().filter_map(job).collect())
    }

    /// Waits until no job of a mark is left; returns the remaining ones.
    fn wait_for_none(&self, mark: &str, deadline: Instant) -> Result<Vec<(u32, String)>, StartError> {
        loop {
            let jobs = self.left(mark)?;
            if jobs.is_empty() || Instant::now() >= deadline {
                return Ok(jobs);
            }
            std::thread::sleep(INTERVAL / 4);
        }
    }

    /// Ends all jobs of a mark, with SIGKILL after `grace`.
    fn end(&self, mark: &str, grace: Duration) -> Result<Termination, StartError> {
        let before = self.left(mark)?;
        if before.is_empty() {
            return Ok(Termination::default());
        }
        if !grace.is_zero() && before.iter().any(|(_, state)| state == "RUNNING") {
            // `--full` also signals the script's shell and its children.
            self.cancel(mark, &["--signal=TERM", "--full"])?;
            self.wait_for_none(mark, Instant::now() + grace)?;
        }
        self.cancel(mark, &["--signal=KILL", "--full"])?;
        self.cancel(mark, &[])?;
        let survivors = self.wait_for_none(mark, Instant::now() + CLEARING)?;
        let survivor = |(id, state): &(u32, String)| Survivor {
            process: *id,
            name: format!("Slurm job {id}"),
            state: state.clone(),
            waits_for: None,
        };
        let terminated = u32::try_from(before.len().saturating_sub(survivors.len())).unwrap_or(u32::MAX);
        Ok(Termination { terminated, survivors: survivors.iter().map(survivor).collect() })
    }
}

impl Executor for Slurm {
    fn name(&self) -> &'static str {
        "slurm"
    }

    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError> {
        command::check(spec)?;
        if let Some(image) = &spec.image {
            return Err(StartError::new(
                format!("Slurm cannot start the image `{image}` itself"),
                "put the container's program into `command` (`apptainer exec IMAGE …`) and remove `image`",
            ));
        }
        let files = Files::new(&self.shared()?, &spec.mark);
        let unusable = |error| unusable(&files.folder.display().to_string(), &error);
        std::fs::create_dir_all(&files.folder).map_err(unusable)?;
        // From here on the folder is removed when the job is dropped.
        let mut job = SlurmJob::new(self.clone(), spec, files.clone());
        std::fs::write(files.script(), script::script(spec, &files)).map_err(unusable)?;
        let answer = self.tool("sbatch").call(&script::arguments(spec, &files), TIMEOUT)?;
        let output =
            answer.success("Slurm refuses the job", "see `sinfo` for what the cluster has, and `sbatch --help`")?;
        // With several clusters the format is `17;cluster`.
        job.id = output.trim().split(';').next().and_then(|id| id.parse().ok()).ok_or_else(|| {
            StartError::new(format!("`sbatch` gave no job number but `{}`", output.trim()), "check `squeue --me`")
        })?;
        job.watch();
        Ok(Box::new(job))
    }

    fn recover(&self, mark: &str, handle: &str) -> Result<Termination, StartError> {
        let termination = self.end(mark, Duration::ZERO)?;
        // The handle has the folder, even if the experiment has changed since.
        let noted = handle.split_once(' ').map(|(_, folder)| PathBuf::from(folder));
        let folder = match noted {
            Some(folder) if folder.ends_with(mark) => folder,
            _ => Files::new(&self.shared()?, mark).folder,
        };
        let _ = std::fs::remove_dir_all(folder);
        Ok(termination)
    }
}

fn unusable(folder: &str, error: &std::io::Error) -> StartError {
    StartError::new(
        format!("cannot use the folder `{folder}`: {error}"),
        "set `slurm.folder` to one that this machine and the nodes can write to",
    )
}

/// A submitted job.
struct SlurmJob {
    slurm: Slurm,
    mark: String,
    files: Files,
    /// Job number.
    id: u32,
    observer: Option<StateObserver<ObservedSlurmJob>>,
    out: FileFollower,
    err: FileFollower,
    /// When it was first seen running; output times count from there.
    started: Option<Instant>,
    /// When Slurm first reported that the job had ended.
    over: Option<Instant>,
    /// Whether Slurm has no record of the job any more.
    ended: bool,
}

/// Last observed state of a job.
#[derive(Clone, Debug)]
struct ObservedSlurmJob {
    state: JobState,
    usage: Option<Usage>,
}

impl SlurmJob {
    fn new(slurm: Slurm, spec: &RunSpec, files: Files) -> Self {
        let (out, err) = (FileFollower::new(files.out()), FileFollower::new(files.err()));
        let mark = spec.mark.clone();
        Self { slurm, mark, files, id: 0, observer: None, out, err, started: None, over: None, ended: false }
    }

    /// Starts polling.
    fn watch(&mut self) {
        let asking = StatePoller { slurm: self.slurm.clone(), id: self.id, unknown: 0 };
        let first = ObservedSlurmJob { state: JobState::Queued("Slurm: submitted".into()), usage: None };
        let last = |observed: &ObservedSlurmJob| !matches!(observed.state, JobState::Queued(_) | JobState::Running);
        self.observer = Some(StateObserver::start(first, INTERVAL, last, asking.into_question()));
    }

    /// What the script recorded at its end.
    fn record(&self) -> Option<Record> {
        Record::parse(&std::fs::read_to_string(self.files.record()).ok()?)
    }
}

impl RunningJob for SlurmJob {
    fn handle(&self) -> String {
        format!("{} {}", self.id, self.files.folder.display())
    }

    fn poll(&mut self) -> JobState {
        let Some(observer) = &self.observer else { return JobState::Gone("it was never submitted".into()) };
        let state = observer.latest().state;
        match state {
            JobState::Queued(_) => return state,
            JobState::Running => {
                self.started.get_or_insert_with(Instant::now);
                return state;
            }
            JobState::Refused(_) => {
                self.ended = true;
                return state;
            }
            JobState::Exited(_) | JobState::Gone(_) => {}
        }
        self.started.get_or_insert_with(Instant::now);
        self.ended = true;
        let record = self.record();
        // Slurm can report the end before a network file system shows the last output.
        let whole = match &record {
            Some(record) => self.out.length() >= record.out && self.err.length() >= record.err,
            // A killed script records nothing.
            None => !matches!(&state, JobState::Exited(exit) if exit.signal.is_none()),
        };
        if !whole && self.over.get_or_insert_with(Instant::now).elapsed() < SETTLE {
            return JobState::Running;
        }
        match (state, record) {
            (JobState::Exited(exit), Some(record)) if exit.signal.is_none() => {
                JobState::Exited(super::Exit { note: exit.note, ..record.exit })
            }
            (JobState::Gone(_), Some(record)) => JobState::Exited(record.exit),
            (state, _) => state,
        }
    }

    fn take_output(&mut self) -> Vec<Chunk> {
        let at = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        let streams = [(Stream::Out, &mut self.out), (Stream::Err, &mut self.err)];
        let chunk = |(stream, file): (Stream, &mut FileFollower)| Some(Chunk { stream, at, bytes: file.take()? });
        streams.into_iter().filter_map(chunk).collect()
    }

    fn usage(&mut self) -> Option<Usage> {
        self.observer.as_ref()?.latest().usage
    }

    fn stacks(&mut self) -> Vec<Stack> {
        // Its processes are on another machine.
        Vec::new()
    }

    fn kill(&mut self, grace: Duration) -> Termination {
        if self.ended {
            return Termination::default();
        }
        match self.slurm.end(&self.mark, grace) {
            Ok(termination) => {
                self.ended = termination.survivors.is_empty();
                // So that the next poll reports the final state.
                if let (true, Some(observer)) = (self.ended, &self.observer) {
                    let over = |observed: &ObservedSlurmJob| {
                        !matches!(observed.state, JobState::Queued(_) | JobState::Running)
                    };
                    observer.wait(Instant::now() + TIMEOUT, over);
                }
                termination
            }
            Err(error) => {
                let name = format!("Slurm job {}", self.id);
                let waits_for = Some(error.reason);
                let survivors = vec![Survivor { process: self.id, name, state: "unknown".into(), waits_for }];
                Termination { terminated: 0, survivors }
            }
        }
    }
}

impl Drop for SlurmJob {
    fn drop(&mut self) {
        if self.id != 0 && !self.ended {
            let _ = self.slurm.cancel(&self.mark, &[]);
        }
        let _ = std::fs::remove_dir_all(&self.files.folder);
    }
}

/// Polls a job.
struct StatePoller {
    slurm: Slurm,
    id: u32,
    /// Consecutive "unknown job" answers.
    unknown: u32,
}

impl StatePoller {
    fn into_question(mut self) -> impl FnMut() -> Option<ObservedSlurmJob> + Send {
        move || {
            let state = self.state()?;
            let usage = if state == JobState::Running { self.usage() } else { None };
            Some(ObservedSlurmJob { state, usage })
        }
    }

    /// State of the job; `None` if it cannot be determined now.
    fn state(&mut self) -> Option<JobState> {
        let show = ["show", "job", "--oneliner", &self.id.to_string()].map(str::to_owned);
        let answer = self.slurm.tool("scontrol").call(&show, TIMEOUT).ok()?;
        if let Some(state) = SlurmState::of_scontrol(&answer.out) {
            self.unknown = 0;
            return Some(state.job_state());
        }
        // An unreachable controller gives another error, and recovers.
        if !answer.err.contains("Invalid job id") {
            return None;
        }
        if let Some(state) = self.accounted() {
            return Some(state.job_state());
        }
        self.unknown += 1;
        (self.unknown >= MAX_UNKNOWN).then(|| JobState::Gone(format!("Slurm no longer knows job {}", self.id)))
    }

    /// State from accounting, if enabled: the controller forgets jobs some minutes after their end.
    fn accounted(&self) -> Option<SlurmState> {
        let job = format!("--jobs={}", self.id);
        let arguments =
            ["--allocations", "--noheader", "--parsable2", "--format=State,ExitCode,Reason", &job].map(str::to_owned);
        let answer = self.slurm.tool("sacct").call(&arguments, TIMEOUT).ok()?;
        answer.out.lines().find_map(SlurmState::of_sacct)
    }

    /// Resources used, if the cluster records them.
    fn usage(&self) -> Option<Usage> {
        let job = format!("--jobs={}.batch", self.id);
        let arguments = ["--noheader", "--parsable2", "--format=AveCPU,MaxRSS,NTasks", &job].map(str::to_owned);
        state::usage(&self.slurm.tool("sstat").call(&arguments, TIMEOUT).ok()?.out)
    }
}
