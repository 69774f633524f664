//! The HAL's side of the driver.

use std::sync::Arc;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend, OpenRequest};
use roci_hal::error::Loss;
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, Error, ExecutableSource, QueueInfo};
use roci_hsa::runtime::Agent;

use crate::copies::Copies;
use crate::discover::{failed, unavailable};
use crate::driver::CodeLibrary;
use crate::executable::Kernels;
use crate::memory::Pools;
use crate::program::{OWN_KERNELS, Program};
use crate::queue::{LastFault, Line};
use crate::settings::Settings;

/// Queues of each GPU.
const QUEUES: usize = 2;

/// What programs and queues need of a device.
pub(crate) struct Shared {
    pub(crate) gpus: Vec<Agent>,
    pub(crate) pools: Pools,
    /// The driver's own kernels.
    pub(crate) own: Kernels,
    pub(crate) copies: Copies,
    /// Tells more of faults than the runtime does.
    pub(crate) last_fault: Option<LastFault>,
    name: String,
}

impl Shared {
    pub(crate) fn out_of_memory(&self, requested: u64) -> Error {
        Error::OutOfMemory { device: self.name.clone(), requested, limit: Some(self.pools.max_allocation()) }
    }
}

/// What a driver knows besides the request.
pub(crate) struct Surroundings<'a> {
    pub(crate) library: &'a CodeLibrary,
    pub(crate) settings: &'a Settings,
    pub(crate) last_fault: Option<LastFault>,
}

/// A logical device.
pub(crate) struct AmdgpuDevice {
    info: DeviceInfo,
    shared: Arc<Shared>,
    lines: Vec<Line>,
}

impl AmdgpuDevice {
    pub(crate) fn open(
        request: &OpenRequest<'_>,
        gpus: Vec<Agent>,
        surroundings: Surroundings<'_>,
    ) -> Result<Self, Error> {
        let Surroundings { library, settings, last_fault } = surroundings;
        let name = request.uri.to_string();
        let isa = gpus[0].isas().map_err(failed)?.into_iter().next();
        let isa = isa.ok_or_else(|| unavailable(&name, "it names no instruction set"))?.name().map_err(failed)?;
        let target = isa.rsplit_once("--").map_or(isa.as_str(), |(_, target)| target);
        let copies = Copies::choose(Some(request.uri), settings, &gpus[0].name().map_err(failed)?)?;
        let own = Kernels::load(&library(target)?, &OWN_KERNELS, &gpus).map_err(failed)?;
        let pools = Pools::find(&gpus)?;
        let shared = Arc::new(Shared { pools, own, copies, last_fault, name, gpus });
        let physical: Vec<_> = request.physical.iter().map(|(_, info)| info.clone()).collect();
        let info = DeviceInfo {
            uri: request.uri.clone(),
            queues: (0..physical.len() * QUEUES).map(|index| QueueInfo { physical: index / QUEUES }).collect(),
            physical,
            memory_types: shared.pools.types(),
            max_allocation: shared.pools.max_allocation(),
            binding_alignment: 16,
            max_binding: u64::MAX,
            max_bindings: 64,
            max_constants: 256,
            formats: vec![CodeFormat::AmdGcn],
        };
        // Those that are open already close themselves where one fails.
        let lines = info.queues.iter().map(|queue| Line::open(&shared, queue.physical)).collect::<Result<_, _>>()?;
        Ok(Self { info, shared, lines })
    }
}

impl DeviceBackend for AmdgpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        let memory = self.shared.pools.allocate(desc).ok_or_else(|| self.shared.out_of_memory(desc.size))?;
        Ok(Arc::new(memory))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Kernels::of(source, &self.shared.gpus)?))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Program::new(recording, &self.shared)?))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        if let Some((program, slots, completion)) = batch.open::<Program>() {
            self.lines[queue].submit(program, slots, completion);
        }
    }

    fn profiles(&self) -> bool {
        true
    }

    fn abandon(&self, _loss: &Loss) {
        self.lines.iter().for_each(Line::close);
    }
}
