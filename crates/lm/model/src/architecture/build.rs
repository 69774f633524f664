//! Assembles the blocks of a model, and checks the shape of each tensor.

use std::ops::Range;
use std::sync::Arc;

use roci_gguf::{Error as FileError, Gguf, Type};

use super::blocks::{Attention, HeadNorms, Layer, Linear, Matrix, Mixer, Norm, NormSpan, Rope, RowBlocks, Vector};
use super::config::Config;
use super::error::ModelError;
use super::rope::Scaling;
use super::traits::{ArchitectureTraits, AttentionGate, HeadNormTraits};

/// Looks up tensors and checks them.
pub(super) struct Builder<'a> {
    pub(super) file: &'a Gguf,
    pub(super) config: &'a Config,
    pub(super) traits: &'static ArchitectureTraits,
    /// Context length in tokens.
    pub(super) context: u32,
    ropes: Ropes,
}

/// RoPE of layers with full attention, of those with a sliding window, and of those without
/// position embedding.
struct Ropes {
    whole: Arc<Rope>,
    local: Arc<Rope>,
    none: Arc<Rope>,
}

/// Limits of the RoPE frequency factors.
/// Files use a factor of 1e30 for pairs that do not rotate.
const FACTORS: Range<f32> = 1e-6..1e31;

impl<'a> Builder<'a> {
    pub(super) fn new(
        file: &'a Gguf,
        config: &'a Config,
        traits: &'static ArchitectureTraits,
        context: u32,
    ) -> Result<Self, ModelError> {
        let none = Arc::new(config.rope.build_none());
        let ropes = Ropes { whole: Arc::clone(&none), local: Arc::clone(&none), none };
        let mut builder = Self { file, config, traits, context, ropes };
        let factors = builder.rope_factors()?;
        builder.ropes.whole = Arc::new(config.rope.build(factors.as_deref()));
        builder.ropes.local = match config.rope.build_local(factors.as_deref()) {
            Some(local) => Arc::new(local),
            None => Arc::clone(&builder.ropes.whole),
        };
        Ok(builder)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.file.tensor(name).is_some()
    }

    /// Checks that a tensor exists, has this shape, and has a supported type.
    ///
    /// Trailing dimensions of 1 are ignored, because not all converters write them.
    pub(super) fn check(&self, name: &str, expected: &[usize]) -> Result<(), ModelError> {
        let tensor = self.file.tensor(name).ok_or_else(|| FileError::MissingTensor(name.to_owned()))?;
        let expected: Vec<u64> = expected.iter().map(|&size| size as u64).collect();
        let found = tensor.info().shape();
        let bare = |shape: &[u64]| -> Vec<u64> {
            let length = shape.iter().rposition(|&size| size != 1).map_or(1, |last| last + 1);
            shape.iter().copied().take(length).collect()
        };
        if bare(found) != bare(&expected) {
            return Err(ModelError::Shape { tensor: name.to_owned(), found: found.to_vec(), expected });
        }
        let kind = tensor.info().kind();
        let whole = matches!(kind, Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F64);
        if whole || (expected.len() == 1 && !is_plain(kind)) {
            return Err(ModelError::Type { tensor: name.to_owned(), found: kind });
        }
        Ok(())
    }

    /// Vectors that a tensor stacks.
    pub(super) fn vectors(&self, name: &str, length: usize, count: usize) -> Result<Vec<Vector>, ModelError> {
        self.check(name, &[length, count])?;
        let kind = self.file.expect_tensor(name)?.info().kind();
        if !is_plain(kind) {
            return Err(ModelError::Type { tensor: name.to_owned(), found: kind });
        }
        let vector = |index: usize| Vector { tensor: name.to_owned(), values: index * length..(index + 1) * length };
        Ok((0..count).map(vector).collect())
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<Vector, ModelError> {
        self.check(name, &[length])?;
        Ok(Vector { tensor: name.to_owned(), values: 0..length })
    }

    pub(super) fn matrix(&self, name: &str, outputs: usize, columns: usize) -> Result<Matrix, ModelError> {
        self.check(name, &[columns, outputs])?;
        Ok(Matrix { tensor: name.to_owned(), rows: 0..outputs, columns, blocks: None })
    }

    /// A norm of rows of this length. Its bias is optional.
    pub(super) fn norm(&self, name: &str, length: usize) -> Result<Norm, ModelError> {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        if !self.traits.norm_weights {
            return Ok(Norm { kind: self.traits.norm, weight: None, bias: None, epsilon: self.config.epsilon });
        }
        // The converter of Falcon H1 omits `.weight` in one name.
        let weight = if !self.has(&weight) && self.has(name) { name } else { &weight };
        Ok(Norm {
            kind: self.traits.norm,
            weight: Some(self.vector(weight, length)?),
            bias: if self.has(&bias) { Some(self.vector(&bias, length)?) } else { None },
            epsilon: self.config.epsilon,
        })
    }

    /// A norm of the residual stream, which is divided by the residual scale.
    pub(super) fn residual_norm(&self, name: &str) -> Result<Norm, ModelError> {
        let norm = self.norm(name, self.config.embedding)?;
        Ok(Norm { epsilon: norm.epsilon / self.config.residual_scale.powi(2), ..norm })
    }

    /// The norm of the input of attention or of a block in its place.
    pub(super) fn pre_norm(&self, index: usize) -> Result<Option<Norm>, ModelError> {
        if !self.traits.pre_norms {
            return Ok(None);
        }
        // Falcon has one more norm where attention does not share that of feed-forward.
        let own = format!("blk.{index}.attn_norm_2");
        let shared = format!("blk.{index}.attn_norm");
        if index == 0 && self.traits.input.first_norm_optional && !self.has(&format!("{shared}.weight")) {
            return Ok(None);
        }
        self.residual_norm(if self.has(&format!("{own}.weight")) { &own } else { &shared }).map(Some)
    }

    /// A linear layer. With `biased` the bias must exist; otherwise it is optional.
    pub(super) fn linear(
        &self,
        name: &str,
        outputs: usize,
        columns: usize,
        biased: bool,
    ) -> Result<Linear, ModelError> {
        let bias = format!("{name}.bias");
        let matrix = self.matrix(&format!("{name}.weight"), outputs, columns)?;
        let bias = if biased || self.has(&bias) { Some(self.vector(&bias, outputs)?) } else { None };
        Ok(Linear { matrix, bias })
    }

    /// Matrices that are stacked in one tensor.
    pub(super) fn fused<const N: usize>(
        &self,
        name: &str,
        outputs: [usize; N],
        columns: usize,
    ) -> Result<[Linear; N], ModelError> {
        let whole = self.linear(name, outputs.iter().sum(), columns, false)?;
        let mut start = 0;
        Ok(outputs.map(|outputs| {
            let rows = start..start + outputs;
            start += outputs;
            Linear {
                matrix: Matrix { rows: rows.clone(), ..whole.matrix.clone() },
                bias: whole.bias.as_ref().map(|bias| Vector { values: rows, ..bias.clone() }),
            }
        }))
    }

    /// Matrices whose rows a tensor interleaves: `groups` times the rows of the first, the second,
    /// and so on. `lengths` are the rows of one group.
    pub(super) fn interleaved<const N: usize>(
        &self,
        name: &str,
        lengths: [usize; N],
        groups: usize,
        columns: usize,
    ) -> Result<[Linear; N], ModelError> {
        let step: usize = lengths.iter().sum();
        let whole = self.matrix(&format!("{name}.weight"), groups * step, columns)?;
        let mut start = 0;
        Ok(lengths.map(|length| {
            let rows = start..start + (groups - 1) * step + length;
            start += length;
            let blocks = Some(RowBlocks { length, step });
            Linear { matrix: Matrix { rows, blocks, ..whole.clone() }, bias: None }
        }))
    }

    /// The output matrix: its own tensor, or that of the embeddings if they are tied.
    pub(super) fn output(&self) -> Result<Linear, ModelError> {
        let &Config { vocabulary, embedding, .. } = self.config;
        if self.has("output.weight") {
            return self.linear("output", vocabulary, embedding, false);
        }
        Ok(Linear { matrix: self.matrix("token_embd.weight", vocabulary, embedding)?, bias: None })
    }

    fn rope_factors(&self) -> Result<Option<Vec<f32>>, ModelError> {
        let config = &self.config.rope;
        let length = if self.context > config.original_context { "long" } else { "short" };
        let chosen = format!("rope_factors_{length}.weight");
        let name = match config.scaling {
            _ if self.has("rope_freqs.weight") => "rope_freqs.weight",
            Scaling::Long => &chosen,
            _ if self.has(&chosen) => &chosen,
            _ => return Ok(None),
        };
        self.check(name, &[config.dimensions / 2])?;
        let factors = self.file.expect_tensor(name)?.to_f32()?;
        if let Some(factor) = factors.iter().find(|factor| !FACTORS.contains(factor)) {
            return Err(ModelError::config(name, format!("the factor {factor} is out of range")));
        }
        Ok(Some(factors))
    }

    pub(super) fn layer(&self, index: usize) -> Result<Layer, ModelError> {
        let blocks = self.config.blocks[index];
        let mut mixers = Vec::new();
        match (&self.config.delta_net, self.traits.delta_net) {
            (Some(config), Some(order)) if config.layers[index] => {
                mixers.push(Mixer::DeltaNet(self.delta_net(index, config, order)?));
            }
            _ if blocks.attention => mixers.push(Mixer::Attention(self.attention(index)?)),
            _ => {}
        }
        if let Some(config) = self.config.recurrent.filter(|_| blocks.recurrent) {
            mixers.push(self.recurrent(index, config)?);
        }
        if !blocks.feed_forward {
            let stream_norms = self.stream_norms(index)?;
            return Ok(Layer {
                mixers,
                feed_forward: None,
                parallel: false,
                stream_norms,
                per_layer: None,
                output_scale: None,
                low_rank: None,
                streams: None,
            });
        }
        let (feed_forward, parallel) = self.feed_forward(index)?;
        Ok(Layer {
            mixers,
            feed_forward: Some(feed_forward),
            parallel,
            stream_norms: self.stream_norms(index)?,
            per_layer: self.per_layer_input(index)?,
            output_scale: self.output_scale(index)?,
            low_rank: self.low_rank(index)?,
            streams: self.stream_mixing(index)?,
        })
    }

    fn attention(&self, index: usize) -> Result<Attention, ModelError> {
        let embedding = self.config.embedding;
        let (key_length, value_length) = self.config.head_lengths(index);
        let (heads, kv_heads) = (self.config.heads[index], self.config.kv_heads[index]);
        let kv_layer = self.config.kv_layers[index];
        // Files may have key and value tensors in layers that do not compute keys and values.
        let kv_name = |part: &str| format!("blk.{}.{part}", kv_layer.unwrap_or(index));
        let name = |part: &str| format!("blk.{index}.{part}");
        let outputs = [heads * key_length, kv_heads * key_length, kv_heads * value_length];
        let biased = self.traits.biases;
        let linear = |part: &str, outputs: usize| self.linear(&name(part), outputs, embedding, biased);
        let (mut output_gate, mut latent) = (None, None);
        let [query, key, value] = if let Some(config) = self.config.latent {
            let (projections, block) = self.latent(index, config)?;
            latent = Some(Box::new(block));
            projections
        } else if self.traits.output_gate == AttentionGate::InQueryProjection {
            let [query, gate] = self.interleaved(&name("attn_q"), [key_length, key_length], heads, embedding)?;
            output_gate = Some(gate);
            [query, linear("attn_k", outputs[1])?, linear("attn_v", outputs[2])?]
        } else if self.has(&name("attn_qkv.weight")) {
            self.fused(&name("attn_qkv"), outputs, embedding)?
        } else {
            let kv_linear = |part: &str, outputs: usize| self.linear(&kv_name(part), outputs, embedding, biased);
            let key = kv_linear("attn_k", outputs[1])?;
            let value = if self.has(&kv_name("attn_v.weight")) || !self.traits.value_norm {
                kv_linear("attn_v", outputs[2])?
            } else if outputs[1] == outputs[2] {
                key.clone()
            } else {
                return Err(FileError::MissingTensor(kv_name("attn_v.weight")).into());
            };
            [linear("attn_q", outputs[0])?, key, value]
        };
        if self.traits.output_gate == AttentionGate::Separate {
            output_gate = Some(linear("attn_gate", heads * value_length)?);
        }
        let value_norm = Norm { kind: self.traits.norm, weight: None, bias: None, epsilon: self.config.epsilon };
        let sinks = if self.traits.sinks { Some(self.vector(&name("attn_sinks.weight"), heads)?) } else { None };
        let (window, chunk) = (self.config.windows[index], self.config.chunks[index]);
        let rope = match (self.config.rotated[index], window.or(chunk)) {
            (false, _) => &self.ropes.none,
            (true, None) => &self.ropes.whole,
            (true, Some(_)) => &self.ropes.local,
        };
        // A two-sided window has no effect on sequences of at most half its length.
        let causal = self.config.encoder.causal;
        let window = window.filter(|window| causal || self.context > window / 2 + 1);
        // Neither has an effect before its first step.
        let chunk = chunk.filter(|chunk| self.context > *chunk);
        let temperature = self.config.temperatures[index]
            .filter(|temperature| self.context.saturating_add(temperature.offset) > temperature.interval);
        Ok(Attention {
            norm: self.pre_norm(index)?,
            query,
            key,
            value,
            kv_layer,
            output_gate,
            output: {
                let length = latent.as_ref().map_or(value_length, |latent| latent.output_length);
                self.linear(&name("attn_output"), embedding, heads * length, false)?
            },
            latent,
            head_norms: self.head_norms(index)?,
            value_norm: self.traits.value_norm.then_some(value_norm),
            post_norm: self.post_norm(&name("post_attention_norm"))?,
            heads,
            kv_heads,
            key_length,
            value_length,
            rope: Arc::clone(rope),
            scale: self.config.attention_scale,
            soft_cap: self.config.attention_cap,
            temperature,
            sinks,
            causal,
            bidirectional_images: self.config.bidirectional_images[index],
            alibi: self.config.encoder.alibi,
            window,
            chunk,
        })
    }

    /// The norms of queries and keys.
    fn head_norms(&self, index: usize) -> Result<Option<HeadNorms>, ModelError> {
        let epsilon = self.config.epsilon;
        let (key_length, _) = self.config.head_lengths(index);
        let kv_layer = self.config.kv_layers[index].unwrap_or(index);
        let (heads, kv_heads) = (self.config.heads[index], self.config.kv_heads[index]);
        let name = |part: &str| format!("blk.{index}.{part}");
        let span = match self.traits.head_norms {
            HeadNormTraits::None => return Ok(None),
            HeadNormTraits::Head | HeadNormTraits::AfterRope => NormSpan::Head,
            HeadNormTraits::Row => NormSpan::Row,
            HeadNormTraits::Optional => match self.file.tensor(&name("attn_q_norm.weight")) {
                None => return Ok(None),
                Some(tensor) if tensor.info().shape().len() > 1 => NormSpan::EachHead,
                Some(_) => NormSpan::Head,
            },
            HeadNormTraits::Unweighted => {
                let many = self.config.experts.is_some_and(|experts| experts.count == 128);
                if many || !self.config.rotated[index] {
                    return Ok(None);
                }
                let norm = Norm { kind: self.traits.norm, weight: None, bias: None, epsilon };
                let (query, key) = (norm.clone(), norm);
                return Ok(Some(HeadNorms { query, key, span: NormSpan::Head, after_rope: true }));
            }
        };
        let norm = |name: &str, heads: usize| match span {
            NormSpan::Head => self.norm(name, key_length),
            NormSpan::Row => self.norm(name, heads * key_length),
            NormSpan::EachHead => {
                let tensor = format!("{name}.weight");
                self.vectors(&tensor, key_length, heads)?;
                let weight = Vector { tensor, values: 0..heads * key_length };
                Ok(Norm { kind: self.traits.norm, weight: Some(weight), bias: None, epsilon })
            }
        };
        let after_rope = self.traits.head_norms == HeadNormTraits::AfterRope;
        let (query, key) =
            (norm(&name("attn_q_norm"), heads)?, norm(&format!("blk.{kv_layer}.attn_k_norm"), kv_heads)?);
        Ok(Some(HeadNorms { query, key, span, after_rope }))
    }

    pub(super) fn post_norm(&self, name: &str) -> Result<Option<Norm>, ModelError> {
        if self.traits.post_norms { self.norm(name, self.config.embedding).map(Some) } else { Ok(None) }
    }
}

/// Whether values of a type are floats. Vectors are added or multiplied elementwise, so they must
/// be.
fn is_plain(kind: Type) -> bool {
    matches!(kind, Type::F32 | Type::F16 | Type::BF16)
}
