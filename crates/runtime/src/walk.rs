//! One walk through a graph: what is known is computed here, everything else is lowered to kernels.

use std::collections::HashMap;
use std::sync::Arc;

use roci_graph::ops::Facts;
use roci_graph::{DType, Fact, Graph, Inputs, Node, OpError, Operation, Tensor, Value, ValueId};
use roci_hal::{BufferDesc, BufferRange, Deadline, Device, Semaphore, Submit};

use crate::error::Refusal;
use crate::host::runs_on_host;
use crate::kernels::Kernels;
use crate::lower::{self, Context, Operand};
use crate::segment::{Recorded, Segment, Slot};
use crate::storage::{decode, encode};
use crate::timing::Watch;
use crate::{Error, Memory, Note};

/// Where a tensor lies on the device.
#[derive(Clone)]
enum Home {
    /// In the segment that is being collected.
    Slot(Slot),
    /// In memory that outlives it.
    Range(BufferRange),
}

/// A tensor on the device.
#[derive(Clone)]
struct OnDevice {
    home: Home,
    fact: Fact,
}

/// What is at hand of a value.
#[derive(Clone, Default)]
struct Held {
    host: Option<Value>,
    device: Option<OnDevice>,
    /// Which of the graph's inputs it is: its elements may differ in the next run.
    input: Option<usize>,
}

/// What a session keeps between walks.
pub(crate) struct Shelf {
    pub(crate) device: Device,
    pub(crate) kernels: Kernels,
    /// Constants of the graph on the device.
    pub(crate) constants: HashMap<ValueId, BufferRange>,
    /// Whether the device is the host, so that evaluating there is no change of place.
    pub(crate) is_host: bool,
    /// The run that is being measured.
    pub(crate) watch: Option<Watch>,
    pub(crate) memory: Memory,
}

/// A result, and where it is.
#[derive(Clone)]
pub(crate) enum Output {
    Host(Value),
    Device(BufferRange, Fact),
}

/// What a walk leaves behind for later runs of the same shapes.
pub(crate) struct Program {
    pub(crate) recorded: Option<Recorded>,
    /// By input: where its words go.
    pub(crate) inputs: Vec<Option<BufferRange>>,
    /// Inputs whose elements decided something, with those elements.
    pub(crate) fixed: Vec<(usize, Tensor)>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) notes: Vec<Note>,
}

/// A walk.
pub(crate) struct Walk<'a> {
    shelf: &'a mut Shelf,
    graph: &'a Graph,
    given: &'a [Value],
    held: Vec<Held>,
    last_use: HashMap<ValueId, usize>,
    segment: Segment,
    inputs: Vec<Option<BufferRange>>,
    fixed: Vec<(usize, Tensor)>,
    /// Whether something was read back in between: then the walk cannot be replayed.
    read_back: bool,
    notes: Vec<Note>,
    queue: usize,
}

/// Outputs, what there is to know of them, and the program where the same can be replayed.
type Walked = (Vec<Value>, Vec<Note>, Option<Program>);

/// Walks through a graph.
pub(crate) fn walk(shelf: &mut Shelf, graph: &Graph, given: &[Value], queue: usize) -> Result<Walked, Error> {
    let mut last_use = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        last_use.extend(node.inputs.iter().flatten().map(|id| (*id, index)));
    }
    last_use.extend(graph.outputs.iter().map(|id| (*id, usize::MAX)));
    let mut held = vec![Held::default(); graph.values.len()];
    for (id, constant) in &graph.constants {
        held[id.index()].host = Some(constant.clone().into());
    }
    for (index, id) in graph.inputs.iter().enumerate() {
        held[id.index()].input = Some(index);
        // What is no tensor stays on the host.
        if !matches!(given[index], Value::Tensor(_)) {
            held[id.index()].host = Some(given[index].clone());
        }
    }
    let read_back = given.iter().any(|value| !matches!(value, Value::Tensor(_)));
    let mut walk = Walk {
        shelf,
        graph,
        given,
        held,
        last_use,
        segment: Segment::default(),
        inputs: vec![None; graph.inputs.len()],
        fixed: Vec::new(),
        read_back,
        notes: Vec::new(),
        queue,
    };
    for (index, node) in graph.nodes.iter().enumerate() {
        walk.node(index, node)?;
    }
    walk.finish()
}

impl Walk<'_> {
    fn node(&mut self, index: usize, node: &Node) -> Result<(), Error> {
        self.segment.label(format!("{} ({})", node.name, node.op.name()));
        let made = self.results(node)?;
        for (id, made) in node.outputs.iter().zip(made) {
            if let Some(id) = id
                && self.last_use.contains_key(id)
            {
                self.held[id.index()] = made;
            }
        }
        for id in node.inputs.iter().flatten() {
            if self.last_use.get(id) == Some(&index) {
                self.held[id.index()] = Held::default();
            }
        }
        Ok(())
    }

    /// What a node makes.
    fn results(&mut self, node: &Node) -> Result<Vec<Held>, Error> {
        loop {
            let known = node.inputs.iter().flatten().all(|id| self.held[id.index()].host.is_some());
            let facts: Vec<Option<Fact>> = node.inputs.iter().map(|id| id.and_then(|id| self.fact(id))).collect();
            let text = facts.iter().flatten().any(|fact| fact.dtype == DType::String);
            if (known && !node.op.is_random()) || text || runs_on_host(&node.op) {
                return self.on_host(node);
            }
            let wrong = |error: OpError| wrong(node, error);
            let outputs = node.op.infer(&Facts::new(&facts, node.outputs.len())).map_err(wrong)?;
            // Shapes of operands are known even where their elements are not.
            if outputs.iter().all(|fact| fact.value.is_some()) && !outputs.is_empty() {
                let held = |fact: Fact| Held { host: fact.value.map(Value::from), ..Held::default() };
                return Ok(outputs.into_iter().map(held).collect());
            }
            if outputs.iter().any(|fact| fact.shape.is_none()) {
                // A shape that depends on operands which are small integers, as most do, is known once they are.
                let missing = node.inputs.iter().flatten().find(|id| {
                    let held = &self.held[id.index()];
                    held.host.is_none() && self.fact(**id).is_some_and(|fact| !fact.dtype.is_float())
                });
                match missing {
                    Some(id) => self.fetch(*id).map(drop).map_err(|refusal| self.refused(node, refusal))?,
                    None => return self.on_host(node),
                }
                continue;
            }
            // There is nothing to compute of tensors without elements.
            let empty = |fact: &Fact| fact.shape.as_ref().is_some_and(|shape| shape.contains(&0));
            if outputs.iter().all(empty) {
                let zeros = |fact: &Fact| Tensor::zeros(fact.dtype, fact.shape()?);
                let zeros = outputs.iter().map(zeros).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
                return Ok(zeros.into_iter().map(|one| Held { host: Some(one.into()), ..Held::default() }).collect());
            }
            let mut context = Context::new(self, node, facts, outputs);
            match lower::lower(&node.op, &mut context) {
                Ok(made) => {
                    let held = |Operand { slot, dtype, shape }: Operand| {
                        if shape.contains(&0) {
                            let zeros = Tensor::zeros(dtype, shape).map_err(wrong)?;
                            return Ok(Held { host: Some(zeros.into()), ..Held::default() });
                        }
                        let device = Some(OnDevice { home: Home::Slot(slot), fact: Fact::new(dtype, shape) });
                        Ok(Held { device, ..Held::default() })
                    };
                    return made.into_iter().map(held).collect();
                }
                Err(Refusal::NeedsValue(index)) => {
                    let id = node.inputs.get(index).copied().flatten();
                    let id = id.ok_or_else(|| self.refused(node, OpError::MissingInput(index).into()))?;
                    if self.held[id.index()].host.is_some() {
                        return Err(self.refused(node, Refusal::unsupported(format!("operand {index}"))));
                    }
                    self.fetch(id).map_err(|refusal| self.refused(node, refusal))?;
                }
                Err(Refusal::Integers(reason)) => {
                    self.notes.push(Note::Integers { node: node.name.clone(), op: node.op.name(), reason });
                    return self.on_host(node);
                }
                Err(Refusal::Unsupported(reason)) if self.shelf.is_host => {
                    self.notes.push(Note::Reference { node: node.name.clone(), op: node.op.name(), reason });
                    return self.on_host(node);
                }
                Err(refusal) => return Err(self.refused(node, refusal)),
            }
        }
    }

    /// An error with the node's name.
    fn refused(&self, node: &Node, refusal: Refusal) -> Error {
        match refusal {
            Refusal::Wrong(error) => wrong(node, error),
            Refusal::Failed(error) => error,
            Refusal::NeedsValue(index) => wrong(node, OpError::MissingInput(index)),
            Refusal::Unsupported(reason) | Refusal::Integers(reason) => Error::Unsupported {
                node: node.name.clone(),
                op: node.op.name(),
                device: self.shelf.device.info().uri.to_string(),
                reason,
            },
        }
    }

    /// Evaluates a node on the host.
    fn on_host(&mut self, node: &Node) -> Result<Vec<Held>, Error> {
        for id in node.inputs.iter().flatten() {
            if self.held[id.index()].host.is_none() {
                self.fetch(*id).map_err(|refusal| self.refused(node, refusal))?;
            }
        }
        let operands: Vec<Option<&Value>> =
            node.inputs.iter().map(|id| id.and_then(|id| self.held[id.index()].host.as_ref())).collect();
        let made = node.op.eval(&Inputs::new(&operands, node.outputs.len())).map_err(|error| wrong(node, error))?;
        if node.op.is_random() {
            self.read_back = true;
        }
        Ok(made.into_iter().map(|value| Held { host: Some(value), ..Held::default() }).collect())
    }

    /// What is known of a value.
    pub(crate) fn fact(&self, id: ValueId) -> Option<Fact> {
        let held = &self.held[id.index()];
        if let Some(value) = &held.host {
            return value.tensor().ok().map(Fact::from);
        }
        if let Some(device) = &held.device {
            return Some(device.fact.clone());
        }
        let tensor = self.given[held.input?].tensor().ok()?;
        Some(Fact::new(tensor.dtype(), tensor.shape()))
    }

    /// The elements of a value, if they are known without asking anybody.
    pub(crate) fn known(&self, id: ValueId) -> Option<&Tensor> {
        self.held[id.index()].host.as_ref().and_then(|value| value.tensor().ok())
    }

    /// Makes the elements of a value known: the caller's, or read back from the device.
    fn fetch(&mut self, id: ValueId) -> Result<(), Refusal> {
        let held = &self.held[id.index()];
        if let Some(index) = held.input {
            let value = self.given[index].clone();
            if let Value::Tensor(tensor) = &value
                && !self.fixed.iter().any(|(fixed, _)| *fixed == index)
            {
                self.fixed.push((index, tensor.clone()));
            }
            self.held[id.index()].host = Some(value);
            return Ok(());
        }
        self.flush()?;
        self.read_back = true;
        let Some(OnDevice { home: Home::Range(range), fact }) = &self.held[id.index()].device else {
            return Err(OpError::invalid("an operand that nothing makes").into());
        };
        let tensor = download(&self.shelf.device, range, fact)?;
        self.held[id.index()].host = Some(tensor.into());
        Ok(())
    }

    /// A value on the device, brought there if need be.
    pub(crate) fn on_device(&mut self, id: ValueId) -> Result<Operand, Refusal> {
        let fact = self.fact(id).ok_or_else(|| OpError::invalid("an operand that is no tensor"))?;
        let shape = fact.shape()?.to_vec();
        let operand = |slot| Operand { slot, dtype: fact.dtype, shape: shape.clone() };
        if let Some(device) = &self.held[id.index()].device {
            let home = device.home.clone();
            let slot = match home {
                Home::Slot(slot) => slot,
                Home::Range(range) => {
                    let slot = self.segment.given(range);
                    // Later uses in this segment share the slot; a flush makes it a range again.
                    if let Some(device) = &mut self.held[id.index()].device {
                        device.home = Home::Slot(slot);
                    }
                    slot
                }
            };
            return Ok(operand(slot));
        }
        let range = if let Some(range) = self.shelf.constants.get(&id) {
            range.clone()
        } else {
            let held = &self.held[id.index()];
            let input = held.input;
            let tensor = match (&held.host, input) {
                (Some(value), _) => value.tensor()?.clone(),
                (None, Some(index)) => self.given[index].tensor()?.clone(),
                (None, None) => return Err(OpError::invalid("an operand that nothing makes").into()),
            };
            if tensor.dtype() == DType::F64 {
                self.notes.push(Note::Narrowed(self.graph.name(id).to_owned()));
            }
            let range = upload(&self.shelf.device, &tensor, self.graph.name(id))?;
            self.shelf.memory.constants += range.length();
            if let Some(index) = input {
                self.inputs[index] = Some(range.clone());
            } else if self.graph.constants.contains_key(&id) {
                self.shelf.constants.insert(id, range.clone());
            }
            range
        };
        let slot = self.segment.given(range);
        self.held[id.index()].device =
            Some(OnDevice { home: Home::Slot(slot), fact: Fact::new(fact.dtype, shape.clone()) });
        Ok(operand(slot))
    }

    /// Words in memory of their own, for this walk and what replays it.
    pub(crate) fn table(&mut self, words: &[u32]) -> Result<Operand, Refusal> {
        let tensor = Tensor::vector(words.to_vec());
        let range = upload(&self.shelf.device, &tensor, "table")?;
        self.shelf.memory.constants += range.length();
        let slot = self.segment.given(range);
        Ok(Operand { slot, dtype: tensor.dtype(), shape: tensor.shape().to_vec() })
    }

    /// What is lowered now must be lowered anew in the next run.
    pub(crate) fn differs_every_run(&mut self) {
        self.read_back = true;
    }

    /// The segment that is being collected.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        &mut self.segment
    }

    pub(crate) fn device(&self) -> &Device {
        &self.shelf.device
    }

    /// Runs what was collected.
    fn flush(&mut self) -> Result<(), Error> {
        if self.record()?.is_some_and(|recorded| !recorded.is_empty()) {
            self.read_back = true;
        }
        Ok(())
    }

    /// Records and runs what was collected; values that lie in it lie in memory of their own from then on.
    fn record(&mut self) -> Result<Option<RecordedRun>, Error> {
        let mut segment = std::mem::take(&mut self.segment);
        for held in &self.held {
            if let Some(OnDevice { home: Home::Slot(slot), .. }) = &held.device {
                segment.keep(*slot);
            }
        }
        let (empty, label) = (segment.is_empty(), self.graph.name.clone());
        let recorded = segment.record(&self.shelf.device, &mut self.shelf.kernels, &mut self.shelf.memory)?;
        if !empty {
            let pending = submit(self.shelf, &recorded, &label, self.queue, None)?;
            wait(self.shelf, pending)?;
        }
        for held in &mut self.held {
            if let Some(device) = &mut held.device
                && let Home::Slot(slot) = device.home
            {
                match recorded.place(slot) {
                    Some(range) => device.home = Home::Range(range.clone()),
                    None => held.device = None,
                }
            }
        }
        Ok(Some(RecordedRun { recorded, empty }))
    }

    fn finish(mut self) -> Result<Walked, Error> {
        let last = self.record()?;
        let mut outputs = Vec::new();
        let mut values = Vec::new();
        for id in &self.graph.outputs {
            let held = &self.held[id.index()];
            let (value, output) = match (&held.host, &held.device, held.input) {
                (Some(value), ..) => (value.clone(), Output::Host(value.clone())),
                (None, Some(OnDevice { home: Home::Range(range), fact }), _) => {
                    let tensor = download(&self.shelf.device, range, fact).map_err(|refusal| match refusal {
                        Refusal::Failed(error) => error,
                        other => Error::Input(format!("output `{}`: {other:?}", self.graph.name(*id))),
                    })?;
                    (tensor.into(), Output::Device(range.clone(), fact.clone()))
                }
                // An input that is handed through.
                (None, _, Some(index)) => {
                    self.read_back = true;
                    (self.given[index].clone(), Output::Host(self.given[index].clone()))
                }
                _ => return Err(Error::Input(format!("nothing makes the output `{}`", self.graph.name(*id)))),
            };
            values.push(value);
            outputs.push(output);
        }
        if self.read_back {
            return Ok((values, self.notes, None));
        }
        let recorded = last.filter(|last| !last.empty).map(|last| last.recorded);
        let (inputs, fixed, notes) = (self.inputs, self.fixed, self.notes);
        Ok((values, notes.clone(), Some(Program { recorded, inputs, fixed, outputs, notes })))
    }
}

struct RecordedRun {
    recorded: Recorded,
    empty: bool,
}

impl RecordedRun {
    fn is_empty(&self) -> bool {
        self.empty
    }
}

fn wrong(node: &Node, error: OpError) -> Error {
    roci_graph::interpreter::RunError { node: node.name.clone(), op: node.op.name(), error }.into()
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

/// Waits for a recording's end.
pub(crate) fn wait(shelf: &mut Shelf, pending: Pending) -> Result<(), Error> {
    pending.done.wait(1, Deadline::default())?;
    if let Some(watch) = &mut shelf.watch {
        watch.collect(&pending.names);
    }
    Ok(())
}

/// Puts a tensor into memory of its own.
fn upload(device: &Device, tensor: &Tensor, name: &str) -> Result<BufferRange, Refusal> {
    let words = encode(tensor).map_err(|error| {
        let text = error.to_string();
        if tensor.dtype().is_integer() { Refusal::integers(text) } else { Refusal::unsupported(text) }
    })?;
    let memory = device.info().fastest_memory();
    let size = (words.len().max(1) * 4) as u64;
    let allocate = || -> Result<BufferRange, roci_hal::Error> {
        let buffer = device.allocate(BufferDesc { size, memory, label: Some(name.into()) })?;
        if !words.is_empty() {
            device.write(&buffer, bytemuck::cast_slice(&words))?;
        }
        Ok(buffer.whole())
    };
    allocate().map_err(|error| Refusal::Failed(error.into()))
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
