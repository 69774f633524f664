//! The Khronos validation layer, for tests and debugging.

#![expect(unsafe_code, reason = "receives messages from C")]

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use ash::vk;

/// Receives every validation message, from any thread.
pub type ValidationHook = Arc<dyn Fn(&str) + Send + Sync>;

/// Name of the layer.
pub(crate) const LAYER: &CStr = c"VK_LAYER_KHRONOS_validation";

/// Messages known to be false positives, each with the reason.
const FALSE_POSITIVES: &[(&str, &str)] = &[];

/// A hook as the messenger's user data. Its address is stable while the instance lives.
pub(crate) struct Messages(Box<ValidationHook>);

impl Messages {
    pub(crate) fn new(hook: &ValidationHook) -> Self {
        Self(Box::new(Arc::clone(hook)))
    }

    /// Create info of the debug messenger.
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
/// Vulkan calls it with valid data and the user data of [`Messages::request`].
unsafe extern "system" fn receive(
    _severity: vk::DebugUtilsMessageSeverityFlagsEXT,
    _kind: vk::DebugUtilsMessageTypeFlagsEXT,
    data: *const vk::DebugUtilsMessengerCallbackDataEXT<'_>,
    hook: *mut c_void,
) -> vk::Bool32 {
    // SAFETY: the user data that `request` set, a hook that outlives the messenger.
    let hook = unsafe { &*hook.cast_const().cast::<ValidationHook>() };
    // SAFETY: valid during the call.
    let data = unsafe { &*data };
    // SAFETY: null or a string that is valid during the call.
    let message = unsafe { data.message_as_c_str() }.map(CStr::to_string_lossy).unwrap_or_default();
    if !FALSE_POSITIVES.iter().any(|(part, _)| message.contains(part)) {
        // A panic must not unwind into C. The hook reports its message before it panics.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hook(&message)));
    }
    vk::FALSE
}
