//! A segment: dispatches that run without the host in between. They are collected, given memory,
//! and recorded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roci_graph::{DType, ValueId};
use roci_hal::{BufferDesc, BufferRange, CommandBuffer, Device};
use roci_kernels::params::Params;

use crate::Error;
use crate::arena::{self, LiveRange};
use crate::hazards::HazardTracker;
use crate::kernel_cache::KernelCache;

/// The index of a tensor in its segment. Recording replaces it with the tensor's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TensorId(usize);

impl TensorId {
    /// The index of the tensor in its segment.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// A tensor of a segment, with type and shape.
#[derive(Clone, Debug)]
pub(crate) struct DeviceTensor {
    pub(crate) tensor_id: TensorId,
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<usize>,
}

impl DeviceTensor {
    /// The number of elements.
    pub(crate) fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The same elements in another shape.
    pub(crate) fn reshaped(&self, shape: impl Into<Vec<usize>>) -> Self {
        Self { shape: shape.into(), ..self.clone() }
    }
}

/// One dispatch of a kernel, before its tensors have memory. [`Segment::record`] makes it a command
/// of the device.
pub(crate) struct Dispatch {
    pub(crate) kernel: &'static str,
    pub(crate) label: String,
    pub(crate) grid: [u32; 3],
    pub(crate) constants: Vec<u8>,
    /// The tensor of each binding, and whether the kernel writes it.
    pub(crate) bindings: Vec<(TensorId, bool)>,
}

impl Dispatch {
    /// The tensors that the kernel only reads.
    pub(crate) fn reads(&self) -> Vec<TensorId> {
        self.bindings.iter().filter(|(_, written)| !written).map(|(tensor_id, _)| *tensor_id).collect()
    }
}

/// The memory of a tensor.
enum TensorMemory {
    /// A buffer outside of the segment: a constant, an input, or a result of an earlier segment.
    Imported(BufferRange),
    /// Part of the arena. A tensor that is `kept` outlives the segment.
    Arena { bytes: u64, kept: bool },
    /// A constant that was freed before the segment runs, because no dispatch reads it unpacked.
    Released,
}

/// Dispatches that are not recorded yet.
#[derive(Default)]
pub(crate) struct Segment {
    memory: Vec<TensorMemory>,
    /// Constants that another value aliases, and which must therefore not be released.
    pinned_constants: HashSet<TensorId>,
    pub(crate) dispatches: Vec<Dispatch>,
    /// Tensors that share the memory of another: `(tensor, owner)`, in the order of their creation.
    aliases: Vec<(TensorId, TensorId)>,
    /// The graph's constant of each tensor that is one.
    constants: HashMap<TensorId, ValueId>,
    /// The tensors of each constant.
    constant_tensors: HashMap<ValueId, Vec<TensorId>>,
    /// The words of constants with one element.
    scalars: HashMap<TensorId, u32>,
    /// The label of the next dispatches.
    label: String,
}

/// The planned arena of a segment.
pub(crate) struct ArenaLayout {
    /// Tensors with their offsets and sizes in bytes.
    pub(crate) tensors: Vec<(TensorId, u64, u64)>,
    /// The size of the arena in bytes.
    pub(crate) bytes: u64,
}

/// A segment as a command buffer.
pub(crate) struct RecordedSegment {
    pub(crate) commands: CommandBuffer,
    /// The memory of each tensor.
    ranges: HashMap<TensorId, BufferRange>,
    /// The nodes that each command computes; empty for a barrier.
    pub(crate) labels: Arc<[String]>,
}

impl RecordedSegment {
    /// The memory of a tensor; `None` if no dispatch accesses it.
    pub(crate) fn range(&self, tensor_id: TensorId) -> Option<&BufferRange> {
        self.ranges.get(&tensor_id)
    }
}

impl Segment {
    /// Whether there are no dispatches.
    pub(crate) fn is_empty(&self) -> bool {
        self.dispatches.is_empty()
    }

    /// Sets the label of the next dispatches: the node that they compute.
    pub(crate) fn set_label(&mut self, label: impl Into<String>) {
        self.label = label.into();
    }

    /// Adds a tensor in existing memory.
    pub(crate) fn import(&mut self, range: BufferRange) -> TensorId {
        self.memory.push(TensorMemory::Imported(range));
        TensorId(self.memory.len() - 1)
    }

    /// Adds a tensor for some bytes of an imported one; `None` if the tensor is not imported or too
    /// short.
    pub(crate) fn import_part(&mut self, tensor_id: TensorId, offset: u64, length: u64) -> Option<TensorId> {
        let TensorMemory::Imported(range) = &self.memory[tensor_id.0] else { return None };
        let part = range.range(offset, length).ok()?;
        Some(self.import(part))
    }

    /// Adds a constant of the graph in existing memory, with its word if it has one element.
    pub(crate) fn import_constant(&mut self, range: BufferRange, id: ValueId, word: Option<u32>) -> TensorId {
        let tensor_id = self.import(range);
        self.constants.insert(tensor_id, id);
        self.constant_tensors.entry(id).or_default().push(tensor_id);
        self.scalars.extend(word.map(|word| (tensor_id, word)));
        tensor_id
    }

    /// The word of a constant with one element.
    pub(crate) fn scalar(&self, tensor_id: TensorId) -> Option<u32> {
        self.scalars.get(&tensor_id).copied()
    }

    /// The constant that a tensor is, and its memory.
    pub(crate) fn constant(&self, tensor_id: TensorId) -> Option<(ValueId, &BufferRange)> {
        match (self.constants.get(&tensor_id), &self.memory[tensor_id.0]) {
            (Some(id), TensorMemory::Imported(range)) => Some((*id, range)),
            _ => None,
        }
    }

    /// The number of bindings that read each constant, for constants that no other value aliases.
    pub(crate) fn constant_readers(&self) -> HashMap<ValueId, usize> {
        let mut readers = HashMap::new();
        for tensor_id in self.dispatches.iter().flat_map(Dispatch::reads) {
            if let Some(id) = self.constants.get(&tensor_id) {
                *readers.entry(*id).or_insert(0) += 1;
            }
        }
        for id in self.pinned_constants.iter().filter_map(|tensor_id| self.constants.get(tensor_id)) {
            readers.remove(id);
        }
        readers
    }

    /// Drops the references to the memory of a constant.
    pub(crate) fn release(&mut self, id: ValueId) {
        for tensor_id in self.constant_tensors.get(&id).into_iter().flatten() {
            self.memory[tensor_id.0] = TensorMemory::Released;
        }
    }

    /// Whether a tensor is a released constant.
    pub(crate) fn is_released(&self, tensor_id: TensorId) -> bool {
        matches!(self.memory[tensor_id.0], TensorMemory::Released)
    }

    /// Constants that no dispatch reads.
    pub(crate) fn unread_constants(&self) -> Vec<ValueId> {
        let read: HashSet<TensorId> =
            self.dispatches.iter().flat_map(Dispatch::reads).chain(self.pinned_constants.iter().copied()).collect();
        let unread = self
            .constant_tensors
            .iter()
            .filter(|(_, tensor_ids)| !tensor_ids.iter().any(|tensor_id| read.contains(tensor_id)));
        unread.map(|(id, _)| *id).collect()
    }

    /// Adds a tensor of this many words in the arena.
    pub(crate) fn allocate(&mut self, words: usize) -> TensorId {
        // An empty buffer cannot be bound.
        self.memory.push(TensorMemory::Arena { bytes: (words.max(1) as u64).saturating_mul(4), kept: false });
        TensorId(self.memory.len() - 1)
    }

    /// Makes a tensor outlive the segment: its memory is not reused.
    pub(crate) fn keep(&mut self, tensor_id: TensorId) {
        if let TensorMemory::Arena { kept, .. } = &mut self.memory[tensor_id.0] {
            *kept = true;
        }
    }

    /// Makes the tensor of a value outlive the segment. If the tensor is a constant and the value
    /// is another one, the constant is not released.
    pub(crate) fn keep_for(&mut self, tensor_id: TensorId, value: ValueId) {
        self.keep(tensor_id);
        if self.constants.get(&tensor_id).is_some_and(|id| *id != value) {
            self.pinned_constants.insert(tensor_id);
        }
    }

    /// Whether a tensor is in the arena and does not outlive the segment.
    pub(crate) fn is_temporary(&self, tensor_id: TensorId) -> bool {
        matches!(self.memory[tensor_id.0], TensorMemory::Arena { kept: false, .. })
    }

    /// Places a tensor in the memory of `owner`, which the dispatches already bind instead.
    pub(crate) fn alias(&mut self, tensor_id: TensorId, owner: TensorId) {
        if !self.is_temporary(tensor_id) {
            self.keep(owner);
        }
        self.aliases.push((tensor_id, owner));
    }

    /// Whether a tensor is in memory outside of the arena.
    pub(crate) fn is_imported(&self, tensor_id: TensorId) -> bool {
        matches!(self.memory[tensor_id.0], TensorMemory::Imported(_))
    }

    /// Appends a dispatch with the grid that the constants imply. The output is the last binding.
    pub(crate) fn dispatch<P: Params>(
        &mut self,
        kernel: &'static str,
        params: &P,
        inputs: &[TensorId],
        output: TensorId,
    ) {
        self.dispatch_with(kernel, params.grid(), bytemuck::bytes_of(params), inputs, &[output]);
    }

    /// Appends a dispatch with a grid. The outputs are bound after the inputs.
    pub(crate) fn dispatch_with(
        &mut self,
        kernel: &'static str,
        grid: [u32; 3],
        constants: &[u8],
        inputs: &[TensorId],
        outputs: &[TensorId],
    ) {
        if grid.contains(&0) {
            return;
        }
        let written = outputs.iter().map(|&tensor_id| (tensor_id, true));
        let bindings = inputs.iter().map(|&tensor_id| (tensor_id, false)).chain(written).collect();
        let label = self.label.clone();
        self.dispatches.push(Dispatch { kernel, label, grid, constants: constants.to_vec(), bindings });
    }

    /// Tensors of the arena that outlive the segment.
    pub(crate) fn outliving_tensors(&self) -> Vec<TensorId> {
        let kept = |memory: &TensorMemory| matches!(memory, TensorMemory::Arena { kept: true, .. });
        (0..self.memory.len()).filter(|&index| kept(&self.memory[index])).map(TensorId).collect()
    }

    /// Finds the first binding longer than `limit` bytes in the dispatches from index `from` on.
    /// Returns the dispatch, the size in bytes, and the label of an imported buffer. Arena tensors
    /// count only if `with_arena`, because fusion may still remove them.
    pub(crate) fn find_long_binding(
        &self,
        from: usize,
        limit: u64,
        with_arena: bool,
    ) -> Option<(&Dispatch, u64, Option<&str>)> {
        let bytes = |tensor_id: TensorId| match &self.memory[tensor_id.0] {
            TensorMemory::Imported(range) => (range.length(), range.buffer().label()),
            TensorMemory::Arena { bytes, .. } if with_arena => (*bytes, None),
            TensorMemory::Arena { .. } | TensorMemory::Released => (0, None),
        };
        let bindings = self.dispatches[from..]
            .iter()
            .flat_map(|dispatch| dispatch.bindings.iter().map(move |binding| (dispatch, binding.0)));
        let sized = bindings.map(|(dispatch, tensor_id)| (dispatch, bytes(tensor_id)));
        sized.map(|(dispatch, (bytes, name))| (dispatch, bytes, name)).find(|(_, bytes, _)| *bytes > limit)
    }

    /// Assigns every tensor of the arena an offset.
    pub(crate) fn arena_layout(&self, alignment: u64) -> ArenaLayout {
        let end = self.dispatches.len();
        let mut live_ranges: HashMap<TensorId, LiveRange> = HashMap::new();
        for (index, dispatch) in self.dispatches.iter().enumerate() {
            for &(tensor_id, _) in &dispatch.bindings {
                if let TensorMemory::Arena { bytes, kept } = self.memory[tensor_id.0] {
                    let live_range =
                        live_ranges.entry(tensor_id).or_insert(LiveRange { size: bytes, first: index, last: index });
                    live_range.last = if kept { end } else { index };
                }
            }
        }
        let mut order: Vec<(TensorId, LiveRange)> = live_ranges.into_iter().collect();
        order.sort_unstable_by_key(|(tensor_id, _)| tensor_id.0);
        let sorted: Vec<LiveRange> = order.iter().map(|(_, live_range)| *live_range).collect();
        let (offsets, bytes) = arena::assign_offsets(&sorted, alignment);
        let tensors =
            order.iter().zip(offsets).map(|((tensor_id, range), offset)| (*tensor_id, offset, range.size)).collect();
        ArenaLayout { tensors, bytes }
    }

    /// Allocates the arena and records the dispatches by [`roci_hal::Recorder::dispatch`], with a
    /// barrier before each dispatch that depends on an earlier one. The driver translates them in
    /// [`roci_hal::Recorder::finish`].
    pub(crate) fn record(
        self,
        device: &Device,
        kernels: &mut KernelCache,
        layout: ArenaLayout,
    ) -> Result<RecordedSegment, Error> {
        let ArenaLayout { tensors, bytes } = layout;
        let mut ranges = HashMap::new();
        if bytes > 0 {
            let memory = device.info().fastest_memory();
            let arena = device.allocate(BufferDesc::new(bytes, memory).label("arena"))?;
            for (tensor_id, offset, size) in tensors {
                ranges.insert(tensor_id, arena.range(offset, size)?);
            }
        }
        for (index, memory) in self.memory.iter().enumerate() {
            if let TensorMemory::Imported(range) = memory {
                ranges.insert(TensorId(index), range.clone());
            }
        }
        // In reverse: the owner of an alias may itself be an alias that was created later.
        for (tensor_id, owner) in self.aliases.iter().rev() {
            if let Some(range) = ranges.get(owner).cloned() {
                ranges.insert(*tensor_id, range);
            }
        }
        let mut recorder = device.record();
        let mut labels = Vec::new();
        let written = self.dispatches.iter().flat_map(|dispatch| &dispatch.bindings).filter(|(_, written)| *written);
        let mut hazards = HazardTracker::new(written.filter_map(|(tensor_id, _)| ranges.get(tensor_id)));
        for dispatch in &self.dispatches {
            let accesses: Vec<(&BufferRange, bool)> = dispatch
                .bindings
                .iter()
                .filter_map(|(tensor_id, written)| Some((ranges.get(tensor_id)?, *written)))
                .collect();
            if accesses.iter().any(|(range, written)| hazards.needs_barrier(range, *written)) {
                recorder.barrier();
                labels.push(String::new());
                hazards.clear();
            }
            let bindings: Vec<roci_hal::Binding> =
                accesses.iter().map(|(range, _)| roci_hal::Binding::from((*range).clone())).collect();
            let kernel = kernels.get(device, dispatch.kernel)?;
            recorder.dispatch(&kernel, dispatch.grid, &bindings, &dispatch.constants)?;
            labels.push(dispatch.label.clone());
            accesses.iter().for_each(|(range, written)| hazards.add(range, *written));
        }
        Ok(RecordedSegment { commands: recorder.finish()?, ranges, labels: labels.into() })
    }
}
