//! Graphs inside of nodes.
//!
//! Such a graph takes operands of its own and then values of the graph around it. The node has those values as operands
//! too, behind all others, so that nothing is used that is not an operand.

mod facts;
mod repeat;
mod scan;

use std::sync::Arc;

pub use scan::Scan;

use super::sequence::elements;
use super::{Facts, Inputs, Operation};
use crate::{Fact, Graph, OpError, Tensor, Value, run};

/// An operation of this family.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Control {
    /// One of two graphs. Operands: a condition, what the first graph takes, what the second takes.
    If {
        /// Runs if the condition is true.
        then: Arc<Graph>,
        /// Runs if it is false.
        otherwise: Arc<Graph>,
    },
    /// A graph again and again. Operands: how often at most, whether to begin, values that each round hands to the
    /// next, values around. The graph takes the number of the round, whether it may go on, those values, and values
    /// around; it makes whether to go on, the values for the next round, and values that are collected along a new
    /// first axis.
    Loop {
        /// What runs in each round.
        body: Arc<Graph>,
        /// How many values each round hands to the next.
        carried: usize,
    },
    /// A graph for each index along an axis.
    Scan(Scan),
    /// A graph for each element of a sequence. Operands: a sequence, others that are sequences as long or go to every
    /// round as they are, values around. Makes sequences.
    Map {
        /// What runs for each element.
        body: Arc<Graph>,
        /// How many operands are not values around.
        own: usize,
    },
}

impl Operation for Control {
    fn name(&self) -> &'static str {
        match self {
            Self::If { .. } => "If",
            Self::Loop { .. } => "Loop",
            Self::Scan(_) => "Scan",
            Self::Map { .. } => "SequenceMap",
        }
    }

    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        match self {
            Self::If { then, otherwise } => facts::branches(then, otherwise, inputs),
            Self::Loop { body, carried } => facts::rounds(body, *carried, inputs),
            Self::Scan(scan) => scan.infer(inputs),
            Self::Map { body, own } => {
                let given = (0..inputs.len()).map(|index| {
                    let fact = inputs.optional(index).cloned();
                    if index < *own { fact.map(|fact| Fact::unknown(fact.dtype)) } else { fact }
                });
                let made = facts::outputs(body, &given.collect::<Vec<_>>())?;
                Ok(made.into_iter().map(|fact| Fact::unknown(fact.dtype)).collect())
            }
        }
    }

    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        match self {
            Self::If { then, otherwise } => {
                let first = 1..1 + then.inputs.len();
                let second = first.end..first.end + otherwise.inputs.len();
                let (graph, operands) = if truth(inputs.tensor(0)?)? { (then, first) } else { (otherwise, second) };
                Ok(run(graph, values(inputs, operands)?)?)
            }
            Self::Loop { body, carried } => repeat::eval(body, *carried, inputs),
            Self::Scan(scan) => scan.eval(inputs),
            Self::Map { body, own } => map(body, *own, inputs),
        }
    }

    fn is_random(&self) -> bool {
        let random = |graph: &Graph| graph.nodes.iter().any(|node| node.op.is_random());
        match self {
            Self::If { then, otherwise } => random(then) || random(otherwise),
            Self::Loop { body, .. } | Self::Map { body, .. } => random(body),
            Self::Scan(scan) => random(&scan.body),
        }
    }
}

/// A single truth value.
fn truth(tensor: &Tensor) -> Result<bool, OpError> {
    match tensor.slice::<bool>()? {
        [one] => Ok(*one),
        all => Err(OpError::invalid(format!("{} conditions where one is wanted", all.len()))),
    }
}

/// Copies of operands, which must be there.
fn values(inputs: &Inputs<'_>, range: std::ops::Range<usize>) -> Result<Vec<Value>, OpError> {
    range.map(|index| inputs.value(index).cloned()).collect()
}

/// An error where a graph takes or makes another number of values than it has to.
fn check(what: &str, has: usize, wanted: usize) -> Result<(), OpError> {
    if has == wanted {
        return Ok(());
    }
    Err(OpError::invalid(format!("the graph inside has {has} {what} where {wanted} are wanted")))
}

fn map(body: &Graph, own: usize, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
    let rounds = elements(inputs.value(0)?)?.len();
    let mut made = vec![Vec::with_capacity(rounds); body.outputs.len()];
    for round in 0..rounds {
        let mut given = Vec::with_capacity(inputs.len());
        for index in 0..inputs.len() {
            let value = inputs.value(index)?;
            let element = match value {
                Value::Sequence(all) if index < own => all
                    .get(round)
                    .ok_or_else(|| OpError::invalid(format!("sequences of {rounds} and of {} elements", all.len())))?,
                other => other,
            };
            given.push(element.clone());
        }
        for (all, value) in made.iter_mut().zip(run(body, given)?) {
            all.push(value);
        }
    }
    Ok(made.into_iter().map(Value::Sequence).collect())
}
