//! What devices learnt, as a table or as JSON.

use roci_hal::Hint;
use serde::Serialize;

use super::Plan;
use super::learn::Learnt;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{BAD, Column, FAINT, GOOD, Printer, one_line};
use crate::units;

/// How far the losses of two devices may be apart: the largest difference of a step, relative to the larger loss or to
/// a tenth of the first. Devices round alike but not the same, and each step builds on the one before.
pub(super) const TOLERANCE: f64 = 0.01;

/// One device.
pub(super) struct Row {
    device: String,
    made: Result<Learnt, CliError>,
    /// How far its losses are from those of the first device.
    apart: Option<f64>,
}

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    /// It learnt, and the same as the first.
    Ok,
    /// The loss did not fall.
    NoProgress,
    /// The losses are not those of the first device.
    Apart,
    /// The device failed.
    Failed,
    /// Ctrl-C came before the end.
    Interrupted,
}

impl Row {
    pub(super) fn new(device: String, made: Result<Learnt, CliError>) -> Self {
        Self { device, made, apart: None }
    }

    fn verdict(&self) -> Verdict {
        match &self.made {
            Err(_) => Verdict::Failed,
            Ok(learnt) if learnt.accuracy.is_none() => Verdict::Interrupted,
            Ok(learnt) if !falls(&learnt.losses) => Verdict::NoProgress,
            // What is no number is apart too.
            Ok(_) if self.apart.is_some_and(|apart| apart.is_nan() || apart > TOLERANCE) => Verdict::Apart,
            Ok(_) => Verdict::Ok,
        }
    }

    pub(super) fn status(&self) -> ExitStatus {
        match (self.verdict(), &self.made) {
            (_, Err(error)) => ExitStatus::from(error),
            (Verdict::NoProgress | Verdict::Apart, _) => ExitStatus::Problems,
            _ => ExitStatus::Success,
        }
    }
}

/// Compares every device with the first that learnt.
pub(super) fn judge(rows: &mut [Row]) {
    let Some(first) = rows.iter().position(|row| row.made.is_ok()) else { return };
    let base = rows[first].made.as_ref().map(|learnt| learnt.losses.clone()).unwrap_or_default();
    for row in &mut rows[first + 1..] {
        if let Ok(learnt) = &row.made {
            row.apart = Some(apart(&base, &learnt.losses));
        }
    }
}

/// See [`TOLERANCE`].
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let least = a.first().map_or(0.0, |first| first.abs() / 10.0);
    let one = |(a, b): (&f64, &f64)| (a - b).abs() / a.abs().max(b.abs()).max(least).max(f64::MIN_POSITIVE);
    // Not `max`, which drops what is no number.
    let more = |most: f64, one: f64| if one <= most || most.is_nan() { most } else { one };
    a.iter().zip(b).map(one).fold(0.0, more)
}

/// Whether the mean of the last third is below that of the first: single batches differ.
fn falls(losses: &[f64]) -> bool {
    let third = (losses.len() / 3).max(1);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    losses.len() < 2 || mean(&losses[losses.len() - third..]) < mean(&losses[..third])
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    optimizer: &'static str,
    learning_rate: f64,
    steps: usize,
    batch: usize,
    seed: u64,
    tolerance: f64,
    results: Vec<JsonRow<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    device: &'a str,
    /// `ok`, `no-progress`, `apart`, `failed` or `interrupted`.
    status: Verdict,
    /// By step; null where it is not a number.
    losses: &'a [f64],
    /// Of pictures kept apart, the share that is told right.
    accuracy: Option<f64>,
    /// How far the losses are from those of the first device.
    apart: Option<f64>,
    first_seconds: Option<f64>,
    best_seconds: Option<f64>,
    error: Option<String>,
    hint: Option<String>,
}

pub(super) fn print(rows: &[Row], plan: &Plan, json: bool, printer: &Printer) -> Result<(), CliError> {
    if json {
        let report = Report {
            schema: "roci.train-demo",
            version: 1,
            optimizer: plan.optimizer.name(),
            learning_rate: plan.rate,
            steps: plan.steps,
            batch: plan.batch,
            seed: plan.seed,
            tolerance: TOLERANCE,
            results: rows.iter().map(json_row).collect(),
        };
        return Ok(printer.json(&report)?);
    }
    let columns = [
        Column::Text("DEVICE"),
        Column::Number("FIRST LOSS"),
        Column::Number("LAST LOSS"),
        Column::Number("ACCURACY"),
        Column::Number("FIRST STEP"),
        Column::Number("BEST STEP"),
        Column::Number("APART"),
        Column::Text("VERDICT"),
    ];
    printer.table(&columns, rows.iter().map(line).collect())?;
    if rows.iter().any(|row| row.apart.is_some()) {
        printer.note(&format!("losses may be {TOLERANCE} apart, of the larger one or a tenth of the first"));
    }
    Ok(())
}

fn json_row(row: &Row) -> JsonRow<'_> {
    let (learnt, error) = (row.made.as_ref().ok(), row.made.as_ref().err());
    JsonRow {
        device: &row.device,
        status: row.verdict(),
        losses: learnt.map_or(&[], |learnt| &learnt.losses),
        accuracy: learnt.and_then(|learnt| learnt.accuracy),
        apart: row.apart,
        first_seconds: learnt.map(|learnt| learnt.first_seconds),
        best_seconds: learnt.and_then(|learnt| learnt.best_seconds),
        error: error.map(|error| one_line(&error.to_string())),
        hint: error.and_then(Hint::hint),
    }
}

fn line(row: &Row) -> Vec<String> {
    let none = || "-".to_owned();
    let learnt = row.made.as_ref().ok();
    let loss = |loss: Option<&f64>| loss.map_or_else(none, |loss| format!("{loss:.4}"));
    let losses = learnt.map_or(&[][..], |learnt| &learnt.losses);
    let seconds = |seconds: Option<f64>| seconds.map_or_else(none, units::seconds);
    let (style, verdict) = match row.verdict() {
        Verdict::Ok => (GOOD, "learns"),
        Verdict::NoProgress => (BAD, "the loss does not fall"),
        Verdict::Apart => (BAD, "learns something else"),
        Verdict::Failed => (BAD, "failed"),
        Verdict::Interrupted => (FAINT, "interrupted"),
    };
    vec![
        row.device.clone(),
        loss(losses.first()),
        loss(losses.last()),
        learnt.and_then(|learnt| learnt.accuracy).map_or_else(none, |share| format!("{:.0} %", share * 100.0)),
        seconds(learnt.map(|learnt| learnt.first_seconds)),
        seconds(learnt.and_then(|learnt| learnt.best_seconds)),
        row.apart.map_or_else(none, |apart| format!("{apart:.1e}")),
        format!("{style}{verdict}{style:#}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(losses: &[f64]) -> Row {
        let learnt = Learnt { losses: losses.to_vec(), accuracy: Some(1.0), first_seconds: 1.0, best_seconds: None };
        Row::new("cpu".into(), Ok(learnt))
    }

    #[test]
    fn what_is_apart_or_no_number_is_a_problem() {
        let mut rows = [row(&[2.0, 1.0]), row(&[2.0, 1.01]), row(&[2.0, 1.5]), row(&[2.0, f64::NAN]), row(&[1.0, 2.0])];
        judge(&mut rows);
        let verdicts = rows.each_ref().map(Row::verdict);
        use Verdict::{Apart, NoProgress, Ok};
        assert_eq!(verdicts, [Ok, Ok, Apart, NoProgress, NoProgress]);
        assert_eq!(rows.each_ref().map(|row| row.status().code()), [0, 0, 1, 1, 1]);
        // Small losses are measured by the first.
        assert_eq!(apart(&[2.0, 1e-9], &[2.0, 2e-9]), 5e-9);
        assert!(apart(&[2.0, f64::NAN, 1.0], &[2.0, 1.0, 1.0]).is_nan());
    }

    #[test]
    fn a_device_that_failed_is_not_what_others_are_compared_with() {
        let error = roci_hal::Error::Unavailable { what: "it".into(), reason: "gone".into(), hint: String::new() };
        let mut rows = [Row::new("amdgpu:0".into(), Err(error.into())), row(&[2.0, 1.0]), row(&[2.0, 1.0])];
        judge(&mut rows);
        assert_eq!(rows.each_ref().map(|row| row.apart), [None, None, Some(0.0)]);
        assert_eq!(rows[0].status(), ExitStatus::NoDevice);
    }
}
