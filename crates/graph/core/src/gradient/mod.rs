//! Gradients: given a scalar and the values that it depends on, adds the nodes that compute the
//! derivatives (reverse mode).
//!
//! Gradients consist of existing operations, so anything that runs a graph runs its gradients too.
//! There is one file per family of operations; a rule computes the gradients of an operation's
//! inputs from the gradient of its output. Rules take sizes and paddings from the shapes, so shapes
//! must be known.

mod elementwise;
mod movement;
mod norm;
mod pool;
mod product;
mod random;
mod reduction;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::builder::GraphBuilder;
use crate::interpreter::RunError;
use crate::ops::elementwise::Binary;
use crate::{Fact, Node, Op, OpError, Operation, Tensor, ValueId, shape};

/// Appends the nodes that compute the gradients of `loss`, which has one element, with respect to
/// `by`, and returns them in that order.
///
/// Fails with the node's name if an operation in between has no gradient, and if the loss does not
/// depend on one of the values.
pub fn gradients(builder: &mut GraphBuilder, loss: ValueId, by: &[ValueId]) -> Result<Vec<ValueId>, RunError> {
    let needed = needed(builder, by);
    let mut gradients: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    gradients.insert(loss, seed(builder, loss)?);
    for index in (0..builder.graph().nodes.len()).rev() {
        let node = builder.graph().nodes[index].clone();
        let got: Vec<Option<ValueId>> = node.outputs.iter().map(|id| gradients.get(&(*id)?).copied()).collect();
        let expected: Vec<bool> = node.inputs.iter().map(|id| id.is_some_and(|id| needed[id.index()])).collect();
        if got.iter().all(Option::is_none) || !expected.contains(&true) {
            continue;
        }
        builder.name_nodes(format!("gradient of {}", node.name));
        let mut result = Vec::new();
        let mut backward = BackwardNode { builder, index, node: &node, got, expected, result: &mut result };
        backward.node()?;
        for (id, gradient) in result {
            let sum = match gradients.get(&id) {
                Some(other) => builder.op(Binary::Add, &[*other, gradient])?,
                None => gradient,
            };
            gradients.insert(id, sum);
        }
    }
    let found = |id: &ValueId| {
        gradients.get(id).copied().ok_or_else(|| RunError {
            node: builder.graph().name(*id).to_owned(),
            op: "gradient",
            error: OpError::invalid("the loss does not depend on it"),
        })
    };
    by.iter().map(found).collect()
}

/// Whether each value is one of `by` or depends on one.
fn needed(builder: &GraphBuilder, by: &[ValueId]) -> Vec<bool> {
    let mut needed = vec![false; builder.graph().values.len()];
    for id in by {
        needed[id.index()] = true;
    }
    for node in &builder.graph().nodes {
        if node.inputs.iter().flatten().any(|id| needed[id.index()]) {
            for id in node.outputs.iter().flatten() {
                // Only floats have gradients.
                needed[id.index()] = builder.fact(*id).is_none_or(|fact| fact.dtype.is_float());
            }
        }
    }
    needed
}

/// The gradient of the loss with respect to itself.
fn seed(builder: &mut GraphBuilder, loss: ValueId) -> Result<ValueId, RunError> {
    let name = builder.graph().name(loss).to_owned();
    builder.name_nodes(format!("gradient of {name}"));
    let one = |fact: &Fact| -> Result<Tensor, OpError> {
        let shape = fact.shape()?;
        if shape::count(shape)? != 1 || !fact.dtype.is_float() {
            return Err(OpError::invalid(format!(
                "the loss has type {} and shape {shape:?}, expected one float",
                fact.dtype
            )));
        }
        Tensor::from_floats(fact.dtype, shape, &[1.0])
    };
    let fact = builder.fact(loss).ok_or_else(|| OpError::invalid("no node produces the loss"));
    let one = fact.and_then(one).map_err(|error| builder.wrong("gradient", error))?;
    Ok(builder.constant(one))
}

/// A node in the backward pass.
struct BackwardNode<'a> {
    builder: &'a mut GraphBuilder,
    /// The node's index in the graph.
    index: usize,
    node: &'a Node,
    /// The gradient of each output, if the loss depends on it.
    got: Vec<Option<ValueId>>,
    /// Whether the gradient of each input is needed.
    expected: Vec<bool>,
    result: &'a mut Vec<(ValueId, ValueId)>,
}

impl BackwardNode<'_> {
    fn node(&mut self) -> Result<(), RunError> {
        let node = self.node;
        // Only one output carries a gradient, except for `Split`.
        let parts = matches!(node.op, Op::Movement(crate::ops::Movement::Split { .. }));
        if !parts && self.got.iter().skip(1).any(Option::is_some) {
            return Err(self.unsupported("the gradient of an output other than the first"));
        }
        match &node.op {
            Op::Elementwise(op) => elementwise::backward(op, self),
            Op::Movement(op) => movement::backward(op, self),
            Op::Product(op) => product::backward(op, self),
            Op::Pool(op) => pool::backward(op, self),
            Op::Reduction(op) => reduction::backward(op, self),
            Op::Norm(op) => norm::backward(op, self),
            Op::Random(op) => random::backward(op, self),
            _ => Err(self.no_gradient()),
        }
    }

    /// The error of an operation without a gradient.
    fn no_gradient(&self) -> RunError {
        self.unsupported("its gradient")
    }

    /// The error of a form of an operation without a gradient.
    fn unsupported(&self, what: &str) -> RunError {
        self.error(OpError::unsupported(what))
    }

    fn error(&self, error: OpError) -> RunError {
        RunError { node: self.node.name.clone(), op: self.node.op.name(), error }
    }

    fn output_gradient(&self) -> Result<ValueId, RunError> {
        self.got.first().copied().flatten().ok_or_else(|| self.no_gradient())
    }

    fn input(&self, index: usize) -> Result<ValueId, RunError> {
        let id = self.node.inputs.get(index).copied().flatten();
        id.ok_or_else(|| self.error(OpError::MissingInput(index)))
    }

    /// Whether an input is present.
    fn has_input(&self, index: usize) -> bool {
        self.node.inputs.get(index).copied().flatten().is_some()
    }

    /// The first output.
    fn output(&mut self) -> Result<ValueId, RunError> {
        self.builder.output_of(self.index, 0)
    }

    /// Whether the gradient of an input is needed.
    fn needs_gradient(&self, index: usize) -> bool {
        self.expected.get(index).copied().unwrap_or(false)
    }

    fn shape(&self, id: ValueId) -> Result<Vec<usize>, RunError> {
        self.builder.shape(id).map_err(|error| self.error(error))
    }

    /// The elements of an input, which must be known.
    fn elements(&self, index: usize) -> Result<&Tensor, RunError> {
        let fact = self.builder.fact(self.input(index)?);
        let fact = fact.ok_or_else(|| self.error(OpError::MissingInput(index)))?;
        fact.value().map_err(|error| self.error(error))
    }

    /// What is known about all inputs.
    fn facts(&self) -> Vec<Option<Fact>> {
        self.node.inputs.iter().map(|id| self.builder.fact((*id)?).cloned()).collect()
    }

    /// Sets the gradient of an input, summed over the axes that the input was broadcast along.
    fn add_gradient(&mut self, index: usize, gradient: ValueId) -> Result<(), RunError> {
        let id = self.input(index)?;
        let gradient = self.builder.sum_to(gradient, &self.shape(id)?)?;
        self.result.push((id, gradient));
        Ok(())
    }
}
