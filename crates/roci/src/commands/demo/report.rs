//! The demo's outcome as a table or as JSON.

use roci_hal::Hint;
use serde::Serialize;

use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{BAD, Column, ErrorReport, FAINT, GOOD, Printer, one_line};
use crate::units;

use super::cases::{Case, Work};
use super::profile::DeviceProfile;
use super::reference::Verdict;

/// How one kernel fared on one device.
pub(super) enum Outcome {
    /// It ran.
    Ran {
        /// What the comparison found.
        verdict: Verdict,
        /// The best time.
        seconds: f64,
    },
    /// The device or the kernel failed.
    Failed(CliError),
    /// It was not tried, for this reason.
    NotRun(String),
    /// The device lacks what the kernel is for.
    Lacks(&'static str),
}

/// One line of the table.
pub(super) struct Row {
    kernel: &'static str,
    size: String,
    device: String,
    work: Work,
    outcome: Outcome,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    results: Vec<JsonRow<'a>>,
    /// Of devices that could not be opened.
    errors: Vec<ErrorReport>,
    /// With `--profile`: when everything ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<&'a [DeviceProfile]>,
}

#[derive(Default, Serialize)]
struct JsonRow<'a> {
    kernel: &'a str,
    size: &'a str,
    device: &'a str,
    /// `ok`, `wrong`, `failed`, `not-run`, or `lacks` for a kernel that needs what the device does not have.
    status: &'static str,
    seconds: Option<f64>,
    bytes_per_second: Option<f64>,
    operations_per_second: Option<f64>,
    /// Relative to the magnitude of the value, or of a sum's terms.
    largest_error: Option<f64>,
    wrong: Option<Wrong>,
    error: Option<String>,
    hint: Option<String>,
}

#[derive(Serialize)]
struct Wrong {
    elements: usize,
    of: usize,
    worst_index: usize,
    /// Null where it is not a number, which JSON cannot say.
    got: Option<f64>,
    want: f64,
}

impl Row {
    /// A line.
    pub(super) fn new(case: &Case, device: &str, outcome: Outcome) -> Self {
        let (size, work) = (case.problem.size(), case.problem.work());
        Self { kernel: case.name(), size, device: device.into(), work, outcome }
    }

    /// What it means for the exit code.
    pub(super) fn status(&self) -> ExitStatus {
        match &self.outcome {
            Outcome::Ran { verdict: Verdict::Right { .. }, .. } | Outcome::Lacks(_) => ExitStatus::Success,
            Outcome::Ran { verdict: Verdict::Wrong { .. }, .. } => ExitStatus::Problems,
            Outcome::Failed(error) => ExitStatus::from(error),
            Outcome::NotRun(_) => ExitStatus::DeviceFailed,
        }
    }

    fn rate(&self, seconds: f64) -> String {
        match self.work {
            Work::Bytes(bytes) => format!("{:.1} GB/s", bytes as f64 / seconds / 1e9),
            Work::Operations(operations) => format!("{:.1} GFLOP/s", operations as f64 / seconds / 1e9),
        }
    }

    fn cells(&self) -> Vec<String> {
        let (time, rate) = match self.outcome {
            // What computes wrong has no speed worth a figure.
            Outcome::Ran { verdict: Verdict::Right { .. }, seconds } => (units::seconds(seconds), self.rate(seconds)),
            _ => ("-".into(), "-".into()),
        };
        let result = match &self.outcome {
            Outcome::Ran { verdict: Verdict::Right { largest_error: 0.0 }, .. } => format!("{GOOD}ok{GOOD:#} exact"),
            Outcome::Ran { verdict: Verdict::Right { largest_error }, .. } => {
                format!("{GOOD}ok{GOOD:#} max error {largest_error:.1e}")
            }
            Outcome::Ran { verdict, .. } => {
                format!("{BAD}wrong{BAD:#} {}", verdict.complaint().unwrap_or_default())
            }
            Outcome::Failed(error) => format!("{BAD}failed{BAD:#} {}", one_line(&error.to_string())),
            Outcome::NotRun(reason) => format!("{FAINT}not run{FAINT:#} {reason}"),
            Outcome::Lacks(what) => format!("{FAINT}-{FAINT:#} the device has no {what}"),
        };
        vec![self.kernel.into(), self.size.clone(), self.device.clone(), time, rate, result]
    }

    fn json(&self) -> JsonRow<'_> {
        let row = JsonRow { kernel: self.kernel, size: &self.size, device: &self.device, ..JsonRow::default() };
        match &self.outcome {
            Outcome::Ran { verdict: Verdict::Right { largest_error }, seconds } => {
                let per_second = |amount: u64| Some(amount as f64 / seconds);
                let (bytes, operations) = match self.work {
                    Work::Bytes(bytes) => (per_second(bytes), None),
                    Work::Operations(operations) => (None, per_second(operations)),
                };
                JsonRow {
                    status: "ok",
                    seconds: Some(*seconds),
                    bytes_per_second: bytes,
                    operations_per_second: operations,
                    largest_error: Some(*largest_error),
                    ..row
                }
            }
            Outcome::Ran { verdict: Verdict::Wrong { wrong, count, index, got, want }, .. } => {
                let got = got.is_finite().then_some(*got);
                let wrong = Wrong { elements: *wrong, of: *count, worst_index: *index, got, want: *want };
                JsonRow { status: "wrong", wrong: Some(wrong), ..row }
            }
            Outcome::Failed(error) => {
                JsonRow { status: "failed", error: Some(error.to_string()), hint: error.hint(), ..row }
            }
            Outcome::NotRun(reason) => JsonRow { status: "not-run", error: Some(reason.clone()), ..row },
            Outcome::Lacks(what) => JsonRow { status: "lacks", error: Some(format!("no {what}")), ..row },
        }
    }
}

/// Prints the table, and below it on standard error a summary and the remedies.
pub(super) fn print(
    rows: &[Row],
    unopened: &[CliError],
    profile: Option<&[DeviceProfile]>,
    json: bool,
    printer: &Printer,
) -> Result<(), CliError> {
    if json {
        let errors = unopened.iter().map(|error| ErrorReport::new(error, ExitStatus::from(error))).collect();
        let results = rows.iter().map(Row::json).collect();
        printer.json(&Report { schema: "roci.demo", version: 1, results, errors, profile })?;
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
    printer.table(&columns, rows.iter().map(Row::cells).collect())?;
    for profile in profile.into_iter().flatten() {
        profile.print(printer)?;
    }
    let tried: Vec<_> = rows.iter().filter(|row| !matches!(row.outcome, Outcome::Lacks(_))).collect();
    let good = tried.iter().filter(|row| row.status() == ExitStatus::Success).count();
    let summary = if good == tried.len() { GOOD } else { BAD };
    printer.note(&format!("{summary}{good} of {} results are right{summary:#}", tried.len()));
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
