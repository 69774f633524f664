//! A graph as patterns look at it: who makes a value, and who reads it.

use std::collections::HashMap;

use crate::ops::Elementwise;
use crate::ops::elementwise::Binary;
use crate::{Graph, Node, Op, ValueId};

use super::{makers, uses};

/// A graph with its makers and uses.
pub(super) struct View<'a> {
    pub(super) graph: &'a Graph,
    makers: HashMap<ValueId, usize>,
    uses: HashMap<ValueId, usize>,
}

impl<'a> View<'a> {
    pub(super) fn new(graph: &'a Graph) -> Self {
        Self { graph, makers: makers(graph), uses: uses(graph) }
    }

    /// The node that makes a value.
    pub(super) fn maker(&self, id: ValueId) -> Option<&Node> {
        self.makers.get(&id).map(|&index| &self.graph.nodes[index])
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

    /// The one node that reads a value, if nobody else wants it.
    pub(super) fn reader(&self, id: ValueId) -> Option<usize> {
        if self.uses.get(&id) != Some(&1) {
            return None;
        }
        self.graph.nodes.iter().position(|node| node.inputs.contains(&Some(id)))
    }

    /// The node of two operands that alone reads a value, and its other operand.
    pub(super) fn reader_with(&self, id: ValueId, kind: Binary) -> Option<(usize, ValueId)> {
        let at = self.reader(id)?;
        let node = &self.graph.nodes[at];
        matches!(&node.op, Op::Elementwise(Elementwise::Binary(own)) if *own == kind).then_some(())?;
        let other = node.inputs.iter().flatten().copied().find(|&other| other != id)?;
        Some((at, other))
    }
}
