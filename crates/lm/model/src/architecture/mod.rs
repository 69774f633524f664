//! Model descriptions.
//!
//! [`Model::new`] reads the architecture of a file and returns the blocks to compute, in order,
//! each with the names of its tensors. An engine needs nothing else, not even the name of the
//! architecture. `table.rs` has one row per architecture, [`blocks`] the blocks that they
//! share.
//!
//! A file may be hostile: every number is checked against limits and the other numbers, and every
//! tensor against the expected shape.

pub mod blocks;
mod build;
mod config;
mod delta_net;
mod error;
mod pooling;
mod rope;
mod scale;
mod table;

use roci_gguf::Gguf;

use blocks::{Layer, Linear, Matrix, Mixer, Norm};
use build::Builder;
pub use config::{Config, DeltaNetConfig, Experts};
pub use error::ModelError;
pub use pooling::Pooling;
pub use rope::{RopeConfig, Scaling};
pub use scale::{matrix_scale, matrix_scales};

/// A model: the computation from a token to the logits of the next one.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// Hyperparameters.
    pub config: Config,
    /// Context length in tokens to run with. Some RoPE scalings depend on it.
    pub context: u32,
    /// Embedding matrix, a row per token.
    pub embedding: Matrix,
    /// Factor of the embeddings.
    pub embedding_scale: f32,
    /// Layers, in order.
    pub layers: Vec<Layer>,
    /// Final norm.
    pub norm: Norm,
    /// Output projection to the logits.
    pub output: Linear,
    /// Soft cap `c` of the logits: `l` becomes `c * tanh(l / c)`.
    pub logit_cap: Option<f32>,
}

impl Model {
    /// Describes the model of a file for a context of `context` tokens, or of its trained length.
    ///
    /// # Errors
    /// If the architecture is not supported, a key is missing or out of range, or a tensor is
    /// missing or has another shape.
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

    /// Names of all tensors that the model uses, each once.
    pub fn tensors(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![&self.embedding.tensor, &self.norm.weight.tensor];
        names.extend(linear(&self.output));
        for Layer { mixer, feed_forward } in &self.layers {
            let post_norms = feed_forward.post_norm.iter();
            names.extend(post_norms.chain([&feed_forward.norm]).map(|norm| norm.weight.tensor.as_str()));
            names.extend(mixer.linears().into_iter().flat_map(linear));
            match mixer {
                Mixer::Attention(block) => {
                    let heads = block.head_norms.iter().flat_map(|(query, key)| [query, key]);
                    let norms = heads.chain(&block.post_norm).chain([&block.norm]);
                    names.extend(norms.map(|norm| norm.weight.tensor.as_str()));
                }
                Mixer::DeltaNet(block) => {
                    let vectors =
                        [&block.norm.weight, &block.output_norm.weight, &block.decay_bias, &block.decay_factor];
                    names.extend(vectors.into_iter().map(|vector| vector.tensor.as_str()));
                    names.push(&block.convolution.weight.tensor);
                }
            }
            let (router, gated) = match &feed_forward.kind {
                blocks::FeedForwardKind::Dense(gated) => (None, std::slice::from_ref(gated)),
                blocks::FeedForwardKind::Experts { router, experts, .. } => (Some(router), experts.as_slice()),
            };
            names.extend(router.into_iter().flat_map(linear));
            names.extend(gated.iter().flat_map(|gated| [&gated.gate, &gated.up, &gated.down]).flat_map(linear));
            names.extend(feed_forward.shared.iter().flat_map(blocks::SharedExpert::linears).flat_map(linear));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Floats in the KV cache per token, over all layers.
    pub fn cached_values(&self) -> impl Iterator<Item = usize> + '_ {
        let values = |block: &blocks::Attention| block.kv_heads * (block.key_length + block.value_length);
        self.layers.iter().map(move |layer| layer.attention().map_or(0, values))
    }

    /// Whether a layer has a recurrent state. A sequence can then be continued only from the state
    /// after one of its tokens, not from its keys and values alone.
    pub fn is_recurrent(&self) -> bool {
        self.layers.iter().any(|layer| layer.delta_net().is_some())
    }
}

/// The tensors of a linear layer.
fn linear(linear: &Linear) -> impl Iterator<Item = &str> {
    std::iter::once(linear.matrix.tensor.as_str()).chain(linear.bias.iter().map(|bias| bias.tensor.as_str()))
}
