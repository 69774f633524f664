//! AMD GPUs through HSA: real ones, and emulated ones.

use std::sync::Arc;

use roci_amdgpu::{AmdgpuDriver, CodeLibrary, Origin, Settings};
use roci_device_library::DeviceLibrary;
use roci_emu::Chip;
use roci_hal::Error;
use roci_hsa::{Runtime, Source};

/// Real AMD GPUs through the HSA runtime that `open` finds. With `named`, the user chose that
/// library: it is started even on machines where enumeration alone would not risk it.
pub fn amdgpu(open: impl Fn() -> Result<Runtime, Error> + Send + Sync + 'static, named: bool) -> AmdgpuDriver {
    let mut settings = Settings::from_environment();
    settings.library_named |= named;
    AmdgpuDriver::new(Origin::Real, Box::new(move |_: &[String]| open()), library(), settings)
}

/// Emulated AMD GPUs, created on demand.
pub(crate) fn emulated() -> AmdgpuDriver {
    let chips = Chip::ALL.iter().map(|chip| chip.name().to_owned()).collect();
    let origin = Origin::Emulated { chips, last_fault: Arc::new(roci_emu_hsa::last_fault) };
    let unavailable = |reason: String, hint: &str| Error::Unavailable {
        what: "the emulated GPU".into(),
        reason,
        hint: hint.to_owned(),
    };
    let open = move |chips: &[String]| {
        let chips = chips.iter().filter_map(|name| name.parse().ok()).collect();
        let config = roci_emu_hsa::Config::for_process(chips)
            .map_err(|error| unavailable(error.to_string(), "`roci env` lists the values of the variable"))?;
        roci_emu_hsa::provide(config);
        Runtime::open(Source::Table(roci_emu_hsa::table()))
            .map_err(|error| unavailable(error.to_string(), "report this as a bug of the emulator"))
    };
    AmdgpuDriver::new(origin, Box::new(open), library(), Settings::from_environment())
}

/// Code objects of the kernels that the driver itself uses for fills and copies.
fn library() -> CodeLibrary {
    Arc::new(|target: &str| {
        let wrong = |reason: String| Error::Unavailable {
            what: "the driver's kernels".into(),
            reason,
            hint: "`cargo run --release -p roci-device-build` rebuilds them".into(),
        };
        let library = DeviceLibrary::embedded().map_err(|error| wrong(error.to_string()))?;
        let target = target.parse().map_err(|error: roci_codeobj::TargetError| wrong(error.to_string()))?;
        Ok(library.find(&target).map_err(|error| wrong(error.to_string()))?.bytes.to_vec())
    })
}
