//! Device URIs of the command line and of environment variables.

use roci_hal::DeviceUri;

/// Parses a device URI, prints it, and parses it again: the result must be the same URI.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(uri) = text.parse::<DeviceUri>() else { return };
    let printed = uri.to_string();
    assert_eq!(printed.parse::<DeviceUri>().as_ref(), Ok(&uri), "printed as `{printed}`");
}
