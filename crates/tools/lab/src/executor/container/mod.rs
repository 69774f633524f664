//! Runs in Podman or Docker containers on this machine. A container is created, then started with
//! its output attached; the engine's client process is a job of the local executor.

mod arguments;
mod error_message;
mod inspect;

use std::path::Path;
use std::time::{Duration, Instant};

use self::arguments::{Host, LABEL};
use self::inspect::ContainerState;
use super::local::{Local, Tree, stacks};
use super::tool::{TIMEOUT, Tool};
use super::{Chunk, Executor, JobState, RunSpec, RunningJob, StartError, Stream, Termination, Usage};
use crate::experiment::{ContainerOptions, LocalOptions, StackSource};
use crate::outcome::Stack;

/// Engines, in search order.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// Bytes of the engine's error output that are kept for the error message.
const WORDS: usize = 4096;

/// Executor for containers.
#[derive(Clone, Debug)]
pub struct Container {
    options: ContainerOptions,
    /// Executor for the engine's client.
    local: Local,
}

impl Container {
    /// With an experiment's options, for a process that may have other children.
    pub fn new(options: ContainerOptions) -> Self {
        Self { options, local: Local::new(CLIENT) }
    }

    /// For a process whose only children are runs, as [`Local::alone`].
    pub fn alone(options: ContainerOptions) -> Self {
        Self { options, local: Local::alone(CLIENT) }
    }

    fn engine_at(&self, program: String) -> ContainerEngine {
        let tool = Tool { program, env: vec![], remedy: "install Podman or Docker (Debian: apt install podman)" };
        ContainerEngine { tool, local: self.local }
    }

    /// The selected engine, or the first installed one.
    fn engine(&self) -> Result<ContainerEngine, StartError> {
        let installed = || ENGINES.into_iter().find(|name| is_installed(name)).map(str::to_owned);
        let name = self.options.engine.clone().or_else(installed);
        name.map(|name| self.engine_at(name)).ok_or_else(|| {
            StartError::new("neither Podman nor Docker is installed", "install one (Debian: apt install podman)")
        })
    }
}

/// The engine's client needs no cgroup: the engine creates those of containers.
const CLIENT: LocalOptions = LocalOptions { stacks: StackSource::Kernel, no_cgroup: true };

/// Whether a program is in the search path.
fn is_installed(name: &str) -> bool {
    let path = roci_base::env::PATH.get_raw().unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

impl Executor for Container {
    fn name(&self) -> &'static str {
        "container"
    }

    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError> {
        let engine = self.engine()?;
        let create = arguments::create(spec, &Host::look(&engine.tool.program))?;
        let image = spec.image.clone().unwrap_or_default();
        let there = engine.call(&["image", "inspect", "--format={{.Id}}", &image])?.code == Some(0);
        let first = if there {
            engine.create(&create)?;
            engine.client(&spec.mark, &["start", "--attach", &spec.mark])
        } else {
            engine.client(&spec.mark, &["pull", &image])
        };
        let stage = if there { Stage::Runs } else { Stage::Pulls };
        let client = first.inspect_err(|_| engine.remove(&spec.mark))?;
        Ok(Box::new(ContainerJob {
            engine,
            mark: spec.mark.clone(),
            image,
            create,
            has_limit: spec.limits.memory.is_some(),
            stacks: spec.options.local.stacks,
            client,
            stage,
            words: String::new(),
            tree: None,
            killed: false,
        }))
    }

    fn recover(&self, mark: &str, handle: &str) -> Result<Termination, StartError> {
        let engine = if handle.is_empty() { self.engine()? } else { self.engine_at(handle.to_owned()) };
        let filter = format!("--filter=label={LABEL}={mark}");
        let answer = engine.call(&["ps", "--all", "--quiet", &filter])?;
        let ids = answer.success("cannot list containers", "check that the engine works: `podman ps`")?;
        let containers: Vec<_> = ids.lines().map(str::trim).filter(|id| !id.is_empty()).collect();
        containers.iter().for_each(|id| engine.remove(id));
        // Also terminates what the engine could not: the client that waited for the container or
        // pulled its image.
        let inside = Tree::elsewhere(mark, None).kill(Duration::ZERO, || ());
        let client = self.local.recover(&client_mark(mark), "")?;
        let terminated =
            u32::try_from(containers.len()).unwrap_or(u32::MAX).saturating_add(inside.terminated + client.terminated);
        Ok(Termination { terminated, survivors: inside.survivors })
    }
}

/// Mark of the engine's client process, which differs from that of the run.
fn client_mark(mark: &str) -> String {
    format!("{mark}-engine")
}

/// `podman` or `docker`.
#[derive(Clone, Debug)]
struct ContainerEngine {
    tool: Tool,
    local: Local,
}

impl ContainerEngine {
    fn call(&self, words: &[&str]) -> Result<super::tool::ToolOutput, StartError> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        self.tool.call(&words, TIMEOUT)
    }

    /// Creates the container.
    fn create(&self, words: &[String]) -> Result<(), StartError> {
        let program = Path::new(&self.tool.program).file_name().unwrap_or_default().to_string_lossy();
        let answer = self.tool.call(words, TIMEOUT)?;
        let what = format!("{program} cannot create the container");
        answer
            .success(&what, "check the image, and devices, mounts and arguments in `[executor.container]`")
            .map(drop)
            .map_err(|error| {
                let reason = error_message::shortened(&error.reason);
                let hint = error_message::remedy(&reason).map(str::to_owned).or(error.hint);
                StartError { reason, hint }
            })
    }

    /// Starts the engine's client with output attached.
    fn client(&self, mark: &str, words: &[&str]) -> Result<Box<dyn RunningJob>, StartError> {
        let words = [self.tool.program.as_str()].into_iter().chain(words.iter().copied());
        self.local.start(&RunSpec {
            mark: client_mark(mark),
            command: words.map(str::to_owned).collect(),
            env: [].into(),
            unset: vec![],
            directory: None,
            image: None,
            limits: crate::experiment::Limits::default(),
            options: crate::experiment::ExecutorOptions::default(),
        })
    }

    /// State of a container.
    fn inspect(&self, name: &str) -> Option<ContainerState> {
        let answer = self.call(&["inspect", "--type=container", inspect::FORMAT, name]).ok()?;
        ContainerState::parse(&answer.out)
    }

    /// Kills and removes a container.
    fn remove(&self, name: &str) {
        // With SIGKILL first: `rm` alone sends SIGTERM and waits.
        let _ = self.call(&["kill", name]);
        let _ = self.call(&["rm", "--force", "--volumes", name]);
    }
}

/// Stage of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The image is being pulled.
    Pulls,
    /// The container runs or has run.
    Runs,
    /// Ended, with the final state.
    Over(JobState),
}

/// A container, or the pull of its image.
struct ContainerJob {
    engine: ContainerEngine,
    mark: String,
    image: String,
    create: Vec<String>,
    has_limit: bool,
    stacks: StackSource,
    client: Box<dyn RunningJob>,
    stage: Stage,
    /// End of standard error, where the engine's own errors are.
    words: String,
    /// Its processes, once the engine has reported the first one.
    tree: Option<Tree>,
    killed: bool,
}

impl ContainerJob {
    /// Handles the end of a pull.
    fn pulled(&mut self, exit: &super::Exit) -> JobState {
        self.take_output();
        if exit.code != Some(0) {
            return JobState::Refused(format!("cannot pull the image `{}`: {}", self.image, self.last_words()));
        }
        let started = self.engine.create(&self.create);
        let client = started.and_then(|()| self.engine.client(&self.mark, &["start", "--attach", &self.mark]));
        match client {
            Ok(client) => {
                (self.client, self.stage) = (client, Stage::Runs);
                self.words.clear();
                JobState::Running
            }
            Err(StartError { reason, hint }) => {
                JobState::Refused(format!("{reason}{}", hint.map(|hint| format!(" ({hint})")).unwrap_or_default()))
            }
        }
    }

    /// Final state of the container, after the client has exited.
    fn ended(&mut self, client: &super::Exit) -> JobState {
        match self.engine.inspect(&self.mark) {
            Some(inspected) if !inspected.started => {
                // The program never ran, so the remaining output is the engine's error.
                self.take_output();
                JobState::Refused(self.last_words())
            }
            Some(inspected) => JobState::Exited(inspected.exit(self.has_limit && !self.killed)),
            // Something else removed it; the client passes on the container's exit code.
            None => match client.code {
                Some(code) => JobState::Exited(super::Exit::of_shell(code)),
                None => JobState::Gone("the container was removed".into()),
            },
        }
    }

    /// The engine's error message.
    fn last_words(&self) -> String {
        error_message::explained(
            &super::tool::ToolOutput { code: None, out: String::new(), err: self.words.clone() }.why(),
        )
    }

    /// Its processes. Asks the engine until it reports them.
    fn tree(&mut self) -> Option<&mut Tree> {
        if self.tree.is_none() && self.stage == Stage::Runs {
            let first = self.engine.inspect(&self.mark)?.process?;
            self.tree = Some(Tree::elsewhere(&self.mark, Some(first)));
        }
        self.tree.as_mut()
    }
}

impl RunningJob for ContainerJob {
    fn handle(&self) -> String {
        self.engine.tool.program.clone()
    }

    fn poll(&mut self) -> JobState {
        let state = match (&self.stage, self.client.poll()) {
            (Stage::Over(state), _) => return state.clone(),
            (Stage::Pulls, JobState::Running) => {
                return JobState::Queued(format!("fetching the image `{}`", self.image));
            }
            (Stage::Pulls, JobState::Exited(exit)) => self.pulled(&exit),
            (Stage::Pulls, _) => JobState::Refused(format!("pulling the image `{}` was interrupted", self.image)),
            (Stage::Runs, JobState::Exited(exit)) => self.ended(&exit),
            (Stage::Runs, state) => state,
        };
        if !matches!(state, JobState::Running | JobState::Queued(_)) {
            self.stage = Stage::Over(state.clone());
        }
        state
    }

    fn take_output(&mut self) -> Vec<Chunk> {
        let chunks = self.client.take_output();
        for chunk in chunks.iter().filter(|chunk| chunk.stream == Stream::Err) {
            self.words.push_str(&String::from_utf8_lossy(&chunk.bytes));
            let from = self.words.ceil_char_boundary(self.words.len().saturating_sub(WORDS));
            self.words.drain(..from);
        }
        // Output of a pull is not the program's.
        if self.stage == Stage::Pulls { Vec::new() } else { chunks }
    }

    fn usage(&mut self) -> Option<Usage> {
        let tree = self.tree()?;
        let alive = tree.alive(false);
        Some(tree.usage(&alive))
    }

    fn stacks(&mut self) -> Vec<Stack> {
        let how = self.stacks;
        self.tree().map_or_else(Vec::new, |tree| stacks::of(&tree.alive(true), how))
    }

    fn kill(&mut self, grace: Duration) -> Termination {
        match self.stage {
            // No process outlives PID 1 of a container.
            Stage::Over(_) => return Termination::default(),
            Stage::Pulls => return self.client.kill(Duration::ZERO),
            Stage::Runs => self.killed = true,
        }
        // Before the end: afterwards the processes are unknown.
        self.tree();
        let before = self.tree.as_ref().map_or(0, |tree| tree.alive(true).len());
        let seconds = grace.as_secs_f64().ceil().to_string();
        // Does not wait for an engine that waits for a process in uninterruptible sleep.
        let stop = ["stop", "-t", &seconds, &self.mark].map(str::to_owned);
        let _ = self.engine.tool.call(&stop, grace + TIMEOUT / 2);
        let survivors = self.tree.as_ref().map(|tree| tree.kill(Duration::ZERO, || ()).survivors).unwrap_or_default();
        let terminated = u32::try_from(before.saturating_sub(survivors.len()).max(1)).unwrap_or(u32::MAX);
        if survivors.is_empty() {
            // The client now exits by itself, with the last output.
            let deadline = Instant::now() + TIMEOUT / 2;
            while self.client.poll() == JobState::Running && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Termination { terminated, survivors }
    }
}

impl Drop for ContainerJob {
    fn drop(&mut self) {
        self.engine.remove(&self.mark);
    }
}
