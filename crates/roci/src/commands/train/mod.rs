//! `roci train-demo`: trains a small network on each device and compares the losses.
//! [`roci_graph_tools::training`] trains, `report` prints the results.

mod report;

use indicatif::ProgressBar;
use roci_graph::train::Optimizer;
use roci_graph_tools::training::{self, Hyperparameters, Progress, Training};
use roci_hal::{Device, DeviceUri, Registry};

use crate::cli::{DriverArgs, OptimizerName, TrainDemoArgs};
use crate::commands::onnx::{OnnxError, format_note};
use crate::commands::{auto, demo};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use crate::registry::registry;

use report::TrainRow;

/// Losses that are printed while a device trains.
const PRINTED_STEPS: usize = 6;

fn hyperparameters(arguments: &TrainDemoArgs) -> Hyperparameters {
    let (optimizer, rate) = match arguments.optimizer {
        OptimizerName::Sgd => (Optimizer::SGD, 0.05),
        OptimizerName::Adam => (Optimizer::ADAM, 0.01),
    };
    Hyperparameters {
        optimizer,
        rate: arguments.lr.unwrap_or(rate),
        steps: arguments.steps as usize,
        batch: arguments.batch as usize,
        seed: arguments.seed,
    }
}

/// Trains on each device and prints the table.
pub(crate) fn run(arguments: &TrainDemoArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let parameters = hyperparameters(arguments);
    let registry = registry(drivers);
    let uris = devices(&registry, arguments, printer)?;
    interrupt::listen();
    let bar = printer.progress(uris.len() * parameters.steps);
    let mut rows: Vec<TrainRow> = Vec::new();
    for uri in uris {
        if interrupt::requested() {
            break;
        }
        let name = uri.to_string();
        let device = registry.open(&uri, arguments.timeout).map_err(CliError::from);
        let result = device.and_then(|device| train(device, &parameters, &bar, printer));
        if let Err(error) = &result {
            bar.suspend(|| printer.error(error));
        }
        rows.push(TrainRow::new(name, result));
    }
    bar.finish_and_clear();
    report::compare(&mut rows);
    report::print(&rows, &parameters, arguments.format.json, printer)?;
    let mut status = rows.iter().map(TrainRow::status).fold(ExitStatus::Success, ExitStatus::and);
    if interrupt::requested() {
        printer.note("interrupted: the results are incomplete");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

/// Trains on one device, with progress.
fn train(
    device: Device,
    parameters: &Hyperparameters,
    bar: &ProgressBar,
    printer: &Printer,
) -> Result<Training, CliError> {
    let name = device.info().uri.to_string();
    let interval = parameters.steps.div_ceil(PRINTED_STEPS);
    let training = training::train(device, parameters, &interrupt::requested, |progress| match progress {
        Progress::Note(note) => bar.suspend(|| printer.note(&format!("{name}: {}", format_note(note)))),
        Progress::Step { step, loss } => {
            bar.inc(1);
            bar.set_message(format!("{name}: loss {loss:.4}"));
            if step == 1 || step % interval == 0 {
                bar.suspend(|| printer.note(&format!("{name}: step {step}, loss {loss:.4}")));
            }
        }
    });
    Ok(training.map_err(OnnxError::from)?)
}

/// The named devices, or with `--all` every device, else the CPU.
fn devices(registry: &Registry, arguments: &TrainDemoArgs, printer: &Printer) -> Result<Vec<DeviceUri>, CliError> {
    if arguments.all {
        return demo::all_devices(registry, printer);
    }
    let cpu = ["cpu".to_owned()];
    let named = if arguments.devices.is_empty() { &cpu[..] } else { &arguments.devices };
    // All URIs are parsed before a device is opened, so that a typo does not cost a run.
    let uris = named.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>()?;
    uris.into_iter().map(|uri| Ok(auto::resolve(registry, uri, printer)?)).collect()
}
