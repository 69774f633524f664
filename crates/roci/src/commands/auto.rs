//! `auto` among the devices that a verb is to use.

use roci_hal::registry::AUTO;
use roci_hal::{DeviceUri, Error, Registry};

use crate::printer::Printer;

/// The device that a URI names; for `auto` the one that is chosen, with a note of which and why.
pub(super) fn resolve(registry: &Registry, uri: DeviceUri, printer: &Printer) -> Result<DeviceUri, Error> {
    if uri.scheme() != AUTO {
        return Ok(uri);
    }
    let choice = registry.choose(&uri)?;
    printer.note(&format!("auto: {}, {}", choice.uri, choice.reason));
    Ok(choice.uri)
}
