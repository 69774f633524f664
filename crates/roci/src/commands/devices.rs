//! `roci devices`: what every driver finds.

use roci_hal::registry::Enumeration;
use roci_hal::{Capabilities, DeviceKind, Hint, PhysicalInfo, Registry};
use serde::Serialize;

use crate::cli::{DevicesArgs, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, FAINT, Printer, one_line};
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
    vendor: Option<String>,
    /// What the driver stands on, with its version.
    runtime: Option<String>,
    uuid: Option<String>,
    pci: Option<String>,
    /// As the driver reports it.
    memory_bytes: u64,
    /// As the operating system shows it, where that is known.
    true_memory_bytes: Option<u64>,
    compute_units: u32,
    fp16: &'static str,
    integer_dot: bool,
    matrix_units: bool,
    subgroup_sizes: Vec<u32>,
    workgroup_memory_bytes: u32,
    /// URIs of the same card through other drivers.
    same_card: Vec<String>,
    quirks: Vec<String>,
}

/// Prints what there is.
pub(crate) fn run(arguments: &DevicesArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let mut registry = registry(drivers);
    if !arguments.drivers.is_empty() {
        registry = only(registry, &arguments.drivers)?;
    }
    let drivers = look(&registry, arguments.all);
    let found = drivers.iter().any(|driver| !driver.devices.is_empty());
    if arguments.format.json {
        printer.json(&Report { schema: "roci.devices", version: 1, drivers })?;
    } else {
        print_table(&drivers, printer)?;
    }
    Ok(if found { ExitStatus::Success } else { ExitStatus::NoDevice })
}

/// Leaves the drivers that were named.
fn only(registry: Registry, names: &[String]) -> Result<Registry, CliError> {
    let known: Vec<_> = registry.drivers().map(|driver| driver.scheme()).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(CliError::UnknownDriver { name: name.clone(), known }),
        None => Ok(registry.only(|scheme| names.iter().any(|name| name == scheme))),
    }
}

fn look(registry: &Registry, all: bool) -> Vec<DriverReport> {
    let found = registry.enumerate();
    let mut reports: Vec<_> = found.iter().map(|driver| describe_driver(driver, &found, all)).collect();
    // A driver of null devices alone is not worth a word unless they were asked for.
    reports.retain(|report| all || report.driver != roci_hal::null::SCHEME);
    reports
}

fn describe_driver(found: &Enumeration, others: &[Enumeration], all: bool) -> DriverReport {
    let driver = found.driver.as_ref();
    let error = found.devices.as_ref().err();
    let listed = devices(found).filter(|(_, info)| all || info.kind != DeviceKind::Null);
    DriverReport {
        driver: driver.scheme(),
        summary: driver.summary(),
        error: error.map(ToString::to_string),
        hint: error.and_then(Hint::hint),
        devices: listed.map(|(uri, info)| describe_device(uri, info, others)).collect(),
    }
}

/// The devices of a driver with their URIs.
fn devices(found: &Enumeration) -> impl Iterator<Item = (String, &PhysicalInfo)> {
    let devices = found.devices.as_deref().unwrap_or_default();
    devices.iter().enumerate().filter_map(|(ordinal, info)| Some((found.uri(ordinal)?.to_string(), info)))
}

fn describe_device(uri: String, info: &PhysicalInfo, drivers: &[Enumeration]) -> DeviceReport {
    let others = drivers.iter().flat_map(devices).filter(|(other, twin)| *other != uri && info.same_card(twin));
    DeviceReport {
        same_card: others.map(|(other, _)| other).collect(),
        uri,
        name: info.name.clone(),
        kind: info.kind.describe(),
        target: info.target.clone(),
        vendor: info.vendor.clone(),
        runtime: info.runtime.clone(),
        uuid: info.uuid.clone(),
        pci: info.pci.map(|address| address.to_string()),
        memory_bytes: info.memory,
        true_memory_bytes: info.true_memory,
        compute_units: info.compute_units,
        fp16: fp16(&info.capabilities),
        integer_dot: info.capabilities.integer_dot,
        matrix_units: info.capabilities.matrix,
        subgroup_sizes: info.capabilities.subgroup_sizes.clone(),
        workgroup_memory_bytes: info.capabilities.workgroup_memory,
        quirks: info.quirks.clone(),
    }
}

fn fp16(capabilities: &Capabilities) -> &'static str {
    match (capabilities.fp16_arithmetic, capabilities.fp16_storage) {
        (true, _) => "yes",
        (false, true) => "storage",
        (false, false) => "no",
    }
}

/// What the driver reports, and what is true where that differs.
fn memory(device: &DeviceReport) -> String {
    let reported = units::bytes(device.memory_bytes);
    match device.true_memory_bytes.map(units::bytes) {
        Some(known) if known != reported => format!("{reported}/{known}"),
        _ => reported,
    }
}

fn print_table(drivers: &[DriverReport], printer: &Printer) -> Result<(), CliError> {
    let columns = [
        Column::Text("URI"),
        Column::Text("DRIVER"),
        Column::Text("NAME"),
        Column::Text("CHIP"),
        Column::Text("KIND"),
        Column::Number("MEMORY"),
        Column::Number("UNITS"),
        Column::Text("FP16"),
        Column::Text("INT-DOT"),
        Column::Text("MATRIX"),
        Column::Text("SUB-GROUPS"),
        Column::Text("PCI"),
    ];
    let has = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let row = |driver: &DriverReport, device: &DeviceReport| {
        let sizes: Vec<_> = device.subgroup_sizes.iter().map(ToString::to_string).collect();
        vec![
            device.uri.clone(),
            driver.driver.into(),
            device.name.clone(),
            device.target.clone().or_else(|| device.vendor.clone()).unwrap_or_else(|| "-".into()),
            device.kind.into(),
            memory(device),
            device.compute_units.to_string(),
            device.fp16.into(),
            has(device.integer_dot),
            has(device.matrix_units),
            if sizes.is_empty() { "-".into() } else { sizes.join(",") },
            device.pci.clone().unwrap_or_else(|| "-".into()),
        ]
    };
    let rows: Vec<_> =
        drivers.iter().flat_map(|driver| driver.devices.iter().map(move |device| row(driver, device))).collect();
    if !rows.is_empty() {
        printer.table(&columns, rows)?;
    }
    for device in drivers.iter().flat_map(|driver| &driver.devices) {
        // Each card once, at the first of its URIs.
        if !device.same_card.is_empty() && device.same_card.iter().all(|other| !precedes(drivers, other, &device.uri)) {
            printer.data(&format!("one card: {}, {}\n", device.uri, device.same_card.join(", ")))?;
        }
        for quirk in &device.quirks {
            printer.data(&format!("{FAINT}{}: {}{FAINT:#}\n", device.uri, one_line(quirk)))?;
        }
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

/// Whether one URI stands above another in the table.
fn precedes(drivers: &[DriverReport], first: &str, second: &str) -> bool {
    let mut uris = drivers.iter().flat_map(|driver| &driver.devices).map(|device| &device.uri);
    uris.find(|uri| *uri == first || *uri == second).is_some_and(|uri| uri == first)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use roci_hal::Error;
    use roci_hal::driver::{DeviceBackend, Driver, OpenRequest};

    use super::*;

    /// A driver of a card that others see too.
    struct Seen(&'static str, PhysicalInfo);

    impl Driver for Seen {
        fn scheme(&self) -> &'static str {
            self.0
        }

        fn summary(&self) -> &'static str {
            "a card"
        }

        fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
            Ok(vec![self.1.clone()])
        }

        fn open(&self, _: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
            Err(Error::invalid("open", "there is no card"))
        }
    }

    #[test]
    fn one_card_through_three_drivers_is_told_once() {
        let card = |memory, true_memory, uuid: Option<&str>| PhysicalInfo {
            pci: "03:00.0".parse().ok(),
            uuid: uuid.map(str::to_owned),
            memory,
            true_memory,
            ..PhysicalInfo::new("card", DeviceKind::DiscreteGpu)
        };
        let registry = Registry::new()
            .with(Seen("amdgpu", card(12 << 30, None, Some("GPU-0123"))))
            .with(Seen("vulkan", card(12 << 30, Some(12 << 30), None)))
            .with(Seen("opencl", card(2 << 30, Some(12 << 30), None)))
            .with(Seen("cpu", PhysicalInfo::new("processor", DeviceKind::Cpu)));
        let reports = look(&registry, false);
        let device = |driver: usize| &reports[driver].devices[0];
        let (amdgpu, vulkan, opencl) = ("amdgpu://GPU-0123", "vulkan://pci/0000:03:00.0", "opencl://pci/0000:03:00.0");
        assert_eq!(device(0).same_card, [vulkan, opencl]);
        assert_eq!(device(2).same_card, [amdgpu, vulkan]);
        assert!(device(3).same_card.is_empty());
        assert!(precedes(&reports, amdgpu, opencl) && !precedes(&reports, opencl, vulkan));
        assert_eq!(
            [memory(device(0)), memory(device(1)), memory(device(2))],
            ["12.0 GiB", "12.0 GiB", "2.0 GiB/12.0 GiB"]
        );
    }
}
