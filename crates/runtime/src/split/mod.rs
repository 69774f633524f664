//! A batch over the physical devices of a logical device.

mod rows;

use std::collections::HashMap;

use roci_graph::graph::{Declared, Dim};
use roci_graph::ops::{Inputs, Movement};
use roci_graph::{Fact, Graph, Operation, Tensor, Value, ValueId, known};
use roci_hal::DeviceInfo;

use crate::Error;

/// Shapes of inputs that are remembered.
const KEPT: usize = 64;

/// Which inputs can be split, by their shapes and into how many parts.
#[derive(Default)]
pub(crate) struct Verdicts(HashMap<(Vec<Vec<usize>>, usize), bool>);

impl Verdicts {
    /// Whether the graph computes each row of such inputs by itself.
    fn are_apart(&mut self, graph: &Graph, tensors: &[&Tensor], count: usize) -> bool {
        let key = (tensors.iter().map(|tensor| tensor.shape().to_vec()).collect(), count);
        if let Some(verdict) = self.0.get(&key) {
            return *verdict;
        }
        let facts = |count: usize| {
            let fact = |tensor: &&Tensor| {
                let mut shape = tensor.shape().to_vec();
                shape[0] /= count;
                Some(Fact::new(tensor.dtype(), shape))
            };
            known::facts(graph, &tensors.iter().map(fact).collect::<Vec<_>>())
        };
        let (whole, part) = (facts(1), facts(count));
        let size = tensors.first().map_or(0, |tensor| tensor.shape()[0]);
        let verdict = rows::Facts { graph, whole: &whole, part: &part, sizes: [size, size / count] }.are_apart();
        if self.0.len() >= KEPT {
            self.0.clear();
        }
        self.0.insert(key, verdict);
        verdict
    }
}

/// The first queue of each physical device.
pub(crate) fn queues(info: &DeviceInfo) -> Vec<usize> {
    let first = |physical| info.queues.iter().position(|queue| queue.physical == physical);
    let found: Vec<usize> = (0..info.physical.len()).filter_map(first).collect();
    if found.is_empty() { vec![0] } else { found }
}

/// The inputs of each device; `None` where there is nothing to split: one device, a model that does not say that its first dimensions are one open
/// number, the batch, or one that may look from row to row.
pub(crate) fn parts(
    graph: &Graph,
    inputs: &[Value],
    devices: usize,
    verdicts: &mut Verdicts,
) -> Result<Option<Vec<Vec<Value>>>, Error> {
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
    if !verdicts.are_apart(graph, &tensors, count) {
        return Ok(None);
    }
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
    use roci_graph::ops::attend::{Attention, Scores};
    use roci_graph::ops::elementwise::{Binary, Unary};
    use roci_graph::ops::reduction::{Fold, SoftmaxKind};
    use roci_graph::ops::{Attend, Elementwise, Indexing, Product, Reduction, Source};
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
            let parts = parts(&graph, &[numbers(&[rows, 3], 2)?.into()], devices, &mut Verdicts::default())?
                .unwrap_or_default();
            Ok(parts.iter().filter_map(|part| Some(part[0].tensor().ok()?.shape()[0])).collect())
        };
        assert_eq!(sizes(6, 2)?, [3, 3]);
        assert_eq!(sizes(6, 4)?, [2, 2, 2]);
        assert_eq!(sizes(4, 3)?, [2, 2]);
        for (rows, devices) in [(6, 1), (5, 2), (1, 4), (0, 2), (7, 3)] {
            assert_eq!(sizes(rows, devices)?, [0; 0], "{rows} rows on {devices} devices");
        }
        let other = layer("batch", "rows")?;
        assert!(parts(&other, &[numbers(&[6, 3], 2)?.into()], 2, &mut Verdicts::default())?.is_none());
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

    /// A graph of rows of three that starts and ends with this.
    fn between(make: impl FnOnce(&mut Graph, ValueId) -> Result<ValueId, OpError>) -> Result<Graph, OpError> {
        let mut graph = Graph::default();
        let x = graph.value("x");
        graph.inputs.push(x);
        let y = make(&mut graph, x)?;
        graph.outputs.push(y);
        let dims = Some(vec![Dim::Symbol("batch".into()), Dim::Known(3)]);
        for id in [x, y] {
            graph.values[id.index()].declared = Some(Declared::Tensor { dtype: DType::F32, dims: dims.clone() });
        }
        Ok(graph)
    }

    /// Whether six such rows are split over two devices.
    fn splits(graph: &Graph) -> Result<bool, Box<dyn std::error::Error>> {
        Ok(parts(graph, &[numbers(&[6, 3], 2)?.into()], 2, &mut Verdicts::default())?.is_some())
    }

    fn axes(graph: &mut Graph, axes: &[i64]) -> Result<ValueId, OpError> {
        Ok(graph.constant("axes", Tensor::new([axes.len()], axes.to_vec())?))
    }

    fn mean(graph: &mut Graph, x: ValueId, along: i64) -> Result<ValueId, OpError> {
        let axes = axes(graph, &[along])?;
        Ok(graph.node("mean", Reduction::Reduce { fold: Fold::Mean, keep: true, none_is_none: false }, &[x, axes]))
    }

    #[test]
    fn what_looks_from_row_to_row_stays_whole() -> Test {
        let centred = |along: i64| {
            between(|graph, x| {
                let mean = mean(graph, x, along)?;
                Ok(graph.node("y", Elementwise::Binary(Binary::Sub), &[x, mean]))
            })
        };
        assert!(splits(&centred(1)?)?, "each row has its own mean");
        assert!(splits(&centred(-1)?)?, "the same axis");
        assert!(!splits(&centred(0)?)?, "the mean of the batch");
        let softmax = |axis| {
            let kind = SoftmaxKind::Softmax;
            between(|graph, x| Ok(graph.node("y", Reduction::Softmax { kind, axis, to_end: false }, &[x])))
        };
        assert!(splits(&softmax(1)?)? && !splits(&softmax(0)?)? && !splits(&softmax(-2)?)?);
        let scaled = between(|graph, x| {
            let shape = graph.node("shape", Source::Shape { start: 0, end: None }, &[x]);
            let floats = graph.node("floats", Elementwise::Cast { to: DType::F32 }, &[shape]);
            let first = graph.constant("first", Tensor::new([], vec![0i64])?);
            let rows = graph.node("rows", Indexing::Gather { axis: 0 }, &[floats, first]);
            Ok(graph.node("y", Elementwise::Binary(Binary::Mul), &[x, rows]))
        })?;
        assert!(!splits(&scaled)?, "the number of rows is a factor");
        let numbered = between(|graph, x| {
            let own = graph.constant("own", numbers(&[6, 3], 1)?);
            Ok(graph.node("y", Elementwise::Binary(Binary::Add), &[x, own]))
        })?;
        assert!(!splits(&numbered)?, "each row has its own summand");
        let turned = between(|graph, x| {
            let flat = graph.constant("flat", Tensor::new([2], vec![3i64, -1])?);
            let back = graph.constant("back", Tensor::new([2], vec![-1i64, 3])?);
            let flat = graph.node("turned", Movement::Reshape { allow_zero: false }, &[x, flat]);
            Ok(graph.node("y", Movement::Reshape { allow_zero: false }, &[flat, back]))
        })?;
        assert!(!splits(&turned)?, "rows are no rows in between");
        let viewed = between(|graph, x| {
            let open = graph.constant("open", Tensor::new([3], vec![0i64, 3, 1])?);
            let wide = graph.node("wide", Movement::Reshape { allow_zero: false }, &[x, open]);
            let shape = graph.node("shape", Source::Shape { start: 0, end: None }, &[x]);
            Ok(graph.node("y", Movement::Reshape { allow_zero: false }, &[wide, shape]))
        })?;
        assert!(splits(&viewed)?, "rows seen otherwise, in the end by a shape that is computed");
        let attention = between(|graph, x| {
            let open = graph.constant("open", Tensor::new([3], vec![0i64, 3, 1])?);
            let wide = graph.node("wide", Movement::Reshape { allow_zero: false }, &[x, open]);
            let lengths = graph.constant("lengths", Tensor::vector(vec![3i64, 1, 2, 3, 3, 0]));
            let op = Attention {
                scale: None,
                causal: true,
                pads_mask: true,
                heads: (Some(1), Some(1)),
                softcap: 0.0,
                scores: Scores::Products,
            };
            let made = graph.node("made", Attend::Attention(op), &[wide, wide, wide]);
            if let Some(node) = graph.nodes.last_mut() {
                node.inputs.extend([None, None, None, Some(lengths)]);
            }
            let shape = graph.node("shape", Source::Shape { start: 0, end: None }, &[x]);
            Ok(graph.node("y", Movement::Reshape { allow_zero: false }, &[made, shape]))
        })?;
        assert!(!splits(&attention)?, "each row has its own number of valid keys");
        let constant = between(|graph, _| Ok(graph.constant("y", numbers(&[6, 3], 1)?)))?;
        assert!(!splits(&constant)?, "an output that is no rows");
        Ok(())
    }

    #[test]
    fn a_mean_of_the_batch_is_that_of_the_whole_on_two_devices() -> Test {
        let graph = || {
            between(|graph, x| {
                let mean = mean(graph, x, 0)?;
                Ok(graph.node("y", Elementwise::Binary(Binary::Sub), &[x, mean]))
            })
        };
        let given = [numbers(&[6, 3], 4)?.into()];
        let expected = Session::new(graph()?, device("cpu", 1)?).run(&given)?;
        assert_eq!(Session::new(graph()?, device("cpu://0,1", 2)?).run(&given)?, expected);
        Ok(())
    }
}
