//! Splits a batch over the physical devices of a logical device.

mod row_independence;

use std::collections::HashMap;

use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::ops::{Inputs, Movement};
use roci_graph::{Fact, Graph, Operation, Tensor, Value, ValueId, inference};
use roci_hal::DeviceInfo;

use self::row_independence::RowAnalysis;
use crate::Error;

/// Maximum number of cache entries.
const MAX_CACHED: usize = 64;

/// Caches which inputs can be split, by their shapes and the number of shards.
#[derive(Default)]
pub(crate) struct SplitCache(HashMap<(Vec<Vec<usize>>, usize), bool>);

impl SplitCache {
    /// Whether the graph computes each row of such inputs independently.
    fn computes_rows_independently(&mut self, graph: &Graph, tensors: &[&Tensor], count: usize) -> bool {
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
            inference::facts(graph, &tensors.iter().map(fact).collect::<Vec<_>>())
        };
        let (whole, part) = (facts(1), facts(count));
        let size = tensors.first().map_or(0, |tensor| tensor.shape()[0]);
        let verdict = RowAnalysis { graph, whole: &whole, part: &part, sizes: [size, size / count] }.is_independent();
        if self.0.len() >= MAX_CACHED {
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

/// The inputs of each device. Returns `None` if the batch cannot be split: there is one device, the
/// model does not declare one symbolic batch size as the first dimension of all inputs and outputs,
/// or a row may depend on other rows.
pub(crate) fn shards(
    graph: &Graph,
    inputs: &[Value],
    devices: usize,
    verdicts: &mut SplitCache,
) -> Result<Option<Vec<Vec<Value>>>, Error> {
    if devices < 2 || batch(graph).is_none() {
        return Ok(None);
    }
    let tensors: Option<Vec<&Tensor>> = inputs.iter().map(|value| value.tensor().ok()).collect();
    let Some(tensors) = tensors else { return Ok(None) };
    let size = tensors.first().and_then(|tensor| tensor.shape().first().copied()).unwrap_or(0);
    // All shards have the same size, so that they share one recording's kernels.
    let same = tensors.iter().all(|tensor| tensor.shape().first() == Some(&size));
    let count = (2..=devices).rev().find(|count| size % count == 0);
    let (Some(count), true) = (count, same && size > 0) else { return Ok(None) };
    if !verdicts.computes_rows_independently(graph, &tensors, count) {
        return Ok(None);
    }
    let part = |at: usize| -> Result<Vec<Value>, Error> {
        tensors.iter().map(|tensor| slice(tensor, at * size / count, size / count)).collect()
    };
    (0..count).map(part).collect::<Result<Vec<_>, _>>().map(Some)
}

/// The symbolic size that is the first dimension of all inputs and outputs.
fn batch(graph: &Graph) -> Option<&str> {
    let lead = |id: &ValueId| match graph.values[id.index()].declared.as_ref()? {
        DeclaredType::Tensor { dims: Some(dims), .. } => match dims.first()? {
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

/// Some rows of a tensor.
fn slice(tensor: &Tensor, first: usize, count: usize) -> Result<Value, Error> {
    let mut shape = tensor.shape().to_vec();
    shape[0] = count;
    let row: usize = shape[1..].iter().product();
    let size = tensor.dtype().size().ok_or_else(|| Error::Input("strings cannot be split".into()))?;
    let bytes = tensor.to_bytes().ok_or_else(|| Error::Input("strings cannot be split".into()))?;
    let range = first * row * size..(first + count) * row * size;
    Tensor::from_bytes(tensor.dtype(), shape, &bytes[range]).map(Value::from).map_err(bad)
}

/// Concatenates the outputs of all shards.
pub(crate) fn join(graph: &Graph, result: Vec<Vec<Value>>) -> Result<Vec<Value>, Error> {
    let concat = |at: usize| -> Result<Value, Error> {
        let operands: Vec<Option<&Value>> = result.iter().map(|values| values.get(at)).collect();
        let mut joined = Movement::Concat { axis: 0 }.eval(&Inputs::new(&operands, 1)).map_err(bad)?;
        joined.pop().ok_or_else(|| Error::Input("a shard without an output".into()))
    };
    (0..graph.outputs.len()).map(concat).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use roci_cpu::CpuDriver;
    use roci_graph::ops::attention::{Attention, Scores};
    use roci_graph::ops::elementwise::{Binary, Unary};
    use roci_graph::ops::reduction::{ReduceKind, SoftmaxKind};
    use roci_graph::ops::{AttentionOp, Elementwise, Indexing, Product, Reduction, Source};
    use roci_graph::{DType, OpError};
    use roci_hal::{Device, Registry};

    use super::*;
    use crate::Session;
    use crate::fuse::tests::{Test, numbers};

    /// A layer over rows; the arguments name the symbolic batch size of the input and of the
    /// output.
    fn layer(given: &str, result: &str) -> Result<Graph, OpError> {
        let mut graph = Graph::default();
        let x = graph.value("x");
        graph.inputs.push(x);
        let w = graph.constant("w", numbers(&[3, 5], 1)?);
        let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
        let sum = graph.node("sum", product, &[x, w]);
        let y = graph.node("y", Elementwise::Unary(Unary::Tanh), &[sum]);
        graph.outputs.push(y);
        let rows = |name: &str, columns| DeclaredType::Tensor {
            dtype: DType::F32,
            dims: Some(vec![Dim::Symbol(name.into()), Dim::Known(columns)]),
        };
        graph.values[x.index()].declared = Some(rows(given, 3));
        graph.values[y.index()].declared = Some(rows(result, 5));
        Ok(graph)
    }

    fn device(uri: &str, devices: u8) -> Result<Device, Box<dyn std::error::Error>> {
        let registry = Registry::new().with(CpuDriver::split(devices));
        Ok(registry.open(&registry.parse(uri)?, None)?)
    }

    #[test]
    fn shards_have_equal_sizes_on_as_many_devices_as_possible() -> Test {
        let graph = layer("batch", "batch")?;
        let sizes = |rows: usize, devices: usize| -> Result<Vec<usize>, Box<dyn std::error::Error>> {
            let shards = shards(&graph, &[numbers(&[rows, 3], 2)?.into()], devices, &mut SplitCache::default())?
                .unwrap_or_default();
            Ok(shards.iter().filter_map(|part| Some(part[0].tensor().ok()?.shape()[0])).collect())
        };
        assert_eq!(sizes(6, 2)?, [3, 3]);
        assert_eq!(sizes(6, 4)?, [2, 2, 2]);
        assert_eq!(sizes(4, 3)?, [2, 2]);
        for (rows, devices) in [(6, 1), (5, 2), (1, 4), (0, 2), (7, 3)] {
            assert_eq!(sizes(rows, devices)?, [0; 0], "{rows} rows on {devices} devices");
        }
        let other = layer("batch", "rows")?;
        assert!(shards(&other, &[numbers(&[6, 3], 2)?.into()], 2, &mut SplitCache::default())?.is_none());
        Ok(())
    }

    #[test]
    fn two_devices_give_the_results_of_one() -> Test {
        let mut one = Session::new(layer("batch", "batch")?, device("cpu", 1)?);
        let mut two = Session::new(layer("batch", "batch")?, device("cpu://0,1", 2)?);
        // Sizes that split, sizes that do not, and the first one again, which is a replay.
        for rows in [6, 5, 1, 8, 6] {
            let inputs = [numbers(&[rows, 3], rows as u64)?.into()];
            let expected = one.run(&inputs)?;
            let (result, timings) = two.run_timed(&inputs)?;
            assert_eq!(result, expected, "{rows} rows");
            assert_eq!(result[0].tensor()?.shape(), [rows, 5]);
            let queues: BTreeSet<usize> = timings.iter().map(|timing| timing.queue).collect();
            assert_eq!(queues.len(), if rows % 2 == 0 { 2 } else { 1 }, "{rows} rows");
        }
        Ok(())
    }

    /// A graph from rows of three elements to rows of three elements.
    fn between(make: impl FnOnce(&mut Graph, ValueId) -> Result<ValueId, OpError>) -> Result<Graph, OpError> {
        let mut graph = Graph::default();
        let x = graph.value("x");
        graph.inputs.push(x);
        let y = make(&mut graph, x)?;
        graph.outputs.push(y);
        let dims = Some(vec![Dim::Symbol("batch".into()), Dim::Known(3)]);
        for id in [x, y] {
            graph.values[id.index()].declared = Some(DeclaredType::Tensor { dtype: DType::F32, dims: dims.clone() });
        }
        Ok(graph)
    }

    /// Whether six such rows are split over two devices.
    fn splits(graph: &Graph) -> Result<bool, Box<dyn std::error::Error>> {
        Ok(shards(graph, &[numbers(&[6, 3], 2)?.into()], 2, &mut SplitCache::default())?.is_some())
    }

    fn axes(graph: &mut Graph, axes: &[i64]) -> Result<ValueId, OpError> {
        Ok(graph.constant("axes", Tensor::new([axes.len()], axes.to_vec())?))
    }

    fn mean(graph: &mut Graph, x: ValueId, along: i64) -> Result<ValueId, OpError> {
        let axes = axes(graph, &[along])?;
        Ok(graph.node(
            "mean",
            Reduction::Reduce { fold: ReduceKind::Mean, keep: true, noop_with_empty_axes: false },
            &[x, axes],
        ))
    }

    #[test]
    fn a_batch_whose_rows_depend_on_each_other_is_not_split() -> Test {
        let centered = |along: i64| {
            between(|graph, x| {
                let mean = mean(graph, x, along)?;
                Ok(graph.node("y", Elementwise::Binary(Binary::Sub), &[x, mean]))
            })
        };
        assert!(splits(&centered(1)?)?, "each row has its own mean");
        assert!(splits(&centered(-1)?)?, "the same axis");
        assert!(!splits(&centered(0)?)?, "the mean of the batch");
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
        assert!(!splits(&turned)?, "the first axis is not the batch in between");
        let viewed = between(|graph, x| {
            let open = graph.constant("open", Tensor::new([3], vec![0i64, 3, 1])?);
            let wide = graph.node("wide", Movement::Reshape { allow_zero: false }, &[x, open]);
            let shape = graph.node("shape", Source::Shape { start: 0, end: None }, &[x]);
            Ok(graph.node("y", Movement::Reshape { allow_zero: false }, &[wide, shape]))
        })?;
        assert!(splits(&viewed)?, "rows in other views, the last with a computed shape");
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
            let result = graph.node("result", AttentionOp::Attention(op), &[wide, wide, wide]);
            if let Some(node) = graph.nodes.last_mut() {
                node.inputs.extend([None, None, None, Some(lengths)]);
            }
            let shape = graph.node("shape", Source::Shape { start: 0, end: None }, &[x]);
            Ok(graph.node("y", Movement::Reshape { allow_zero: false }, &[result, shape]))
        })?;
        assert!(!splits(&attention)?, "each row has its own number of valid keys");
        let constant = between(|graph, _| Ok(graph.constant("y", numbers(&[6, 3], 1)?)))?;
        assert!(!splits(&constant)?, "an output without rows");
        Ok(())
    }

    #[test]
    fn a_mean_over_the_batch_is_the_same_on_two_devices() -> Test {
        let graph = || {
            between(|graph, x| {
                let mean = mean(graph, x, 0)?;
                Ok(graph.node("y", Elementwise::Binary(Binary::Sub), &[x, mean]))
            })
        };
        let inputs = [numbers(&[6, 3], 4)?.into()];
        let expected = Session::new(graph()?, device("cpu", 1)?).run(&inputs)?;
        assert_eq!(Session::new(graph()?, device("cpu://0,1", 2)?).run(&inputs)?, expected);
        Ok(())
    }
}
