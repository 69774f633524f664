//! Multi-head latent attention: its hyperparameters, and its blocks.

use super::blocks::{Attention, ExpertScores, Latent, Linear, LowRankQuery, Matrix};
use super::build::Builder;
use super::error::ModelError;
use super::experts::Experts;
use super::keys::{Keys, MAX_LENGTH};
use super::rope::{RopeConfig, Scaling};
use super::traits::ArchitectureTraits;

/// Hyperparameters of multi-head latent attention.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LatentConfig {
    /// Length of the vector that queries are computed from, if it is not the input.
    pub query_rank: Option<usize>,
    /// Length of the latent.
    pub rank: usize,
    /// Length of a projected query head.
    pub query_length: usize,
    /// Length of the output of a head.
    pub output_length: usize,
    /// Growth of the attention scores per natural logarithm of YaRN's factor, in units of 0.1.
    score_growth: f32,
}

impl LatentConfig {
    /// `lengths` are those of key and value heads. Newer files have them for the cached latent, and
    /// keys of their own for the heads; older files have only those of the heads.
    pub(super) fn read(
        keys: &Keys<'_>,
        traits: &ArchitectureTraits,
        lengths: (usize, usize),
    ) -> Result<Option<Self>, ModelError> {
        if !traits.latent {
            return Ok(None);
        }
        // 0 stands for none.
        let query_rank = keys.integer("attention.q_lora_rank")?.filter(|rank| *rank != 0);
        let query_rank = match query_rank {
            Some(_) => keys.count("attention.q_lora_rank", MAX_LENGTH)?,
            None => None,
        };
        let query = keys.count("attention.key_length_mla", MAX_LENGTH)?;
        let output = keys.count("attention.value_length_mla", MAX_LENGTH)?;
        let (query_length, output_length) = match (query, output) {
            (Some(query), Some(output)) => (query, output),
            (None, None) => lengths,
            _ => {
                let reason = "`key_length_mla` and `value_length_mla` belong together".to_owned();
                return Err(ModelError::config(keys.key("attention.key_length_mla"), reason));
            }
        };
        let rank = keys.needed("attention.kv_lora_rank", MAX_LENGTH)?;
        // Converters write 0.1 times the number that the model's configuration has.
        let score_growth = keys.float("rope.scaling.yarn_log_multiplier")?.unwrap_or(0.0) / 0.1;
        Ok(Some(Self { query_rank, rank, query_length, output_length, score_growth }))
    }

    /// Checks that heads have a part without position embedding.
    pub(super) fn check(&self, keys: &Keys<'_>, rope: &RopeConfig) -> Result<(), ModelError> {
        if rope.dimensions < self.query_length {
            return Ok(());
        }
        let reason = format!("{} rotated values are out of range: 2 to {}", rope.dimensions, self.query_length - 1);
        Err(ModelError::config(keys.key("rope.dimension_count"), reason))
    }

    /// Factor of the attention scores. YaRN increases it, in contrast to that of the rotated values,
    /// which are a part of the head.
    pub(super) fn scale(&self, rope: &RopeConfig) -> f32 {
        let growth = |multiplier: f32, factor: f32| 1.0 + 0.1 * f64::from(multiplier) * f64::from(factor).ln();
        let factor = f64::from(rope.attention_factor);
        let growth = match rope.scaling {
            Scaling::None | Scaling::Long => factor,
            Scaling::Linear { factor: by } => factor * growth(1.0, by),
            Scaling::Yarn { factor: by, .. } if self.score_growth == 0.0 => factor * growth(1.0, by.max(1.0)),
            Scaling::Yarn { factor: by, .. } => factor * growth(self.score_growth, by),
        };
        (growth * growth / (self.query_length as f64).sqrt()) as f32
    }
}

/// How scores of experts become weights in files that do not say: those of GLM-4.7-Flash, which
/// older converters wrote, are known by their sizes.
pub(super) fn undeclared_scores(
    keys: &Keys<'_>,
    traits: &ArchitectureTraits,
    layers: usize,
    vocabulary: usize,
    experts: Experts,
) -> Result<Experts, ModelError> {
    let is_declared = keys.integer("expert_gating_func")?.unwrap_or(0) != 0;
    let is_flash = traits.latent && matches!(layers, 47 | 48) && vocabulary == 154_880;
    Ok(if is_flash && !is_declared { Experts { scores: ExpertScores::Sigmoid, ..experts } } else { experts })
}

impl Builder<'_> {
    /// An attention block's projections to queries, to the rotated part of keys and to the latent,
    /// and those that follow.
    pub(super) fn latent(&self, index: usize, config: LatentConfig) -> Result<([Linear; 3], Latent), ModelError> {
        let LatentConfig { query_rank, rank, query_length, output_length, .. } = config;
        let (embedding, heads, rope) = (self.config.embedding, self.config.heads[index], self.config.rope.dimensions);
        let name = |part: &str| format!("blk.{index}.{part}");
        let plain = query_length - rope;
        let queries = heads * query_length;
        let (low_rank, query) = match query_rank {
            None => (None, self.linear(&name("attn_q"), queries, embedding, false)?),
            Some(rank) => {
                let projection = self.linear(&name("attn_q_a"), rank, embedding, false)?;
                let norm = self.norm(&name("attn_q_a_norm"), rank)?;
                (Some(LowRankQuery { projection, norm }), self.linear(&name("attn_q_b"), queries, rank, false)?)
            }
        };
        let [latent, rotated] = self.fused(&name("attn_kv_a_mqa"), [rank, rope], embedding)?;
        let older = name("attn_kv_b");
        let is_older = self.has(&format!("{older}.weight"));
        let (keys, values) = if is_older {
            self.older_heads(&older, [plain, output_length], rank, heads)?
        } else {
            let [keys] = self.stacked(&name("attn_k_b"), [rank], plain, heads)?;
            let [values] = self.stacked(&name("attn_v_b"), [output_length], rank, heads)?;
            (keys, values)
        };
        let block = Latent {
            low_rank,
            norm: self.norm(&name("attn_kv_a_norm"), rank)?,
            keys,
            transposed_keys: is_older,
            values,
            query_length,
            output_length,
        };
        Ok(([query, rotated, latent], block))
    }

    /// The projections of each head in a matrix that has those of keys and of values of a head, one
    /// head after the other.
    fn older_heads(
        &self,
        name: &str,
        [plain, output]: [usize; 2],
        rank: usize,
        heads: usize,
    ) -> Result<(Vec<Linear>, Vec<Linear>), ModelError> {
        let whole = self.linear(name, heads * (plain + output), rank, false)?;
        let part = |head: usize, from: usize, length: usize| {
            let start = head * (plain + output) + from;
            Linear { matrix: Matrix { rows: start..start + length, ..whole.matrix.clone() }, bias: None }
        };
        let keys = (0..heads).map(|head| part(head, 0, plain)).collect();
        Ok((keys, (0..heads).map(|head| part(head, plain, output)).collect()))
    }
}

impl Attention {
    /// Length of the rotated part of a cached key, which comes first, in blocks with a latent.
    pub fn rotated_length(&self) -> usize {
        self.key_length - self.value_length.min(self.key_length)
    }
}
