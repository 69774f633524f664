//! Recipes of synthetic models.

use roci_gguf::{Error, TensorInfo, Type, Value};

use super::encoder::EncoderRecipe;
use super::fill::Fill;
use super::gemma::Gemma;
use super::hybrid::Hybrid;
use super::latent::LatentRecipe;
use super::list::List;
use super::recurrent::{Recurrent, channel_mix};
use crate::architecture::blocks::NormSpan;

/// Sizes and features of a synthetic model.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is what `architecture::Config` and `architecture::blocks` say under a like name")]
pub struct Recipe {
    pub architecture: &'static str,
    pub layers: usize,
    pub embedding: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head: usize,
    pub feed_forward: usize,
    pub vocabulary: usize,
    pub kind: Type,
    pub embedding_kind: Type,
    pub scaled: bool,
    pub tied: bool,
    pub fused: bool,
    /// Gates of feed-forward networks are separate even if other projections are fused.
    pub separate_gate: bool,
    pub bias: bool,
    /// Bias of the output projection of attention.
    pub output_bias: bool,
    /// Biases of dense feed-forward networks.
    pub feed_forward_bias: bool,
    /// Bias of the logits.
    pub logit_bias: bool,
    pub layer_norm: bool,
    pub norm_weights: bool,
    pub norm_bias: bool,
    /// Norms of the blocks' inputs.
    pub pre_norms: bool,
    pub post_norms: bool,
    /// Name of the norm of feed-forward blocks; `None` if they have none.
    pub feed_forward_norm: Option<&'static str>,
    /// One more norm for attention, beside one that it would share.
    pub second_norm: bool,
    pub head_norms: Option<NormSpan>,
    pub sinks: bool,
    pub output_gate: bool,
    pub gated: bool,
    pub experts: Option<(usize, usize)>,
    pub mixture: Mixture,
    pub hybrid: Option<Hybrid>,
    /// One more layer, which predicts a further token.
    pub predicting: bool,
    pub recurrent: Option<Recurrent>,
    pub gemma: Option<Gemma>,
    pub latent: Option<LatentRecipe>,
    pub window: Option<u32>,
    pub caps: Option<(f32, f32)>,
    pub base: f32,
    pub rope: RopeRecipe,
    pub encoder: Option<EncoderRecipe>,
}

/// Variant of a mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mixture {
    /// Leading layers without experts.
    pub dense: usize,
    /// Of the others, every n-th has experts.
    pub step: usize,
    /// Length of the activated vector of a shared expert.
    pub shared: Option<usize>,
    /// The shared expert has a gate.
    pub shared_gate: bool,
    /// The router has a bias for the choice alone.
    pub selection_bias: bool,
    /// Router and experts have biases.
    pub bias: bool,
}

impl Default for Mixture {
    fn default() -> Self {
        Self { dense: 0, step: 1, shared: None, shared_gate: false, selection_bias: false, bias: false }
    }
}

/// RoPE variant.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is what `architecture::Scaling` says under a like name")]
pub enum RopeRecipe {
    Plain,
    Linear { factor: f32 },
    Yarn { factor: f32, original: u32 },
    Factors,
    Long { original: u32 },
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            architecture: "llama",
            layers: 2,
            embedding: 64,
            heads: 4,
            kv_heads: 2,
            head: 16,
            feed_forward: 96,
            vocabulary: 64,
            kind: Type::F32,
            embedding_kind: Type::F32,
            scaled: false,
            tied: true,
            fused: false,
            separate_gate: false,
            bias: false,
            output_bias: false,
            feed_forward_bias: false,
            logit_bias: false,
            layer_norm: false,
            norm_weights: true,
            norm_bias: false,
            pre_norms: true,
            post_norms: false,
            feed_forward_norm: Some("ffn_norm"),
            second_norm: false,
            head_norms: None,
            sinks: false,
            output_gate: false,
            gated: true,
            experts: None,
            mixture: Mixture::default(),
            hybrid: None,
            predicting: false,
            recurrent: None,
            gemma: None,
            latent: None,
            window: None,
            caps: None,
            base: 10_000.0,
            rope: RopeRecipe::Plain,
            encoder: None,
        }
    }
}

impl Recipe {
    pub(super) fn metadata(&self, name: &str) -> Vec<(String, Value)> {
        let own = |key: &str, value: Value| (format!("{}.{key}", self.architecture), value);
        let mut pairs = vec![
            ("general.architecture".to_owned(), Value::from(self.architecture)),
            ("general.name".to_owned(), Value::from(name)),
            ("tokenizer.ggml.model".to_owned(), Value::from("no_vocab")),
            own("vocab_size", Value::from(self.vocabulary as u32)),
            own("block_count", Value::from(self.layers as u32 + u32::from(self.predicting))),
            own("context_length", Value::from(4096u32)),
            own("embedding_length", Value::from(self.embedding as u32)),
            own("feed_forward_length", Value::from(self.feed_forward as u32)),
            own("attention.head_count", Value::from(self.heads as u32)),
            own("attention.head_count_kv", Value::from(self.kv_heads as u32)),
            own("attention.key_length", Value::from(self.head as u32)),
            own("attention.value_length", Value::from(self.head as u32)),
            own(
                if self.layer_norm { "attention.layer_norm_epsilon" } else { "attention.layer_norm_rms_epsilon" },
                Value::from(1e-5f32),
            ),
            own("rope.dimension_count", Value::from(self.head as u32)),
            own("rope.freq_base", Value::from(self.base)),
        ];
        if self.predicting {
            pairs.push(own("nextn_predict_layers", Value::from(1u32)));
        }
        if let Some((count, used)) = self.experts {
            pairs.push(own("expert_count", Value::from(count as u32)));
            pairs.push(own("expert_used_count", Value::from(used as u32)));
            pairs.push(own("expert_feed_forward_length", Value::from(self.feed_forward as u32)));
            let Mixture { dense, step, shared, .. } = self.mixture;
            if dense > 0 {
                pairs.push(own("leading_dense_block_count", Value::from(dense as u32)));
            }
            if step > 1 {
                pairs.push(own("interleave_moe_layer_step", Value::from(step as u32)));
            }
            if let Some(length) = shared {
                pairs.push(own("expert_shared_feed_forward_length", Value::from(length as u32)));
            }
        }
        if let Some(window) = self.window {
            pairs.push(own("attention.sliding_window", Value::from(window)));
        }
        if let Some((scores, logits)) = self.caps {
            pairs.push(own("attn_logit_softcapping", Value::from(scores)));
            pairs.push(own("final_logit_softcapping", Value::from(logits)));
        }
        let scaling = |kind: &str| own("rope.scaling.type", Value::from(kind));
        let factor = |factor: f32| own("rope.scaling.factor", Value::from(factor));
        let original = |context: u32| own("rope.scaling.original_context_length", Value::from(context));
        if let Some(hybrid) = &self.hybrid {
            pairs.extend(hybrid.metadata(self.head).into_iter().map(|(key, value)| own(key, value)));
        }
        if let Some(recurrent) = &self.recurrent {
            pairs.extend(recurrent.metadata(self).into_iter().map(|(key, value)| own(key, value)));
        }
        if let Some(gemma) = &self.gemma {
            let own = |(key, value): (&str, Value)| own(key, value);
            pairs.extend(gemma.metadata(self.kv_heads, self.feed_forward).into_iter().map(own));
        }
        if let Some(latent) = &self.latent {
            pairs.extend(latent.metadata(self.heads).into_iter().map(|(key, value)| own(key, value)));
        }
        match self.rope {
            RopeRecipe::Plain | RopeRecipe::Factors => {}
            RopeRecipe::Linear { factor: by } => pairs.extend([scaling("linear"), factor(by)]),
            RopeRecipe::Yarn { factor: by, original: context } => {
                pairs.extend([scaling("yarn"), factor(by), original(context)]);
            }
            RopeRecipe::Long { original: context } => {
                pairs.extend([
                    scaling("longrope"),
                    original(context),
                    own("rope.scaling.attn_factor", Value::from(1.25f32)),
                ]);
            }
        }
        pairs
    }

    /// All tensors with their distributions.
    pub(super) fn tensors(&self) -> Result<Vec<(TensorInfo, Fill)>, Error> {
        let mut list = List::new(self.kind, self.scaled);
        let fill = Fill::Matrix { inputs: self.embedding };
        list.add("token_embd.weight", &[self.embedding, self.vocabulary], self.embedding_kind, fill)?;
        if !self.tied {
            list.linear("output", self.embedding, self.vocabulary, self.logit_bias)?;
        }
        let own_norm = self.encoder.and_then(|encoder| encoder.output_norm);
        let output_norm = self.recurrent.as_ref().map_or(own_norm.unwrap_or("output_norm"), Recurrent::output_norm);
        if !self.has_stream_norms() {
            self.norm(output_norm, self.embedding, &mut list)?;
        }
        if self.recurrent.as_ref().is_some_and(Recurrent::has_channel_mix) {
            self.norm("token_embd_norm", self.embedding, &mut list)?;
        }
        if let Some(encoder) = &self.encoder {
            encoder.tensors(self, &mut list)?;
        }
        match self.rope {
            RopeRecipe::Factors => list.plain("rope_freqs.weight", self.head / 2, Fill::Factors)?,
            RopeRecipe::Long { .. } => {
                list.plain("rope_factors_long.weight", self.head / 2, Fill::Factors)?;
                list.plain("rope_factors_short.weight", self.head / 2, Fill::Factors)?;
            }
            _ => {}
        }
        if let Some(gemma) = &self.gemma {
            gemma.global(self.embedding, self.head, self.vocabulary, &mut list)?;
        }
        for layer in 0..self.layers {
            self.layer(layer, &mut list)?;
        }
        if self.predicting {
            self.layer(self.layers, &mut list)?;
            let name = |part: &str| format!("blk.{}.nextn.{part}", self.layers);
            self.norm(&name("enorm"), self.embedding, &mut list)?;
            self.norm(&name("hnorm"), self.embedding, &mut list)?;
            self.norm(&name("shared_head_norm"), self.embedding, &mut list)?;
            list.linear(&name("eh_proj"), 2 * self.embedding, self.embedding, false)?;
        }
        Ok(list.tensors)
    }

    fn has_stream_norms(&self) -> bool {
        self.encoder.is_some_and(|encoder| encoder.stream_norms)
    }

    pub(super) fn norm(&self, name: &str, length: usize, list: &mut List) -> Result<(), Error> {
        if self.norm_weights {
            list.plain(&format!("{name}.weight"), length, Fill::Norm)?;
        }
        if self.norm_bias { list.plain(&format!("{name}.bias"), length, Fill::Bias) } else { Ok(()) }
    }

    fn layer(&self, layer: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let embedding = self.embedding;
        let first_unnormed = self.encoder.is_some_and(|encoder| encoder.first_unnormed);
        let has_mixer = self.recurrent.as_ref().is_none_or(|recurrent| recurrent.has_first_norm(layer));
        if self.pre_norms && has_mixer && !(first_unnormed && layer == 0) {
            self.norm(&name("attn_norm"), embedding, list)?;
        }
        if self.second_norm {
            self.norm(&name("attn_norm_2"), embedding, list)?;
        }
        let recurrent = self.hybrid.as_ref().filter(|hybrid| layer < self.layers && hybrid.is_recurrent(layer));
        if let Some(hybrid) = recurrent {
            hybrid.mixer(layer, embedding, list)?;
            return self.feed_forward(layer, list);
        }
        if let Some(recurrent) = &self.recurrent {
            let blocks = recurrent.blocks(layer);
            if blocks.recurrent {
                recurrent.mixer(layer, embedding, list)?;
            }
            if blocks.attention {
                self.attention(layer, list)?;
            }
            if recurrent.has_channel_mix() {
                return channel_mix(layer, self, list);
            }
            return if blocks.feed_forward { self.feed_forward(layer, list) } else { Ok(()) };
        }
        self.attention(layer, list)?;
        self.feed_forward(layer, list)
    }

    fn attention(&self, layer: usize, list: &mut List) -> Result<(), Error> {
        if let Some(latent) = &self.latent {
            return latent.attention(layer, self, list);
        }
        let name = |part: &str| format!("blk.{layer}.{part}");
        let embedding = self.embedding;
        let usual = (self.head, self.kv_heads);
        let (head, kv_heads) = self.gemma.as_ref().map_or(usual, |gemma| gemma.heads(layer, usual.0, usual.1));
        let has = |part: &str| self.gemma.as_ref().is_none_or(|gemma| gemma.has(layer, part));
        let (asking, answering) = (self.heads * head, kv_heads * head);
        if self.fused {
            list.linear(&name("attn_qkv"), embedding, asking + 2 * answering, self.bias)?;
        } else {
            let gated = if self.hybrid.is_some() { 2 } else { 1 };
            let parts = [("attn_q", gated * asking), ("attn_k", answering), ("attn_v", answering)];
            for (part, outputs) in parts.into_iter().filter(|(part, _)| has(part)) {
                list.linear(&name(part), embedding, outputs, self.bias)?;
            }
        }
        list.linear(&name("attn_output"), asking, embedding, self.output_bias)?;
        if self.has_stream_norms() {
            self.norm(&name("attn_output_norm"), embedding, list)?;
            self.norm(&name("layer_output_norm"), embedding, list)?;
        }
        let norms = [("attn_q_norm.weight", self.heads), ("attn_k_norm.weight", kv_heads)];
        for (part, heads) in norms.into_iter().filter(|(part, _)| has(part)) {
            match self.head_norms {
                None => {}
                Some(NormSpan::Head) => {
                    let fill = if self.gemma.is_some() { Fill::SmallNorm { length: head } } else { Fill::Norm };
                    list.plain(&name(part), head, fill)?;
                }
                Some(NormSpan::EachHead) => list.add(&name(part), &[self.head, heads], Type::F32, Fill::Norm)?,
                Some(NormSpan::Row) => list.plain(&name(part), heads * self.head, Fill::Norm)?,
            }
        }
        if self.output_gate {
            list.linear(&name("attn_gate"), embedding, asking, false)?;
        }
        if self.sinks {
            list.plain(&name("attn_sinks.weight"), self.heads, Fill::Bias)?;
        }
        if let Some(gemma) = &self.gemma {
            gemma.layer(layer, embedding, list)?;
        }
        Ok(())
    }

    fn feed_forward(&self, layer: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let embedding = self.embedding;
        let length = self.gemma.as_ref().map(|gemma| gemma.feed_forward(layer, self.feed_forward));
        let feed_forward = length.unwrap_or(self.feed_forward);
        let own_norm = if self.hybrid.is_some() { Some("post_attention_norm") } else { self.feed_forward_norm };
        if let Some(norm) = own_norm.filter(|_| self.pre_norms) {
            self.norm(&name(norm), embedding, list)?;
        }
        if self.post_norms {
            self.norm(&name("post_attention_norm"), embedding, list)?;
            self.norm(&name("post_ffw_norm"), embedding, list)?;
        }
        let Mixture { dense, step, .. } = self.mixture;
        if let Some((count, _)) = self.experts.filter(|_| layer >= dense && (layer + 1).is_multiple_of(step)) {
            if self.gemma.is_none() {
                return self.mixture(layer, count, list);
            }
            Gemma::mixture(layer, embedding, feed_forward, count, list)?;
        }
        if !self.gated {
            list.linear(&name("ffn_up"), embedding, feed_forward, self.feed_forward_bias)?;
        } else if self.fused && !self.separate_gate {
            list.linear(&name("ffn_up"), embedding, 2 * feed_forward, self.feed_forward_bias)?;
        } else {
            list.linear(&name("ffn_gate"), embedding, feed_forward, self.feed_forward_bias)?;
            list.linear(&name("ffn_up"), embedding, feed_forward, self.feed_forward_bias)?;
        }
        list.linear(&name("ffn_down"), feed_forward, embedding, self.feed_forward_bias)
    }

    fn mixture(&self, layer: usize, count: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let &Self { embedding, feed_forward, mixture, .. } = self;
        list.plain_matrix(&name("ffn_gate_inp.weight"), &[embedding, count])?;
        if mixture.bias {
            list.plain(&name("ffn_gate_inp.bias"), count, Fill::Bias)?;
        }
        let parts = [
            ("ffn_gate_exps", embedding, feed_forward),
            ("ffn_up_exps", embedding, feed_forward),
            ("ffn_down_exps", feed_forward, embedding),
        ];
        for (part, columns, outputs) in parts.into_iter().skip(usize::from(!self.gated)) {
            list.matrix(&name(&format!("{part}.weight")), &[columns, outputs, count])?;
            if mixture.bias {
                list.add(&name(&format!("{part}.bias")), &[outputs, count], Type::F32, Fill::Bias)?;
            }
        }
        if mixture.selection_bias {
            let bias = if self.architecture == "hy_v3" { "exp_probs_b" } else { "exp_probs_b.bias" };
            list.plain(&name(bias), count, Fill::Bias)?;
        }
        if mixture.shared_gate {
            list.plain(&name("ffn_gate_inp_shexp.weight"), embedding, Fill::Matrix { inputs: embedding })?;
        }
        if let Some(length) = mixture.shared {
            if self.gated {
                list.linear(&name("ffn_gate_shexp"), embedding, length, false)?;
            }
            list.linear(&name("ffn_up_shexp"), embedding, length, false)?;
            list.linear(&name("ffn_down_shexp"), length, embedding, false)?;
        }
        match &self.hybrid {
            Some(hybrid) => hybrid.shared_expert(layer, embedding, list),
            None => Ok(()),
        }
    }
}
