//! State shared by everything that belongs to an open device: the Vulkan device, and cached
//! objects.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::collections::BTreeMap;
use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use roci_base::cache::Cache;
use roci_base::exit::{self, ExitGuard};
use roci_hal::Error;

use crate::buffer::BufferAllocator;
use crate::discover::PhysicalDevice;
use crate::error::failed;
use crate::features::Features;
use crate::instance::{Instance, lists};
use crate::pipeline_cache::PipelineCache;
use crate::queue_family::{self, QueueChoice};
use crate::timestamp_clock::TimestampClock;

/// Maximum number of idle command pools kept for reuse.
const MAX_IDLE_POOLS: usize = 64;

/// Parsed URI parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) queue: QueueChoice,
    pub(crate) timeline: bool,
    /// Required subgroup size of all kernels, if set.
    pub(crate) subgroup: Option<u32>,
}

/// State of an open device. Work in flight holds it, so the device is destroyed last.
pub(crate) struct DeviceState {
    pub(crate) device: ash::Device,
    pub(crate) instance: Arc<Instance>,
    pub(crate) card: PhysicalDevice,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    /// Queue family of all queues, and their number.
    pub(crate) family: u32,
    pub(crate) queues: u32,
    /// Entry points of the timeline semaphore extension, if the Vulkan version lacks it in core.
    pub(crate) timeline: Option<ash::khr::timeline_semaphore::Device>,
    /// The timestamp clock of the queues; `None` without timestamps.
    pub(crate) timestamp_clock: Option<TimestampClock>,
    /// Entry points of calibrated timestamps, if supported.
    pub(crate) calibrated: Option<ash::ext::calibrated_timestamps::Device>,
    pub(crate) allocator: BufferAllocator,
    pub(crate) pipelines: PipelineCache,
    layouts: Mutex<BTreeMap<(usize, usize), Layout>>,
    pools: Mutex<Vec<vk::CommandPool>>,
    /// Held until destruction is complete: the last field drops last.
    exit_guard: Option<ExitGuard>,
}

/// Pipeline layout of kernels with a given number of bindings and size of the constants block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) set: vk::DescriptorSetLayout,
    pub(crate) pipeline: vk::PipelineLayout,
}

impl DeviceState {
    pub(crate) fn open(
        instance: &Arc<Instance>,
        card: PhysicalDevice,
        name: String,
        settings: Settings,
        cache: Option<Cache>,
    ) -> Result<Arc<Self>, Error> {
        let properties = &card.properties;
        let (family, queues) = queue_family::choose(&properties.families, settings.queue, card.info.target.as_deref())?;
        let priorities = vec![1.0; queues as usize];
        let expected = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&priorities)];
        let extensions = Features::extensions(&properties.extensions);
        let mut features = properties.features;
        let core = features.core;
        let info = vk::DeviceCreateInfo::default()
            .queue_create_infos(&expected)
            .enabled_extension_names(&extensions)
            .enabled_features(&core);
        let info = features.enable(info);
        // SAFETY: everything requested is reported as supported by the device.
        let device = unsafe { instance.raw.create_device(card.raw, &info, None) }.map_err(failed(&name))?;
        let is_core = properties.version >= vk::API_VERSION_1_2;
        let timeline = (!is_core && properties.features.timeline())
            .then(|| ash::khr::timeline_semaphore::Device::new(&instance.raw, &device));
        let calibrated = lists(&properties.extensions, ash::ext::calibrated_timestamps::NAME)
            .then(|| ash::ext::calibrated_timestamps::Device::new(&instance.raw, &device));
        let timestamp_clock = TimestampClock::of(&properties.families[family as usize], &properties.limits);
        // From here on, dropping it destroys the device.
        let mut shared = Self {
            allocator: BufferAllocator::default(),
            pipelines: PipelineCache::default(),
            instance: Arc::clone(instance),
            device,
            card,
            name,
            settings,
            family,
            queues,
            timeline,
            timestamp_clock,
            calibrated,
            layouts: Mutex::default(),
            pools: Mutex::default(),
            exit_guard: None,
        };
        exit::wait_for_threads_at_exit();
        shared.allocator = BufferAllocator::new(&shared)?;
        shared.pipelines = PipelineCache::open(&shared, cache)?;
        Ok(Arc::new(shared))
    }

    /// Whether completion is signaled by timeline semaphores.
    pub(crate) fn has_timeline(&self) -> bool {
        self.settings.timeline && self.card.properties.features.timeline()
    }

    /// The device's current timestamp, if the host can read it.
    pub(crate) fn device_clock(&self) -> Option<u64> {
        let expected = [vk::CalibratedTimestampInfoEXT::default().time_domain(vk::TimeDomainEXT::DEVICE)];
        // SAFETY: the extension is enabled, and every device that has it supports the device time
        // domain.
        let (read, _) = unsafe { self.calibrated.as_ref()?.get_calibrated_timestamps(&expected) }.ok()?;
        read.first().copied()
    }

    pub(crate) fn out_of_memory(&self, requested: u64, limit: u64) -> Error {
        Error::OutOfMemory { device: self.name.clone(), requested, limit: Some(limit) }
    }

    /// The layout of kernels with this many bindings and bytes of constants. It lives as long as
    /// the device.
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
        // SAFETY: valid create info.
        let set = unsafe { self.device.create_descriptor_set_layout(&info, None) };
        let set = set.map_err(failed("a descriptor set layout"))?;
        let (sets, range) = ([set], [push_range(constants)]);
        let mut info = vk::PipelineLayoutCreateInfo::default().set_layouts(&sets);
        if constants > 0 {
            info = info.push_constant_ranges(&range);
        }
        // SAFETY: valid create info.
        let pipeline = match unsafe { self.device.create_pipeline_layout(&info, None) } {
            Ok(pipeline) => pipeline,
            Err(result) => {
                // SAFETY: created above and not used yet.
                unsafe { self.device.destroy_descriptor_set_layout(set, None) };
                return Err(failed("a pipeline layout")(result));
            }
        };
        let layout = Layout { set, pipeline };
        layouts.insert((bindings, constants), layout);
        Ok(layout)
    }

    /// An empty command pool.
    pub(crate) fn acquire_command_pool(&self) -> Result<vk::CommandPool, Error> {
        if let Some(pool) = self.pools.lock().pop() {
            return Ok(pool);
        }
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(self.family);
        // SAFETY: the queues were created from this family.
        unsafe { self.device.create_command_pool(&info, None) }.map_err(failed("a command pool"))
    }

    /// Keeps an empty command pool for reuse.
    pub(crate) fn release_command_pool(&self, pool: vk::CommandPool) {
        let mut pools = self.pools.lock();
        if pools.len() < MAX_IDLE_POOLS {
            return pools.push(pool);
        }
        drop(pools);
        // SAFETY: owned by the caller, and none of its command buffers is in use.
        unsafe { self.device.destroy_command_pool(pool, None) };
    }
}

fn push_range(constants: usize) -> vk::PushConstantRange {
    vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(constants as u32)
}

impl Drop for DeviceState {
    fn drop(&mut self) {
        self.exit_guard = Some(ExitGuard::new());
        for layout in std::mem::take(self.layouts.get_mut()).into_values() {
            // SAFETY: created from this device, and no longer in use.
            unsafe { self.device.destroy_pipeline_layout(layout.pipeline, None) };
            // SAFETY: as above.
            unsafe { self.device.destroy_descriptor_set_layout(layout.set, None) };
        }
        for pool in std::mem::take(self.pools.get_mut()) {
            // SAFETY: as above.
            unsafe { self.device.destroy_command_pool(pool, None) };
        }
        self.pipelines.destroy(&self.device);
        self.allocator.destroy();
        // SAFETY: every object created from the device holds it, so none is left.
        unsafe { self.device.destroy_device(None) };
    }
}
