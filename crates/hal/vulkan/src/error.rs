//! Converts Vulkan results to errors of the HAL.

use ash::vk;
use roci_hal::Error;

/// An error for an unavailable part of Vulkan.
pub(crate) fn unavailable(what: impl Into<String>, reason: impl std::fmt::Display) -> Error {
    Error::Unavailable {
        what: what.into(),
        reason: reason.to_string(),
        hint: "`roci devices` shows what each driver finds".to_owned(),
    }
}

/// Maps the result of a failed call to an error. `what` names what the call should have created.
pub(crate) fn failed(what: &str) -> impl Fn(vk::Result) -> Error + '_ {
    move |result| unavailable(what, name(result))
}

/// The result's name in the specification, and its description.
pub(crate) fn name(result: vk::Result) -> String {
    format!("{} ({result})", constant(result))
}

/// The constant's full name, as it appears in logs and on the web.
fn constant(result: vk::Result) -> String {
    // `Debug` omits the common prefix.
    format!("VK_{result:?}")
}

/// Why a device was lost, with the likely remedy for its PCI vendor.
pub(crate) fn loss(result: vk::Result, vendor: u32) -> String {
    let name = constant(result);
    match (result, vendor) {
        (vk::Result::ERROR_DEVICE_LOST, roci_base::sysfs::AMD) => format!(
            "{name}: the kernel most likely reset the GPU because one submission ran longer than its watchdog allows; \
             look for `ring … timeout` in `dmesg`, and raise the limit with the kernel parameter \
             `amdgpu.lockup_timeout=10000` or make the work smaller"
        ),
        (vk::Result::ERROR_DEVICE_LOST, _) => format!(
            "{name}: the GPU faulted, or its driver reset it because a kernel ran too long; `dmesg` may have details"
        ),
        (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY, _) => {
            format!("{name}: a submission ran out of memory; free some, or use a smaller model or batch")
        }
        _ => self::name(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_lost_amd_gpu_suggests_a_kernel_parameter() {
        let amd = loss(vk::Result::ERROR_DEVICE_LOST, roci_base::sysfs::AMD);
        assert!(amd.starts_with("VK_ERROR_DEVICE_LOST") && amd.contains("amdgpu.lockup_timeout"), "{amd}");
        let other = loss(vk::Result::ERROR_DEVICE_LOST, 0x10de);
        assert!(other.starts_with("VK_ERROR_DEVICE_LOST") && !other.contains("amdgpu"), "{other}");
        assert!(name(vk::Result::ERROR_INCOMPATIBLE_DRIVER).starts_with("VK_ERROR_INCOMPATIBLE_DRIVER ("));
    }
}
