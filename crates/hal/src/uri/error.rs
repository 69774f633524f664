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
    /// What exists instead, for the hint; `None` until a registry has looked. Boxed to keep results small.
    pub known: Option<Box<Known>>,
}

/// What exists where a URI looked for something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The names that a URI can start with.
    pub drivers: Vec<String>,
    /// The parameters of the driver that the URI names; `None` if there is no such driver.
    pub driver: Option<Vec<String>>,
    /// URIs of the devices: that driver's, or those of all drivers.
    pub devices: Vec<String>,
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
    /// An ordinal that is larger than ordinals can be.
    HugeOrdinal(String),
    /// Devices or parameters behind `auto`, which leaves the choice to us.
    BehindAuto,
    /// No chip named, where devices are made to order.
    NeedsChip,
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
        Self { uri: uri.into(), reason, known: None }
    }

    /// Adds what exists.
    #[must_use]
    pub fn with_known(mut self, known: Known) -> Self {
        self.known = Some(Box::new(known));
        self
    }

    /// The name that the URI starts with, right or wrong.
    pub(crate) fn scheme(&self) -> &str {
        self.uri.split([':', '?']).next().unwrap_or_default()
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
            UriReason::HugeOrdinal(item) => write!(f, "there is no device {item}: the ordinal is out of range"),
            UriReason::BehindAuto => f.write_str("`auto` chooses by itself, nothing can stand behind it"),
            UriReason::NeedsChip => f.write_str("the driver makes its devices to order and must know which chip"),
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
        let advice = self.reason.advice();
        let parts = match &self.known {
            None => vec![advice.unwrap_or_else(|| FORM.into())],
            Some(known) => advice.into_iter().chain(known.parts(&self.reason)).collect(),
        };
        Some(parts.join("; "))
    }
}

/// What to write, where nobody knows what exists.
const FORM: &str = "write `driver`, `driver:0`, `driver://GPU-<uuid>` or `driver://0,1`";

impl UriReason {
    /// What to write instead, unless the list of what exists is the answer.
    fn advice(&self) -> Option<String> {
        let advice = match self {
            Self::EmptyItem | Self::TrailingComma => "write one comma between two devices",
            Self::Repeated(_) => "write each device once",
            Self::EmptyPath => "name a device behind the colon, or leave the colon out for the driver's default",
            Self::StarInList => "write `*` alone, or name the devices",
            Self::BadParameter(_) | Self::RepeatedParameter(_) => {
                "write `?key=value`, each key once, with `&` between two parameters"
            }
            Self::BadValue { key, expected, .. } => {
                return Some(format!("set `{key}` to {expected}, or leave it out"));
            }
            Self::BehindAuto => "write `auto` alone, or name a driver or device",
            Self::NeedsChip => "name a chip",
            _ => return None,
        };
        Some(advice.into())
    }
}

impl Known {
    fn parts(&self, reason: &UriReason) -> Vec<String> {
        let mut parts = Vec::new();
        match &self.driver {
            None => parts.push(format!("drivers are: {}", self.drivers.join(", "))),
            Some(parameters) if matches!(reason, UriReason::UnknownParameter(_)) => {
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
            (Some(_), true) => "the driver finds no device; `roci devices` shows why".into(),
            (None, true) => "no driver finds a device; `roci devices` shows why".into(),
        });
        parts
    }
}
