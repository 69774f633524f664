//! Layers after pooling. They are small and compute one vector per sequence, so engines use this
//! code too.

use roci_gguf::Gguf;

use super::ops::{activate, softmax};
use super::weights::Weights;
use crate::architecture::blocks::{Activation, Norm, Pooled, PooledActivation};
use crate::architecture::{Model, ModelError};

/// The layers of a model after pooling, with their weights in memory.
#[derive(Debug)]
pub struct PooledHead {
    pooled: Pooled,
    weights: Weights,
}

impl PooledHead {
    /// Dequantizes the weights. `None` if the model has no layers after pooling.
    ///
    /// # Errors
    /// If a tensor cannot be read.
    pub fn new(file: &Gguf, model: &Model) -> Result<Option<Self>, ModelError> {
        let Some(pooled) = model.pooled.clone().filter(|pooled| !pooled.layers.is_empty() || pooled.softmax) else {
            return Ok(None);
        };
        let mut names = Vec::new();
        for layer in &pooled.layers {
            names.push(layer.linear.matrix.tensor.as_str());
            let vectors = layer.linear.bias.iter().chain(layer.norm.iter().flat_map(Norm::vectors));
            names.extend(vectors.map(|vector| vector.tensor.as_str()));
        }
        let weights = Weights::of(file, &names, &mut |_, _| ())?;
        Ok(Some(Self { pooled, weights }))
    }

    /// The result for the pooled hidden states of a sequence.
    pub fn apply(&self, pooled: Vec<f32>) -> Vec<f32> {
        let mut vector = pooled;
        for layer in &self.pooled.layers {
            vector = self.weights.apply(&layer.linear, &vector);
            vector.iter_mut().for_each(|value| match layer.activation {
                PooledActivation::Identity => {}
                PooledActivation::Tanh => *value = value.tanh(),
                PooledActivation::Gelu => *value = activate(Activation::Gelu, *value),
            });
            vector = self.weights.optional_norm(layer.norm.as_ref(), &vector);
        }
        if self.pooled.softmax {
            softmax(&mut vector);
        }
        vector
    }
}
