//! Indices among the inputs, checked before a run: kernels take the nearest element there is, and a token that the table
//! has not would give a wrong answer without a word.

use roci_graph::ops::Indexing;
use roci_graph::{Graph, Op, Value};

use crate::Error;

/// An input whose elements choose among so many.
pub(crate) struct Limit {
    input: usize,
    size: usize,
    node: String,
}

/// The inputs that choose from constants.
pub(crate) fn limits(graph: &Graph) -> Vec<Limit> {
    let limit = |node: &roci_graph::Node| {
        let Op::Indexing(Indexing::Gather { axis }) = &node.op else { return None };
        let [Some(data), Some(indices)] = node.inputs[..] else { return None };
        let input = graph.inputs.iter().position(|id| *id == indices)?;
        let shape = graph.constants.get(&data)?.shape();
        let axis = usize::try_from(if *axis < 0 { axis + shape.len() as i64 } else { *axis }).ok()?;
        Some(Limit { input, size: *shape.get(axis)?, node: node.name.clone() })
    };
    graph.nodes.iter().filter_map(limit).collect()
}

/// Refuses inputs that choose what is not there.
pub(crate) fn check(limits: &[Limit], graph: &Graph, inputs: &[Value]) -> Result<(), Error> {
    for Limit { input, size, node } in limits {
        let Some(indices) = inputs.get(*input).and_then(|value| value.tensor().ok()?.integers().ok()) else { continue };
        let size = *size as i64;
        if let Some(index) = indices.iter().find(|index| **index < -size || **index >= size) {
            let name = graph.name(graph.inputs[*input]);
            return Err(Error::Input(format!("`{name}` has the index {index}, and `{node}` chooses from {size} only")));
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
}
