//! Time mixing of RWKV 6: its sizes, and its construction from a file.

use super::blocks::{DynamicTimeMix, FeedForwardGate, Linear, LowRankVector, Matrix, Mixer, Norm, NormKind, Vector};
use super::build::Builder;
use super::error::ModelError;
use super::keys::{Keys, MAX_LAYERS, MAX_LENGTH};
use super::time_mix::{HEAD_EPSILON, head_length, token_shifts};

/// Inputs with token shifts that depend on the token.
const SHIFTS: [&str; 5] = ["w", "k", "v", "r", "g"];

/// Sizes of time mixing of RWKV 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DynamicTimeMixConfig {
    /// Length of a head.
    pub length: usize,
    /// Rank of the projections to the factors of each token shift.
    pub shift_rank: usize,
    /// Rank of the projections to decays.
    pub decay_rank: usize,
    /// Token shifts of a layer: of time mixing, and of feed-forward.
    pub token_shifts: usize,
    /// The residual stream is halved after each n-th layer.
    pub halved_every: Option<usize>,
}

impl DynamicTimeMixConfig {
    pub(super) fn read(keys: &Keys<'_>, channel_mix: bool) -> Result<Self, ModelError> {
        // llama.cpp reads it in both kinds of models, but uses it only with channel mixing.
        let halved = keys.integer("rescale_every_n_layers")?.unwrap_or(0) != 0;
        let halved_every = if halved { keys.count("rescale_every_n_layers", MAX_LAYERS)? } else { None };
        Ok(Self {
            length: head_length(keys)?,
            shift_rank: keys.needed("time_mix_extra_dim", MAX_LENGTH)?,
            decay_rank: keys.needed("time_decay_extra_dim", MAX_LENGTH)?,
            token_shifts: token_shifts(keys, channel_mix)?,
            halved_every: halved_every.filter(|_| channel_mix),
        })
    }
}

impl Builder<'_> {
    pub(super) fn dynamic_time_mix(&self, index: usize, config: DynamicTimeMixConfig) -> Result<Mixer, ModelError> {
        let embedding = self.config.embedding;
        let DynamicTimeMixConfig { length, shift_rank: rank, decay_rank, token_shifts, .. } = config;
        let heads = embedding / length;
        let kv_heads = match self.config.kv_heads[index] {
            0 => heads,
            count => count,
        };
        if !heads.is_multiple_of(kv_heads) {
            let reason = format!("{heads} heads are not a multiple of {kv_heads} key and value heads");
            return Err(ModelError::config(format!("{}.attention.head_count_kv", self.traits.name), reason));
        }
        let name = |part: &str| format!("blk.{index}.time_mix_{part}");
        let linear = |part: &str, outputs: usize| self.linear(&name(part), outputs, embedding, false);
        let bonus = name("first.weight");
        let bonus = if self.has(&bonus) {
            self.vectors(&bonus, length, heads)?;
            Some(Vector { tensor: bonus, values: 0..embedding })
        } else {
            None
        };
        let output_norm = match bonus {
            Some(_) => {
                Some(Norm { kind: NormKind::Layer, epsilon: HEAD_EPSILON, ..self.norm(&name("ln"), embedding)? })
            }
            None => None,
        };
        Ok(Mixer::DynamicTimeMix(Box::new(DynamicTimeMix {
            norm: self.residual_norm(&format!("blk.{index}.attn_norm"))?,
            shift: self.vector(&name("lerp_x.weight"), embedding)?,
            shifts: self.dynamic_shifts(index, rank)?,
            receptance: linear("receptance", embedding)?,
            decay: LowRankVector {
                down: linear("decay_w1", decay_rank)?,
                up: self.linear(&name("decay_w2"), embedding, decay_rank, false)?,
                bias: self.vector(&name("decay.weight"), embedding)?,
            },
            key: linear("key", kv_heads * length)?,
            value: linear("value", kv_heads * length)?,
            gate: linear("gate", embedding)?,
            bonus,
            output_norm,
            output: linear("output", embedding)?,
            heads,
            kv_heads,
            length,
            token_shifts,
        })))
    }

    /// The token shifts of decay, key, value, receptance and gate, whose projections are stacked.
    fn dynamic_shifts(&self, index: usize, rank: usize) -> Result<Vec<LowRankVector>, ModelError> {
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.time_mix_{part}.weight");
        let [down, up, fused] = ["w1", "w2", "lerp_fused"].map(name);
        self.check(&down, &[embedding, SHIFTS.len() * rank])?;
        self.check(&up, &[rank, embedding, SHIFTS.len()])?;
        if self.has(&fused) {
            self.check(&fused, &[embedding, 1, 1, SHIFTS.len()])?;
        }
        let shift = |(at, part): (usize, &&str)| {
            let rows = |tensor: &str, rows: usize, columns: usize| Linear {
                matrix: Matrix { tensor: tensor.to_owned(), rows: at * rows..(at + 1) * rows, columns, blocks: None },
                bias: None,
            };
            let bias = if self.has(&fused) {
                Vector { tensor: fused.clone(), values: at * embedding..(at + 1) * embedding }
            } else {
                self.vector(&name(&format!("lerp_{part}")), embedding)?
            };
            Ok(LowRankVector { down: rows(&down, rank, embedding), up: rows(&up, embedding, rank), bias })
        };
        SHIFTS.iter().enumerate().map(shift).collect()
    }

    /// The gate of the channel mixing of RWKV 6.
    pub(super) fn output_gate(
        &self,
        index: usize,
        config: DynamicTimeMixConfig,
    ) -> Result<FeedForwardGate, ModelError> {
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.channel_mix_{part}");
        let halved = config.halved_every.is_some_and(|every| (index + 1).is_multiple_of(every));
        Ok(FeedForwardGate {
            token_shift: self.vector(&name("lerp_r.weight"), embedding)?,
            projection: self.linear(&name("receptance"), embedding, embedding, false)?,
            factor: if halved { 0.5 } else { 1.0 },
        })
    }
}
