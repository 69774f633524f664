//! Assembles gated delta nets.

use super::blocks::{DeltaNet, HeadOrder, Linear};
use super::build::Builder;
use super::config::DeltaNetConfig;
use super::error::ModelError;

/// The projections of the input of a gated delta net.
struct Projections {
    query: Linear,
    key: Linear,
    value: Linear,
    gate: Linear,
}

impl Builder<'_> {
    pub(super) fn delta_net(
        &self,
        index: usize,
        config: &DeltaNetConfig,
        order: HeadOrder,
    ) -> Result<DeltaNet, ModelError> {
        let &DeltaNetConfig { kernel, key_heads, heads, length, .. } = config;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let Projections { query, key, value, gate } = self.delta_net_projections(index, config)?;
        let (rate, decay) = self.delta_net_rates(index, config)?;
        let channels = (2 * key_heads + heads) * length;
        Ok(DeltaNet {
            norm: self.residual_norm(&name("attn_norm"))?,
            query,
            key,
            value,
            gate,
            rate,
            decay,
            decay_bias: self.vector(&name("ssm_dt.bias"), heads)?,
            decay_factor: self.vector(&name("ssm_a"), heads)?,
            convolution: self.convolution(&name("ssm_conv1d"), channels, kernel)?,
            epsilon: self.config.epsilon,
            output_norm: self.norm(&name("ssm_norm"), length)?,
            output: self.linear(&name("ssm_out"), embedding, heads * length, false)?,
            heads,
            key_heads,
            order,
            length,
        })
    }

    /// Older files have all four in one tensor, key head by key head.
    fn delta_net_projections(&self, index: usize, config: &DeltaNetConfig) -> Result<Projections, ModelError> {
        let &DeltaNetConfig { key_heads, heads, length, .. } = config;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        if !self.has(&name("attn_qkv.weight")) && self.has(&name("ssm_in.weight")) {
            let values = heads / key_heads * length;
            let lengths = [length, length, values, values];
            let [query, key, value, gate] = self.interleaved(&name("ssm_in"), lengths, key_heads, embedding)?;
            return Ok(Projections { query, key, value, gate });
        }
        let outputs = [key_heads * length, key_heads * length, heads * length];
        let [query, key, value] = self.fused(&name("attn_qkv"), outputs, embedding)?;
        Ok(Projections { query, key, value, gate: self.linear(&name("attn_gate"), outputs[2], embedding, false)? })
    }

    /// The projections to the rate and to the decay.
    fn delta_net_rates(&self, index: usize, config: &DeltaNetConfig) -> Result<(Linear, Linear), ModelError> {
        let &DeltaNetConfig { key_heads, heads, .. } = config;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        if self.has(&name("ssm_ba.weight")) {
            let each = heads / key_heads;
            let [rate, decay] = self.interleaved(&name("ssm_ba"), [each, each], key_heads, embedding)?;
            return Ok((rate, decay));
        }
        let rate = self.linear(&name("ssm_beta"), heads, embedding, false)?;
        Ok((rate, self.linear(&name("ssm_alpha"), heads, embedding, false)?))
    }
}
