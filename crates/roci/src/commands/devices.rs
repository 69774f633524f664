//! `roci devices`: lists the devices of all drivers.

use roci_hal::Registry;
use roci_probe::listing::{self, ListedDevice, ListedDriver};
use roci_probe::units;
use serde::Serialize;

use crate::cli::{DevicesArgs, DriverArgs};
use crate::error::CliError;
use crate::exit::ExitStatus;
use crate::printer::{Column, FAINT, Printer, one_line};
use crate::registry::registry;

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: u32,
    drivers: Vec<ListedDriver>,
}

pub(crate) fn run(arguments: &DevicesArgs, drivers: &DriverArgs, printer: &Printer) -> Result<ExitStatus, CliError> {
    let mut registry = registry(drivers);
    if !arguments.drivers.is_empty() {
        registry = retain_drivers(registry, &arguments.drivers)?;
    }
    let drivers = listing::list(&registry, arguments.all);
    let found = drivers.iter().any(|driver| !driver.devices.is_empty());
    if arguments.format.json {
        printer.json(&Report { schema: "roci.devices", version: 1, drivers })?;
    } else {
        print_table(&drivers, printer)?;
    }
    Ok(if found { ExitStatus::Success } else { ExitStatus::NoDevice })
}

/// Keeps only the named drivers.
fn retain_drivers(registry: Registry, names: &[String]) -> Result<Registry, CliError> {
    let known: Vec<_> = registry.drivers().map(|driver| driver.scheme()).collect();
    match names.iter().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(CliError::UnknownDriver { name: name.clone(), known }),
        None => Ok(registry.retain_schemes(|scheme| names.iter().any(|name| name == scheme))),
    }
}

/// The memory that the driver reports, and the true size if it differs.
fn memory(device: &ListedDevice) -> String {
    let reported = units::bytes(device.memory_bytes);
    match device.true_memory_bytes.map(units::bytes) {
        Some(known) if known != reported => format!("{reported}/{known}"),
        _ => reported,
    }
}

fn print_table(drivers: &[ListedDriver], printer: &Printer) -> Result<(), CliError> {
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
    let row = |driver: &ListedDriver, device: &ListedDevice| {
        let sizes: Vec<_> = device.subgroup_sizes.iter().map(ToString::to_string).collect();
        vec![
            device.uri.clone(),
            driver.driver.clone(),
            device.name.clone(),
            device.target.clone().or_else(|| device.vendor.clone()).unwrap_or_else(|| "-".into()),
            device.kind.clone(),
            memory(device),
            device.compute_units.to_string(),
            device.fp16.clone(),
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
        // Each card once, at its first URI.
        if !device.same_card.is_empty() && device.same_card.iter().all(|other| !precedes(drivers, other, &device.uri)) {
            printer.data(&format!("same card: {}, {}\n", device.uri, device.same_card.join(", ")))?;
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

/// Whether one URI precedes another in the table.
fn precedes(drivers: &[ListedDriver], first: &str, second: &str) -> bool {
    let mut uris = drivers.iter().flat_map(|driver| &driver.devices).map(|device| &device.uri);
    uris.find(|uri| *uri == first || *uri == second).is_some_and(|uri| uri == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_shows_the_true_size_if_the_driver_reports_another() {
        let memory = |reported: u64, known: Option<u64>| {
            memory(&ListedDevice {
                memory_bytes: reported << 30,
                true_memory_bytes: known.map(|known| known << 30),
                ..ListedDevice::default()
            })
        };
        assert_eq!(
            [memory(12, None), memory(12, Some(12)), memory(2, Some(12))],
            ["12.0 GiB", "12.0 GiB", "2.0 GiB/12.0 GiB"]
        );
    }

    #[test]
    fn a_uri_precedes_those_in_later_rows() {
        let device = |uri: &str| ListedDevice { uri: uri.into(), ..ListedDevice::default() };
        let drivers = [ListedDriver { devices: vec![device("a"), device("b")], ..ListedDriver::default() }];
        assert!(precedes(&drivers, "a", "b") && !precedes(&drivers, "b", "a"));
    }
}
