//! Gradients: given a scalar and the values that it depends on, the nodes that compute how it changes with each.
//!
//! Everything is built of operations that are there, so that whatever runs a graph runs its gradients too. A family of
//! operations is a file; a rule says what an operation's inputs get from what its output got. The figures that a rule
//! needs (sizes, paddings) are taken from the shapes, so those have to be known.

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

use crate::build::Builder;
use crate::interpreter::RunError;
use crate::ops::elementwise::Binary;
use crate::{Fact, Node, Op, OpError, Operation, Tensor, ValueId, shape};

/// Appends what computes the gradient of `loss`, which has one element, by each of some values; in their order.
///
/// An operation on the way that has no gradient here is an error with the node's name, and so is a value that the loss
/// does not depend on.
pub fn gradients(builder: &mut Builder, loss: ValueId, by: &[ValueId]) -> Result<Vec<ValueId>, RunError> {
    let needed = needed(builder, by);
    let mut gradients: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    gradients.insert(loss, seed(builder, loss)?);
    for index in (0..builder.graph().nodes.len()).rev() {
        let node = builder.graph().nodes[index].clone();
        let got: Vec<Option<ValueId>> = node.outputs.iter().map(|id| gradients.get(&(*id)?).copied()).collect();
        let wanted: Vec<bool> = node.inputs.iter().map(|id| id.is_some_and(|id| needed[id.index()])).collect();
        if got.iter().all(Option::is_none) || !wanted.contains(&true) {
            continue;
        }
        builder.named(format!("gradient of {}", node.name));
        let mut made = Vec::new();
        let mut back = Back { builder, index, node: &node, got, wanted, made: &mut made };
        back.node()?;
        for (id, gradient) in made {
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

/// By value: whether it is one of those that are asked for, or depends on one.
fn needed(builder: &Builder, by: &[ValueId]) -> Vec<bool> {
    let mut needed = vec![false; builder.graph().values.len()];
    for id in by {
        needed[id.index()] = true;
    }
    for node in &builder.graph().nodes {
        if node.inputs.iter().flatten().any(|id| needed[id.index()]) {
            for id in node.outputs.iter().flatten() {
                // What is no float does not change by a little.
                needed[id.index()] = builder.fact(*id).is_none_or(|fact| fact.dtype.is_float());
            }
        }
    }
    needed
}

/// The gradient of the loss by itself.
fn seed(builder: &mut Builder, loss: ValueId) -> Result<ValueId, RunError> {
    let name = builder.graph().name(loss).to_owned();
    builder.named(format!("gradient of {name}"));
    let one = |fact: &Fact| -> Result<Tensor, OpError> {
        let shape = fact.shape()?;
        if shape::count(shape)? != 1 || !fact.dtype.is_float() {
            return Err(OpError::invalid(format!("a loss of type {} and shape {shape:?}", fact.dtype)));
        }
        Tensor::from_floats(fact.dtype, shape, &[1.0])
    };
    let fact = builder.fact(loss).ok_or_else(|| OpError::invalid("a loss that nothing makes"));
    let one = fact.and_then(one).map_err(|error| builder.wrong("gradient", error))?;
    Ok(builder.constant(one))
}

/// A node on the way back.
struct Back<'a> {
    builder: &'a mut Builder,
    /// Where it stands in the graph.
    index: usize,
    node: &'a Node,
    /// By output: its gradient, where the loss depends on it.
    got: Vec<Option<ValueId>>,
    /// By input: whether its gradient is asked for.
    wanted: Vec<bool>,
    made: &'a mut Vec<(ValueId, ValueId)>,
}

impl Back<'_> {
    fn node(&mut self) -> Result<(), RunError> {
        let node = self.node;
        // One output alone carries a gradient, but for parts.
        let parts = matches!(node.op, Op::Movement(crate::ops::Movement::Split { .. }));
        if !parts && self.got.iter().skip(1).any(Option::is_some) {
            return Err(self.refuse("the gradient of an output that is not the first"));
        }
        match &node.op {
            Op::Elementwise(op) => elementwise::back(op, self),
            Op::Movement(op) => movement::back(op, self),
            Op::Product(op) => product::back(op, self),
            Op::Pool(op) => pool::back(op, self),
            Op::Reduction(op) => reduction::back(op, self),
            Op::Norm(op) => norm::back(op, self),
            Op::Random(op) => random::back(op, self),
            _ => Err(self.without()),
        }
    }

    /// An operation that has no gradient here.
    fn without(&self) -> RunError {
        self.refuse("its gradient")
    }

    /// A form that has no gradient here.
    fn refuse(&self, what: &str) -> RunError {
        self.error(OpError::unsupported(what))
    }

    fn error(&self, error: OpError) -> RunError {
        RunError { node: self.node.name.clone(), op: self.node.op.name(), error }
    }

    /// The gradient of the output.
    fn got(&self) -> Result<ValueId, RunError> {
        self.got.first().copied().flatten().ok_or_else(|| self.without())
    }

    /// An input.
    fn input(&self, index: usize) -> Result<ValueId, RunError> {
        let id = self.node.inputs.get(index).copied().flatten();
        id.ok_or_else(|| self.error(OpError::MissingInput(index)))
    }

    /// Whether there is such an input.
    fn has(&self, index: usize) -> bool {
        self.node.inputs.get(index).copied().flatten().is_some()
    }

    /// The first output.
    fn output(&mut self) -> Result<ValueId, RunError> {
        self.builder.output_of(self.index, 0)
    }

    /// Whether the gradient of an input is asked for.
    fn wants(&self, index: usize) -> bool {
        self.wanted.get(index).copied().unwrap_or(false)
    }

    /// The shape of a value.
    fn shape(&self, id: ValueId) -> Result<Vec<usize>, RunError> {
        self.builder.shape(id).map_err(|error| self.error(error))
    }

    /// An input whose elements have to be known.
    fn known(&self, index: usize) -> Result<&Tensor, RunError> {
        let fact = self.builder.fact(self.input(index)?);
        let fact = fact.ok_or_else(|| self.error(OpError::MissingInput(index)))?;
        fact.value().map_err(|error| self.error(error))
    }

    /// What is known of all inputs.
    fn facts(&self) -> Vec<Option<Fact>> {
        self.node.inputs.iter().map(|id| self.builder.fact((*id)?).cloned()).collect()
    }

    /// The gradient of an input, which was broadcast to what is given here.
    fn give(&mut self, index: usize, gradient: ValueId) -> Result<(), RunError> {
        let id = self.input(index)?;
        let gradient = self.builder.sum_to(gradient, &self.shape(id)?)?;
        self.made.push((id, gradient));
        Ok(())
    }
}
