//! Assembles the blocks of a model, and checks the shape of each tensor.

use std::ops::Range;
use std::sync::Arc;

use roci_gguf::{Error as FileError, Gguf, Type};

use super::blocks::{
    Attention, FeedForward, FeedForwardKind, GatedFeedForward, Layer, Linear, Matrix, Mixer, Norm, Rope, RowBlocks,
    SharedExpert, Vector,
};
use super::config::{Config, Experts};
use super::error::ModelError;
use super::rope::Scaling;
use super::table::ArchitectureTraits;

/// Looks up tensors and checks them.
pub(super) struct Builder<'a> {
    file: &'a Gguf,
    pub(super) config: &'a Config,
    traits: &'static ArchitectureTraits,
}

/// Limits of the RoPE frequency factors.
const FACTORS: Range<f32> = 1e-6..1e6;

impl<'a> Builder<'a> {
    pub(super) fn new(file: &'a Gguf, config: &'a Config, traits: &'static ArchitectureTraits) -> Self {
        Self { file, config, traits }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.file.tensor(name).is_some()
    }

    /// Checks that a tensor exists, has this shape, and has a supported type.
    ///
    /// Trailing dimensions of 1 are ignored, because not all converters write them.
    fn check(&self, name: &str, expected: &[usize]) -> Result<(), ModelError> {
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
        // Vectors are added or multiplied elementwise, so they must be floats.
        let plain = matches!(kind, Type::F32 | Type::F16 | Type::BF16);
        let whole = matches!(kind, Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::F64);
        if whole || (expected.len() == 1 && !plain) {
            return Err(ModelError::Type { tensor: name.to_owned(), found: kind });
        }
        Ok(())
    }

    pub(super) fn vector(&self, name: &str, length: usize) -> Result<Vector, ModelError> {
        self.check(name, &[length])?;
        Ok(Vector { tensor: name.to_owned(), values: 0..length })
    }

    pub(super) fn matrix(&self, name: &str, outputs: usize, columns: usize) -> Result<Matrix, ModelError> {
        self.check(name, &[columns, outputs])?;
        Ok(Matrix { tensor: name.to_owned(), rows: 0..outputs, columns, blocks: None })
    }

    pub(super) fn norm(&self, name: &str, length: usize) -> Result<Norm, ModelError> {
        Ok(Norm { weight: self.vector(name, length)?, epsilon: self.config.epsilon })
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

    /// RoPE of layers with full attention, and of those with a sliding window.
    pub(super) fn ropes(&self, context: u32) -> Result<(Arc<Rope>, Arc<Rope>), ModelError> {
        let config = &self.config.rope;
        let factors = self.rope_factors(context)?;
        let whole = Arc::new(config.build(self.traits.rope, factors.as_deref()));
        let local = match config.window_base {
            Some(base) => Arc::new(config.build_local(self.traits.rope, base)),
            None => Arc::clone(&whole),
        };
        Ok((whole, local))
    }

    fn rope_factors(&self, context: u32) -> Result<Option<Vec<f32>>, ModelError> {
        let config = &self.config.rope;
        let length = if context > config.original_context { "long" } else { "short" };
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

    pub(super) fn layer(&self, index: usize, whole: &Arc<Rope>, local: &Arc<Rope>) -> Result<Layer, ModelError> {
        let mixer = match (&self.config.delta_net, self.traits.delta_net) {
            (Some(config), Some(order)) if config.layers[index] => {
                Mixer::DeltaNet(self.delta_net(index, config, order)?)
            }
            _ => Mixer::Attention(self.attention(index, whole, local)?),
        };
        Ok(Layer { mixer, feed_forward: self.feed_forward(index)? })
    }

    fn attention(&self, index: usize, whole: &Arc<Rope>, local: &Arc<Rope>) -> Result<Attention, ModelError> {
        let &Config { embedding, key_length, value_length, .. } = self.config;
        let (heads, kv_heads) = (self.config.heads[index], self.config.kv_heads[index]);
        let name = |part: &str| format!("blk.{index}.{part}");
        let outputs = [heads * key_length, kv_heads * key_length, kv_heads * value_length];
        let biased = self.traits.biases;
        let linear = |part: &str, outputs: usize| self.linear(&name(part), outputs, embedding, biased);
        let mut output_gate = None;
        let [query, key, value] = if self.traits.output_gate {
            let [query, gate] = self.interleaved(&name("attn_q"), [key_length, key_length], heads, embedding)?;
            output_gate = Some(gate);
            [query, linear("attn_k", outputs[1])?, linear("attn_v", outputs[2])?]
        } else if self.has(&name("attn_qkv.weight")) {
            self.fused(&name("attn_qkv"), outputs, embedding)?
        } else {
            [linear("attn_q", outputs[0])?, linear("attn_k", outputs[1])?, linear("attn_v", outputs[2])?]
        };
        let head_norms = if self.traits.head_norms {
            let query = self.norm(&name("attn_q_norm.weight"), key_length)?;
            Some((query, self.norm(&name("attn_k_norm.weight"), key_length)?))
        } else {
            None
        };
        let window = self.config.windows[index];
        Ok(Attention {
            norm: self.norm(&name("attn_norm.weight"), embedding)?,
            query,
            key,
            value,
            output_gate,
            output: self.linear(&name("attn_output"), embedding, heads * value_length, false)?,
            head_norms,
            post_norm: self.post_norm(&name("post_attention_norm.weight"))?,
            heads,
            kv_heads,
            key_length,
            value_length,
            rope: Arc::clone(if window.is_some() { local } else { whole }),
            scale: self.config.attention_scale,
            soft_cap: self.config.attention_cap,
            window,
        })
    }

    fn post_norm(&self, name: &str) -> Result<Option<Norm>, ModelError> {
        if self.traits.post_norms { self.norm(name, self.config.embedding).map(Some) } else { Ok(None) }
    }

    fn feed_forward(&self, index: usize) -> Result<FeedForward, ModelError> {
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let kind = match self.config.experts {
            Some(experts) => self.experts(index, experts)?,
            None => FeedForwardKind::Dense(self.dense(index)?),
        };
        Ok(FeedForward {
            norm: self.norm(&name(&format!("{}.weight", self.traits.feed_forward_norm)), embedding)?,
            shared: self.config.experts.map(|experts| self.shared_expert(index, experts)).transpose()?.flatten(),
            kind,
            activation: self.traits.activation,
            post_norm: self.post_norm(&name("post_ffw_norm.weight"))?,
        })
    }

    fn dense(&self, index: usize) -> Result<GatedFeedForward, ModelError> {
        let (embedding, inside) = (self.config.embedding, self.config.feed_forward[index]);
        let name = |part: &str| format!("blk.{index}.{part}");
        let fused = !self.has(&name("ffn_gate.weight"))
            && self
                .file
                .tensor(&name("ffn_up.weight"))
                .is_some_and(|up| up.info().shape().get(1) == Some(&(2 * inside as u64)));
        let [gate, up] = if fused {
            self.fused(&name("ffn_up"), [inside, inside], embedding)?
        } else {
            let gate = self.linear(&name("ffn_gate"), inside, embedding, false)?;
            [gate, self.linear(&name("ffn_up"), inside, embedding, false)?]
        };
        Ok(GatedFeedForward { gate, up, down: self.linear(&name("ffn_down"), embedding, inside, false)? })
    }

    fn shared_expert(&self, index: usize, experts: Experts) -> Result<Option<SharedExpert>, ModelError> {
        if !self.traits.shared_expert {
            return Ok(None);
        }
        let embedding = self.config.embedding;
        let inside = experts.shared_feed_forward.unwrap_or(self.config.feed_forward[index]);
        let linear = |part: &str, outputs: usize, columns: usize| {
            self.linear(&format!("blk.{index}.{part}"), outputs, columns, false)
        };
        let network = GatedFeedForward {
            gate: linear("ffn_gate_shexp", inside, embedding)?,
            up: linear("ffn_up_shexp", inside, embedding)?,
            down: linear("ffn_down_shexp", embedding, inside)?,
        };
        Ok(Some(SharedExpert { network, gate: Some(linear("ffn_gate_inp_shexp", 1, embedding)?) }))
    }

    fn experts(&self, index: usize, experts: Experts) -> Result<FeedForwardKind, ModelError> {
        let Experts { count, experts_per_token, feed_forward: inside, .. } = experts;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let router = self.linear(&name("ffn_gate_inp"), count, embedding, false)?;
        // A three-dimensional tensor is a stack of matrices.
        let part = |part: &str, outputs: usize, columns: usize| -> Result<Vec<Linear>, ModelError> {
            let tensor = name(part);
            self.check(&tensor, &[columns, outputs, count])?;
            let of = |expert: usize| Matrix {
                tensor: tensor.clone(),
                rows: expert * outputs..(expert + 1) * outputs,
                columns,
                blocks: None,
            };
            Ok((0..count).map(|expert| Linear { matrix: of(expert), bias: None }).collect())
        };
        let gate = part("ffn_gate_exps.weight", inside, embedding)?;
        let up = part("ffn_up_exps.weight", inside, embedding)?;
        let down = part("ffn_down_exps.weight", embedding, inside)?;
        let experts = gate.into_iter().zip(up).zip(down).map(|((gate, up), down)| GatedFeedForward { gate, up, down });
        Ok(FeedForwardKind::Experts { router, experts: experts.collect(), experts_per_token })
    }
}
