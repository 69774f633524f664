//! The devices that OpenCL's platforms have.

use cl3::error_codes::{DLOPEN_RUNTIME_LOAD_FAILED, error_text};
use cl3::{device, platform};
use parking_lot::Mutex;
use roci_hal::sysfs::Sysfs;
use roci_hal::{DeviceKind, Error, PhysicalInfo, env, exit};

use crate::cl::DeviceId;
use crate::error::unavailable;
use crate::facts::{self, Facts};
use crate::identity;

/// What the loader answers where no library is installed.
const NO_PLATFORM: i32 = -1001;
/// Types in the order in which devices are listed. `CL_DEVICE_TYPE_ALL` would leave custom ones out.
const TYPES: [u64; 4] = [
    device::CL_DEVICE_TYPE_GPU,
    device::CL_DEVICE_TYPE_ACCELERATOR,
    device::CL_DEVICE_TYPE_CUSTOM,
    device::CL_DEVICE_TYPE_CPU,
];
/// The oldest version whose functions the driver calls.
const OLDEST: (u32, u32) = (1, 2);

/// A device that can be used.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) id: DeviceId,
    pub(crate) facts: Facts,
    pub(crate) info: PhysicalInfo,
}

/// All devices: GPUs first, processors last.
pub(crate) fn devices(sysfs: &Sysfs) -> Result<Vec<Found>, Error> {
    // Neither the loader nor PoCL 3.1 survives two threads that start it at once.
    static STARTING: Mutex<()> = Mutex::new(());
    let _starting = STARTING.lock();
    let cards = sysfs.cards();
    let mut found = Vec::new();
    let mut empty = Vec::new();
    let platforms = platforms()?;
    exit::guard();
    for id in platforms {
        let name = platform::get_platform_data(id, platform::CL_PLATFORM_NAME).map(|bytes| facts::text(&bytes));
        let name = name.unwrap_or_default();
        let before = found.len();
        for kind in TYPES {
            // A platform without devices of a type says so by an error.
            for raw in device::get_device_ids(id, kind).unwrap_or_default() {
                let facts = Facts::ask(&name, DeviceId(raw));
                let known = found.iter().any(|other: &Found| other.id.0 == raw);
                if !known && facts.usable && facts.opencl().is_some_and(|version| version >= OLDEST) {
                    found.push(Found { id: DeviceId(raw), info: identity::describe(&facts, &cards), facts });
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
            let said = cl3::load_library().as_ref().err().map_or_else(String::new, |error| format!(": {error}"));
            let reason = format!("its loader cannot be loaded{said}");
            unavailable("OpenCL", reason, "install the package ocl-icd-libopencl1 and an OpenCL library for the GPU")
        }
        NO_PLATFORM => nothing(&[]),
        code => unavailable("OpenCL", format!("clGetPlatformIDs failed: {} ({code})", error_text(code)), INSTALL),
    })
}

const INSTALL: &str = "install an OpenCL library for the GPU: mesa-opencl-icd, with RUSTICL_ENABLE=radeonsi, for AMD's";

/// Why there is no device.
fn nothing(platforms: &[String]) -> Error {
    if platforms.is_empty() {
        let vendors = env::OCL_ICD_VENDORS.get().unwrap_or_else(|| env::OCL_ICD_VENDORS.default.to_owned());
        return unavailable("OpenCL", format!("no library that {vendors} names can be loaded"), INSTALL);
    }
    let hidden = platforms.iter().any(|name| name == "rusticl");
    let hint = if hidden {
        "`RUSTICL_ENABLE=radeonsi` lets RustICL show AMD GPUs (a driver's name: `1` shows nothing)"
    } else {
        INSTALL
    };
    unavailable("OpenCL", format!("no device of version 1.2 or later on {}", platforms.join(", ")), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roci_hal::Hint;

    #[test]
    fn an_empty_rusticl_gets_the_word_that_helps() {
        let error = nothing(&["rusticl".to_owned(), "Clover".to_owned()]);
        assert!(error.to_string().contains("rusticl, Clover"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("RUSTICL_ENABLE=radeonsi")));
        assert!(nothing(&[]).hint().is_some_and(|hint| hint.contains("mesa-opencl-icd")));
    }
}
