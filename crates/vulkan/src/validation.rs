//! The validation layer: Khronos's own check of every call, for tests and for those who look for a fault.

#![expect(unsafe_code, reason = "takes messages from C")]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ash::vk;

/// Told of every message, from any thread.
pub type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// The layer's name.
pub(crate) const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Messages that are wrong, each with the reason.
const WRONG: &[(&str, &str)] = &[];

/// A hook as Vulkan sees it. It stays where it is while the instance lives.
pub(crate) struct Messages(Box<Hook>);

impl Messages {
    pub(crate) fn new(hook: &Hook) -> Self {
        Self(Box::new(Arc::clone(hook)))
    }

    /// What asks Vulkan for messages.
    pub(crate) fn request(&self) -> vk::DebugUtilsMessengerCreateInfoEXT<'static> {
        use vk::{DebugUtilsMessageSeverityFlagsEXT as Severity, DebugUtilsMessageTypeFlagsEXT as Kind};
        vk::DebugUtilsMessengerCreateInfoEXT::default()
            .message_severity(Severity::ERROR | Severity::WARNING)
            .message_type(Kind::VALIDATION)
            .pfn_user_callback(Some(receive))
            .user_data((&raw const *self.0).cast_mut().cast())
    }
}

/// # Safety
/// Vulkan calls it with valid data and with the pointer that [`Messages::request`] gave.
unsafe extern "system" fn receive(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    hook: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the pointer that `request` gave, to a hook that outlives the messenger.
    let hook = unsafe { &*hook.cast_const().cast::<Hook>() };
    // SAFETY: valid for the time of the call.
    let data = unsafe { &*data };
    // SAFETY: null or a string that is valid for the time of the call.
    let message = unsafe { data.message_as_c_str() }.map(CStr::to_string_lossy).unwrap_or_default();
    if !WRONG.iter().any(|(part, _)| message.contains(part)) {
        // A panic must not cross into C; the hook has had its chance to say what it wants.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hook(&message)));
    }
    vk::FALSE
}
