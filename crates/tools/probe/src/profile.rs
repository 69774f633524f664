//! The time of kernels and copies by the device's clock: sums by name, and every run.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use roci_hal::Profile;
use roci_hal::profile::CommandRecord;
use serde::Serialize;

/// Times of the commands that one device ran.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DeviceProfile {
    /// URI of the device.
    pub device: String,
    /// From the start of the first run to the end of the last.
    pub span_ns: u64,
    /// Time in which at least one kernel or copy ran.
    pub busy_ns: u64,
    /// Sums by operation and name, the longest first.
    pub kernels: Vec<KernelTime>,
    /// Every run, ordered by start.
    pub records: Vec<ProfiledCommand>,
}

/// All runs of one kernel, or of one kind of transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct KernelTime {
    /// Kind of command, such as `dispatch`.
    pub operation: &'static str,
    /// Name of the kernel, or of the transfer.
    pub name: String,
    /// Number of runs.
    pub count: u64,
    /// Total time of the runs.
    pub total_ns: u64,
    /// Mean time of a run.
    pub mean_ns: u64,
    /// Fraction of the total time of all kernels.
    pub share: f64,
}

/// One run. Times count from the opening of the device.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct ProfiledCommand {
    /// Kind of command, such as `dispatch`.
    pub operation: &'static str,
    /// Name of the kernel, or of the transfer.
    pub name: String,
    /// Index of the queue.
    pub queue: usize,
    /// Start of the run.
    pub start_ns: u64,
    /// End of the run.
    pub end_ns: u64,
}

impl DeviceProfile {
    /// Takes the records of a profile.
    pub fn take(device: &str, profile: &Profile) -> Self {
        let since = |time| nanoseconds(Instant::saturating_duration_since(&time, profile.began()));
        let run = |record: &CommandRecord| ProfiledCommand {
            operation: record.kind.describe(),
            name: record.name.to_string(),
            queue: record.queue,
            start_ns: since(record.start),
            end_ns: since(record.end),
        };
        let runs: Vec<_> = profile.take().iter().map(run).collect();
        let first = runs.iter().map(|run| run.start_ns).min().unwrap_or(0);
        let last = runs.iter().map(|run| run.end_ns).max().unwrap_or(0);
        let (busy_ns, kernels) = (busy(&runs), sums(&runs));
        Self { device: device.to_owned(), span_ns: last - first, busy_ns, kernels, records: runs }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Sums by operation and name, the longest first.
fn sums(runs: &[ProfiledCommand]) -> Vec<KernelTime> {
    let mut sums: BTreeMap<(&'static str, &str), (u64, u64)> = BTreeMap::new();
    for run in runs {
        let sum = sums.entry((run.operation, &run.name)).or_default();
        *sum = (sum.0 + 1, sum.1 + run.end_ns - run.start_ns);
    }
    let all: u64 = sums.values().map(|(_, total)| total).sum();
    let kernel = |((operation, name), (count, total)): ((&'static str, &str), (u64, u64))| KernelTime {
        operation,
        name: name.to_owned(),
        count,
        total_ns: total,
        mean_ns: total / count,
        share: total as f64 / all.max(1) as f64,
    };
    let mut kernels: Vec<_> = sums.into_iter().map(kernel).collect();
    kernels.sort_by_key(|kernel| std::cmp::Reverse(kernel.total_ns));
    kernels
}

/// The time in which at least one of them ran; `runs` must be ordered by start.
fn busy(runs: &[ProfiledCommand]) -> u64 {
    let (mut busy, mut until) = (0, 0);
    for run in runs {
        busy += run.end_ns.saturating_sub(run.start_ns.max(until));
        until = until.max(run.end_ns);
    }
    busy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, start_ns: u64, end_ns: u64) -> ProfiledCommand {
        ProfiledCommand { operation: "dispatch", name: name.into(), queue: 0, start_ns, end_ns }
    }

    #[test]
    fn runs_are_summed_by_name_and_overlap_counts_once() {
        let runs = [run("a", 0, 10), run("b", 5, 35), run("a", 40, 60), run("b", 45, 50)];
        let sums: Vec<_> =
            sums(&runs).into_iter().map(|sum| (sum.name, sum.count, sum.total_ns, sum.mean_ns)).collect();
        assert_eq!(sums, [("b".into(), 2, 35, 17), ("a".into(), 2, 30, 15)]);
        assert_eq!(busy(&runs), 55);
        assert_eq!((busy(&[]), super::sums(&[])), (0, Vec::new()));
    }
}
