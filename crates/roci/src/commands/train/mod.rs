//! `roci train-demo`: a small network learns on each device, and all have to learn the same.
//!
//! `pictures` makes what is learnt from, `learn` drives a device, `report` shows the outcome. The network and the step
//! are `roci_graph::train`'s.

mod learn;
mod pictures;
mod report;

use roci_graph::train::Optimizer;
use roci_hal::{DeviceUri, Registry};

use crate::cli::{DriverArgs, OptimizerName, TrainDemoArgs};
use crate::commands::{auto, demo};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use crate::registry::registry;

use report::Row;

/// What is learnt how.
struct Plan {
    optimizer: Optimizer,
    rate: f64,
    steps: usize,
    batch: usize,
    seed: u64,
}

impl Plan {
    fn of(arguments: &TrainDemoArgs) -> Self {
        let (optimizer, rate) = match arguments.optimizer {
            OptimizerName::Sgd => (Optimizer::SGD, 0.05),
            OptimizerName::Adam => (Optimizer::ADAM, 0.01),
        };
        Self {
            optimizer,
            rate: arguments.lr.unwrap_or(rate),
            steps: arguments.steps as usize,
            batch: arguments.batch as usize,
            seed: arguments.seed,
        }
    }
}

/// Trains on each device and prints the table.
pub(crate) fn run(arguments: &TrainDemoArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let plan = Plan::of(arguments);
    let registry = registry(drivers);
    let uris = wanted(&registry, arguments, printer)?;
    interrupt::listen();
    let bar = printer.progress(uris.len() * plan.steps);
    let mut rows: Vec<Row> = Vec::new();
    for uri in uris {
        if interrupt::asked() {
            break;
        }
        let name = uri.to_string();
        let device = registry.open(&uri, arguments.timeout).map_err(CliError::from);
        let made = device.and_then(|device| learn::learn(device, &plan, &bar, printer));
        if let Err(error) = &made {
            bar.suspend(|| printer.error(error));
        }
        rows.push(Row::new(name, made));
    }
    bar.finish_and_clear();
    report::judge(&mut rows);
    report::print(&rows, &plan, arguments.format.json, printer)?;
    let mut status = rows.iter().map(Row::status).fold(ExitStatus::Success, ExitStatus::and);
    if interrupt::asked() {
        printer.note("interrupted: the table holds what was done before");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

/// The devices that were named, or all that are present, or the processor.
fn wanted(registry: &Registry, arguments: &TrainDemoArgs, printer: &Printer) -> Result<Vec<DeviceUri>, CliError> {
    if arguments.all {
        return demo::present(registry, printer);
    }
    let cpu = ["cpu".to_owned()];
    let named = if arguments.devices.is_empty() { &cpu[..] } else { &arguments.devices };
    // All of them are read before any is opened: a typing error should not cost a run.
    let uris = named.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>()?;
    uris.into_iter().map(|uri| Ok(auto::resolve(registry, uri, printer)?)).collect()
}
