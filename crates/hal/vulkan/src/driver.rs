//! Enumerates and opens Vulkan devices.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_base::cache::Cache;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::uri::Selection;
use roci_hal::{DeviceKind, DeviceUri, Error, PhysicalInfo};

use crate::device::VulkanDevice;
use crate::device_state::{DeviceState, Settings};
use crate::discover::{PhysicalDevice, cards};
use crate::error::unavailable;
use crate::instance::Instance;
use crate::queue_family::QueueChoice;
use crate::validation::ValidationHook;

/// Options of the driver.
#[derive(Clone, Default)]
pub struct Options {
    /// Disk cache of compiled kernels; `None` disables it.
    pub cache: Option<Cache>,
    /// Enables the Khronos validation layer, and receives its messages.
    pub validate: Option<ValidationHook>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("cache", &self.cache).field("validate", &self.validate.is_some()).finish()
    }
}

/// Enumerates and opens Vulkan devices. Clones share one instance.
#[derive(Clone, Default)]
pub struct VulkanDriver {
    options: Options,
    /// Kept, because creating an instance is slow.
    instance: Arc<Mutex<Option<Arc<Instance>>>>,
}

impl std::fmt::Debug for VulkanDriver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VulkanDriver").field("options", &self.options).finish_non_exhaustive()
    }
}

impl VulkanDriver {
    /// Creates the driver. Vulkan is loaded at the first enumeration.
    pub fn new(options: Options) -> Self {
        Self { options, instance: Arc::default() }
    }

    fn instance(&self) -> Result<Arc<Instance>, Error> {
        let mut known = self.instance.lock();
        if let Some(instance) = &*known {
            return Ok(Arc::clone(instance));
        }
        Ok(Arc::clone(known.insert(self.fresh()?)))
    }

    fn fresh(&self) -> Result<Arc<Instance>, Error> {
        Instance::new(self.options.validate.as_ref())
    }
}

/// Supported sizes of lowered subgroups.
const EMULATED: [u32; 4] = [8, 16, 32, 64];

/// Hides the device's subgroups if `?subgroups=` says so. Kernels then get lowered ones, of the
/// requested size.
fn lower_subgroups(uri: &DeviceUri, card: &mut PhysicalDevice) -> Result<(), Error> {
    let size = match value(uri, "subgroups") {
        None | Some("on") => return Ok(()),
        Some("off") => None,
        Some(text) => Some(text.parse().ok().filter(|size| EMULATED.contains(size)).ok_or_else(|| {
            let reason = format!("`{text}` is not `on`, `off` or one of {EMULATED:?}");
            Error::invalid("`?subgroups=`", reason).with_hint("`?subgroup=` selects one of the device's native sizes")
        })?),
    };
    if value(uri, "subgroup").is_some() {
        return Err(Error::invalid("`?subgroup=`", "`?subgroups=` disables the device's native subgroups"));
    }
    let capabilities = &mut card.info.capabilities;
    capabilities.subgroup_sizes.clear();
    capabilities.subgroup_width = size;
    // Cooperative matrices need subgroups.
    capabilities.matrix = false;
    // SPIR-V that still uses subgroups is rejected.
    card.properties.features.subgroups = ash::vk::SubgroupFeatureFlags::empty();
    card.properties.features.matrix = None;
    Ok(())
}

fn value<'a>(uri: &'a DeviceUri, key: &str) -> Option<&'a str> {
    uri.parameters().iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// Parses the parameters of a URI.
fn settings(uri: &DeviceUri, card: &PhysicalDevice) -> Result<Settings, Error> {
    let value = |key| value(uri, key);
    let timeline = match value("timeline") {
        None | Some("on") => true,
        Some("off") => false,
        Some(other) => {
            return Err(Error::invalid("`?timeline=`", format!("`{other}` is not `on` or `off`")));
        }
    };
    let subgroup = value("subgroup").map(|text| {
        let sizes = &card.properties.subgroup_choice;
        let expected = text.parse().ok().filter(|size| sizes.contains(size));
        expected.ok_or_else(|| {
            let reason =
                format!("`{text}` is not a subgroup size that kernels can select on this device; it has {sizes:?}");
            Error::invalid("`?subgroup=`", reason).with_hint("omit the parameter if the list is empty")
        })
    });
    Ok(Settings { queue: QueueChoice::parse(value("queue"))?, timeline, subgroup: subgroup.transpose()? })
}

impl Driver for VulkanDriver {
    fn scheme(&self) -> &'static str {
        "vulkan"
    }

    fn summary(&self) -> &'static str {
        "GPUs through Vulkan 1.1 or later"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { key: "queue", help: "`graphics`, `compute` or the number of a queue family" },
            Parameter {
                key: "subgroup",
                help: "subgroup size of all kernels, if the device supports subgroup size control",
            },
            Parameter {
                key: "subgroups",
                help: "`off`, `8`, `16`, `32` or `64` emulates subgroups in workgroup memory (default: on)",
            },
            Parameter { key: "timeline", help: "`off` uses fences instead of timeline semaphores" },
        ]
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        Ok(cards(&*self.instance()?)?.into_iter().map(|card| card.info).collect())
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let name = request.uri.to_string();
        // Devices of one URI share memory, which Vulkan devices cannot. Without a selection, the
        // first device is used.
        if request.physical.len() > 1 && *request.uri.selection() != Selection::Default {
            let error = Error::invalid(
                format!("`{name}`"),
                "Vulkan devices do not share memory, so they cannot form one logical device",
            );
            return Err(error.with_hint("name one of them"));
        }
        let (ordinal, info) = request.physical.first().ok_or_else(|| unavailable(&name, "the URI names no device"))?;
        // Devices of a software rasterizer share the threads of their instance. Each gets its own
        // instance, so that a kernel that never ends blocks only its device.
        let instance = if info.kind == DeviceKind::Software { self.fresh()? } else { self.instance()? };
        let card = cards(&instance)?.into_iter().nth(*ordinal as usize);
        let mut card = card.ok_or_else(|| unavailable(&name, "the device no longer exists"))?;
        lower_subgroups(request.uri, &mut card)?;
        let settings = settings(request.uri, &card)?;
        let shared = DeviceState::open(&instance, card, name, settings, self.options.cache.clone())?;
        Ok(Arc::new(VulkanDevice::open(request, shared)?))
    }
}
