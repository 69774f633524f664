//! Enumerates the devices of all OpenCL platforms.

use cl3::error_codes::{DLOPEN_RUNTIME_LOAD_FAILED, error_text};
use cl3::{device, platform};
use parking_lot::Mutex;
use roci_base::sysfs::Sysfs;
use roci_base::{env, exit};
use roci_hal::{DeviceKind, Error, PhysicalInfo};

use crate::cl::DeviceId;
use crate::error::unavailable;
use crate::identity;
use crate::properties::{self, DeviceProperties};

/// Returned by the loader if no library is installed (`CL_PLATFORM_NOT_FOUND_KHR`).
const NO_PLATFORM: i32 = -1001;
/// Device types in listing order. `CL_DEVICE_TYPE_ALL` would exclude custom devices.
const TYPES: [u64; 4] = [
    device::CL_DEVICE_TYPE_GPU,
    device::CL_DEVICE_TYPE_ACCELERATOR,
    device::CL_DEVICE_TYPE_CUSTOM,
    device::CL_DEVICE_TYPE_CPU,
];
/// The oldest OpenCL version whose functions the driver needs.
const MIN_VERSION: (u32, u32) = (1, 2);

/// A usable device.
#[derive(Clone, Debug)]
pub(crate) struct PhysicalDevice {
    pub(crate) id: DeviceId,
    pub(crate) properties: DeviceProperties,
    pub(crate) info: PhysicalInfo,
}

/// All devices: GPUs first, CPUs last.
pub(crate) fn devices(sysfs: &Sysfs) -> Result<Vec<PhysicalDevice>, Error> {
    // Neither the loader nor PoCL 3.1 tolerates initialization from two threads at once.
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock();
    let cards = sysfs.cards();
    let mut found = Vec::new();
    let mut empty = Vec::new();
    let platforms = platforms()?;
    exit::wait_for_threads_at_exit();
    for id in platforms {
        let name = platform::get_platform_data(id, platform::CL_PLATFORM_NAME).map(|bytes| properties::text(&bytes));
        let name = name.unwrap_or_default();
        let before = found.len();
        for kind in TYPES {
            // A platform without devices of a type returns an error.
            for raw in device::get_device_ids(id, kind).unwrap_or_default() {
                let properties = DeviceProperties::ask(&name, DeviceId(raw));
                let known = found.iter().any(|other: &PhysicalDevice| other.id.0 == raw);
                if !known && properties.usable && properties.opencl().is_some_and(|version| version >= MIN_VERSION) {
                    found.push(PhysicalDevice {
                        id: DeviceId(raw),
                        info: identity::describe(&properties, &cards),
                        properties,
                    });
                }
            }
        }
        if found.len() == before {
            empty.push(name);
        }
    }
    if found.is_empty() {
        return Err(nothing(&empty));
    }
    found.sort_by_key(|device| device.info.kind == DeviceKind::Software);
    Ok(found)
}

fn platforms() -> Result<Vec<*mut std::ffi::c_void>, Error> {
    platform::get_platform_ids().map_err(|code| match code {
        DLOPEN_RUNTIME_LOAD_FAILED => {
            let detail = cl3::load_library().as_ref().err().map_or_else(String::new, |error| format!(": {error}"));
            let reason = format!("its loader cannot be loaded{detail}");
            unavailable("OpenCL", reason, "install the package ocl-icd-libopencl1 and an OpenCL library for the GPU")
        }
        NO_PLATFORM => nothing(&[]),
        code => unavailable("OpenCL", format!("clGetPlatformIDs failed: {} ({code})", error_text(code)), INSTALL),
    })
}

const INSTALL: &str = "install an OpenCL library for the GPU (AMD: mesa-opencl-icd, with RUSTICL_ENABLE=radeonsi)";

/// The error that explains why no device was found.
fn nothing(platforms: &[String]) -> Error {
    if platforms.is_empty() {
        let vendors = env::OCL_ICD_VENDORS.get().unwrap_or_else(|| env::OCL_ICD_VENDORS.default.to_owned());
        return unavailable("OpenCL", format!("none of the libraries in {vendors} can be loaded"), INSTALL);
    }
    let hidden = platforms.iter().any(|name| name == "rusticl");
    let hint = if hidden {
        "`RUSTICL_ENABLE=radeonsi` enables AMD GPUs in RustICL (the value is a driver name; `1` enables nothing)"
    } else {
        INSTALL
    };
    unavailable("OpenCL", format!("no device with OpenCL 1.2 or later on {}", platforms.join(", ")), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_base::Hint;

    #[test]
    fn an_empty_rusticl_platform_gets_a_hint() {
        let error = nothing(&["rusticl".to_owned(), "Clover".to_owned()]);
        assert!(error.to_string().contains("rusticl, Clover"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("RUSTICL_ENABLE=radeonsi")));
        assert!(nothing(&[]).hint().is_some_and(|hint| hint.contains("mesa-opencl-icd")));
    }
}
