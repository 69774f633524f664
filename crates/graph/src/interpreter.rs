//! Runs a graph node by node on the host.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::ops::Facts;
use crate::{Fact, Graph, Inputs, Node, Op, OpError, Operation, Value, ValueId, shape};

/// What went wrong at which node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node `{node}` ({op}): {error}")]
pub struct RunError {
    /// The node's name.
    pub node: String,
    /// What it does.
    pub op: &'static str,
    /// What is wrong.
    pub error: OpError,
}

impl From<RunError> for OpError {
    /// An error inside of a node's own graph.
    fn from(error: RunError) -> Self {
        Self::Invalid(error.to_string())
    }
}

/// Values that are at hand while a graph runs. Those that no later node needs are dropped.
#[derive(Debug)]
pub struct Scope<'a> {
    graph: &'a Graph,
    values: Vec<Option<Value>>,
    /// The last node that needs a value; `usize::MAX` for outputs.
    last_use: BTreeMap<ValueId, usize>,
}

impl<'a> Scope<'a> {
    /// Begins with the graph's inputs, in its order. As many must be given as it has.
    pub fn new(graph: &'a Graph, inputs: Vec<Value>) -> Result<Self, OpError> {
        if inputs.len() != graph.inputs.len() {
            let text = format!("{} inputs are given, and the graph has {}", inputs.len(), graph.inputs.len());
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

    /// Runs one node, unless it would make more than `limit` bytes.
    fn step(&mut self, index: usize, node: &Node, limit: usize) -> Result<(), OpError> {
        let operands: Vec<_> =
            node.inputs.iter().map(|id| id.map(|id| self.values[id.index()].as_ref()).flatten()).collect();
        check_size(node, &operands, limit)?;
        let made = node.op.eval(&Inputs::new(&operands, node.outputs.len()))?;
        if made.len() < node.outputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1) {
            return Err(OpError::unsupported(format!("output {}", made.len())));
        }
        for (id, value) in node.outputs.iter().zip(made) {
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

    /// The outputs, once every node has run.
    fn finish(mut self) -> Result<Vec<Value>, OpError> {
        // An output may be named twice.
        let outputs = self.graph.outputs.iter().map(|id| self.values[id.index()].clone());
        let outputs = outputs.collect::<Option<Vec<_>>>();
        self.values.clear();
        outputs.ok_or_else(|| OpError::invalid("an output that nothing makes"))
    }
}

/// An error where what a node makes is known to be larger than `limit` bytes: a failed allocation would end the
/// process.
pub fn check_size(node: &Node, operands: &[Option<&Value>], limit: usize) -> Result<(), OpError> {
    // Nodes of graphs inside are checked themselves.
    if matches!(node.op, Op::Control(_)) {
        return Ok(());
    }
    let known = |value: &Option<&Value>| value.and_then(|value| value.tensor().ok()).map(Fact::from);
    let facts: Vec<_> = operands.iter().map(known).collect();
    // What is wrong with operands is told best where they are used.
    let made = node.op.infer(&Facts::new(&facts, node.outputs.len())).unwrap_or_default();
    for fact in made {
        let Some(shape) = fact.shape else { continue };
        // Text takes room for a pointer and two sizes.
        if shape::count(&shape)?.saturating_mul(fact.dtype.size().unwrap_or(24)) > limit {
            return Err(OpError::TooLarge(shape));
        }
    }
    Ok(())
}

/// The bytes that one step may make by default: a quarter of the memory, as operations compute in wider types.
pub fn quarter_of_memory() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
        total
            .and_then(|total| total.trim().parse::<usize>().ok())
            .map_or(isize::MAX as usize, |kilobytes| kilobytes * 256)
    })
}

/// Runs a graph on its inputs. A step that would make more than a quarter of the machine's memory is refused.
pub fn run(graph: &Graph, inputs: Vec<Value>) -> Result<Vec<Value>, RunError> {
    run_within(graph, inputs, quarter_of_memory())
}

/// Runs a graph on its inputs. A step that would make more than `limit` bytes is refused; in graphs inside of nodes the
/// limit of [`run`] holds.
pub fn run_within(graph: &Graph, inputs: Vec<Value>, limit: usize) -> Result<Vec<Value>, RunError> {
    let outside = |error| RunError { node: graph.name.clone(), op: "graph", error };
    let mut scope = Scope::new(graph, inputs).map_err(outside)?;
    for (index, node) in graph.nodes.iter().enumerate() {
        let made = scope.step(index, node, limit);
        made.map_err(|error| RunError { node: node.name.clone(), op: node.op.name(), error })?;
    }
    scope.finish().map_err(outside)
}
