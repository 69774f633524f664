//! The driver as tests use it: one for the process, watched by Khronos's layer.

use std::io::Write;
use std::sync::{Arc, LazyLock};

use roci_hal::env::VULKAN_VALIDATE;
use roci_vulkan::{Hook, Options, VulkanDriver};

/// Ends the process, and with it the test, whichever thread the message comes from.
fn hook() -> Hook {
    Arc::new(|message: &str| {
        let _ = writeln!(std::io::stderr(), "Vulkan's validation says: {message}");
        std::process::abort();
    })
}

/// Whether calls are checked: as `ROCI_VULKAN_VALIDATE` says, and without a word where the layer is installed.
fn is_checked() -> bool {
    match VULKAN_VALIDATE.get().as_deref() {
        None => roci_vulkan::has_validation() || roci_testkit::is_required("vulkan"),
        Some("0") => false,
        Some(_) => true,
    }
}

/// The driver.
pub(crate) fn driver() -> VulkanDriver {
    static DRIVER: LazyLock<VulkanDriver> =
        LazyLock::new(|| VulkanDriver::new(Options { validate: is_checked().then(hook), ..Options::default() }));
    DRIVER.clone()
}
