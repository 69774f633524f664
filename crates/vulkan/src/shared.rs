//! What everything that belongs to an open device shares: Vulkan's device, and objects that are made once and kept.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::collections::BTreeMap;
use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use roci_hal::Error;
use roci_hal::cache::Cache;
use roci_hal::exit::{self, Busy};

use crate::discover::Card;
use crate::families::{self, Wish};
use crate::fault::failed;
use crate::features::Features;
use crate::instance::{Instance, lists};
use crate::memory::Heaps;
use crate::pipelines::Pipelines;
use crate::times::Ticks;

/// Command pools that are kept for the next recording.
const KEPT_POOLS: usize = 64;

/// What a URI's parameters ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) queue: Wish,
    pub(crate) timeline: bool,
    /// The size that every kernel's sub-groups shall have.
    pub(crate) subgroup: Option<u32>,
}

/// An open device. The last one who holds it destroys it, so work in flight holds it too.
pub(crate) struct Shared {
    pub(crate) device: ash::Device,
    pub(crate) instance: Arc<Instance>,
    pub(crate) card: Card,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    /// The family of all queues, and how many there are.
    pub(crate) family: u32,
    pub(crate) queues: u32,
    /// Functions of timeline semaphores, where the version of Vulkan is too old to have them.
    pub(crate) timeline: Option<ash::khr::timeline_semaphore::Device>,
    /// The clock that its queues read; absent where they read none.
    pub(crate) ticks: Option<Ticks>,
    /// Functions that read it for the host, where there are any.
    pub(crate) calibrated: Option<ash::ext::calibrated_timestamps::Device>,
    pub(crate) heaps: Heaps,
    pub(crate) pipelines: Pipelines,
    layouts: Mutex<BTreeMap<(usize, usize), Layout>>,
    pools: Mutex<Vec<vk::CommandPool>>,
    /// While it is destroyed, to the end: the last member is the last to go.
    closing: Option<Busy>,
}

/// How kernels with so many bindings and so large a constants block are called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) set: vk::DescriptorSetLayout,
    pub(crate) pipeline: vk::PipelineLayout,
}

impl Shared {
    pub(crate) fn open(
        instance: &Arc<Instance>,
        card: Card,
        name: String,
        settings: Settings,
        cache: Option<Cache>,
    ) -> Result<Arc<Self>, Error> {
        let facts = &card.facts;
        let (family, queues) = families::choose(&facts.families, settings.queue, card.info.target.as_deref())?;
        let priorities = vec![1.0; queues as usize];
        let wanted = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
        let extensions = Features::extensions(&facts.extensions);
        let mut features = facts.features;
        let core = features.core;
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&wanted)
            .enabled_extension_names(&extensions)
            .enabled_features(&core);
        let info = features.enable(info);
        // SAFETY: everything in the description is what the device said that it has.
        let device = unsafe { instance.raw.create_device(card.raw, &info, None) }.map_err(failed(&name))?;
        let is_core = facts.version >= vk::API_VERSION_1_2;
        let timeline = (!is_core && facts.features.timeline())
            .then(|| ash::khr::timeline_semaphore::Device::new(&instance.raw, &device));
        let calibrated = lists(&facts.extensions, ash::ext::calibrated_timestamps::NAME)
            .then(|| ash::ext::calibrated_timestamps::Device::new(&instance.raw, &device));
        let ticks = Ticks::of(&facts.families[family as usize], &facts.limits);
        // From here on dropping it destroys the device.
        let mut shared = Self {
            heaps: Heaps::default(),
            pipelines: Pipelines::default(),
            instance: Arc::clone(instance),
            device,
            card,
            name,
            settings,
            family,
            queues,
            timeline,
            ticks,
            calibrated,
            layouts: Mutex::default(),
            pools: Mutex::default(),
            closing: None,
        };
        exit::guard();
        shared.heaps = Heaps::new(&shared)?;
        shared.pipelines = Pipelines::open(&shared, cache)?;
        Ok(Arc::new(shared))
    }

    /// Whether completion is told by timeline semaphores.
    pub(crate) fn has_timeline(&self) -> bool {
        self.settings.timeline && self.card.facts.features.timeline()
    }

    /// What the device's clock shows now, where the host can read it.
    pub(crate) fn device_clock(&self) -> Option<u64> {
        let wanted = [vk::CalibratedTimestampInfoEXT::default().time_domain(vk::TimeDomainEXT::DEVICE)];
        // SAFETY: the extension is on, and every device that has it has this clock.
        let (read, _) = unsafe { self.calibrated.as_ref()?.get_calibrated_timestamps(&wanted) }.ok()?;
        read.first().copied()
    }

    pub(crate) fn out_of_memory(&self, requested: u64, limit: u64) -> Error {
        Error::OutOfMemory { device: self.name.clone(), requested, limit: Some(limit) }
    }

    /// The layout of kernels with so many bindings and bytes of constants; it lives as long as the device.
    pub(crate) fn layout(&self, bindings: usize, constants: usize) -> Result<Layout, Error> {
        let mut layouts = self.layouts.lock();
        if let Some(layout) = layouts.get(&(bindings, constants)) {
            return Ok(*layout);
        }
        let binding = |number| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(number)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let list: Vec<_> = (0..bindings as u32).map(binding).collect();
        let info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&list);
        // SAFETY: a valid description.
        let set = unsafe { self.device.create_descriptor_set_layout(&info, None) };
        let set = set.map_err(failed("a layout of bindings"))?;
        let (sets, range) = ([set], [push_range(constants)]);
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if constants > 0 {
            info = info.push_constant_ranges(&range);
        }
        // SAFETY: a valid description.
        let pipeline = match unsafe { self.device.create_pipeline_layout(&info, None) } {
            Ok(pipeline) => pipeline,
            Err(result) => {
                // SAFETY: made above, and used by nothing.
                unsafe { self.device.destroy_descriptor_set_layout(set, None) };
                return Err(failed("a layout of kernels")(result));
            }
        };
        let layout = Layout { set, pipeline };
        layouts.insert((bindings, constants), layout);
        Ok(layout)
    }

    /// An empty command pool.
    pub(crate) fn take_pool(&self) -> Result<vk::CommandPool, Error> {
        if let Some(pool) = self.pools.lock().pop() {
            return Ok(pool);
        }
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        // SAFETY: a family that queues were made of.
        unsafe { self.device.create_command_pool(&info, None) }.map_err(failed("a command pool"))
    }

    /// Keeps an empty command pool for the next one who wants one.
    pub(crate) fn give_pool(&self, pool: vk::CommandPool) {
        let mut pools = self.pools.lock();
        if pools.len() < KEPT_POOLS {
            return pools.push(pool);
        }
        drop(pools);
        // SAFETY: the caller's own, and nothing of it is in use.
        unsafe { self.device.destroy_command_pool(pool, None) };
    }
}

fn push_range(constants: usize) -> vk::PushConstantRange {
    vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(constants as u32)
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.closing = Some(Busy::new());
        for layout in std::mem::take(self.layouts.get_mut()).into_values() {
            // SAFETY: made from this device, used by nothing any more.
            unsafe { self.device.destroy_pipeline_layout(layout.pipeline, None) };
            // SAFETY: as above.
            unsafe { self.device.destroy_descriptor_set_layout(layout.set, None) };
        }
        for pool in std::mem::take(self.pools.get_mut()) {
            // SAFETY: as above.
            unsafe { self.device.destroy_command_pool(pool, None) };
        }
        self.pipelines.destroy(&self.device);
        self.heaps.destroy();
        // SAFETY: whatever was made from it held it, so nothing is left.
        unsafe { self.device.destroy_device(None) };
    }
}
