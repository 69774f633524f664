//! What a session keeps between walks, and how tensors and recordings get to its device and back.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use roci_graph::{DType, Fact, Graph, Tensor, ValueId};
use roci_hal::{BufferDesc, BufferRange, Deadline, Device, DeviceInfo, Semaphore, Submit};

use crate::error::Refusal;
use crate::fuse::fuse;
use crate::kernels::Kernels;
use crate::native::{self, Packed, Packer, Target};
use crate::plan::Dry;
use crate::segment::{Layout, Recorded, Segment, fits};
use crate::storage::{decode, words};
use crate::timing::Watch;
use crate::{Error, Memory, Precision};

/// What a session keeps between walks.
pub(crate) struct Shelf {
    pub(crate) device: Device,
    pub(crate) kernels: Kernels,
    /// Constants of the graph on the device.
    pub(crate) constants: HashMap<ValueId, BufferRange>,
    /// Those in an order that suits the host's kernels.
    pub(crate) packed: Packed,
    /// Constants as 16-bit floats.
    pub(crate) halves: HashMap<ValueId, BufferRange>,
    /// What products are computed in.
    pub(crate) precision: Precision,
    /// Whether the device is the host, so that evaluating there is no change of place.
    pub(crate) is_host: bool,
    /// The run that is being measured.
    pub(crate) watch: Option<Watch>,
    pub(crate) memory: Memory,
    /// There where walks only tell what would happen: nothing is sent to the device.
    pub(crate) dry: Option<Dry>,
}

impl Shelf {
    /// A shelf for a device.
    pub(crate) fn new(device: Device, is_host: bool) -> Self {
        Self {
            device,
            kernels: Kernels::default(),
            constants: HashMap::new(),
            packed: Packed::default(),
            halves: HashMap::new(),
            precision: Precision::F32,
            is_host,
            watch: None,
            memory: Memory::default(),
            dry: None,
        }
    }

    /// The device that kernels are chosen for.
    pub(crate) fn info(&self) -> &DeviceInfo {
        self.dry.as_ref().map_or_else(|| self.device.info(), |dry| &dry.info)
    }

    /// Joins the kernels of a segment, chooses the host's own where the device is the host, and plans what lies in between.
    /// More than the device has is refused; what is told of a run comes from here, too, so that the figures are the same.
    pub(super) fn settle(&mut self, segment: &mut Segment, graph: &Graph) -> Result<Layout, Error> {
        fuse(segment, self.is_host);
        if self.is_host {
            let target = match &self.dry {
                Some(dry) => Target::Nowhere(&dry.nowhere),
                None => Target::Device(&self.device),
            };
            let packer = Packer::new(target, graph, &mut self.constants, &mut self.packed, &mut self.memory);
            native::suit(segment, packer)?;
        }
        self.check_bindings(segment, 0, true)?;
        let layout = segment.layout(self.info().binding_alignment.max(4));
        let memory = Memory { arena: self.memory.arena.saturating_add(layout.bytes), ..self.memory };
        if self.dry.is_none() {
            fits(&self.device, memory.total())?;
        }
        self.memory = memory;
        Ok(layout)
    }

    /// Refuses what the device cannot bind in one piece, in the steps from one on. What `fuse` may yet do away with is left out unless `is_fused`.
    pub(super) fn check_bindings(&self, segment: &Segment, from: usize, is_fused: bool) -> Result<(), Error> {
        let limit = self.info().max_binding;
        let Some((step, bytes, name)) = segment.longer_binding(from, limit, is_fused) else { return Ok(()) };
        Err(Error::Binding {
            node: step.label.clone(),
            tensor: name.map_or_else(|| "a tensor".to_owned(), |name| format!("`{name}`")),
            bytes,
            device: self.info().uri.to_string(),
            limit,
        })
    }

    /// Puts a tensor into memory of its own.
    pub(super) fn upload(&mut self, tensor: &Tensor, name: &str) -> Result<BufferRange, Refusal> {
        // All elements of other types fit.
        if self.dry.is_some() && !matches!(tensor.dtype(), DType::I64 | DType::U64 | DType::F64 | DType::String) {
            return self.reserve(tensor.len(), name);
        }
        let words = words(tensor).map_err(|error| {
            let text = error.to_string();
            if tensor.dtype().is_integer() { Refusal::integers(text) } else { Refusal::unsupported(text) }
        })?;
        let range = self.reserve(words.len(), name)?;
        if !words.is_empty() && self.dry.is_none() {
            self.device
                .write(range.clone(), bytemuck::cast_slice(&words))
                .map_err(|error| Refusal::Failed(error.into()))?;
        }
        Ok(range)
    }

    /// Memory for so many words, outside of any arena.
    pub(super) fn reserve(&mut self, words: usize, name: &str) -> Result<BufferRange, Refusal> {
        // A buffer of nothing cannot be bound.
        let size = (words.max(1) as u64).saturating_mul(4);
        let range = match &self.dry {
            Some(dry) => dry.nowhere.clone(),
            None => {
                let desc = BufferDesc { size, memory: self.info().fastest_memory(), label: Some(name.into()) };
                self.device.allocate(desc).map_err(|error| Refusal::Failed(error.into()))?.whole()
            }
        };
        self.memory.constants = self.memory.constants.saturating_add(size);
        Ok(range)
    }
}

/// A recording that runs.
pub(crate) struct Pending {
    done: Semaphore,
    names: Arc<[String]>,
}

/// Begins a recording, once a semaphore says so.
pub(crate) fn submit(
    shelf: &Shelf,
    recorded: &Recorded,
    label: &str,
    queue: usize,
    after: Option<&Semaphore>,
) -> Result<Pending, Error> {
    let done = shelf.device.semaphore(0);
    let mut how = Submit::new().signal(&done, 1).label(label);
    if let Some(after) = after {
        how = how.wait(after, 1);
    }
    if let Some(watch) = &shelf.watch {
        how = how.profile(&watch.profile);
    }
    shelf.device.queue(queue)?.submit(&recorded.commands, how)?;
    Ok(Pending { done, names: recorded.names.clone() })
}

/// Longer than any recording takes. One may take as long as its commands go on: the watchdog of the HAL ends a device
/// that stands still.
const NO_LIMIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Waits for a recording's end.
pub(crate) fn wait(shelf: &mut Shelf, pending: Pending) -> Result<(), Error> {
    pending.done.wait(1, Deadline::after(NO_LIMIT))?;
    if let Some(watch) = &mut shelf.watch {
        watch.collect(&pending.names);
    }
    Ok(())
}

/// Reads a tensor back.
pub(crate) fn download(device: &Device, range: &BufferRange, fact: &Fact) -> Result<Tensor, Refusal> {
    let shape = fact.shape()?;
    let count = roci_graph::shape::count(shape)?;
    if count == 0 {
        return Ok(Tensor::zeros(fact.dtype, shape)?);
    }
    let exact = range.range(0, count as u64 * 4).map_err(|error| Refusal::Failed(error.into()))?;
    let bytes = device.read(exact).map_err(|error| Refusal::Failed(error.into()))?;
    let mut words = vec![0u32; count];
    bytemuck::cast_slice_mut(&mut words).copy_from_slice(&bytes);
    Ok(decode(fact.dtype, shape, &words)?)
}
