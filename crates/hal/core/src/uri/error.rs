//! Errors of device URIs, with existing devices as alternatives.

use std::fmt;

use roci_base::Hint;

/// An invalid or unresolvable device URI.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UriError {
    /// The URI as given.
    pub uri: String,
    /// Kind of the error.
    pub reason: UriErrorKind,
    /// Existing drivers and devices, for the hint. `None` until a registry adds them. Boxed to keep
    /// results small.
    pub alternatives: Option<Box<UriAlternatives>>,
}

/// Existing drivers, parameters and devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UriAlternatives {
    /// Known schemes.
    pub drivers: Vec<String>,
    /// Parameters of the URI's driver; `None` if the driver does not exist.
    pub driver: Option<Vec<String>>,
    /// URIs of the devices of the URI's driver, else of all drivers.
    pub devices: Vec<String>,
}

/// Which part of a URI is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriErrorKind {
    /// Missing or malformed scheme.
    BadScheme,
    /// No driver has this scheme.
    UnknownScheme(String),
    /// Two consecutive commas, or a leading comma.
    EmptyItem,
    /// A comma at the end.
    TrailingComma,
    /// Nothing after the colon or slashes.
    EmptyPath,
    /// `*` in a list with other devices.
    StarInList,
    /// Not an ordinal, UUID, PCI address or chip name.
    BadItem(String),
    /// An ordinal that does not fit in 32 bits.
    OrdinalOverflow(String),
    /// Devices or parameters after `auto`.
    AutoWithSelection,
    /// No chip named, for a driver that creates devices on demand.
    MissingChip,
    /// A device listed twice.
    Repeated(String),
    /// No device with this UUID, PCI address or chip name.
    UnknownDevice(String),
    /// An ordinal past the last device.
    OutOfRange {
        /// Ordinal in the URI, from 0.
        ordinal: u32,
        /// Number of devices.
        count: usize,
    },
    /// A parameter without `=` or key, or with invalid characters.
    BadParameter(String),
    /// A key given twice.
    RepeatedParameter(String),
    /// A key that the driver does not support.
    UnknownParameter(String),
    /// An invalid value.
    BadValue {
        /// Name of the option, before `=`.
        key: String,
        /// Text after `=`.
        value: String,
        /// Valid values.
        expected: String,
    },
    /// Devices that cannot form one logical device.
    Incompatible(String),
}

impl UriError {
    /// An error without alternatives.
    pub fn new(uri: impl Into<String>, reason: UriErrorKind) -> Self {
        Self { uri: uri.into(), reason, alternatives: None }
    }

    /// Adds alternatives for the hint.
    #[must_use]
    pub fn with_alternatives(mut self, alternatives: UriAlternatives) -> Self {
        self.alternatives = Some(Box::new(alternatives));
        self
    }

    /// The text before the first colon or question mark, valid or not.
    pub(crate) fn scheme(&self) -> &str {
        self.uri.split([':', '?']).next().unwrap_or_default()
    }
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device `{}`: ", self.uri)?;
        match &self.reason {
            UriErrorKind::BadScheme => f.write_str("it must start with a driver name (lower-case letters and digits)"),
            UriErrorKind::UnknownScheme(scheme) => write!(f, "there is no driver `{scheme}`"),
            UriErrorKind::EmptyItem => f.write_str("an item of the device list is empty"),
            UriErrorKind::TrailingComma => f.write_str("the device list ends with a comma"),
            UriErrorKind::EmptyPath => f.write_str("no device follows the colon"),
            UriErrorKind::StarInList => f.write_str("`*` selects all devices and cannot be part of a list"),
            UriErrorKind::BadItem(item) => {
                write!(f, "`{item}` is not an ordinal, a `GPU-` UUID, a `pci/` address or a chip name")
            }
            UriErrorKind::OrdinalOverflow(item) => write!(f, "there is no device {item}: the ordinal is out of range"),
            UriErrorKind::AutoWithSelection => f.write_str("`auto` takes no device and no parameters"),
            UriErrorKind::MissingChip => {
                f.write_str("the driver creates devices on demand and needs the name of a chip")
            }
            UriErrorKind::Repeated(item) => write!(f, "`{item}` names a device that is already in the list"),
            UriErrorKind::UnknownDevice(item) => write!(f, "there is no device `{item}`"),
            UriErrorKind::OutOfRange { ordinal, count: 0 } => {
                write!(f, "there is no device {ordinal}: the driver has none")
            }
            UriErrorKind::OutOfRange { ordinal, count } => {
                write!(f, "there is no device {ordinal}: the last one is {}", count - 1)
            }
            UriErrorKind::BadParameter(text) => write!(f, "`{text}` is not a `key=value` parameter"),
            UriErrorKind::RepeatedParameter(key) => write!(f, "parameter `{key}` is given twice"),
            UriErrorKind::UnknownParameter(key) => write!(f, "the driver has no parameter `{key}`"),
            UriErrorKind::BadValue { key, value, expected } => {
                write!(f, "parameter `{key}` is `{value}`, not {expected}")
            }
            UriErrorKind::Incompatible(why) => write!(f, "these devices cannot form one logical device: {why}"),
        }
    }
}

impl std::error::Error for UriError {}

impl Hint for UriError {
    fn hint(&self) -> Option<String> {
        let advice = self.reason.advice();
        let parts = match &self.alternatives {
            None => vec![advice.unwrap_or_else(|| FORM.into())],
            Some(alternatives) => advice.into_iter().chain(alternatives.parts(&self.reason)).collect(),
        };
        Some(parts.join("; "))
    }
}

/// Hint for errors without alternatives.
const FORM: &str = "write `driver`, `driver:0`, `driver://GPU-<uuid>` or `driver://0,1`";

impl UriErrorKind {
    /// How to correct the URI; `None` if the list of alternatives is the answer.
    fn advice(&self) -> Option<String> {
        let advice = match self {
            Self::EmptyItem | Self::TrailingComma => "write one comma between two devices",
            Self::Repeated(_) => "write each device once",
            Self::EmptyPath => "add a device after the colon, or omit the colon for the driver's default",
            Self::StarInList => "write `*` alone, or name the devices",
            Self::BadParameter(_) | Self::RepeatedParameter(_) => {
                "write `?key=value`, each key once, with `&` between two parameters"
            }
            Self::BadValue { key, expected, .. } => {
                return Some(format!("set `{key}` to {expected}, or omit it"));
            }
            Self::AutoWithSelection => "write `auto` alone, or name a driver or device",
            Self::MissingChip => "name a chip",
            _ => return None,
        };
        Some(advice.into())
    }
}

impl UriAlternatives {
    fn parts(&self, reason: &UriErrorKind) -> Vec<String> {
        let mut parts = Vec::new();
        match &self.driver {
            None => parts.push(format!("drivers are: {}", self.drivers.join(", "))),
            Some(parameters) if matches!(reason, UriErrorKind::UnknownParameter(_)) => {
                parts.push(if parameters.is_empty() {
                    "the driver takes no parameters".into()
                } else {
                    format!("parameters are: {}", parameters.join(", "))
                });
            }
            Some(_) => {}
        }
        parts.push(match (&self.driver, self.devices.is_empty()) {
            (_, false) => format!("devices are: {}", self.devices.join(", ")),
            (Some(_), true) => "the driver found no device; `roci devices` shows why".into(),
            (None, true) => "no driver found a device; `roci devices` shows why".into(),
        });
        parts
    }
}
