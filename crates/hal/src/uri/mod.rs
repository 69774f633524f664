//! Device URIs: `driver[:[//|/]path][?key=value&…]`.
//!
//! The path is empty (the driver's default), `*` (every compatible device as one logical device) or a comma list whose
//! items are ordinals (`0`), UUIDs (`GPU-0e12865a3bf5b7ab`), PCI addresses (`pci/0000:03:00.0`) or, where devices are
//! made to order, chip names (`gfx1010`). Several items make one logical device of several physical ones.
//!
//! Parsing knows no driver: whether the scheme, the items and the parameters exist is the registry's question.

mod error;
mod parse;
mod pci;

use std::fmt;
use std::str::FromStr;

pub use error::{Known, UriError, UriReason};
pub use pci::PciAddress;

/// A parsed device URI. Printing gives the canonical form, which parses to an equal value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DeviceUri {
    scheme: String,
    selection: Selection,
    parameters: Vec<(String, String)>,
}

/// Which devices of a driver a URI names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Selection {
    /// Nothing said: the driver's default.
    Default,
    /// `*`: all compatible devices as one.
    All,
    /// These, in this order.
    List(Vec<Item>),
}

/// One device of a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// Position in the driver's enumeration; may change across reboots.
    Ordinal(u32),
    /// Stable id, `GPU-` and letters or digits, kept as written and compared without regard to case.
    Uuid(String),
    /// Position on the bus.
    Pci(PciAddress),
    /// A chip by its target name, for devices that are made to order.
    Target(String),
}

impl DeviceUri {
    /// A URI with nothing but the driver's name; `None` unless the name is a lower-case word.
    pub fn driver(scheme: &str) -> Option<Self> {
        parse::is_scheme(scheme).then(|| Self::from_parts(scheme.into(), Selection::Default, Vec::new()))
    }

    /// The same driver and parameters with other devices.
    #[must_use]
    pub fn select(&self, items: Vec<Item>) -> Self {
        let selection = if items.is_empty() { Selection::Default } else { Selection::List(items) };
        Self::from_parts(self.scheme.clone(), selection, self.parameters.clone())
    }

    fn from_parts(scheme: String, selection: Selection, parameters: Vec<(String, String)>) -> Self {
        Self { scheme, selection, parameters }
    }

    /// The driver's name.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Which of its devices.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Parameters in the order written.
    pub fn parameters(&self) -> &[(String, String)] {
        &self.parameters
    }

    /// One parameter's value.
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

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ordinal(ordinal) => write!(f, "{ordinal}"),
            Self::Uuid(uuid) => f.write_str(uuid),
            Self::Pci(address) => write!(f, "pci/{address}"),
            Self::Target(target) => f.write_str(target),
        }
    }
}
