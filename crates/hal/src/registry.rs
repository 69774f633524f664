//! The registry: which drivers there are, and how a URI becomes an open device.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::device::Device;
use crate::driver::{Driver, OpenRequest};
use crate::error::Error;
use crate::info::{DeviceKind, PhysicalInfo};
use crate::uri::{DeviceUri, Item, Known, Selection, UriError, UriReason};

/// The scheme that leaves the choice to us.
pub const AUTO: &str = "auto";

/// Drivers in the order in which `auto` prefers them.
#[derive(Clone, Default)]
pub struct Registry {
    drivers: Vec<Arc<dyn Driver>>,
}

/// What one driver finds.
pub struct Enumeration {
    /// The driver.
    pub driver: Arc<dyn Driver>,
    /// Its devices by ordinal, or why it cannot look.
    pub devices: Result<Vec<PhysicalInfo>, Error>,
}

impl Enumeration {
    /// The URIs of all devices; none if the driver cannot look.
    pub fn uris(&self) -> impl Iterator<Item = DeviceUri> {
        let count = self.devices.as_ref().map_or(0, Vec::len);
        (0..count).filter_map(|ordinal| self.uri(ordinal))
    }

    /// The URI that opens one of the devices again: the most stable one there is, and the shortest of those.
    pub fn uri(&self, ordinal: usize) -> Option<DeviceUri> {
        let devices = self.devices.as_ref().ok()?;
        let base = DeviceUri::driver(self.driver.scheme())?;
        let item = item(self.driver.as_ref(), devices, ordinal as u32, devices.get(ordinal)?);
        // An ordinal says nothing when there is no second device; but what is not a GPU must be named.
        let software = devices[ordinal].kind == DeviceKind::Software;
        let needless = devices.len() == 1 && matches!(item, Item::Ordinal(_)) && !software;
        Some(if needless { base } else { base.select(vec![item]) })
    }
}

/// What `auto` chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The device.
    pub uri: DeviceUri,
    /// Why this one, and why not those before it.
    pub reason: String,
}

impl Registry {
    /// No drivers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a driver behind those that `auto` prefers to it.
    #[must_use]
    pub fn with(mut self, driver: impl Driver + 'static) -> Self {
        self.drivers.push(Arc::new(driver));
        self
    }

    /// Leaves the drivers whose schemes are wanted.
    #[must_use]
    pub fn only(mut self, wanted: impl Fn(&str) -> bool) -> Self {
        self.drivers.retain(|driver| wanted(driver.scheme()));
        self
    }

    /// The drivers.
    pub fn drivers(&self) -> impl Iterator<Item = &dyn Driver> {
        self.drivers.iter().map(AsRef::as_ref)
    }

    /// Asks every driver for its devices.
    pub fn enumerate(&self) -> Vec<Enumeration> {
        self.drivers.iter().map(look).collect()
    }

    /// Reads a URI as [`DeviceUri`]'s `parse` does; a refusal also says what exists.
    pub fn parse(&self, text: &str) -> Result<DeviceUri, Error> {
        text.parse().map_err(|error: UriError| self.explain(error.into()))
    }

    /// Opens the device that a URI names. `timeout` as in [`Device::new`].
    pub fn open(&self, uri: &DeviceUri, timeout: Option<Duration>) -> Result<Device, Error> {
        if uri.scheme() == AUTO {
            return self.open(&self.choose(uri)?.uri, timeout);
        }
        self.open_named(uri, timeout).map_err(|error| self.explain(error))
    }

    fn open_named(&self, uri: &DeviceUri, timeout: Option<Duration>) -> Result<Device, Error> {
        let driver = self.driver(uri)?;
        check_parameters(uri, driver)?;
        let devices = driver.enumerate_for(uri)?;
        let physical = resolve(uri, driver, &devices)?;
        let canonical = match uri.selection() {
            Selection::Default => uri.clone(),
            _ => uri.select(physical.iter().map(|(ordinal, info)| item(driver, &devices, *ordinal, info)).collect()),
        };
        let backend = driver.open(&OpenRequest { uri: &canonical, physical: &physical })?;
        Ok(Device::new(backend, timeout))
    }

    /// The best real device: the first driver's that has one, GPUs before CPUs; never an emulated one or a rasteriser.
    pub fn choose(&self, uri: &DeviceUri) -> Result<Choice, Error> {
        if *uri.selection() != Selection::Default || !uri.parameters().is_empty() {
            return Err(self.explain(UriError::new(uri.to_string(), UriReason::BehindAuto).into()));
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
                // The first driver with a GPU wins; a CPU only where no driver has one.
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
        Ok(Choice { uri, reason: format!("{why}{others}") })
    }

    fn driver(&self, uri: &DeviceUri) -> Result<&dyn Driver, Error> {
        let unknown = || UriError::new(uri.to_string(), UriReason::UnknownScheme(uri.scheme().into())).into();
        self.drivers().find(|driver| driver.scheme() == uri.scheme()).ok_or_else(unknown)
    }

    /// Adds to a refused URI what exists. Here and not where it was refused, so that devices are looked for only then,
    /// whoever refuses: the grammar, the registry or the driver.
    fn explain(&self, error: Error) -> Error {
        match error {
            Error::Uri(error) if error.known.is_none() => {
                let known = self.known(error.scheme());
                error.with_known(known).into()
            }
            other => other,
        }
    }

    /// What exists for somebody who wrote that scheme.
    fn known(&self, scheme: &str) -> Known {
        let drivers = self.drivers().map(Driver::scheme).chain([AUTO]).map(str::to_owned).collect();
        let named = self.drivers.iter().find(|driver| driver.scheme() == scheme);
        let found = named.map_or_else(|| self.enumerate(), |driver| vec![look(driver)]);
        let keys = |driver: &Arc<dyn Driver>| driver.parameters().iter().map(|known| known.key.to_owned()).collect();
        let devices = found.iter().flat_map(Enumeration::uris).map(|uri| uri.to_string()).collect();
        Known { drivers, driver: named.map(keys), devices }
    }
}

fn look(driver: &Arc<dyn Driver>) -> Enumeration {
    Enumeration { driver: Arc::clone(driver), devices: driver.enumerate() }
}

fn check_parameters(uri: &DeviceUri, driver: &dyn Driver) -> Result<(), Error> {
    let known = driver.parameters();
    match uri.parameters().iter().find(|(key, _)| known.iter().all(|parameter| parameter.key != key)) {
        None => Ok(()),
        Some((key, _)) => Err(UriError::new(uri.to_string(), UriReason::UnknownParameter(key.clone())).into()),
    }
}

/// How a device is named in canonical URIs.
fn item(driver: &dyn Driver, devices: &[PhysicalInfo], ordinal: u32, info: &PhysicalInfo) -> Item {
    match &info.target {
        Some(target) if driver.made_to_order() => Item::Target(target.clone()),
        // One card that a driver reaches in two ways has one identity: only the ordinal tells them apart.
        _ if devices.iter().filter(|other| other.same_card(info)).count() > 1 => Item::Ordinal(ordinal),
        _ => info.item(ordinal),
    }
}

/// The physical devices that a URI names, in its order.
fn resolve(uri: &DeviceUri, driver: &dyn Driver, devices: &[PhysicalInfo]) -> Result<Vec<(u32, PhysicalInfo)>, Error> {
    let devices: Vec<_> = (0u32..).zip(devices.iter().cloned()).collect();
    let fail = |reason| Error::from(UriError::new(uri.to_string(), reason));
    let chosen = match uri.selection() {
        Selection::Default | Selection::All if driver.made_to_order() => {
            return Err(fail(UriReason::NeedsChip));
        }
        // One logical device of everything that fits the first.
        Selection::Default | Selection::All => {
            let Some((_, lead)) = devices.first() else {
                return Err(Error::Unavailable {
                    what: format!("device `{uri}`"),
                    reason: "the driver finds no device".into(),
                    hint: "`roci devices` shows what each driver finds".into(),
                });
            };
            devices.iter().filter(|(_, info)| info.compatible(lead)).cloned().collect()
        }
        Selection::List(items) => {
            let mut chosen = Vec::new();
            for item in items {
                chosen.push(find(item, &devices).map_err(fail)?);
            }
            chosen
        }
    };
    let mut seen = BTreeSet::new();
    for (ordinal, info) in &chosen {
        if !driver.made_to_order() && !seen.insert(*ordinal) {
            return Err(fail(UriReason::Repeated(info.item(*ordinal).to_string())));
        }
    }
    let (_, lead) = &chosen[0];
    match chosen.iter().find(|(_, info)| !info.compatible(lead)) {
        None => Ok(chosen),
        Some((_, odd)) => {
            let name = |info: &PhysicalInfo| info.target.clone().unwrap_or_else(|| info.name.clone());
            Err(fail(UriReason::Incompatible(format!("{} and {} do not run the same code", name(lead), name(odd)))))
        }
    }
}

fn find(item: &Item, devices: &[(u32, PhysicalInfo)]) -> Result<(u32, PhysicalInfo), UriReason> {
    if let Item::Ordinal(ordinal) = item
        && *ordinal as usize >= devices.len()
    {
        return Err(UriReason::OutOfRange { ordinal: *ordinal, count: devices.len() });
    }
    let is_it = |(ordinal, info): &&(u32, PhysicalInfo)| match item {
        Item::Ordinal(wanted) => wanted == ordinal,
        Item::Uuid(wanted) => info.uuid.as_ref().is_some_and(|uuid| uuid.eq_ignore_ascii_case(wanted)),
        Item::Pci(wanted) => info.pci == Some(*wanted),
        Item::Target(wanted) => info.target.as_ref() == Some(wanted),
    };
    devices.iter().find(is_it).cloned().ok_or_else(|| UriReason::UnknownDevice(item.to_string()))
}
