//! Processes on this machine, each run in its own process group, and in a cgroup if possible.

mod cgroup;
mod process;
pub(super) mod stacks;
mod tree;

use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use roci_base::env;

use super::{Chunk, Executor, Exit, JobState, MARK, RunSpec, RunningJob, StartError, Stream, Termination, Usage};
use crate::experiment::{LocalOptions, StackSource};
use crate::outcome::Stack;

use cgroup::Cgroup;
use process::Process;
pub(super) use tree::Tree;

/// Bytes of each stream per call.
const MAX_READ: usize = 1 << 20;
/// Time to wait for output after the end, if another process holds the pipe open.
const AFTERWARDS: Duration = Duration::from_millis(200);
/// Interval of the thorough search for processes.
const THOROUGH: Duration = Duration::from_secs(2);

/// Executor for processes on this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local {
    options: LocalOptions,
    /// Whether this process has no children except runs.
    adopts: bool,
}

impl Local {
    /// For a process that may have other children.
    pub fn new(options: LocalOptions) -> Self {
        Self { options, adopts: false }
    }

    /// For a process whose only children are runs: it becomes their subreaper, so that orphaned
    /// descendants become its children and are found.
    pub fn alone(options: LocalOptions) -> Self {
        // Without a subreaper, orphans are reparented to PID 1; the mark in their environment still
        // identifies them.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        Self { options, adopts: true }
    }
}

impl Executor for Local {
    fn name(&self) -> &'static str {
        "local"
    }

    fn start(&self, spec: &RunSpec) -> Result<Box<dyn RunningJob>, StartError> {
        let program = find(spec)?;
        let cgroup = (!self.options.no_cgroup).then(|| Cgroup::create(&spec.mark, spec.limits.memory)).flatten();
        let mut words = spec.command.clone();
        words[0] = program.to_string_lossy().into_owned();
        if let Some(cgroup) = &cgroup {
            words = cgroup.wrap(&words);
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        for name in &spec.unset {
            command.env_remove(name);
        }
        command.envs(&spec.env).env(MARK, &spec.mark);
        if let Some(folder) = &spec.directory {
            command.current_dir(folder);
        }
        let mut child = command.spawn().map_err(|error| {
            let location =
                spec.directory.as_ref().map(|folder| format!(" in `{}`", folder.display())).unwrap_or_default();
            StartError::new(
                format!("`{}` cannot be started{location}: {error}", spec.command[0]),
                "check the program file and the working directory",
            )
        })?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let leader = child.id();
        let job = Job {
            started: Instant::now(),
            birth: Process::of(leader).map_or(0, |process| process.started),
            tree: Tree::new(&spec.mark, Some(leader), cgroup, self.adopts),
            out: out.and_then(Pipe::new),
            err: err.and_then(Pipe::new),
            stacks: self.options.stacks,
            child,
            exit: None,
            looked: Instant::now(),
            hidden: Vec::new(),
            cleared: false,
        };
        Ok(Box::new(job))
    }

    fn recover(&self, mark: &str, handle: &str) -> Result<Termination, StartError> {
        let tree = Tree::new(mark, leader_of(handle), Cgroup::find(mark), false);
        Ok(tree.kill(Duration::ZERO, || ()))
    }
}

/// The leader of a process group, if it is still the same process.
fn leader_of(handle: &str) -> Option<u32> {
    let (id, started) = handle.split_once(' ')?;
    let (id, started): (u32, u64) = (id.parse().ok()?, started.parse().ok()?);
    Process::of(id).filter(|process| started != 0 && process.started == started).map(|process| process.id)
}

/// Path of a run's program, so that a missing one is reported as such.
fn find(spec: &RunSpec) -> Result<PathBuf, StartError> {
    let name = spec.command.first().map(String::as_str).unwrap_or_default();
    let runs = |path: &Path| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    let from = |path: &Path| match &spec.directory {
        Some(folder) => folder.join(path),
        None => path.to_owned(),
    };
    let found = if name.contains('/') {
        Some(from(Path::new(name)))
    } else {
        let path = spec.env.get("PATH").map(OsString::from).or_else(|| env::PATH.get_raw()).unwrap_or_default();
        std::env::split_paths(&path).map(|folder| from(&folder).join(name)).find(|path| runs(path))
    };
    let absent = || StartError::new(format!("there is no program `{name}`"), "install it, or write its full path");
    let path = found.filter(|path| path.exists()).ok_or_else(absent)?;
    if !runs(&path) {
        let hint = format!("try: chmod +x {}", path.display());
        return Err(StartError::new(format!("`{}` is not an executable file", path.display()), hint));
    }
    // A relative path would be resolved in the program's working directory.
    std::path::absolute(&path).map_err(|error| StartError::new(error.to_string(), "write its whole path"))
}

/// A started process with its descendants.
struct Job {
    child: Child,
    exit: Option<(Exit, Instant)>,
    tree: Tree,
    out: Option<Pipe<ChildStdout>>,
    err: Option<Pipe<ChildStderr>>,
    stacks: StackSource,
    started: Instant,
    /// Start time, from the kernel.
    birth: u64,
    looked: Instant,
    /// Processes that only the thorough search found.
    hidden: Vec<u32>,
    /// Whether everything was terminated.
    cleared: bool,
}

impl Job {
    fn alive(&mut self) -> Vec<Process> {
        if self.looked.elapsed() > THOROUGH {
            self.looked = Instant::now();
            // Reaps orphans, which would otherwise accumulate as zombies.
            self.tree.reap_adopted();
            if self.tree.cgroup.is_none() {
                self.hidden = self.tree.alive(true).iter().map(|process| process.id).collect();
            }
        }
        let mut alive = self.tree.alive(false);
        let known = |id: &&u32| alive.iter().all(|process| process.id != **id);
        let hidden: Vec<_> = self.hidden.iter().filter(known).filter_map(|id| Process::of(*id)).collect();
        alive.extend(hidden.into_iter().filter(|process| !process.is_over()));
        alive
    }
}

impl RunningJob for Job {
    fn handle(&self) -> String {
        format!("{} {}", self.child.id(), self.birth)
    }

    fn poll(&mut self) -> JobState {
        if self.exit.is_none() {
            match self.child.try_wait() {
                Ok(None) => return JobState::Running,
                Ok(Some(status)) => {
                    let out_of_memory = self.tree.cgroup.as_ref().is_some_and(Cgroup::was_out_of_memory);
                    let (code, signal) = (status.code(), status.signal());
                    self.exit = Some((Exit { code, signal, out_of_memory, note: None }, Instant::now()));
                }
                Err(error) => return JobState::Gone(error.to_string()),
            }
        }
        self.exit.as_ref().map_or(JobState::Running, |(exit, _)| JobState::Exited(exit.clone()))
    }

    fn take_output(&mut self) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        let deadline = self.exit.as_ref().map(|(_, when)| *when + AFTERWARDS);
        loop {
            let at = self.started.elapsed();
            let mut take = |stream: Stream, bytes: Vec<u8>| {
                if !bytes.is_empty() {
                    chunks.push(Chunk { stream, at, bytes });
                }
            };
            if let Some(pipe) = &mut self.out {
                take(Stream::Out, pipe.read());
            }
            if let Some(pipe) = &mut self.err {
                take(Stream::Err, pipe.read());
            }
            let open = |closed: Option<bool>| closed == Some(false);
            let is_open =
                open(self.out.as_ref().map(|pipe| pipe.closed)) || open(self.err.as_ref().map(|pipe| pipe.closed));
            // After the end of the program the pipes close, unless another process holds them.
            match deadline {
                Some(deadline) if chunks.is_empty() && is_open && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                _ => return chunks,
            }
        }
    }

    fn usage(&mut self) -> Option<Usage> {
        let alive = self.alive();
        Some(self.tree.usage(&alive))
    }

    fn stacks(&mut self) -> Vec<Stack> {
        let alive = self.alive();
        stacks::of(&alive, self.stacks)
    }

    fn kill(&mut self, grace: Duration) -> Termination {
        let (tree, child, exit) = (&self.tree, &mut self.child, &mut self.exit);
        let mut reap = || {
            if let (None, Ok(Some(status))) = (&exit, child.try_wait()) {
                let (code, signal) = (status.code(), status.signal());
                *exit = Some((Exit { code, signal, ..Exit::default() }, Instant::now()));
            }
        };
        let termination = tree.kill(grace, &mut reap);
        reap();
        self.cleared = true;
        termination
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.cleared {
            self.kill(Duration::ZERO);
        }
    }
}

/// Read end of a pipe, nonblocking.
struct Pipe<T> {
    file: T,
    buffer: Box<[u8]>,
    closed: bool,
}

impl<T: Read + AsFd> Pipe<T> {
    fn new(file: T) -> Option<Self> {
        // If this failed, a silent program would block roci: no output is better.
        let flags = rustix::fs::fcntl_getfl(&file).ok()?;
        rustix::fs::fcntl_setfl(&file, flags | rustix::fs::OFlags::NONBLOCK).ok()?;
        Some(Self { file, buffer: vec![0; 64 << 10].into(), closed: false })
    }

    /// Available bytes, up to a limit.
    fn read(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !self.closed && bytes.len() < MAX_READ {
            match self.file.read(&mut self.buffer) {
                Ok(0) => self.closed = true,
                Ok(count) => bytes.extend_from_slice(&self.buffer[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.closed = true,
            }
        }
        bytes
    }
}
