//! When commands ran on the device: asked for by a submission, told by the driver, kept in a [`Profile`].
//!
//! A submission with [`Submit::profile`](crate::Submit::profile) gives one [`Record`] for each command that did something:
//! barriers and dispatches of an empty grid give none, nor do reads and writes of memory that the host reaches itself.
//! Devices that cannot tell refuse such submissions ([`Device::profiles`](crate::Device::profiles)). Without a profile nothing is measured, and nothing is paid.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::command::Command;
use crate::sync::{Mutex, lock};

/// What a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A kernel.
    Dispatch,
    /// A fill.
    Fill,
    /// A copy, also one of [`Queue::read`](crate::Queue::read) and [`Queue::write`](crate::Queue::write).
    Copy,
    /// An update.
    Update,
}

impl Operation {
    /// One word for tables.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Fill => "fill",
            Self::Copy => "copy",
            Self::Update => "update",
        }
    }

    /// What a command is; `None` for barriers.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Dispatch(_) => Some(Self::Dispatch),
            Command::Fill { .. } => Some(Self::Fill),
            Command::Copy { .. } => Some(Self::Copy),
            Command::Update { .. } => Some(Self::Update),
            Command::Barrier => None,
        }
    }
}

/// When one command ran. Times are of the device's clock, mapped to the host's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it was.
    pub operation: Operation,
    /// The kernel's name, or the operation's.
    pub name: Arc<str>,
    /// Index of the command in its recording.
    pub command: usize,
    /// Label of the submission, or of its command buffer.
    pub label: Option<Arc<str>>,
    /// Index of the queue in the device.
    pub queue: usize,
    /// When it began.
    pub start: Instant,
    /// When it ended, not before it began.
    pub end: Instant,
}

impl Record {
    /// How long it ran.
    pub fn duration(&self) -> Duration {
        self.end.saturating_duration_since(self.start)
    }
}

/// Collects records of any number of submissions, of several devices too. Cheap to clone; clones share the records.
#[derive(Clone, Debug)]
pub struct Profile {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    began: Instant,
    records: Mutex<Vec<Record>>,
}

impl Default for Profile {
    fn default() -> Self {
        Self { inner: Arc::new(Inner { began: Instant::now(), records: Mutex::new(Vec::new()) }) }
    }
}

impl Profile {
    /// An empty one, which begins now.
    pub fn new() -> Self {
        Self::default()
    }

    /// When it began: records are shown as distances from here.
    pub fn began(&self) -> Instant {
        self.inner.began
    }

    /// Takes out the records so far, by their starts. Those of a submission are there once it has signalled.
    pub fn take(&self) -> Vec<Record> {
        let mut records = std::mem::take(&mut *lock(&self.inner.records));
        records.sort_by_key(|record| record.start);
        records
    }

    /// Adds those of one submission.
    pub(crate) fn add(&self, records: Vec<Record>) {
        lock(&self.inner.records).extend(records);
    }
}

/// What a driver tells of one command. One that took several steps is told from the start of the first to the end of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Index of the command in the recording.
    pub command: usize,
    /// When it began.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
}

/// Spans of steps as spans of commands, by command: steps of the same one are joined.
pub fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.command);
    spans.dedup_by(|next, kept| {
        let same = next.command == kept.command;
        if same {
            (kept.start, kept.end) = (kept.start.min(next.start), kept.end.max(next.end));
        }
        same
    });
    spans
}

/// A device's clock as the host's, by one pair of readings: for drivers whose clock runs at a known rate.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    instant: Instant,
    ticks: u64,
    nanoseconds_per_tick: f64,
}

impl Clock {
    /// Reads both clocks a few times and keeps the pair that was read in the shortest time. `None` if the device's cannot be
    /// read.
    pub fn read(nanoseconds_per_tick: f64, mut ticks: impl FnMut() -> Option<u64>) -> Option<Self> {
        let mut best: Option<(Duration, Self)> = None;
        for _ in 0..3 {
            let before = Instant::now();
            let ticks = ticks()?;
            let window = before.elapsed();
            if best.is_none_or(|(shortest, _)| window < shortest) {
                best = Some((window, Self { instant: before + window / 2, ticks, nanoseconds_per_tick }));
            }
        }
        best.map(|(_, clock)| clock)
    }

    /// A time of the device's clock.
    pub fn instant(&self, ticks: u64) -> Instant {
        let distance = |ticks: u64| Duration::from_nanos((ticks as f64 * self.nanoseconds_per_tick) as u64);
        if ticks >= self.ticks {
            self.instant + distance(ticks - self.ticks)
        } else {
            // A time before the host's clock began cannot be said, and is no time of this process.
            self.instant.checked_sub(distance(self.ticks - ticks)).unwrap_or(self.instant)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_one_command_become_one_span() {
        let zero = Instant::now();
        let at = |command, start, end| {
            let time = |micros| zero + Duration::from_micros(micros);
            Span { command, start: time(start), end: time(end) }
        };
        assert_eq!(joined(vec![at(2, 5, 6), at(0, 1, 3), at(2, 4, 5), at(2, 7, 9)]), [at(0, 1, 3), at(2, 4, 9)]);
        assert_eq!(joined(Vec::new()), []);
    }

    #[test]
    fn a_clock_is_mapped_both_ways_from_its_reading() {
        let clock = Clock::read(10.0, || Some(1000)).expect("it can be read");
        assert_eq!(clock.instant(1100) - clock.instant(1000), Duration::from_micros(1));
        assert_eq!(clock.instant(1000) - clock.instant(900), Duration::from_micros(1));
        assert!(Clock::read(10.0, || None).is_none());
    }

    #[test]
    fn records_come_by_their_starts_and_once() {
        let profile = Profile::new();
        let record = |micros| Record {
            operation: Operation::Fill,
            name: "fill".into(),
            command: 0,
            label: None,
            queue: 0,
            start: profile.began() + Duration::from_micros(micros),
            end: profile.began() + Duration::from_micros(micros + 3),
        };
        profile.add(vec![record(5), record(1)]);
        profile.clone().add(vec![record(2)]);
        assert_eq!(profile.take(), [record(1), record(2), record(5)]);
        assert_eq!(profile.take(), []);
        assert_eq!(record(1).duration(), Duration::from_micros(3));
    }
}
