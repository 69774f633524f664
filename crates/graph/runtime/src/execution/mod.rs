//! Executes a graph node by node: precomputes constants, evaluates host operations on the host, and
//! lowers every other node to dispatches.

mod dry_run;

use std::collections::HashMap;

use roci_graph::interpreter::{RunError, check_size, default_limit};
use roci_graph::ops::Facts;
use roci_graph::{DType, Fact, Graph, Inputs, Node, OpError, Operation, Tensor, Value, ValueId};

use crate::device_state::DeviceState;
use crate::error::LoweringError;
use crate::host_ops::runs_on_host;
use crate::lower::{Context, lower};
use crate::memory::check_fits;
use crate::placement::Placement;
use crate::recording::{Output, RecordedRun};
use crate::value_state::{DeviceCopy, DeviceLocation, ValueState, ValueTable};
use crate::{Error, Note};

pub use dry_run::{DryRunReport, dry_run};

/// Maximum number of elements of a tensor that a dry run plans; lookup tables may be as long.
const MAX_DRY_RUN_ELEMENTS: usize = 1 << 30;

/// One execution of a graph, or a dry run of it.
struct Execution<'a> {
    graph: &'a Graph,
    values: ValueTable<'a>,
    /// The index of the last node that reads each value.
    last_use: HashMap<ValueId, usize>,
    /// Where the current node runs.
    placement: Placement,
}

/// The result of an execution.
pub(crate) struct ExecutionResult {
    pub(crate) outputs: Vec<Value>,
    pub(crate) notes: Vec<Note>,
    /// `None` if the execution cannot be replayed.
    pub(crate) recording: Option<RecordedRun>,
}

/// Executes a graph on one queue of a device.
pub(crate) fn execute(
    state: &mut DeviceState,
    graph: &Graph,
    inputs: &[Value],
    queue: usize,
) -> Result<ExecutionResult, Error> {
    let mut execution = Execution::new(state, graph, inputs, queue);
    for (index, node) in graph.nodes.iter().enumerate() {
        execution.values.segment.set_label(format!("{} ({})", node.name, node.kind()));
        let results = execution.run_node(node)?;
        execution.store(index, node, results);
    }
    execution.finish()
}

impl<'a> Execution<'a> {
    fn new(state: &'a mut DeviceState, graph: &'a Graph, inputs: &'a [Value], queue: usize) -> Self {
        let mut last_use = HashMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            last_use.extend(node.inputs.iter().flatten().map(|id| (*id, index)));
        }
        last_use.extend(graph.outputs.iter().map(|id| (*id, usize::MAX)));
        let values = ValueTable::new(state, graph, inputs, queue);
        Self { graph, values, last_use, placement: Placement::Precomputed }
    }

    /// Stores the results of a node until their last use, and drops operands after theirs.
    fn store(&mut self, index: usize, node: &Node, results: Vec<ValueState>) {
        for (id, result) in node.outputs.iter().zip(results) {
            if let Some(id) = id
                && self.last_use.contains_key(id)
            {
                self.values.set(*id, result);
            }
        }
        for id in node.inputs.iter().flatten() {
            if self.last_use.get(id) == Some(&index) {
                self.values.drop_copies(*id);
            }
        }
    }

    /// Precomputes, evaluates or lowers a node. Repeats when the elements of an operand became
    /// known.
    fn run_node(&mut self, node: &Node) -> Result<Vec<ValueState>, Error> {
        loop {
            let all_known = node.inputs.iter().flatten().all(|id| self.values.state(*id).is_known());
            let facts: Vec<Option<Fact>> =
                node.inputs.iter().map(|id| id.and_then(|id| self.values.fact(id))).collect();
            let has_text = facts.iter().flatten().any(|fact| fact.dtype == DType::String);
            if all_known && !node.op.is_random() {
                return self.evaluate(node, Placement::Precomputed);
            }
            if has_text || runs_on_host(&node.op) {
                let reason =
                    if has_text { "text" } else { "control flow, or a result that is not an array of numbers" };
                return self.evaluate(node, Placement::Host(reason.into()));
            }
            self.require_shapes(node).map_err(|error| self.node_error(node, error))?;
            let invalid = |error: OpError| run_error(node, error);
            let outputs = node.op.infer(&Facts::new(&facts, node.outputs.len())).map_err(invalid)?;
            // Operations on shapes: the result is known even though the operands' elements are not.
            if outputs.iter().all(|fact| fact.value.is_some()) && !outputs.is_empty() {
                let result = |fact: Fact| ValueState { host: fact.value.map(Value::from), ..ValueState::default() };
                self.placement = Placement::Precomputed;
                return Ok(outputs.into_iter().map(result).collect());
            }
            if outputs.iter().any(|fact| fact.shape.is_none()) {
                // The shape may depend on integer operands, which are usually small. Download them
                // first.
                let missing = node.inputs.iter().flatten().find(|id| {
                    self.values.state(**id).host.is_none()
                        && self.values.fact(**id).is_some_and(|fact| !fact.dtype.is_float())
                });
                match missing {
                    Some(id) => self.values.download(*id).map_err(|error| self.node_error(node, error))?,
                    None => {
                        let reason = "the shape of its result depends on data";
                        return self.evaluate(node, Placement::Host(reason.into()));
                    }
                }
                continue;
            }
            self.check_sizes(node, &outputs)?;
            // Empty tensors need no computation.
            let is_empty = |fact: &Fact| fact.shape.as_ref().is_some_and(|shape| shape.contains(&0));
            if outputs.iter().all(is_empty) {
                let zeros = |fact: &Fact| Tensor::zeros(fact.dtype, fact.shape()?);
                let zeros = outputs.iter().map(zeros).collect::<Result<Vec<_>, _>>().map_err(invalid)?;
                self.placement = Placement::Precomputed;
                return Ok(zeros.into_iter().map(ValueState::on_host).collect());
            }
            let first = self.values.segment.dispatches.len();
            let mut context = Context::new(&mut self.values, node, facts, outputs);
            match lower(&node.op, &mut context) {
                Ok(results) => {
                    self.values.device_state.check_bindings(&self.values.segment, first, false)?;
                    let kernels = self.values.segment.dispatches[first..].iter().map(|dispatch| dispatch.kernel);
                    self.placement = Placement::Kernels(kernels.collect());
                    let result = |tensor| ValueState::on_device(tensor).map_err(invalid);
                    return results.into_iter().map(result).collect();
                }
                Err(LoweringError::NeedsValue(index)) => {
                    let id = node.inputs.get(index).copied().flatten();
                    let id = id.ok_or_else(|| self.node_error(node, OpError::MissingInput(index).into()))?;
                    if self.values.state(id).host.is_some() {
                        return Err(self.node_error(node, LoweringError::unsupported(format!("operand {index}"))));
                    }
                    self.values.download(id).map_err(|error| self.node_error(node, error))?;
                }
                Err(LoweringError::WideIntegers(reason)) => {
                    let placement = Placement::Host(format!("32 bits may not hold its results: {reason}"));
                    let (node_name, op) = (node.name.clone(), node.op.name());
                    self.values.notes.push(Note::HostIntegers { node: node_name, op, reason });
                    return self.evaluate(node, placement);
                }
                Err(LoweringError::Unsupported(reason)) if self.values.device_state.is_host => {
                    let placement = Placement::Host(format!("by its reference definition: {reason}"));
                    let (node_name, op) = (node.name.clone(), node.op.name());
                    self.values.notes.push(Note::Reference { node: node_name, op, reason });
                    return self.evaluate(node, placement);
                }
                Err(error) => return Err(self.node_error(node, error)),
            }
        }
    }

    /// Fails if the outputs of a node are too large. A model file can claim any size.
    fn check_sizes(&self, node: &Node, outputs: &[Fact]) -> Result<(), Error> {
        let invalid = |error: OpError| run_error(node, error);
        let count = |fact: &Fact| roci_graph::shape::count(fact.shape()?);
        let counts = outputs.iter().map(count).collect::<Result<Vec<_>, _>>().map_err(invalid)?;
        if !self.values.is_dry_run() {
            return check_fits(&self.values.device_state.device, counts.iter().map(|count| 4 * *count as u64).sum());
        }
        // A dry run has no device whose memory limits the size.
        match outputs.iter().zip(&counts).find(|(_, count)| **count > MAX_DRY_RUN_ELEMENTS) {
            Some((fact, _)) => Err(invalid(OpError::TooLarge(fact.shape().map_err(invalid)?.to_vec()))),
            None => Ok(()),
        }
    }

    /// Adds the node to an error.
    fn node_error(&self, node: &Node, error: LoweringError) -> Error {
        match error {
            LoweringError::InvalidOperands(error) => run_error(node, error),
            LoweringError::Failed(error) => error,
            LoweringError::UnknownValue(id) => Error::UnknownValue(self.graph.name(id).to_owned()),
            LoweringError::NeedsValue(index) => run_error(node, OpError::MissingInput(index)),
            LoweringError::Unsupported(reason) | LoweringError::WideIntegers(reason) => Error::Unsupported {
                node: node.name.clone(),
                op: node.op.name(),
                device: self.values.info().uri.to_string(),
                reason,
            },
        }
    }

    /// Evaluates a node on the host.
    fn evaluate(&mut self, node: &Node, placement: Placement) -> Result<Vec<ValueState>, Error> {
        self.placement = placement;
        if self.values.is_dry_run() && !self.is_cheap(node) {
            return self.skip(node);
        }
        for id in node.inputs.iter().flatten() {
            if self.values.state(*id).host.is_none() {
                self.values.download(*id).map_err(|error| self.node_error(node, error))?;
            }
        }
        let operands: Vec<Option<&Value>> =
            node.inputs.iter().map(|id| id.and_then(|id| self.values.state(id).host.as_ref())).collect();
        check_size(node, &operands, default_limit()).map_err(|error| run_error(node, error))?;
        let results =
            node.op.eval(&Inputs::new(&operands, node.outputs.len())).map_err(|error| run_error(node, error))?;
        if node.op.is_random() {
            self.values.is_replayable = false;
        }
        Ok(results.into_iter().map(ValueState::on_host).collect())
    }

    /// Runs the last segment ([`ValueTable::record_and_run`]), and reads the outputs back.
    fn finish(mut self) -> Result<ExecutionResult, Error> {
        let segment = self.values.record_and_run()?;
        let mut values = Vec::new();
        let mut outputs = Vec::new();
        for id in &self.graph.outputs {
            let state = self.values.state(*id);
            let (value, output) = match (&state.host, &state.device, state.input) {
                (Some(value), ..) => (value.clone(), Output::Host(value.clone())),
                (None, Some(DeviceCopy { location: DeviceLocation::Buffer(range), fact }), _) => {
                    let tensor = self.values.device_state.download(range, fact).map_err(|error| match error {
                        LoweringError::Failed(error) => error,
                        other => Error::Input(format!("output `{}`: {other:?}", self.graph.name(*id))),
                    })?;
                    (tensor.into(), Output::Device(range.clone(), fact.clone()))
                }
                // An input that is also an output.
                (None, _, Some(index)) => {
                    self.values.is_replayable = false;
                    (self.values.inputs[index].clone(), Output::Host(self.values.inputs[index].clone()))
                }
                _ => return Err(Error::Input(format!("no node produces the output `{}`", self.graph.name(*id)))),
            };
            values.push(value);
            outputs.push(output);
        }
        let ValueTable { input_ranges, fixed_inputs, notes, is_replayable, .. } = self.values;
        let recording = is_replayable.then(|| RecordedRun {
            segment,
            inputs: input_ranges,
            fixed_inputs: fixed_inputs.into_iter().collect(),
            outputs,
            notes: notes.clone(),
        });
        Ok(ExecutionResult { outputs: values, notes, recording })
    }
}

fn run_error(node: &Node, error: OpError) -> Error {
    RunError { node: node.name.clone(), op: node.op.name(), error }.into()
}
