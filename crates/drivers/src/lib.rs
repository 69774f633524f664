//! All drivers, set up: the one place above them that knows their names.
//!
//! [`registry`] holds those that need no telling. The command adds real AMD GPUs, whose library it may be told to look for
//! elsewhere ([`amdgpu`]).
//!
//! ```
//! let device = roci_drivers::registry().open(&"cpu".parse()?, None)?;
//! assert_eq!(device.info().uri.to_string(), "cpu");
//! # Ok::<(), roci_hal::Error>(())
//! ```
#![deny(unsafe_code)]

use std::sync::Arc;

use roci_amdgpu::{AmdgpuDriver, CodeLibrary, Origin, Settings};
use roci_cpu::CpuDriver;
use roci_device_library::DeviceLibrary;
use roci_emu::Chip;
use roci_hal::cache::Cache;
use roci_hal::{Error, Registry};
use roci_hsa::{Runtime, Source};
use roci_opencl::OpenClDriver;
use roci_vulkan::VulkanDriver;

/// Hears what is wrong with calls of Vulkan.
pub use roci_vulkan::Hook;

/// What runs on any machine without being told anything, in the order in which `auto` prefers it: GPUs by Vulkan and by OpenCL, the
/// CPU, emulated AMD GPUs.
pub fn registry() -> Registry {
    software(Registry::new().with(vulkan(None)).with(OpenClDriver::new()))
}

/// All drivers in the order in which `auto` prefers them, with real AMD GPUs and with what hears Vulkan's complaints.
pub fn registry_with(amdgpu: AmdgpuDriver, validate: Option<Hook>) -> Registry {
    software(Registry::new().with(amdgpu).with(vulkan(validate)).with(OpenClDriver::new()))
}

fn software(registry: Registry) -> Registry {
    registry.with(CpuDriver::new()).with(emulated())
}

/// Real AMD GPUs by an HSA runtime that `open` finds. `named` says that somebody has told where: then it is started even where
/// looking around would not.
pub fn amdgpu(open: impl Fn() -> Result<Runtime, Error> + Send + Sync + 'static, named: bool) -> AmdgpuDriver {
    let mut settings = Settings::from_environment();
    settings.library_named |= named;
    AmdgpuDriver::new(Origin::Real, Box::new(move |_: &[String]| open()), library(), settings)
}

/// GPUs by Vulkan, with compiled kernels kept in the user's cache.
fn vulkan(validate: Option<Hook>) -> VulkanDriver {
    VulkanDriver::new(roci_vulkan::Options { cache: Cache::of_user("vulkan"), validate })
}

/// Emulated AMD GPUs, made to order.
fn emulated() -> AmdgpuDriver {
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
            .map_err(|error| unavailable(error.to_string(), "`roci env` shows what the variable may say"))?;
        roci_emu_hsa::provide(config);
        Runtime::open(Source::Table(roci_emu_hsa::table()))
            .map_err(|error| unavailable(error.to_string(), "report this as a fault of the emulator"))
    };
    AmdgpuDriver::new(origin, Box::new(open), library(), Settings::from_environment())
}

/// The kernels that the driver of AMD GPUs needs itself.
fn library() -> CodeLibrary {
    Arc::new(|target: &str| {
        let wrong = |reason: String| Error::Unavailable {
            what: "its kernels".into(),
            reason,
            hint: "`cargo run --release -p roci-device-build` rebuilds them".into(),
        };
        let library = DeviceLibrary::embedded().map_err(|error| wrong(error.to_string()))?;
        let target = target.parse().map_err(|error: roci_codeobj::TargetError| wrong(error.to_string()))?;
        Ok(library.find(&target).map_err(|error| wrong(error.to_string()))?.bytes.to_vec())
    })
}
