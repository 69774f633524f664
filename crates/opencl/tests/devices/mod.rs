//! The devices that tests run on: those of Debian's packages, or one that is named.

use std::process::ExitCode;
use std::time::Duration;

use libtest_mimic::Trial;
use roci_hal::cache::Cache;
use roci_hal::driver::Driver;
use roci_hal::{Device, Error, Registry};
use roci_hal_cts::{Backend, Tag};
use roci_opencl::OpenClDriver;

/// Compiling for a processor is slow, on two cores beside other tests more so.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Sub-groups of another size than kernels have elsewhere.
pub(crate) const NARROW: &str = "?subgroups=8";
const BOUNDS: (Tag, &str) = (
    Tag::Bounds,
    "OpenCL promises nothing for a kernel that leaves its buffers; on a processor it may end the process",
);

/// Lets a library show what the tests need, and no other library start, unless the caller has said otherwise: each process
/// that starts them all pays for three compilers. To be called first in `main`.
pub(crate) fn prepare(file: &str) {
    let vendors = std::path::Path::new("/etc/OpenCL/vendors").join(file);
    // PoCL compiles the large products for half a minute on a busy machine, and no call may take longer by default.
    let mut wanted = vec![
        ("RUSTICL_ENABLE", "llvmpipe".into()),
        ("POCL_DEVICES", "pthread pthread".into()),
        ("ROCI_TIMEOUT", "400".into()),
    ];
    if vendors.exists() {
        wanted.push(("OCL_ICD_VENDORS", vendors.into_os_string()));
    }
    for (name, value) in wanted {
        if !std::env::vars_os().any(|(known, _)| known == name) {
            // SAFETY: `main` has started no thread yet, so nobody reads the environment.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

/// Runs the suite on the backends, and kernels besides.
pub(crate) fn main(backends: Vec<Backend>, kernels: Vec<Trial>) -> ExitCode {
    roci_hal_cts::run_trials(backends, |backends| {
        let mut trials = roci_hal_cts::trials(backends);
        trials.extend(kernels);
        trials
    })
}

/// Devices of a platform as one, with parameters, however many others there are; or what `ROCI_OPENCL_DEVICE` names.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// How the platform's name begins.
    pub(crate) platform: &'static str,
    pub(crate) count: usize,
    pub(crate) parameters: &'static str,
}

impl Wanted {
    /// As a backend of the conformance suite.
    pub(crate) fn backend(self, name: &str) -> Backend {
        let open = move |timeout: Option<Duration>| -> Result<Device, Error> { self.open(timeout) };
        Backend::new(name, open).tags(&[Tag::Dispatch]).lacks(&[BOUNDS]).patience(PATIENCE)
    }

    /// Whether `ROCI_REQUIRE` asks for it.
    pub(crate) fn is_required(&self) -> bool {
        roci_testkit::is_required(if self.platform == "rusticl" { "rusticl" } else { "opencl" })
    }

    /// Opens it afresh. Kernels that one test has compiled serve the others.
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
