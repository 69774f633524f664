//! The driver under test: one per process, with validation.

use std::io::Write;
use std::sync::{Arc, LazyLock};

use roci_base::env::VULKAN_VALIDATE;
use roci_vulkan::{Options, ValidationHook, VulkanDriver};

/// Aborts the process, and with it the test, because a message may come from any thread.
fn hook() -> ValidationHook {
    Arc::new(|message: &str| {
        let _ = writeln!(std::io::stderr(), "Vulkan validation: {message}");
        std::process::abort();
    })
}

/// Whether calls are validated: set by `ROCI_VULKAN_VALIDATE`; by default, if the layer is
/// installed.
fn is_checked() -> bool {
    match VULKAN_VALIDATE.get().as_deref() {
        None => roci_vulkan::has_validation() || roci_testkit::is_required("vulkan"),
        Some("0") => false,
        Some(_) => true,
    }
}

/// The shared driver.
pub(crate) fn driver() -> VulkanDriver {
    static DRIVER: LazyLock<VulkanDriver> =
        LazyLock::new(|| VulkanDriver::new(Options { validate: is_checked().then(hook), ..Options::default() }));
    DRIVER.clone()
}
