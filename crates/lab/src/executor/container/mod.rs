//! Runs in containers of Podman or Docker, on this machine. A container is made, then started with its output attached; the
//! engine's program that waits for it is a process of the local executor.

mod arguments;
mod inspect;
mod words;

use std::path::Path;
use std::time::{Duration, Instant};

use self::arguments::{Host, LABEL};
use self::inspect::Inspected;
use super::local::{Local, Tree, stacks};
use super::tool::{PATIENCE, Tool};
use super::{Chunk, Ended, Executor, JobState, RunSpec, RunningJob, StartError, Stream, Usage};
use crate::experiment::{ContainerOptions, LocalOptions, Stacks};
use crate::outcome::Stack;

/// Engines in the order in which they are looked for.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// How much of the engine's own words is kept to tell why it failed.
const WORDS: usize = 4096;

/// Containers.
#[derive(Clone, Debug)]
pub struct Container {
    options: ContainerOptions,
    /// Where the engine's own program runs.
    local: Local,
}

impl Container {
    /// With the options of an experiment, for a process that may have other children.
    pub fn new(options: ContainerOptions) -> Self {
        Self { options, local: Local::new(CLIENT) }
    }

    /// For a process whose only children are runs, as [`Local::alone`].
    pub fn alone(options: ContainerOptions) -> Self {
        Self { options, local: Local::alone(CLIENT) }
    }

    /// An engine by its program.
    fn engine_at(&self, program: String) -> Engine {
        let tool = Tool { program, env: vec![], remedy: "install Podman or Docker (Debian: apt install podman)" };
        Engine { tool, local: self.local }
    }

    /// The engine that is asked for, or the first that is installed.
    fn engine(&self) -> Result<Engine, StartError> {
        let installed = || ENGINES.into_iter().find(|name| is_installed(name)).map(str::to_owned);
        let name = self.options.engine.clone().or_else(installed);
        name.map(|name| self.engine_at(name)).ok_or_else(|| {
            StartError::new("there is neither Podman nor Docker", "install one (Debian: apt install podman)")
        })
    }
}

/// The engine's own program is in no control group: it makes those of containers itself.
const CLIENT: LocalOptions = LocalOptions { stacks: Stacks::Kernel, no_cgroup: true };

/// Whether a program is in the search path.
fn is_installed(name: &str) -> bool {
    let path = roci_hal::env::PATH.get_raw().unwrap_or_default();
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

    fn recover(&self, mark: &str, handle: &str) -> Result<Ended, StartError> {
        let engine = if handle.is_empty() { self.engine()? } else { self.engine_at(handle.to_owned()) };
        let filter = format!("--filter=label={LABEL}={mark}");
        let answer = engine.call(&["ps", "--all", "--quiet", &filter])?;
        let left = answer.well("cannot list containers", "look whether the engine works: `podman ps`")?;
        let containers: Vec<_> = left.lines().map(str::trim).filter(|id| !id.is_empty()).collect();
        containers.iter().for_each(|id| engine.remove(id));
        // What the engine could not end, and its program that waited for the container or fetched its image.
        let inside = Tree::elsewhere(mark, None).kill(Duration::ZERO, || ());
        let client = self.local.recover(&client_mark(mark), "")?;
        let ended = u32::try_from(containers.len()).unwrap_or(u32::MAX).saturating_add(inside.ended + client.ended);
        Ok(Ended { ended, survivors: inside.survivors })
    }
}

/// The mark of the engine's own program, which is not the run.
fn client_mark(mark: &str) -> String {
    format!("{mark}-engine")
}

/// `podman` or `docker`.
#[derive(Clone, Debug)]
struct Engine {
    tool: Tool,
    local: Local,
}

impl Engine {
    fn call(&self, words: &[&str]) -> Result<super::tool::Answer, StartError> {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        self.tool.call(&words, PATIENCE)
    }

    /// Makes the container.
    fn create(&self, words: &[String]) -> Result<(), StartError> {
        let program = Path::new(&self.tool.program).file_name().unwrap_or_default().to_string_lossy();
        let answer = self.tool.call(words, PATIENCE)?;
        let what = format!("{program} cannot make the container");
        answer
            .well(&what, "look at the image, and at devices, mounts and arguments of `[executor.container]`")
            .map(drop)
            .map_err(|error| {
                let reason = words::shortened(&error.reason);
                let hint = words::remedy(&reason).map(str::to_owned).or(error.hint);
                StartError { reason, hint }
            })
    }

    /// Starts the engine's program with output attached.
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

    /// What the engine says of a container.
    fn inspect(&self, name: &str) -> Option<Inspected> {
        let answer = self.call(&["inspect", "--type=container", inspect::FORMAT, name]).ok()?;
        Inspected::parse(&answer.out)
    }

    /// Ends a container by force and removes it.
    fn remove(&self, name: &str) {
        // First by force: `rm` alone asks politely and waits.
        let _ = self.call(&["kill", name]);
        let _ = self.call(&["rm", "--force", "--volumes", name]);
    }
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Its image is fetched.
    Pulls,
    /// It runs, or has run.
    Runs,
    /// It has ended, this is how.
    Over(JobState),
}

/// A container, or the fetching of its image.
struct ContainerJob {
    engine: Engine,
    mark: String,
    image: String,
    create: Vec<String>,
    has_limit: bool,
    stacks: Stacks,
    client: Box<dyn RunningJob>,
    stage: Stage,
    /// The last that came on standard error: the engine's own errors are there.
    words: String,
    /// Its processes, once the engine has said which is the first.
    tree: Option<Tree>,
    killed: bool,
}

impl ContainerJob {
    /// The image is there, or not.
    fn pulled(&mut self, exit: &super::Exit) -> JobState {
        self.take_output();
        if exit.code != Some(0) {
            return JobState::Refused(format!("the image `{}` cannot be fetched: {}", self.image, self.last_words()));
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

    /// How the container ended, once the engine's program has.
    fn ended(&mut self, client: &super::Exit) -> JobState {
        match self.engine.inspect(&self.mark) {
            Some(inspected) if !inspected.started => {
                // What is left in the pipe is the engine's own error, since no program ever wrote there.
                self.take_output();
                JobState::Refused(self.last_words())
            }
            Some(inspected) => JobState::Exited(inspected.exit(self.has_limit && !self.killed)),
            // Removed by somebody else; the program passes the container's code on.
            None => match client.code {
                Some(code) => JobState::Exited(super::Exit::of_shell(code)),
                None => JobState::Gone("the container was removed".into()),
            },
        }
    }

    /// The engine's error.
    fn last_words(&self) -> String {
        words::explained(&super::tool::Answer { code: None, out: String::new(), err: self.words.clone() }.why())
    }

    /// Its processes. Asks the engine until it tells.
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
            (Stage::Pulls, _) => JobState::Refused(format!("the image `{}` does not come", self.image)),
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
        // What a pull prints is not the program's.
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

    fn kill(&mut self, grace: Duration) -> Ended {
        match self.stage {
            // Nothing outlives the first process of a container.
            Stage::Over(_) => return Ended::default(),
            Stage::Pulls => return self.client.kill(Duration::ZERO),
            Stage::Runs => self.killed = true,
        }
        // Asked before the end: afterwards nobody knows which they were.
        self.tree();
        let before = self.tree.as_ref().map_or(0, |tree| tree.alive(true).len());
        let seconds = grace.as_secs_f64().ceil().to_string();
        // An engine that waits for a process in uninterruptible sleep is not waited for.
        let stop = ["stop", "-t", &seconds, &self.mark].map(str::to_owned);
        let _ = self.engine.tool.call(&stop, grace + PATIENCE / 2);
        let survivors = self.tree.as_ref().map(|tree| tree.kill(Duration::ZERO, || ()).survivors).unwrap_or_default();
        let ended = u32::try_from(before.saturating_sub(survivors.len()).max(1)).unwrap_or(u32::MAX);
        if survivors.is_empty() {
            // The engine's program ends by itself now, with the last of the output.
            let deadline = Instant::now() + PATIENCE / 2;
            while self.client.poll() == JobState::Running && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ended { ended, survivors }
    }
}

impl Drop for ContainerJob {
    fn drop(&mut self) {
        self.engine.remove(&self.mark);
    }
}
