//! The drivers of this binary: the one place above them that knows their names.

use std::sync::Arc;

use roci_amdgpu::{AmdgpuDriver, CodeLibrary, Origin};
use roci_cpu::CpuDriver;
use roci_device_library::DeviceLibrary;
use roci_emu::Chip;
use roci_hal::null::NullDriver;
use roci_hal::{Error, Registry, env};
use roci_hsa::search::{Environment, Options};
use roci_hsa::{KernelDriver, Runtime, Source};

/// All drivers, in the order in which `auto` prefers them.
pub(crate) fn registry() -> Registry {
    Registry::new().with(amdgpu()).with(CpuDriver::new()).with(emulated()).with(NullDriver::new(1))
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
fn amdgpu() -> AmdgpuDriver {
    let open = |_: &[String]| {
        let unavailable = |reason: String, hint: String| Error::Unavailable { what: "HSA".into(), reason, hint };
        // Loading the library is of no use without the kernel's side, and says less.
        let driver = KernelDriver::look();
        if driver != KernelDriver::Present {
            return Err(unavailable(driver.to_string(), driver.remedy().to_owned()));
        }
        if let Some(version) = env::HSA_OVERRIDE.get() {
            let reason =
                format!("{}={version} makes it load another chip's code, which crashes", env::HSA_OVERRIDE.name);
            return Err(unavailable(
                reason,
                format!("`unset {}`: roci has kernels for the chip itself", env::HSA_OVERRIDE.name),
            ));
        }
        let environment = Environment {
            roci_path: env::LIBHSA_PATH.get().map(Into::into),
            iree_path: env::IREE_LIBHSA_PATH.get().map(Into::into),
            path: env::PATH.get().map(Into::into),
        };
        let options = Options { paths: Vec::new(), environment };
        Runtime::open(Source::Search(options)).map_err(|error| {
            let hint = error.remedy().unwrap_or_else(|| "`roci devices` shows what each driver finds".to_owned());
            unavailable(error.to_string(), hint)
        })
    };
    AmdgpuDriver::new(Origin::Real, Box::new(open), library())
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
    AmdgpuDriver::new(origin, Box::new(open), library())
}
