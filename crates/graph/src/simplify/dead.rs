//! Nodes and constants that nobody uses.

use std::collections::HashSet;

use crate::{Graph, ValueId};

/// Removes them.
pub(super) fn remove(graph: &mut Graph) {
    let mut wanted: HashSet<ValueId> = graph.outputs.iter().copied().collect();
    let mut kept = vec![false; graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        if node.outputs.iter().flatten().any(|id| wanted.contains(id)) {
            kept[index] = true;
            wanted.extend(node.inputs.iter().flatten());
        }
    }
    let mut kept = kept.into_iter();
    graph.nodes.retain(|_| kept.next().unwrap_or(true));
    graph.constants.retain(|id, _| wanted.contains(id));
}
