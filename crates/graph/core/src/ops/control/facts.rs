//! Infers the outputs of subgraphs.

use crate::graph::DeclaredType;
use crate::ops::Facts;
use crate::{DType, Fact, Graph, OpError, inference};

/// The facts of a graph's outputs. A fact is unknown if it cannot be inferred or the node would
/// fail, because data decides which graph runs.
pub(super) fn outputs(graph: &Graph, inputs: &[Option<Fact>]) -> Result<Vec<Fact>, OpError> {
    let known = inference::facts(graph, inputs);
    let inferred = |id: &crate::ValueId| {
        let declared = graph.values[id.index()].declared.as_ref();
        known[id.index()]
            .clone()
            .or_else(|| declared.map(|declared| Fact::unknown(dtype(declared))))
            .ok_or_else(|| OpError::unsupported(format!("output `{}` of unknown type", graph.name(*id))))
    };
    graph.outputs.iter().map(inferred).collect()
}

/// The element type of a declared value.
fn dtype(declared: &DeclaredType) -> DType {
    match declared {
        DeclaredType::Tensor { dtype, .. } => *dtype,
        DeclaredType::Sequence(inner) | DeclaredType::Optional(inner) => dtype(inner),
    }
}

/// The outputs of a condition.
pub(super) fn branches(then: &Graph, otherwise: &Graph, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
    let given = |from: usize, graph: &Graph| -> Vec<_> {
        (from..from + graph.inputs.len()).map(|index| inputs.optional(index).cloned()).collect()
    };
    let first = given(1, then);
    let second = given(1 + first.len(), otherwise);
    if let Some(condition) = &inputs.get(0)?.value {
        return if super::truth(condition)? { outputs(then, &first) } else { outputs(otherwise, &second) };
    }
    let (first, second) = (outputs(then, &first)?, outputs(otherwise, &second)?);
    if first.len() != second.len() {
        let text = format!("the branches return {} and {} values", first.len(), second.len());
        return Err(OpError::invalid(text));
    }
    Ok(first.into_iter().zip(second).map(|(first, second)| either(first, &second)).collect())
}

/// The fact that holds for both of two values.
pub(super) fn either(first: Fact, second: &Fact) -> Fact {
    Fact { shape: first.shape.filter(|shape| second.shape.as_ref() == Some(shape)), dtype: first.dtype, value: None }
}

/// The outputs of a loop whose number of iterations may be known.
pub(super) fn rounds(body: &Graph, carried: usize, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
    super::check("inputs", body.inputs.len(), inputs.len())?;
    if body.outputs.len() < 1 + carried {
        super::check("outputs", body.outputs.len(), 1 + carried)?;
    }
    let mut result = steady(body, &body_inputs(carried, inputs), 2..2 + carried, 1)?;
    let collected = result.split_off(1 + carried);
    result.remove(0);
    let count = trips(body, inputs);
    let collected = collected.into_iter().map(|fact| {
        let shape = fact.shape.zip(count).map(|(shape, count)| [&[count], &shape[..]].concat());
        Fact { dtype: fact.dtype, shape, value: None }
    });
    result.extend(collected);
    Ok(result)
}

/// The facts of a loop body's inputs in any iteration, with the shapes of carried values in the
/// first one.
pub(super) fn body_inputs(carried: usize, inputs: &Facts<'_>) -> Vec<Option<Fact>> {
    let mut body_inputs = vec![Some(Fact::new(DType::I64, [])), Some(Fact::new(DType::Bool, []))];
    for index in 2..inputs.len() {
        let fact = inputs.optional(index).cloned();
        // Carried values differ in the next iteration.
        body_inputs.push(if index < 2 + carried { fact.map(|fact| Fact { value: None, ..fact }) } else { fact });
    }
    body_inputs
}

/// The outputs of a body, with shapes if the carried values keep theirs. `from` is the index of the
/// first carried output.
pub(super) fn steady(
    body: &Graph,
    given: &[Option<Fact>],
    handed: std::ops::Range<usize>,
    from: usize,
) -> Result<Vec<Fact>, OpError> {
    let mut result = outputs(body, given)?;
    let stays = handed.enumerate().all(|(offset, index)| {
        let before = given.get(index).and_then(|fact| fact.as_ref()?.shape.as_ref());
        before.is_some() && before == result.get(from + offset).and_then(|fact| fact.shape.as_ref())
    });
    for fact in &mut result {
        fact.value = None;
        // If one carried shape changes, all others may change.
        fact.shape = fact.shape.take().filter(|_| stays);
    }
    Ok(result)
}

/// The number of iterations, if it does not depend on data.
fn trips(body: &Graph, inputs: &Facts<'_>) -> Option<usize> {
    let begin = match inputs.optional(1) {
        None => true,
        Some(fact) => super::truth(fact.value.as_ref()?).ok()?,
    };
    let goes_on = body.outputs.first()?;
    let always = goes_on == body.inputs.get(1)?
        || body.constants.get(goes_on).is_some_and(|constant| super::truth(constant).unwrap_or(false));
    let most = usize::try_from(inputs.optional(0)?.value.as_ref()?.integer().ok()?.max(0)).ok()?;
    if begin && most > 0 { always.then_some(most) } else { Some(0) }
}
