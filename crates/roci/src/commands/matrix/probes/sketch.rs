//! Graphs for probes, in few words: inputs and weights come from a seeded generator, so that they are the same everywhere.

use roci_graph::graph::{Declared, Dim};
use roci_graph::interpreter::RunError;
use roci_graph::ops::reduction::Fold;
use roci_graph::ops::window::{Padding, Window};
use roci_graph::{Builder, DType, Graph, Node, Op, OpError, Tensor, Value, ValueId, gradients};

use crate::commands::matrix::compare::Tolerance;

/// A graph with what goes into it.
#[derive(Debug)]
pub(crate) struct Case {
    /// What runs.
    pub(crate) graph: Graph,
    /// On what.
    pub(crate) inputs: Vec<Value>,
    /// How far results may be off.
    pub(in crate::commands::matrix) tolerance: Tolerance,
}

/// A graph that is being written.
pub(super) struct Sketch {
    /// The type of floats.
    pub(super) dtype: DType,
    pub(super) tolerance: Tolerance,
    graph: Graph,
    inputs: Vec<Value>,
    /// Tensors made so far: each has other numbers.
    made: u32,
    wrong: Option<OpError>,
}

impl Sketch {
    pub(super) fn new(dtype: DType) -> Self {
        let graph = Graph { name: "probe".into(), ..Graph::default() };
        Self { dtype, tolerance: Tolerance::rounding(dtype), graph, inputs: Vec::new(), made: 0, wrong: None }
    }

    /// An input of floats between -1 and 1.
    pub(super) fn input(&mut self, shape: &[usize]) -> ValueId {
        self.input_of(self.dtype, shape, -1.0, 1.0)
    }

    /// An input of floats between two numbers.
    pub(super) fn input_in(&mut self, shape: &[usize], low: f64, high: f64) -> ValueId {
        self.input_of(self.dtype, shape, low, high)
    }

    /// An input of a type, between two numbers; integers are cut off.
    pub(super) fn input_of(&mut self, dtype: DType, shape: &[usize], low: f64, high: f64) -> ValueId {
        let tensor = self.numbers(dtype, shape, low, high);
        self.feed(tensor)
    }

    /// An input that is this tensor.
    pub(super) fn feed(&mut self, tensor: Tensor) -> ValueId {
        let id = self.graph.value(format!("x{}", self.inputs.len()));
        let dims = Some(tensor.shape().iter().map(|&size| Dim::Known(size)).collect());
        self.graph.values[id.index()].declared = Some(Declared::Tensor { dtype: tensor.dtype(), dims });
        self.graph.inputs.push(id);
        self.inputs.push(tensor.into());
        id
    }

    /// An input of elements that are listed.
    pub(super) fn listed(&mut self, dtype: DType, shape: &[usize], elements: &[f64]) -> ValueId {
        let tensor = self.checked(Tensor::from_floats(dtype, shape, elements));
        self.feed(tensor)
    }

    /// A constant of floats, as large as weights are that many numbers go through.
    pub(super) fn weight(&mut self, shape: &[usize]) -> ValueId {
        self.weight_in(shape, -0.5, 0.5)
    }

    /// A constant of floats between two numbers.
    pub(super) fn weight_in(&mut self, shape: &[usize], low: f64, high: f64) -> ValueId {
        let tensor = self.numbers(self.dtype, shape, low, high);
        self.known(tensor)
    }

    /// A constant.
    pub(super) fn known(&mut self, tensor: Tensor) -> ValueId {
        self.graph.constant(format!("c{}", self.graph.constants.len()), tensor)
    }

    /// A constant list, as axes and sizes are given.
    pub(super) fn list(&mut self, elements: &[i64]) -> ValueId {
        self.known(Tensor::vector(elements.to_vec()))
    }

    /// A constant float of the sketch's type.
    pub(super) fn number(&mut self, number: f64) -> ValueId {
        let tensor = self.checked(Tensor::from_floats(self.dtype, [], &[number]));
        self.known(tensor)
    }

    /// A step with one output.
    pub(super) fn op(&mut self, op: impl Into<Op>, operands: &[ValueId]) -> ValueId {
        let name = format!("n{}", self.graph.nodes.len());
        self.graph.node(&name, op, operands)
    }

    /// A step with operands that may be missing, and so many outputs.
    pub(super) fn op_with(&mut self, op: impl Into<Op>, operands: &[Option<ValueId>], outputs: usize) -> Vec<ValueId> {
        let name = format!("n{}", self.graph.nodes.len());
        let made: Vec<_> = (0..outputs).map(|index| self.graph.value(format!("{name}.{index}"))).collect();
        let outputs = made.iter().copied().map(Some).collect();
        self.graph.nodes.push(Node { name, op: op.into(), kind: None, inputs: operands.to_vec(), outputs });
        made
    }

    /// The gradients by some values of a sum of all elements of another, each with a factor of its own.
    pub(super) fn backward(&mut self, made: ValueId, by: &[ValueId]) -> Vec<ValueId> {
        let graph = std::mem::take(&mut self.graph);
        let written = self.differentiated(graph, made, by);
        let (graph, ids) = self.made(written).unwrap_or_default();
        self.graph = graph;
        ids
    }

    fn differentiated(
        &mut self,
        graph: Graph,
        made: ValueId,
        by: &[ValueId],
    ) -> Result<(Graph, Vec<ValueId>), RunError> {
        let mut builder = Builder::of(graph)?;
        let shape = builder.fact(made).and_then(|fact| fact.shape.clone()).unwrap_or_default();
        let factors = self.numbers(self.dtype, &shape, 0.5, 1.5);
        builder.named("loss");
        let factors = builder.constant(factors);
        let product = builder.mul(made, factors)?;
        let loss = builder.fold(product, Fold::Sum, &(0..shape.len()).collect::<Vec<_>>())?;
        let ids = gradients(&mut builder, loss, by)?;
        Ok((builder.finish(), ids))
    }

    /// Another graph in the place of what was written, for the inputs that were fed; its outputs.
    pub(super) fn take(&mut self, graph: Graph) -> Vec<ValueId> {
        self.graph = graph;
        self.graph.outputs.clone()
    }

    /// What was made; what cannot be made is told at the end.
    pub(super) fn made<T>(&mut self, made: Result<T, RunError>) -> Option<T> {
        made.map_err(|error| self.wrong = Some(error.into())).ok()
    }

    /// The whole, with these outputs.
    pub(super) fn finish(mut self, outputs: Vec<ValueId>) -> Result<Case, OpError> {
        self.graph.outputs = outputs;
        match self.wrong {
            None => Ok(Case { graph: self.graph, inputs: self.inputs, tolerance: self.tolerance }),
            Some(wrong) => Err(wrong),
        }
    }

    fn numbers(&mut self, dtype: DType, shape: &[usize], low: f64, high: f64) -> Tensor {
        self.made += 1;
        let count = shape.iter().product::<usize>() as u32;
        let numbers: Vec<f64> = (0..count).map(|at| low + (high - low) * uniform(self.made, at)).collect();
        self.checked(Tensor::from_floats(dtype, shape, &numbers))
    }

    /// What cannot be made is told at the end.
    fn checked(&mut self, made: Result<Tensor, OpError>) -> Tensor {
        made.unwrap_or_else(|error| {
            self.wrong = Some(error);
            Tensor::scalar(0.0f32)
        })
    }
}

/// A number from 0 on and below 1, by tensor and place: PCG's permutation of a linear congruential step.
fn uniform(tensor: u32, at: u32) -> f64 {
    let state = at.wrapping_mul(747_796_405).wrapping_add(tensor.wrapping_mul(2_891_336_453));
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    f64::from((word >> 22) ^ word) / 4_294_967_296.0
}

/// A window whose size the weights tell.
pub(super) fn window(strides: &[usize], pads: &[usize], dilations: &[usize]) -> Window {
    let padding = Padding::Explicit(pads.iter().map(|pad| (*pad, *pad)).collect());
    Window { kernel: Vec::new(), strides: strides.to_vec(), dilations: dilations.to_vec(), padding }
}

/// A window of a size, as pools have it.
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
    fn what_cannot_be_made_is_an_error() {
        let mut sketch = Sketch::new(DType::F32);
        let x = sketch.listed(DType::F32, &[3], &[1.0]);
        assert!(sketch.finish(vec![x]).is_err());
    }
}
