//! The processes that probe: each device has one at a time, and a fresh one for the rest when it dies or hangs.

use std::time::Duration;

use super::event::{self, Event, Identity};
use super::outcome::{Outcome, Verdict};
use crate::child::{self, End, Left, Limits};
use crate::cli::DriverArgs;
use crate::interrupt;

/// Bytes that a process may take.
const MEMORY: u64 = 6 << 30;
/// A device that ends so many processes has shown enough.
const MOST_DEATHS: usize = 8;
/// Each of these costs the whole deadline.
const MOST_HANGS: usize = 3;
/// How long a process that was killed may take to end.
const DEATH: Duration = Duration::from_secs(5);
/// How long a device may take in all: the sum of deadlines that nobody reaches.
const OVER: Duration = Duration::from_secs(3600);

/// What is heard of a device.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Heard {
    /// It is open.
    Opened(Identity),
    /// It cannot be used, and why; the rest is whether a process died of it.
    NotOpened { error: String, died: bool },
    /// A probe begins.
    Begins(String),
    /// A probe has ended, so and after so many seconds.
    Ended { probe: String, verdict: Verdict, seconds: f64 },
}

/// What one process has said so far.
#[derive(Debug, Default)]
struct Course {
    opened: bool,
    under_way: Option<String>,
    ended: usize,
    done: bool,
    refused: bool,
    hung: bool,
}

impl Course {
    fn take(&mut self, event: Event, rest: &mut Vec<String>, tell: &mut dyn FnMut(Heard)) {
        match event {
            Event::Opened(identity) => {
                self.opened = true;
                tell(Heard::Opened(identity));
            }
            Event::NotOpened { error, hint } => {
                self.refused = true;
                let hint = hint.map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
                tell(Heard::NotOpened { error: format!("{error}{hint}"), died: false });
            }
            Event::Begins { probe } => {
                self.under_way = Some(probe.clone());
                tell(Heard::Begins(probe));
            }
            Event::Ended { probe, verdict, seconds } => {
                rest.retain(|name| *name != probe);
                (self.under_way, self.ended) = (None, self.ended + 1);
                self.hung |= verdict.outcome == Outcome::Hangs;
                tell(Heard::Ended { probe, verdict, seconds });
            }
            Event::Lost => {}
            Event::Done => self.done = true,
        }
    }
}

/// Tries all probes on a device; `tell` hears of everything.
pub(super) fn run(uri: &str, probes: &[String], deadline: Duration, drivers: &DriverArgs, tell: &mut dyn FnMut(Heard)) {
    let mut rest = probes.to_vec();
    let (mut deaths, mut hangs) = (0, 0);
    // The device gives up first, as it knows which kernel it was.
    let (timeout, memory) = ((deadline / 2).as_secs_f64().to_string(), MEMORY.to_string());
    let limits = Limits { run: OVER, silence: Some(deadline), death: DEATH };
    while !rest.is_empty() && !interrupt::asked() {
        let asked = rest.clone();
        let mut arguments = vec!["matrix-probe", "--color=never", "--timeout", &timeout, "--memory", &memory];
        arguments.extend(["--", uri]);
        arguments.extend(asked.iter().map(String::as_str));
        let mut course = Course::default();
        let left = child::roci(&arguments, drivers, limits, |line| {
            if let Some(event) = event::parse(line) {
                course.take(event, &mut rest, tell);
            }
        });
        // Ctrl-C ends the process too, which says nothing about the device.
        if interrupt::asked() || course.refused || (course.done && rest.is_empty()) {
            return;
        }
        let hung = matches!(left.end, End::Hung { .. });
        match course.under_way.take() {
            Some(probe) => {
                let verdict = died(&left, deadline);
                rest.retain(|name| *name != probe);
                tell(Heard::Ended { probe, verdict, seconds: if hung { deadline.as_secs_f64() } else { 0.0 } });
            }
            // Without a probe to blame it is the device itself, or its end.
            None if course.ended == 0 => {
                let error = format!("the process that opens it {}", words(&left));
                return tell(Heard::NotOpened { error, died: true });
            }
            // What nobody knows would be asked for again and again.
            None if course.done => return,
            None => {}
        }
        hangs += usize::from(hung || course.hung);
        deaths += 1;
        if deaths >= MOST_DEATHS || hangs >= MOST_HANGS {
            for probe in rest {
                let why = format!("left out: {deaths} processes ended on this device before");
                tell(Heard::Ended { probe, verdict: Verdict::new(Outcome::NotTried, why), seconds: 0.0 });
            }
            return;
        }
    }
}

/// How the process ended that a probe ran in.
fn died(left: &Left, deadline: Duration) -> Verdict {
    match left.end {
        End::Hung { killed } => {
            let rest = if killed { "" } else { ", and its process cannot be ended: restart the machine" };
            Verdict::new(Outcome::Hangs, format!("no word within {} s{rest}", deadline.as_secs_f64()))
        }
        _ => Verdict::new(Outcome::Crashes, words(left)),
    }
}

/// How it ended and what it said last.
fn words(left: &Left) -> String {
    match last_words(&left.last_words) {
        None => left.end.describe(),
        Some(words) => format!("{}: {words}", left.end.describe()),
    }
}

/// The last lines that say something. A panic's place and reason stand before its backtrace.
fn last_words(text: &str) -> Option<String> {
    const MOST: usize = 300;
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let panic = lines.iter().rposition(|line| line.contains(" panicked at "));
    let from = panic.unwrap_or(lines.len().saturating_sub(2));
    let last = lines[from..].iter().take(2).copied().collect::<Vec<_>>().join(" ");
    let short: String = last.chars().take(MOST).collect();
    (!short.is_empty()).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(end: End, words: &str) -> Left {
        Left { end, last_words: words.into() }
    }

    #[test]
    fn ends_become_verdicts() {
        let limit = Duration::from_secs(7);
        let crash = died(&left(End::Killed(11), "one\ntwo\nlast\n"), limit);
        assert_eq!(crash.outcome, Outcome::Crashes);
        assert_eq!(crash.detail.as_deref(), Some("ended by signal 11 (SIGSEGV, a wrong address): two last"));
        let panic = "thread 'main' panicked at a.rs:1:\nindex out of range\nnote: run with `RUST_BACKTRACE=1`\n";
        let crash = died(&left(End::Ended(101), panic), limit);
        assert!(crash.detail.is_some_and(|text| text.ends_with("a.rs:1: index out of range")));
        let hang = died(&left(End::Hung { killed: true }, ""), limit);
        assert_eq!((hang.outcome, hang.detail.as_deref()), (Outcome::Hangs, Some("no word within 7 s")));
        assert_eq!(last_words(" \n"), None);
    }

    #[test]
    fn a_course_knows_what_is_under_way_and_what_is_left() {
        let (mut course, mut rest, mut heard) = (Course::default(), vec!["a".to_owned(), "b".to_owned()], Vec::new());
        let mut tell = |what| heard.push(what);
        course.take(Event::Begins { probe: "a".into() }, &mut rest, &mut tell);
        assert_eq!(course.under_way.as_deref(), Some("a"));
        let verdict = Verdict::new(Outcome::Hangs, "so");
        let ended = Event::Ended { probe: "a".into(), verdict, seconds: 0.5 };
        course.take(ended, &mut rest, &mut tell);
        course.take(Event::Lost, &mut rest, &mut tell);
        assert_eq!((course.under_way, course.ended, course.hung, &rest[..]), (None, 1, true, &["b".to_owned()][..]));
        assert_eq!(heard.len(), 2);
    }
}
