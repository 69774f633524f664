//! A batch over the physical devices of a logical device.

use roci_graph::graph::{Declared, Dim};
use roci_graph::ops::{Inputs, Movement};
use roci_graph::{Graph, Operation, Tensor, Value, ValueId};
use roci_hal::DeviceInfo;

use crate::Error;

/// The first queue of each physical device.
pub(crate) fn queues(info: &DeviceInfo) -> Vec<usize> {
    let first = |physical| info.queues.iter().position(|queue| queue.physical == physical);
    let found: Vec<usize> = (0..info.physical.len()).filter_map(first).collect();
    if found.is_empty() { vec![0] } else { found }
}

/// The inputs of each device; `None` where there is nothing to split: one device, or a model that does not say that its
/// first dimensions are one open number, the batch.
pub(crate) fn parts(graph: &Graph, inputs: &[Value], devices: usize) -> Result<Option<Vec<Vec<Value>>>, Error> {
    if devices < 2 || batch(graph).is_none() {
        return Ok(None);
    }
    let tensors: Option<Vec<&Tensor>> = inputs.iter().map(|value| value.tensor().ok()).collect();
    let Some(tensors) = tensors else { return Ok(None) };
    let size = tensors.first().and_then(|tensor| tensor.shape().first().copied()).unwrap_or(0);
    // Parts of one size: the same kernels for all, and nothing is made for a rest.
    let same = tensors.iter().all(|tensor| tensor.shape().first() == Some(&size));
    let count = (2..=devices).rev().find(|count| size % count == 0);
    let (Some(count), true) = (count, same && size > 0) else { return Ok(None) };
    let part = |at: usize| -> Result<Vec<Value>, Error> {
        tensors.iter().map(|tensor| slice(tensor, at * size / count, size / count)).collect()
    };
    (0..count).map(part).collect::<Result<Vec<_>, _>>().map(Some)
}

/// The name of the number that leads all inputs and outputs.
fn batch(graph: &Graph) -> Option<&str> {
    let lead = |id: &ValueId| match graph.values[id.index()].declared.as_ref()? {
        Declared::Tensor { dims: Some(dims), .. } => match dims.first()? {
            Dim::Symbol(name) => Some(name.as_str()),
            _ => None,
        },
        _ => None,
    };
    let name = lead(graph.inputs.first()?)?;
    graph.inputs.iter().chain(&graph.outputs).all(|id| lead(id) == Some(name)).then_some(name)
}

fn bad(error: roci_graph::OpError) -> Error {
    Error::Input(error.to_string())
}

/// Rows of a tensor.
fn slice(tensor: &Tensor, first: usize, count: usize) -> Result<Value, Error> {
    let mut shape = tensor.shape().to_vec();
    shape[0] = count;
    let row: usize = shape[1..].iter().product();
    let size = tensor.dtype().size().ok_or_else(|| Error::Input("text cannot be split".into()))?;
    let bytes = tensor.to_bytes().ok_or_else(|| Error::Input("text cannot be split".into()))?;
    let range = first * row * size..(first + count) * row * size;
    Tensor::from_bytes(tensor.dtype(), shape, &bytes[range]).map(Value::from).map_err(bad)
}

/// The outputs of all parts as one.
pub(crate) fn join(graph: &Graph, made: Vec<Vec<Value>>) -> Result<Vec<Value>, Error> {
    let concat = |at: usize| -> Result<Value, Error> {
        let operands: Vec<Option<&Value>> = made.iter().map(|values| values.get(at)).collect();
        let mut joined = Movement::Concat { axis: 0 }.eval(&Inputs::new(&operands, 1)).map_err(bad)?;
        joined.pop().ok_or_else(|| Error::Input("a part without an output".into()))
    };
    (0..graph.outputs.len()).map(concat).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use roci_cpu::CpuDriver;
    use roci_graph::ops::elementwise::Unary;
    use roci_graph::ops::{Elementwise, Product};
    use roci_graph::{DType, OpError};
    use roci_hal::{Device, Registry};

    use super::*;
    use crate::Session;
    use crate::fuse::tests::{Test, numbers};

    /// A layer over rows, whose number is called that in the input and that in the output.
    fn layer(given: &str, made: &str) -> Result<Graph, OpError> {
        let mut graph = Graph::default();
        let x = graph.value("x");
        graph.inputs.push(x);
        let w = graph.constant("w", numbers(&[3, 5], 1)?);
        let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
        let sum = graph.node("sum", product, &[x, w]);
        let y = graph.node("y", Elementwise::Unary(Unary::Tanh), &[sum]);
        graph.outputs.push(y);
        let rows = |name: &str, columns| Declared::Tensor {
            dtype: DType::F32,
            dims: Some(vec![Dim::Symbol(name.into()), Dim::Known(columns)]),
        };
        graph.values[x.index()].declared = Some(rows(given, 3));
        graph.values[y.index()].declared = Some(rows(made, 5));
        Ok(graph)
    }

    fn device(uri: &str, devices: u8) -> Result<Device, Box<dyn std::error::Error>> {
        let registry = Registry::new().with(CpuDriver::split(devices));
        Ok(registry.open(&registry.parse(uri)?, None)?)
    }

    #[test]
    fn parts_are_of_one_size_and_go_to_as_many_devices_as_that_allows() -> Test {
        let graph = layer("batch", "batch")?;
        let sizes = |rows: usize, devices: usize| -> Result<Vec<usize>, Box<dyn std::error::Error>> {
            let parts = parts(&graph, &[numbers(&[rows, 3], 2)?.into()], devices)?.unwrap_or_default();
            Ok(parts.iter().filter_map(|part| Some(part[0].tensor().ok()?.shape()[0])).collect())
        };
        assert_eq!(sizes(6, 2)?, [3, 3]);
        assert_eq!(sizes(6, 4)?, [2, 2, 2]);
        assert_eq!(sizes(4, 3)?, [2, 2]);
        for (rows, devices) in [(6, 1), (5, 2), (1, 4), (0, 2), (7, 3)] {
            assert_eq!(sizes(rows, devices)?, [0; 0], "{rows} rows on {devices} devices");
        }
        let other = layer("batch", "rows")?;
        assert!(parts(&other, &[numbers(&[6, 3], 2)?.into()], 2)?.is_none());
        Ok(())
    }

    #[test]
    fn two_devices_make_what_one_makes() -> Test {
        let mut one = Session::new(layer("batch", "batch")?, device("cpu", 1)?);
        let mut two = Session::new(layer("batch", "batch")?, device("cpu://0,1", 2)?);
        // Sizes that split, that do not, and the first once more, which is a replay by then.
        for rows in [6, 5, 1, 8, 6] {
            let given = [numbers(&[rows, 3], rows as u32)?.into()];
            let expected = one.run(&given)?;
            let (made, timings) = two.run_timed(&given)?;
            assert_eq!(made, expected, "{rows} rows");
            assert_eq!(made[0].tensor()?.shape(), [rows, 5]);
            let queues: BTreeSet<usize> = timings.iter().map(|timing| timing.queue).collect();
            assert_eq!(queues.len(), if rows % 2 == 0 { 2 } else { 1 }, "{rows} rows");
        }
        Ok(())
    }
}
