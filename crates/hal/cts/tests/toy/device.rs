//! The toy device: two physical devices, with one queue and one thread each.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use roci_hal::command::Recording;
use roci_hal::driver::{Batch, BatchFault, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend};
use roci_hal::error::DeviceLoss;
use roci_hal::native::NativeEntry;
use roci_hal::profile::CommandTiming;
use roci_hal::{
    BufferDesc, Capabilities, Code, CodeFormat, DeviceInfo, DeviceKind, Error, ExecutableSource, MemoryType,
    PhysicalInfo, QueueInfo,
};

use super::Flaw;
use super::buffer::ToyBuffer;
use super::execute::{BatchContext, execute};

/// Number of physical devices and of queues; each device has one queue.
const DEVICES: usize = 2;
/// Delay of the reordering toy, long enough for a successor to overtake even on a busy machine.
const DELAY: Duration = Duration::from_millis(20);

pub(super) struct ToyDevice {
    info: DeviceInfo,
    flaw: Option<Flaw>,
    queues: Vec<Mutex<Sender<Batch>>>,
}

pub(super) struct ToyExecutable(pub(super) Vec<NativeEntry>);

struct ToyCommands {
    recording: Arc<Recording>,
    /// The physical device that ran it first.
    first_device: OnceLock<usize>,
}

impl ExecutableBackend for ToyExecutable {}

impl CommandsBackend for ToyCommands {}

impl ToyDevice {
    pub(super) fn new(flaw: Option<Flaw>) -> Result<Self, Error> {
        let batches = Arc::new(AtomicUsize::new(0));
        let mut queues = Vec::new();
        for physical in 0..DEVICES {
            let (sender, receiver) = channel();
            let batches = Arc::clone(&batches);
            let work = move || serve(&receiver, physical, flaw, &batches);
            std::thread::Builder::new()
                .name("toy".into())
                .spawn(work)
                .map_err(|error| Error::invalid("toy", error.to_string()))?;
            queues.push(Mutex::new(sender));
        }
        Ok(Self { info: info(flaw)?, flaw, queues })
    }
}

fn info(flaw: Option<Flaw>) -> Result<DeviceInfo, Error> {
    let physical = PhysicalInfo {
        memory: 1 << 30,
        compute_units: 1,
        capabilities: Capabilities { max_grid: [65_535; 3], ..Capabilities::default() },
        ..PhysicalInfo::new("Toy", DeviceKind::Cpu)
    };
    let on = |index: usize| QueueInfo { physical: if flaw == Some(Flaw::IdleDevice) { 0 } else { index } };
    Ok(DeviceInfo {
        uri: "toy".parse()?,
        physical: vec![physical; DEVICES],
        queues: (0..DEVICES).map(on).collect(),
        memory_types: vec![MemoryType::Device, MemoryType::Host, MemoryType::Shared],
        max_allocation: 256 << 20,
        binding_alignment: 32,
        max_binding: u64::MAX,
        max_bindings: 8,
        max_constants: 64,
        formats: vec![CodeFormat::Native],
    })
}

impl DeviceBackend for ToyDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        let none = || Error::OutOfMemory { device: "toy".into(), requested: desc.size, limit: None };
        Ok(Arc::new(ToyBuffer::new(desc, self.flaw).ok_or_else(none)?))
    }

    fn load(&self, source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        match &source.code {
            Code::Native(entries) => Ok(Arc::new(ToyExecutable(entries.clone()))),
            other => Err(Error::invalid("load", format!("{:?} code", other.format()))),
        }
    }

    fn prepare(&self, recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(ToyCommands { recording: Arc::clone(recording), first_device: OnceLock::new() }))
    }

    fn submit(&self, queue: usize, batch: Batch) {
        let sender = self.queues[queue].lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(SendError(batch)) = sender.send(batch) {
            batch.completion.finish(Err(BatchFault::Device("the queue's thread has ended".into())));
        }
    }

    fn supports_profiling(&self) -> bool {
        true
    }

    fn abandon(&self, _loss: &DeviceLoss) {}
}

/// Executes the batches of a queue until its device is dropped.
fn serve(batches: &Receiver<Batch>, physical: usize, flaw: Option<Flaw>, count: &AtomicUsize) {
    while let Ok(batch) = batches.recv() {
        let Some((prepared, slots, completion)) = batch.into_parts::<ToyCommands>() else { continue };
        let ToyCommands { recording, first_device } = prepared.as_ref();
        let commands = &recording.commands;
        let number = count.fetch_add(1, Ordering::Relaxed);
        let kernels = flaw != Some(Flaw::LoadsOnFirst) || physical == 0;
        let context = BatchContext { slots: &slots, physical, kernels };
        let mut times = Vec::new();
        match flaw {
            Some(Flaw::PinsCommands) if *first_device.get_or_init(|| physical) != physical => completion.finish(Ok(())),
            Some(Flaw::Reorders) => {
                completion.finish(Ok(()));
                // Only every second batch is delayed: delaying all would preserve their order.
                if number.is_multiple_of(2) {
                    std::thread::sleep(DELAY);
                }
                let _ = execute(commands, 0..commands.len(), &context, None, &mut times);
            }
            Some(Flaw::DropsBarriers) => {
                let result = execute(commands, (0..commands.len()).rev(), &context, Some(&completion), &mut times);
                completion.finish(result);
            }
            Some(Flaw::LosesSignals) if number % 5 == 4 => {
                let _ = execute(commands, 0..commands.len(), &context, Some(&completion), &mut times);
                std::mem::forget(completion);
            }
            _ => {
                let result = execute(commands, 0..commands.len(), &context, Some(&completion), &mut times);
                if completion.wants_timing() {
                    completion.report_timing(reported_timings(times, flaw));
                }
                completion.finish(result);
            }
        }
    }
}

fn reported_timings(mut times: Vec<CommandTiming>, flaw: Option<Flaw>) -> Vec<CommandTiming> {
    match flaw {
        Some(Flaw::ForgetsTimes) => times.truncate(1),
        Some(Flaw::OtherClock) => times.iter_mut().for_each(|span| span.end += Duration::from_secs(3600)),
        _ => {}
    }
    times
}
