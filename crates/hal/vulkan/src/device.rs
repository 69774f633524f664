//! An open Vulkan device as a HAL device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use roci_base::exit::ExitGuard;
use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend, OpenRequest};
use roci_hal::error::DeviceLoss;
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, Error, ExecutableSource, QueueInfo};

use crate::buffer::Buffer;
use crate::commands::Commands;
use crate::device_state::DeviceState;
use crate::executable::Executable;
use crate::queue::Queue;

/// Maximum bindings per dispatch that the driver advertises.
const MAX_BINDINGS: u32 = 64;
/// How long closing waits for idle threads.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);
/// The same for the threads of a lost device, whose work may never end.
const CLOSE_LOST_TIMEOUT: Duration = Duration::from_millis(200);

/// An open device.
pub(crate) struct VulkanDevice {
    info: DeviceInfo,
    shared: Arc<DeviceState>,
    queues: Vec<Queue>,
    is_lost: AtomicBool,
    /// Held until destruction is complete: the last field drops last.
    exit_guard: Option<ExitGuard>,
}

impl VulkanDevice {
    pub(crate) fn open(request: &OpenRequest<'_>, shared: Arc<DeviceState>) -> Result<Self, Error> {
        let limits = &shared.card.properties.limits;
        let bindings = limits.max_per_stage_descriptor_storage_buffers.min(limits.max_descriptor_set_storage_buffers);
        let info = DeviceInfo {
            uri: request.uri.clone(),
            physical: vec![shared.card.info.clone()],
            queues: vec![QueueInfo { physical: 0 }; shared.queues as usize],
            memory_types: shared.allocator.types(),
            max_allocation: shared.allocator.max_allocation().min(shared.card.info.memory),
            // Kernels access whole words.
            binding_alignment: limits.min_storage_buffer_offset_alignment.max(4),
            max_binding: u64::from(limits.max_storage_buffer_range),
            max_bindings: bindings.min(MAX_BINDINGS) as usize,
            max_constants: limits.max_push_constants_size as usize,
            formats: vec![CodeFormat::Spirv],
        };
        let queues = (0..shared.queues).map(|number| Queue::open(&shared, number));
        // If one fails to open, those before it are dropped with this value.
        let is_lost = AtomicBool::new(false);
        let mut device = Self { info, shared: Arc::clone(&shared), queues: Vec::new(), is_lost, exit_guard: None };
        for queue in queues {
            device.queues.push(queue?);
        }
        Ok(device)
    }
}

impl DeviceBackend for VulkanDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(Buffer::new(&self.shared, desc)?))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Executable::load(&self.shared, source)?))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Commands::new(&self.shared, recording)?))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        if let Some((commands, slots, completion)) = batch.into_parts::<Commands>() {
            self.queues[queue].submit(commands, slots, completion);
        }
    }

    fn supports_profiling(&self) -> bool {
        self.shared.timestamp_clock.is_some()
    }

    fn abandon(&self, _loss: &DeviceLoss) {
        // Vulkan cannot cancel work. Work in flight keeps its resources until it ends, if ever.
        self.is_lost.store(true, Ordering::Relaxed);
        self.queues.iter().for_each(Queue::abandon);
    }
}

impl Drop for VulkanDevice {
    fn drop(&mut self) {
        self.exit_guard = Some(ExitGuard::new());
        self.queues.iter().for_each(Queue::close);
        let is_lost = self.is_lost.load(Ordering::Relaxed);
        // The threads are joined: a thread that destroys a device during process exit would call
        // unloaded drivers.
        let timeout = if is_lost { CLOSE_LOST_TIMEOUT } else { CLOSE_TIMEOUT };
        self.queues.iter().for_each(|queue| queue.join(timeout));
        if !is_lost {
            self.shared.pipelines.save(&self.shared.device);
        }
    }
}
