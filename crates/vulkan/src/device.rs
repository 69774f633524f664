//! The HAL's side of the driver.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend, OpenRequest};
use roci_hal::error::Loss;
use roci_hal::exit::Busy;
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, Error, ExecutableSource, QueueInfo};

use crate::executable::Kernels;
use crate::memory::Memory;
use crate::program::Program;
use crate::queue::Line;
use crate::shared::Shared;

/// Bindings of one dispatch that are worth promising.
const BINDINGS: u32 = 64;
/// How long closing waits for threads that have nothing left to do.
const CLOSING: Duration = Duration::from_secs(10);
/// The same for those of a lost device, whose work may never end.
const CLOSING_LOST: Duration = Duration::from_millis(200);

/// An open device.
pub(crate) struct VulkanDevice {
    info: DeviceInfo,
    shared: Arc<Shared>,
    lines: Vec<Line>,
    is_lost: AtomicBool,
    /// While it is closed, to the end: the last member is the last to go.
    closing: Option<Busy>,
}

impl VulkanDevice {
    pub(crate) fn open(request: &OpenRequest<'_>, shared: Arc<Shared>) -> Result<Self, Error> {
        let limits = &shared.card.facts.limits;
        let bindings = limits.max_per_stage_descriptor_storage_buffers.min(limits.max_descriptor_set_storage_buffers);
        let info = DeviceInfo {
            uri: request.uri.clone(),
            physical: vec![shared.card.info.clone()],
            queues: vec![QueueInfo { physical: 0 }; shared.queues as usize],
            memory_types: shared.heaps.types(),
            max_allocation: shared.heaps.max_allocation().min(shared.card.info.memory),
            // Kernels read words.
            binding_alignment: limits.min_storage_buffer_offset_alignment.max(4),
            max_binding: u64::from(limits.max_storage_buffer_range),
            max_bindings: bindings.min(BINDINGS) as usize,
            max_constants: limits.max_push_constants_size as usize,
            formats: vec![CodeFormat::Spirv],
        };
        let lines = (0..shared.queues).map(|number| Line::open(&shared, number));
        // Those that were opened end with the value, should one fail.
        let is_lost = AtomicBool::new(false);
        let mut device = Self { info, shared: Arc::clone(&shared), lines: Vec::new(), is_lost, closing: None };
        for line in lines {
            device.lines.push(line?);
        }
        Ok(device)
    }
}

impl DeviceBackend for VulkanDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(Memory::new(&self.shared, desc)?))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Kernels::load(&self.shared, source)?))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Program::new(&self.shared, recording)?))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        if let Some((program, slots, completion)) = batch.open::<Program>() {
            self.lines[queue].submit(program, slots, completion);
        }
    }

    fn profiles(&self) -> bool {
        self.shared.ticks.is_some()
    }

    fn abandon(&self, _loss: &Loss) {
        // Vulkan cannot stop what runs. It keeps what it uses until it ends, if ever.
        self.is_lost.store(true, Ordering::Relaxed);
        self.lines.iter().for_each(Line::abandon);
    }
}

impl Drop for VulkanDevice {
    fn drop(&mut self) {
        self.closing = Some(Busy::new());
        self.lines.iter().for_each(Line::close);
        let is_lost = self.is_lost.load(Ordering::Relaxed);
        // Not left to themselves: a thread that destroys a device while the process ends meets drivers that are gone.
        let patience = if is_lost { CLOSING_LOST } else { CLOSING };
        self.lines.iter().for_each(|line| line.join(patience));
        if !is_lost {
            self.shared.pipelines.save(&self.shared.device);
        }
    }
}
