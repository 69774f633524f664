//! Builder of probe graphs. Inputs and weights come from a seeded generator, so they are the same
//! on every machine.

use roci_graph::graph::{DeclaredType, Dim};
use roci_graph::interpreter::RunError;
use roci_graph::ops::reduction::ReduceKind;
use roci_graph::ops::window::{Padding, Window};
use roci_graph::{DType, Graph, GraphBuilder, Node, Op, OpError, Tensor, Value, ValueId, gradients};

use roci_tolerance::Tolerance;

use super::tolerance;

/// A graph with its inputs and its tolerance.
#[derive(Debug)]
#[non_exhaustive]
pub struct GraphCase {
    /// The graph under test.
    pub graph: Graph,
    /// Values of the graph inputs, in order.
    pub inputs: Vec<Value>,
    /// Tolerance of the outputs.
    pub tolerance: Tolerance,
}

/// A graph under construction.
pub(super) struct CaseBuilder {
    /// The float type of inputs and weights.
    pub(super) dtype: DType,
    pub(super) tolerance: Tolerance,
    graph: Graph,
    inputs: Vec<Value>,
    /// Number of tensors generated so far; seeds the values of the next one.
    or_record_error: u32,
    wrong: Option<OpError>,
}

impl CaseBuilder {
    pub(super) fn new(dtype: DType) -> Self {
        let graph = Graph { name: "probe".into(), ..Graph::default() };
        Self {
            dtype,
            tolerance: tolerance::operation(dtype),
            graph,
            inputs: Vec::new(),
            or_record_error: 0,
            wrong: None,
        }
    }

    /// Adds a float input with values between -1 and 1.
    pub(super) fn input(&mut self, shape: &[usize]) -> ValueId {
        self.input_of(self.dtype, shape, -1.0, 1.0)
    }

    /// Adds a float input with values in a range.
    pub(super) fn input_in(&mut self, shape: &[usize], low: f64, high: f64) -> ValueId {
        self.input_of(self.dtype, shape, low, high)
    }

    /// Adds an input of any type with values in a range. For integer types the values are
    /// truncated.
    pub(super) fn input_of(&mut self, dtype: DType, shape: &[usize], low: f64, high: f64) -> ValueId {
        let tensor = self.numbers(dtype, shape, low, high);
        self.feed(tensor)
    }

    /// Adds an input with the value `tensor`.
    pub(super) fn feed(&mut self, tensor: Tensor) -> ValueId {
        let id = self.graph.value(format!("x{}", self.inputs.len()));
        let dims = Some(tensor.shape().iter().map(|&size| Dim::Known(size)).collect());
        self.graph.values[id.index()].declared = Some(DeclaredType::Tensor { dtype: tensor.dtype(), dims });
        self.graph.inputs.push(id);
        self.inputs.push(tensor.into());
        id
    }

    /// Adds an input with these elements.
    pub(super) fn listed(&mut self, dtype: DType, shape: &[usize], elements: &[f64]) -> ValueId {
        let tensor = self.checked(Tensor::from_floats(dtype, shape, elements));
        self.feed(tensor)
    }

    /// Adds a float constant with values between -0.5 and 0.5.
    pub(super) fn weight(&mut self, shape: &[usize]) -> ValueId {
        self.weight_in(shape, -0.5, 0.5)
    }

    /// Adds a float constant with values in a range.
    pub(super) fn weight_in(&mut self, shape: &[usize], low: f64, high: f64) -> ValueId {
        let tensor = self.numbers(self.dtype, shape, low, high);
        self.known(tensor)
    }

    /// Adds a constant.
    pub(super) fn known(&mut self, tensor: Tensor) -> ValueId {
        self.graph.constant(format!("c{}", self.graph.constants.len()), tensor)
    }

    /// Adds a constant list of integers, such as axes or sizes.
    pub(super) fn list(&mut self, elements: &[i64]) -> ValueId {
        self.known(Tensor::vector(elements.to_vec()))
    }

    /// Adds a scalar constant of the builder's float type.
    pub(super) fn number(&mut self, number: f64) -> ValueId {
        let tensor = self.checked(Tensor::from_floats(self.dtype, [], &[number]));
        self.known(tensor)
    }

    /// Adds a node with one output.
    pub(super) fn op(&mut self, op: impl Into<Op>, operands: &[ValueId]) -> ValueId {
        let name = format!("n{}", self.graph.nodes.len());
        self.graph.node(&name, op, operands)
    }

    /// Adds a node with optional operands and several outputs.
    pub(super) fn op_with(&mut self, op: impl Into<Op>, operands: &[Option<ValueId>], outputs: usize) -> Vec<ValueId> {
        let name = format!("n{}", self.graph.nodes.len());
        let values: Vec<_> = (0..outputs).map(|index| self.graph.value(format!("{name}.{index}"))).collect();
        let outputs = values.iter().copied().map(Some).collect();
        self.graph.nodes.push(Node { name, op: op.into(), kind: None, inputs: operands.to_vec(), outputs });
        values
    }

    /// Gradients of a weighted sum of all elements of a value, with a different weight each.
    pub(super) fn backward(&mut self, or_record_error: ValueId, by: &[ValueId]) -> Vec<ValueId> {
        let graph = std::mem::take(&mut self.graph);
        let written = self.differentiated(graph, or_record_error, by);
        let (graph, ids) = self.or_record_error(written).unwrap_or_default();
        self.graph = graph;
        ids
    }

    fn differentiated(
        &mut self,
        graph: Graph,
        or_record_error: ValueId,
        by: &[ValueId],
    ) -> Result<(Graph, Vec<ValueId>), RunError> {
        let mut builder = GraphBuilder::of(graph)?;
        let shape = builder.fact(or_record_error).and_then(|fact| fact.shape.clone()).unwrap_or_default();
        let factors = self.numbers(self.dtype, &shape, 0.5, 1.5);
        builder.name_nodes("loss");
        let factors = builder.constant(factors);
        let product = builder.mul(or_record_error, factors)?;
        let loss = builder.fold(product, ReduceKind::Sum, &(0..shape.len()).collect::<Vec<_>>())?;
        let ids = gradients(&mut builder, loss, by)?;
        Ok((builder.finish(), ids))
    }

    /// Replaces the graph and keeps the inputs. Returns the outputs of the new graph.
    pub(super) fn take(&mut self, graph: Graph) -> Vec<ValueId> {
        self.graph = graph;
        self.graph.outputs.clone()
    }

    /// Unwraps a result; `finish` reports the error.
    pub(super) fn or_record_error<T>(&mut self, result: Result<T, RunError>) -> Option<T> {
        result.map_err(|error| self.wrong = Some(error.into())).ok()
    }

    /// Finishes the graph with these outputs.
    pub(super) fn finish(mut self, outputs: Vec<ValueId>) -> Result<GraphCase, OpError> {
        self.graph.outputs = outputs;
        match self.wrong {
            None => Ok(GraphCase { graph: self.graph, inputs: self.inputs, tolerance: self.tolerance }),
            Some(wrong) => Err(wrong),
        }
    }

    fn numbers(&mut self, dtype: DType, shape: &[usize], low: f64, high: f64) -> Tensor {
        self.or_record_error += 1;
        let count = shape.iter().product::<usize>() as u32;
        let numbers: Vec<f64> = (0..count).map(|at| low + (high - low) * uniform(self.or_record_error, at)).collect();
        self.checked(Tensor::from_floats(dtype, shape, &numbers))
    }

    /// Unwraps a tensor; `finish` reports the error.
    fn checked(&mut self, or_record_error: Result<Tensor, OpError>) -> Tensor {
        or_record_error.unwrap_or_else(|error| {
            self.wrong = Some(error);
            Tensor::scalar(0.0f32)
        })
    }
}

/// A uniform value in `0 .. 1`, by tensor and element index: a linear congruential step with PCG's
/// output permutation. Not `fastrand`, whose sequences may change between versions: the matrix
/// compares with results of earlier releases, which must have had the same inputs.
fn uniform(tensor: u32, at: u32) -> f64 {
    let state = at.wrapping_mul(747_796_405).wrapping_add(tensor.wrapping_mul(2_891_336_453));
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    f64::from((word >> 22) ^ word) / 4_294_967_296.0
}

/// A window whose size is that of the weights.
pub(super) fn window(strides: &[usize], pads: &[usize], dilations: &[usize]) -> Window {
    let padding = Padding::Explicit(pads.iter().map(|pad| (*pad, *pad)).collect());
    Window { kernel: Vec::new(), strides: strides.to_vec(), dilations: dilations.to_vec(), padding }
}

/// A window with an explicit size, for pools.
pub(super) fn sized(kernel: &[usize], strides: &[usize], pads: &[usize]) -> Window {
    Window { kernel: kernel.to_vec(), ..window(strides, pads, &[]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_spread_and_the_same_every_time() {
        let numbers: Vec<f64> = (0..1000).map(|at| uniform(1, at)).collect();
        let mean = numbers.iter().sum::<f64>() / 1000.0;
        assert!((0.45..0.55).contains(&mean) && numbers.iter().all(|number| (0.0..1.0).contains(number)), "{mean}");
        assert_eq!(uniform(1, 7), numbers[7]);
        assert_ne!(uniform(2, 7), numbers[7]);
    }

    #[test]
    fn invalid_tensors_are_errors() {
        let mut builder = CaseBuilder::new(DType::F32);
        let x = builder.listed(DType::F32, &[3], &[1.0]);
        assert!(builder.finish(vec![x]).is_err());
    }
}
