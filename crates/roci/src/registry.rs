//! Registers the drivers of this binary.

use std::sync::Arc;

use roci_base::env;
use roci_hal::Registry;
use roci_hal::null::NullDriver;

use crate::cli::DriverArgs;
use crate::hsa;

/// All drivers, in the order of preference of `auto`.
pub(crate) fn registry(arguments: &DriverArgs) -> Registry {
    let paths = arguments.amdgpu_libhsa_search_path.clone();
    let named = !paths.is_empty();
    let amdgpu = roci_drivers::amdgpu(move || hsa::open(&paths), named);
    let is_checked = env::VULKAN_VALIDATE.get().is_some_and(|value| value != "0");
    let hook = || -> roci_drivers::ValidationHook {
        Arc::new(|message| crate::printer::driver_message(&format!("vulkan: {message}")))
    };
    roci_drivers::registry_with(amdgpu, is_checked.then(hook)).with(NullDriver::new(1))
}
