//! Timing of commands on the device: requested per submission, measured by the driver, collected in
//! a [`Profile`].
//!
//! A submission with [`Submit::profile`](crate::Submit::profile) adds one [`CommandRecord`] per
//! executed command. Barriers, dispatches of an empty grid, and reads and writes of host-visible
//! memory add none. Devices without support fail such submissions
//! ([`Device::supports_profiling`](crate::Device::supports_profiling)). Without a profile, nothing
//! is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::command::Command;
use roci_base::sync::{Mutex, lock};

/// What a recorded command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommandKind {
    /// A kernel.
    Dispatch,
    /// A repeated 32-bit pattern.
    Fill,
    /// A copy, including those of [`Queue::read`](crate::Queue::read) and
    /// [`Queue::write`](crate::Queue::write).
    Copy,
    /// Bytes that the recording contains.
    Update,
}

impl CommandKind {
    /// Name for tables.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Dispatch => "dispatch",
            Self::Fill => "fill",
            Self::Copy => "copy",
            Self::Update => "update",
        }
    }

    /// Kind of a command; `None` for barriers.
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

/// Timing of one command, in device time mapped to the host clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandRecord {
    /// Whether it is a kernel, a fill, a copy or an update.
    pub kind: CommandKind,
    /// Name of the kernel or operation.
    pub name: Arc<str>,
    /// Index of the command in its recording.
    pub command: usize,
    /// Label of the submission, else of its command buffer.
    pub label: Option<Arc<str>>,
    /// Index of the device's queue.
    pub queue: usize,
    /// Start time.
    pub start: Instant,
    /// End time, not before `start`.
    pub end: Instant,
}

impl CommandRecord {
    /// Run time.
    pub fn duration(&self) -> Duration {
        self.end.saturating_duration_since(self.start)
    }
}

/// Collects records of any number of submissions to any devices. Cheap to clone; clones share the
/// records.
#[derive(Clone, Debug)]
pub struct Profile {
    inner: Arc<ProfileInner>,
}

#[derive(Debug)]
struct ProfileInner {
    began: Instant,
    records: Mutex<Vec<CommandRecord>>,
}

impl Default for Profile {
    fn default() -> Self {
        Self { inner: Arc::new(ProfileInner { began: Instant::now(), records: Mutex::new(Vec::new()) }) }
    }
}

impl Profile {
    /// An empty profile that starts now.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creation time, the origin for displayed times.
    pub fn began(&self) -> Instant {
        self.inner.began
    }

    /// Removes and returns all records, sorted by start time. A submission's records are available
    /// once it has signaled.
    pub fn take(&self) -> Vec<CommandRecord> {
        let mut records = std::mem::take(&mut *lock(&self.inner.records));
        records.sort_by_key(|record| record.start);
        records
    }

    /// Adds the records of one submission.
    pub(crate) fn add(&self, records: Vec<CommandRecord>) {
        lock(&self.inner.records).extend(records);
    }
}

/// Start and end of one command, as reported by a driver. A command that a driver splits into
/// several steps spans from the start of the first to the end of the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandTiming {
    /// Index of the command in the recording.
    pub command: usize,
    /// Start time.
    pub start: Instant,
    /// End time.
    pub end: Instant,
}

/// Merges the timings of steps of the same command. Sorted by command.
pub fn merge_timings(mut spans: Vec<CommandTiming>) -> Vec<CommandTiming> {
    spans.sort_by_key(|span| span.command);
    spans.dedup_by(|next, previous| {
        let same = next.command == previous.command;
        if same {
            (previous.start, previous.end) = (previous.start.min(next.start), previous.end.max(next.end));
        }
        same
    });
    spans
}

/// Maps a device clock of known frequency to the host clock, based on one pair of readings.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    instant: Instant,
    ticks: u64,
    nanoseconds_per_tick: f64,
}

impl Clock {
    /// Reads both clocks three times and keeps the pair with the shortest reading time. Returns
    /// `None` if the device clock cannot be read.
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

    /// Converts a time of the device clock.
    pub fn instant(&self, ticks: u64) -> Instant {
        let distance = |ticks: u64| Duration::from_nanos((ticks as f64 * self.nanoseconds_per_tick) as u64);
        if ticks >= self.ticks {
            self.instant + distance(ticks - self.ticks)
        } else {
            // Times before the epoch of the host clock are not representable.
            self.instant.checked_sub(distance(self.ticks - ticks)).unwrap_or(self.instant)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_of_one_command_are_merged() {
        let zero = Instant::now();
        let at = |command, start, end| {
            let time = |micros| zero + Duration::from_micros(micros);
            CommandTiming { command, start: time(start), end: time(end) }
        };
        assert_eq!(merge_timings(vec![at(2, 5, 6), at(0, 1, 3), at(2, 4, 5), at(2, 7, 9)]), [at(0, 1, 3), at(2, 4, 9)]);
        assert_eq!(merge_timings(Vec::new()), []);
    }

    #[test]
    fn device_times_around_the_calibration_are_mapped() {
        let clock = Clock::read(10.0, || Some(1000)).expect("it can be read");
        assert_eq!(clock.instant(1100) - clock.instant(1000), Duration::from_micros(1));
        assert_eq!(clock.instant(1000) - clock.instant(900), Duration::from_micros(1));
        assert!(Clock::read(10.0, || None).is_none());
    }

    #[test]
    fn records_are_sorted_by_start_and_taken_once() {
        let profile = Profile::new();
        let record = |micros| CommandRecord {
            kind: CommandKind::Fill,
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
