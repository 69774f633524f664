//! Time by operation and kernel, and a trace for Perfetto.

use std::collections::BTreeMap;
use std::time::Duration;

use roci_runtime::Timing;
use serde::Serialize;

/// Total time of one operation and kernel.
#[derive(Clone, Debug, Serialize)]
pub struct ProfileRow {
    /// The operations that the kernel fuses.
    pub operation: String,
    /// Name of the kernel.
    pub kernel: String,
    /// Number of dispatches.
    pub count: usize,
    /// Total time.
    pub seconds: f64,
    /// Share of the time of all kernels.
    pub share: f64,
}

/// Time by operation and kernel, longest first.
pub fn rows(timings: &[Timing]) -> Vec<ProfileRow> {
    let mut sums: BTreeMap<(String, &str), (usize, Duration)> = BTreeMap::new();
    for timing in timings {
        let sum = sums.entry((operations(&timing.node), &timing.kernel)).or_default();
        *sum = (sum.0 + 1, sum.1 + timing.duration);
    }
    let whole: f64 = timings.iter().map(|timing| timing.duration.as_secs_f64()).sum();
    let row = |((operation, kernel), (count, time)): ((String, &str), (usize, Duration))| {
        let seconds = time.as_secs_f64();
        ProfileRow {
            operation,
            kernel: kernel.to_owned(),
            count,
            seconds,
            share: if whole > 0.0 { seconds / whole } else { 0.0 },
        }
    };
    let mut rows: Vec<ProfileRow> = sums.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    rows
}

/// The operations of a label: `a (Conv) + b (Relu)` gives `Conv + Relu`, and any suffix stays. A
/// node that was split into several steps is listed once.
fn operations(node: &str) -> String {
    let inside = |one: &str| {
        let op = one.rsplit_once('(').map_or(one, |(_, op)| op);
        op.rsplit_once(')').map_or_else(|| op.to_owned(), |(op, more)| format!("{op}{more}"))
    };
    let mut nodes: Vec<&str> = node.split(" + ").collect();
    nodes.dedup();
    nodes.into_iter().map(inside).collect::<Vec<_>>().join(" + ")
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

/// The runs in the trace event format, which <https://ui.perfetto.dev> opens.
pub fn trace_json(timings: &[Timing]) -> Result<Vec<u8>, serde_json::Error> {
    let events = timings.iter().map(|timing| Event {
        name: &timing.node,
        cat: &timing.kernel,
        ph: "X",
        ts: timing.start.as_secs_f64() * 1e6,
        dur: timing.duration.as_secs_f64() * 1e6,
        pid: 1,
        tid: timing.queue,
    });
    serde_json::to_vec(&Trace { display_time_unit: "ms", trace_events: events.collect() })
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
