//! When kernels and copies ran on a device, by its own clock: a table of sums, and in JSON every run.

use std::collections::BTreeMap;
use std::time::Duration;

use roci_hal::profile::Record;
use serde::Serialize;

use crate::error::CliError;
use crate::printer::{Column, Printer};
use crate::units;

use super::Target;

/// What ran on one device.
#[derive(Serialize)]
pub(super) struct DeviceProfile {
    device: String,
    /// From the start of the first to the end of the last.
    span_ns: u64,
    /// The time in which something ran.
    busy_ns: u64,
    /// By name, the longest first.
    kernels: Vec<Kernel>,
    records: Vec<Run>,
}

/// All runs of one kernel, or of one kind of transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Kernel {
    operation: &'static str,
    name: String,
    count: u64,
    total_ns: u64,
    mean_ns: u64,
    /// Of the sum of all runs.
    share: f64,
}

/// One run. Times count from the opening of the device.
#[derive(Serialize)]
struct Run {
    operation: &'static str,
    name: String,
    queue: usize,
    start_ns: u64,
    end_ns: u64,
}

impl DeviceProfile {
    /// What was measured on a device; `None` if nothing was.
    pub(super) fn of(target: &Target) -> Option<Self> {
        let profile = target.profile.as_ref()?;
        let records = profile.take();
        let since = |time| nanoseconds(std::time::Instant::saturating_duration_since(&time, profile.began()));
        let run = |record: &Record| Run {
            operation: record.operation.describe(),
            name: record.name.to_string(),
            queue: record.queue,
            start_ns: since(record.start),
            end_ns: since(record.end),
        };
        let runs: Vec<_> = records.iter().map(run).collect();
        let first = runs.iter().map(|run| run.start_ns).min().unwrap_or(0);
        let last = runs.iter().map(|run| run.end_ns).max().unwrap_or(0);
        Some(Self {
            device: target.uri.clone(),
            span_ns: last - first,
            busy_ns: busy(&runs),
            kernels: sums(&runs),
            records: runs,
        })
    }

    /// Prints the sums.
    pub(super) fn print(&self, printer: &Printer) -> Result<(), CliError> {
        let columns = [
            Column::Text("RAN"),
            Column::Text("KIND"),
            Column::Number("COUNT"),
            Column::Number("TOTAL"),
            Column::Number("MEAN"),
            Column::Number("SHARE"),
        ];
        let time = |nanoseconds: u64| units::seconds(nanoseconds as f64 / 1e9);
        let row = |kernel: &Kernel| {
            let share = format!("{:.1} %", 100.0 * kernel.share);
            let (total, mean) = (time(kernel.total_ns), time(kernel.mean_ns));
            vec![kernel.name.clone(), kernel.operation.into(), kernel.count.to_string(), total, mean, share]
        };
        let busy = 100.0 * self.busy_ns as f64 / self.span_ns.max(1) as f64;
        printer.data(&format!(
            "\n{}: busy for {} of {} ({busy:.1} %)\n",
            self.device,
            time(self.busy_ns),
            time(self.span_ns)
        ))?;
        Ok(printer.table(&columns, self.kernels.iter().map(row).collect())?)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Sums by operation and name, the longest first.
fn sums(runs: &[Run]) -> Vec<Kernel> {
    let mut sums: BTreeMap<(&'static str, &str), (u64, u64)> = BTreeMap::new();
    for run in runs {
        let sum = sums.entry((run.operation, &run.name)).or_default();
        *sum = (sum.0 + 1, sum.1 + run.end_ns - run.start_ns);
    }
    let all: u64 = sums.values().map(|(_, total)| total).sum();
    let kernel = |((operation, name), (count, total)): ((&'static str, &str), (u64, u64))| Kernel {
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

/// The time in which at least one of them ran; they come by their starts.
fn busy(runs: &[Run]) -> u64 {
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

    fn run(name: &str, start_ns: u64, end_ns: u64) -> Run {
        Run { operation: "dispatch", name: name.into(), queue: 0, start_ns, end_ns }
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
