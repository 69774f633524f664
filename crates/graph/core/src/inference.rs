//! Infers the facts of a graph's values before it runs.

use crate::ops::{Facts, Operation};
use crate::{Fact, Graph, Inputs, Node, Op, Value, shape};

/// Constants with more elements are not folded: they are not shapes.
const MAX_FOLDED_ELEMENTS: usize = 1024;

/// Infers the facts of every value of a graph from the facts of its inputs. A fact is `None` if it
/// cannot be inferred or the node would fail.
pub fn facts(graph: &Graph, inputs: &[Option<Fact>]) -> Vec<Option<Fact>> {
    let mut known: Vec<Option<Fact>> = vec![None; graph.values.len()];
    for (id, constant) in &graph.constants {
        known[id.index()] = Some(constant.into());
    }
    for (id, fact) in graph.inputs.iter().zip(inputs) {
        known[id.index()].clone_from(fact);
    }
    for node in &graph.nodes {
        let result = outputs(node, &known);
        for (id, fact) in node.outputs.iter().zip(result) {
            if let Some(id) = id {
                known[id.index()] = Some(fact);
            }
        }
    }
    known
}

/// The facts of a node's outputs; empty if an operand is unknown.
fn outputs(node: &Node, known: &[Option<Fact>]) -> Vec<Fact> {
    let operands: Vec<_> = node.inputs.iter().map(|id| id.and_then(|id| known[id.index()].clone())).collect();
    if node.inputs.iter().zip(&operands).any(|(id, fact)| id.is_some() && fact.is_none()) {
        return Vec::new();
    }
    let mut result = node.op.infer(&Facts::new(&operands, node.outputs.len())).unwrap_or_default();
    let folded = fold(&node.op, &operands, node.outputs.len(), &result);
    for (fact, value) in result.iter_mut().zip(folded) {
        if let Ok(tensor) = value.tensor() {
            *fact = tensor.into();
        }
    }
    result
}

/// Evaluates a node whose operands and outputs are small constants.
fn fold(op: &Op, operands: &[Option<Fact>], outputs: usize, result: &[Fact]) -> Vec<Value> {
    let small = |fact: &Fact| {
        fact.shape.as_ref().is_some_and(|one| shape::count(one).is_ok_and(|size| size <= MAX_FOLDED_ELEMENTS))
    };
    // A subgraph may run for any time.
    let runs = matches!(op, Op::Control(_));
    if runs || op.is_random() || result.is_empty() || !result.iter().chain(operands.iter().flatten()).all(small) {
        return Vec::new();
    }
    let values: Option<Vec<Option<Value>>> = operands
        .iter()
        .map(|fact| match fact {
            None => Some(None),
            Some(fact) => fact.value.clone().map(|tensor| Some(tensor.into())),
        })
        .collect();
    let Some(values) = values else { return Vec::new() };
    let values: Vec<_> = values.iter().map(Option::as_ref).collect();
    op.eval(&Inputs::new(&values, outputs)).unwrap_or_default()
}
