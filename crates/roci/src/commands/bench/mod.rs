//! `roci bench`: what a device reaches in copies, sums, products and launches.
//!
//! `problems` says what is measured and checks the results, `measure` drives a device; this file chooses the devices and
//! prints. `model` has what is done with a language model instead.

mod measure;
mod model;
mod problems;

use roci_hal::{Device, Hint, Registry};
use serde::Serialize;

use crate::cli::{BenchArgs, DriverArgs};
use crate::commands::auto;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{BAD, Column, GOOD, Printer, one_line};
use crate::registry::registry;
use crate::units;

pub(crate) use model::BenchError;
use problems::{Problem, Sizes, Work};

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    results: &'a [Row],
}

/// One figure of one device.
#[derive(Serialize)]
struct Row {
    /// What was measured.
    name: &'static str,
    /// The kernel that did it; null for copies between host and device.
    kernel: Option<&'static str>,
    size: String,
    device: String,
    /// `ok`, `wrong` or `failed`.
    status: &'static str,
    /// Of one run, the best of several.
    seconds: Option<f64>,
    bytes_per_second: Option<f64>,
    operations_per_second: Option<f64>,
    error: Option<String>,
    hint: Option<String>,
    #[serde(skip)]
    end: ExitStatus,
}

/// Measures and prints.
pub(crate) fn run(arguments: &BenchArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let registry = registry(drivers);
    if let Some(path) = &arguments.model {
        return model::run(path, arguments, &registry, printer);
    }
    let devices = open(&registry, arguments, printer)?;
    interrupt::listen();
    let mut rows = Vec::new();
    let sizes: Vec<Sizes> = devices.iter().map(|device| Sizes::of(device.info(), arguments.quick)).collect();
    let bar = printer.progress(devices.len() * Problem::ALL.len());
    for (device, sizes) in devices.iter().zip(&sizes) {
        for problem in Problem::ALL {
            if interrupt::asked() || device.loss().is_some() {
                break;
            }
            bar.set_message(format!("{} on {}", problem.name(), device.info().uri));
            rows.push(row(problem, sizes, device, arguments));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    let mut status = rows.iter().map(|row| row.end).fold(ExitStatus::Success, ExitStatus::and);
    if arguments.format.json {
        printer.json(&Report { schema: "roci.bench", version: 1, results: &rows })?;
    } else {
        let columns = [
            Column::Text("WHAT"),
            Column::Text("KERNEL"),
            Column::Text("SIZE"),
            Column::Text("DEVICE"),
            Column::Number("TIME"),
            Column::Number("RATE"),
            Column::Text("RESULT"),
        ];
        printer.table(&columns, rows.iter().map(Row::cells).collect())?;
    }
    if interrupt::asked() {
        printer.note("interrupted: the table holds what was done before");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

fn open(registry: &Registry, arguments: &BenchArgs, printer: &Printer) -> Result<Vec<Device>, CliError> {
    let named = auto::named(&arguments.devices, printer);
    // All of them are read before any is opened: a typing error should not cost a run.
    let uris = named.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>()?;
    let open = |uri| Ok(registry.open(&auto::resolve(registry, uri, printer)?, arguments.timeout)?);
    uris.into_iter().map(open).collect()
}

fn row(problem: Problem, sizes: &Sizes, device: &Device, arguments: &BenchArgs) -> Row {
    let timeout = arguments.timeout.unwrap_or_else(roci_hal::deadline::default_timeout);
    let mut row = Row {
        name: problem.name(),
        kernel: problem.kernel(sizes, device.info()),
        size: problem.size(sizes),
        device: device.info().uri.to_string(),
        status: "failed",
        seconds: None,
        bytes_per_second: None,
        operations_per_second: None,
        error: None,
        hint: None,
        end: ExitStatus::Success,
    };
    match measure::measure(problem, sizes, device, timeout) {
        Ok(Ok(seconds)) => {
            row.status = "ok";
            row.seconds = Some(seconds);
            match problem.work(sizes) {
                Work::Bytes(bytes) => row.bytes_per_second = Some(bytes as f64 / seconds),
                Work::Operations(operations) => row.operations_per_second = Some(operations as f64 / seconds),
                Work::Launch => {}
            }
        }
        Ok(Err(wrong)) => {
            (row.status, row.error, row.end) = ("wrong", Some(wrong), ExitStatus::Problems);
        }
        Err(error) => {
            (row.end, row.hint) = (ExitStatus::from(&error), error.hint());
            row.error = Some(error.to_string());
        }
    }
    row
}

impl Row {
    fn cells(&self) -> Vec<String> {
        let rate = match (self.bytes_per_second, self.operations_per_second) {
            (Some(bytes), _) => format!("{:.1} GB/s", bytes / 1e9),
            (_, Some(operations)) => format!("{:.1} GFLOP/s", operations / 1e9),
            _ => "-".to_owned(),
        };
        let result = match &self.error {
            None => format!("{GOOD}ok{GOOD:#}"),
            Some(error) => format!("{BAD}{}{BAD:#} {}", self.status, one_line(error)),
        };
        let time = self.seconds.map_or_else(|| "-".to_owned(), units::seconds);
        let kernel = self.kernel.unwrap_or("-").to_owned();
        vec![self.name.to_owned(), kernel, self.size.clone(), self.device.clone(), time, rate, result]
    }
}
