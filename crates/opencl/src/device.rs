//! The HAL's side of the driver.

use std::sync::Arc;

use roci_hal::cache::Cache;
use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend};
use roci_hal::error::Loss;
use roci_hal::exit::{self, Busy};
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, DeviceKind, DeviceUri, Error, ExecutableSource, QueueInfo};

use crate::cl::{Context, DeviceId};
use crate::discover::Found;
use crate::executable::{Kernels, Toolchain};
use crate::memory::Memories;
use crate::options::Options;
use crate::program::Program;
use crate::queue::Line;

/// Queues of each device.
const QUEUES: usize = 2;
/// Bindings and constants of one dispatch at most, where the device takes as many bytes of arguments.
const BINDINGS: usize = 64;
const CONSTANTS: usize = 256;
/// What vectors of four floats need, whatever the device asks for.
const LEAST_ALIGNMENT: u64 = 16;

/// A logical device.
pub(crate) struct OpenClDevice {
    info: DeviceInfo,
    memories: Memories,
    toolchain: Toolchain,
    pub(crate) lines: Vec<Line>,
    profiles: bool,
    /// While it is closed, to the end: the last member is the last to go.
    closing: Option<Busy>,
}

impl OpenClDevice {
    pub(crate) fn open(
        uri: DeviceUri,
        chosen: &[Found],
        options: &Options,
        cache: Option<Cache>,
    ) -> Result<Self, Error> {
        let name = uri.to_string();
        let ids: Vec<DeviceId> = chosen.iter().map(|found| found.id).collect();
        let what = format!("device `{name}`");
        let context = Arc::new(Context::new(&ids).map_err(|error| error.unavailable(&what))?);
        exit::guard();
        let memories = Memories::new(&name, &context, chosen, options).map_err(|error| error.unavailable(&what))?;
        let most = chosen.iter().map(|found| found.facts.max_arguments).min().unwrap_or(0) as usize;
        let alignment = chosen.iter().map(|found| found.facts.alignment).max().unwrap_or(0);
        let info = DeviceInfo {
            uri,
            physical: chosen.iter().map(|found| options.apply(&found.info)).collect(),
            queues: (0..chosen.len() * QUEUES).map(|index| QueueInfo { physical: index / QUEUES }).collect(),
            memory_types: memories.types(),
            max_allocation: memories.max_allocation(),
            binding_alignment: alignment.max(LEAST_ALIGNMENT).next_power_of_two(),
            max_binding: u64::MAX,
            max_bindings: (most.saturating_sub(CONSTANTS) / size_of::<usize>()).clamp(8, BINDINGS),
            max_constants: CONSTANTS,
            formats: vec![CodeFormat::OpenClC],
        };
        let toolchain = Toolchain::new(&context, chosen, cache);
        let line = |queue: &QueueInfo| {
            let found = &chosen[queue.physical];
            let out_of_order = options.out_of_order && found.facts.out_of_order;
            Line::open(&context, found.id, out_of_order, found.info.kind == DeviceKind::Software)
        };
        let lines = info.queues.iter().map(line).collect::<Result<_, _>>()?;
        let profiles = chosen.iter().all(|found| found.facts.profiles);
        Ok(Self { info, memories, toolchain, lines, profiles, closing: None })
    }
}

impl DeviceBackend for OpenClDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        Ok(Arc::new(self.memories.allocate(desc)?))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Kernels::load(source, &self.toolchain)?))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Program::new(recording)?))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        if let Some((program, slots, completion)) = batch.open::<Program>() {
            self.lines[queue].submit(program, slots, completion);
        }
    }

    fn profiles(&self) -> bool {
        self.profiles
    }

    fn abandon(&self, _loss: &Loss) {
        self.lines.iter().for_each(Line::close);
    }
}

impl Drop for OpenClDevice {
    fn drop(&mut self) {
        self.closing = Some(Busy::new());
        self.lines.iter().for_each(Line::close);
    }
}
