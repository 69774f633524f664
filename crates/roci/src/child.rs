//! Runs roci once more, in a process of its own: what it starts may crash, hang or be killed, and this process goes on.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::cli::DriverArgs;
use crate::interrupt;

/// How often Ctrl-C and the end of the process are looked for while it says nothing.
const LOOK: Duration = Duration::from_millis(100);
/// How long what a process said is waited for after its end: one that it left behind may hold the pipe open.
const AFTERWARDS: Duration = Duration::from_millis(200);
/// Bytes of standard error that are kept.
const LAST_WORDS: usize = 8192;

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this code.
    Ended(i32),
    /// By a signal.
    Killed(i32),
    /// It did not end in time, or Ctrl-C came first; whether it could be ended then.
    Hung { killed: bool },
    /// It could not be started.
    NotStarted(String),
}

impl End {
    /// How it ended, in words that go on a sentence about it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Ended(code) => format!("ended with exit code {code}"),
            Self::Killed(signal) => format!("ended by {}", signal_name(*signal)),
            Self::Hung { .. } => "did not answer in time".into(),
            Self::NotStarted(reason) => format!("could not be started: {reason}"),
        }
    }
}

/// A signal in words; the numbers are Linux's on x86-64 and AArch64.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        4 => "SIGILL, a wrong instruction",
        6 => "SIGABRT, by its own decision",
        7 => "SIGBUS, memory that is not there",
        8 => "SIGFPE, a division by zero",
        9 => "SIGKILL, perhaps for want of memory",
        11 => "SIGSEGV, a wrong address",
        15 => "SIGTERM",
        _ => return format!("signal {signal}"),
    };
    format!("signal {signal} ({name})")
}

/// How long a child may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) run: Duration,
    /// Without a word on standard output, where that counts.
    pub(crate) silence: Option<Duration>,
    /// To die when it is killed. One that waits inside the kernel's driver may never.
    pub(crate) death: Duration,
}

impl Limits {
    /// Until the first word.
    fn first(self) -> Duration {
        self.silence.map_or(self.run, |silence| silence.min(self.run))
    }
}

/// What a child left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// How it ended.
    pub(crate) end: End,
    /// What it said last on standard error.
    pub(crate) last_words: String,
}

/// Runs roci with these arguments and the options of the drivers, for so long at most; `hear` gets every line that it
/// prints.
pub(crate) fn roci(arguments: &[&str], drivers: &DriverArgs, limits: Limits, hear: impl FnMut(&str)) -> Left {
    match std::env::current_exe() {
        Ok(program) => {
            let mut command = Command::new(program);
            command.args(options(drivers)).args(arguments);
            watch(command, limits, hear)
        }
        Err(error) => Left { end: End::NotStarted(error.to_string()), last_words: String::new() },
    }
}

/// The same, with its whole output.
pub(crate) fn roci_output(arguments: &[&str], drivers: &DriverArgs, limits: Limits) -> (Left, String) {
    let mut output = String::new();
    let left = roci(arguments, drivers, limits, |line| {
        output.push_str(line);
        output.push('\n');
    });
    (left, output)
}

/// Options that a child must have to find the same devices.
fn options(drivers: &DriverArgs) -> Vec<OsString> {
    let paths = drivers.amdgpu_libhsa_search_path.iter();
    paths.flat_map(|path| ["--amdgpu-libhsa-search-path".into(), path.into()]).collect()
}

/// Starts a process and hears what it says until it ends or its time is over.
fn watch(mut command: Command, limits: Limits, mut hear: impl FnMut(&str)) -> Left {
    let started = Instant::now();
    let (over, mut until) = (started + limits.run, started + limits.first());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Left { end: End::NotStarted(error.to_string()), last_words: String::new() },
    };
    // Pipes are read beside the wait: a child whose pipe is full does not end. The threads end with the process, or
    // with this one if that cannot be ended.
    let lines = child.stdout.take().map(lines);
    let words = child.stderr.take().map(LastWords::listen);
    if let Some(lines) = lines {
        until = hear_until(&mut child, over, limits, &lines, &mut hear);
    }
    // Its output is closed or its time is over; it may still hang in what it does at its end.
    let left = if interrupt::asked() { LOOK } else { until.saturating_duration_since(Instant::now()).max(LOOK) };
    let end = match wait(&mut child, left) {
        Some(status) => match status.signal() {
            Some(signal) => End::Killed(signal),
            None => End::Ended(status.code().unwrap_or(-1)),
        },
        None => {
            // It may have ended this moment.
            let _ = child.kill();
            End::Hung { killed: wait(&mut child, limits.death).is_some() }
        }
    };
    Left { end, last_words: words.map(LastWords::take).unwrap_or_default() }
}

/// Hears lines until there are none any more or the time is over; until when the process may go on.
fn hear_until(
    child: &mut Child,
    over: Instant,
    limits: Limits,
    lines: &Receiver<String>,
    hear: &mut impl FnMut(&str),
) -> Instant {
    let mut until = over.min(Instant::now() + limits.first());
    let mut gone = false;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match lines.recv_timeout(left.min(LOOK)) {
            Ok(line) => {
                hear(&line);
                if let (Some(silence), false) = (limits.silence, gone) {
                    until = over.min(Instant::now() + silence);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return until,
            Err(RecvTimeoutError::Timeout) if left.is_zero() || interrupt::asked() => return until,
            Err(RecvTimeoutError::Timeout) if !gone && !matches!(child.try_wait(), Ok(None)) => {
                gone = true;
                until = until.min(Instant::now() + AFTERWARDS);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The lines that a process writes; bytes that are no text are replaced.
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

/// How the process ended, if it does in time.
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

/// The end of what is written to standard error.
struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    closed: Receiver<()>,
}

impl LastWords {
    fn listen(mut stderr: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (sender, closed) = mpsc::channel();
        let shared = Arc::clone(&kept);
        thread::spawn(move || {
            let mut chunk = [0; 1024];
            while let Ok(count @ 1..) = stderr.read(&mut chunk) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..count]);
                let surplus = kept.len().saturating_sub(LAST_WORDS);
                kept.drain(..surplus);
            }
            // Whoever waited for it may have gone.
            let _ = sender.send(());
        });
        Self { kept, closed }
    }

    /// What was said until now, or until the pipe is closed, if that is soon.
    fn take(self) -> String {
        let _ = self.closed.recv_timeout(AFTERWARDS);
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, seconds: u64) -> (Left, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let limits = Limits { run: Duration::from_secs(seconds), silence: None, death: Duration::from_secs(60) };
        let mut output = String::new();
        let left = watch(command, limits, |line| output.push_str(line));
        (left, output)
    }

    #[test]
    fn every_end_is_told_apart() {
        let (left, output) = shell("echo hello; echo sorry >&2; exit 3", 60);
        assert_eq!((left.end, left.last_words.as_str(), output.as_str()), (End::Ended(3), "sorry\n", "hello"));
        assert_eq!(shell("kill -11 $$", 60).0.end, End::Killed(11));
        assert_eq!(shell("exec sleep 600", 0).0.end, End::Hung { killed: true });
        // More than a pipe holds.
        let (left, output) = shell("head -c 1000000 /dev/zero", 60);
        assert_eq!((left.end, output.len()), (End::Ended(0), 1_000_000));
        let limits = Limits { run: Duration::ZERO, silence: None, death: Duration::ZERO };
        assert!(matches!(watch(Command::new("/nowhere/at/all"), limits, |_| {}).end, End::NotStarted(_)));
    }

    #[test]
    fn every_word_gives_time() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; sleep 1; echo two; sleep 1; echo three; exec sleep 600"]);
        let (seconds, silence) = (Duration::from_secs, Some(Duration::from_millis(1800)));
        let mut words = Vec::new();
        let limits = Limits { run: seconds(600), silence, death: seconds(60) };
        let left = watch(command, limits, |line| words.push(line.to_owned()));
        assert_eq!(
            (left.end, &words[..]),
            (End::Hung { killed: true }, &["one", "two", "three"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn nobody_waits_for_what_a_child_leaves_behind() {
        // The process in the background holds both pipes open.
        let (left, output) = shell("{ sleep 20; echo late; echo late >&2; } & echo done; echo words >&2", 60);
        assert_eq!((left.end, left.last_words.as_str(), output.as_str()), (End::Ended(0), "words\n", "done"));
    }

    #[test]
    fn a_child_looks_for_libraries_where_this_one_does() {
        let drivers = DriverArgs { amdgpu_libhsa_search_path: vec!["/a".into(), "/b".into()] };
        let name = "--amdgpu-libhsa-search-path";
        assert_eq!(options(&drivers), [name, "/a", name, "/b"]);
        assert_eq!(options(&DriverArgs::default()), [""; 0]);
    }
}
