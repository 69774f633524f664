//! The null device and its queues.

#![expect(unsafe_code, reason = "fills and copies raw memory")]

use std::ptr::NonNull;
use std::sync::Arc;

use crate::command::{Command, Recording};
use crate::driver::{Batch, BoundRange, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend, OpenRequest};
use crate::error::{DeviceLoss, Error};
use crate::executable::{CodeFormat, ExecutableSource};
use crate::host_memory::HostMemory;
use crate::info::{DeviceInfo, QueueInfo};
use crate::memory::{BufferDesc, MemoryType};

/// Queues per physical device.
const QUEUES_PER_DEVICE: usize = 2;

pub(super) struct NullDevice {
    info: DeviceInfo,
}

struct NullExecutable;

struct NullCommands(Arc<Recording>);

impl ExecutableBackend for NullExecutable {}

impl CommandsBackend for NullCommands {}

impl NullDevice {
    pub(super) fn new(request: &OpenRequest<'_>, max_binding: u64, formats: Vec<CodeFormat>) -> Self {
        let physical: Vec<_> = request.physical.iter().map(|(_, info)| info.clone()).collect();
        let queues = (0..physical.len() * QUEUES_PER_DEVICE)
            .map(|index| QueueInfo { physical: index / QUEUES_PER_DEVICE })
            .collect();
        let info = DeviceInfo {
            uri: request.uri.clone(),
            max_allocation: physical.iter().map(|info| info.memory).min().unwrap_or(0),
            physical,
            queues,
            memory_types: vec![MemoryType::Device, MemoryType::Host, MemoryType::Shared],
            binding_alignment: 16,
            max_binding,
            max_bindings: 16,
            max_constants: 128,
            formats,
        };
        Self { info }
    }
}

impl DeviceBackend for NullDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        let out_of_memory =
            || Error::OutOfMemory { device: self.info.uri.to_string(), requested: desc.size, limit: None };
        Ok(Arc::new(HostMemory::new(desc.size).ok_or_else(out_of_memory)?))
    }

    fn load(&self, _source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(NullExecutable))
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(NullCommands(Arc::clone(recording))))
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        let Some((prepared, slots, completion)) = batch.into_parts::<NullCommands>() else { return };
        let NullCommands(recording) = prepared.as_ref();
        for (index, command) in recording.commands.iter().enumerate() {
            completion.progress(index);
            match command {
                Command::Fill { target, pattern } => {
                    let target = target.resolve(&slots);
                    write(&target, &pattern.to_ne_bytes().repeat(target.length as usize / 4));
                }
                Command::Copy { source, target } => copy(&source.resolve(&slots), &target.resolve(&slots)),
                Command::Update { data, target } => write(&target.resolve(&slots), data),
                Command::Dispatch(_) | Command::Barrier => {}
            }
        }
        completion.finish(Ok(()));
    }

    fn abandon(&self, _loss: &DeviceLoss) {}
}

/// Writes bytes to the start of a range that is at least as long.
fn write(target: &BoundRange, data: &[u8]) {
    let Some(to) = target.host_memory() else { return };
    let length = data.len().min(target.length as usize);
    // SAFETY: `data` and the range both have at least `length` bytes. `data` is not part of the
    // buffer, because no host mapping of it exists while a batch uses it.
    unsafe { to.copy_from_nonoverlapping(NonNull::from(data).cast(), length) }
}

/// Copies between ranges of equal length.
fn copy(source: &BoundRange, target: &BoundRange) {
    let (Some(from), Some(to)) = (source.host_memory(), target.host_memory()) else { return };
    // SAFETY: both ranges have at least that many bytes; `copy_from` allows overlap.
    unsafe { to.copy_from(from, target.length.min(source.length) as usize) }
}
