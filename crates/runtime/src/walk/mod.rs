//! One walk through a graph: what is known is computed here, everything else is lowered to kernels.

mod dry;
mod held;
mod shelf;

use std::collections::{BTreeMap, HashMap};

use roci_graph::interpreter::{check_size, quarter_of_memory};
use roci_graph::ops::Facts;
use roci_graph::{DType, Fact, Graph, Inputs, Node, OpError, Operation, Tensor, Value, ValueId};
use roci_hal::{BufferRange, DeviceInfo};

use crate::error::Refusal;
use crate::host::runs_on_host;
use crate::lower::{self, Context, Operand};
use crate::plan::Placement;
use crate::segment::{Recorded, Segment, fits};
use crate::{Error, Note};

use held::{Held, Home, OnDevice};

/// Elements of a tensor for which it is told what would run; tables may have as many.
const MOST_TOLD: usize = 1 << 30;

pub(crate) use dry::dry;
pub(crate) use shelf::{Pending, Shelf, download, submit, wait};

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
    /// Values that lie in the segment that is being collected, or lay there.
    collected: Vec<ValueId>,
    inputs: Vec<Option<BufferRange>>,
    fixed: BTreeMap<usize, Tensor>,
    /// Whether something was read back in between: then the walk cannot be replayed.
    read_back: bool,
    notes: Vec<Note>,
    queue: usize,
    /// Where the node at hand runs.
    place: Placement,
}

/// Outputs, what there is to know of them, and the program where the same can be replayed.
type Walked = (Vec<Value>, Vec<Note>, Option<Program>);

/// Walks through a graph.
pub(crate) fn walk(shelf: &mut Shelf, graph: &Graph, given: &[Value], queue: usize) -> Result<Walked, Error> {
    let mut walk = Walk::new(shelf, graph, given, queue);
    for (index, node) in graph.nodes.iter().enumerate() {
        walk.segment.label(format!("{} ({})", node.name, node.kind()));
        let made = walk.results(node)?;
        walk.hold(index, node, made);
    }
    walk.finish()
}

impl<'a> Walk<'a> {
    fn new(shelf: &'a mut Shelf, graph: &'a Graph, given: &'a [Value], queue: usize) -> Self {
        let mut last_use = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            last_use.extend(node.inputs.iter().flatten().map(|id| (*id, index)));
        }
        last_use.extend(graph.outputs.iter().map(|id| (*id, usize::MAX)));
        let mut held = vec![Held::default(); graph.values.len()];
        for (id, constant) in &graph.constants {
            held[id.index()].host = Some(constant.clone().into());
        }
        for (index, (id, value)) in graph.inputs.iter().zip(given).enumerate() {
            held[id.index()].input = Some(index);
            // What is no tensor stays on the host.
            if !matches!(value, Value::Tensor(_)) {
                held[id.index()].host = Some(value.clone());
            }
        }
        let read_back = given.iter().any(|value| !matches!(value, Value::Tensor(_)));
        Self {
            shelf,
            graph,
            given,
            held,
            last_use,
            segment: Segment::default(),
            collected: Vec::new(),
            inputs: vec![None; graph.inputs.len()],
            fixed: BTreeMap::new(),
            read_back,
            notes: Vec::new(),
            queue,
            place: Placement::Ahead,
        }
    }

    /// Holds what a node made as long as somebody needs it.
    fn hold(&mut self, index: usize, node: &Node, made: Vec<Held>) {
        for (id, made) in node.outputs.iter().zip(made) {
            if let Some(id) = id
                && self.last_use.contains_key(id)
            {
                self.held[id.index()] = made;
                self.collected.push(*id);
            }
        }
        for id in node.inputs.iter().flatten() {
            if self.last_use.get(id) == Some(&index) {
                self.held[id.index()] = Held::default();
            }
        }
    }

    /// What a node makes.
    fn results(&mut self, node: &Node) -> Result<Vec<Held>, Error> {
        loop {
            let known = node.inputs.iter().flatten().all(|id| self.held[id.index()].is_known());
            let facts: Vec<Option<Fact>> = node.inputs.iter().map(|id| id.and_then(|id| self.fact(id))).collect();
            let text = facts.iter().flatten().any(|fact| fact.dtype == DType::String);
            if known && !node.op.is_random() {
                return self.on_host(node, Placement::Ahead);
            }
            if text || runs_on_host(&node.op) {
                let reason = if text { "text" } else { "its results are no arrays of numbers, or graphs decide them" };
                return self.on_host(node, Placement::Host(reason.into()));
            }
            self.must_know(node).map_err(|refusal| self.refused(node, refusal))?;
            let wrong = |error: OpError| wrong(node, error);
            let outputs = node.op.infer(&Facts::new(&facts, node.outputs.len())).map_err(wrong)?;
            // Shapes of operands are known even where their elements are not.
            if outputs.iter().all(|fact| fact.value.is_some()) && !outputs.is_empty() {
                let held = |fact: Fact| Held { host: fact.value.map(Value::from), ..Held::default() };
                self.place = Placement::Ahead;
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
                    None => {
                        let reason = "the shape of its result depends on data";
                        return self.on_host(node, Placement::Host(reason.into()));
                    }
                }
                continue;
            }
            // A file can claim any size.
            let count = |fact: &Fact| roci_graph::shape::count(fact.shape()?);
            let counts = outputs.iter().map(count).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
            if self.shelf.dry.is_none() {
                fits(&self.shelf.device, counts.iter().map(|count| 4 * *count as u64).sum())?;
            } else if let Some((fact, _)) = outputs.iter().zip(&counts).find(|(_, count)| **count > MOST_TOLD) {
                // What is only told of has no device that could be too small.
                return Err(wrong(OpError::TooLarge(fact.shape().map_err(wrong)?.to_vec())));
            }
            // There is nothing to compute of tensors without elements.
            let empty = |fact: &Fact| fact.shape.as_ref().is_some_and(|shape| shape.contains(&0));
            if outputs.iter().all(empty) {
                let zeros = |fact: &Fact| Tensor::zeros(fact.dtype, fact.shape()?);
                let zeros = outputs.iter().map(zeros).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
                self.place = Placement::Ahead;
                return Ok(zeros.into_iter().map(Held::on_host).collect());
            }
            let before = self.segment.steps.len();
            let mut context = Context::new(self, node, facts, outputs);
            match lower::lower(&node.op, &mut context) {
                Ok(made) => {
                    self.shelf.check_bindings(&self.segment, before, false)?;
                    let kernels = self.segment.steps[before..].iter().map(|step| step.kernel);
                    self.place = Placement::Kernels(kernels.collect());
                    let held = |Operand { slot, dtype, shape }: Operand| {
                        if shape.contains(&0) {
                            return Ok(Held::on_host(Tensor::zeros(dtype, shape).map_err(wrong)?));
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
                    let place = Placement::Host(format!("32 bits may not hold its results: {reason}"));
                    self.notes.push(Note::Integers { node: node.name.clone(), op: node.op.name(), reason });
                    return self.on_host(node, place);
                }
                Err(Refusal::Unsupported(reason)) if self.shelf.is_host => {
                    let place = Placement::Host(format!("by its definition: {reason}"));
                    self.notes.push(Note::Reference { node: node.name.clone(), op: node.op.name(), reason });
                    return self.on_host(node, place);
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
            Refusal::Untold(id) => Error::Untold(self.graph.name(id).to_owned()),
            Refusal::NeedsValue(index) => wrong(node, OpError::MissingInput(index)),
            Refusal::Unsupported(reason) | Refusal::Integers(reason) => Error::Unsupported {
                node: node.name.clone(),
                op: node.op.name(),
                device: self.info().uri.to_string(),
                reason,
            },
        }
    }

    /// Evaluates a node on the host.
    fn on_host(&mut self, node: &Node, place: Placement) -> Result<Vec<Held>, Error> {
        self.place = place;
        if self.shelf.dry.is_some() && !self.is_little(node) {
            return self.imagined(node);
        }
        for id in node.inputs.iter().flatten() {
            if self.held[id.index()].host.is_none() {
                self.fetch(*id).map_err(|refusal| self.refused(node, refusal))?;
            }
        }
        let operands: Vec<Option<&Value>> =
            node.inputs.iter().map(|id| id.and_then(|id| self.held[id.index()].host.as_ref())).collect();
        check_size(node, &operands, quarter_of_memory()).map_err(|error| wrong(node, error))?;
        let made = node.op.eval(&Inputs::new(&operands, node.outputs.len())).map_err(|error| wrong(node, error))?;
        if node.op.is_random() {
            self.read_back = true;
        }
        Ok(made.into_iter().map(Held::on_host).collect())
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
        if let Some(told) = &held.told {
            return Some(told.clone());
        }
        let tensor = self.given[held.input?].tensor().ok()?;
        Some(Fact::new(tensor.dtype(), tensor.shape()))
    }

    /// The elements of a value, if they are known without asking anybody.
    pub(crate) fn known(&self, id: ValueId) -> Option<&Tensor> {
        self.held[id.index()].host.as_ref().and_then(|value| value.tensor().ok())
    }

    /// What is lowered now must be lowered anew in the next run.
    pub(crate) fn differs_every_run(&mut self) {
        self.read_back = true;
    }

    /// The segment that is being collected.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        &mut self.segment
    }

    /// The device that kernels are chosen for.
    pub(crate) fn info(&self) -> &DeviceInfo {
        self.shelf.info()
    }

    fn finish(mut self) -> Result<Walked, Error> {
        let recorded = self.record()?;
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
        let (inputs, fixed, notes) = (self.inputs, self.fixed.into_iter().collect(), self.notes);
        Ok((values, notes.clone(), Some(Program { recorded, inputs, fixed, outputs, notes })))
    }
}

fn wrong(node: &Node, error: OpError) -> Error {
    roci_graph::interpreter::RunError { node: node.name.clone(), op: node.op.name(), error }.into()
}
