//! Recipes of synthetic models.

use roci_gguf::{Error, TensorInfo, Type, Value};

use super::fill::Fill;
use super::hybrid::Hybrid;

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
    pub bias: bool,
    pub head_norms: bool,
    pub post_norms: bool,
    pub experts: Option<(usize, usize)>,
    pub hybrid: Option<Hybrid>,
    pub window: Option<u32>,
    pub caps: Option<(f32, f32)>,
    pub base: f32,
    pub rope: RopeRecipe,
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
            bias: false,
            head_norms: false,
            post_norms: false,
            experts: None,
            hybrid: None,
            window: None,
            caps: None,
            base: 10_000.0,
            rope: RopeRecipe::Plain,
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
            own("block_count", Value::from(self.layers as u32)),
            own("context_length", Value::from(4096u32)),
            own("embedding_length", Value::from(self.embedding as u32)),
            own("feed_forward_length", Value::from(self.feed_forward as u32)),
            own("attention.head_count", Value::from(self.heads as u32)),
            own("attention.head_count_kv", Value::from(self.kv_heads as u32)),
            own("attention.key_length", Value::from(self.head as u32)),
            own("attention.value_length", Value::from(self.head as u32)),
            own("attention.layer_norm_rms_epsilon", Value::from(1e-5f32)),
            own("rope.dimension_count", Value::from(self.head as u32)),
            own("rope.freq_base", Value::from(self.base)),
        ];
        if let Some((count, used)) = self.experts {
            pairs.push(own("expert_count", Value::from(count as u32)));
            pairs.push(own("expert_used_count", Value::from(used as u32)));
            pairs.push(own("expert_feed_forward_length", Value::from(self.feed_forward as u32)));
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
        let mut list = List { kind: self.kind, scaled: self.scaled, tensors: Vec::new() };
        let fill = Fill::Matrix { inputs: self.embedding };
        list.add("token_embd.weight", &[self.embedding, self.vocabulary], self.embedding_kind, fill)?;
        if !self.tied {
            list.matrix("output.weight", &[self.embedding, self.vocabulary])?;
        }
        list.plain("output_norm.weight", self.embedding, Fill::Norm)?;
        match self.rope {
            RopeRecipe::Factors => list.plain("rope_freqs.weight", self.head / 2, Fill::Factors)?,
            RopeRecipe::Long { .. } => {
                list.plain("rope_factors_long.weight", self.head / 2, Fill::Factors)?;
                list.plain("rope_factors_short.weight", self.head / 2, Fill::Factors)?;
            }
            _ => {}
        }
        for layer in 0..self.layers {
            self.layer(layer, &mut list)?;
        }
        Ok(list.tensors)
    }

    fn layer(&self, layer: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let embedding = self.embedding;
        let (asking, answering) = (self.heads * self.head, self.kv_heads * self.head);
        list.plain(&name("attn_norm.weight"), embedding, Fill::Norm)?;
        let recurrent = self.hybrid.as_ref().filter(|hybrid| hybrid.is_recurrent(layer));
        if let Some(hybrid) = recurrent {
            hybrid.mixer(layer, embedding, list)?;
            return self.feed_forward(layer, list);
        }
        if self.fused {
            list.matrix(&name("attn_qkv.weight"), &[embedding, asking + 2 * answering])?;
        } else {
            let gated = if self.hybrid.is_some() { 2 } else { 1 };
            for (part, outputs) in [("attn_q", gated * asking), ("attn_k", answering), ("attn_v", answering)] {
                list.matrix(&name(&format!("{part}.weight")), &[embedding, outputs])?;
                if self.bias {
                    list.plain(&name(&format!("{part}.bias")), outputs, Fill::Bias)?;
                }
            }
        }
        list.matrix(&name("attn_output.weight"), &[asking, embedding])?;
        if self.head_norms {
            list.plain(&name("attn_q_norm.weight"), self.head, Fill::Norm)?;
            list.plain(&name("attn_k_norm.weight"), self.head, Fill::Norm)?;
        }
        self.feed_forward(layer, list)
    }

    fn feed_forward(&self, layer: usize, list: &mut List) -> Result<(), Error> {
        let name = |part: &str| format!("blk.{layer}.{part}");
        let &Self { embedding, feed_forward, .. } = self;
        let norm = if self.hybrid.is_some() { "post_attention_norm.weight" } else { "ffn_norm.weight" };
        list.plain(&name(norm), embedding, Fill::Norm)?;
        if self.post_norms {
            list.plain(&name("post_attention_norm.weight"), embedding, Fill::Norm)?;
            list.plain(&name("post_ffw_norm.weight"), embedding, Fill::Norm)?;
        }
        if let Some((count, _)) = self.experts {
            list.plain_matrix(&name("ffn_gate_inp.weight"), &[embedding, count])?;
            list.matrix(&name("ffn_gate_exps.weight"), &[embedding, feed_forward, count])?;
            list.matrix(&name("ffn_up_exps.weight"), &[embedding, feed_forward, count])?;
            list.matrix(&name("ffn_down_exps.weight"), &[feed_forward, embedding, count])?;
            match &self.hybrid {
                Some(hybrid) => hybrid.shared_expert(layer, embedding, list),
                None => Ok(()),
            }
        } else {
            if self.fused {
                list.matrix(&name("ffn_up.weight"), &[embedding, 2 * feed_forward])?;
            } else {
                list.matrix(&name("ffn_gate.weight"), &[embedding, feed_forward])?;
                list.matrix(&name("ffn_up.weight"), &[embedding, feed_forward])?;
            }
            list.matrix(&name("ffn_down.weight"), &[feed_forward, embedding])
        }
    }
}

pub(super) struct List {
    kind: Type,
    /// Whether each matrix has a scale of its own.
    scaled: bool,
    tensors: Vec<(TensorInfo, Fill)>,
}

impl List {
    pub(super) fn add(&mut self, name: &str, shape: &[usize], kind: Type, fill: Fill) -> Result<(), Error> {
        let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        self.tensors.push((TensorInfo::new(name, &shape, kind)?, fill));
        Ok(())
    }

    pub(super) fn matrix(&mut self, name: &str, shape: &[usize]) -> Result<(), Error> {
        if self.scaled {
            let stem = name.strip_suffix(".weight").unwrap_or(name);
            self.plain(&format!("{stem}.scale"), shape.get(2).copied().unwrap_or(1), Fill::Norm)?;
        }
        self.add(name, shape, self.kind, Fill::Matrix { inputs: shape[0] })
    }

    /// A matrix that is never quantized.
    pub(super) fn plain_matrix(&mut self, name: &str, shape: &[usize]) -> Result<(), Error> {
        self.add(name, shape, Type::F32, Fill::Matrix { inputs: shape[0] })
    }

    pub(super) fn plain(&mut self, name: &str, length: usize, fill: Fill) -> Result<(), Error> {
        self.add(name, &[length], Type::F32, fill)
    }
}
