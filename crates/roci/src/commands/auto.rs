//! `auto` among the devices that a verb is to use.

use roci_hal::registry::AUTO;
use roci_hal::{DeviceUri, Error, Registry, env};

use crate::printer::Printer;

/// The devices that a verb is to use: those that are named, else the one that `ROCI_DEVICE` names, else `auto`.
pub(super) fn named(given: &[String], printer: &Printer) -> Vec<String> {
    match env::DEVICE.get().filter(|_| given.is_empty()) {
        Some(device) => {
            printer.note(&format!("{} names {device}", env::DEVICE.name));
            vec![device]
        }
        None if given.is_empty() => vec![AUTO.to_owned()],
        None => given.to_vec(),
    }
}

/// The device that a URI names; for `auto` the one that is chosen, with a note of which and why.
pub(super) fn resolve(registry: &Registry, uri: DeviceUri, printer: &Printer) -> Result<DeviceUri, Error> {
    if uri.scheme() != AUTO {
        return Ok(uri);
    }
    let choice = registry.choose(&uri)?;
    printer.note(&format!("auto: {}, {}", choice.uri, choice.reason));
    Ok(choice.uri)
}
