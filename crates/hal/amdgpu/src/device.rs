//! An open AMD GPU as a HAL device.

use std::sync::Arc;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend, OpenRequest};
use roci_hal::error::DeviceLoss;
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, Error, ExecutableSource, QueueInfo};
use roci_hsa::runtime::Agent;

use crate::buffer::BufferAllocator;
use crate::commands::{BUILTIN_KERNELS, Commands};
use crate::copy_policy::CopyPolicy;
use crate::device_state::DeviceState;
use crate::error::{failed, unavailable};
use crate::executable::Executable;
use crate::faults::LastFault;
use crate::queue::Queue;
use crate::settings::Settings;

const QUEUES_PER_GPU: usize = 2;

/// Returns a code object with the kernels `fill` and `copy` for a target (`gfx1010:xnack-`).
pub type CodeLibrary = Arc<dyn Fn(&str) -> Result<Vec<u8>, Error> + Send + Sync>;

/// Parameters of a device that come from its driver.
pub(crate) struct DriverContext<'a> {
    pub(crate) library: &'a CodeLibrary,
    pub(crate) settings: &'a Settings,
    pub(crate) last_fault: Option<LastFault>,
}

/// A logical device of one or more GPUs.
pub(crate) struct AmdgpuDevice {
    info: DeviceInfo,
    state: Arc<DeviceState>,
    queues: Vec<Queue>,
}

impl AmdgpuDevice {
    pub(crate) fn open(request: &OpenRequest<'_>, gpus: Vec<Agent>, context: DriverContext<'_>) -> Result<Self, Error> {
        let DriverContext { library, settings, last_fault } = context;
        let name = request.uri.to_string();
        let isa = gpus[0].isas().map_err(failed)?.into_iter().next();
        let isa = isa.ok_or_else(|| unavailable(&name, "it reports no instruction set"))?.name().map_err(failed)?;
        let target = isa.rsplit_once("--").map_or(isa.as_str(), |(_, target)| target);
        let copy_policy = CopyPolicy::choose(Some(request.uri), settings, &gpus[0].name().map_err(failed)?)?;
        let builtin_kernels = Executable::load(&library(target)?, &BUILTIN_KERNELS, &gpus).map_err(failed)?;
        let allocator = BufferAllocator::find(&gpus)?;
        let state = Arc::new(DeviceState { allocator, builtin_kernels, copy_policy, last_fault, name, gpus });
        let physical: Vec<_> = request.physical.iter().map(|(_, info)| info.clone()).collect();
        let info = DeviceInfo {
            uri: request.uri.clone(),
            queues: (0..physical.len() * QUEUES_PER_GPU)
                .map(|index| QueueInfo { physical: index / QUEUES_PER_GPU })
                .collect(),
            physical,
            memory_types: state.allocator.types(),
            max_allocation: state.allocator.max_allocation(),
            binding_alignment: 16,
            max_binding: u64::MAX,
            max_bindings: 64,
            max_constants: 256,
            formats: vec![CodeFormat::AmdGcn],
        };
        // If one fails, the open ones close when they are dropped.
        let queues = info.queues.iter().map(|queue| Queue::open(&state, queue.physical)).collect::<Result<_, _>>()?;
        Ok(Self { info, state, queues })
    }
}

impl DeviceBackend for AmdgpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        let memory = self.state.allocator.allocate(desc).ok_or_else(|| self.state.out_of_memory(desc.size))?;
        Ok(Arc::new(memory))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Executable::from_source(source, &self.state.gpus)?))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Commands::new(recording, &self.state)?))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        if let Some((commands, slots, completion)) = batch.into_parts::<Commands>() {
            self.queues[queue].submit(commands, slots, completion);
        }
    }

    fn supports_profiling(&self) -> bool {
        true
    }

    fn abandon(&self, _loss: &DeviceLoss) {
        self.queues.iter().for_each(Queue::close);
    }
}
