//! Device URIs: `driver[:[//|/]path][?key=value&…]`.
//!
//! The path is empty (the driver's default), `*` (all compatible devices as one logical device) or
//! a comma-separated list. Its items are ordinals (`0`), UUIDs (`GPU-0e12865a3bf5b7ab`), PCI
//! addresses (`pci/0000:03:00.0`) or, for drivers that create devices on demand, chip names
//! (`gfx1010`). A list forms one logical device of several physical ones.
//!
//! Parsing does not depend on drivers: the registry resolves schemes, devices and parameters.

mod error;
mod parse;

use std::fmt;
use std::str::FromStr;

pub use error::{UriAlternatives, UriError, UriErrorKind};
pub use roci_base::PciAddress;

/// A parsed device URI. Printing gives the canonical form, which parses to an equal value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceUri {
    scheme: String,
    selection: Selection,
    parameters: Vec<(String, String)>,
}

/// The devices of a driver that a URI selects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// No path: the driver's default.
    Default,
    /// `*`: all compatible devices as one logical device.
    All,
    /// The listed devices, in order.
    List(Vec<DeviceSelector>),
}

/// Selects one device of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// Index in the driver's enumeration. May change across reboots.
    Ordinal(u32),
    /// Stable ID: `GPU-` followed by letters, digits or hyphens. Compared case-insensitively.
    Uuid(String),
    /// Address on the PCI bus, with the domain: `0000:03:00.0`.
    Pci(PciAddress),
    /// Target name of a chip, for drivers that create devices on demand.
    Target(String),
}

impl DeviceUri {
    /// A URI with only a scheme. Returns `None` unless it consists of lower-case letters and
    /// digits.
    pub fn driver(scheme: &str) -> Option<Self> {
        parse::is_scheme(scheme).then(|| Self::from_parts(scheme.into(), Selection::Default, Vec::new()))
    }

    /// A URI with the same driver and parameters, but other devices.
    #[must_use]
    pub fn select(&self, items: Vec<DeviceSelector>) -> Self {
        let selection = if items.is_empty() { Selection::Default } else { Selection::List(items) };
        Self::from_parts(self.scheme.clone(), selection, self.parameters.clone())
    }

    fn from_parts(scheme: String, selection: Selection, parameters: Vec<(String, String)>) -> Self {
        Self { scheme, selection, parameters }
    }

    /// The driver's scheme.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The selected devices.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Parameters, in the order given.
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// Value of a parameter.
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }
}

impl FromStr for DeviceUri {
    type Err = UriError;

    fn from_str(text: &str) -> Result<Self, UriError> {
        parse::parse(text)
    }
}

impl fmt::Display for DeviceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        match &self.selection {
            Selection::Default => {}
            Selection::All => f.write_str("://*")?,
            Selection::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if index == 0 { "://" } else { "," })?;
                }
            }
        }
        for (index, (key, value)) in self.parameters.iter().enumerate() {
            write!(f, "{}{key}={value}", if index == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinal(ordinal) => write!(f, "{ordinal}"),
            Self::Uuid(uuid) => f.write_str(uuid),
            Self::Pci(address) => write!(f, "pci/{address}"),
            Self::Target(target) => f.write_str(target),
        }
    }
}
