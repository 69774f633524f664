//! Scan: runs a graph for each index along an axis.

use std::sync::Arc;

use super::{check, facts, loop_op, values};
use crate::ops::sequence::concat;
use crate::ops::{Facts, Inputs};
use crate::{Fact, Graph, OpError, Tensor, Value, run, shape};

/// Scan. Operands: carried values, tensors that are scanned along an axis, captured values.
/// Outputs: the carried values of the last iteration, and values that are stacked along an axis.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Graph that runs once per element of the scanned axis.
    pub body: Arc<Graph>,
    /// The number of carried values.
    pub carried: usize,
    /// The axis of each scanned input, and whether the scan is reversed.
    pub read: Vec<(i64, bool)>,
    /// The axis of each stacked output, and whether the order is reversed.
    pub collected: Vec<(i64, bool)>,
    /// The form of opset 8: the first axis of all operands is the batch, and an optional first
    /// operand has the number of iterations per batch.
    pub batched: bool,
}

impl Scan {
    fn check(&self, operands: usize) -> Result<(), OpError> {
        check("inputs", self.body.inputs.len(), operands - usize::from(self.batched).min(operands))?;
        check("outputs", self.body.outputs.len(), self.carried + self.collected.len())?;
        if self.body.inputs.len() < self.carried + self.read.len() {
            check("inputs", self.body.inputs.len(), self.carried + self.read.len())?;
        }
        Ok(())
    }

    pub(super) fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
        self.check(inputs.len())?;
        let first = usize::from(self.batched);
        let (mut given, mut rounds, mut batch) = (Vec::new(), None, None);
        for index in first..inputs.len() {
            let fact = inputs.optional(index).cloned();
            let own = index - first;
            if own >= self.carried + self.read.len() {
                given.push(fact);
                continue;
            }
            let Some(mut fact) = fact else { return Err(OpError::MissingInput(index)) };
            fact.value = None;
            if let Some(shape) = &mut fact.shape {
                if self.batched {
                    shape::axis(0, shape.len())?;
                    batch = Some(shape.remove(0));
                }
                if let Some((axis, _)) = own.checked_sub(self.carried).map(|read| self.read[read]) {
                    rounds = Some(shape.remove(shape::axis(axis, shape.len())?));
                }
            }
            given.push(Some(fact));
        }
        let output = facts::steady(&self.body, &given, 0..self.carried, 0)?;
        let result = output.into_iter().enumerate().map(|(index, mut fact)| {
            if let Some((axis, _)) = index.checked_sub(self.carried).map(|at| self.collected[at]) {
                fact.shape = match (fact.shape, rounds) {
                    (Some(mut shape), Some(rounds)) => {
                        shape.insert(shape::axis(axis, shape.len() + 1)?, rounds);
                        Some(shape)
                    }
                    _ => None,
                };
            }
            if self.batched {
                fact.shape = fact.shape.zip(batch).map(|(shape, batch)| [&[batch], &shape[..]].concat());
            }
            Ok(fact)
        });
        result.collect()
    }

    pub(super) fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
        self.check(inputs.len())?;
        let end = self.carried + self.read.len();
        if !self.batched {
            let state = values(inputs, 0..self.carried)?;
            let read = (self.carried..end).map(|index| inputs.tensor(index)).collect::<Result<Vec<_>, _>>()?;
            let around = values(inputs, end..inputs.len())?;
            return self.rounds(state, &read, &around, None, &|| self.expected(inputs));
        }
        self.batch(inputs, end)
    }

    /// The facts of the outputs.
    fn expected(&self, inputs: &Inputs<'_>) -> Result<Vec<Fact>, OpError> {
        let known: Vec<_> = (0..inputs.len()).map(|index| loop_op::fact(inputs, index)).collect();
        self.infer(&Facts::new(&known, inputs.outputs()))
    }

    /// The form of opset 8: one batch after the other; stacked outputs are zero-padded.
    fn batch(&self, inputs: &Inputs<'_>, end: usize) -> Result<Vec<Value>, OpError> {
        let operands = (1..1 + end).map(|index| inputs.tensor(index)).collect::<Result<Vec<_>, _>>()?;
        let around = values(inputs, 1 + end..inputs.len())?;
        let expected = self.expected(inputs)?;
        let batches = operands.first().and_then(|tensor| tensor.shape().first().copied()).unwrap_or(0);
        let lengths = inputs.optional(0)?.map(Tensor::integers).transpose()?;
        let mut output: Vec<Vec<Tensor>> = vec![Vec::new(); expected.len()];
        let inner: Vec<_> = expected
            .iter()
            .map(|fact| Fact {
                shape: fact.shape.as_ref().and_then(|shape| shape.get(1..)).map(<[usize]>::to_vec),
                ..fact.clone()
            })
            .collect();
        for batch in 0..batches {
            let own = operands.iter().map(|tensor| concat::at(tensor, 0, batch)).collect::<Result<Vec<_>, _>>()?;
            let state = own[..self.carried].iter().cloned().map(Value::from).collect();
            let read: Vec<_> = own[self.carried..].iter().collect();
            let whole = read.first().and_then(|tensor| tensor.shape().first().copied()).unwrap_or(0);
            let length = match &lengths {
                None => whole,
                Some(lengths) => lengths
                    .get(batch)
                    .and_then(|length| usize::try_from(*length).ok())
                    .filter(|length| *length <= whole)
                    .ok_or_else(|| {
                        OpError::invalid(format!(
                            "the sequence lengths are {lengths:?}, expected one per batch entry, each from 0 to {whole}"
                        ))
                    })?,
            };
            for (index, value) in
                self.rounds(state, &read, &around, Some(length), &|| Ok(inner.clone()))?.into_iter().enumerate()
            {
                let tensor = value.tensor()?.clone();
                output[index].push(if index < self.carried { tensor } else { fill_up(&tensor, whole)? });
            }
        }
        let stack = |(tensors, fact): (Vec<Tensor>, Fact)| {
            if tensors.is_empty() {
                return Ok(Tensor::zeros(fact.dtype, fact.shape()?)?.into());
            }
            Ok(concat::stack(&tensors.iter().collect::<Vec<_>>(), 0)?.into())
        };
        output.into_iter().zip(expected).map(stack).collect()
    }

    /// Runs all iterations, or the first few. `expected` has the facts of outputs that are stacked
    /// in none.
    fn rounds(
        &self,
        mut state: Vec<Value>,
        read: &[&Tensor],
        around: &[Value],
        limit: Option<usize>,
        expected: &dyn Fn() -> Result<Vec<Fact>, OpError>,
    ) -> Result<Vec<Value>, OpError> {
        let mut length = None;
        let mut axes = Vec::new();
        for (tensor, (axis, _)) in read.iter().zip(&self.read) {
            let axis = shape::axis(*axis, tensor.rank())?;
            let size = tensor.shape()[axis];
            if let Some(length) = length
                && length != size
            {
                return Err(OpError::invalid(format!("the scan inputs have different lengths: {length} and {size}")));
            }
            length = Some(size);
            axes.push(axis);
        }
        let length = length.unwrap_or(0).min(limit.unwrap_or(usize::MAX));
        let mut all: Vec<Vec<Tensor>> = vec![Vec::new(); self.collected.len()];
        for round in 0..length {
            let mut given = std::mem::take(&mut state);
            for ((tensor, axis), (_, from_end)) in read.iter().zip(&axes).zip(&self.read) {
                let index = if *from_end { length - 1 - round } else { round };
                given.push(concat::at(tensor, *axis, index)?.into());
            }
            given.extend_from_slice(around);
            let mut output = run(&self.body, given)?.into_iter();
            state.extend(output.by_ref().take(self.carried));
            for (all, value) in all.iter_mut().zip(output) {
                all.push(value.tensor()?.clone());
            }
        }
        for (index, (mut tensors, (axis, from_end))) in all.into_iter().zip(&self.collected).enumerate() {
            let Some(first) = tensors.first() else {
                let fact = &expected()?[self.carried + index];
                let shape = fact.shape.as_deref().unwrap_or(&[0]);
                let axis = shape::axis(*axis, shape.len())?;
                let mut shape = shape.to_vec();
                shape[axis] = 0;
                state.push(Tensor::zeros(fact.dtype, shape)?.into());
                continue;
            };
            let axis = shape::axis(*axis, first.rank() + 1)?;
            if *from_end {
                tensors.reverse();
            }
            state.push(concat::stack(&tensors.iter().collect::<Vec<_>>(), axis)?.into());
        }
        Ok(state)
    }
}

/// Zero-pads the first axis of a tensor to a length.
fn fill_up(tensor: &Tensor, length: usize) -> Result<Tensor, OpError> {
    let mut shape = tensor.shape().to_vec();
    let own = shape.first().copied().unwrap_or(length);
    if own >= length {
        return Ok(tensor.clone());
    }
    shape[0] = length - own;
    concat::concat(&[tensor, &Tensor::zeros(tensor.dtype(), shape)?], 0)
}
