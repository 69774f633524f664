//! Changes of order that follow each other.

use crate::ops::Movement;
use crate::{Graph, Node, Op};

use super::makers;

/// Makes one transposition of two.
pub(super) fn transposes(graph: &mut Graph) {
    for index in 0..graph.nodes.len() {
        let Some(outer) = perm(&graph.nodes[index]) else { continue };
        let maker = graph.nodes[index].inputs[0].and_then(|id| makers(graph).get(&id).copied());
        let Some((inner, source)) =
            maker.and_then(|maker| Some((perm(&graph.nodes[maker])?, graph.nodes[maker].inputs[0]?)))
        else {
            continue;
        };
        if outer.len() != inner.len() || outer.iter().any(|&axis| axis >= inner.len()) {
            continue;
        }
        let both = outer.iter().map(|&axis| inner[axis]).collect();
        graph.nodes[index].op = Movement::Transpose { perm: Some(both) }.into();
        graph.nodes[index].inputs[0] = Some(source);
    }
}

/// The order that a transposition names.
fn perm(node: &Node) -> Option<Vec<usize>> {
    match &node.op {
        Op::Movement(Movement::Transpose { perm }) => perm.clone(),
        _ => None,
    }
}
