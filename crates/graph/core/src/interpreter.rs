//! Runs a graph node by node on the host.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::ops::Facts;
use crate::{Fact, Graph, Inputs, Node, Op, OpError, Operation, Value, ValueId, shape};

/// An error of a node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node `{node}` ({op}): {error}")]
pub struct RunError {
    /// The node's name.
    pub node: String,
    /// The operation's name.
    pub op: &'static str,
    /// The cause.
    pub error: OpError,
}

impl From<RunError> for OpError {
    /// An error within a subgraph of a node.
    fn from(error: RunError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// The values of a graph while it runs. A value is dropped after its last use.
#[derive(Debug)]
pub struct Scope<'a> {
    graph: &'a Graph,
    values: Vec<Option<Value>>,
    /// The index of the last node that reads each value; `usize::MAX` for outputs.
    last_use: BTreeMap<ValueId, usize>,
}

impl<'a> Scope<'a> {
    /// Starts with the graph's inputs, in order. Their number must match.
    pub fn new(graph: &'a Graph, inputs: Vec<Value>) -> Result<Self, OpError> {
        if inputs.len() != graph.inputs.len() {
            let text = format!("{} inputs are given, but the graph has {}", inputs.len(), graph.inputs.len());
            return Err(OpError::Invalid(text));
        }
        let mut values = vec![None; graph.values.len()];
        for (id, constant) in &graph.constants {
            values[id.index()] = Some(constant.clone().into());
        }
        for (id, input) in graph.inputs.iter().zip(inputs) {
            values[id.index()] = Some(input);
        }
        let mut last_use = BTreeMap::new();
        for (index, node) in graph.nodes.iter().enumerate() {
            last_use.extend(node.inputs.iter().flatten().map(|id| (*id, index)));
        }
        last_use.extend(graph.outputs.iter().map(|id| (*id, usize::MAX)));
        Ok(Self { graph, values, last_use })
    }

    /// Runs one node; fails if its outputs would exceed `limit` bytes.
    fn step(&mut self, index: usize, node: &Node, limit: usize) -> Result<(), OpError> {
        let operands: Vec<_> =
            node.inputs.iter().map(|id| id.map(|id| self.values[id.index()].as_ref()).flatten()).collect();
        check_size(node, &operands, limit)?;
        let result = node.op.eval(&Inputs::new(&operands, node.outputs.len()))?;
        if result.len() < node.outputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1) {
            return Err(OpError::unsupported(format!("output {}", result.len())));
        }
        for (id, value) in node.outputs.iter().zip(result) {
            if let Some(id) = id
                && self.last_use.contains_key(id)
            {
                self.values[id.index()] = Some(value);
            }
        }
        for id in node.inputs.iter().flatten() {
            if self.last_use.get(id) == Some(&index) && !self.graph.constants.contains_key(id) {
                self.values[id.index()] = None;
            }
        }
        Ok(())
    }

    /// The outputs, after every node ran.
    fn finish(mut self) -> Result<Vec<Value>, OpError> {
        // A value may be several outputs.
        let outputs = self.graph.outputs.iter().map(|id| self.values[id.index()].clone());
        let outputs = outputs.collect::<Option<Vec<_>>>();
        self.values.clear();
        outputs.ok_or_else(|| OpError::invalid("no node produces an output"))
    }
}

/// Fails if the inferred outputs of a node exceed `limit` bytes, because a failed allocation would
/// abort the process.
pub fn check_size(node: &Node, operands: &[Option<&Value>], limit: usize) -> Result<(), OpError> {
    // Nodes of subgraphs are checked when they run.
    if matches!(node.op, Op::Control(_)) {
        return Ok(());
    }
    let known = |value: &Option<&Value>| value.and_then(|value| value.tensor().ok()).map(Fact::from);
    let facts: Vec<_> = operands.iter().map(known).collect();
    // The evaluation reports invalid operands better.
    let result = node.op.infer(&Facts::new(&facts, node.outputs.len())).unwrap_or_default();
    for fact in result {
        let Some(shape) = fact.shape else { continue };
        // A string takes a pointer, a length and a capacity.
        if shape::count(&shape)?.saturating_mul(fact.dtype.size().unwrap_or(24)) > limit {
            return Err(OpError::TooLarge(shape));
        }
    }
    Ok(())
}

/// The default limit for the outputs of a node in bytes: a quarter of the memory, because
/// operations compute in wider types.
pub fn default_limit() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
        total
            .and_then(|total| total.trim().parse::<usize>().ok())
            .map_or(isize::MAX as usize, |kilobytes| kilobytes * 256)
    })
}

/// Runs a graph. Fails if a node's outputs would exceed a quarter of the machine's memory.
pub fn run(graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>, RunError> {
    run_within(graph, inputs, default_limit())
}

/// Runs a graph. Fails if a node's outputs would exceed `limit` bytes; subgraphs use the limit of
/// [`run`].
pub fn run_within(graph: &Graph, inputs: Vec<Value>, limit: usize) -> Result<Vec<Value>, RunError> {
    let outside = |error| RunError { node: graph.name.clone(), op: "graph", error };
    let mut scope = Scope::new(graph, inputs).map_err(outside)?;
    for (index, node) in graph.nodes.iter().enumerate() {
        let result = scope.step(index, node, limit);
        result.map_err(|error| RunError { node: node.name.clone(), op: node.op.name(), error })?;
    }
    scope.finish().map_err(outside)
}
