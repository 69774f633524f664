//! The results of training, as a table or as JSON.

use roci_base::{Hint, renamed_key};
use roci_graph_tools::training::{Hyperparameters, LOSS_TOLERANCE, Training, Verdict, loss_distance};
use roci_probe::units;
use serde::Serialize;

use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{BAD, Column, FAINT, GOOD, Printer, one_line};

renamed_key!(loss_distance: "loss_distance", formerly "apart");

/// The result of one device.
pub(super) struct TrainRow {
    device: String,
    result: Result<Training, CliError>,
    /// The distance of its losses from those of the first device; see [`LOSS_TOLERANCE`].
    distance: Option<f64>,
}

impl TrainRow {
    pub(super) fn new(device: String, result: Result<Training, CliError>) -> Self {
        Self { device, result, distance: None }
    }

    fn verdict(&self) -> Verdict {
        self.result.as_ref().map_or(Verdict::Failed, |training| Verdict::new(training, self.distance))
    }

    pub(super) fn status(&self) -> ExitStatus {
        match (self.verdict(), &self.result) {
            (_, Err(error)) => ExitStatus::from(error),
            (Verdict::NoProgress | Verdict::Differs, _) => ExitStatus::Problems,
            _ => ExitStatus::Success,
        }
    }
}

/// Compares every device with the first successful one.
pub(super) fn compare(rows: &mut [TrainRow]) {
    let Some(first) = rows.iter().position(|row| row.result.is_ok()) else { return };
    let base = rows[first].result.as_ref().map(|training| training.losses.clone()).unwrap_or_default();
    for row in &mut rows[first + 1..] {
        if let Ok(training) = &row.result {
            row.distance = Some(loss_distance(&base, &training.losses));
        }
    }
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
    results: Vec<TrainRecord<'a>>,
}

#[derive(Serialize)]
struct TrainRecord<'a> {
    device: &'a str,
    /// `ok`, `no-progress`, `differs`, `failed` or `interrupted`.
    status: Verdict,
    /// The loss of each step; null if it is NaN or infinite.
    losses: &'a [f64],
    /// The accuracy on the test set.
    accuracy: Option<f64>,
    /// The distance of the losses from those of the first device.
    #[serde(flatten, serialize_with = "loss_distance::serialize")]
    loss_distance: Option<f64>,
    first_seconds: Option<f64>,
    best_seconds: Option<f64>,
    error: Option<String>,
    hint: Option<String>,
}

pub(super) fn print(
    rows: &[TrainRow],
    parameters: &Hyperparameters,
    json: bool,
    printer: &Printer,
) -> Result<(), CliError> {
    if json {
        let report = Report {
            schema: "roci.train-demo",
            version: 2,
            optimizer: parameters.optimizer.name(),
            learning_rate: parameters.rate,
            steps: parameters.steps,
            batch: parameters.batch,
            seed: parameters.seed,
            tolerance: LOSS_TOLERANCE,
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
        Column::Number("DISTANCE"),
        Column::Text("VERDICT"),
    ];
    printer.table(&columns, rows.iter().map(line).collect())?;
    if rows.iter().any(|row| row.distance.is_some()) {
        printer.note(&format!("losses may differ by {LOSS_TOLERANCE} of the larger one, or of a tenth of the first"));
    }
    Ok(())
}

fn json_row(row: &TrainRow) -> TrainRecord<'_> {
    let (training, error) = (row.result.as_ref().ok(), row.result.as_ref().err());
    TrainRecord {
        device: &row.device,
        status: row.verdict(),
        losses: training.map_or(&[], |training| &training.losses),
        accuracy: training.and_then(|training| training.accuracy),
        loss_distance: row.distance,
        first_seconds: training.map(|training| training.first_seconds),
        best_seconds: training.and_then(|training| training.best_seconds),
        error: error.map(|error| one_line(&error.to_string())),
        hint: error.and_then(Hint::hint),
    }
}

fn line(row: &TrainRow) -> Vec<String> {
    let none = || "-".to_owned();
    let training = row.result.as_ref().ok();
    let loss = |loss: Option<&f64>| loss.map_or_else(none, |loss| format!("{loss:.4}"));
    let losses = training.map_or(&[][..], |training| &training.losses);
    let seconds = |seconds: Option<f64>| seconds.map_or_else(none, units::seconds);
    let (style, verdict) = match row.verdict() {
        Verdict::Ok => (GOOD, "learns"),
        Verdict::NoProgress => (BAD, "loss does not decrease"),
        Verdict::Differs => (BAD, "losses differ"),
        Verdict::Failed => (BAD, "failed"),
        Verdict::Interrupted => (FAINT, "interrupted"),
    };
    vec![
        row.device.clone(),
        loss(losses.first()),
        loss(losses.last()),
        training.and_then(|training| training.accuracy).map_or_else(none, |share| format!("{:.0} %", share * 100.0)),
        seconds(training.map(|training| training.first_seconds)),
        seconds(training.and_then(|training| training.best_seconds)),
        row.distance.map_or_else(none, |distance| format!("{distance:.1e}")),
        format!("{style}{verdict}{style:#}"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(losses: &[f64]) -> TrainRow {
        let training =
            Training { losses: losses.to_vec(), accuracy: Some(1.0), first_seconds: 1.0, best_seconds: None };
        TrainRow::new("cpu".into(), Ok(training))
    }

    #[test]
    fn differing_losses_are_problems() {
        let mut rows = [row(&[2.0, 1.0]), row(&[2.0, 1.01]), row(&[2.0, 1.5]), row(&[1.0, 2.0])];
        compare(&mut rows);
        assert_eq!(
            rows.each_ref().map(TrainRow::verdict),
            [Verdict::Ok, Verdict::Ok, Verdict::Differs, Verdict::NoProgress]
        );
        assert_eq!(rows.each_ref().map(|row| row.status().code()), [0, 0, 1, 1]);
    }

    #[test]
    fn others_are_compared_with_the_first_device_that_did_not_fail() {
        let error = roci_hal::Error::Unavailable { what: "it".into(), reason: "gone".into(), hint: String::new() };
        let mut rows = [TrainRow::new("amdgpu:0".into(), Err(error.into())), row(&[2.0, 1.0]), row(&[2.0, 1.0])];
        compare(&mut rows);
        assert_eq!(rows.each_ref().map(|row| row.distance), [None, None, Some(0.0)]);
        assert_eq!(rows[0].status(), ExitStatus::NoDevice);
    }
}
