//! Control flow: nodes with subgraphs.
//!
//! A subgraph takes the node's own operands, then captured values of the surrounding graph. The
//! node lists captured values as its last operands, so that every used value is an operand.

mod facts;
mod loop_op;
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
    /// If. Operands: a condition, then the inputs of the first graph, then the inputs of the
    /// second.
    If {
        /// Runs if the condition is true.
        then: Arc<Graph>,
        /// Runs if the condition is false.
        otherwise: Arc<Graph>,
    },
    /// Loop. Operands: the maximum number of iterations, the initial condition, carried values,
    /// captured values. The body takes the iteration number, the condition, the carried values and
    /// the captured values. It returns the condition, the carried values, and values that are
    /// stacked along a new first axis.
    Loop {
        /// The loop body.
        body: Arc<Graph>,
        /// The number of carried values.
        carried: usize,
    },
    /// Runs a graph for each index along an axis.
    Scan(Scan),
    /// SequenceMap: runs a graph for each element of a sequence. Operands: a sequence, further
    /// values that are sequences of the same length or passed to every iteration, captured values.
    /// Returns sequences.
    Map {
        /// The graph for each element.
        body: Arc<Graph>,
        /// The number of operands that are not captured values.
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
                let result = facts::outputs(body, &given.collect::<Vec<_>>())?;
                Ok(result.into_iter().map(|fact| Fact::unknown(fact.dtype)).collect())
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
            Self::Loop { body, carried } => loop_op::eval(body, *carried, inputs),
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

/// A scalar `bool`.
fn truth(tensor: &Tensor) -> Result<bool, OpError> {
    match tensor.slice::<bool>()? {
        [one] => Ok(*one),
        all => Err(OpError::invalid(format!("the condition has {} elements, expected one", all.len()))),
    }
}

/// Copies of operands, which must be present.
fn values(inputs: &Inputs<'_>, range: std::ops::Range<usize>) -> Result<Vec<Value>, OpError> {
    range.map(|index| inputs.value(index).cloned()).collect()
}

/// Fails if a graph takes or returns another number of values than the node requires.
fn check(what: &str, has: usize, expected: usize) -> Result<(), OpError> {
    if has == expected {
        return Ok(());
    }
    Err(OpError::invalid(format!("the subgraph has {has} {what}, expected {expected}")))
}

fn map(body: &Graph, own: usize, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
    let rounds = elements(inputs.value(0)?)?.len();
    let mut result = vec![Vec::with_capacity(rounds); body.outputs.len()];
    for round in 0..rounds {
        let mut given = Vec::with_capacity(inputs.len());
        for index in 0..inputs.len() {
            let value = inputs.value(index)?;
            let element = match value {
                Value::Sequence(all) if index < own => all.get(round).ok_or_else(|| {
                    OpError::invalid(format!("a sequence has {} elements, expected {rounds}", all.len()))
                })?,
                other => other,
            };
            given.push(element.clone());
        }
        for (all, value) in result.iter_mut().zip(run(body, given)?) {
            all.push(value);
        }
    }
    Ok(result.into_iter().map(Value::Sequence).collect())
}
