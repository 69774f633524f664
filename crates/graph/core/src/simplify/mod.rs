//! Simplifies a graph: removes dead nodes, folds constants, folds batch normalization into the
//! convolution before it, merges transpositions, and replaces patterns of small operations by the
//! operation that they compute.

mod dead_code;
mod gelu;
mod layer;
mod scale;
#[cfg(test)]
mod tests;
mod transpose;
mod uses;

use std::collections::HashMap;

use crate::{Graph, Inputs, Node, Op, Operation, Value, ValueId};

/// Folding must not enlarge a model: results with more elements than this are computed at run time.
const MAX_FOLDED_ELEMENTS: usize = 1 << 22;

/// Simplifies a graph. Outputs stay the same up to rounding.
pub fn simplify(graph: &mut Graph) {
    constants(graph);
    layer::norms(graph);
    gelu::join(graph);
    scale::into_convolutions(graph);
    transpose::transposes(graph);
    transpose::products(graph);
    dead_code::remove(graph);
}

/// Folds constants. A node that fails stays, and reports its error when it runs.
fn constants(graph: &mut Graph) {
    let nodes = std::mem::take(&mut graph.nodes);
    for node in nodes {
        let result = known(graph, &node);
        match result {
            Some(values) => {
                for (id, value) in node.outputs.iter().zip(values) {
                    if let (Some(id), Value::Tensor(tensor)) = (id, value) {
                        graph.constants.insert(*id, tensor);
                    }
                }
            }
            None => graph.nodes.push(node),
        }
    }
}

/// The results of a node, if they are constant tensors and not too large.
fn known(graph: &Graph, node: &Node) -> Option<Vec<Value>> {
    if node.op.is_random() || matches!(node.op, Op::Control(_) | Op::Sequence(_)) {
        return None;
    }
    let constants: Vec<Option<Value>> = node
        .inputs
        .iter()
        .map(|id| match id {
            Some(id) => graph.constants.get(id).map(|tensor| Some(tensor.clone().into())),
            None => Some(None),
        })
        .collect::<Option<_>>()?;
    let operands: Vec<Option<&Value>> = constants.iter().map(Option::as_ref).collect();
    let facts: Vec<_> =
        node.inputs.iter().map(|id| id.and_then(|id| graph.constants.get(&id)).map(Into::into)).collect();
    let outputs = node.op.infer(&crate::ops::Facts::new(&facts, node.outputs.len())).ok()?;
    let small = |fact: &crate::Fact| {
        fact.shape()
            .ok()
            .and_then(|shape| crate::shape::count(shape).ok())
            .is_some_and(|count| count <= MAX_FOLDED_ELEMENTS)
    };
    if !outputs.iter().all(small) {
        return None;
    }
    let result = node.op.eval(&Inputs::new(&operands, node.outputs.len())).ok()?;
    result.iter().all(|value| matches!(value, Value::Tensor(_))).then_some(result)
}

/// The index of the node that produces each value, for first outputs.
fn producers(graph: &Graph) -> HashMap<ValueId, usize> {
    let first = |(index, node): (usize, &Node)| node.outputs.first().copied().flatten().map(|id| (id, index));
    graph.nodes.iter().enumerate().filter_map(first).collect()
}

/// A constant operand of a node.
fn constant<'a>(graph: &'a Graph, node: &Node, index: usize) -> Option<&'a crate::Tensor> {
    graph.constants.get(&node.inputs.get(index).copied().flatten()?)
}
