//! Checks of inputs before a run. Kernels clamp an index to the table and return 0 for an integer
//! division by zero, so an invalid input would give a wrong result without an error.

use std::collections::HashMap;

use roci_graph::ops::elementwise::Binary;
use roci_graph::ops::{Elementwise, Indexing};
use roci_graph::{Graph, Op, Value, ValueId};

use crate::Error;

/// A condition on the elements of an input.
pub(crate) struct InputCheck {
    input: usize,
    kind: CheckKind,
    node: String,
}

enum CheckKind {
    /// Indices into an axis of this size.
    Index(usize),
    /// Divisors of integers.
    Divisor(Binary),
}

/// Finds the inputs that index constants or divide integers.
pub(crate) fn input_checks(graph: &Graph) -> Vec<InputCheck> {
    let inputs: HashMap<ValueId, usize> = graph.inputs.iter().enumerate().map(|(at, id)| (*id, at)).rev().collect();
    let limit = |node: &roci_graph::Node| {
        let [Some(first), Some(second)] = node.inputs[..] else { return None };
        let input = *inputs.get(&second)?;
        let kind = match &node.op {
            Op::Indexing(Indexing::Gather { axis }) => {
                let shape = graph.constants.get(&first)?.shape();
                let axis = usize::try_from(if *axis < 0 { axis + shape.len() as i64 } else { *axis }).ok()?;
                CheckKind::Index(*shape.get(axis)?)
            }
            Op::Elementwise(Elementwise::Binary(kind @ (Binary::Div | Binary::Mod { .. }))) => {
                CheckKind::Divisor(*kind)
            }
            _ => return None,
        };
        Some(InputCheck { input, kind, node: node.name.clone() })
    };
    graph.nodes.iter().filter_map(limit).collect()
}

/// Fails if an input has an index out of range, or a zero that integers are divided by.
pub(crate) fn check_inputs(checks: &[InputCheck], graph: &Graph, inputs: &[Value]) -> Result<(), Error> {
    for InputCheck { input, kind, node } in checks {
        let Some(tensor) = inputs.get(*input).and_then(|value| value.tensor().ok()) else { continue };
        let name = graph.name(graph.inputs[*input]);
        match kind {
            CheckKind::Index(size) => {
                let (Ok(indices), size) = (tensor.integers(), *size as i64) else { continue };
                if let Some(index) = indices.iter().find(|index| **index < -size || **index >= size) {
                    let text =
                        format!("`{name}` contains the index {index}, and `{node}` indexes an axis of size {size}");
                    return Err(Error::Input(text));
                }
            }
            CheckKind::Divisor(kind) => {
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
    fn the_error_names_an_index_out_of_range() -> Result<(), Box<dyn std::error::Error>> {
        let mut graph = Graph::default();
        let ids = graph.value("ids");
        graph.inputs.push(ids);
        let table = graph.constant("table", Tensor::new(vec![3, 2], vec![0.5_f32; 6])?);
        let rows = graph.node("rows", Indexing::Gather { axis: 0 }, &[table, ids]);
        graph.outputs.push(rows);
        let checks = input_checks(&graph);
        let run = |ids: Vec<i64>| {
            check_inputs(&checks, &graph, &[Tensor::vector(ids).into()]).map_err(|error| error.to_string())
        };
        assert_eq!(run(vec![0, 2, -3]), Ok(()));
        for wrong in [3, -4] {
            let error = run(vec![0, wrong]).expect_err("beyond the table");
            assert!(
                error.contains(&format!("`ids` contains the index {wrong}")) && error.contains("size 3"),
                "{error}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_zero_divisor_input_is_an_error() -> Result<(), Box<dyn std::error::Error>> {
        let mut graph = Graph::default();
        let (x, y) = (graph.value("x"), graph.value("y"));
        graph.inputs.extend([x, y]);
        let quotient = graph.node("quotient", Binary::Div, &[x, y]);
        graph.outputs.push(quotient);
        let checks = input_checks(&graph);
        let run =
            |y: Tensor| check_inputs(&checks, &graph, &[y.clone().into(), y.into()]).map_err(|error| error.to_string());
        assert_eq!(run(Tensor::vector(vec![3, -1])), Ok(()));
        assert_eq!(run(Tensor::vector(vec![0.0f32])), Ok(()));
        let error = run(Tensor::vector(vec![3u8, 0])).expect_err("a zero");
        assert!(error.contains("`y` for `quotient`") && error.contains("division by zero"), "{error}");
        Ok(())
    }
}
