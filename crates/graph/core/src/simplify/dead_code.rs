//! Dead code elimination.

use std::collections::HashSet;

use crate::{Graph, ValueId};

/// Removes nodes and constants that nothing uses.
pub(super) fn remove(graph: &mut Graph) {
    let mut expected: HashSet<ValueId> = graph.outputs.iter().copied().collect();
    let mut live = vec![false; graph.nodes.len()];
    for (index, node) in graph.nodes.iter().enumerate().rev() {
        if node.outputs.iter().flatten().any(|id| expected.contains(id)) {
            live[index] = true;
            expected.extend(node.inputs.iter().flatten());
        }
    }
    let mut live = live.into_iter();
    graph.nodes.retain(|_| live.next().unwrap_or(true));
    graph.constants.retain(|id, _| expected.contains(id));
}
