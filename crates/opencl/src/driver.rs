//! What the driver finds, and how it opens it.

use std::sync::Arc;

use roci_hal::cache::Cache;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::sysfs::Sysfs;
use roci_hal::uri::{DeviceUri, Selection};
use roci_hal::{DeviceKind, Error, PhysicalInfo};

use crate::device::OpenClDevice;
use crate::discover::{self, Found};
use crate::error::unavailable;
use crate::options::{Options, PARAMETERS};
use crate::patience;
use crate::vendors;

/// The scheme of its URIs.
pub const SCHEME: &str = "opencl";

/// The driver.
#[derive(Clone, Debug)]
pub struct OpenClDriver {
    sysfs: Sysfs,
    cache: Option<Cache>,
}

impl OpenClDriver {
    /// The driver of this machine's devices, with compiled kernels kept in the user's cache.
    pub fn new() -> Self {
        Self { sysfs: Sysfs::system(), cache: Cache::of_user(SCHEME) }
    }

    /// What the kernel shows, elsewhere.
    #[must_use]
    pub fn with_sysfs(mut self, sysfs: Sysfs) -> Self {
        self.sysfs = sysfs;
        self
    }

    /// Compiled kernels kept elsewhere, or not at all.
    #[must_use]
    pub fn with_cache(mut self, cache: Option<Cache>) -> Self {
        self.cache = cache;
        self
    }

    fn find(&self) -> Result<Vec<Found>, Error> {
        let sysfs = self.sysfs.clone();
        patience::within(SCHEME, "looking for devices", move || discover::devices(&sysfs))?
    }

    fn infos(&self) -> Result<Vec<PhysicalInfo>, Error> {
        Ok(self.find()?.into_iter().map(|found| found.info).collect())
    }
}

impl Default for OpenClDriver {
    fn default() -> Self {
        Self::new()
    }
}

impl Driver for OpenClDriver {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn summary(&self) -> &'static str {
        "GPUs by OpenCL; processors when they are named"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        // Looking around must not freeze the machine; whoever names the driver knows what they do.
        if let Some((reason, hint)) = vendors::hazard(&self.sysfs) {
            return Err(unavailable("OpenCL", reason, &hint));
        }
        self.infos()
    }

    fn enumerate_for(&self, _uri: &DeviceUri) -> Result<Vec<PhysicalInfo>, Error> {
        self.infos()
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let options = Options::of(request.uri)?;
        let name = request.uri.to_string();
        let devices = self.find()?;
        let pick = |(ordinal, info): &(u32, PhysicalInfo)| {
            let found = devices.get(*ordinal as usize).filter(|found| found.info.name == info.name).cloned();
            found.ok_or_else(|| {
                unavailable(&format!("device `{name}`"), "it is gone", "`roci devices` shows what is there")
            })
        };
        let chosen: Vec<_> = request.physical.iter().map(pick).collect::<Result<_, _>>()?;
        let lead = &chosen[0];
        let unnamed = !matches!(request.uri.selection(), Selection::List(_));
        if lead.info.kind == DeviceKind::Software && unnamed && !options.cpu {
            let reason = format!("there is no GPU, only `{}`, which is a processor", lead.info.name);
            let hint = "name it (`opencl:0`), or let `opencl?cpu=on` take it; `cpu` is faster";
            return Err(unavailable(&format!("device `{name}`"), reason, hint));
        }
        if let Some(odd) = chosen.iter().find(|found| found.facts.platform != lead.facts.platform) {
            let reason = format!("{} and {} share no memory", lead.facts.platform, odd.facts.platform);
            return Err(unavailable(&format!("device `{name}`"), reason, "open them as two devices"));
        }
        let (uri, cache) = (request.uri.clone(), self.cache.clone());
        let open = move || OpenClDevice::open(uri, &chosen, &options, cache);
        Ok(Arc::new(patience::within(&name, "opening it", open)??))
    }
}
