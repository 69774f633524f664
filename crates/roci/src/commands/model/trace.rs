//! What `roci run --profile` shows: time by operation and kernel, and a trace that Perfetto opens.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use roci_runtime::Timing;
use serde::Serialize;

use super::ModelError;
use crate::printer::{Column, Printer};
use crate::units;

/// Time of one kind of work.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// The operations that one kernel does at once.
    operation: String,
    kernel: String,
    count: usize,
    seconds: f64,
    /// Of the time of all kernels.
    share: f64,
}

/// Time by operation and kernel, most first.
pub(super) fn rows(timings: &[Timing]) -> Vec<Row> {
    let mut sums: BTreeMap<(String, &str), (usize, Duration)> = BTreeMap::new();
    for timing in timings {
        let sum = sums.entry((operations(&timing.node), &timing.kernel)).or_default();
        *sum = (sum.0 + 1, sum.1 + timing.duration);
    }
    let whole: f64 = timings.iter().map(|timing| timing.duration.as_secs_f64()).sum();
    let row = |((operation, kernel), (count, time)): ((String, &str), (usize, Duration))| {
        let seconds = time.as_secs_f64();
        Row {
            operation,
            kernel: kernel.to_owned(),
            count,
            seconds,
            share: if whole > 0.0 { seconds / whole } else { 0.0 },
        }
    };
    let mut rows: Vec<Row> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}

/// The operations of `a (Conv) + b (Relu)`: `Conv + Relu`; what is said behind them stays. A node that became several steps is
/// there once.
fn operations(node: &str) -> String {
    let inside = |one: &str| {
        let op = one.rsplit_once('(').map_or(one, |(_, op)| op);
        op.rsplit_once(')').map_or_else(|| op.to_owned(), |(op, more)| format!("{op}{more}"))
    };
    let mut nodes: Vec<&str> = node.split(" + ").collect();
    nodes.dedup();
    nodes.into_iter().map(inside).collect::<Vec<_>>().join(" + ")
}

/// Prints them.
pub(super) fn print(rows: &[Row], printer: &Printer) -> std::io::Result<()> {
    let columns = [
        Column::Text("OPERATION"),
        Column::Text("KERNEL"),
        Column::Number("COUNT"),
        Column::Number("TIME"),
        Column::Number("SHARE"),
    ];
    let row = |row: &Row| {
        let share = format!("{:.1} %", row.share * 100.0);
        vec![row.operation.clone(), row.kernel.clone(), row.count.to_string(), units::seconds(row.seconds), share]
    };
    printer.table(&columns, rows.iter().map(row).collect())
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Trace<'a> {
    display_time_unit: &'static str,
    trace_events: Vec<Event<'a>>,
}

/// A span of the trace event format, in microseconds.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    cat: &'a str,
    ph: &'static str,
    ts: f64,
    dur: f64,
    pid: u32,
    tid: usize,
}

/// Writes the trace.
pub(super) fn write(timings: &[Timing], path: &Path) -> Result<(), ModelError> {
    let events = timings.iter().map(|timing| Event {
        name: &timing.node,
        cat: &timing.kernel,
        ph: "X",
        ts: timing.start.as_secs_f64() * 1e6,
        dur: timing.duration.as_secs_f64() * 1e6,
        pid: 1,
        tid: timing.queue,
    });
    let trace = Trace { display_time_unit: "ms", trace_events: events.collect() };
    let failed = |source| ModelError::Output { path: path.to_owned(), source };
    let text = serde_json::to_vec(&trace).map_err(|error| failed(error.into()))?;
    std::fs::write(path, text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_summed_by_operation() {
        let timing = |node: &str, micros| Timing {
            node: node.into(),
            kernel: "conv".into(),
            queue: 0,
            start: Duration::ZERO,
            duration: Duration::from_micros(micros),
        };
        let rows =
            rows(&[timing("a (Conv) + b (Relu)", 3), timing("c (Conv)", 5), timing("d (x) (Conv) + e (Relu)", 4)]);
        let short: Vec<_> = rows.iter().map(|row| (row.operation.as_str(), row.count)).collect();
        assert_eq!(short, [("Conv + Relu", 2), ("Conv", 1)]);
        assert!((rows[0].share - 7.0 / 12.0).abs() < 1e-9);
        assert_eq!(operations("a (Conv) + b (Relu), reordered"), "Conv + Relu, reordered");
    }
}
