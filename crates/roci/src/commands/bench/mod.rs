//! `roci bench`: measures copies, reductions, matrix products and dispatches on devices.
//!
//! [`roci_probe::bench`] has the benchmarks and measures them; this file selects the devices and
//! prints. `language` benchmarks a language model instead.

mod language;

use roci_base::Hint;
use roci_hal::{Device, Registry};
use serde::Serialize;

use crate::cli::{BenchArgs, DriverArgs};
use crate::commands::auto;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::{BAD, Column, GOOD, Printer, one_line};
use crate::registry::registry;
use roci_probe::units;

pub(crate) use language::BenchError;
use roci_probe::WorkAmount;
use roci_probe::bench::{Benchmark, BenchmarkSize, BenchmarkSizes, measure};

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    version: u32,
    results: &'a [BenchRow],
}

/// One measurement on one device.
#[derive(Serialize)]
struct BenchRow {
    /// Name of the benchmark.
    name: &'static str,
    /// The kernel that was measured; null for copies between host and device.
    kernel: Option<&'static str>,
    size: String,
    device: String,
    /// `ok`, `wrong` or `failed`.
    status: &'static str,
    /// Time of one run, the best of several.
    seconds: Option<f64>,
    bytes_per_second: Option<f64>,
    operations_per_second: Option<f64>,
    error: Option<String>,
    hint: Option<String>,
    #[serde(skip)]
    end: ExitStatus,
}

/// Runs the benchmarks and prints the results.
pub(crate) fn run(arguments: &BenchArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let registry = registry(drivers);
    if let Some(path) = &arguments.model {
        return language::run(path, arguments, &registry, printer);
    }
    let devices = open(&registry, arguments, printer)?;
    interrupt::listen();
    let mut rows = Vec::new();
    let sizes: Vec<BenchmarkSizes> =
        devices.iter().map(|device| BenchmarkSizes::of(device.info(), arguments.quick)).collect();
    let bar = printer.progress(devices.len() * Benchmark::ALL.len());
    for (device, sizes) in devices.iter().zip(&sizes) {
        for benchmark in Benchmark::ALL {
            if interrupt::requested() || device.loss().is_some() {
                break;
            }
            bar.set_message(format!("{} on {}", benchmark.name(), device.info().uri));
            rows.push(row(benchmark, sizes, device, arguments));
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
        printer.table(&columns, rows.iter().map(BenchRow::cells).collect())?;
    }
    if interrupt::requested() {
        printer.note("interrupted: the results are incomplete");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

fn open(registry: &Registry, arguments: &BenchArgs, printer: &Printer) -> Result<Vec<Device>, CliError> {
    let requested = auto::requested_uris(&arguments.devices, printer);
    // All URIs are parsed before a device is opened, so that a typo does not cost a run.
    let uris = requested.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>()?;
    let open = |uri| Ok(registry.open(&auto::resolve(registry, uri, printer)?, arguments.timeout)?);
    uris.into_iter().map(open).collect()
}

fn row(benchmark: Benchmark, sizes: &BenchmarkSizes, device: &Device, arguments: &BenchArgs) -> BenchRow {
    let timeout = arguments.timeout.unwrap_or_else(roci_hal::deadline::default_timeout);
    let mut row = BenchRow {
        name: benchmark.name(),
        kernel: benchmark.kernel(sizes, device.info()),
        size: size(benchmark.size(sizes)),
        device: device.info().uri.to_string(),
        status: "failed",
        seconds: None,
        bytes_per_second: None,
        operations_per_second: None,
        error: None,
        hint: None,
        end: ExitStatus::Success,
    };
    match measure(benchmark, sizes, device, timeout, &interrupt::requested) {
        Ok(Ok(seconds)) => {
            row.status = "ok";
            row.seconds = Some(seconds);
            match benchmark.work(sizes) {
                Some(WorkAmount::Bytes(bytes)) => row.bytes_per_second = Some(bytes as f64 / seconds),
                Some(WorkAmount::Operations(operations)) => {
                    row.operations_per_second = Some(operations as f64 / seconds)
                }
                None => {}
            }
        }
        Ok(Err(wrong)) => {
            (row.status, row.error, row.end) = ("wrong", Some(wrong), ExitStatus::Problems);
        }
        Err(error) => {
            let error = CliError::from(error);
            (row.end, row.hint) = (ExitStatus::from(&error), error.hint());
            row.error = Some(error.to_string());
        }
    }
    row
}

fn size(size: BenchmarkSize) -> String {
    match size {
        BenchmarkSize::Launches(count) => format!("{count} in a row"),
        BenchmarkSize::Bytes(bytes) => units::bytes(bytes),
        BenchmarkSize::Matrix([rows, columns]) => format!("{rows}x{columns}"),
        BenchmarkSize::Product(side) => format!("{side}x{side}x{side}"),
    }
}

impl BenchRow {
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
