//! Models described as data.
//!
//! [`Model::new`] reads what a file says of its architecture and gives the parts to compute, in order, each with the names of its
//! tensors. An engine needs no more; it never asks for the architecture's name. `table.rs` has one row for each
//! architecture, [`blocks`] the parts that all of them share.
//!
//! A file may be hostile: every number is checked against limits and each other, and every tensor against the shape that the numbers give it.

pub mod blocks;
mod build;
mod config;
mod error;
mod pooling;
mod rope;
mod table;

use roci_gguf::Gguf;

use blocks::{Layer, Linear, Matrix, Norm};
use build::Builder;
pub use config::{Config, Experts};
pub use error::ModelError;
pub use pooling::Pooling;
pub use rope::{RopeConfig, Scaling};

/// A model: what is computed, from a token to the logits of the next.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its numbers.
    pub config: Config,
    /// How many tokens it shall look back on; some rotations depend on it.
    pub context: u32,
    /// A row for each token.
    pub embedding: Matrix,
    /// What embeddings are multiplied by.
    pub embedding_scale: f32,
    /// One after the other.
    pub layers: Vec<Layer>,
    /// After the last layer.
    pub norm: Norm,
    /// Gives the logits.
    pub output: Linear,
    /// Logits `l` become `c * tanh(l / c)`.
    pub logit_cap: Option<f32>,
}

impl Model {
    /// Describes the model of a file, for texts of up to `context` tokens, or as many as it was trained for.
    ///
    /// # Errors
    /// If the architecture is not known, if a number is missing or makes no sense, or if a tensor is missing or has another shape.
    pub fn new(file: &Gguf, context: Option<u32>) -> Result<Self, ModelError> {
        let (config, traits) = Config::read(file.metadata())?;
        let context = context.unwrap_or(config.context);
        let builder = Builder::new(file, &config, traits);
        let (whole, local) = builder.ropes(context)?;
        let layers = (0..config.layers()).map(|index| builder.layer(index, &whole, &local));
        Ok(Self {
            context,
            embedding: builder.matrix("token_embd.weight", config.vocabulary, config.embedding)?,
            embedding_scale: if traits.scaled_embedding { (config.embedding as f32).sqrt() } else { 1.0 },
            layers: layers.collect::<Result<_, _>>()?,
            norm: builder.norm("output_norm.weight", config.embedding)?,
            output: builder.output()?,
            logit_cap: config.logit_cap,
            config,
        })
    }

    /// The names of all tensors that the model computes with, each once.
    pub fn tensors(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![&self.embedding.tensor, &self.norm.weight.tensor];
        names.extend(linear(&self.output));
        for Layer { attention, feed_forward } in &self.layers {
            let norms = [&attention.norm, &feed_forward.norm];
            let optional = attention.post_norm.iter().chain(&feed_forward.post_norm);
            let heads = attention.head_norms.iter().flat_map(|(query, key)| [query, key]);
            names.extend(norms.into_iter().chain(optional).chain(heads).map(|norm| norm.weight.tensor.as_str()));
            names.extend(
                [&attention.query, &attention.key, &attention.value, &attention.output].into_iter().flat_map(linear),
            );
            let (router, gated) = match &feed_forward.kind {
                blocks::FeedForwardKind::Dense(gated) => (None, std::slice::from_ref(gated)),
                blocks::FeedForwardKind::Experts { router, experts, .. } => (Some(router), experts.as_slice()),
            };
            names.extend(router.into_iter().flat_map(linear));
            names.extend(gated.iter().flat_map(|gated| [&gated.gate, &gated.up, &gated.down]).flat_map(linear));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// How many values of keys and values a token leaves behind in each layer.
    pub fn cached_values(&self) -> impl Iterator<Item = usize> + '_ {
        self.layers
            .iter()
            .map(|layer| layer.attention.kv_heads * (layer.attention.key_length + layer.attention.value_length))
    }
}

/// The tensors of a product.
fn linear(linear: &Linear) -> impl Iterator<Item = &str> {
    std::iter::once(linear.matrix.tensor.as_str()).chain(linear.bias.iter().map(|bias| bias.tensor.as_str()))
}
