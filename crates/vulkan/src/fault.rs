//! What Vulkan's answers mean to people: errors of the HAL with a remedy.

use ash::vk;
use roci_hal::Error;

/// Something of Vulkan that cannot be used.
pub(crate) fn unavailable(what: impl Into<String>, reason: impl std::fmt::Display) -> Error {
    Error::Unavailable {
        what: what.into(),
        reason: reason.to_string(),
        hint: "`roci devices` shows what each driver finds".to_owned(),
    }
}

/// A call that failed, by the name of what it was to make.
pub(crate) fn failed(what: &str) -> impl Fn(vk::Result) -> Error + '_ {
    move |result| unavailable(what, name(result))
}

/// The result as the specification writes it, with what it says.
pub(crate) fn name(result: vk::Result) -> String {
    format!("{} ({result})", constant(result))
}

/// The constant's own name, as people find it in logs and on the web.
fn constant(result: vk::Result) -> String {
    // `Debug` gives it without what all of them begin with.
    format!("VK_{result:?}")
}

/// Why a device was lost, with the likely remedy, for a device of this PCI vendor.
pub(crate) fn loss(result: vk::Result, vendor: u32) -> String {
    let name = constant(result);
    match (result, vendor) {
        (vk::Result::ERROR_DEVICE_LOST, roci_hal::sysfs::AMD) => format!(
            "{name}: the kernel most likely reset the GPU because one submission ran longer than its watchdog allows; \
             look for `ring … timeout` in `dmesg`, and raise the limit with the kernel parameter \
             `amdgpu.lockup_timeout=10000` or make the work smaller"
        ),
        (vk::Result::ERROR_DEVICE_LOST, _) => format!(
            "{name}: the GPU faulted, or its driver gave up on a kernel that ran too long; `dmesg` may say more"
        ),
        (vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY, _) => {
            format!("{name}: a submission needs more memory than there is; free some, or use a smaller model or batch")
        }
        _ => self::name(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_amd_gpu_comes_with_the_parameter_that_helps() {
        let amd = loss(vk::Result::ERROR_DEVICE_LOST, roci_hal::sysfs::AMD);
        assert!(amd.starts_with("VK_ERROR_DEVICE_LOST") && amd.contains("amdgpu.lockup_timeout"), "{amd}");
        let other = loss(vk::Result::ERROR_DEVICE_LOST, 0x10de);
        assert!(other.starts_with("VK_ERROR_DEVICE_LOST") && !other.contains("amdgpu"), "{other}");
        assert!(name(vk::Result::ERROR_INCOMPATIBLE_DRIVER).starts_with("VK_ERROR_INCOMPATIBLE_DRIVER ("));
    }
}
