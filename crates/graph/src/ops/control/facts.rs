//! What is known of the outputs of a graph, told node by node.

use crate::graph::Declared;
use crate::ops::Facts;
use crate::{DType, Fact, Graph, OpError, known};

/// What is known of a graph's outputs. What cannot be told, or would fail, is unknown: which graph runs depends on
/// data.
pub(super) fn outputs(graph: &Graph, inputs: &[Option<Fact>]) -> Result<Vec<Fact>, OpError> {
    let known = known::facts(graph, inputs);
    let told = |id: &crate::ValueId| {
        let declared = graph.values[id.index()].declared.as_ref();
        known[id.index()]
            .clone()
            .or_else(|| declared.map(|declared| Fact::unknown(dtype(declared))))
            .ok_or_else(|| OpError::unsupported(format!("output `{}` of unknown type", graph.name(*id))))
    };
    graph.outputs.iter().map(told).collect()
}

/// The type of elements of a declared value.
fn dtype(declared: &Declared) -> DType {
    match declared {
        Declared::Tensor { dtype, .. } => *dtype,
        Declared::Sequence(inner) | Declared::Optional(inner) => dtype(inner),
    }
}

/// What a condition chooses.
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
        let text = format!("the graphs inside make {} and {} values", first.len(), second.len());
        return Err(OpError::invalid(text));
    }
    Ok(first.into_iter().zip(second).map(|(first, second)| either(first, &second)).collect())
}

/// What holds for a value that is one or the other.
pub(super) fn either(first: Fact, second: &Fact) -> Fact {
    Fact { shape: first.shape.filter(|shape| second.shape.as_ref() == Some(shape)), dtype: first.dtype, value: None }
}

/// What comes out of rounds whose number may be known.
pub(super) fn rounds(body: &Graph, carried: usize, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
    super::check("inputs", body.inputs.len(), inputs.len())?;
    if body.outputs.len() < 1 + carried {
        super::check("outputs", body.outputs.len(), 1 + carried)?;
    }
    let mut made = steady(body, &given(carried, inputs), 2..2 + carried, 1)?;
    let collected = made.split_off(1 + carried);
    made.remove(0);
    let count = trips(body, inputs);
    let collected = collected.into_iter().map(|fact| {
        let shape = fact.shape.zip(count).map(|(shape, count)| [&[count], &shape[..]].concat());
        Fact { dtype: fact.dtype, shape, value: None }
    });
    made.extend(collected);
    Ok(made)
}

/// What is known of the inputs of a body in any round, and of the shapes of those that it hands on in the first.
pub(super) fn given(carried: usize, inputs: &Facts<'_>) -> Vec<Option<Fact>> {
    let mut given = vec![Some(Fact::new(DType::I64, [])), Some(Fact::new(DType::Bool, []))];
    for index in 2..inputs.len() {
        let fact = inputs.optional(index).cloned();
        // What a round hands on is another value in the next.
        given.push(if index < 2 + carried { fact.map(|fact| Fact { value: None, ..fact }) } else { fact });
    }
    given
}

/// The outputs of a body, with shapes if those that it hands on stay as they are. `from` is where its outputs begin
/// that it hands on.
pub(super) fn steady(
    body: &Graph,
    given: &[Option<Fact>],
    handed: std::ops::Range<usize>,
    from: usize,
) -> Result<Vec<Fact>, OpError> {
    let mut made = outputs(body, given)?;
    let stays = handed.enumerate().all(|(offset, index)| {
        let before = given.get(index).and_then(|fact| fact.as_ref()?.shape.as_ref());
        before.is_some() && before == made.get(from + offset).and_then(|fact| fact.shape.as_ref())
    });
    for fact in &mut made {
        fact.value = None;
        // All others may change because one does.
        fact.shape = fact.shape.take().filter(|_| stays);
    }
    Ok(made)
}

/// How many rounds there are, where that depends on no data.
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
