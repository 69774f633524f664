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
pub struct Carried {
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
    /// Inputs: those of the network in order, the learning rate, and the carried tensors. Outputs:
    /// the loss, and the carried tensors.
    pub graph: Graph,
    /// Parameters, then tensors that layers update, then the optimizer's state.
    pub carried: Vec<Carried>,
}

/// A tensor that the network keeps: its input value and, once a layer updated it, its output value.
#[derive(Clone, Debug)]
struct KeptTensor {
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
    parameters: Vec<KeptTensor>,
    moving: Vec<KeptTensor>,
    seed: u64,
}

impl Model {
    /// Creates an empty model. The seed determines the initial parameters.
    pub fn new(name: &str, dtype: DType, training: bool, seed: u64) -> Self {
        let (parameters, moving) = (Vec::new(), Vec::new());
        Self { builder: GraphBuilder::new(name), training, dtype, parameters, moving, seed }
    }

    /// The floating-point type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Adds a parameter with these initial elements.
    pub fn parameter(&mut self, name: &str, initial: Tensor) -> ValueId {
        let id = self.builder.input(name, initial.dtype(), initial.shape());
        self.parameters.push(KeptTensor { id, next: None, initial });
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

    /// Adds a tensor that a layer updates, such as a running mean; see [`Model::moves`].
    pub fn keeps(&mut self, name: &str, size: usize, number: f64) -> Result<ValueId, RunError> {
        let initial = Tensor::from_floats(self.dtype, [size], &vec![number; size]);
        let initial = initial.map_err(|error| self.builder.wrong("input", error))?;
        let id = self.builder.input(name, self.dtype, &[size]);
        self.moving.push(KeptTensor { id, next: None, initial });
        Ok(id)
    }

    /// Sets the updated value of a tensor that a layer keeps.
    pub fn moves(&mut self, id: ValueId, next: ValueId) {
        if let Some(kept) = self.moving.iter_mut().find(|kept| kept.id == id) {
            kept.next = Some(next);
        }
    }

    /// Appends the gradients of the loss and one optimizer step.
    pub fn step(mut self, loss: ValueId, optimizer: &Optimizer) -> Result<TrainingStep, RunError> {
        let by: Vec<ValueId> = self.parameters.iter().map(|kept| kept.id).collect();
        let slopes = gradients(&mut self.builder, loss, &by)?;
        self.builder.named("optimizer");
        let rate = self.builder.input("learning rate", self.dtype, &[]);
        let mut state = Vec::new();
        optimizer.begin(&mut self.builder, self.dtype, &mut state)?;
        for (kept, slope) in self.parameters.iter_mut().zip(slopes) {
            kept.next = Some(optimizer.change(&mut self.builder, rate, kept.id, slope, &mut state)?);
        }
        let carried: Vec<KeptTensor> = self.parameters.into_iter().chain(self.moving).chain(state).collect();
        let mut graph = self.builder.finish();
        // Data comes first, then the carried tensors in their order.
        graph.inputs.retain(|id| carried.iter().all(|kept| kept.id != *id));
        graph.outputs = vec![loss];
        let data = graph.inputs.len();
        let mut places = Vec::new();
        for (index, kept) in carried.into_iter().enumerate() {
            let name = graph.name(kept.id).to_owned();
            let Some(next) = kept.next else {
                let error = OpError::invalid("no layer updates this tensor");
                return Err(RunError { node: name, op: "input", error });
            };
            graph.inputs.push(kept.id);
            graph.outputs.push(next);
            places.push(Carried { name, initial: kept.initial, input: data + index, output: 1 + index });
        }
        Ok(TrainingStep { graph, carried: places })
    }

    /// The network for inference: inputs are its data, then parameters and tensors that layers
    /// keep, in the order of [`TrainingStep::carried`].
    pub fn finish(self, outputs: &[ValueId]) -> Graph {
        let kept: Vec<ValueId> = self.parameters.iter().chain(&self.moving).map(|kept| kept.id).collect();
        let mut graph = self.builder.finish();
        graph.inputs.retain(|id| !kept.contains(id));
        graph.inputs.extend(kept);
        graph.outputs = outputs.to_vec();
        graph
    }
}
