//! Training: a network with its parameters, and one step of an optimizer as a graph.
//!
//! A [`Model`] is a graph that is being written, with the tensors that training changes. [`Model::step`] appends the
//! gradients and the optimizer: the [`Step`] takes data and everything that is carried from step to step, and gives the
//! loss and the same things changed. Whatever runs graphs can so train.

mod example;
mod optimizer;
#[cfg(test)]
mod tests;

pub use example::{CLASSES, SIDE, example};
pub use optimizer::Optimizer;

use crate::build::Builder;
use crate::gradient::gradients;
use crate::interpreter::RunError;
use crate::ops::random::Stream;
use crate::{DType, Graph, OpError, Tensor, ValueId};

/// A tensor that goes from step to step.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Its name.
    pub name: String,
    /// What it is before the first step.
    pub initial: Tensor,
    /// Its place among the graph's inputs.
    pub input: usize,
    /// Its place among the graph's outputs, where it comes out changed.
    pub output: usize,
}

/// One step of training.
#[derive(Clone, Debug)]
pub struct Step {
    /// Inputs: those of the network in their order, the learning rate, and what is carried. Outputs: the loss, and what
    /// is carried.
    pub graph: Graph,
    /// Parameters, then what layers keep for themselves, then what the optimizer does.
    pub carried: Vec<Carried>,
}

/// A tensor that the network keeps: what goes in and, once a layer said so, what comes out.
#[derive(Clone, Debug)]
struct Kept {
    id: ValueId,
    next: Option<ValueId>,
    initial: Tensor,
}

/// A network that is being written.
#[derive(Clone, Debug)]
pub struct Model {
    /// The graph. Inputs made with it are data.
    pub builder: Builder,
    /// Whether norms take their figures from the batch.
    pub training: bool,
    dtype: DType,
    parameters: Vec<Kept>,
    moving: Vec<Kept>,
    seed: u64,
}

impl Model {
    /// An empty one; initial parameters follow from the seed.
    pub fn new(name: &str, dtype: DType, training: bool, seed: u64) -> Self {
        let (parameters, moving) = (Vec::new(), Vec::new());
        Self { builder: Builder::new(name), training, dtype, parameters, moving, seed }
    }

    /// The type of its floats.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// A tensor that training changes, with its first elements.
    pub fn parameter(&mut self, name: &str, initial: Tensor) -> ValueId {
        let id = self.builder.input(name, initial.dtype(), initial.shape());
        self.parameters.push(Kept { id, next: None, initial });
        id
    }

    /// The same, drawn evenly as far from 0 as suits so many terms of a sum.
    pub fn weights(&mut self, name: &str, shape: &[usize], terms: usize) -> Result<ValueId, RunError> {
        let stream = Stream { seed: self.seed, run: self.parameters.len() as u64 };
        let count = shape.iter().product::<usize>() as u64;
        let reach = (3.0 / terms.max(1) as f64).sqrt();
        let all: Vec<f64> = (0..count).map(|at| (stream.uniform(at) * 2.0 - 1.0) * reach).collect();
        self.filled(name, shape, &all)
    }

    /// A parameter that begins with one number.
    pub fn constant(&mut self, name: &str, size: usize, number: f64) -> Result<ValueId, RunError> {
        self.filled(name, &[size], &vec![number; size])
    }

    fn filled(&mut self, name: &str, shape: &[usize], all: &[f64]) -> Result<ValueId, RunError> {
        let initial =
            Tensor::from_floats(self.dtype, shape, all).map_err(|error| self.builder.wrong("input", error))?;
        Ok(self.parameter(name, initial))
    }

    /// A tensor that a layer changes by itself, such as a running mean; see [`Model::moves`].
    pub fn keeps(&mut self, name: &str, size: usize, number: f64) -> Result<ValueId, RunError> {
        let initial = Tensor::from_floats(self.dtype, [size], &vec![number; size]);
        let initial = initial.map_err(|error| self.builder.wrong("input", error))?;
        let id = self.builder.input(name, self.dtype, &[size]);
        self.moving.push(Kept { id, next: None, initial });
        Ok(id)
    }

    /// What a tensor that a layer keeps is in the next step.
    pub fn moves(&mut self, id: ValueId, next: ValueId) {
        if let Some(kept) = self.moving.iter_mut().find(|kept| kept.id == id) {
            kept.next = Some(next);
        }
    }

    /// One step that makes the loss smaller.
    pub fn step(mut self, loss: ValueId, optimizer: &Optimizer) -> Result<Step, RunError> {
        let by: Vec<ValueId> = self.parameters.iter().map(|kept| kept.id).collect();
        let slopes = gradients(&mut self.builder, loss, &by)?;
        self.builder.named("optimizer");
        let rate = self.builder.input("learning rate", self.dtype, &[]);
        let mut state = Vec::new();
        optimizer.begin(&mut self.builder, self.dtype, &mut state)?;
        for (kept, slope) in self.parameters.iter_mut().zip(slopes) {
            kept.next = Some(optimizer.change(&mut self.builder, rate, kept.id, slope, &mut state)?);
        }
        let carried: Vec<Kept> = self.parameters.into_iter().chain(self.moving).chain(state).collect();
        let mut graph = self.builder.finish();
        // Data first; what is carried in its own order behind it.
        graph.inputs.retain(|id| carried.iter().all(|kept| kept.id != *id));
        graph.outputs = vec![loss];
        let data = graph.inputs.len();
        let mut places = Vec::new();
        for (index, kept) in carried.into_iter().enumerate() {
            let name = graph.name(kept.id).to_owned();
            let Some(next) = kept.next else {
                let error = OpError::invalid("a tensor that no layer moves");
                return Err(RunError { node: name, op: "input", error });
            };
            graph.inputs.push(kept.id);
            graph.outputs.push(next);
            places.push(Carried { name, initial: kept.initial, input: data + index, output: 1 + index });
        }
        Ok(Step { graph, carried: places })
    }

    /// The network as it is used: inputs are its data, then parameters and what layers keep, in the order of
    /// [`Step::carried`].
    pub fn finish(self, outputs: &[ValueId]) -> Graph {
        let kept: Vec<ValueId> = self.parameters.iter().chain(&self.moving).map(|kept| kept.id).collect();
        let mut graph = self.builder.finish();
        graph.inputs.retain(|id| !kept.contains(id));
        graph.inputs.extend(kept);
        graph.outputs = outputs.to_vec();
        graph
    }
}
