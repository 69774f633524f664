//! Transpositions in sequence, and transpositions of constants in matrix products.

use crate::ops::{Movement, Product};
use crate::{Graph, Inputs, Node, Op, Operation, Value};

use super::producers;

/// Transposes constant matrices once instead of in every run.
pub(super) fn products(graph: &mut Graph) {
    for index in 0..graph.nodes.len() {
        let Op::Product(Product::MatMul { transpose_b: true, .. }) = &graph.nodes[index].op else { continue };
        let Some(id) = graph.nodes[index].inputs.get(1).copied().flatten() else { continue };
        let Some(matrix) = graph.constants.get(&id).filter(|matrix| matrix.rank() == 2).cloned() else { continue };
        let turn = Movement::Transpose { perm: Some(vec![1, 0]) };
        let Ok(result) = turn.eval(&Inputs::new(&[Some(&Value::from(matrix))], 1)) else { continue };
        let Some(Value::Tensor(turned)) = result.into_iter().next() else { continue };
        let turned = graph.constant(format!("{}.turned", graph.name(id)), turned);
        let node = &mut graph.nodes[index];
        node.inputs[1] = Some(turned);
        if let Op::Product(Product::MatMul { transpose_b, .. }) = &mut node.op {
            *transpose_b = false;
        }
    }
}

/// Merges two transpositions.
pub(super) fn transposes(graph: &mut Graph) {
    let producers = producers(graph);
    for index in 0..graph.nodes.len() {
        let Some(outer) = perm(&graph.nodes[index]) else { continue };
        let maker = graph.nodes[index].inputs[0].and_then(|id| producers.get(&id).copied());
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

/// The permutation of a transposition.
fn perm(node: &Node) -> Option<Vec<usize>> {
    match &node.op {
        Op::Movement(Movement::Transpose { perm }) => perm.clone(),
        _ => None,
    }
}
