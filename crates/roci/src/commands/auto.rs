//! Selects the devices of a verb.

use roci_base::env;
use roci_hal::registry::AUTO;
use roci_hal::{DeviceUri, Error, Registry};

use crate::printer::Printer;

/// The devices of a verb: those on the command line, else ROCI_DEVICE, else `auto`.
pub(super) fn requested_uris(given: &[String], printer: &Printer) -> Vec<String> {
    match env::DEVICE.get().filter(|_| given.is_empty()) {
        Some(device) => {
            printer.note(&format!("using {device}, from {}", env::DEVICE.name));
            vec![device]
        }
        None if given.is_empty() => vec![AUTO.to_owned()],
        None => given.to_vec(),
    }
}

/// Resolves a URI; `auto` becomes the selected device, with a note that says which and why.
pub(super) fn resolve(registry: &Registry, uri: DeviceUri, printer: &Printer) -> Result<DeviceUri, Error> {
    if uri.scheme() != AUTO {
        return Ok(uri);
    }
    let choice = registry.choose(&uri)?;
    printer.note(&format!("auto: {}, {}", choice.uri, choice.reason));
    Ok(choice.uri)
}
