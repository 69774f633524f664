//! `roci demo`: every kernel on every device, with a verdict.
//!
//! `cases` says what is computed, `reference` what the result must be, `run` drives a device, `report` shows the
//! outcome, `profile` what ran when.

pub(super) mod cases;
mod input;
mod layers;
mod profile;
pub(super) mod reference;
mod report;
pub(super) mod run;

use std::time::Duration;

use roci_hal::{Device, DeviceKind, DeviceUri, Error, Profile, Registry, env};

use crate::cli::{DemoArgs, DriverArgs};
use crate::commands::auto;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::printer::Printer;
use crate::registry::registry;

use cases::Case;
use profile::DeviceProfile;
use report::{Outcome, Row};

/// A device under test.
struct Target {
    uri: String,
    device: Device,
    /// When things ran on it, if that was asked for and it can tell.
    profile: Option<Profile>,
    /// The row in which it was lost tells why; those behind it are not run.
    lost: bool,
}

/// Runs the kernels and prints the table.
pub(crate) fn run(arguments: &DemoArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let cases = cases::select(&arguments.kernels, arguments.quick)?;
    let timeout = arguments.timeout.unwrap_or_else(roci_hal::deadline::default_timeout);
    let (mut targets, unopened) = open(&registry(drivers), arguments, timeout, printer)?;
    interrupt::listen();

    let bar = printer.progress(cases.len() * targets.len());
    let mut rows = Vec::new();
    for case in &cases {
        if targets.is_empty() || interrupt::asked() {
            break;
        }
        bar.set_message(format!("{} reference", case.name()));
        let problem = case.prepare();
        for target in &mut targets {
            if interrupt::asked() {
                break;
            }
            bar.set_message(format!("{} on {}", case.name(), target.uri));
            let outcome = judge(case, &problem, target, timeout);
            rows.push(Row::new(case, &target.uri, outcome));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();

    let mut status = rows.iter().map(Row::status).fold(gravest(&unopened), ExitStatus::and);
    let profiles = arguments.profile.then(|| targets.iter().filter_map(DeviceProfile::of).collect::<Vec<_>>());
    report::print(&rows, &unopened, profiles.as_deref(), arguments.format.json, printer)?;
    if interrupt::asked() {
        printer.note("interrupted: the table holds what was done before");
        status = status.and(ExitStatus::Interrupted);
    }
    Ok(status)
}

/// One kernel on one device.
fn judge(case: &Case, problem: &cases::Prepared, target: &mut Target, timeout: Duration) -> Outcome {
    if target.lost {
        return Outcome::NotRun("the device was lost above".into());
    }
    if !case.kernel.runs_on(target.device.info()) {
        return Outcome::Lacks("matrix units");
    }
    match run::measure(&target.device, target.profile.as_ref(), case, problem, timeout) {
        Ok(measured) => Outcome::Ran {
            verdict: reference::verify(&measured.output, &problem.expected, problem.output, problem.tolerance),
            seconds: measured.seconds,
        },
        Err(error) => {
            target.lost = target.device.loss().is_some();
            Outcome::Failed(error)
        }
    }
}

/// Opens what was asked for. A device that cannot be opened is left out, with the reason, unless there is no other.
fn open(
    registry: &Registry,
    arguments: &DemoArgs,
    timeout: Duration,
    printer: &Printer,
) -> Result<(Vec<Target>, Vec<CliError>), CliError> {
    let mut targets = Vec::new();
    let mut unopened = Vec::new();
    let variable = variable(arguments);
    for uri in wanted(registry, arguments, printer)? {
        match registry.open(&uri, Some(timeout)).map_err(|error| named_by(variable, error)) {
            Ok(device) => {
                let uri = device.info().uri.to_string();
                if arguments.profile && !device.profiles() {
                    printer.note(&format!("{uri} cannot tell when kernels ran"));
                }
                let profile = (arguments.profile && device.profiles()).then(Profile::new);
                targets.push(Target { uri, device, profile, lost: false });
            }
            Err(error) => unopened.push(error),
        }
    }
    // Without any device the command ends by the gravest reason, and has said the others.
    let status = gravest(&unopened);
    let last =
        targets.is_empty().then(|| unopened.iter().position(|error| ExitStatus::from(error) == status)).flatten();
    let last = last.map(|last| unopened.remove(last));
    unopened.iter().for_each(|error| printer.error(error));
    last.map_or(Ok((targets, unopened)), Err)
}

fn gravest(errors: &[CliError]) -> ExitStatus {
    errors.iter().map(ExitStatus::from).fold(ExitStatus::Success, ExitStatus::and)
}

/// The devices that were named, or all that are present.
fn wanted(registry: &Registry, arguments: &DemoArgs, printer: &Printer) -> Result<Vec<DeviceUri>, CliError> {
    let variable = variable(arguments);
    let mut named = arguments.devices.clone();
    named.extend(variable.and_then(env::Variable::get));
    // All of them are read before any is opened: a typing error should not cost a run.
    let uris = named.iter().map(|text| registry.parse(text)).collect::<Result<Vec<_>, _>>();
    let uris = uris.map_err(|error| named_by(variable, error))?;
    if uris.is_empty() {
        return present(registry, printer);
    }
    let resolve = |uri| auto::resolve(registry, uri, printer).map_err(|error| named_by(variable, error));
    uris.into_iter().map(resolve).collect()
}

/// The variable that names the devices: none if the command line does, or nobody.
fn variable(arguments: &DemoArgs) -> Option<&'static env::Variable> {
    (arguments.devices.is_empty() && env::DEVICE.get().is_some()).then_some(&env::DEVICE)
}

/// What is wrong with a device, and where it was named if that is out of sight.
fn named_by(variable: Option<&'static env::Variable>, source: Error) -> CliError {
    match variable {
        Some(variable) => CliError::Variable { variable, source },
        None => source.into(),
    }
}

/// Every device of this machine, not those that compute nothing or are the processor in another guise; and, where there is
/// no GPU, an emulated one.
pub(super) fn present(registry: &Registry, printer: &Printer) -> Result<Vec<DeviceUri>, CliError> {
    let (mut uris, mut has_gpu, mut emulated) = (Vec::new(), false, None);
    for found in registry.enumerate() {
        match &found.devices {
            Ok(devices) => {
                has_gpu |= devices.iter().any(|info| info.kind.is_gpu());
                let first = devices.iter().position(|info| info.kind == DeviceKind::Emulated);
                emulated = emulated.or(first.and_then(|ordinal| found.uri(ordinal)));
                let ours = devices.iter().enumerate().filter(|(_, info)| info.kind.auto_rank().is_some());
                uris.extend(ours.filter_map(|(ordinal, _)| found.uri(ordinal)));
            }
            Err(error) => printer.note(&format!("{}: {error}", found.driver.scheme())),
        }
    }
    if let (Some(uri), false) = (emulated, has_gpu) {
        printer.note(&format!("no GPU here: {uri} runs the same kernels on an emulated one"));
        uris.push(uri);
    }
    if uris.is_empty() {
        let error = Error::Unavailable {
            what: "a device".into(),
            reason: "no driver finds one".into(),
            hint: "`roci devices` shows what each driver says".into(),
        };
        return Err(error.into());
    }
    Ok(uris)
}
