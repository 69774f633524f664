//! The devices that tests run on: those of Debian's packages, or the one that the environment
//! names.

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::Trial;
use roci_base::cache::Cache;
use roci_hal::driver::Driver;
use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};
use roci_opencl::OpenClDriver;

/// Compiling for a CPU is slow, even more so on two cores shared with other tests.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// A sub-group size other than the kernels' default.
pub(crate) const NARROW: &str = "?subgroups=8";
const BOUNDS: (Tag, &str) =
    (Tag::Bounds, "out-of-bounds accesses are undefined behavior in OpenCL; on a CPU they may crash the process");

/// Sets the environment so that only the tested OpenCL library is loaded, with the devices that the
/// tests need: a process that loads all libraries starts three compilers. Variables that are set
/// already stay. Must be called first in `main`.
pub(crate) fn prepare(file: &str) {
    let vendors = std::path::Path::new("/etc/OpenCL/vendors").join(file);
    // PoCL takes half a minute to compile the large matrix products on a busy machine, more than
    // the default timeout of a call.
    let mut expected = vec![
        ("RUSTICL_ENABLE", "llvmpipe".into()),
        ("POCL_DEVICES", "pthread pthread".into()),
        ("ROCI_TIMEOUT", "400".into()),
    ];
    if vendors.exists() {
        expected.push(("OCL_ICD_VENDORS", vendors.into_os_string()));
    }
    for (name, value) in expected {
        if !std::env::vars_os().any(|(known, _)| known == name) {
            // SAFETY: `main` has started no thread yet, so no other thread reads the environment.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

/// Runs the suite on the backends, and the kernel tests.
pub(crate) fn main(backends: Vec<Backend>, kernels: Vec<Trial>) -> ExitCode {
    roci_hal_cts::run_trials(backends, |backends| {
        let mut trials = roci_hal_cts::trials(backends);
        trials.extend(kernels);
        trials
    })
}

/// Devices of a platform opened as one, with parameters, whatever other devices exist; or the
/// device that `ROCI_OPENCL_DEVICE` names.
#[derive(Clone, Debug)]
pub(crate) struct DeviceSpec {
    /// Prefix of the platform's name.
    pub(crate) platform: &'static str,
    pub(crate) count: usize,
    pub(crate) parameters: &'static str,
}

impl DeviceSpec {
    /// Converts to a backend of the conformance suite.
    pub(crate) fn backend(self, name: &str) -> Backend {
        let open = move |timeout: Option<Duration>| -> Result<Device, Error> { self.open(timeout) };
        Backend::new(name, open).tags(&[Tag::Dispatch]).missing(&[BOUNDS]).timeout(TIMEOUT)
    }

    /// Whether `ROCI_REQUIRE` requires it.
    pub(crate) fn is_required(&self) -> bool {
        roci_testkit::is_required(if self.platform == "rusticl" { "rusticl" } else { "opencl" })
    }

    /// Opens a fresh device. Tests share a cache of compiled kernels.
    pub(crate) fn open(&self, timeout: Option<Duration>) -> Result<Device, Error> {
        let cache = Cache::at(std::env::temp_dir().join("roci-opencl-tests"));
        let driver = OpenClDriver::new().with_cache(Some(cache));
        let uri = self.name(&driver)?;
        Registry::new().with(driver).open(&uri.parse()?, timeout)
    }

    /// The URI of the device.
    pub(crate) fn name(&self, driver: &OpenClDriver) -> Result<String, Error> {
        let Self { platform, count, parameters } = *self;
        if let Some(uri) = roci_testkit::opencl_device() {
            let more = if uri.contains('?') { parameters.replacen('?', "&", 1) } else { parameters.to_owned() };
            return Ok(uri + &more);
        }
        let devices = driver.enumerate()?;
        let is_on = |runtime: &Option<String>| runtime.as_ref().is_some_and(|runtime| runtime.starts_with(platform));
        let ordinals: Vec<_> = devices
            .iter()
            .enumerate()
            .filter(|(_, info)| is_on(&info.runtime))
            .map(|(ordinal, _)| ordinal.to_string())
            .collect();
        if ordinals.len() < count {
            return Err(Error::Unavailable {
                what: platform.to_owned(),
                reason: format!("it has {} devices, {count} are needed", ordinals.len()),
                hint: "install its package".to_owned(),
            });
        }
        Ok(format!("opencl://{}{parameters}", ordinals[..count].join(",")))
    }
}
