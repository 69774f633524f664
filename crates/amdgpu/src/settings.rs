//! What of the surroundings counts for the driver: variables, and what must hold before HSA is started.

use std::path::PathBuf;

use roci_hal::sysfs::Sysfs;
use roci_hal::uri::{DeviceUri, UriError, UriReason};
use roci_hal::{Error, env};
use roci_hsa::KernelDriver;

/// The URI parameter that lets `HSA_OVERRIDE_GFX_VERSION` be.
pub(crate) const OVERRIDE: &str = "override";

/// The surroundings, as values: tests show machines that they do not run on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where `dev` and `sys` are.
    pub root: PathBuf,
    /// HSA may be started where that can freeze the machine (`ROCI_ALLOW_HSA`).
    pub allow_hsa: bool,
    /// `HSA_OVERRIDE_GFX_VERSION`, and those of single nodes (`HSA_OVERRIDE_GFX_VERSION_1`).
    pub overrides: Vec<env::Found>,
    /// `HSA_ENABLE_SDMA`
    pub enable_sdma: Option<String>,
    /// Somebody named the HSA library, which then is tried even where the kernel has no driver: it may need none.
    pub library_named: bool,
}

impl Settings {
    /// Those of this machine and process.
    pub fn from_environment() -> Self {
        Self {
            root: "/".into(),
            allow_hsa: env::ALLOW_HSA.get().is_some_and(|value| value == "1"),
            overrides: env::HSA_OVERRIDE.get_all(),
            enable_sdma: env::HSA_ENABLE_SDMA.get(),
            library_named: env::LIBHSA_PATH.get().or_else(|| env::IREE_LIBHSA_PATH.get()).is_some(),
        }
    }

    /// Why HSA must not be started for whoever looks around.
    pub(crate) fn check_unasked(&self) -> Result<(), Error> {
        if self.allow_hsa {
            return Ok(());
        }
        let Some(reason) = Sysfs::at(self.root.join("sys")).hsa_may_freeze() else { return Ok(()) };
        let hint = format!(
            "with a patched kernel, name the device (`--device=amdgpu:0`) or set {}=1; other drivers do not need HSA",
            env::ALLOW_HSA.name
        );
        Err(unavailable(format!("{reason}, so it was not started"), hint))
    }

    /// Why HSA cannot or should not be started at all; `uri` is what was asked for, if something was.
    pub(crate) fn check(&self, uri: Option<&DeviceUri>) -> Result<(), Error> {
        // Loading the library is of no use without the kernel's side, and says less.
        let driver = KernelDriver::probe_root(&self.root);
        if driver != KernelDriver::Present && !self.library_named {
            return Err(unavailable(driver.to_string(), driver.remedy().to_owned()));
        }
        let allowed = uri.map_or(Ok(false), override_allowed)?;
        let Some(first) = self.overrides.first().filter(|_| !allowed) else { return Ok(()) };
        let reason = format!("{first} makes it load another chip's code, which is what crashes GPUs such as RDNA1");
        let names: Vec<_> = self.overrides.iter().map(|found| found.name.as_str()).collect();
        let hint = format!(
            "`unset {}`: roci has kernels for the chip itself; `amdgpu?{OVERRIDE}=allow` goes on with it",
            names.join(" ")
        );
        Err(unavailable(reason, hint))
    }
}

/// Whether a URI lets the override be.
fn override_allowed(uri: &DeviceUri) -> Result<bool, Error> {
    match uri.parameter(OVERRIDE) {
        None => Ok(false),
        Some("allow") => Ok(true),
        Some(value) => Err(bad_value(uri, OVERRIDE, value, "`allow`")),
    }
}

/// A parameter that says what it cannot.
pub(crate) fn bad_value(uri: &DeviceUri, key: &str, value: &str, expected: &str) -> Error {
    let reason = UriReason::BadValue { key: key.into(), value: value.into(), expected: expected.into() };
    UriError::new(uri.to_string(), reason).into()
}

fn unavailable(reason: String, hint: String) -> Error {
    Error::Unavailable { what: "HSA".into(), reason, hint }
}
