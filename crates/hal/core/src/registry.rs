//! The registry of drivers, which resolves URIs and opens devices.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::device::Device;
use crate::driver::{Driver, OpenRequest};
use crate::error::Error;
use crate::info::{DeviceKind, PhysicalInfo};
use crate::uri::{DeviceSelector, DeviceUri, Selection, UriAlternatives, UriError, UriErrorKind};

/// The scheme that selects a device automatically.
pub const AUTO: &str = "auto";

/// Drivers in order of preference for `auto`.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: Vec<Arc<dyn Driver>>,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("schemes", &self.drivers.iter().map(|driver| driver.scheme()).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

/// The devices of one driver.
#[non_exhaustive]
pub struct Enumeration {
    /// The driver that was asked.
    pub driver: Arc<dyn Driver>,
    /// Its devices in order of their ordinals, or why it cannot enumerate.
    pub devices: Result<Vec<PhysicalInfo>, Error>,
}

impl std::fmt::Debug for Enumeration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Enumeration").field("driver", &self.driver.scheme()).field("devices", &self.devices).finish()
    }
}

impl Enumeration {
    /// URIs of all devices; empty if enumeration failed.
    pub fn uris(&self) -> impl Iterator<Item = DeviceUri> {
        let count = self.devices.as_ref().map_or(0, Vec::len);
        (0..count).filter_map(|ordinal| self.uri(ordinal))
    }

    /// The most stable URI of a device and, among those, the shortest.
    pub fn uri(&self, ordinal: usize) -> Option<DeviceUri> {
        let devices = self.devices.as_ref().ok()?;
        let base = DeviceUri::driver(self.driver.scheme())?;
        let item = selector_of(self.driver.as_ref(), devices, ordinal as u32, devices.get(ordinal)?);
        // The ordinal of the only device is redundant, except for software devices, which must be
        // named explicitly.
        let software = devices[ordinal].kind == DeviceKind::Software;
        let redundant = devices.len() == 1 && matches!(item, DeviceSelector::Ordinal(_)) && !software;
        Some(if redundant { base } else { base.select(vec![item]) })
    }
}

/// The device chosen by `auto`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AutoChoice {
    /// Opens the chosen device again.
    pub uri: DeviceUri,
    /// The device's name, and why preferred drivers were skipped.
    pub reason: String,
}

impl Registry {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver with the lowest preference for `auto` so far.
    #[must_use]
    pub fn with(mut self, driver: impl Driver + 'static) -> Self {
        self.drivers.push(Arc::new(driver));
        self
    }

    /// Keeps only drivers whose scheme satisfies the predicate.
    #[must_use]
    pub fn retain_schemes(mut self, expected: impl Fn(&str) -> bool) -> Self {
        self.drivers.retain(|driver| expected(driver.scheme()));
        self
    }

    /// The drivers, in order of preference.
    pub fn drivers(&self) -> impl Iterator<Item = &dyn Driver> {
        self.drivers.iter().map(AsRef::as_ref)
    }

    /// Enumerates the devices of every driver.
    pub fn enumerate(&self) -> Vec<Enumeration> {
        self.drivers.iter().map(enumerate_driver).collect()
    }

    /// Parses a URI. Unlike [`DeviceUri`]'s `parse`, errors list existing drivers and devices.
    pub fn parse(&self, text: &str) -> Result<DeviceUri, Error> {
        text.parse().map_err(|error: UriError| self.with_alternatives(error.into()))
    }

    /// Opens the device that a URI names. `timeout` as in [`Device::new`].
    pub fn open(&self, uri: &DeviceUri, timeout: Option<Duration>) -> Result<Device, Error> {
        if uri.scheme() == AUTO {
            return self.open(&self.choose(uri)?.uri, timeout);
        }
        self.open_named(uri, timeout).map_err(|error| self.with_alternatives(error))
    }

    fn open_named(&self, uri: &DeviceUri, timeout: Option<Duration>) -> Result<Device, Error> {
        let driver = self.driver(uri)?;
        check_parameters(uri, driver)?;
        let devices = driver.enumerate_for(uri)?;
        let physical = resolve_selection(uri, driver, &devices)?;
        let canonical = match uri.selection() {
            Selection::Default => uri.clone(),
            _ => uri
                .select(physical.iter().map(|(ordinal, info)| selector_of(driver, &devices, *ordinal, info)).collect()),
        };
        let backend = driver.open(&OpenRequest { uri: &canonical, physical: &physical })?;
        Ok(Device::new(backend, timeout))
    }

    /// Chooses the best hardware device: that of the first driver with a GPU, else a CPU. Never an
    /// emulated or software device.
    pub fn choose(&self, uri: &DeviceUri) -> Result<AutoChoice, Error> {
        if *uri.selection() != Selection::Default || !uri.parameters().is_empty() {
            return Err(self.with_alternatives(UriError::new(uri.to_string(), UriErrorKind::AutoWithSelection).into()));
        }
        let mut passed_over = Vec::new();
        let mut best: Option<(DeviceKind, DeviceUri, String)> = None;
        for enumeration in self.enumerate() {
            let scheme = enumeration.driver.scheme();
            let devices = match &enumeration.devices {
                Ok(devices) => devices,
                Err(error) => {
                    passed_over.push(format!("{scheme}: {error}"));
                    continue;
                }
            };
            let ranks = devices.iter().map(|info| info.kind.auto_rank());
            let ranked = ranks.enumerate().filter_map(|(ordinal, rank)| Some((rank?, ordinal))).min();
            match ranked.and_then(|(_, ordinal)| Some((&devices[ordinal], enumeration.uri(ordinal)?))) {
                // The first driver with a GPU wins. A CPU is chosen only if no driver has a GPU.
                Some((info, uri)) if best.as_ref().is_none_or(|(kind, ..)| !kind.is_gpu() && info.kind.is_gpu()) => {
                    best = Some((info.kind, uri, format!("{} ({})", info.name, info.kind.describe())));
                }
                Some(_) => {}
                None if devices.is_empty() => passed_over.push(format!("{scheme}: no device")),
                None => passed_over.push(format!("{scheme}: only {}", devices[0].kind.describe())),
            }
        }
        let Some((_, uri, why)) = best else {
            return Err(Error::Unavailable {
                what: "a device for `auto`".into(),
                reason: if passed_over.is_empty() { "no driver is built in".into() } else { passed_over.join("; ") },
                hint: "name a device with `--device`; `roci devices` lists them".into(),
            });
        };
        let others = if passed_over.is_empty() { String::new() } else { format!("; {}", passed_over.join("; ")) };
        Ok(AutoChoice { uri, reason: format!("{why}{others}") })
    }

    fn driver(&self, uri: &DeviceUri) -> Result<&dyn Driver, Error> {
        let unknown = || UriError::new(uri.to_string(), UriErrorKind::UnknownScheme(uri.scheme().into())).into();
        self.drivers().find(|driver| driver.scheme() == uri.scheme()).ok_or_else(unknown)
    }

    /// Adds existing drivers and devices to a URI error of the parser, the registry or a driver.
    /// Enumerating here limits the cost to failures.
    fn with_alternatives(&self, error: Error) -> Error {
        match error {
            Error::Uri(error) if error.alternatives.is_none() => {
                let alternatives = self.alternatives(error.scheme());
                error.with_alternatives(alternatives).into()
            }
            other => other,
        }
    }

    /// Drivers, parameters and devices to suggest for a URI with this scheme.
    fn alternatives(&self, scheme: &str) -> UriAlternatives {
        let drivers = self.drivers().map(Driver::scheme).chain([AUTO]).map(str::to_owned).collect();
        let named = self.drivers.iter().find(|driver| driver.scheme() == scheme);
        let found = named.map_or_else(|| self.enumerate(), |driver| vec![enumerate_driver(driver)]);
        let keys = |driver: &Arc<dyn Driver>| driver.parameters().iter().map(|known| known.key.to_owned()).collect();
        let devices = found.iter().flat_map(Enumeration::uris).map(|uri| uri.to_string()).collect();
        UriAlternatives { drivers, driver: named.map(keys), devices }
    }
}

fn enumerate_driver(driver: &Arc<dyn Driver>) -> Enumeration {
    Enumeration { driver: Arc::clone(driver), devices: driver.enumerate() }
}

fn check_parameters(uri: &DeviceUri, driver: &dyn Driver) -> Result<(), Error> {
    let known = driver.parameters();
    match uri.parameters().iter().find(|(key, _)| known.iter().all(|parameter| parameter.key != key)) {
        None => Ok(()),
        Some((key, _)) => Err(UriError::new(uri.to_string(), UriErrorKind::UnknownParameter(key.clone())).into()),
    }
}

/// The selector of a device in canonical URIs.
fn selector_of(driver: &dyn Driver, devices: &[PhysicalInfo], ordinal: u32, info: &PhysicalInfo) -> DeviceSelector {
    match &info.target {
        Some(target) if driver.creates_on_demand() => DeviceSelector::Target(target.clone()),
        // If a driver lists one card twice, only the ordinals differ.
        _ if devices.iter().filter(|other| other.same_card(info)).count() > 1 => DeviceSelector::Ordinal(ordinal),
        _ => info.selector(ordinal),
    }
}

/// The physical devices that a URI selects, in order.
fn resolve_selection(
    uri: &DeviceUri,
    driver: &dyn Driver,
    devices: &[PhysicalInfo],
) -> Result<Vec<(u32, PhysicalInfo)>, Error> {
    let devices: Vec<_> = (0u32..).zip(devices.iter().cloned()).collect();
    let fail = |reason| Error::from(UriError::new(uri.to_string(), reason));
    let chosen = match uri.selection() {
        Selection::Default | Selection::All if driver.creates_on_demand() => {
            return Err(fail(UriErrorKind::MissingChip));
        }
        // One logical device of all devices compatible with the first.
        Selection::Default | Selection::All => {
            let Some((_, lead)) = devices.first() else {
                return Err(Error::Unavailable {
                    what: format!("device `{uri}`"),
                    reason: "the driver found no device".into(),
                    hint: "`roci devices` shows what each driver finds".into(),
                });
            };
            devices.iter().filter(|(_, info)| info.compatible(lead)).cloned().collect()
        }
        Selection::List(items) => {
            let mut chosen = Vec::new();
            for item in items {
                chosen.push(find_device(item, &devices).map_err(fail)?);
            }
            chosen
        }
    };
    let mut seen = BTreeSet::new();
    for (ordinal, info) in &chosen {
        if !driver.creates_on_demand() && !seen.insert(*ordinal) {
            return Err(fail(UriErrorKind::Repeated(info.selector(*ordinal).to_string())));
        }
    }
    let (_, lead) = &chosen[0];
    match chosen.iter().find(|(_, info)| !info.compatible(lead)) {
        None => Ok(chosen),
        Some((_, odd)) => {
            let name = |info: &PhysicalInfo| info.target.clone().unwrap_or_else(|| info.name.clone());
            Err(fail(UriErrorKind::Incompatible(format!("{} and {} do not run the same code", name(lead), name(odd)))))
        }
    }
}

fn find_device(item: &DeviceSelector, devices: &[(u32, PhysicalInfo)]) -> Result<(u32, PhysicalInfo), UriErrorKind> {
    if let DeviceSelector::Ordinal(ordinal) = item
        && *ordinal as usize >= devices.len()
    {
        return Err(UriErrorKind::OutOfRange { ordinal: *ordinal, count: devices.len() });
    }
    let is_it = |(ordinal, info): &&(u32, PhysicalInfo)| match item {
        DeviceSelector::Ordinal(expected) => expected == ordinal,
        DeviceSelector::Uuid(expected) => info.uuid.as_ref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(expected)),
        DeviceSelector::Pci(expected) => info.pci == Some(*expected),
        DeviceSelector::Target(expected) => info.target.as_ref() == Some(expected),
    };
    devices.iter().find(is_it).cloned().ok_or_else(|| UriErrorKind::UnknownDevice(item.to_string()))
}
