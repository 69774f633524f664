//! A dry run: the decisions of an execution, made by the same code, with nothing uploaded or
//! submitted.

use roci_graph::ops::Facts;
use roci_graph::{Fact, Graph, Node, Op, Operation, ValueId, shape};
use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, CodeFormat, DeviceInfo, MemoryType, Registry};

use super::Execution;
use crate::device_state::{DeviceState, DryRun};
use crate::error::LoweringError;
use crate::placement::Placement;
use crate::value_state::{DeviceLocation, ValueState};
use crate::{Error, MemoryUsage};

/// A dry run does not precompute results with more elements than this.
const MAX_PRECOMPUTED_ELEMENTS: usize = 1 << 20;

/// What a run would do.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DryRunReport {
    /// The placement of each node of the graph.
    pub placements: Vec<Placement>,
    /// Device memory that a run needs. Nodes whose shapes depend on data are not counted.
    pub memory: MemoryUsage,
    /// Dispatches after fusion.
    pub dispatches: usize,
}

/// Plans a run without a device: where each node runs, and how much device memory the run needs.
///
/// `inputs` is what is known about each input, and `format` the preferred code format of the device
/// to plan for. Pass the graph after [`roci_graph::simplify()`], which a session applies before its
/// first run. Optional features of a device, such as matrix units, are not taken into account.
pub fn dry_run(graph: &Graph, inputs: &[Option<Fact>], format: CodeFormat) -> Result<DryRunReport, Error> {
    let registry = Registry::new().with(NullDriver::new(1));
    let device = registry.open(&registry.parse(roci_hal::null::SCHEME)?, None)?;
    let placeholder = device.allocate(BufferDesc::new(4, MemoryType::Host))?.whole();
    // Vulkan devices require at most 256 bytes; the CPU requires the alignment of its vectors.
    let binding_alignment = if format == CodeFormat::Native { 16 } else { 256 };
    let info = DeviceInfo { formats: vec![format], binding_alignment, ..device.info().clone() };
    let mut state = DeviceState::new(device, format == CodeFormat::Native);
    state.dry_run = Some(DryRun { info, placeholder, dispatches: 0 });
    let placements = place_nodes(&mut state, graph, inputs)?;
    let dispatches = state.dry_run.map_or(0, |dry_run| dry_run.dispatches);
    Ok(DryRunReport { placements, memory: state.memory, dispatches })
}

/// Where each node of a graph would run.
fn place_nodes(state: &mut DeviceState, graph: &Graph, inputs: &[Option<Fact>]) -> Result<Vec<Placement>, Error> {
    let mut execution = Execution::new(state, graph, &[], 0);
    for (id, fact) in graph.inputs.iter().zip(inputs) {
        execution.values.set_dry_fact(*id, fact.clone());
    }
    let mut placements = Vec::with_capacity(graph.nodes.len());
    for (index, node) in graph.nodes.iter().enumerate() {
        let results = match execution.run_node(node) {
            Ok(results) => {
                placements.push(std::mem::replace(&mut execution.placement, Placement::Precomputed));
                results
            }
            Err(error) => {
                placements.push(match error {
                    Error::UnknownValue(_) => Placement::Unknown(error.to_string()),
                    Error::Unsupported { reason, .. } => Placement::Refused(reason),
                    Error::Run(error) => Placement::Refused(error.error.to_string()),
                    other => Placement::Refused(other.to_string()),
                });
                execution.inferred_results(node)
            }
        };
        execution.store(index, node, results);
    }
    execution.values.plan_segment()?;
    Ok(placements)
}

impl Execution<'_> {
    /// In a dry run, fails if the shape of an operand is not known.
    pub(super) fn require_shapes(&self, node: &Node) -> Result<(), LoweringError> {
        if !self.values.is_dry_run() {
            return Ok(());
        }
        let is_unknown = |id: &&ValueId| self.values.fact(**id).is_none_or(|fact| fact.shape.is_none());
        node.inputs.iter().flatten().find(is_unknown).map_or(Ok(()), |id| Err(LoweringError::UnknownValue(*id)))
    }

    /// Whether a dry run evaluates a node: its operands are known and its results are small.
    pub(super) fn is_cheap(&self, node: &Node) -> bool {
        let all_known = node.inputs.iter().flatten().all(|id| self.values.state(*id).host.is_some());
        if !all_known || node.op.is_random() || matches!(node.op, Op::Control(_)) {
            return false;
        }
        let is_small = |fact: &Fact| {
            let shape = fact.shape.as_ref();
            shape.is_none_or(|shape| shape::count(shape).is_ok_and(|count| count <= MAX_PRECOMPUTED_ELEMENTS))
        };
        self.infer(node).iter().all(is_small)
    }

    /// The results of a node that a run would evaluate on the host, without evaluating it.
    pub(super) fn skip(&mut self, node: &Node) -> Result<Vec<ValueState>, Error> {
        let is_in_segment = |id: &ValueId| {
            let device = self.values.state(*id).device.as_ref();
            matches!(device.map(|device| &device.location), Some(DeviceLocation::Segment(_)))
        };
        let is_precomputed = self.placement == Placement::Precomputed;
        // A run would flush the segment to read these operands back.
        if !is_precomputed && node.inputs.iter().flatten().any(is_in_segment) {
            self.values.plan_segment()?;
        }
        let results = self.inferred_results(node);
        Ok(results.into_iter().map(|result| ValueState { is_precomputed, ..result }).collect())
    }

    /// The results of a node, of which only type and shape are known.
    fn inferred_results(&self, node: &Node) -> Vec<ValueState> {
        let result = |fact: Fact| ValueState { dry_fact: Some(Fact { value: None, ..fact }), ..ValueState::default() };
        self.infer(node).into_iter().map(result).collect()
    }

    fn infer(&self, node: &Node) -> Vec<Fact> {
        let facts: Vec<Option<Fact>> = node.inputs.iter().map(|id| id.and_then(|id| self.values.fact(id))).collect();
        node.op.infer(&Facts::new(&facts, node.outputs.len())).unwrap_or_default()
    }
}
