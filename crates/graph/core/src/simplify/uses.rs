//! Access to a graph for pattern matching: the producer and the uses of each value.

use std::collections::HashMap;

use crate::ops::Elementwise;
use crate::ops::elementwise::Binary;
use crate::{Graph, Node, Op, ValueId};

use super::producers;

/// Producers and uses are kept up to date while nodes change, because searching all nodes each time
/// would take quadratic time.
pub(super) struct UseIndex {
    pub(super) producers: HashMap<ValueId, usize>,
    uses: HashMap<ValueId, Uses>,
}

/// The uses of a value.
#[derive(Clone, Copy, Default)]
struct Uses {
    /// The number of uses as operand or output.
    count: usize,
    outputs: usize,
    /// The sum of the indices of the nodes that read it: the index itself if there is one node.
    node_sum: usize,
}

impl UseIndex {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut index = Self { producers: producers(graph), uses: HashMap::new() };
        graph.nodes.iter().enumerate().for_each(|(at, node)| index.read(at, node));
        for id in &graph.outputs {
            let uses = index.uses.entry(*id).or_default();
            uses.count += 1;
            uses.outputs += 1;
        }
        index
    }

    fn read(&mut self, at: usize, node: &Node) {
        for id in node.inputs.iter().flatten() {
            let uses = self.uses.entry(*id).or_default();
            uses.count += 1;
            uses.node_sum = uses.node_sum.wrapping_add(at);
        }
    }

    /// Replaces the operands of a node.
    pub(super) fn rewire(&mut self, graph: &mut Graph, at: usize, inputs: Vec<Option<ValueId>>) {
        for id in graph.nodes[at].inputs.iter().flatten() {
            let uses = self.uses.entry(*id).or_default();
            uses.count = uses.count.saturating_sub(1);
            uses.node_sum = uses.node_sum.wrapping_sub(at);
        }
        graph.nodes[at].inputs = inputs;
        self.read(at, &graph.nodes[at]);
    }

    /// Whether a value has exactly one use, as operand or output.
    pub(super) fn is_used_once(&self, id: ValueId) -> bool {
        self.uses.get(&id).is_some_and(|uses| uses.count == 1)
    }

    /// The only node that reads a value; `None` if it has other uses.
    fn reader(&self, id: ValueId) -> Option<usize> {
        let uses = self.uses.get(&id)?;
        (uses.count == 1 && uses.outputs == 0).then_some(uses.node_sum)
    }
}

/// A graph with its producers and uses.
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    index: &'a UseIndex,
}

impl<'a> View<'a> {
    pub(super) fn new(graph: &'a Graph, index: &'a UseIndex) -> Self {
        Self { graph, index }
    }

    /// The node that produces a value.
    pub(super) fn producer(&self, id: ValueId) -> Option<&Node> {
        self.index.producers.get(&id).map(|&index| &self.graph.nodes[index])
    }

    pub(super) fn operand(&self, node: &Node, index: usize) -> Option<ValueId> {
        node.inputs.get(index).copied().flatten()
    }

    /// The operands of the binary node that produces a value.
    pub(super) fn binary(&self, id: ValueId, kind: Binary) -> Option<(ValueId, ValueId)> {
        let node = self.producer(id)?;
        matches!(&node.op, Op::Elementwise(Elementwise::Binary(own)) if *own == kind).then_some(())?;
        Some((self.operand(node, 0)?, self.operand(node, 1)?))
    }

    /// A constant of one element whose broadcast does not change the rank of the other operand.
    pub(super) fn scalar(&self, id: ValueId) -> Option<f64> {
        self.graph
            .constants
            .get(&id)
            .filter(|tensor| tensor.len() == 1 && tensor.rank() <= 1)?
            .floats()
            .ok()?
            .first()
            .copied()
    }

    /// The binary node that is the only use of a value, and its other operand.
    pub(super) fn reader_with(&self, id: ValueId, kind: Binary) -> Option<(usize, ValueId)> {
        let at = self.index.reader(id)?;
        let node = &self.graph.nodes[at];
        matches!(&node.op, Op::Elementwise(Elementwise::Binary(own)) if *own == kind).then_some(())?;
        let other = node.inputs.iter().flatten().copied().find(|&other| other != id)?;
        Some((at, other))
    }
}
