//! Inputs that are checked before a run: kernels take the nearest element there is for an index that a table has not, and 0
//! for an integer that is divided by zero, which would be a wrong answer without a word.

use std::collections::HashMap;

use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::{Elementwise, Indexing};
use roci_graph::{Graph, Op, Value, ValueId};

use crate::Error;

/// What the elements of an input have to be.
pub(crate) struct Limit {
    input: usize,
    kind: Kind,
    node: String,
}

enum Kind {
    /// They choose among so many.
    Index(usize),
    /// Integers are divided by them.
    Divisor(Binary),
}

/// The inputs that choose from constants, or divide.
pub(crate) fn limits(graph: &Graph) -> Vec<Limit> {
    let inputs: HashMap<ValueId, usize> = graph.inputs.iter().enumerate().map(|(at, id)| (*id, at)).rev().collect();
    let limit = |node: &roci_graph::Node| {
        let [Some(first), Some(second)] = node.inputs[..] else { return None };
        let input = *inputs.get(&second)?;
        let kind = match &node.op {
            Op::Indexing(Indexing::Gather { axis }) => {
                let shape = graph.constants.get(&first)?.shape();
                let axis = usize::try_from(if *axis < 0 { axis + shape.len() as i64 } else { *axis }).ok()?;
                Kind::Index(*shape.get(axis)?)
            }
            Op::Elementwise(Elementwise::Binary(kind @ (Binary::Div | Binary::Mod { .. }))) => Kind::Divisor(*kind),
            _ => return None,
        };
        Some(Limit { input, kind, node: node.name.clone() })
    };
    graph.nodes.iter().filter_map(limit).collect()
}

/// Refuses inputs that choose what is not there, or divide by zero.
pub(crate) fn check(limits: &[Limit], graph: &Graph, inputs: &[Value]) -> Result<(), Error> {
    for Limit { input, kind, node } in limits {
        let Some(tensor) = inputs.get(*input).and_then(|value| value.tensor().ok()) else { continue };
        let name = graph.name(graph.inputs[*input]);
        match kind {
            Kind::Index(size) => {
                let (Ok(indices), size) = (tensor.integers(), *size as i64) else { continue };
                if let Some(index) = indices.iter().find(|index| **index < -size || **index >= size) {
                    let text = format!("`{name}` has the index {index}, and `{node}` chooses from {size} only");
                    return Err(Error::Input(text));
                }
            }
            Kind::Divisor(kind) => {
                kind.check_divisor(tensor).map_err(|error| Error::Input(format!("`{name}` for `{node}`: {error}")))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use roci_graph::Tensor;

    use super::*;

    #[test]
    fn an_index_beyond_a_table_is_named() -> Result<(), Box<dyn std::error::Error>> {
        let mut graph = Graph::default();
        let ids = graph.value("ids");
        graph.inputs.push(ids);
        let table = graph.constant("table", Tensor::new(vec![3, 2], vec![0.5_f32; 6])?);
        let rows = graph.node("rows", Indexing::Gather { axis: 0 }, &[table, ids]);
        graph.outputs.push(rows);
        let limits = limits(&graph);
        let run =
            |ids: Vec<i64>| check(&limits, &graph, &[Tensor::vector(ids).into()]).map_err(|error| error.to_string());
        assert_eq!(run(vec![0, 2, -3]), Ok(()));
        for wrong in [3, -4] {
            let error = run(vec![0, wrong]).expect_err("beyond the table");
            assert!(error.contains(&format!("`ids` has the index {wrong}")) && error.contains("from 3"), "{error}");
        }
        Ok(())
    }

    #[test]
    fn integers_are_not_divided_by_an_input_of_zeros() -> Result<(), Box<dyn std::error::Error>> {
        let mut graph = Graph::default();
        let (x, y) = (graph.value("x"), graph.value("y"));
        graph.inputs.extend([x, y]);
        let quotient = graph.node("quotient", Binary::Div, &[x, y]);
        graph.outputs.push(quotient);
        let limits = limits(&graph);
        let run = |y: Tensor| check(&limits, &graph, &[y.clone().into(), y.into()]).map_err(|error| error.to_string());
        assert_eq!(run(Tensor::vector(vec![3, -1])), Ok(()));
        assert_eq!(run(Tensor::vector(vec![0.0f32])), Ok(()));
        let error = run(Tensor::vector(vec![3u8, 0])).expect_err("a zero");
        assert!(error.contains("`y` for `quotient`") && error.contains("divided by zero"), "{error}");
        Ok(())
    }
}
