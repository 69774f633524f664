//! A graph as patterns look at it: who makes a value, and who reads it.

use std::collections::HashMap;

use crate::ops::Elementwise;
use crate::ops::elementwise::Binary;
use crate::{Graph, Node, Op, ValueId};

use super::makers;

/// Who makes and who uses the values of a graph, kept while nodes change: to look at all nodes for each of them would take
/// the square of their number.
pub(super) struct Index {
    pub(super) makers: HashMap<ValueId, usize>,
    uses: HashMap<ValueId, Uses>,
}

/// How a value is used.
#[derive(Clone, Copy, Default)]
struct Uses {
    /// As operands and outputs.
    count: usize,
    outputs: usize,
    /// The places of the nodes that use it, summed up: the place, where there is one.
    places: usize,
}

impl Index {
    pub(super) fn new(graph: &Graph) -> Self {
        let mut index = Self { makers: makers(graph), uses: HashMap::new() };
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
            uses.places = uses.places.wrapping_add(at);
        }
    }

    /// Gives a node other operands.
    pub(super) fn rewire(&mut self, graph: &mut Graph, at: usize, inputs: Vec<Option<ValueId>>) {
        for id in graph.nodes[at].inputs.iter().flatten() {
            let uses = self.uses.entry(*id).or_default();
            uses.count = uses.count.saturating_sub(1);
            uses.places = uses.places.wrapping_sub(at);
        }
        graph.nodes[at].inputs = inputs;
        self.read(at, &graph.nodes[at]);
    }

    /// Whether a value is used once, be it as an output.
    pub(super) fn is_used_once(&self, id: ValueId) -> bool {
        self.uses.get(&id).is_some_and(|uses| uses.count == 1)
    }

    /// The one node that reads a value, if nobody else wants it.
    fn reader(&self, id: ValueId) -> Option<usize> {
        let uses = self.uses.get(&id)?;
        (uses.count == 1 && uses.outputs == 0).then_some(uses.places)
    }
}

/// A graph with its makers and uses.
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    index: &'a Index,
}

impl<'a> View<'a> {
    pub(super) fn new(graph: &'a Graph, index: &'a Index) -> Self {
        Self { graph, index }
    }

    /// The node that makes a value.
    pub(super) fn maker(&self, id: ValueId) -> Option<&Node> {
        self.index.makers.get(&id).map(|&index| &self.graph.nodes[index])
    }

    /// An operand of a node.
    pub(super) fn operand(&self, node: &Node, index: usize) -> Option<ValueId> {
        node.inputs.get(index).copied().flatten()
    }

    /// The operands of a node of two that makes a value.
    pub(super) fn binary(&self, id: ValueId, kind: Binary) -> Option<(ValueId, ValueId)> {
        let node = self.maker(id)?;
        matches!(&node.op, Op::Elementwise(Elementwise::Binary(own)) if *own == kind).then_some(())?;
        Some((self.operand(node, 0)?, self.operand(node, 1)?))
    }

    /// A constant of one element, which broadcasts to any shape without a change of rank.
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

    /// The node of two operands that alone reads a value, and its other operand.
    pub(super) fn reader_with(&self, id: ValueId, kind: Binary) -> Option<(usize, ValueId)> {
        let at = self.index.reader(id)?;
        let node = &self.graph.nodes[at];
        matches!(&node.op, Op::Elementwise(Elementwise::Binary(own)) if *own == kind).then_some(())?;
        let other = node.inputs.iter().flatten().copied().find(|&other| other != id)?;
        Some((at, other))
    }
}
