//! Loads Vulkan and creates instances.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::ffi::CStr;
use std::sync::{Arc, OnceLock};

use ash::{Entry, vk};
use parking_lot::Mutex;
use roci_base::exit;
use roci_hal::Error;

use crate::error::{failed, name};
use crate::validation::{LAYER, Messages, ValidationHook};

/// Hint if the loader is missing.
const INSTALL: &str = "install the loader and a driver (Debian, Ubuntu: `apt install libvulkan1 mesa-vulkan-drivers`)";
/// Hint if the loader finds no driver.
const CHECK: &str = "install a driver (Debian, Ubuntu: `apt install mesa-vulkan-drivers`), and unset or correct \
                     VK_DRIVER_FILES and VK_ICD_FILENAMES";

/// The loader, once loaded. It is never unloaded: drivers leave threads and handlers behind.
static LOADER: Mutex<Option<Entry>> = Mutex::new(None);
/// The first instance, which is never destroyed. Destroying the last instance unloads the drivers,
/// while threads that called them may still have to run their destructors.
static FIRST: OnceLock<Arc<Instance>> = OnceLock::new();

/// A Vulkan instance. Devices hold it.
pub(crate) struct Instance {
    pub(crate) raw: ash::Instance,
    pub(crate) entry: Entry,
    /// Highest Vulkan version that devices may use.
    pub(crate) version: u32,
    messenger: Option<(ash::ext::debug_utils::Instance, vk::DebugUtilsMessengerEXT, Messages)>,
}

fn loader() -> Result<Entry, Error> {
    let mut known = LOADER.lock();
    if let Some(entry) = &*known {
        return Ok(entry.clone());
    }
    // SAFETY: the loader's constructors have no preconditions.
    let entry = unsafe { Entry::load() }.map_err(|error| Error::Unavailable {
        what: "Vulkan".into(),
        reason: error.to_string(),
        hint: INSTALL.into(),
    })?;
    Ok(known.insert(entry).clone())
}

impl Instance {
    /// Creates an instance; with a hook, with the validation layer enabled.
    pub(crate) fn new(hook: Option<&ValidationHook>) -> Result<Arc<Self>, Error> {
        let entry = loader()?;
        // SAFETY: the loader is loaded.
        let loader = unsafe { entry.try_enumerate_instance_version() }.map_err(failed("Vulkan"))?;
        let loader = loader.unwrap_or(vk::API_VERSION_1_0);
        if loader < vk::API_VERSION_1_1 {
            return Err(Error::Unavailable {
                what: "Vulkan".into(),
                reason: "the loader supports only Vulkan 1.0; 1.1 is required".into(),
                hint: INSTALL.into(),
            });
        }
        let version = loader.min(vk::API_VERSION_1_3);
        let messages = hook.map(Messages::new);
        if messages.is_some() {
            require_layer(&entry)?;
        }
        let application = vk::ApplicationInfo::default().application_name(c"roci").api_version(version);
        let layers = [LAYER.as_ptr()];
        let extensions = [ash::ext::debug_utils::NAME.as_ptr()];
        let mut info = vk::InstanceCreateInfo::default().application_info(&application);
        // Chained as well, so that creation and destruction of the instance are validated too.
        let mut request = messages.as_ref().map(Messages::request);
        if let Some(request) = &mut request {
            info = info.enabled_layer_names(&layers).enabled_extension_names(&extensions).push_next(request);
        }
        // SAFETY: valid create info; no pointer in it is kept.
        let raw = unsafe { entry.create_instance(&info, None) }.map_err(|result| Error::Unavailable {
            what: "Vulkan".into(),
            reason: match result {
                vk::Result::ERROR_INCOMPATIBLE_DRIVER => format!("no driver could be loaded: {}", name(result)),
                _ => name(result),
            },
            hint: CHECK.into(),
        })?;
        exit::wait_for_threads_at_exit();
        let mut instance = Self { raw, entry: entry.clone(), version, messenger: None };
        if let Some(messages) = messages {
            let functions = ash::ext::debug_utils::Instance::new(&entry, &instance.raw);
            // SAFETY: the extension is enabled; the hook lives as long as the messenger.
            let messenger = unsafe { functions.create_debug_utils_messenger(&messages.request(), None) };
            instance.messenger = Some((functions, messenger.map_err(failed("the debug messenger"))?, messages));
        }
        let instance = Arc::new(instance);
        FIRST.get_or_init(|| Arc::clone(&instance));
        Ok(instance)
    }
}

/// Whether the Khronos validation layer is installed.
pub fn has_validation() -> bool {
    loader().and_then(|entry| require_layer(&entry)).is_ok()
}

/// Returns an error unless the validation layer is installed.
fn require_layer(entry: &Entry) -> Result<(), Error> {
    // SAFETY: the loader is loaded.
    let layers = unsafe { entry.enumerate_instance_layer_properties() }.map_err(failed("the list of Vulkan layers"))?;
    let named = |layer: &vk::LayerProperties| layer.layer_name_as_c_str() == Ok(LAYER);
    if layers.iter().any(named) {
        return Ok(());
    }
    Err(Error::Unavailable {
        what: "Vulkan validation".into(),
        reason: format!("the layer {} is not installed", LAYER.to_string_lossy()),
        hint: "install it (Debian, Ubuntu: `apt install vulkan-validationlayers`), or unset ROCI_VULKAN_VALIDATE"
            .into(),
    })
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Some((functions, messenger, _)) = &self.messenger {
            // SAFETY: created from this instance, and destroyed once.
            unsafe { functions.destroy_debug_utils_messenger(*messenger, None) };
        }
        // SAFETY: devices hold the instance, so none is left.
        unsafe { self.raw.destroy_instance(None) };
    }
}

/// Whether a list of extensions contains one.
pub(crate) fn lists(extensions: &[vk::ExtensionProperties], expected: &CStr) -> bool {
    extensions.iter().any(|extension| extension.extension_name_as_c_str() == Ok(expected))
}
