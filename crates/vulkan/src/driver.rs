//! What the driver finds and opens.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::cache::Cache;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::uri::Selection;
use roci_hal::{DeviceKind, DeviceUri, Error, PhysicalInfo};

use crate::device::VulkanDevice;
use crate::discover::{Card, cards};
use crate::families::Wish;
use crate::fault::unavailable;
use crate::instance::Instance;
use crate::shared::{Settings, Shared};
use crate::validation::Hook;

/// How the driver works.
#[derive(Clone, Default)]
pub struct Options {
    /// Where compiled kernels are kept for the next process; nowhere without.
    pub cache: Option<Cache>,
    /// Has Khronos's layer check every call, and is told what it says.
    pub validate: Option<Hook>,
}

/// The driver. Clones share what starting Vulkan has found.
#[derive(Clone, Default)]
pub struct VulkanDriver {
    options: Options,
    /// Starting it is slow: it stays.
    instance: Arc<Mutex<Option<Arc<Instance>>>>,
}

impl VulkanDriver {
    /// A driver; Vulkan is looked for when it is first asked for devices.
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

/// Sub-groups in workgroup memory are of one of these sizes.
const EMULATED: [u32; 4] = [8, 16, 32, 64];

/// Takes the device's sub-groups away where `?subgroups=` says so: kernels then make their own, of the size that is
/// asked for.
fn lower_subgroups(uri: &DeviceUri, card: &mut Card) -> Result<(), Error> {
    let size = match value(uri, "subgroups") {
        None | Some("on") => return Ok(()),
        Some("off") => None,
        Some(text) => Some(text.parse().ok().filter(|size| EMULATED.contains(size)).ok_or_else(|| {
            let reason = format!("`{text}` is neither `on` nor `off` nor one of {EMULATED:?}");
            Error::invalid("`?subgroups=`", reason).hinted("`?subgroup=` chooses among the device's own sizes")
        })?),
    };
    if value(uri, "subgroup").is_some() {
        return Err(Error::invalid("`?subgroup=`", "`?subgroups=` takes the device's own sub-groups away"));
    }
    let capabilities = &mut card.info.capabilities;
    capabilities.subgroup_sizes.clear();
    capabilities.subgroup_width = size;
    // Sub-groups hold the matrices.
    capabilities.matrix = false;
    // Code that asks for them all the same is refused.
    card.facts.features.subgroups = ash::vk::SubgroupFeatureFlags::empty();
    card.facts.features.matrix = None;
    Ok(())
}

fn value<'a>(uri: &'a DeviceUri, key: &str) -> Option<&'a str> {
    uri.parameters().iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// What the parameters of a URI ask for.
fn settings(uri: &DeviceUri, card: &Card) -> Result<Settings, Error> {
    let value = |key| value(uri, key);
    let timeline = match value("timeline") {
        None | Some("on") => true,
        Some("off") => false,
        Some(other) => {
            return Err(Error::invalid("`?timeline=`", format!("`{other}` is neither `on` nor `off`")));
        }
    };
    let subgroup = value("subgroup").map(|text| {
        let sizes = &card.facts.subgroup_choice;
        let wanted = text.parse().ok().filter(|size| sizes.contains(size));
        wanted.ok_or_else(|| {
            let reason = format!("`{text}` is no size that the device lets kernels choose; it has {sizes:?}");
            Error::invalid("`?subgroup=`", reason).hinted("leave it out where there is none to choose")
        })
    });
    Ok(Settings { queue: Wish::parse(value("queue"))?, timeline, subgroup: subgroup.transpose()? })
}

impl Driver for VulkanDriver {
    fn scheme(&self) -> &'static str {
        "vulkan"
    }

    fn summary(&self) -> &'static str {
        "GPUs by Vulkan 1.1 and later"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[
            Parameter { key: "queue", help: "`graphics`, `compute` or the number of a queue family" },
            Parameter { key: "subgroup", help: "size of every kernel's sub-groups, where it can be chosen" },
            Parameter {
                key: "subgroups",
                help: "`off`, `8`, `16`, `32` or `64` makes them of workgroup memory (default: on)",
            },
            Parameter { key: "timeline", help: "`off` waits by fences instead of timeline semaphores" },
        ]
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        Ok(cards(&*self.instance()?)?.into_iter().map(|card| card.info).collect())
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        let name = request.uri.to_string();
        // Devices of one URI share memory, which Vulkan's do not. Without a choice the first is meant.
        if request.physical.len() > 1 && *request.uri.selection() != Selection::Default {
            let error =
                Error::invalid(format!("`{name}`"), "Vulkan devices share no memory, so they cannot be one device");
            return Err(error.hinted("name one of them"));
        }
        let (ordinal, info) = request.physical.first().ok_or_else(|| unavailable(&name, "it names no device"))?;
        // The devices of a rasteriser share its threads, unless each has an instance to itself: a kernel that never ends
        // on one would stop the others.
        let instance = if info.kind == DeviceKind::Software { self.fresh()? } else { self.instance()? };
        let card = cards(&instance)?.into_iter().nth(*ordinal as usize);
        let mut card = card.ok_or_else(|| unavailable(&name, "the device is gone"))?;
        lower_subgroups(request.uri, &mut card)?;
        let settings = settings(request.uri, &card)?;
        let shared = Shared::open(&instance, card, name, settings, self.options.cache.clone())?;
        Ok(Arc::new(VulkanDevice::open(request, shared)?))
    }
}
