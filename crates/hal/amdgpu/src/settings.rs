//! Environment of the driver, and checks before HSA is started.

use std::path::PathBuf;

use roci_base::env;
use roci_base::sysfs::Sysfs;
use roci_hal::Error;
use roci_hal::uri::{DeviceUri, UriError, UriErrorKind};
use roci_hsa::KernelDriver;

/// URI parameter that permits `HSA_OVERRIDE_GFX_VERSION`.
pub(crate) const OVERRIDE_KEY: &str = "override";

/// Environment of the driver, as values so that tests can simulate other machines.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directory that contains `dev` and `sys`.
    pub root: PathBuf,
    /// Allows starting HSA where it may freeze the machine (`ROCI_ALLOW_HSA`).
    pub allow_hsa: bool,
    /// `HSA_OVERRIDE_GFX_VERSION` and its per-node variants (`HSA_OVERRIDE_GFX_VERSION_1`).
    pub overrides: Vec<env::EnvVariable>,
    /// Value of `HSA_ENABLE_SDMA`.
    pub enable_sdma: Option<String>,
    /// The user named the HSA library. It is then tried even without a kernel driver, which it may
    /// not need.
    pub library_named: bool,
}

impl Settings {
    /// The environment of this process.
    pub fn from_environment() -> Self {
        Self {
            root: "/".into(),
            allow_hsa: env::ALLOW_HSA.get().is_some_and(|value| value == "1"),
            overrides: env::HSA_OVERRIDE.get_all(),
            enable_sdma: env::HSA_ENABLE_SDMA.get(),
            library_named: env::LIBHSA_PATH.get().or_else(|| env::IREE_LIBHSA_PATH.get()).is_some(),
        }
    }

    /// Fails if HSA must not be started for mere enumeration.
    pub(crate) fn check_enumeration(&self) -> Result<(), Error> {
        if self.allow_hsa {
            return Ok(());
        }
        let Some(reason) = Sysfs::at(self.root.join("sys")).hsa_may_freeze() else { return Ok(()) };
        let hint = format!(
            "with a patched kernel, name the device (`--device=amdgpu:0`) or set {}=1; other drivers work without HSA",
            env::ALLOW_HSA.name
        );
        Err(unavailable(format!("{reason}, so it was not started"), hint))
    }

    /// Fails if HSA cannot or should not be started at all. `uri` is the requested URI, if any.
    pub(crate) fn check(&self, uri: Option<&DeviceUri>) -> Result<(), Error> {
        // Without a kernel driver, loading the library would fail with a less specific error.
        let driver = KernelDriver::probe_root(&self.root);
        if driver != KernelDriver::Present && !self.library_named {
            return Err(unavailable(driver.to_string(), driver.remedy().to_owned()));
        }
        let allowed = uri.map_or(Ok(false), override_allowed)?;
        let Some(first) = self.overrides.first().filter(|_| !allowed) else { return Ok(()) };
        let reason = format!("{first} makes it load another chip's code, which crashes GPUs such as RDNA 1");
        let names: Vec<_> = self.overrides.iter().map(|found| found.name.as_str()).collect();
        let hint = format!(
            "`unset {}`: roci has kernels for the real chip; `amdgpu?{OVERRIDE_KEY}=allow` overrides this check",
            names.join(" ")
        );
        Err(unavailable(reason, hint))
    }
}

/// Whether a URI permits the override.
fn override_allowed(uri: &DeviceUri) -> Result<bool, Error> {
    match uri.parameter(OVERRIDE_KEY) {
        None => Ok(false),
        Some("allow") => Ok(true),
        Some(value) => Err(bad_value(uri, OVERRIDE_KEY, value, "`allow`")),
    }
}

/// A URI error for an invalid parameter value.
pub(crate) fn bad_value(uri: &DeviceUri, key: &str, value: &str, expected: &str) -> Error {
    let reason = UriErrorKind::BadValue { key: key.into(), value: value.into(), expected: expected.into() };
    UriError::new(uri.to_string(), reason).into()
}

fn unavailable(reason: String, hint: String) -> Error {
    Error::Unavailable { what: "HSA".into(), reason, hint }
}
