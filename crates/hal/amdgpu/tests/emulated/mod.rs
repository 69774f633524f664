//! The driver on emulated GPUs, for tests and benches.

use std::sync::Arc;

use roci_amdgpu::{AmdgpuDriver, CodeLibrary, Origin, Settings};
use roci_emu::Chip;
use roci_hal::Error;
use roci_hsa::{Runtime, Source};

/// A driver on every emulated chip.
pub(crate) fn driver() -> AmdgpuDriver {
    AmdgpuDriver::new(origin(), Box::new(runtime), library(), Settings::from_environment())
}

/// Lists every emulated chip.
pub(crate) fn origin() -> Origin {
    let chips = Chip::ALL.iter().map(|chip| chip.name().to_owned()).collect();
    Origin::Emulated { chips, last_fault: Arc::new(roci_emu_hsa::last_fault) }
}

/// This process's runtime, extended by these chips.
pub(crate) fn runtime(chips: &[String]) -> Result<Runtime, Error> {
    let chips = chips.iter().filter_map(|name| name.parse().ok()).collect();
    // With the checks that `ROCI_EMU_CHECK` enables, if set.
    let config = roci_emu_hsa::Config::for_process(chips);
    roci_emu_hsa::provide(config.map_err(|error| Error::invalid("the environment", error.to_string()))?);
    Runtime::open(Source::Table(roci_emu_hsa::table()))
        .map_err(|error| Error::invalid("the emulated runtime", error.to_string()))
}

/// Code objects of the driver's own kernels.
pub(crate) fn library() -> CodeLibrary {
    Arc::new(|target: &str| {
        let wrong = |error: &dyn std::fmt::Display| Error::invalid("the device library", error.to_string());
        let library = roci_device_library::DeviceLibrary::embedded().map_err(|error| wrong(&error))?;
        let target = target.parse().map_err(|error| wrong(&error))?;
        Ok(library.find(&target).map_err(|error| wrong(&error))?.bytes.to_vec())
    })
}
