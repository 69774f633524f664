//! State that a session keeps on its device between runs, with the transfers and submissions that
//! use it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use roci_graph::{DType, Fact, Graph, Tensor, ValueId};
use roci_hal::{BufferDesc, BufferRange, Deadline, Device, DeviceInfo, Semaphore, Submit};

use crate::error::LoweringError;
use crate::fuse::fuse;
use crate::kernel_cache::KernelCache;
use crate::memory::check_fits;
use crate::native::{self, PackedWeights, UploadTarget, WeightPacker};
use crate::segment::{ArenaLayout, RecordedSegment, Segment};
use crate::storage::{decode, words};
use crate::timing::TimingCollector;
use crate::{Error, MemoryUsage, Precision};

/// Longer than any run. A run has no time limit of its own: the HAL's watchdog ends a device that
/// makes no progress.
const NO_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// A device with the constants and kernels that a session loaded on it.
pub(crate) struct DeviceState {
    pub(crate) device: Device,
    pub(crate) kernels: KernelCache,
    /// Constants of the graph, uploaded as they are.
    pub(crate) constants: HashMap<ValueId, BufferRange>,
    /// Constants in the layouts of CPU-only kernels.
    pub(crate) packed_weights: PackedWeights,
    /// Constants converted to f16.
    pub(crate) f16_constants: HashMap<ValueId, BufferRange>,
    /// The precision of matrix products.
    pub(crate) precision: Precision,
    /// Whether the device is the host CPU, so that evaluating a node on the host stays on the
    /// device.
    pub(crate) is_host: bool,
    /// Set during a timed run.
    pub(crate) timings: Option<TimingCollector>,
    pub(crate) memory: MemoryUsage,
    /// Set in a dry run: nothing is uploaded or submitted.
    pub(crate) dry_run: Option<DryRun>,
}

/// A dry run: the description of the device to plan for, and what was planned so far.
pub(crate) struct DryRun {
    /// The device to plan for, which need not exist.
    pub(crate) info: DeviceInfo,
    /// Stands for every buffer.
    pub(crate) placeholder: BufferRange,
    /// Dispatches after fusion.
    pub(crate) dispatches: usize,
}

impl DeviceState {
    /// Creates the state for a device on which nothing is loaded.
    pub(crate) fn new(device: Device, is_host: bool) -> Self {
        Self {
            device,
            kernels: KernelCache::default(),
            constants: HashMap::new(),
            packed_weights: PackedWeights::default(),
            f16_constants: HashMap::new(),
            precision: Precision::F32,
            is_host,
            timings: None,
            memory: MemoryUsage::default(),
            dry_run: None,
        }
    }

    /// The device that kernels are selected for.
    pub(crate) fn info(&self) -> &DeviceInfo {
        self.dry_run.as_ref().map_or_else(|| self.device.info(), |dry_run| &dry_run.info)
    }

    /// Fuses the dispatches of a segment (`fuse`), selects CPU-only kernels on the CPU (`native`),
    /// and plans the arena.
    ///
    /// Fails if the device has too little memory. Dry runs use this function too, so that they
    /// report the memory that a run allocates.
    pub(crate) fn plan(&mut self, segment: &mut Segment, graph: &Graph) -> Result<ArenaLayout, Error> {
        fuse(segment, self.is_host);
        if self.is_host {
            let target = match &self.dry_run {
                Some(dry_run) => UploadTarget::Placeholder(&dry_run.placeholder),
                None => UploadTarget::Device(&self.device),
            };
            let packer =
                WeightPacker::new(target, graph, &mut self.constants, &mut self.packed_weights, &mut self.memory);
            native::select_native_kernels(segment, packer)?;
        }
        self.check_bindings(segment, 0, true)?;
        let layout = segment.arena_layout(self.info().binding_alignment.max(4));
        let memory = MemoryUsage { arena: self.memory.arena.saturating_add(layout.bytes), ..self.memory };
        if self.dry_run.is_none() {
            check_fits(&self.device, memory.total())?;
        }
        self.memory = memory;
        Ok(layout)
    }

    /// Fails if a dispatch, from index `from` on, has a binding that is longer than the device
    /// supports. Tensors of the arena are checked only if `is_fused`, because fusion may remove
    /// them.
    pub(crate) fn check_bindings(&self, segment: &Segment, from: usize, is_fused: bool) -> Result<(), Error> {
        let limit = self.info().max_binding;
        let Some((dispatch, bytes, name)) = segment.find_long_binding(from, limit, is_fused) else { return Ok(()) };
        Err(Error::Binding {
            node: dispatch.label.clone(),
            tensor: name.map_or_else(|| "a tensor".to_owned(), |name| format!("`{name}`")),
            bytes,
            device: self.info().uri.to_string(),
            limit,
        })
    }

    pub(crate) fn upload(&mut self, tensor: &Tensor, name: &str) -> Result<BufferRange, LoweringError> {
        // Elements of these types always fit a word, so a dry run need not look at them.
        if self.dry_run.is_some() && !matches!(tensor.dtype(), DType::I64 | DType::U64 | DType::F64 | DType::String) {
            return self.allocate(tensor.len(), name);
        }
        let words = words(tensor).map_err(|error| {
            let text = error.to_string();
            if tensor.dtype().is_integer() {
                LoweringError::wide_integers(text)
            } else {
                LoweringError::unsupported(text)
            }
        })?;
        let range = self.allocate(words.len(), name)?;
        if !words.is_empty() && self.dry_run.is_none() {
            self.device
                .write(range.clone(), bytemuck::cast_slice(&words))
                .map_err(|error| LoweringError::Failed(error.into()))?;
        }
        Ok(range)
    }

    /// Allocates a buffer of this many words outside of any arena, counted as a constant.
    pub(crate) fn allocate(&mut self, words: usize, name: &str) -> Result<BufferRange, LoweringError> {
        // An empty buffer cannot be bound.
        let size = (words.max(1) as u64).saturating_mul(4);
        let range = match &self.dry_run {
            Some(dry_run) => dry_run.placeholder.clone(),
            None => {
                let desc = BufferDesc::new(size, self.info().fastest_memory()).label(name);
                self.device.allocate(desc).map_err(|error| LoweringError::Failed(error.into()))?.whole()
            }
        };
        self.memory.constants = self.memory.constants.saturating_add(size);
        Ok(range)
    }

    /// Overwrites a buffer with the words of a tensor.
    pub(crate) fn write(&self, range: &BufferRange, tensor: &Tensor) -> Result<(), Error> {
        let words = words(tensor).map_err(|error| Error::Input(error.to_string()))?;
        if !words.is_empty() {
            self.device.write(range.clone(), bytemuck::cast_slice(&words))?;
        }
        Ok(())
    }

    /// Reads a tensor back.
    pub(crate) fn download(&self, range: &BufferRange, fact: &Fact) -> Result<Tensor, LoweringError> {
        let shape = fact.shape()?;
        let count = roci_graph::shape::count(shape)?;
        if count == 0 {
            return Ok(Tensor::zeros(fact.dtype, shape)?);
        }
        let exact = range.range(0, count as u64 * 4).map_err(|error| LoweringError::Failed(error.into()))?;
        let bytes = self.device.read(exact).map_err(|error| LoweringError::Failed(error.into()))?;
        let mut words = vec![0u32; count];
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes);
        Ok(decode(fact.dtype, shape, &words)?)
    }

    /// Submits a recorded segment to a queue of the device ([`roci_hal::Queue::submit`]), after a
    /// semaphore if one is given.
    pub(crate) fn submit(
        &self,
        segment: &RecordedSegment,
        label: &str,
        queue: usize,
        after: Option<&Semaphore>,
    ) -> Result<InFlight, Error> {
        let done = self.device.semaphore(0);
        let mut submit = Submit::new().signal(&done, 1).label(label);
        if let Some(after) = after {
            submit = submit.wait(after, 1);
        }
        if let Some(timings) = &self.timings {
            submit = submit.profile(&timings.profile);
        }
        self.device.queue(queue)?.submit(&segment.commands, submit)?;
        Ok(InFlight { done, labels: segment.labels.clone() })
    }

    /// Waits for a submitted segment.
    pub(crate) fn wait(&mut self, in_flight: InFlight) -> Result<(), Error> {
        in_flight.done.wait(1, Deadline::after(NO_LIMIT))?;
        if let Some(timings) = &mut self.timings {
            timings.collect(&in_flight.labels);
        }
        Ok(())
    }
}

/// A submitted segment.
pub(crate) struct InFlight {
    done: Semaphore,
    labels: Arc<[String]>,
}
