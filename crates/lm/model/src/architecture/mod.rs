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
mod dynamic_time_mix;
mod encoder;
mod error;
mod experts;
mod feed_forward;
mod hybrid;
mod keys;
mod latent;
mod layers;
mod per_layer;
mod pooling;
mod prediction;
mod rope;
mod scale;
mod streams;
mod table;
mod time_mix;
mod traits;
mod unused;

use roci_gguf::Gguf;

use blocks::{FeedForward, InputEmbedding, Layer, Linear, Matrix, Norm, PerLayerEmbedding, Pooled, Streams, Vector};
use build::Builder;
pub use config::{Config, DeltaNetConfig, StreamConfig};
pub use dynamic_time_mix::DynamicTimeMixConfig;
pub use encoder::EncoderConfig;
pub use error::ModelError;
pub use experts::Experts;
pub use hybrid::{LayerBlocks, RecurrentConfig, SelectiveScanConfig, StateSpaceConfig};
pub use latent::LatentConfig;
pub use pooling::Pooling;
pub use prediction::PredictionInput;
pub use rope::{RopeConfig, Scaling};
pub use scale::{matrix_scale, matrix_scales};
pub use time_mix::TimeMixConfig;

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
    /// Factor of the embeddings. A scale of the blocks' outputs is part of it: `h + s * f(norm(h))`
    /// is computed as `h/s + f(norm(h/s))`, with the epsilons of these norms divided by `s²`.
    pub embedding_scale: f32,
    /// The input of a prediction head besides the embedding; `None` in other models.
    pub prediction_input: Option<PredictionInput>,
    /// Applied to token embeddings before the first layer.
    pub input: InputEmbedding,
    /// Per-layer embeddings.
    pub per_layer: Option<PerLayerEmbedding>,
    /// Residual streams, if there are several.
    pub streams: Option<Streams>,
    /// Layers, in order.
    pub layers: Vec<Layer>,
    /// Final norm.
    pub norm: Norm,
    /// Output projection to the logits.
    pub output: Linear,
    /// Factor of the logits.
    pub logit_scale: f32,
    /// Soft cap `c` of the logits: `l` becomes `c * tanh(l / c)`.
    pub logit_cap: Option<f32>,
    /// How hidden states are pooled into one vector; `None` if they are not.
    pub pooled: Option<Pooled>,
}

impl Model {
    /// Describes the model of a file for a context of `context` tokens, or of its trained length.
    ///
    /// # Errors
    /// If the architecture is not supported, a key is missing, unknown or out of range, or a tensor
    /// is missing, unknown or has another shape.
    pub fn new(file: &Gguf, context: Option<u32>) -> Result<Self, ModelError> {
        let (config, traits) = Config::read(file.metadata())?;
        let context = context.unwrap_or(config.context);
        let builder = Builder::new(file, &config, traits, context)?;
        let layers = (0..config.layers()).map(|index| builder.layer(index));
        let model = Self {
            context,
            embedding: builder.matrix("token_embd.weight", config.vocabulary, config.embedding)?,
            embedding_scale: config.embedding_scale / config.residual_scale,
            prediction_input: None,
            input: builder.input_embedding()?,
            per_layer: builder.per_layer_embedding()?,
            streams: builder.streams()?,
            layers: layers.collect::<Result<_, _>>()?,
            norm: builder.output_norm()?,
            output: builder.output()?,
            logit_scale: config.logit_scale,
            logit_cap: config.logit_cap,
            pooled: builder.pooled()?,
            config,
        };
        unused::check_tensors(file, &model)?;
        Ok(model)
    }

    /// Names of all tensors that the model uses, each once.
    pub fn tensors(&self) -> Vec<&str> {
        let mut names: Vec<&str> = vec![&self.embedding.tensor];
        let mut linears: Vec<&Linear> = vec![&self.output];
        let mut vectors: Vec<&Vector> = self.norm.vectors().collect();
        if let Some(input) = &self.prediction_input {
            linears.push(&input.projection);
            vectors.extend(input.vectors());
        }
        names.extend(self.input.matrices().map(|matrix| matrix.tensor.as_str()));
        vectors.extend(self.input.norm.iter().flat_map(Norm::vectors));
        for layer in self.pooled.iter().flat_map(|pooled| &pooled.layers) {
            linears.push(&layer.linear);
            vectors.extend(layer.norm.iter().flat_map(Norm::vectors));
        }
        if let Some(per_layer) = &self.per_layer {
            names.push(&per_layer.embedding.tensor);
            linears.push(&per_layer.projection);
            vectors.extend(per_layer.norm.vectors());
        }
        linears.extend(self.streams.iter().flat_map(|streams| streams.starts.iter().chain(&streams.ends)));
        for layer in &self.layers {
            vectors.extend(layer.stream_norms.vectors());
            linears.extend(layer.linears());
            vectors.extend(layer.feed_forward.iter().flat_map(FeedForward::vectors));
            vectors.extend(layer.extra_vectors());
            for mixer in &layer.mixers {
                vectors.extend(mixer.vectors());
                names.extend(mixer.convolution().map(|convolution| convolution.weight.tensor.as_str()));
            }
        }
        vectors.extend(linears.iter().filter_map(|linear| linear.bias.as_ref()));
        names.extend(linears.into_iter().map(|linear| linear.matrix.tensor.as_str()));
        names.extend(vectors.into_iter().map(|vector| vector.tensor.as_str()));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Floats in the KV cache per token, over all layers.
    pub fn cached_values(&self) -> impl Iterator<Item = usize> + '_ {
        let values = |block: &blocks::Attention| match block.kv_layer {
            Some(_) => 0,
            // Values are a part of the keys.
            None if block.latent.is_some() => block.kv_heads * block.key_length,
            None => block.kv_heads * (block.key_length + block.value_length),
        };
        self.layers.iter().map(move |layer| layer.attention().map_or(0, values))
    }

    /// Whether tokens attend only to earlier ones. A non-causal model evaluates whole sequences and
    /// cannot generate text.
    pub fn is_causal(&self) -> bool {
        self.config.encoder.causal
    }

    /// Whether a layer has a recurrent state. A sequence can then be continued only from the state
    /// after one of its tokens, not from its keys and values alone.
    pub fn is_recurrent(&self) -> bool {
        self.layers.iter().any(|layer| layer.state().values() > 0)
    }
}
