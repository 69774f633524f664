//! All drivers behind one registry: the only crate above them that knows their names.
//!
//! [`registry`] has every driver that needs no configuration. The command line adds real AMD GPUs,
//! whose HSA library path can be configured (`amdgpu`). Features choose what is compiled in.
#![cfg_attr(
    feature = "cpu",
    doc = "
```
let device = roci_drivers::registry().open(&\"cpu\".parse()?, None)?;
assert_eq!(device.info().uri.to_string(), \"cpu\");
# Ok::<(), roci_hal::Error>(())
```"
)]
#![deny(unsafe_code)]

#[cfg(feature = "amdgpu")]
mod amd;

use roci_hal::Registry;

#[cfg(feature = "amdgpu")]
pub use amd::amdgpu;
/// Receives the validation messages of Vulkan.
#[cfg(feature = "vulkan")]
pub use roci_vulkan::ValidationHook;

/// Every driver that needs no configuration, in the order of `auto`: Vulkan, OpenCL, the CPU,
/// emulated AMD GPUs.
pub fn registry() -> Registry {
    let registry = Registry::new();
    #[cfg(feature = "vulkan")]
    let registry = registry.with(vulkan(None));
    #[cfg(feature = "opencl")]
    let registry = registry.with(roci_opencl::OpenClDriver::new());
    software(registry)
}

/// All drivers in the order of `auto`, with real AMD GPUs first and a receiver of Vulkan's
/// validation messages.
#[cfg(all(feature = "amdgpu", feature = "vulkan", feature = "opencl"))]
pub fn registry_with(amdgpu: roci_amdgpu::AmdgpuDriver, validate: Option<ValidationHook>) -> Registry {
    software(Registry::new().with(amdgpu).with(vulkan(validate)).with(roci_opencl::OpenClDriver::new()))
}

/// Adds what runs without a GPU.
fn software(registry: Registry) -> Registry {
    #[cfg(feature = "cpu")]
    let registry = registry.with(roci_cpu::CpuDriver::new());
    #[cfg(feature = "amdgpu")]
    let registry = registry.with(amd::emulated());
    registry
}

/// GPUs through Vulkan, with compiled pipelines in the user's cache.
#[cfg(feature = "vulkan")]
fn vulkan(validate: Option<ValidationHook>) -> roci_vulkan::VulkanDriver {
    let cache = roci_base::cache::Cache::of_user("vulkan");
    roci_vulkan::VulkanDriver::new(roci_vulkan::Options { cache, validate })
}
