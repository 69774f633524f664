//! An open OpenCL device as a HAL device.

use std::sync::Arc;

use roci_base::cache::Cache;
use roci_base::exit::{self, ExitGuard};
use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend};
use roci_hal::error::DeviceLoss;
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, DeviceKind, DeviceUri, Error, ExecutableSource, QueueInfo};

use crate::buffer::BufferAllocator;
use crate::cl::{Context, DeviceId};
use crate::commands::Commands;
use crate::discover::PhysicalDevice;
use crate::executable::{Executable, Toolchain};
use crate::options::Options;
use crate::queue::Queue;

const QUEUES_PER_DEVICE: usize = 2;
/// Maximum bindings and constants of one dispatch, if the device accepts that many argument bytes.
const MAX_BINDINGS: usize = 64;
const MAX_CONSTANTS: usize = 256;
/// Minimum alignment of bindings in bytes, even if the device reports less: that of a `float4`.
const MIN_ALIGNMENT: u64 = 16;

/// A logical device.
pub(crate) struct OpenClDevice {
    info: DeviceInfo,
    allocator: BufferAllocator,
    toolchain: Toolchain,
    pub(crate) queues: Vec<Queue>,
    profiles: bool,
    /// Held until destruction is complete: the last field drops last.
    exit_guard: Option<ExitGuard>,
}

impl OpenClDevice {
    pub(crate) fn open(
        uri: DeviceUri,
        chosen: &[PhysicalDevice],
        options: &Options,
        cache: Option<Cache>,
    ) -> Result<Self, Error> {
        let name = uri.to_string();
        let ids: Vec<DeviceId> = chosen.iter().map(|found| found.id).collect();
        let what = format!("device `{name}`");
        let context = Arc::new(Context::new(&ids).map_err(|error| error.unavailable(&what))?);
        exit::wait_for_threads_at_exit();
        let allocator =
            BufferAllocator::new(&name, &context, chosen, options).map_err(|error| error.unavailable(&what))?;
        let most = chosen.iter().map(|found| found.properties.max_arguments).min().unwrap_or(0) as usize;
        let alignment = chosen.iter().map(|found| found.properties.alignment).max().unwrap_or(0);
        let info = DeviceInfo {
            uri,
            physical: chosen.iter().map(|found| options.apply(&found.info)).collect(),
            queues: (0..chosen.len() * QUEUES_PER_DEVICE)
                .map(|index| QueueInfo { physical: index / QUEUES_PER_DEVICE })
                .collect(),
            memory_types: allocator.types(),
            max_allocation: allocator.max_allocation(),
            binding_alignment: alignment.max(MIN_ALIGNMENT).next_power_of_two(),
            max_binding: u64::MAX,
            max_bindings: (most.saturating_sub(MAX_CONSTANTS) / size_of::<usize>()).clamp(8, MAX_BINDINGS),
            max_constants: MAX_CONSTANTS,
            formats: vec![CodeFormat::OpenClC],
        };
        let toolchain = Toolchain::new(&context, chosen, cache);
        let queue = |queue: &QueueInfo| {
            let found = &chosen[queue.physical];
            let out_of_order = options.out_of_order && found.properties.out_of_order;
            Queue::open(&context, found.id, out_of_order, found.info.kind == DeviceKind::Software)
        };
        let queues = info.queues.iter().map(queue).collect::<Result<_, _>>()?;
        let profiles = chosen.iter().all(|found| found.properties.profiles);
        Ok(Self { info, allocator, toolchain, queues, profiles, exit_guard: None })
    }
}

impl DeviceBackend for OpenClDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(self.allocator.allocate(desc)?))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Executable::load(source, &self.toolchain)?))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Commands::new(recording)?))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        if let Some((commands, slots, completion)) = batch.into_parts::<Commands>() {
            self.queues[queue].submit(commands, slots, completion);
        }
    }

    fn supports_profiling(&self) -> bool {
        self.profiles
    }

    fn abandon(&self, _loss: &DeviceLoss) {
        self.queues.iter().for_each(Queue::close);
    }
}

impl Drop for OpenClDevice {
    fn drop(&mut self) {
        self.exit_guard = Some(ExitGuard::new());
        self.queues.iter().for_each(Queue::close);
    }
}
