//! The results as a table or as JSON.

use roci_base::{Hint, renamed_key};
use serde::Serialize;

use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{BAD, Column, ErrorReport, FAINT, GOOD, Printer, one_line};
use roci_probe::units;

use roci_probe::WorkAmount;
use roci_probe::kernels::{Case, Comparison};
use roci_probe::profile::{DeviceProfile, KernelTime};

renamed_key!(total: "total", formerly "of");

/// The outcome of one kernel on one device.
pub(super) enum Outcome {
    Ran {
        /// The comparison with the reference.
        comparison: Comparison,
        /// The best time.
        seconds: f64,
    },
    /// The device or the kernel failed.
    Failed(CliError),
    /// It was skipped, for this reason.
    NotRun(String),
    /// The device lacks a feature that the kernel needs.
    Unsupported(&'static str),
}

/// One line of the table.
pub(super) struct DemoRow {
    kernel: &'static str,
    size: String,
    device: String,
    work: WorkAmount,
    outcome: Outcome,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    results: Vec<DemoRecord<'a>>,
    /// Of devices that could not be opened.
    errors: Vec<ErrorReport>,
    /// With `--profile`: the time of every run.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a [DeviceProfile]>,
}

#[derive(Default, Serialize)]
struct DemoRecord<'a> {
    kernel: &'a str,
    size: &'a str,
    device: &'a str,
    /// `ok`, `wrong`, `failed`, `not-run`, or `lacks` for a kernel that needs a feature that the
    /// device lacks.
    status: &'static str,
    seconds: Option<f64>,
    bytes_per_second: Option<f64>,
    operations_per_second: Option<f64>,
    /// Relative to the magnitude of the value, or of a sum's terms.
    largest_error: Option<f64>,
    wrong: Option<WrongResult>,
    error: Option<String>,
    hint: Option<String>,
}

#[derive(Serialize)]
struct WrongResult {
    elements: usize,
    /// Number of compared elements.
    #[serde(flatten, serialize_with = "total::serialize")]
    total: usize,
    worst_index: usize,
    /// Null for NaN and infinities, which JSON cannot represent.
    got: Option<f64>,
    want: f64,
}

impl DemoRow {
    pub(super) fn new(case: &Case, device: &str, outcome: Outcome) -> Self {
        let (size, work) = (case.problem.size(), case.problem.work());
        Self { kernel: case.name(), size, device: device.into(), work, outcome }
    }

    pub(super) fn status(&self) -> ExitStatus {
        match &self.outcome {
            Outcome::Ran { comparison: Comparison::Right { .. }, .. } | Outcome::Unsupported(_) => ExitStatus::Success,
            Outcome::Ran { comparison: Comparison::Wrong { .. }, .. } => ExitStatus::Problems,
            Outcome::Failed(error) => ExitStatus::from(error),
            Outcome::NotRun(_) => ExitStatus::DeviceFailed,
        }
    }

    fn rate(&self, seconds: f64) -> String {
        match self.work {
            WorkAmount::Bytes(bytes) => format!("{:.1} GB/s", bytes as f64 / seconds / 1e9),
            WorkAmount::Operations(operations) => format!("{:.1} GFLOP/s", operations as f64 / seconds / 1e9),
        }
    }

    fn cells(&self) -> Vec<String> {
        let (time, rate) = match self.outcome {
            // The speed of a wrong result is meaningless.
            Outcome::Ran { comparison: Comparison::Right { .. }, seconds } => {
                (units::seconds(seconds), self.rate(seconds))
            }
            _ => ("-".into(), "-".into()),
        };
        let result = match &self.outcome {
            Outcome::Ran { comparison: Comparison::Right { largest_error: 0.0 }, .. } => {
                format!("{GOOD}ok{GOOD:#} exact")
            }
            Outcome::Ran { comparison: Comparison::Right { largest_error }, .. } => {
                format!("{GOOD}ok{GOOD:#} max error {largest_error:.1e}")
            }
            Outcome::Ran { comparison, .. } => {
                format!("{BAD}wrong{BAD:#} {}", comparison.complaint().unwrap_or_default())
            }
            Outcome::Failed(error) => format!("{BAD}failed{BAD:#} {}", one_line(&error.to_string())),
            Outcome::NotRun(reason) => format!("{FAINT}not run{FAINT:#} {reason}"),
            Outcome::Unsupported(what) => format!("{FAINT}-{FAINT:#} the device has no {what}"),
        };
        vec![self.kernel.into(), self.size.clone(), self.device.clone(), time, rate, result]
    }

    fn json(&self) -> DemoRecord<'_> {
        let row = DemoRecord { kernel: self.kernel, size: &self.size, device: &self.device, ..DemoRecord::default() };
        match &self.outcome {
            Outcome::Ran { comparison: Comparison::Right { largest_error }, seconds } => {
                let per_second = |amount: u64| Some(amount as f64 / seconds);
                let (bytes, operations) = match self.work {
                    WorkAmount::Bytes(bytes) => (per_second(bytes), None),
                    WorkAmount::Operations(operations) => (None, per_second(operations)),
                };
                DemoRecord {
                    status: "ok",
                    seconds: Some(*seconds),
                    bytes_per_second: bytes,
                    operations_per_second: operations,
                    largest_error: Some(*largest_error),
                    ..row
                }
            }
            Outcome::Ran { comparison: Comparison::Wrong { wrong, count, index, got, want }, .. } => {
                let got = got.is_finite().then_some(*got);
                let wrong = WrongResult { elements: *wrong, total: *count, worst_index: *index, got, want: *want };
                DemoRecord { status: "wrong", wrong: Some(wrong), ..row }
            }
            Outcome::Failed(error) => {
                DemoRecord { status: "failed", error: Some(error.to_string()), hint: error.hint(), ..row }
            }
            Outcome::NotRun(reason) => DemoRecord { status: "not-run", error: Some(reason.clone()), ..row },
            Outcome::Unsupported(what) => DemoRecord { status: "lacks", error: Some(format!("no {what}")), ..row },
        }
    }
}

/// Prints the table, and a summary and hints on standard error.
pub(super) fn print(
    rows: &[DemoRow],
    unopened: &[CliError],
    profile: Option<&[DeviceProfile]>,
    json: bool,
    printer: &Printer,
) -> Result<(), CliError> {
    if json {
        let errors = unopened.iter().map(|error| ErrorReport::new(error, ExitStatus::from(error))).collect();
        let results = rows.iter().map(DemoRow::json).collect();
        printer.json(&Report { schema: "roci.demo", version: 2, results, errors, profile })?;
        return Ok(());
    }
    let columns = [
        Column::Text("KERNEL"),
        Column::Text("SIZE"),
        Column::Text("DEVICE"),
        Column::Number("TIME"),
        Column::Number("RATE"),
        Column::Text("RESULT"),
    ];
    if rows.is_empty() {
        return Ok(());
    }
    printer.table(&columns, rows.iter().map(DemoRow::cells).collect())?;
    for profile in profile.into_iter().flatten() {
        print_profile(profile, printer)?;
    }
    let supported: Vec<_> = rows.iter().filter(|row| !matches!(row.outcome, Outcome::Unsupported(_))).collect();
    let good = supported.iter().filter(|row| row.status() == ExitStatus::Success).count();
    let summary = if good == supported.len() { GOOD } else { BAD };
    printer.note(&format!("{summary}{good} of {} results are correct{summary:#}", supported.len()));
    let mut hints: Vec<_> = rows
        .iter()
        .filter_map(|row| match &row.outcome {
            Outcome::Failed(error) => error.hint(),
            _ => None,
        })
        .collect();
    hints.dedup();
    for hint in hints {
        printer.note(&format!("hint: {hint}"));
    }
    Ok(())
}

/// Prints the time of each kernel by the device's clock.
fn print_profile(profile: &DeviceProfile, printer: &Printer) -> Result<(), CliError> {
    let columns = [
        Column::Text("RAN"),
        Column::Text("KIND"),
        Column::Number("COUNT"),
        Column::Number("TOTAL"),
        Column::Number("MEAN"),
        Column::Number("SHARE"),
    ];
    let time = |nanoseconds: u64| units::seconds(nanoseconds as f64 / 1e9);
    let row = |kernel: &KernelTime| {
        let share = format!("{:.1} %", 100.0 * kernel.share);
        let (total, mean) = (time(kernel.total_ns), time(kernel.mean_ns));
        vec![kernel.name.clone(), kernel.operation.into(), kernel.count.to_string(), total, mean, share]
    };
    let busy = 100.0 * profile.busy_ns as f64 / profile.span_ns.max(1) as f64;
    let (busy_time, span) = (time(profile.busy_ns), time(profile.span_ns));
    printer.data(&format!("\n{}: busy for {busy_time} of {span} ({busy:.1} %)\n", profile.device))?;
    Ok(printer.table(&columns, profile.kernels.iter().map(row).collect())?)
}
