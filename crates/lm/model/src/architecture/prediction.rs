//! Prediction heads: layers after the others that predict one more token (multi-token prediction).
//!
//! A head reads the embedding of a token and the hidden state from which the model predicted that
//! token. It is described as a model of one layer with a different input.

use roci_gguf::Gguf;

use super::blocks::{Linear, Norm};
use super::build::Builder;
use super::config::Config;
use super::error::ModelError;
use super::{Model, blocks};

/// The input of a prediction head: the projection of two normalized vectors side by side.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PredictionInput {
    /// Norm of the embedding, which comes first.
    pub embedding_norm: Norm,
    /// Norm of the hidden state.
    pub hidden_norm: Norm,
    /// Projection of both to the residual stream.
    pub projection: Linear,
}

/// Architectures whose heads read hidden states after the final norm.
const SUPPORTED: [&str; 2] = ["qwen35", "qwen35moe"];

impl Model {
    /// Describes the prediction head of a file for a context of `context` tokens; `None` if the
    /// file has no supported head. Of several heads, only the first is used.
    ///
    /// # Errors
    /// Those of [`new`](Self::new).
    pub fn prediction_head(file: &Gguf, context: u32) -> Result<Option<Self>, ModelError> {
        let (main, traits) = Config::read(file.metadata())?;
        let (all, _) = Config::read_all_layers(file.metadata())?;
        let index = main.layers();
        let name = |part: &str| format!("blk.{index}.nextn.{part}");
        if index == all.layers() || !SUPPORTED.contains(&traits.name) || file.tensor(&name("eh_proj.weight")).is_none()
        {
            return Ok(None);
        }
        // The layer has attention, whatever the pattern of layers says.
        let all = Config { delta_net: None, ..all };
        let builder = Builder::new(file, &all, traits, context)?;
        let own = |part: &str| builder.has(&name(&format!("{part}.weight")));
        let (vocabulary, embedding) = (all.vocabulary, all.embedding);
        let matrix = if own("embed_tokens") { name("embed_tokens.weight") } else { "token_embd.weight".to_owned() };
        let norm = if own("shared_head_norm") { name("shared_head_norm") } else { "output_norm".to_owned() };
        let model = Self {
            context,
            embedding: builder.matrix(&matrix, vocabulary, embedding)?,
            embedding_scale: all.embedding_scale / all.residual_scale,
            prediction_input: Some(PredictionInput {
                embedding_norm: builder.norm(&name("enorm"), embedding)?,
                hidden_norm: builder.norm(&name("hnorm"), embedding)?,
                projection: builder.linear(&name("eh_proj"), embedding, 2 * embedding, false)?,
            }),
            input: builder.input_embedding()?,
            per_layer: None,
            streams: None,
            layers: vec![builder.layer(index)?],
            norm: builder.residual_norm(&norm)?,
            output: match own("shared_head_head") {
                true => builder.linear(&name("shared_head_head"), vocabulary, embedding, false)?,
                false => builder.output()?,
            },
            logit_scale: all.logit_scale,
            logit_cap: all.logit_cap,
            pooled: None,
            config: all.only(index),
        };
        Ok(Some(model))
    }
}

impl PredictionInput {
    /// The vectors of the norms.
    pub(super) fn vectors(&self) -> impl Iterator<Item = &blocks::Vector> {
        self.embedding_norm.vectors().chain(self.hidden_norm.vectors())
    }
}
