//! Embedding models and rerankers: the parts before the first layer and after the last one.

use super::blocks::{
    Activation, InputEmbedding, Matrix, Norm, Pooled, PooledActivation, PooledLayer, PooledTokens, StreamNorms,
};
use super::build::Builder;
use super::error::ModelError;
use super::keys::{Keys, MAX_LENGTH};
use super::pooling::Pooling;
use super::traits::{ArchitectureTraits, HybridTraits, InputTraits, RankTraits};

/// Maximum number of labels of a classification head.
const MAX_LABELS: usize = 1 << 12;

/// Hyperparameters of embedding models and rerankers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EncoderConfig {
    /// Whether tokens attend only to earlier tokens. Non-causal models cannot generate text.
    pub causal: bool,
    /// Maximum bias of ALiBi.
    pub alibi: Option<f32>,
    /// Activation of feed-forward blocks, if the file names it.
    pub activation: Option<Activation>,
    /// Number of token types.
    pub token_types: usize,
    /// Number of outputs of the classification head.
    pub labels: usize,
    /// Lengths of the results of the dense layers after pooling.
    pub dense: [Option<usize>; 2],
}

impl EncoderConfig {
    pub(super) fn read(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Self, ModelError> {
        let causal = keys.flag("attention.causal")?.unwrap_or(traits.causal);
        if !causal && (traits.delta_net.is_some() || traits.hybrid != HybridTraits::None) {
            let reason = format!("not supported for the architecture `{}`", traits.name);
            return Err(ModelError::config(keys.key("attention.causal"), reason));
        }
        let alibi = match traits.alibi {
            None => None,
            Some(usual) => Some(keys.positive("attention.max_alibi_bias")?.unwrap_or(usual)),
        };
        let activation = match if traits.declared_activation { keys.text("hidden_activation")? } else { None } {
            None => None,
            Some("gelu" | "geglu") => Some(Activation::Gelu),
            Some("silu" | "swiglu") => Some(Activation::Silu),
            Some(other) => {
                let reason = format!("unknown activation `{other}`; known: gelu, silu");
                return Err(ModelError::config(keys.key("hidden_activation"), reason));
            }
        };
        let token_types = keys.metadata.get::<u64>("tokenizer.ggml.token_type_count")?.unwrap_or(0);
        if token_types > MAX_LENGTH {
            let reason = format!("{token_types} is out of range: 0 to {MAX_LENGTH}");
            return Err(ModelError::config("tokenizer.ggml.token_type_count", reason));
        }
        let key = keys.key("classifier.output_labels");
        let labels = keys.metadata.get::<&[String]>(&key)?.map_or(1, |labels| labels.len().max(1));
        if labels > MAX_LABELS {
            return Err(ModelError::config(key, format!("{labels} labels are out of range: 1 to {MAX_LABELS}")));
        }
        // The tensor shapes also give the input lengths.
        keys.key("dense_2_feat_in");
        keys.key("dense_3_feat_in");
        let dense = [keys.count("dense_2_feat_out", MAX_LENGTH)?, keys.count("dense_3_feat_out", MAX_LENGTH)?];
        Ok(Self { causal, alibi, activation, token_types: token_types as usize, labels, dense })
    }
}

impl Builder<'_> {
    pub(super) fn input_embedding(&self) -> Result<InputEmbedding, ModelError> {
        let embedding = self.config.embedding;
        let InputTraits { positions, token_types, norm, .. } = self.traits.input;
        let types = "token_types.weight";
        let token_type = match token_types && self.has(types) {
            true => {
                let whole = self.matrix(types, self.config.encoder.token_types.max(1), embedding)?;
                Some(Matrix { rows: 0..1, ..whole })
            }
            false => None,
        };
        Ok(InputEmbedding {
            positions: match positions {
                true => Some(self.positions()?),
                false => None,
            },
            token_type,
            norm: if norm { Some(self.norm("token_embd_norm", embedding)?) } else { None },
        })
    }

    /// The position embeddings, which limit the context.
    fn positions(&self) -> Result<Matrix, ModelError> {
        let trained = self.config.context;
        if self.context > trained {
            let reason = format!("position embeddings for {trained} tokens, but a context of {}", self.context);
            return Err(ModelError::config(format!("{}.context_length", self.traits.name), reason));
        }
        self.matrix("position_embd.weight", trained as usize, self.config.embedding)
    }

    pub(super) fn stream_norms(&self, index: usize) -> Result<StreamNorms, ModelError> {
        if !self.traits.stream_norms {
            return Ok(StreamNorms::default());
        }
        let norm = |part: &str| self.norm(&format!("blk.{index}.{part}"), self.config.embedding);
        let is_last = index + 1 == self.config.layers();
        Ok(StreamNorms {
            mixer: Some(norm("attn_output_norm")?),
            feed_forward: if is_last { None } else { Some(norm("layer_output_norm")?) },
        })
    }

    /// The final norm. In models that normalize the residual stream after each block, it is the
    /// last such norm.
    pub(super) fn output_norm(&self) -> Result<Norm, ModelError> {
        if self.traits.stream_norms {
            let last = self.config.layers() - 1;
            return self.norm(&format!("blk.{last}.layer_output_norm"), self.config.embedding);
        }
        self.residual_norm(self.traits.output_norm)
    }

    /// How hidden states are pooled; `None` if the pooling type gives no single vector.
    pub(super) fn pooled(&self) -> Result<Option<Pooled>, ModelError> {
        if self.config.pooling == Pooling::Rank {
            return self.classification_head();
        }
        let Some(tokens) = self.config.pooling.tokens() else { return Ok(None) };
        let mut layers = Vec::new();
        let mut columns = self.config.embedding;
        for (name, outputs) in [("dense_2", self.config.encoder.dense[0]), ("dense_3", self.config.encoder.dense[1])] {
            if self.has(&format!("{name}.weight")) {
                let outputs = outputs.unwrap_or(self.config.embedding);
                let linear = self.linear(name, outputs, columns, false)?;
                layers.push(PooledLayer { linear, activation: PooledActivation::Identity, norm: None });
                columns = outputs;
            }
        }
        Ok(Some(Pooled { tokens, layers, softmax: false, is_score: false }))
    }

    /// The classification head of a reranker, of one or two layers; `None` if the file has none.
    fn classification_head(&self) -> Result<Option<Pooled>, ModelError> {
        if !self.has("cls.weight") && !self.has("cls.output.weight") {
            return Ok(None);
        }
        let embedding = self.config.embedding;
        let (tokens, activation, softmax) = match self.traits.rank {
            RankTraits::First => (PooledTokens::First, PooledActivation::Tanh, false),
            RankTraits::LastSoftmax => (PooledTokens::Last, PooledActivation::Tanh, true),
            RankTraits::Mean => (PooledTokens::Mean, PooledActivation::Gelu, false),
        };
        let mut layers = Vec::new();
        let labels = self.config.encoder.labels;
        let has_output = self.has("cls.output.weight");
        if self.has("cls.weight") {
            // Some heads have only this layer.
            let linear = self.linear("cls", if has_output { embedding } else { labels }, embedding, false)?;
            let norm = if self.has("cls.norm.weight") { Some(self.norm("cls.norm", embedding)?) } else { None };
            layers.push(PooledLayer { linear, activation, norm });
        }
        if has_output {
            let linear = self.linear("cls.output", labels, embedding, false)?;
            layers.push(PooledLayer { linear, activation: PooledActivation::Identity, norm: None });
        }
        Ok(Some(Pooled { tokens, layers, softmax, is_score: true }))
    }
}
