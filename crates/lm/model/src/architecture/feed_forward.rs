//! Assembles feed-forward blocks, dense or with experts.

use super::blocks::{
    FeedForward, FeedForwardKind, GatedFeedForward, Linear, Matrix, Norm, Routing, SharedExpert, Vector,
};
use super::build::Builder;
use super::error::ModelError;
use super::experts::Experts;
use super::traits::{HybridTraits, Parallel, SharedExpertTraits};

/// Gate and up projections.
type GateUp = (Linear, Option<Linear>);

impl Builder<'_> {
    /// The feed-forward block of a layer, and whether it is parallel to the mixer.
    pub(super) fn feed_forward(&self, index: usize) -> Result<(FeedForward, bool), ModelError> {
        let (norm, parallel) = self.feed_forward_norm(index)?;
        // No key of Jamba says which layers have experts.
        let has_router =
            self.traits.hybrid != HybridTraits::SelectiveScans || self.has(&format!("blk.{index}.ffn_gate_inp.weight"));
        let experts = self.config.experts.filter(|_| self.config.expert_layers[index] && has_router);
        let mut token_shift = None;
        let kind = match experts {
            None if self.traits.hybrid == (HybridTraits::TimeMixes { channel_mix: true }) => {
                let (network, shift) = self.channel_mix(index)?;
                token_shift = Some(shift);
                FeedForwardKind::Dense(network)
            }
            Some(experts) => self.experts(index, experts)?,
            None => FeedForwardKind::Dense(self.dense(index)?),
        };
        let beside_dense = experts.is_some() && self.traits.shared_expert == SharedExpertTraits::Dense;
        let own = |part: &str| format!("blk.{index}.{part}");
        let block = FeedForward {
            norm: if beside_dense { Some(self.residual_norm(&own("pre_ffw_norm_2"))?) } else { norm },
            experts_norm: if beside_dense {
                Some(self.norm(&own("post_ffw_norm_2"), self.config.embedding)?)
            } else {
                None
            },
            sparsity: self.config.sparsity[index],
            token_shift,
            shared: experts.map(|experts| self.shared_expert(index, experts)).transpose()?.flatten(),
            kind,
            activation: self.config.encoder.activation.unwrap_or(self.traits.activation),
            post_norm: self.post_norm(&own("post_ffw_norm"))?,
        };
        Ok((block, parallel))
    }

    /// The norm of the input, and whether the block is parallel to the mixer.
    fn feed_forward_norm(&self, index: usize) -> Result<(Option<Norm>, bool), ModelError> {
        if !self.traits.pre_norms {
            return Ok((None, false));
        }
        let own = format!("blk.{index}.{}", self.traits.feed_forward_norm);
        if self.traits.parallel == Parallel::WithoutNorm && !self.has(&format!("{own}.weight")) {
            return Ok((Some(self.residual_norm(&format!("blk.{index}.attn_norm"))?), true));
        }
        Ok((Some(self.residual_norm(&own)?), self.config.parallel))
    }

    fn dense(&self, index: usize) -> Result<GatedFeedForward, ModelError> {
        let (embedding, inside) = (self.config.embedding, self.config.feed_forward[index]);
        let name = |part: &str| format!("blk.{index}.{part}");
        let fused = !self.has(&name("ffn_gate.weight"))
            && self
                .file
                .tensor(&name("ffn_up.weight"))
                .is_some_and(|up| up.info().shape().get(1) == Some(&(2 * inside as u64)));
        let (gate, up): GateUp = if !self.traits.gated {
            (self.linear(&name("ffn_up"), inside, embedding, false)?, None)
        } else if fused {
            let [gate, up] = self.fused(&name("ffn_up"), [inside, inside], embedding)?;
            (gate, Some(up))
        } else {
            let gate = self.linear(&name("ffn_gate"), inside, embedding, false)?;
            (gate, Some(self.linear(&name("ffn_up"), inside, embedding, false)?))
        };
        Ok(GatedFeedForward { gate, up, down: self.linear(&name("ffn_down"), embedding, inside, false)? })
    }

    fn shared_expert(&self, index: usize, experts: Experts) -> Result<Option<SharedExpert>, ModelError> {
        let name = |part: &str| format!("blk.{index}.{part}");
        let gated = match self.traits.shared_expert {
            SharedExpertTraits::None => return Ok(None),
            SharedExpertTraits::Plain if !self.has(&name("ffn_up_shexp.weight")) => return Ok(None),
            SharedExpertTraits::Plain => false,
            SharedExpertTraits::Gated => true,
            SharedExpertTraits::Dense => {
                return Ok(Some(SharedExpert {
                    network: self.dense(index)?,
                    norm: Some(self.residual_norm(&name("ffn_norm"))?),
                    post_norm: Some(self.norm(&name("post_ffw_norm_1"), self.config.embedding)?),
                    gate: None,
                }));
            }
        };
        let embedding = self.config.embedding;
        let usual = if gated { self.config.feed_forward[index] } else { experts.feed_forward };
        let inside = experts.shared_feed_forward.unwrap_or(usual);
        let linear = |part: &str, outputs: usize, columns: usize| self.linear(&name(part), outputs, columns, false);
        let up = linear("ffn_up_shexp", inside, embedding)?;
        let (gate, up) =
            if self.traits.gated { (linear("ffn_gate_shexp", inside, embedding)?, Some(up)) } else { (up, None) };
        let network = GatedFeedForward { gate, up, down: linear("ffn_down_shexp", embedding, inside)? };
        let gate = if gated { Some(linear("ffn_gate_inp_shexp", 1, embedding)?) } else { None };
        Ok(Some(SharedExpert { network, norm: None, post_norm: None, gate }))
    }

    fn experts(&self, index: usize, experts: Experts) -> Result<FeedForwardKind, ModelError> {
        let Experts { count, experts_per_token, feed_forward: inside, scores, normalized, scale, groups, .. } = experts;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let bias = name("exp_probs_b.bias");
        let own_norm = self.traits.shared_expert == SharedExpertTraits::Dense;
        let routing = Routing {
            norm: if own_norm { Some(self.router_norm(&name("ffn_gate_inp.scale"))?) } else { None },
            input_scale: if own_norm { 1.0 / (embedding as f32).sqrt() } else { 1.0 },
            experts_per_token,
            scores,
            bias: if self.has(&bias) { Some(self.vector(&bias, count)?) } else { None },
            normalized,
            scale,
            groups,
            weighted_input: self.traits.weighted_input,
        };
        let router = self.linear(&name("ffn_gate_inp"), count, embedding, false)?;
        let fused = name("ffn_gate_up_exps");
        if !self.traits.gated {
            let [gates] = self.stacked(&name("ffn_up_exps"), [inside], embedding, count)?;
            let [downs] = self.stacked(&name("ffn_down_exps"), [embedding], inside, count)?;
            let networks = gates.into_iter().zip(downs);
            let experts = networks.map(|(gate, down)| GatedFeedForward { gate, up: None, down }).collect();
            return Ok(FeedForwardKind::Experts { router, experts, routing });
        }
        let (gates, ups) = if self.has(&format!("{fused}.weight")) {
            let [gates, ups] = self.stacked(&fused, [inside, inside], embedding, count)?;
            (gates, ups)
        } else {
            let [gates] = self.stacked(&name("ffn_gate_exps"), [inside], embedding, count)?;
            let [ups] = self.stacked(&name("ffn_up_exps"), [inside], embedding, count)?;
            (gates, ups)
        };
        let [downs] = self.stacked(&name("ffn_down_exps"), [embedding], inside, count)?;
        let networks = gates.into_iter().zip(ups).zip(downs);
        let experts = networks.map(|((gate, up), down)| GatedFeedForward { gate, up: Some(up), down });
        Ok(FeedForwardKind::Experts { router, experts: experts.collect(), routing })
    }

    /// The norm of the router's input; `weight` is the name of its tensor.
    fn router_norm(&self, weight: &str) -> Result<Norm, ModelError> {
        let epsilon = self.config.epsilon / self.config.residual_scale.powi(2);
        let weight = Some(self.vector(weight, self.config.embedding)?);
        Ok(Norm { kind: self.traits.norm, weight, bias: None, epsilon })
    }

    /// The linear layers of all experts, whose matrices a three-dimensional tensor stacks. Each of
    /// these may consist of several.
    pub(super) fn stacked<const N: usize>(
        &self,
        name: &str,
        outputs: [usize; N],
        columns: usize,
        count: usize,
    ) -> Result<[Vec<Linear>; N], ModelError> {
        let each: usize = outputs.iter().sum();
        let (tensor, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        self.check(&tensor, &[columns, each, count])?;
        let biases = if self.has(&bias) { self.vectors(&bias, each, count)? } else { Vec::new() };
        let mut start = 0;
        Ok(outputs.map(|outputs| {
            let first = start;
            start += outputs;
            let linear = |expert: usize| {
                let rows = expert * each + first..expert * each + first + outputs;
                let matrix = Matrix { tensor: tensor.clone(), rows: rows.clone(), columns, blocks: None };
                let bias = biases.get(expert).map(|bias| Vector { values: rows, ..bias.clone() });
                Linear { matrix, bias }
            };
            (0..count).map(linear).collect()
        }))
    }
}
