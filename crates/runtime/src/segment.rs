//! Kernels that run one after another without a word from the host: collected, given memory, recorded.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roci_graph::ValueId;
use roci_hal::{BufferDesc, BufferRange, CommandBuffer, Device};
use roci_kernels::params::Params;

use crate::Error;
use crate::arena::{self, Span};
use crate::kernels::Kernels;
use crate::ranges::Since;

/// A tensor of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot(usize);

impl Slot {
    /// Its place among the tensors of its segment.
    pub(crate) fn index(self) -> usize {
        self.0
    }
}

/// One dispatch.
pub(crate) struct Step {
    pub(crate) kernel: &'static str,
    pub(crate) label: String,
    pub(crate) grid: [u32; 3],
    pub(crate) constants: Vec<u8>,
    /// By binding: the tensor, and whether it is written.
    pub(crate) bindings: Vec<(Slot, bool)>,
}

impl Step {
    /// The tensors that it only reads.
    pub(crate) fn reads(&self) -> Vec<Slot> {
        self.bindings.iter().filter(|(_, written)| !written).map(|(slot, _)| *slot).collect()
    }
}

/// What a slot's memory is.
enum Place {
    /// Given by whoever collects: constants, inputs, results of earlier segments.
    Given(BufferRange),
    /// Of the arena; kept until the run ends where somebody still wants it.
    Arena { bytes: u64, kept: bool },
    /// Given back before anything runs: nobody reads it as it was.
    Gone,
}

/// Kernels that are not recorded yet.
#[derive(Default)]
pub(crate) struct Segment {
    slots: Vec<Place>,
    /// Constants that lie where other values do, too.
    wanted: HashSet<Slot>,
    pub(crate) steps: Vec<Step>,
    /// Tensors that came to lie in the place of others.
    aliases: Vec<(Slot, Slot)>,
    /// Tensors that never change, and the words of those that have one.
    constants: HashMap<Slot, ValueId>,
    /// By constant: the tensors that it is.
    homes: HashMap<ValueId, Vec<Slot>>,
    scalars: HashMap<Slot, u32>,
    /// The name for dispatches from here on.
    label: String,
}

/// The arena of a segment.
pub(crate) struct Layout {
    /// Tensors with their offsets and bytes.
    pub(crate) tensors: Vec<(Slot, u64, u64)>,
    /// Bytes of all.
    pub(crate) bytes: u64,
}

/// A segment that was recorded.
pub(crate) struct Recorded {
    pub(crate) commands: CommandBuffer,
    /// Where its tensors lie.
    places: HashMap<Slot, BufferRange>,
    /// By command: the nodes that it computes.
    pub(crate) names: Arc<[String]>,
}

impl Recorded {
    /// Where a tensor lies; `None` for one that no kernel touches.
    pub(crate) fn place(&self, slot: Slot) -> Option<&BufferRange> {
        self.places.get(&slot)
    }
}

impl Segment {
    /// Whether there is nothing to run.
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Dispatches from here on belong to this node.
    pub(crate) fn label(&mut self, label: impl Into<String>) {
        self.label = label.into();
    }

    /// A tensor in memory that is there.
    pub(crate) fn given(&mut self, range: BufferRange) -> Slot {
        self.slots.push(Place::Given(range));
        Slot(self.slots.len() - 1)
    }

    /// Some bytes of a tensor in memory that is there; `None` for another, and where they do not lie in it.
    pub(crate) fn part_of(&mut self, slot: Slot, offset: u64, length: u64) -> Option<Slot> {
        let Place::Given(range) = &self.slots[slot.0] else { return None };
        let part = range.range(offset, length).ok()?;
        Some(self.given(part))
    }

    /// A constant of the graph in memory that is there, with its word if it has but one.
    pub(crate) fn constant(&mut self, range: BufferRange, id: ValueId, word: Option<u32>) -> Slot {
        let slot = self.given(range);
        self.constants.insert(slot, id);
        self.homes.entry(id).or_default().push(slot);
        self.scalars.extend(word.map(|word| (slot, word)));
        slot
    }

    /// The word of a constant that has but one.
    pub(crate) fn scalar(&self, slot: Slot) -> Option<u32> {
        self.scalars.get(&slot).copied()
    }

    /// Which constant a tensor is, and where it lies.
    pub(crate) fn known(&self, slot: Slot) -> Option<(ValueId, &BufferRange)> {
        match (self.constants.get(&slot), &self.slots[slot.0]) {
            (Some(id), Place::Given(range)) => Some((*id, range)),
            _ => None,
        }
    }

    /// By constant that no other value lies in: how many times steps read it.
    pub(crate) fn readers(&self) -> HashMap<ValueId, usize> {
        let mut readers = HashMap::new();
        for slot in self.steps.iter().flat_map(Step::reads) {
            if let Some(id) = self.constants.get(&slot) {
                *readers.entry(*id).or_insert(0) += 1;
            }
        }
        for id in self.wanted.iter().filter_map(|slot| self.constants.get(slot)) {
            readers.remove(id);
        }
        readers
    }

    /// Lets go of the memory of a constant.
    pub(crate) fn release(&mut self, id: ValueId) {
        for slot in self.homes.get(&id).into_iter().flatten() {
            self.slots[slot.0] = Place::Gone;
        }
    }

    /// Whether a tensor is a constant that was let go of.
    pub(crate) fn is_gone(&self, slot: Slot) -> bool {
        matches!(self.slots[slot.0], Place::Gone)
    }

    /// Constants that no kernel reads any more.
    pub(crate) fn unread(&self) -> Vec<ValueId> {
        let read: HashSet<Slot> = self.steps.iter().flat_map(Step::reads).chain(self.wanted.iter().copied()).collect();
        let unread = self.homes.iter().filter(|(_, slots)| !slots.iter().any(|slot| read.contains(slot)));
        unread.map(|(id, _)| *id).collect()
    }

    /// A new tensor of so many words.
    pub(crate) fn allocate(&mut self, words: usize) -> Slot {
        // A buffer of nothing cannot be bound.
        self.slots.push(Place::Arena { bytes: (words.max(1) as u64).saturating_mul(4), kept: false });
        Slot(self.slots.len() - 1)
    }

    /// Its memory is not used for another tensor later in the segment.
    pub(crate) fn keep(&mut self, slot: Slot) {
        if let Place::Arena { kept, .. } = &mut self.slots[slot.0] {
            *kept = true;
        }
    }

    /// The same for the place of a value; one that lies where a constant does wants that as it is.
    pub(crate) fn keep_for(&mut self, slot: Slot, value: ValueId) {
        self.keep(slot);
        if self.constants.get(&slot).is_some_and(|id| *id != value) {
            self.wanted.insert(slot);
        }
    }

    /// Whether a tensor is of no use once the segment has run.
    pub(crate) fn is_temporary(&self, slot: Slot) -> bool {
        matches!(self.slots[slot.0], Place::Arena { kept: false, .. })
    }

    /// Lets a tensor lie in the place of another, which the steps name already.
    pub(crate) fn alias(&mut self, slot: Slot, place: Slot) {
        if !self.is_temporary(slot) {
            self.keep(place);
        }
        self.aliases.push((slot, place));
    }

    /// Whether a tensor lies in memory that is there.
    pub(crate) fn is_given(&self, slot: Slot) -> bool {
        matches!(self.slots[slot.0], Place::Given(_))
    }

    /// Runs a kernel with the grid that its constants ask for; the last binding is written.
    pub(crate) fn run<P: Params>(&mut self, kernel: &'static str, params: &P, inputs: &[Slot], output: Slot) {
        self.run_with(kernel, params.grid(), bytemuck::bytes_of(params), inputs, &[output]);
    }

    /// Runs a kernel with a grid; the outputs are the bindings behind the inputs.
    pub(crate) fn run_with(
        &mut self,
        kernel: &'static str,
        grid: [u32; 3],
        constants: &[u8],
        inputs: &[Slot],
        outputs: &[Slot],
    ) {
        if grid.contains(&0) {
            return;
        }
        let written = outputs.iter().map(|&slot| (slot, true));
        let bindings = inputs.iter().map(|&slot| (slot, false)).chain(written).collect();
        let label = self.label.clone();
        self.steps.push(Step { kernel, label, grid, constants: constants.to_vec(), bindings });
    }

    /// Tensors that outlive the segment.
    pub(crate) fn kept(&self) -> Vec<Slot> {
        let kept = |place: &Place| matches!(place, Place::Arena { kept: true, .. });
        (0..self.slots.len()).filter(|&index| kept(&self.slots[index])).map(Slot).collect()
    }

    /// The first binding of the steps from one on that is longer than a limit: the step, the bytes, and the name of memory that was given. Tensors of
    /// the arena are looked at where `with_arena` says so: until kernels are joined, they may yet disappear.
    pub(crate) fn longer_binding(
        &self,
        from: usize,
        limit: u64,
        with_arena: bool,
    ) -> Option<(&Step, u64, Option<&str>)> {
        let bytes = |slot: Slot| match &self.slots[slot.0] {
            Place::Given(range) => (range.length(), range.buffer().label()),
            Place::Arena { bytes, .. } if with_arena => (*bytes, None),
            Place::Arena { .. } | Place::Gone => (0, None),
        };
        let bindings =
            self.steps[from..].iter().flat_map(|step| step.bindings.iter().map(move |binding| (step, binding.0)));
        let sized = bindings.map(|(step, slot)| (step, bytes(slot)));
        sized.map(|(step, (bytes, name))| (step, bytes, name)).find(|(_, bytes, _)| *bytes > limit)
    }

    /// Gives each tensor of the arena a place.
    pub(crate) fn layout(&self, alignment: u64) -> Layout {
        let last = self.steps.len();
        let mut spans: HashMap<Slot, Span> = HashMap::new();
        for (index, step) in self.steps.iter().enumerate() {
            for &(slot, _) in &step.bindings {
                if let Place::Arena { bytes, kept } = self.slots[slot.0] {
                    let span = spans.entry(slot).or_insert(Span { size: bytes, first: index, last: index });
                    span.last = if kept { last } else { index };
                }
            }
        }
        let mut order: Vec<(Slot, Span)> = spans.into_iter().collect();
        order.sort_unstable_by_key(|(slot, _)| slot.0);
        let (offsets, bytes) = arena::place(&order.iter().map(|(_, span)| *span).collect::<Vec<_>>(), alignment);
        let tensors = order.iter().zip(offsets).map(|((slot, span), offset)| (*slot, offset, span.size)).collect();
        Layout { tensors, bytes }
    }

    /// Records the dispatches, with a barrier before each that touches what one before it wrote, or writes what one before
    /// it touched.
    pub(crate) fn record(self, device: &Device, kernels: &mut Kernels, layout: Layout) -> Result<Recorded, Error> {
        let Layout { tensors, bytes } = layout;
        let mut places = HashMap::new();
        if bytes > 0 {
            let memory = device.info().fastest_memory();
            let arena = device.allocate(BufferDesc { size: bytes, memory, label: Some("arena".into()) })?;
            for (slot, offset, size) in tensors {
                places.insert(slot, arena.range(offset, size)?);
            }
        }
        for (index, memory) in self.slots.iter().enumerate() {
            if let Place::Given(range) = memory {
                places.insert(Slot(index), range.clone());
            }
        }
        // The last alias first: its place may be an alias of an earlier one's.
        for (slot, place) in self.aliases.iter().rev() {
            if let Some(range) = places.get(place).cloned() {
                places.insert(*slot, range);
            }
        }
        let mut recorder = device.record();
        let mut names = Vec::new();
        let written = self.steps.iter().flat_map(|step| &step.bindings).filter(|(_, written)| *written);
        let mut since = Since::new(written.filter_map(|(slot, _)| places.get(slot)));
        for step in &self.steps {
            let touched: Vec<(&BufferRange, bool)> =
                step.bindings.iter().filter_map(|(slot, written)| Some((places.get(slot)?, *written))).collect();
            if touched.iter().any(|(range, written)| since.is_in_the_way(range, *written)) {
                recorder.barrier();
                names.push(String::new());
                since.clear();
            }
            let bindings: Vec<roci_hal::Binding> =
                touched.iter().map(|(range, _)| roci_hal::Binding::from((*range).clone())).collect();
            let kernel = kernels.get(device, step.kernel)?;
            recorder.dispatch(&kernel, step.grid, &bindings, &step.constants)?;
            names.push(step.label.clone());
            touched.iter().for_each(|(range, written)| since.add(range, *written));
        }
        Ok(Recorded { commands: recorder.finish()?, places, names: names.into() })
    }
}

/// Refuses what a device has not the memory for, before anything runs.
pub(crate) fn fits(device: &Device, needed: u64) -> Result<(), Error> {
    let available = device.info().physical[0].usable_memory();
    if available > 0 && needed > available {
        return Err(Error::Memory { needed, device: device.info().uri.to_string(), available });
    }
    Ok(())
}
