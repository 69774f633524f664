//! What is known of a graph's values before it runs, told node by node.

use crate::ops::{Facts, Operation};
use crate::{Fact, Graph, Inputs, Node, Op, Value, shape};

/// Constants of more elements than this are not computed ahead: they are no shapes.
const SMALL: usize = 1024;

/// What is known of every value of a graph, of which this is known of its inputs. What cannot be told, or would fail,
/// is `None`.
pub fn facts(graph: &Graph, inputs: &[Option<Fact>]) -> Vec<Option<Fact>> {
    let mut known: Vec<Option<Fact>> = vec![None; graph.values.len()];
    for (id, constant) in &graph.constants {
        known[id.index()] = Some(constant.into());
    }
    for (id, fact) in graph.inputs.iter().zip(inputs) {
        known[id.index()].clone_from(fact);
    }
    for node in &graph.nodes {
        let made = outputs(node, &known);
        for (id, fact) in node.outputs.iter().zip(made) {
            if let Some(id) = id {
                known[id.index()] = Some(fact);
            }
        }
    }
    known
}

/// What is known of a node's outputs; nothing where it is not known what all its operands are.
fn outputs(node: &Node, known: &[Option<Fact>]) -> Vec<Fact> {
    let operands: Vec<_> = node.inputs.iter().map(|id| id.and_then(|id| known[id.index()].clone())).collect();
    if node.inputs.iter().zip(&operands).any(|(id, fact)| id.is_some() && fact.is_none()) {
        return Vec::new();
    }
    let mut made = node.op.infer(&Facts::new(&operands, node.outputs.len())).unwrap_or_default();
    let folded = fold(&node.op, &operands, node.outputs.len(), &made);
    for (fact, value) in made.iter_mut().zip(folded) {
        if let Ok(tensor) = value.tensor() {
            *fact = tensor.into();
        }
    }
    made
}

/// What a node makes of constants, where all of them are small.
fn fold(op: &Op, operands: &[Option<Fact>], outputs: usize, made: &[Fact]) -> Vec<Value> {
    let small = |fact: &Fact| fact.shape.as_ref().is_some_and(|one| shape::count(one).is_ok_and(|size| size <= SMALL));
    // Graphs inside may run for any time.
    let runs = matches!(op, Op::Control(_));
    if runs || op.is_random() || made.is_empty() || !made.iter().chain(operands.iter().flatten()).all(small) {
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
