//! Enumerates and opens OpenCL devices.

use std::sync::Arc;

use roci_base::cache::Cache;
use roci_base::sysfs::Sysfs;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::uri::{DeviceUri, Selection};
use roci_hal::{DeviceKind, Error, PhysicalInfo};

use crate::device::OpenClDevice;
use crate::discover::{self, PhysicalDevice};
use crate::error::unavailable;
use crate::options::{Options, PARAMETERS};
use crate::timeout;
use crate::vendors;

/// URI scheme of the driver.
pub const SCHEME: &str = "opencl";

/// Enumerates and opens OpenCL devices.
#[derive(Clone, Debug)]
pub struct OpenClDriver {
    sysfs: Sysfs,
    cache: Option<Cache>,
}

impl OpenClDriver {
    /// A driver for this machine's devices that caches compiled kernels in the user's cache folder.
    pub fn new() -> Self {
        Self { sysfs: Sysfs::system(), cache: Cache::of_user(SCHEME) }
    }

    /// Reads sysfs from another root.
    #[must_use]
    pub fn with_sysfs(mut self, sysfs: Sysfs) -> Self {
        self.sysfs = sysfs;
        self
    }

    /// Uses another cache for compiled kernels, or none.
    #[must_use]
    pub fn with_cache(mut self, cache: Option<Cache>) -> Self {
        self.cache = cache;
        self
    }

    fn find(&self) -> Result<Vec<PhysicalDevice>, Error> {
        let sysfs = self.sysfs.clone();
        timeout::call_with_timeout(SCHEME, "enumerating devices", move || discover::devices(&sysfs))?
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
        "GPUs through OpenCL; CPUs only if named"
    }

    fn parameters(&self) -> &'static [Parameter] {
        PARAMETERS
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        // Enumeration must not freeze the machine; naming the driver explicitly is taken as
        // consent.
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
                unavailable(&format!("device `{name}`"), "it no longer exists", "`roci devices` lists the devices")
            })
        };
        let chosen: Vec<_> = request.physical.iter().map(pick).collect::<Result<_, _>>()?;
        let lead = &chosen[0];
        let unnamed = !matches!(request.uri.selection(), Selection::List(_));
        if lead.info.kind == DeviceKind::Software && unnamed && !options.cpu {
            let reason = format!("there is no GPU, only `{}`, which is a CPU", lead.info.name);
            let hint = "name it (`opencl:0`) or allow CPUs (`opencl?cpu=on`); the `cpu` driver is faster";
            return Err(unavailable(&format!("device `{name}`"), reason, hint));
        }
        if let Some(odd) = chosen.iter().find(|found| found.properties.platform != lead.properties.platform) {
            let reason = format!("{} and {} do not share memory", lead.properties.platform, odd.properties.platform);
            return Err(unavailable(&format!("device `{name}`"), reason, "open them as two devices"));
        }
        let (uri, cache) = (request.uri.clone(), self.cache.clone());
        let open = move || OpenClDevice::open(uri, &chosen, &options, cache);
        Ok(Arc::new(timeout::call_with_timeout(&name, "opening it", open)??))
    }
}
