//! Loop.

use super::{check, facts, truth, values};
use crate::graph::DeclaredType;
use crate::interpreter::default_limit;
use crate::ops::sequence::concat;
use crate::ops::{Facts, Inputs};
use crate::{Fact, Graph, OpError, Tensor, Value, run};

pub(super) fn eval(body: &Graph, carried: usize, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
    check("inputs", body.inputs.len(), inputs.len())?;
    let collected = body.outputs.len().checked_sub(1 + carried);
    let collected = collected.ok_or_else(|| OpError::invalid("the subgraph has too few outputs"))?;
    let most = inputs.optional(0)?.map_or(Ok(i64::MAX), Tensor::integer)?;
    let mut go_on = inputs.optional(1)?.map_or(Ok(true), truth)?;
    let mut state = values(inputs, 2..2 + carried)?;
    let around = values(inputs, 2 + carried..inputs.len())?;
    let mut all: Vec<Vec<Tensor>> = vec![Vec::new(); collected];
    let (mut round, mut bytes) = (0i64, 0usize);
    while go_on && round < most {
        let mut given =
            vec![as_declared(body, 0, Tensor::scalar(round))?, as_declared(body, 1, Tensor::scalar(go_on))?];
        given.append(&mut state);
        given.extend_from_slice(&around);
        let mut result = run(body, given)?.into_iter();
        go_on = result.next().map_or(Ok(false), |value| truth(value.tensor()?))?;
        state.extend(result.by_ref().take(carried));
        for (all, value) in all.iter_mut().zip(result) {
            let tensor = value.tensor()?;
            // A file can request any number of iterations, and each takes time even if no tensor
            // has elements.
            bytes = bytes.saturating_add(64 + tensor.len() * tensor.dtype().size().unwrap_or(24));
            let limit = default_limit();
            if bytes > limit {
                return Err(OpError::invalid(format!(
                    "after {} iterations, the scan outputs of the loop need more than {limit} bytes",
                    round + 1
                )));
            }
            all.push(tensor.clone());
        }
        round += 1;
    }
    for (index, tensors) in all.iter().enumerate() {
        let stacked = if tensors.is_empty() {
            nothing(&first_round(body, carried, inputs)?[1 + carried + index], body, 1 + carried + index)?
        } else {
            concat::stack(&tensors.iter().collect::<Vec<_>>(), 0)?
        };
        state.push(stacked.into());
    }
    Ok(state)
}

/// The facts of all outputs of the body in a first iteration.
fn first_round(body: &Graph, carried: usize, inputs: &Inputs<'_>) -> Result<Vec<Fact>, OpError> {
    let known: Vec<_> = (0..inputs.len()).map(|index| fact(inputs, index)).collect();
    facts::outputs(body, &facts::body_inputs(carried, &Facts::new(&known, inputs.outputs())))
}

/// The fact of an operand.
pub(super) fn fact(inputs: &Inputs<'_>, index: usize) -> Option<Fact> {
    inputs.tensor(index).ok().map(Fact::from)
}

/// The iteration number or condition, with a dimension of 1 if the body declares it so.
fn as_declared(body: &Graph, index: usize, scalar: Tensor) -> Result<Value, OpError> {
    let declared = body.inputs.get(index).and_then(|id| body.values.get(id.index())?.declared.as_ref());
    let one = matches!(declared, Some(DeclaredType::Tensor { dims: Some(dims), .. }) if dims.len() == 1);
    Ok(if one { scalar.reshaped([1])?.into() } else { scalar.into() })
}

/// The stacked output of zero iterations, from its fact in one iteration; unknown sizes are 0.
pub(super) fn nothing(fact: &Fact, body: &Graph, output: usize) -> Result<Tensor, OpError> {
    let declared = body.outputs.get(output).and_then(|id| body.values.get(id.index())?.declared.as_ref());
    let shape = match (&fact.shape, declared) {
        (Some(shape), _) => shape.clone(),
        (None, Some(DeclaredType::Tensor { dims: Some(dims), .. })) => {
            let size = |dim: &crate::graph::Dim| if let crate::graph::Dim::Known(size) = dim { *size } else { 0 };
            dims.iter().map(size).collect()
        }
        _ => Vec::new(),
    };
    Tensor::zeros(fact.dtype, [&[0], &shape[..]].concat())
}
