//! Gated delta nets with their weights and recurrent states on a device.

use roci_hal::BufferRange;
use roci_kernels::params::{LmDeltaRule, LmGatedRmsNorm, LmShortConv};
use roci_lm::architecture::blocks::{DeltaNet, HeadOrder};

use crate::Error;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::norms::DeviceNorm;
use crate::recurrent::DeviceConvolution;

/// A gated delta net.
#[derive(Clone)]
pub(crate) struct DeviceDeltaNet {
    pub(crate) norm: DeviceNorm,
    /// Projections to queries, keys, values, output gates, rate scores and decay scores; one
    /// product if their types are the same.
    pub(crate) projections: Vec<DeviceLinear>,
    pub(crate) convolution: DeviceConvolution,
    /// Constants of the recurrence, without those that change per step.
    pub(crate) rule: LmDeltaRule,
    /// Bias of each head's decay score, then the factors.
    pub(crate) decays: BufferRange,
    /// Constants of the output norm, without those that change per step.
    pub(crate) output_norm: LmGatedRmsNorm,
    pub(crate) output_norm_weight: BufferRange,
    pub(crate) output: DeviceLinear,
    /// Recurrent states of all slots. A state has a matrix for each head.
    pub(crate) states: BufferRange,
}

/// Columns of the projections of a gated delta net.
pub(crate) fn projected_columns(block: &DeltaNet) -> usize {
    block.convolution.channels() + block.heads * (block.length + 2)
}

/// Refuses sizes that the kernels do not support.
pub(crate) fn check(block: &DeltaNet) -> Result<(), Error> {
    let longest = LmDeltaRule::LONGEST as usize;
    if block.length.is_multiple_of(4) && block.length <= longest {
        return Ok(());
    }
    Err(Error::file(format!(
        "heads of {} elements in gated delta nets are not supported, only multiples of 4 up to {longest}",
        block.length
    )))
}

impl LayerBuilder<'_> {
    pub(crate) fn delta_net(
        &self,
        block: &DeltaNet,
        [windows, states]: [BufferRange; 2],
    ) -> Result<DeviceDeltaNet, Error> {
        let linears = [&block.query, &block.key, &block.value, &block.gate, &block.rate, &block.decay];
        let channels = block.convolution.channels();
        let rates_offset = channels + block.heads * block.length;
        let count = |value: usize| value as u32;
        Ok(DeviceDeltaNet {
            norm: self.norm(&block.norm, block.output.matrix.outputs())?,
            projections: self.exact_concatenated(&linears)?,
            convolution: self.short_convolution(&block.convolution, windows, LmShortConv::SILU)?,
            rule: LmDeltaRule {
                heads: count(block.heads),
                key_heads: count(block.key_heads),
                length: count(block.length),
                tiled: u32::from(block.order == HeadOrder::Tiled),
                lanes: LmDeltaRule::lanes(count(block.length)),
                rates_offset: count(rates_offset),
                decays_offset: count(rates_offset + block.heads),
                epsilon: block.epsilon,
                scale: 1.0 / (block.length as f32).sqrt(),
                ..LmDeltaRule::default()
            },
            decays: self
                .loader
                .vectors(&[(Some(&block.decay_bias), block.heads), (Some(&block.decay_factor), block.heads)])?,
            output_norm: LmGatedRmsNorm {
                heads: count(block.heads),
                length: count(block.length),
                gates_offset: count(channels),
                epsilon: block.output_norm.epsilon,
                ..LmGatedRmsNorm::default()
            },
            output_norm_weight: self.norm(&block.output_norm, block.length)?.weight,
            output: self.linear(&block.output, 0)?,
            states,
        })
    }
}
