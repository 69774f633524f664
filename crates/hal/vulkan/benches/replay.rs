//! Cost of a recorded dispatch: 1,000 empty kernels recorded once and replayed, compared with a
//! bare Vulkan loop that replays the same dispatches.
//!
//! `cargo bench -p roci-vulkan --bench replay`; `ROCI_VULKAN_DEVICE=vulkan://1` selects another
//! device.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(unsafe_code, reason = "the bare loop calls Vulkan")]

use std::time::{Duration, Instant};

use ash::vk;
use roci_hal::{Code, Deadline, Device, Registry, Submit};
use roci_vulkan::{Options, VulkanDriver};

const DISPATCHES: usize = 1000;
const REPLAYS: usize = 300;
/// Unmeasured replays, from which the driver learns their run time.
const WARM: usize = 20;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let registry = Registry::new().with(VulkanDriver::new(Options::default()));
    let device = registry.open(&registry.parse(&roci_testkit::vulkan_device())?, None)?;
    let info = &device.info().physical[0];
    println!("{} ({})", info.name, info.runtime.as_deref().unwrap_or_default());
    println!("{DISPATCHES} empty dispatches, microseconds each, of {REPLAYS} replays");
    println!("{:<22}{:>10}{:>10}{:>10}{:>10}{:>8}", "", "best", "median", "bare best", "median", "ratio");
    let plain = PlainVulkan::new(&device)?;
    for (name, barriers) in [("barriers between", true), ("no barriers", false)] {
        // Interleaved, so that slowdowns of the machine affect both.
        let (mut ours, mut theirs) = (DriverReplay::new(&device, barriers)?, plain.record(barriers)?);
        let (mut times, mut bare_times) = (Vec::new(), Vec::new());
        for round in 0..WARM + REPLAYS {
            let (own, other) = (ours.replay()?, theirs.replay()?);
            if round >= WARM {
                times.push(own);
                bare_times.push(other);
            }
        }
        let (times, bare_times) = (sorted(times), sorted(bare_times));
        let ratio = times[REPLAYS / 2] / bare_times[REPLAYS / 2];
        println!(
            "{name:<22}{:>10.3}{:>10.3}{:>10.3}{:>10.3}{ratio:>8.2}",
            times[0],
            times[REPLAYS / 2],
            bare_times[0],
            bare_times[REPLAYS / 2]
        );
    }
    Ok(())
}

/// Microseconds per dispatch, ascending.
fn sorted(times: Vec<Duration>) -> Vec<f64> {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e6 / DISPATCHES as f64).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Replay through the driver.
struct DriverReplay {
    device: Device,
    commands: roci_hal::CommandBuffer,
    done: roci_hal::Semaphore,
    count: u64,
}

impl DriverReplay {
    fn new(device: &Device, barriers: bool) -> Result<Self> {
        let source = roci_hal_cts::kernels::source("empty", device.info())?;
        let kernel = device.load(&source)?.kernel("empty")?;
        let mut recorder = device.record();
        for _ in 0..DISPATCHES {
            recorder.dispatch(&kernel, [1, 1, 1], &[], &[])?;
            if barriers {
                recorder.barrier();
            }
        }
        Ok(Self { device: device.clone(), commands: recorder.finish()?, done: device.semaphore(0), count: 0 })
    }

    fn replay(&mut self) -> Result<Duration> {
        self.count += 1;
        let start = Instant::now();
        self.device.queue(0)?.submit(&self.commands, Submit::new().signal(&self.done, self.count))?;
        self.done.wait(self.count, Deadline::default())?;
        Ok(start.elapsed())
    }
}

/// Plain Vulkan. Nothing is released before the process ends.
struct PlainVulkan {
    device: ash::Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    pipeline: vk::Pipeline,
    _entry: ash::Entry,
}

impl PlainVulkan {
    /// Opens the same physical device, found by its id.
    fn new(ours: &Device) -> Result<Self> {
        let Code::Spirv(words) = roci_hal_cts::kernels::source("empty", ours.info())?.code else {
            return Err("the suite gives no SPIR-V".into());
        };
        // SAFETY: the loader is loaded already.
        let entry = unsafe { ash::Entry::load() }?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let info = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: valid create info.
        let instance = unsafe { entry.create_instance(&info, None) }?;
        // SAFETY: the instance is alive.
        let physical = unsafe { instance.enumerate_physical_devices() }?;
        let is_same = |raw: &vk::PhysicalDevice| {
            let mut id = vk::PhysicalDeviceIDProperties::default();
            let mut query = vk::PhysicalDeviceProperties2::default().push_next(&mut id);
            // SAFETY: a physical device of this instance.
            unsafe { instance.get_physical_device_properties2(*raw, &mut query) };
            let uuid = id.device_uuid.map(|byte| format!("{byte:02x}")).concat();
            ours.info().physical[0].uuid.as_deref() == Some(&format!("GPU-{uuid}"))
        };
        let physical = physical.into_iter().find(is_same).ok_or("the device is gone")?;
        // SAFETY: a physical device of this instance.
        let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
        // The driver's default: a compute family without graphics, if there is one.
        let computes = |flags: vk::QueueFlags| flags.contains(vk::QueueFlags::COMPUTE);
        let family = (0u32..).zip(&families).filter(|(_, family)| computes(family.queue_flags));
        let family = family.min_by_key(|(_, family)| family.queue_flags.contains(vk::QueueFlags::GRAPHICS));
        let family = family.ok_or("no queue computes")?.0;
        let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
        // SAFETY: valid create info.
        let device = unsafe { instance.create_device(physical, &info, None) }?;
        // SAFETY: the one queue that was asked for.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: valid create info.
        let pool = unsafe { device.create_command_pool(&info, None) }?;
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: valid SPIR-V.
        let module = unsafe { device.create_shader_module(&info, None) }?;
        // SAFETY: an empty layout.
        let layout = unsafe { device.create_pipeline_layout(&vk::PipelineLayoutCreateInfo::default(), None) }?;
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module)
            .name(c"empty");
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
        // SAFETY: the module has that kernel.
        let pipelines = unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &info, None) };
        let pipeline = pipelines.map_err(|(_, result)| result)?[0];
        Ok(Self { device, queue, pool, pipeline, _entry: entry })
    }

    fn record(&self, barriers: bool) -> Result<PlainCommandBuffer<'_>> {
        let device = &self.device;
        let info = vk::CommandBufferAllocateInfo::default().command_pool(self.pool).command_buffer_count(1);
        // SAFETY: valid create info.
        let buffer = unsafe { device.allocate_command_buffers(&info) }?[0];
        // SAFETY: freshly allocated, not yet recorded.
        unsafe { device.begin_command_buffer(buffer, &vk::CommandBufferBeginInfo::default()) }?;
        // SAFETY: a pipeline of this device, in a command buffer being recorded.
        unsafe { device.cmd_bind_pipeline(buffer, vk::PipelineBindPoint::COMPUTE, self.pipeline) };
        let access = vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE;
        let memory =
            [vk::MemoryBarrier::default().src_access_mask(vk::AccessFlags::SHADER_WRITE).dst_access_mask(access)];
        let (stage, none) = (vk::PipelineStageFlags::COMPUTE_SHADER, vk::DependencyFlags::empty());
        for _ in 0..DISPATCHES {
            // SAFETY: one workgroup of the bound kernel.
            unsafe { device.cmd_dispatch(buffer, 1, 1, 1) };
            if barriers {
                // SAFETY: a stage that the queue supports.
                unsafe { device.cmd_pipeline_barrier(buffer, stage, stage, none, &memory, &[], &[]) };
            }
        }
        // SAFETY: recording was begun above.
        unsafe { device.end_command_buffer(buffer) }?;
        // SAFETY: valid create info.
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }?;
        Ok(PlainCommandBuffer { plain: self, buffers: [buffer], fence })
    }
}

/// The bare loop's command buffer.
struct PlainCommandBuffer<'a> {
    plain: &'a PlainVulkan,
    buffers: [vk::CommandBuffer; 1],
    fence: vk::Fence,
}

impl PlainCommandBuffer<'_> {
    fn replay(&mut self) -> Result<Duration> {
        let (device, infos) = (&self.plain.device, [vk::SubmitInfo::default().command_buffers(&self.buffers)]);
        let start = Instant::now();
        // SAFETY: recorded and not in flight.
        unsafe { device.queue_submit(self.plain.queue, &infos, self.fence) }?;
        // SAFETY: the fence of that submission.
        unsafe { device.wait_for_fences(&[self.fence], true, u64::MAX) }?;
        let took = start.elapsed();
        // SAFETY: signaled, so no queue uses it.
        unsafe { device.reset_fences(&[self.fence]) }?;
        Ok(took)
    }
}
