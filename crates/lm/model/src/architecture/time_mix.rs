//! Time mixing of RWKV: its sizes, and how it is assembled.

use super::blocks::{GatedFeedForward, LowRankVector, Mixer, Norm, NormKind, TimeMix, Vector};
use super::build::Builder;
use super::error::ModelError;
use super::keys::{Keys, MAX_LENGTH};
use super::traits::{ArchitectureTraits, HybridTraits};

/// Epsilon of the norm of heads, which files do not have.
pub(super) const HEAD_EPSILON: f32 = 64e-5;

/// Sizes of time mixing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TimeMixConfig {
    /// Length of a head.
    pub length: usize,
    /// Values between the projections to decays, rates and mixtures of values.
    pub ranks: [usize; 3],
    /// Those between the projections to gates, if there are gates.
    pub gate: Option<usize>,
    /// Token shifts of a layer: of time mixing, and of feed-forward.
    pub token_shifts: usize,
}

impl TimeMixConfig {
    pub(super) fn read(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Self, ModelError> {
        let token_shifts = token_shifts(keys, traits.hybrid == (HybridTraits::TimeMixes { channel_mix: true }))?;
        let rank = |part: &str| keys.needed(&format!("attention.{part}_lora_rank"), MAX_LENGTH);
        Ok(Self {
            length: head_length(keys)?,
            ranks: [rank("decay")?, rank("iclr")?, rank("value_residual_mix")?],
            gate: keys.count("attention.gate_lora_rank", MAX_LENGTH)?,
            token_shifts,
        })
    }
}

/// Length of a head, which divides the embedding length.
pub(super) fn head_length(keys: &Keys<'_>) -> Result<usize, ModelError> {
    let length = keys.needed("wkv.head_size", MAX_LENGTH)?;
    let embedding = keys.needed("embedding_length", MAX_LENGTH)?;
    if embedding.is_multiple_of(length) {
        return Ok(length);
    }
    let reason = format!("the embedding length {embedding} is not a multiple of {length}");
    Err(ModelError::config(keys.key("wkv.head_size"), reason))
}

/// Number of token shifts of a layer. Checks the value in the file, if it has one.
pub(super) fn token_shifts(keys: &Keys<'_>, channel_mix: bool) -> Result<usize, ModelError> {
    let expected = if channel_mix { 2 } else { 1 };
    match keys.integer("token_shift_count")?.filter(|count| *count != expected) {
        None => Ok(expected as usize),
        Some(count) => {
            let reason = format!("{count} is not supported, only {expected}");
            Err(ModelError::config(keys.key("token_shift_count"), reason))
        }
    }
}

impl Builder<'_> {
    pub(super) fn time_mix(&self, index: usize, config: TimeMixConfig) -> Result<Mixer, ModelError> {
        let embedding = self.config.embedding;
        let TimeMixConfig { length, ranks: [decay, rate, value_mix], gate, token_shifts } = config;
        let gate = gate.filter(|_| self.has(&format!("blk.{index}.time_mix_g1.weight")));
        let name = |part: &str| format!("blk.{index}.time_mix_{part}");
        let linear = |part: &str| self.linear(&name(part), embedding, embedding, false);
        let vector = |part: &str| self.vector(&name(&format!("{part}.weight")), embedding);
        let low_rank = |part: &str, rank: usize| -> Result<LowRankVector, ModelError> {
            Ok(LowRankVector {
                down: self.linear(&name(&format!("{part}1")), rank, embedding, false)?,
                up: self.linear(&name(&format!("{part}2")), embedding, rank, false)?,
                bias: vector(&format!("{part}0"))?,
            })
        };
        let shifts = name("lerp_fused.weight");
        // Files of models without gates may have the factors of their inputs.
        let inputs = match gate {
            None if self.check(&shifts, &[embedding, 1, 1, 6]).is_err() => 5,
            _ => 6,
        };
        self.check(&shifts, &[embedding, 1, 1, inputs])?;
        let shift = |at: usize| Vector { tensor: shifts.clone(), values: at * embedding..(at + 1) * embedding };
        let output_norm = if self.has(&name("ln.weight")) {
            Some(Norm { kind: NormKind::Layer, epsilon: HEAD_EPSILON, ..self.norm(&name("ln"), embedding)? })
        } else {
            None
        };
        Ok(Mixer::TimeMix(Box::new(TimeMix {
            norm: self.residual_norm(&format!("blk.{index}.attn_norm"))?,
            shifts: (0..inputs).map(shift).collect(),
            receptance: linear("receptance")?,
            decay: low_rank("w", decay)?,
            key: linear("key")?,
            value: linear("value")?,
            // Files have the tensors of the first layer too, with the rank of rates.
            value_mix: low_rank("v", if index > 0 { value_mix } else { rate })?,
            rate: low_rank("a", rate)?,
            gate: match gate {
                Some(gate) => Some([
                    self.linear(&name("g1"), gate, embedding, false)?,
                    self.linear(&name("g2"), embedding, gate, false)?,
                ]),
                None => None,
            },
            key_scale: vector("k_k")?,
            key_rate: vector("k_a")?,
            bonus: vector("r_k")?,
            output_norm,
            output: linear("output")?,
            heads: embedding / length,
            length,
            token_shifts,
        })))
    }

    /// The feed-forward network of RWKV, and the factors of its token shift.
    pub(super) fn channel_mix(&self, index: usize) -> Result<(GatedFeedForward, Vector), ModelError> {
        let (embedding, inside) = (self.config.embedding, self.config.feed_forward[index]);
        let name = |part: &str| format!("blk.{index}.channel_mix_{part}");
        let gate = self.linear(&name("key"), inside, embedding, false)?;
        let down = self.linear(&name("value"), embedding, inside, false)?;
        Ok((GatedFeedForward { gate, up: None, down }, self.vector(&name("lerp_k.weight"), embedding)?))
    }
}
