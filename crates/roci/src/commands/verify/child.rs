//! The process that checks one route: started, listened to, and ended if it does not end itself.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::report::{Event, RouteOutcome, RouteReport};
use super::{Fault, Options};
use crate::cli::DriverArgs;
use crate::interrupt;
use crate::printer::one_line;

/// How long a process that was killed may take to end. One that waits inside the kernel's driver may never.
const LAST_BREATH: Duration = Duration::from_secs(5);
/// How often Ctrl-C is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of standard error that are kept.
const LAST_WORDS: usize = 2048;

/// Checks a route; `tell` hears of every check that begins.
pub(super) fn check(uri: &str, options: &Options, drivers: &DriverArgs, mut tell: impl FnMut(&str)) -> RouteReport {
    let started = Instant::now();
    let mut report = RouteReport::new(uri);
    match start(uri, options.fault, drivers) {
        Ok(child) => watch(child, options.deadline, &mut report, &mut tell),
        Err(error) => {
            let error = format!("no process can be started for it: {error}");
            report.outcome = RouteOutcome::NotOpened { error, hint: None };
        }
    }
    report.end(started.elapsed());
    report
}

fn start(uri: &str, fault: Option<Fault>, drivers: &DriverArgs) -> std::io::Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["verify-route", "--json", "--color=never"]);
    for path in &drivers.amdgpu_libhsa_search_path {
        command.arg("--amdgpu-libhsa-search-path").arg(path);
    }
    if let Some(fault) = fault.as_ref().and_then(clap::ValueEnum::to_possible_value) {
        command.arg("--fault").arg(fault.get_name());
    }
    // A name that starts with a dash is no option.
    command.arg("--").arg(uri);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// Hears what the process says until it ends or its time is over.
fn watch(mut child: Child, deadline: Duration, report: &mut RouteReport, tell: &mut dyn FnMut(&str)) {
    let until = Instant::now() + deadline;
    let words = child.stderr.take().map(last_words);
    let (sender, events) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        // It ends with the process, or with this one if that cannot be ended.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Ok(event) = serde_json::from_str::<Event>(&line)
                    && sender.send(event).is_err()
                {
                    break;
                }
            }
        });
    }
    let mut done = false;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        match events.recv_timeout(left.min(LOOK)) {
            Ok(event) => {
                if let Event::Begins { check } = &event {
                    tell(check);
                }
                done |= matches!(event, Event::Done | Event::NotOpened { .. });
                report.take(event);
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if left.is_zero() || interrupt::asked() => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    // Its output is closed or its time is over; it may still hang in what it does at its end.
    let left = if interrupt::asked() { LOOK } else { until.saturating_duration_since(Instant::now()).max(LOOK) };
    let ended = wait(&mut child, left);
    match ended {
        Some(status) if done && status.signal().is_none() => {}
        Some(status) => {
            report.outcome = died(status, report.under_way.clone(), words.and_then(|words| words.join().ok()))
        }
        None => {
            // It may have ended this moment.
            let _ = child.kill();
            let killed = wait(&mut child, LAST_BREATH).is_some();
            let check = report.under_way.clone().or_else(|| done.then(|| "its end".into()));
            report.outcome = RouteOutcome::Hangs { check, after_seconds: deadline.as_secs_f64(), killed };
        }
    }
}

/// How the process ended, if it does in time.
fn wait(child: &mut Child, time: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + time;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

fn died(status: ExitStatus, check: Option<String>, words: Option<String>) -> RouteOutcome {
    let reason = match (status.signal(), status.code()) {
        (Some(signal), _) => format!("ended by {}", describe(signal)),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".into(),
    };
    let last_words = words.map(|words| one_line(&words)).filter(|words| !words.is_empty());
    RouteOutcome::Died { check, signal: status.signal(), reason, last_words }
}

/// A signal in words; the numbers are Linux's on x86-64 and AArch64.
fn describe(signal: i32) -> String {
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

/// Keeps the end of what is written to standard error.
fn last_words(mut stderr: ChildStderr) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        let mut chunk = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut chunk) {
            kept.extend_from_slice(&chunk[..count]);
            let surplus = kept.len().saturating_sub(LAST_WORDS);
            kept.drain(..surplus);
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}
