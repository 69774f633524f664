//! Layers with a recurrent block or without some block: their kinds, sizes and assembly.

use super::blocks::{
    GatedConvolution, Mixer, Norm, SelectiveScan, ShortConvolution, StateSpace, StateSpaceNorm, Vector,
};
use super::build::Builder;
use super::error::ModelError;
use super::keys::{Keys, MAX_HEADS, MAX_KERNEL, MAX_LENGTH};
use super::time_mix::TimeMixConfig;
use super::traits::{ArchitectureTraits, HybridTraits};

/// The blocks of a layer. Gated delta nets count as attention here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerBlocks {
    /// Attention.
    pub attention: bool,
    /// A short convolution or a state space.
    pub recurrent: bool,
    /// Feed-forward.
    pub feed_forward: bool,
}

/// Sizes of recurrent blocks other than gated delta nets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecurrentConfig {
    /// Short convolutions between gates.
    GatedConvolution {
        /// Tokens that the convolution reads, including the current one.
        kernel: usize,
    },
    /// Selective state spaces.
    StateSpace(StateSpaceConfig),
    /// Selective scans.
    SelectiveScan(SelectiveScanConfig),
    /// Time mixing.
    TimeMix(TimeMixConfig),
}

/// Sizes of selective scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectiveScanConfig {
    /// Tokens that the convolution reads, including the current one.
    pub kernel: usize,
    /// Channels.
    pub values: usize,
    /// Values from which the steps are computed.
    pub rank: usize,
    /// Length of the input and output vectors.
    pub state: usize,
    /// Whether these values and vectors have norms without weights. Others have norms if the file
    /// has their weights.
    pub normed: bool,
}

/// Sizes of selective state spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateSpaceConfig {
    /// Tokens that the convolution reads, including the current one.
    pub kernel: usize,
    /// Heads.
    pub heads: usize,
    /// Groups of consecutive heads that share input and output vectors.
    pub groups: usize,
    /// Values of a head.
    pub length: usize,
    /// Length of the input and output vectors.
    pub state: usize,
}

impl LayerBlocks {
    /// The blocks of each layer, derived from its numbers of key and value heads and its
    /// feed-forward lengths.
    pub(super) fn all(traits: &ArchitectureTraits, kv_heads: &[usize], feed_forward: &[usize]) -> Vec<Self> {
        let of = |(&kv_heads, &length): (&usize, &usize)| match traits.hybrid {
            HybridTraits::None => Self { attention: true, recurrent: false, feed_forward: true },
            HybridTraits::GatedConvolutions | HybridTraits::StateSpaces | HybridTraits::SelectiveScans => {
                Self { attention: kv_heads > 0, recurrent: kv_heads == 0, feed_forward: true }
            }
            HybridTraits::SingleBlocks => Self {
                attention: length == 0 && kv_heads > 0,
                recurrent: length == 0 && kv_heads == 0,
                feed_forward: length > 0,
            },
            HybridTraits::OnlyStateSpaces | HybridTraits::OnlySelectiveScans => {
                Self { attention: false, recurrent: true, feed_forward: false }
            }
            HybridTraits::TimeMixes { .. } => Self { attention: false, recurrent: true, feed_forward: true },
            HybridTraits::Beside => Self { attention: true, recurrent: true, feed_forward: true },
        };
        kv_heads.iter().zip(feed_forward).map(of).collect()
    }
}

impl RecurrentConfig {
    pub(super) fn read(keys: &Keys<'_>, traits: &ArchitectureTraits) -> Result<Option<Self>, ModelError> {
        Ok(match traits.hybrid {
            HybridTraits::None => None,
            HybridTraits::GatedConvolutions => {
                let kernel = keys.needed("shortconv.l_cache", MAX_KERNEL)?;
                if kernel == 1 {
                    let reason = format!("1 is out of range: 2 to {MAX_KERNEL}");
                    return Err(ModelError::config(keys.key("shortconv.l_cache"), reason));
                }
                Some(Self::GatedConvolution { kernel })
            }
            HybridTraits::StateSpaces
            | HybridTraits::SingleBlocks
            | HybridTraits::OnlyStateSpaces
            | HybridTraits::Beside => Some(Self::StateSpace(StateSpaceConfig::read(keys)?)),
            HybridTraits::TimeMixes { .. } => Some(Self::TimeMix(TimeMixConfig::read(keys, traits)?)),
            HybridTraits::SelectiveScans | HybridTraits::OnlySelectiveScans => {
                Some(Self::SelectiveScan(SelectiveScanConfig {
                    kernel: keys.needed("ssm.conv_kernel", MAX_KERNEL)?,
                    values: keys.needed("ssm.inner_size", MAX_LENGTH)?,
                    rank: keys.needed("ssm.time_step_rank", MAX_LENGTH)?,
                    state: keys.needed("ssm.state_size", MAX_LENGTH)?,
                    normed: keys.flag("ssm.dt_b_c_rms")?.unwrap_or(false),
                }))
            }
        })
    }
}

impl StateSpaceConfig {
    fn read(keys: &Keys<'_>) -> Result<Self, ModelError> {
        let heads = keys.needed("ssm.time_step_rank", MAX_HEADS)?;
        let groups = keys.needed("ssm.group_count", MAX_HEADS)?;
        let values = keys.needed("ssm.inner_size", MAX_LENGTH)?;
        if !heads.is_multiple_of(groups) {
            let reason = format!("{heads} heads are not a multiple of {groups} groups");
            return Err(ModelError::config(keys.key("ssm.group_count"), reason));
        }
        if !values.is_multiple_of(heads) {
            let reason = format!("{values} is not a multiple of {heads} heads");
            return Err(ModelError::config(keys.key("ssm.inner_size"), reason));
        }
        Ok(Self {
            kernel: keys.needed("ssm.conv_kernel", MAX_KERNEL)?,
            heads,
            groups,
            length: values / heads,
            state: keys.needed("ssm.state_size", MAX_LENGTH)?,
        })
    }
}

impl Builder<'_> {
    /// The recurrent block of a layer.
    pub(super) fn recurrent(&self, index: usize, config: RecurrentConfig) -> Result<Mixer, ModelError> {
        match config {
            RecurrentConfig::GatedConvolution { kernel } => {
                self.gated_convolution(index, kernel).map(Mixer::GatedConvolution)
            }
            RecurrentConfig::StateSpace(config) => self.state_space(index, config).map(Mixer::StateSpace),
            RecurrentConfig::SelectiveScan(config) => self.selective_scan(index, config).map(Mixer::SelectiveScan),
            RecurrentConfig::TimeMix(config) => self.time_mix(index, config),
        }
    }

    fn gated_convolution(&self, index: usize, kernel: usize) -> Result<GatedConvolution, ModelError> {
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let [input_gate, output_gate, value] =
            self.fused(&name("shortconv.in_proj"), [embedding, embedding, embedding], embedding)?;
        Ok(GatedConvolution {
            norm: self.residual_norm(&name("attn_norm"))?,
            input_gate,
            output_gate,
            value,
            convolution: self.convolution(&name("shortconv.conv"), embedding, kernel)?,
            output: self.linear(&name("shortconv.out_proj"), embedding, embedding, false)?,
        })
    }

    fn state_space(&self, index: usize, config: StateSpaceConfig) -> Result<StateSpace, ModelError> {
        let StateSpaceConfig { kernel, heads, groups, length, state } = config;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let values = heads * length;
        let channels = values + 2 * groups * state;
        let [gate, mixed, step] = self.fused(&name("ssm_in"), [values, channels, heads], embedding)?;
        let norm = name("ssm_norm.weight");
        let output_norm = if self.has(&norm) {
            self.vectors(&norm, values / groups, groups)?;
            let weight = Vector { tensor: norm, values: 0..values };
            Some(StateSpaceNorm { weight, epsilon: self.config.epsilon })
        } else {
            None
        };
        let per_head = |part: &str| -> Result<Vector, ModelError> {
            let tensor = name(part);
            self.vectors(&tensor, 1, heads)?;
            Ok(Vector { tensor, values: 0..heads })
        };
        Ok(StateSpace {
            norm: self.residual_norm(&name("attn_norm"))?,
            gate,
            channels: mixed,
            step,
            step_bias: self.vector(&name("ssm_dt.bias"), heads)?,
            decay: per_head("ssm_a")?,
            skip: per_head("ssm_d")?,
            convolution: self.convolution(&name("ssm_conv1d"), channels, kernel)?,
            output_norm,
            output: self.linear(&name("ssm_out"), embedding, values, false)?,
            heads,
            groups,
            length,
            state,
        })
    }

    fn selective_scan(&self, index: usize, config: SelectiveScanConfig) -> Result<SelectiveScan, ModelError> {
        let SelectiveScanConfig { kernel, values, rank, state, normed } = config;
        let embedding = self.config.embedding;
        let name = |part: &str| format!("blk.{index}.{part}");
        let [channels, gate] = self.fused(&name("ssm_in"), [values, values], embedding)?;
        let [step_down, input, readout] = self.fused(&name("ssm_x"), [rank, state, state], values)?;
        let parts = [("ssm_dt_norm", rank), ("ssm_b_norm", state), ("ssm_c_norm", state)];
        let norms = if self.has(&name("ssm_dt_norm.weight")) {
            let [step, input, readout] = parts.map(|(part, length)| self.norm(&name(part), length));
            Some([step?, input?, readout?])
        } else {
            let norm = Norm { kind: self.traits.norm, weight: None, bias: None, epsilon: self.config.epsilon };
            normed.then(|| [norm.clone(), norm.clone(), norm])
        };
        self.vectors(&name("ssm_a"), state, values)?;
        Ok(SelectiveScan {
            norm: self.residual_norm(&name("attn_norm"))?,
            channels,
            gate,
            convolution: self.convolution(&name("ssm_conv1d"), values, kernel)?,
            step_down,
            input,
            readout,
            norms,
            step: self.linear(&name("ssm_dt"), values, rank, true)?,
            decay: Vector { tensor: name("ssm_a"), values: 0..state * values },
            skip: self.vector(&name("ssm_d"), values)?,
            output: self.linear(&name("ssm_out"), embedding, values, false)?,
            state,
        })
    }

    /// A short convolution. Its bias is optional.
    pub(super) fn convolution(
        &self,
        name: &str,
        channels: usize,
        kernel: usize,
    ) -> Result<ShortConvolution, ModelError> {
        let bias = format!("{name}.bias");
        Ok(ShortConvolution {
            weight: self.matrix(&format!("{name}.weight"), channels, kernel)?,
            bias: if self.has(&bias) { Some(self.vector(&bias, channels)?) } else { None },
        })
    }
}
