//! What is wrong with a device URI, and which devices there are instead.

use std::fmt;

use crate::error::Hint;

/// A device URI that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UriError {
    /// The URI as given.
    pub uri: String,
    /// What is wrong with it.
    pub reason: UriReason,
    /// Drivers or devices that exist, for the hint.
    pub known: Vec<String>,
}

/// What is wrong with a device URI.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UriReason {
    /// Nothing in front of the colon, or something that is no name.
    BadScheme,
    /// No driver has that name.
    UnknownScheme(String),
    /// Two commas in a row, or a comma in front.
    EmptyItem,
    /// A comma at the end.
    TrailingComma,
    /// A slash or colon with nothing behind it.
    EmptyPath,
    /// `*` beside other items.
    StarInList,
    /// Not an ordinal, UUID, PCI address or chip name.
    BadItem(String),
    /// The same device twice.
    Repeated(String),
    /// A UUID, PCI address or chip that the driver does not have.
    UnknownDevice(String),
    /// An ordinal past the last device.
    OutOfRange {
        /// The ordinal.
        ordinal: u32,
        /// How many devices there are.
        count: usize,
    },
    /// A parameter without `=`, without a key, or with characters that cannot stand there.
    BadParameter(String),
    /// The same key twice.
    RepeatedParameter(String),
    /// A key that the driver does not know.
    UnknownParameter(String),
    /// A known key with a value that the driver cannot use.
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What would do.
        expected: String,
    },
    /// Devices that cannot form one logical device.
    Incompatible(String),
}

impl UriError {
    /// An error without a list of what exists.
    pub fn new(uri: impl Into<String>, reason: UriReason) -> Self {
        Self { uri: uri.into(), reason, known: Vec::new() }
    }

    /// Adds what exists.
    #[must_use]
    pub fn with_known(mut self, known: Vec<String>) -> Self {
        self.known = known;
        self
    }
}

impl fmt::Display for UriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "device `{}`: ", self.uri)?;
        match &self.reason {
            UriReason::BadScheme => f.write_str("it must start with a driver's name (lower-case letters and digits)"),
            UriReason::UnknownScheme(scheme) => write!(f, "there is no driver `{scheme}`"),
            UriReason::EmptyItem => f.write_str("an item of the device list is empty"),
            UriReason::TrailingComma => f.write_str("the device list ends with a comma"),
            UriReason::EmptyPath => f.write_str("there is no device behind the colon"),
            UriReason::StarInList => f.write_str("`*` means all devices and cannot stand in a list"),
            UriReason::BadItem(item) => {
                write!(f, "`{item}` is not an ordinal, a `GPU-` UUID, a `pci/` address or a chip name")
            }
            UriReason::Repeated(item) => write!(f, "`{item}` names a device that is already in the list"),
            UriReason::UnknownDevice(item) => write!(f, "there is no device `{item}`"),
            UriReason::OutOfRange { ordinal, count: 0 } => {
                write!(f, "there is no device {ordinal}: the driver has none")
            }
            UriReason::OutOfRange { ordinal, count } => {
                write!(f, "there is no device {ordinal}: the last one is {}", count - 1)
            }
            UriReason::BadParameter(text) => write!(f, "`{text}` is not a `key=value` parameter"),
            UriReason::RepeatedParameter(key) => write!(f, "parameter `{key}` is given twice"),
            UriReason::UnknownParameter(key) => write!(f, "the driver knows no parameter `{key}`"),
            UriReason::BadValue { key, value, expected } => write!(f, "parameter `{key}` is `{value}`, not {expected}"),
            UriReason::Incompatible(why) => write!(f, "these devices cannot be one logical device: {why}"),
        }
    }
}

impl std::error::Error for UriError {}

impl Hint for UriError {
    fn hint(&self) -> Option<String> {
        let all = self.known.join(", ");
        match &self.reason {
            UriReason::UnknownScheme(_) if !all.is_empty() => Some(format!("drivers are: {all}")),
            UriReason::UnknownParameter(_) if all.is_empty() => Some("the driver takes no parameters".into()),
            UriReason::UnknownParameter(_) => Some(format!("parameters are: {all}")),
            UriReason::BadValue { .. } => None,
            UriReason::UnknownDevice(_) | UriReason::OutOfRange { .. } if all.is_empty() => {
                Some("the driver finds no device; `roci devices` shows why".into())
            }
            _ if all.is_empty() => Some("write `driver`, `driver:0`, `driver://GPU-<uuid>` or `driver://0,1`".into()),
            _ => Some(format!("devices are: {all}")),
        }
    }
}
