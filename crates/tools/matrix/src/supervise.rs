//! Supervises the worker processes: one at a time per device, and a new one for the remaining
//! probes after a crash or hang.

use std::time::Duration;

use roci_probe::child::{ChildResult, Exit, Launcher, Limits};
use roci_probe::{Outcome, Verdict};

use super::event::{Event, Identity};

/// Memory limit of a worker in bytes.
const MEMORY_LIMIT: u64 = 6 << 30;
/// Maximum number of crashed workers per device. After that, its remaining probes are skipped.
const MAX_DEATHS: usize = 8;
/// Maximum number of hangs per device, each of which takes the whole timeout.
const MAX_HANGS: usize = 3;
/// How long a killed worker may take to exit.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
/// Total time limit of a device.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(3600);

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DeviceProgress {
    Opened(Identity),
    /// The device cannot be opened. `died`: whether the worker died.
    NotOpened {
        error: String,
        died: bool,
    },
    /// A probe begins.
    Begins(String),
    Ended {
        probe: String,
        verdict: Verdict,
        seconds: f64,
    },
}

/// The state of one worker, updated by its events.
#[derive(Debug, Default)]
struct WorkerState {
    /// The probe in progress.
    running: Option<String>,
    /// Number of probes that ended.
    ended: usize,
    /// All probes ended.
    done: bool,
    /// The device could not be opened.
    refused: bool,
    /// A probe reported a hang.
    hung: bool,
}

impl WorkerState {
    fn apply(&mut self, event: Event, rest: &mut Vec<String>, on_progress: &mut dyn FnMut(DeviceProgress)) {
        match event {
            Event::Opened(identity) => on_progress(DeviceProgress::Opened(identity)),
            Event::NotOpened { error, hint } => {
                self.refused = true;
                let hint = hint.map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                on_progress(DeviceProgress::NotOpened { error: format!("{error}{hint}"), died: false });
            }
            Event::Begins { probe } => {
                self.running = Some(probe.clone());
                on_progress(DeviceProgress::Begins(probe));
            }
            Event::Ended { probe, verdict, seconds } => {
                rest.retain(|name| *name != probe);
                (self.running, self.ended) = (None, self.ended + 1);
                self.hung |= verdict.outcome == Outcome::Hangs;
                on_progress(DeviceProgress::Ended { probe, verdict, seconds });
            }
            Event::Lost => {}
            Event::Done => self.done = true,
        }
    }
}

/// Runs all probes on a device. `timeout` is the time limit of a probe.
pub(crate) fn run(
    uri: &str,
    probes: &[String],
    timeout: Duration,
    launcher: &Launcher<'_>,
    on_progress: &mut dyn FnMut(DeviceProgress),
) {
    let mut rest = probes.to_vec();
    let (mut deaths, mut hangs) = (0, 0);
    // The device times out first, as it can name the kernel.
    let (submission, memory) = ((timeout / 2).as_secs_f64().to_string(), MEMORY_LIMIT.to_string());
    let limits = Limits { total: DEVICE_TIMEOUT, silence: Some(timeout), kill: KILL_TIMEOUT };
    while !rest.is_empty() && !launcher.is_interrupted() {
        let requested = rest.clone();
        let mut arguments = vec!["matrix-probe", "--color=never", "--timeout", &submission, "--memory", &memory];
        arguments.extend(["--", uri]);
        arguments.extend(requested.iter().map(String::as_str));
        let mut worker = WorkerState::default();
        let child = launcher.run(&arguments, limits, |line| {
            if let Some(event) = Event::parse(line) {
                worker.apply(event, &mut rest, on_progress);
            }
        });
        // Ctrl-C also kills the worker, which says nothing about the device.
        if launcher.is_interrupted() || worker.refused || (worker.done && rest.is_empty()) {
            return;
        }
        let hung = matches!(child.exit, Exit::Hung { .. });
        match worker.running.take() {
            Some(probe) => {
                let verdict = verdict(&child, timeout);
                rest.retain(|name| *name != probe);
                let seconds = if hung { timeout.as_secs_f64() } else { 0.0 };
                on_progress(DeviceProgress::Ended { probe, verdict, seconds });
            }
            // No probe was running: opening or closing the device failed.
            None if worker.ended == 0 => {
                let error = format!("the process that opens it {}", describe(&child));
                return on_progress(DeviceProgress::NotOpened { error, died: true });
            }
            // The worker does not know the remaining probes; it would skip them again.
            None if worker.done => return,
            None => {}
        }
        hangs += usize::from(hung || worker.hung);
        deaths += 1;
        if deaths >= MAX_DEATHS || hangs >= MAX_HANGS {
            for probe in rest {
                let reason = format!("skipped: {deaths} earlier probe processes crashed or hung on this device");
                let verdict = Verdict::new(Outcome::NotTried, reason);
                on_progress(DeviceProgress::Ended { probe, verdict, seconds: 0.0 });
            }
            return;
        }
    }
}

/// The verdict of a probe whose process died or hung.
fn verdict(child: &ChildResult, timeout: Duration) -> Verdict {
    match child.exit {
        Exit::Hung { killed } => {
            let rest = if killed { "" } else { ", and its process cannot be killed: restart the machine" };
            Verdict::new(Outcome::Hangs, format!("no response within {} s{rest}", timeout.as_secs_f64()))
        }
        _ => Verdict::new(Outcome::Crashes, describe(child)),
    }
}

/// How the process ended, and the end of its standard error, as text.
fn describe(child: &ChildResult) -> String {
    match last_lines(&child.stderr) {
        None => child.exit.describe(),
        Some(lines) => format!("{}: {lines}", child.exit.describe()),
    }
}

/// The last non-empty lines. Of a panic, the lines with location and message.
fn last_lines(text: &str) -> Option<String> {
    const MAX_CHARS: usize = 300;
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().rposition(|line| line.contains(" panicked at "));
    let from = panic.unwrap_or(lines.len().saturating_sub(2));
    let last = lines[from..].iter().take(2).copied().collect::<Vec<_>>().join(" ");
    let short: String = last.chars().take(MAX_CHARS).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(exit: Exit, stderr: &str) -> ChildResult {
        ChildResult { exit, stderr: stderr.into() }
    }

    #[test]
    fn exits_become_verdicts() {
        let limit = Duration::from_secs(7);
        let crash = verdict(&child(Exit::Signal(11), "one\ntwo\nlast\n"), limit);
        assert_eq!(crash.outcome, Outcome::Crashes);
        assert_eq!(crash.detail.as_deref(), Some("ended by signal 11 (SIGSEGV, segmentation fault): two last"));
        let panic = "thread 'main' panicked at a.rs:1:\nindex out of range\nnote: run with `RUST_BACKTRACE=1`\n";
        let crash = verdict(&child(Exit::Code(101), panic), limit);
        assert!(crash.detail.is_some_and(|text| text.ends_with("a.rs:1: index out of range")));
        let hang = verdict(&child(Exit::Hung { killed: true }, ""), limit);
        assert_eq!((hang.outcome, hang.detail.as_deref()), (Outcome::Hangs, Some("no response within 7 s")));
        assert_eq!(last_lines(" \n"), None);
    }

    #[test]
    fn the_state_knows_the_running_probe_and_the_remaining_ones() {
        let mut worker = WorkerState::default();
        let (mut rest, mut progress) = (vec!["a".to_owned(), "b".to_owned()], Vec::new());
        let mut on_progress = |event| progress.push(event);
        worker.apply(Event::Begins { probe: "a".into() }, &mut rest, &mut on_progress);
        assert_eq!(worker.running.as_deref(), Some("a"));
        let verdict = Verdict::new(Outcome::Hangs, "so");
        let ended = Event::Ended { probe: "a".into(), verdict, seconds: 0.5 };
        worker.apply(ended, &mut rest, &mut on_progress);
        worker.apply(Event::Lost, &mut rest, &mut on_progress);
        assert_eq!((worker.running, worker.ended, worker.hung, &rest[..]), (None, 1, true, &["b".to_owned()][..]));
        assert_eq!(progress.len(), 2);
    }
}
