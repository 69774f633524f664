//! The same graph with less to do: what nobody uses goes, constants are computed, norms with known figures become part of
//! the convolution before them, changes of order that follow each other become one, and patterns of small operations
//! become the operation that they spell.

mod dead;
mod gelu;
mod layer;
mod order;
mod scale;
#[cfg(test)]
mod tests;
mod view;

use std::collections::HashMap;

use crate::{Graph, Inputs, Node, Op, Operation, Value, ValueId};

/// What is computed ahead may not grow a model: results of more elements than this are made where they are needed.
const FOLDED: usize = 1 << 22;

/// Simplifies a graph. Outputs keep their values, to the last rounding of what was put together.
pub fn simplify(graph: &mut Graph) {
    constants(graph);
    layer::norms(graph);
    gelu::join(graph);
    scale::into_convolutions(graph);
    order::transposes(graph);
    order::products(graph);
    dead::remove(graph);
}

/// Computes what depends on constants alone. What cannot be computed stays, and says why when it runs.
fn constants(graph: &mut Graph) {
    let nodes = std::mem::take(&mut graph.nodes);
    for node in nodes {
        let made = known(graph, &node);
        match made {
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

/// What a node makes, where that is known, is tensors, and is not too much.
fn known(graph: &Graph, node: &Node) -> Option<Vec<Value>> {
    if node.op.is_random() || matches!(node.op, Op::Control(_) | Op::Sequence(_)) {
        return None;
    }
    let held: Vec<Option<Value>> = node
        .inputs
        .iter()
        .map(|id| match id {
            Some(id) => graph.constants.get(id).map(|tensor| Some(tensor.clone().into())),
            None => Some(None),
        })
        .collect::<Option<_>>()?;
    let operands: Vec<Option<&Value>> = held.iter().map(Option::as_ref).collect();
    let facts: Vec<_> =
        node.inputs.iter().map(|id| id.and_then(|id| graph.constants.get(&id)).map(Into::into)).collect();
    let outputs = node.op.infer(&crate::ops::Facts::new(&facts, node.outputs.len())).ok()?;
    let small = |fact: &crate::Fact| {
        fact.shape().ok().and_then(|shape| crate::shape::count(shape).ok()).is_some_and(|count| count <= FOLDED)
    };
    if !outputs.iter().all(small) {
        return None;
    }
    let made = node.op.eval(&Inputs::new(&operands, node.outputs.len())).ok()?;
    made.iter().all(|value| matches!(value, Value::Tensor(_))).then_some(made)
}

/// By value: the node that makes it as its first output.
fn makers(graph: &Graph) -> HashMap<ValueId, usize> {
    let first = |(index, node): (usize, &Node)| node.outputs.first().copied().flatten().map(|id| (id, index));
    graph.nodes.iter().enumerate().filter_map(first).collect()
}

/// A constant operand of a node.
fn constant<'a>(graph: &'a Graph, node: &Node, index: usize) -> Option<&'a crate::Tensor> {
    graph.constants.get(&node.inputs.get(index).copied().flatten()?)
}
