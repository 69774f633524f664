//! Training: a network with its parameters, and one optimizer step as a graph.
//!
//! A [`Model`] is a graph under construction with its trainable tensors. [`Model::step`] appends
//! the gradients and the optimizer. The resulting [`TrainingStep`] takes data and the carried
//! tensors, and returns the loss and the updated tensors, so anything that runs graphs can train.

mod example;
mod optimizer;
#[cfg(test)]
mod tests;

pub use example::{CLASSES, SIDE, example};
pub use optimizer::Optimizer;

use crate::builder::GraphBuilder;
use crate::gradient::gradients;
use crate::interpreter::RunError;
use crate::ops::random::Stream;
use crate::{DType, Graph, OpError, Tensor, ValueId};

/// A tensor that is carried from step to step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StateTensor {
    /// The tensor's name.
    pub name: String,
    /// The value before the first step.
    pub initial: Tensor,
    /// The index among the graph's inputs.
    pub input: usize,
    /// The index of the updated tensor among the graph's outputs.
    pub output: usize,
}

/// One training step.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrainingStep {
    /// Inputs: those of the network in order, the learning rate, and the state. Outputs: the
    /// loss, and the updated state.
    pub graph: Graph,
    /// Parameters, then buffers, then the optimizer's state.
    pub state: Vec<StateTensor>,
}

/// A tensor of the training state: its input value and, once a layer updated it, its output value.
#[derive(Clone, Debug)]
struct StateVariable {
    id: ValueId,
    next: Option<ValueId>,
    initial: Tensor,
}

/// A network under construction.
#[derive(Clone, Debug)]
pub struct Model {
    /// The graph. Inputs that are added through it are data.
    pub builder: GraphBuilder,
    /// Whether batch normalization uses the statistics of the batch.
    pub training: bool,
    dtype: DType,
    parameters: Vec<StateVariable>,
    buffers: Vec<StateVariable>,
    seed: u64,
}

impl Model {
    /// Creates an empty model. The seed determines the initial parameters.
    pub fn new(name: &str, dtype: DType, training: bool, seed: u64) -> Self {
        let (parameters, buffers) = (Vec::new(), Vec::new());
        Self { builder: GraphBuilder::new(name), training, dtype, parameters, buffers, seed }
    }

    /// The floating-point type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Adds a parameter with these initial elements.
    pub fn parameter(&mut self, name: &str, initial: Tensor) -> ValueId {
        let id = self.builder.input(name, initial.dtype(), initial.shape());
        self.parameters.push(StateVariable { id, next: None, initial });
        id
    }

    /// Adds a parameter that is drawn uniformly, within a range that suits this fan-in.
    pub fn weights(&mut self, name: &str, shape: &[usize], terms: usize) -> Result<ValueId, RunError> {
        let stream = Stream { seed: self.seed, run: self.parameters.len() as u64 };
        let count = shape.iter().product::<usize>() as u64;
        let reach = (3.0 / terms.max(1) as f64).sqrt();
        let all: Vec<f64> = (0..count).map(|at| (stream.uniform(at) * 2.0 - 1.0) * reach).collect();
        self.filled(name, shape, &all)
    }

    /// Adds a parameter that is filled with one number.
    pub fn constant(&mut self, name: &str, size: usize, number: f64) -> Result<ValueId, RunError> {
        self.filled(name, &[size], &vec![number; size])
    }

    fn filled(&mut self, name: &str, shape: &[usize], all: &[f64]) -> Result<ValueId, RunError> {
        let initial =
            Tensor::from_floats(self.dtype, shape, all).map_err(|error| self.builder.wrong("input", error))?;
        Ok(self.parameter(name, initial))
    }

    /// Adds a tensor that a layer updates, such as a running mean; see [`Model::update_buffer`].
    pub fn buffer(&mut self, name: &str, size: usize, number: f64) -> Result<ValueId, RunError> {
        let initial = Tensor::from_floats(self.dtype, [size], &vec![number; size]);
        let initial = initial.map_err(|error| self.builder.wrong("input", error))?;
        let id = self.builder.input(name, self.dtype, &[size]);
        self.buffers.push(StateVariable { id, next: None, initial });
        Ok(id)
    }

    /// Sets the updated value of a buffer.
    pub fn update_buffer(&mut self, id: ValueId, next: ValueId) {
        if let Some(variable) = self.buffers.iter_mut().find(|variable| variable.id == id) {
            variable.next = Some(next);
        }
    }

    /// Appends the gradients of the loss and one optimizer step.
    pub fn step(mut self, loss: ValueId, optimizer: &Optimizer) -> Result<TrainingStep, RunError> {
        let parameter_ids: Vec<ValueId> = self.parameters.iter().map(|variable| variable.id).collect();
        let parameter_gradients = gradients(&mut self.builder, loss, &parameter_ids)?;
        self.builder.name_nodes("optimizer");
        let rate = self.builder.input("learning rate", self.dtype, &[]);
        let mut optimizer_state = Vec::new();
        optimizer.shared_state(&mut self.builder, self.dtype, &mut optimizer_state)?;
        for (variable, gradient) in self.parameters.iter_mut().zip(parameter_gradients) {
            variable.next =
                Some(optimizer.change(&mut self.builder, rate, variable.id, gradient, &mut optimizer_state)?);
        }
        let variables: Vec<StateVariable> =
            self.parameters.into_iter().chain(self.buffers).chain(optimizer_state).collect();
        let mut graph = self.builder.finish();
        // Data comes first, then the state in its order.
        graph.inputs.retain(|id| variables.iter().all(|variable| variable.id != *id));
        graph.outputs = vec![loss];
        let data = graph.inputs.len();
        let mut tensors = Vec::new();
        for (index, variable) in variables.into_iter().enumerate() {
            let name = graph.name(variable.id).to_owned();
            let Some(next) = variable.next else {
                let error = OpError::invalid("no layer updates this tensor");
                return Err(RunError { node: name, op: "input", error });
            };
            graph.inputs.push(variable.id);
            graph.outputs.push(next);
            tensors.push(StateTensor { name, initial: variable.initial, input: data + index, output: 1 + index });
        }
        Ok(TrainingStep { graph, state: tensors })
    }

    /// The network for inference: inputs are its data, then parameters and buffers, in
    /// the order of [`TrainingStep::state`].
    pub fn finish(self, outputs: &[ValueId]) -> Graph {
        let state: Vec<ValueId> = self.parameters.iter().chain(&self.buffers).map(|variable| variable.id).collect();
        let mut graph = self.builder.finish();
        graph.inputs.retain(|id| !state.contains(id));
        graph.inputs.extend(state);
        graph.outputs = outputs.to_vec();
        graph
    }
}
