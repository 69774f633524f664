//! `roci demo`: runs every kernel on every device and checks the results.
//!
//! [`roci_probe::kernels`] has the problems and their reference results. `report` shows the
//! outcome.

mod report;

use std::time::Duration;

use roci_base::env;
use roci_hal::{Device, DeviceKind, DeviceUri, Error, Profile, Registry};
use roci_probe::kernels::{self, Case, PreparedCase};
use roci_probe::profile::DeviceProfile;

use crate::cli::{DemoArgs, DriverArgs};
use crate::commands::auto;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use crate::registry::registry;

use report::{DemoRow, Outcome};

/// A device under test.
struct DemoDevice {
    uri: String,
    device: Device,
    /// Timestamps of its kernels, with `--profile` and if the device supports it.
    profile: Option<Profile>,
    /// Whether the device was lost; the remaining kernels are skipped.
    lost: bool,
}

/// Runs the kernels and prints the table.
pub(crate) fn run(arguments: &DemoArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let cases = kernels::select(&arguments.kernels, arguments.quick)?;
    let timeout = arguments.timeout.unwrap_or_else(roci_hal::deadline::default_timeout);
    let (mut targets, unopened) = open(&registry(drivers), arguments, timeout, printer)?;
    interrupt::listen();

    let bar = printer.progress(cases.len() * targets.len());
    let mut rows = Vec::new();
    for case in &cases {
        if targets.is_empty() || interrupt::requested() {
            break;
        }
        bar.set_message(format!("{} reference", case.name()));
        let problem = case.prepare();
        for target in &mut targets {
            if interrupt::requested() {
                break;
            }
            bar.set_message(format!("{} on {}", case.name(), target.uri));
            let outcome = check(case, &problem, target, timeout);
            rows.push(DemoRow::new(case, &target.uri, outcome));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let mut status = rows.iter().map(DemoRow::status).fold(most_severe(&unopened), ExitStatus::and);
    let profile = |target: &DemoDevice| Some(DeviceProfile::take(&target.uri, target.profile.as_ref()?));
    let profiles = arguments.profile.then(|| targets.iter().filter_map(profile).collect::<Vec<_>>());
    report::print(&rows, &unopened, profiles.as_deref(), arguments.format.json, printer)?;
    if interrupt::requested() {
        printer.note("interrupted: the results are incomplete");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

/// Runs one kernel on one device and checks the result.
fn check(case: &Case, problem: &PreparedCase, target: &mut DemoDevice, timeout: Duration) -> Outcome {
    if target.lost {
        return Outcome::NotRun("the device was lost before".into());
    }
    if !case.kernel.runs_on(target.device.info()) {
        return Outcome::Unsupported("matrix units");
    }
    match kernels::measure(&target.device, target.profile.as_ref(), case, problem, timeout, &interrupt::requested) {
        Ok(measured) => Outcome::Ran {
            comparison: kernels::verify(&measured.output, &problem.expected, problem.output, problem.tolerance),
            seconds: measured.seconds,
        },
        Err(error) => {
            target.lost = target.device.loss().is_some();
            Outcome::Failed(error.into())
        }
    }
}

/// Opens the devices. One that cannot be opened is reported and left out, unless there is no other.
fn open(
    registry: &Registry,
    arguments: &DemoArgs,
    timeout: Duration,
    printer: &Printer,
) -> Result<(Vec<DemoDevice>, Vec<CliError>), CliError> {
    let mut targets = Vec::new();
    let mut unopened = Vec::new();
    let variable = variable(arguments);
    for uri in devices(registry, arguments, printer)? {
        match registry.open(&uri, Some(timeout)).map_err(|error| with_variable(variable, error)) {
            Ok(device) => {
                let uri = device.info().uri.to_string();
                if arguments.profile && !device.supports_profiling() {
                    printer.note(&format!("{uri} is not profiled: it has no timestamps"));
                }
                let profile = (arguments.profile && device.supports_profiling()).then(Profile::new);
                targets.push(DemoDevice { uri, device, profile, lost: false });
            }
            Err(error) => unopened.push(error),
        }
    }
    // Without any device the command ends with the most severe error, after printing the others.
    let status = most_severe(&unopened);
    let last =
        targets.is_empty().then(|| unopened.iter().position(|error| ExitStatus::from(error) == status)).flatten();
    let last = last.map(|last| unopened.remove(last));
    unopened.iter().for_each(|error| printer.error(error));
    last.map_or(Ok((targets, unopened)), Err)
}

fn most_severe(errors: &[CliError]) -> ExitStatus {
    errors.iter().map(ExitStatus::from).fold(ExitStatus::Success, ExitStatus::and)
}

/// The named devices, or all devices of this machine.
fn devices(registry: &Registry, arguments: &DemoArgs, printer: &Printer) -> Result<Vec<DeviceUri>, CliError> {
    let variable = variable(arguments);
    let mut named = arguments.devices.clone();
    named.extend(variable.and_then(env::Variable::get));
    // All URIs are parsed before a device is opened, so that a typo does not cost a run.
    let uris = named.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>();
    let uris = uris.map_err(|error| with_variable(variable, error))?;
    if uris.is_empty() {
        return all_devices(registry, printer);
    }
    let resolve = |uri| auto::resolve(registry, uri, printer).map_err(|error| with_variable(variable, error));
    uris.into_iter().map(resolve).collect()
}

/// The environment variable that names the device; `None` if it is unset or overridden.
fn variable(arguments: &DemoArgs) -> Option<&'static env::Variable> {
    (arguments.devices.is_empty() && env::DEVICE.get().is_some()).then_some(&env::DEVICE)
}

/// An error of a device, with the environment variable that named it.
fn with_variable(variable: Option<&'static env::Variable>, source: Error) -> CliError {
    match variable {
        Some(variable) => CliError::Variable { variable, source },
        None => source.into(),
    }
}

/// Every device of this machine except null devices and other drivers' views of the CPU, and an
/// emulated GPU if there is no GPU.
pub(super) fn all_devices(registry: &Registry, printer: &Printer) -> Result<Vec<DeviceUri>, CliError> {
    let (mut uris, mut has_gpu, mut emulated) = (Vec::new(), false, None);
    for found in registry.enumerate() {
        match &found.devices {
            Ok(devices) => {
                has_gpu |= devices.iter().any(|info| info.kind.is_gpu());
                let first = devices.iter().position(|info| info.kind == DeviceKind::Emulated);
                emulated = emulated.or(first.and_then(|ordinal| found.uri(ordinal)));
                let selected = devices.iter().enumerate().filter(|(_, info)| info.kind.auto_rank().is_some());
                uris.extend(selected.filter_map(|(ordinal, _)| found.uri(ordinal)));
            }
            Err(error) => printer.note(&format!("{}: {error}", found.driver.scheme())),
        }
    }
    if let (Some(uri), false) = (emulated, has_gpu) {
        printer.note(&format!("no GPU found: {uri} runs the same kernels on an emulated GPU"));
        uris.push(uri);
    }
    if uris.is_empty() {
        let error = Error::Unavailable {
            what: "a device".into(),
            reason: "no driver found one".into(),
            hint: "`roci devices` shows the error of each driver".into(),
        };
        return Err(error.into());
    }
    Ok(uris)
}
