//! The CPU as a HAL device.

use std::fs::File;
use std::sync::Arc;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend, OpenRequest};
use roci_hal::error::DeviceLoss;
use roci_hal::host_memory::HostMemory;
use roci_hal::native::NativeKernel;
use roci_hal::{BufferDesc, Code, CodeFormat, DeviceInfo, Error, ExecutableSource, MemoryType, QueueInfo};

use crate::commands::Commands;
use crate::run::Run;
use crate::workers::Workers;

/// Queues per physical device. All queues share the workers, so a queue is only a name.
const QUEUES: usize = 2;

pub(crate) struct CpuDevice {
    info: DeviceInfo,
    workers: Arc<Workers>,
}

/// Kernels in the order of the executable's entry points.
pub(crate) struct Executable(pub(crate) Vec<Arc<dyn NativeKernel>>);

impl ExecutableBackend for Executable {}

impl CommandsBackend for Commands {}

impl CpuDevice {
    pub(crate) fn open(request: &OpenRequest<'_>, threads: usize) -> Result<Self, Error> {
        let physical: Vec<_> = request.physical.iter().map(|(_, info)| info.clone()).collect();
        let info = DeviceInfo {
            uri: request.uri.clone(),
            max_allocation: physical.iter().map(|info| info.memory).min().unwrap_or(0),
            queues: (0..physical.len() * QUEUES).map(|index| QueueInfo { physical: index / QUEUES }).collect(),
            physical,
            memory_types: vec![MemoryType::Device, MemoryType::Host, MemoryType::Shared],
            binding_alignment: 16,
            max_binding: u64::MAX,
            max_bindings: 64,
            max_constants: 256,
            formats: vec![CodeFormat::Native],
        };
        let workers = Workers::start(threads).map_err(|error| Error::Unavailable {
            what: format!("device `{}`", info.uri),
            reason: format!("a worker thread could not be started: {error}"),
            hint: "use fewer with `cpu?threads=N`".into(),
        })?;
        Ok(Self { info, workers })
    }
}

impl DeviceBackend for CpuDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        let out_of_memory = || Error::OutOfMemory {
            device: self.info.uri.to_string(),
            requested: desc.size,
            limit: Some(self.info.max_allocation),
        };
        Ok(Arc::new(HostMemory::new(desc.size).ok_or_else(out_of_memory)?))
    }

    fn map_file(&self, file: &File) -> Option<(Arc<dyn BufferBackend>, u64)> {
        let memory = HostMemory::map_file(file).ok()?;
        let size = memory.size();
        Some((Arc::new(memory), size))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        let invalid = |reason: String| Error::invalid(format!("executable \"{}\"", source.label), reason);
        let Code::Native(natives) = &source.code else {
            return Err(invalid("the CPU driver runs native code only".into()));
        };
        let find = |name: &str| {
            let native = natives.iter().find(|native| native.name == name);
            native
                .map(|native| Arc::clone(&native.kernel))
                .ok_or_else(|| invalid(format!("there is no code for \"{name}\"")))
        };
        let kernels = source.entry_points.iter().map(|entry| find(&entry.name)).collect::<Result<_, _>>()?;
        Ok(Arc::new(Executable(kernels)))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Commands::new(recording, self.workers.count())?))
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        if let Some((commands, slots, completion)) = batch.into_parts::<Commands>() {
            self.workers.submit(Run::new(commands, slots), completion);
        }
    }

    fn supports_profiling(&self) -> bool {
        true
    }

    fn abandon(&self, _loss: &DeviceLoss) {
        self.workers.stop();
    }
}

impl Drop for CpuDevice {
    fn drop(&mut self) {
        self.workers.stop();
    }
}
