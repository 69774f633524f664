//! The drivers of this binary: the one place above them that knows their names.

use std::sync::Arc;

use roci_amdgpu::{AmdgpuDriver, CodeLibrary, Origin, Settings};
use roci_cpu::CpuDriver;
use roci_device_library::DeviceLibrary;
use roci_emu::Chip;
use roci_hal::cache::Cache;
use roci_hal::null::NullDriver;
use roci_hal::{Error, Registry, env};
use roci_hsa::{Runtime, Source};
use roci_opencl::OpenClDriver;
use roci_vulkan::VulkanDriver;

use crate::cli::DriverArgs;
use crate::hsa;

/// All drivers, in the order in which `auto` prefers them.
pub(crate) fn registry(arguments: &DriverArgs) -> Registry {
    Registry::new()
        .with(amdgpu(arguments))
        .with(vulkan())
        .with(OpenClDriver::new())
        .with(CpuDriver::new())
        .with(emulated())
        .with(NullDriver::new(1))
}

/// The kernels that the driver of AMD GPUs needs itself.
fn library() -> CodeLibrary {
    Arc::new(|target: &str| {
        let wrong = |reason: String, hint: String| Error::Unavailable { what: "its kernels".into(), reason, hint };
        let rebuild = || "`cargo run --release -p roci-device-build` rebuilds them".to_owned();
        let library = DeviceLibrary::embedded().map_err(|error| wrong(error.to_string(), rebuild()))?;
        let target = target.parse().map_err(|error: roci_codeobj::TargetError| wrong(error.to_string(), rebuild()))?;
        let found = library.find(&target).map_err(|error| wrong(error.to_string(), rebuild()))?;
        Ok(found.bytes.to_vec())
    })
}

/// Real AMD GPUs.
fn amdgpu(arguments: &DriverArgs) -> AmdgpuDriver {
    let paths = arguments.amdgpu_libhsa_search_path.clone();
    let mut settings = Settings::from_environment();
    settings.library_named |= !paths.is_empty();
    AmdgpuDriver::new(Origin::Real, Box::new(move |_: &[String]| hsa::open(&paths)), library(), settings)
}

/// GPUs by Vulkan.
fn vulkan() -> VulkanDriver {
    let is_checked = env::VULKAN_VALIDATE.get().is_some_and(|value| value != "0");
    let hook = || -> roci_vulkan::Hook { Arc::new(|message| crate::printer::remark(&format!("vulkan: {message}"))) };
    VulkanDriver::new(roci_vulkan::Options { cache: Cache::of_user("vulkan"), validate: is_checked.then(hook) })
}

/// Emulated AMD GPUs, made to order.
fn emulated() -> AmdgpuDriver {
    let chips = Chip::ALL.iter().map(|chip| chip.name().to_owned()).collect();
    let origin = Origin::Emulated { chips, last_fault: Arc::new(roci_emu_hsa::last_fault) };
    let open = |chips: &[String]| {
        let chips = chips.iter().filter_map(|name| name.parse().ok()).collect();
        let config = roci_emu_hsa::Config::for_process(chips).map_err(|error| Error::Unavailable {
            what: "the emulated GPU".into(),
            reason: error.to_string(),
            hint: "`roci env` shows what the variable may say".into(),
        })?;
        roci_emu_hsa::provide(config);
        Runtime::open(Source::Table(roci_emu_hsa::table())).map_err(|error| Error::Unavailable {
            what: "the emulated GPU".into(),
            reason: error.to_string(),
            hint: "report this as a fault of the emulator".into(),
        })
    };
    AmdgpuDriver::new(origin, Box::new(open), library(), Settings::from_environment())
}
