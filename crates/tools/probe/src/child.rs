//! Runs this program as a child process that may crash, hang or be killed without affecting this
//! process.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Interval at which interruption and the exit of the child are polled while it prints nothing.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long to wait for the child's standard error after its exit: a grandchild may hold the pipe
/// open.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);
/// Bytes of standard error to keep, from its end.
const STDERR_TAIL: usize = 8192;

/// How a child process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The child exited with this code.
    Code(i32),
    /// A signal killed the child.
    Signal(i32),
    /// The child did not exit in time, or the wait was interrupted.
    Hung {
        /// Whether SIGKILL ended it. A process that is blocked in a kernel driver cannot be killed.
        killed: bool,
    },
    /// The child could not be started, with the error.
    NotStarted(String),
}

impl Exit {
    /// A predicate for a sentence about the process.
    pub fn describe(&self) -> String {
        match self {
            Self::Code(code) => format!("ended with exit code {code}"),
            Self::Signal(signal) => format!("ended by {}", signal_name(*signal)),
            Self::Hung { .. } => "did not answer in time".into(),
            Self::NotStarted(reason) => format!("could not be started: {reason}"),
        }
    }
}

/// The name of a signal, by the numbers of Linux on x86-64 and AArch64.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL, illegal instruction",
        6 => "SIGABRT, abort",
        7 => "SIGBUS, invalid memory access",
        8 => "SIGFPE, arithmetic error",
        9 => "SIGKILL, possibly by the out-of-memory killer",
        11 => "SIGSEGV, segmentation fault",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

/// Time limits of a child process.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Total run time.
    pub total: Duration,
    /// Time between two lines on standard output; `None` for no limit.
    pub silence: Option<Duration>,
    /// Time between SIGKILL and the exit. A process that is blocked in a kernel driver may never
    /// exit.
    pub kill: Duration,
}

impl Limits {
    /// Time until the first line.
    fn first(self) -> Duration {
        self.silence.map_or(self.total, |silence| silence.min(self.total))
    }
}

/// The result of a child process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildResult {
    /// How it ended.
    pub exit: Exit,
    /// The last 8 KiB of standard error.
    pub stderr: String,
}

impl ChildResult {
    fn not_started(error: &std::io::Error) -> Self {
        Self { exit: Exit::NotStarted(error.to_string()), stderr: String::new() }
    }
}

/// Starts the program of this process again, always with the same options.
pub struct Launcher<'a> {
    options: Vec<OsString>,
    interrupted: &'a (dyn Fn() -> bool + Sync),
}

impl std::fmt::Debug for Launcher<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launcher").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<'a> Launcher<'a> {
    /// `options` precede the arguments of every child. Waiting stops when `interrupted` returns
    /// true.
    pub fn new(options: Vec<OsString>, interrupted: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { options, interrupted }
    }

    /// Whether the user asked to stop. The signal also killed the child, which says nothing about
    /// the device.
    pub fn is_interrupted(&self) -> bool {
        (self.interrupted)()
    }

    /// Runs a child and calls `on_line` with every line of its standard output.
    pub fn run(&self, arguments: &[&str], limits: Limits, on_line: impl FnMut(&str)) -> ChildResult {
        match std::env::current_exe() {
            Ok(program) => {
                let mut command = Command::new(program);
                command.args(&self.options).args(arguments);
                supervise(command, limits, self.interrupted, on_line)
            }
            Err(error) => ChildResult::not_started(&error),
        }
    }

    /// Like [`run`](Self::run), but returns the whole standard output.
    pub fn output(&self, arguments: &[&str], limits: Limits) -> (ChildResult, String) {
        let mut output = String::new();
        let result = self.run(arguments, limits, |line| {
            output.push_str(line);
            output.push('\n');
        });
        (result, output)
    }
}

/// Starts a process and reads its output until it exits or its time limit expires.
fn supervise(
    mut command: Command,
    limits: Limits,
    interrupted: &dyn Fn() -> bool,
    mut on_line: impl FnMut(&str),
) -> ChildResult {
    let started = Instant::now();
    let (end, mut deadline) = (started + limits.total, started + limits.first());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return ChildResult::not_started(&error),
    };
    // Threads drain the pipes, because a child blocks on a full pipe. They end with the child, or
    // with this process if the child cannot be killed.
    let lines = child.stdout.take().map(lines);
    let stderr = child.stderr.take().map(StderrTail::listen);
    if let Some(lines) = lines {
        deadline = read_lines(&mut child, end, limits, interrupted, &lines, &mut on_line);
    }
    // The child closed its output or exceeded its time limit; it may still hang during its exit.
    let remaining = if interrupted() {
        POLL_INTERVAL
    } else {
        deadline.saturating_duration_since(Instant::now()).max(POLL_INTERVAL)
    };
    let exit = match wait(&mut child, remaining) {
        Some(status) => match status.signal() {
            Some(signal) => Exit::Signal(signal),
            None => Exit::Code(status.code().unwrap_or(-1)),
        },
        None => {
            // The child may have exited in the meantime.
            let _ = child.kill();
            Exit::Hung { killed: wait(&mut child, limits.kill).is_some() }
        }
    };
    ChildResult { exit, stderr: stderr.map(StderrTail::take).unwrap_or_default() }
}

/// Passes lines to `on_line` until end of output or a time limit. Returns the deadline for the
/// exit.
fn read_lines(
    child: &mut Child,
    end: Instant,
    limits: Limits,
    interrupted: &dyn Fn() -> bool,
    lines: &Receiver<String>,
    on_line: &mut impl FnMut(&str),
) -> Instant {
    let mut deadline = end.min(Instant::now() + limits.first());
    let mut exited = false;
    loop {
        let remaining = deadline.saturating_duration_since(Instant::now());
        match lines.recv_timeout(remaining.min(POLL_INTERVAL)) {
            Ok(line) => {
                on_line(&line);
                if let (Some(silence), false) = (limits.silence, exited) {
                    deadline = end.min(Instant::now() + silence);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return deadline,
            Err(RecvTimeoutError::Timeout) if remaining.is_zero() || interrupted() => return deadline,
            Err(RecvTimeoutError::Timeout) if !exited && !matches!(child.try_wait(), Ok(None)) => {
                exited = true;
                deadline = deadline.min(Instant::now() + DRAIN_TIMEOUT);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The lines of standard output; invalid UTF-8 is replaced.
fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Waits for the exit; `None` if the process does not exit in time.
fn wait(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + time;
    let mut pause = Duration::from_micros(200);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => {
                thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
            Ok(None) | Err(_) => return None,
        }
    }
}

/// Collects the end of standard error.
struct StderrTail {
    tail: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl StderrTail {
    fn listen(mut stderr: ChildStderr) -> Self {
        let tail = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = mpsc::channel();
        let shared = Arc::clone(&tail);
        thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                let mut tail = shared.lock().unwrap_or_else(PoisonError::into_inner);
                tail.extend_from_slice(&chunk[..count]);
                let surplus = tail.len().saturating_sub(STDERR_TAIL);
                tail.drain(..surplus);
            }
            // The receiver may already have timed out.
            let _ = sender.send(());
        });
        Self { tail, closed }
    }

    /// The output so far, or all of it if the pipe is closed shortly.
    fn take(self) -> String {
        let _ = self.closed.recv_timeout(DRAIN_TIMEOUT);
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&tail).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: u64) -> (ChildResult, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let limits = Limits { total: Duration::from_secs(seconds), silence: None, kill: Duration::from_secs(60) };
        let mut output = String::new();
        let child = supervise(command, limits, &|| false, |line| output.push_str(line));
        (child, output)
    }

    #[test]
    fn exit_code_signal_and_hang_are_distinguished() {
        let (child, output) = shell("echo hello; echo sorry >&2; exit 3", 60);
        assert_eq!((child.exit, child.stderr.as_str(), output.as_str()), (Exit::Code(3), "sorry\n", "hello"));
        assert_eq!(shell("kill -11 $$", 60).0.exit, Exit::Signal(11));
        assert_eq!(shell("exec sleep 600", 0).0.exit, Exit::Hung { killed: true });
        // More than the capacity of a pipe.
        let (child, output) = shell("head -c 1000000 /dev/zero", 60);
        assert_eq!((child.exit, output.len()), (Exit::Code(0), 1_000_000));
        let limits = Limits { total: Duration::ZERO, silence: None, kill: Duration::ZERO };
        assert!(matches!(supervise(Command::new("/nonexistent"), limits, &|| false, |_| {}).exit, Exit::NotStarted(_)));
    }

    #[test]
    fn each_line_restarts_the_silence_limit() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; sleep 1; echo two; sleep 1; echo three; exec sleep 600"]);
        let (seconds, silence) = (Duration::from_secs, Some(Duration::from_millis(1800)));
        let mut lines_seen = Vec::new();
        let limits = Limits { total: seconds(600), silence, kill: seconds(60) };
        let child = supervise(command, limits, &|| false, |line| lines_seen.push(line.to_owned()));
        assert_eq!(
            (child.exit, &lines_seen[..]),
            (Exit::Hung { killed: true }, &["one", "two", "three"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn a_grandchild_that_holds_the_pipes_does_not_delay_the_result() {
        // The background process keeps both pipes open.
        let (child, output) = shell("{ sleep 20; echo late; echo late >&2; } & echo done; echo words >&2", 60);
        assert_eq!((child.exit, child.stderr.as_str(), output.as_str()), (Exit::Code(0), "words\n", "done"));
    }
}
