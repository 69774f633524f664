//! The devices under test.

use libtest_mimic::Failed;
use roci_hal::Device;
use roci_hal::driver::Driver as _;
use roci_opencl::OpenClDriver;

/// Opens a device, or returns why there is none.
pub(crate) type Open = fn() -> Result<Device, String>;

/// All devices, with the prefix of their tests.
pub(crate) fn all() -> Vec<(&'static str, Open)> {
    vec![
        ("cpu", || open("cpu")),
        ("vulkan", || open("vulkan:0")),
        ("pocl", || opencl("Portable Computing Language", "")),
        ("rusticl", || opencl("rusticl", "")),
        ("emu-gfx1010", || open("emu://gfx1010")),
        ("emu-gfx1151", || open("emu://gfx1151")),
    ]
}

/// Enables RustICL's CPU device and raises the timeout for CPU compilers. Must be called first in
/// `main`.
#[expect(unsafe_code, reason = "sets environment variables")]
pub(crate) fn prepare() {
    for (name, value) in [("RUSTICL_ENABLE", "llvmpipe"), ("ROCI_TIMEOUT", "400")] {
        if !std::env::vars_os().any(|(known, _)| known == name) {
            // SAFETY: `main` has started no thread yet, so no other thread reads or writes the
            // environment.
            unsafe { std::env::set_var(name, value) };
        }
    }
}

/// Skips a test whose device is missing, unless `ROCI_REQUIRE` names its driver.
pub(crate) fn missing(name: &str, reason: &str) -> Result<(), Failed> {
    let driver = name.split('-').next().unwrap_or(name);
    if roci_testkit::is_required(driver) {
        return Err(format!("ROCI_REQUIRE names {driver}, but: {reason}").into());
    }
    roci_testkit::skipped(name, reason);
    Ok(())
}

/// Opens a device whose new buffers contain NaN, so that reads of memory that was never written show.
pub(crate) fn open(uri: &str) -> Result<Device, String> {
    let registry = roci_drivers::registry();
    let uri = registry.parse(uri).map_err(|error| error.to_string())?;
    let device = registry.open(&uri, None).map_err(|error| error.to_string())?;
    device.fill_new_buffers(u32::MAX);
    Ok(device)
}

/// PoCL as a discrete GPU: no shared virtual memory, in-order queues.
pub(crate) const DISCRETE: (&str, Open) =
    ("pocl-discrete", || opencl("Portable Computing Language", "?svm=off&order=in"));

/// A device of an OpenCL platform.
fn opencl(platform: &str, parameters: &str) -> Result<Device, String> {
    let devices = OpenClDriver::new().enumerate().map_err(|error| error.to_string())?;
    let is_on = |runtime: &Option<String>| runtime.as_ref().is_some_and(|runtime| runtime.starts_with(platform));
    let ordinal = devices.iter().position(|info| is_on(&info.runtime));
    let known = || devices.iter().filter_map(|info| info.runtime.as_deref()).collect::<Vec<_>>().join(", ");
    let ordinal = ordinal.ok_or_else(|| format!("no OpenCL device runs on {platform}; there are: {}", known()))?;
    open(&format!("opencl:{ordinal}{parameters}"))
}
