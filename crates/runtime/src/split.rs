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
