//! `roci devices`: what every driver finds.

use roci_hal::registry::Enumeration;
use roci_hal::{Capabilities, DeviceKind, Hint, PhysicalInfo, Registry};
use serde::Serialize;

use crate::cli::DevicesArgs;
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, FAINT, Printer};
use crate::registry::registry;
use crate::units;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    drivers: Vec<DriverReport>,
}

/// What one driver says.
#[derive(Serialize)]
struct DriverReport {
    driver: &'static str,
    summary: &'static str,
    /// Why it cannot look; null when it can.
    error: Option<String>,
    hint: Option<String>,
    devices: Vec<DeviceReport>,
}

#[derive(Serialize)]
struct DeviceReport {
    uri: String,
    name: String,
    kind: &'static str,
    target: Option<String>,
    uuid: Option<String>,
    pci: Option<String>,
    memory_bytes: u64,
    compute_units: u32,
    fp16: &'static str,
    subgroup_sizes: Vec<u32>,
    workgroup_memory_bytes: u32,
}

/// Prints what there is.
pub(crate) fn run(arguments: &DevicesArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let drivers = look(&registry(), arguments.all);
    let found = drivers.iter().any(|driver| !driver.devices.is_empty());
    if arguments.format.json {
        printer.json(&Report { schema: "roci.devices", version: 1, drivers })?;
    } else {
        print_table(&drivers, printer)?;
    }
    Ok(if found { ExitStatus::Success } else { ExitStatus::NoDevice })
}

fn look(registry: &Registry, all: bool) -> Vec<DriverReport> {
    let mut reports: Vec<_> = registry.enumerate().iter().map(|found| describe_driver(found, all)).collect();
    // A driver of null devices alone is not worth a word unless they were asked for.
    reports.retain(|report| all || report.driver != roci_hal::null::SCHEME);
    reports
}

fn describe_driver(found: &Enumeration, all: bool) -> DriverReport {
    let driver = found.driver.as_ref();
    let (devices, error) = match &found.devices {
        Ok(devices) => (devices.as_slice(), None),
        Err(error) => (&[][..], Some(error)),
    };
    let listed = devices.iter().enumerate().filter(|(_, info)| all || info.kind != DeviceKind::Null);
    DriverReport {
        driver: driver.scheme(),
        summary: driver.summary(),
        error: error.map(ToString::to_string),
        hint: error.and_then(Hint::hint),
        devices: listed
            .filter_map(|(ordinal, info)| Some((found.uri(ordinal)?, info)))
            .map(|(uri, info)| describe_device(uri.to_string(), info))
            .collect(),
    }
}

fn describe_device(uri: String, info: &PhysicalInfo) -> DeviceReport {
    DeviceReport {
        uri,
        name: info.name.clone(),
        kind: info.kind.describe(),
        target: info.target.clone(),
        uuid: info.uuid.clone(),
        pci: info.pci.map(|address| address.to_string()),
        memory_bytes: info.memory,
        compute_units: info.compute_units,
        fp16: fp16(&info.capabilities),
        subgroup_sizes: info.capabilities.subgroup_sizes.clone(),
        workgroup_memory_bytes: info.capabilities.workgroup_memory,
    }
}

fn fp16(capabilities: &Capabilities) -> &'static str {
    match (capabilities.fp16_arithmetic, capabilities.fp16_storage) {
        (true, _) => "yes",
        (false, true) => "storage",
        (false, false) => "no",
    }
}

fn print_table(drivers: &[DriverReport], printer: &Printer) -> Result<(), CliError> {
    let columns = [
        Column::Text("URI"),
        Column::Text("DRIVER"),
        Column::Text("NAME"),
        Column::Text("KIND"),
        Column::Number("MEMORY"),
        Column::Number("UNITS"),
        Column::Text("FP16"),
        Column::Text("SUB-GROUPS"),
    ];
    let row = |driver: &DriverReport, device: &DeviceReport| {
        let sizes: Vec<_> = device.subgroup_sizes.iter().map(ToString::to_string).collect();
        vec![
            device.uri.clone(),
            driver.driver.into(),
            device.name.clone(),
            device.kind.into(),
            units::bytes(device.memory_bytes),
            device.compute_units.to_string(),
            device.fp16.into(),
            if sizes.is_empty() { "-".into() } else { sizes.join(",") },
        ]
    };
    let rows: Vec<_> =
        drivers.iter().flat_map(|driver| driver.devices.iter().map(move |device| row(driver, device))).collect();
    if !rows.is_empty() {
        printer.table(&columns, rows)?;
    }
    for driver in drivers {
        if let Some(error) = &driver.error {
            let hint = driver.hint.as_ref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
            printer.data(&format!("{}: {error}{hint}\n", driver.driver))?;
        } else if driver.devices.is_empty() {
            printer.data(&format!("{FAINT}{}: no device{FAINT:#}\n", driver.driver))?;
        }
    }
    Ok(())
}
