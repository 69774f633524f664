//! Short convolutions and state spaces with their weights and recurrent states on a device, and the
//! sizes of all recurrent blocks.

use roci_hal::{BufferDesc, BufferRange};
use roci_kernels::params::{LmGatedRmsNorm, LmShortConv, LmSsmScan};
use roci_lm::architecture::blocks::{GatedConvolution, Mixer, ShortConvolution, StateSize, StateSpace};

use crate::layer::{DeviceLinear, LayerBuilder};
use crate::norms::DeviceNorm;
use crate::{Error, delta_net, dynamic_time_mix, selective_scan, time_mix};

/// A short convolution. Its constants lack those that change per step.
#[derive(Clone)]
pub(crate) struct DeviceConvolution {
    pub(crate) constants: LmShortConv,
    /// Weights, then biases.
    pub(crate) weights: BufferRange,
    /// Recurrent states of all slots: the last inputs.
    pub(crate) windows: BufferRange,
}

/// A short convolution with input and output gates.
#[derive(Clone)]
pub(crate) struct DeviceGatedConvolution {
    pub(crate) norm: DeviceNorm,
    /// Projections to input gates, output gates and values, in this order.
    pub(crate) projections: Vec<DeviceLinear>,
    pub(crate) convolution: DeviceConvolution,
    pub(crate) output: DeviceLinear,
}

/// A selective state space.
#[derive(Clone)]
pub(crate) struct DeviceStateSpace {
    pub(crate) norm: DeviceNorm,
    /// Projections to output gates, convolution channels and steps, in this order.
    pub(crate) projections: Vec<DeviceLinear>,
    pub(crate) convolution: DeviceConvolution,
    /// Constants of the scan, without those that change per step.
    pub(crate) scan: LmSsmScan,
    /// Step bias of each head, then decay factors, then skip factors.
    pub(crate) heads: BufferRange,
    /// Constants of the gate and the output norm, without those that change per step.
    pub(crate) output_norm: LmGatedRmsNorm,
    pub(crate) output_norm_weight: Option<BufferRange>,
    pub(crate) output: DeviceLinear,
    /// Recurrent states of all slots. A state has a matrix for each head.
    pub(crate) states: BufferRange,
}

/// Columns of the intermediate results of a recurrent block; 0 for attention.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecurrentColumns {
    /// Projections of the input.
    pub(crate) projected: usize,
    /// Results of the convolution.
    pub(crate) convolved: usize,
    /// Results of the recurrence.
    pub(crate) values: usize,
    /// Rank of low-rank projections.
    pub(crate) low_rank: usize,
    /// Number of planes of convolved rows and of low-rank vectors.
    pub(crate) planes: usize,
}

impl RecurrentColumns {
    pub(crate) fn of(mixer: &Mixer) -> Self {
        let convolved = mixer.convolution().map_or(0, ShortConvolution::channels);
        match mixer {
            Mixer::Attention(_) => Self::default(),
            Mixer::TimeMix(block) => Self {
                projected: time_mix::projected_columns(block.values()),
                convolved: block.values(),
                // The values read from the states, and the bonus.
                values: 2 * block.values(),
                low_rank: time_mix::low_rank_columns(block),
                planes: time_mix::PLANES,
            },
            Mixer::DynamicTimeMix(block) => Self {
                projected: time_mix::projected_columns(block.values()),
                convolved: block.values(),
                values: block.values(),
                low_rank: dynamic_time_mix::low_rank_columns(block),
                planes: time_mix::PLANES,
            },
            Mixer::DeltaNet(block) => Self {
                projected: delta_net::projected_columns(block),
                convolved,
                values: block.heads * block.length,
                ..Self::default()
            },
            Mixer::SelectiveScan(block) => {
                let projected = selective_scan::projected_columns(block);
                let low_rank = block.step_down.matrix.outputs();
                Self { projected, convolved, values: block.values(), low_rank, ..Self::default() }
            }
            Mixer::GatedConvolution(_) => Self { projected: 3 * convolved, convolved, ..Self::default() },
            Mixer::StateSpace(block) => Self {
                projected: block.values() + convolved + block.heads,
                convolved,
                values: block.values(),
                ..Self::default()
            },
        }
    }
}

/// Bytes per slot: inputs of the convolution, and matrices of the heads.
pub(crate) fn state_bytes(size: StateSize) -> [u64; 2] {
    [size.window, size.matrices].map(|floats| 4 * floats as u64)
}

/// Refuses sizes that the kernels do not support.
pub(crate) fn check(mixer: &Mixer) -> Result<(), Error> {
    match mixer {
        Mixer::Attention(_) | Mixer::GatedConvolution(_) => Ok(()),
        Mixer::TimeMix(block) => time_mix::check(block.length),
        Mixer::DynamicTimeMix(block) => time_mix::check(block.length),
        Mixer::DeltaNet(block) => delta_net::check(block),
        Mixer::SelectiveScan(block) => selective_scan::check(block),
        Mixer::StateSpace(block) => {
            let longest = LmSsmScan::LONGEST as usize;
            if block.state.is_multiple_of(4) && block.state <= longest && block.values().is_multiple_of(4) {
                return Ok(());
            }
            Err(Error::file(format!(
                "state spaces of {} values with vectors of {} elements are not supported, only multiples of 4, and vectors up to {longest}",
                block.values(),
                block.state
            )))
        }
    }
}

impl LayerBuilder<'_> {
    /// Memory for the recurrent states of all slots: of the convolution, and of the heads.
    pub(crate) fn states(&self, mixer: &Mixer) -> Result<[BufferRange; 2], Error> {
        let size = match mixer {
            // Feed-forward has its own window.
            Mixer::TimeMix(block) => StateSize { window: block.values(), ..mixer.state() },
            Mixer::DynamicTimeMix(block) => StateSize { window: block.values(), ..mixer.state() },
            _ => mixer.state(),
        };
        let [windows, states] = state_bytes(size).map(|bytes| self.state_buffer(bytes));
        Ok([windows?, states?])
    }

    /// Memory for this many bytes of all slots.
    pub(crate) fn state_buffer(&self, bytes: u64) -> Result<BufferRange, Error> {
        let bytes = (bytes * self.options.state_slots as u64).max(16).next_multiple_of(16);
        Ok(self.loader.device.allocate(BufferDesc::device(bytes).label("recurrent states"))?.whole())
    }

    /// Uploads a short convolution. `flags` are the flags of [`LmShortConv`] without the bias flag.
    pub(crate) fn short_convolution(
        &self,
        block: &ShortConvolution,
        windows: BufferRange,
        flags: u32,
    ) -> Result<DeviceConvolution, Error> {
        let bias = if block.bias.is_some() { LmShortConv::BIAS } else { 0 };
        Ok(DeviceConvolution {
            constants: LmShortConv {
                channels: block.channels() as u32,
                taps: block.taps() as u32,
                flags: flags | bias,
                copies: 1,
                ..LmShortConv::default()
            },
            weights: self.loader.convolution(block)?,
            windows,
        })
    }

    pub(crate) fn gated_convolution(
        &self,
        block: &GatedConvolution,
        [windows, _]: [BufferRange; 2],
    ) -> Result<DeviceGatedConvolution, Error> {
        let mut convolution = self.short_convolution(&block.convolution, windows, LmShortConv::GATED)?;
        let channels = convolution.constants.channels;
        convolution.constants.output_gates_offset = channels;
        convolution.constants.x_offset = 2 * channels;
        Ok(DeviceGatedConvolution {
            norm: self.norm(&block.norm, block.output.matrix.outputs())?,
            projections: self.exact_concatenated(&[&block.input_gate, &block.output_gate, &block.value])?,
            convolution,
            output: self.linear(&block.output, 0)?,
        })
    }

    pub(crate) fn state_space(
        &self,
        block: &StateSpace,
        [windows, states]: [BufferRange; 2],
    ) -> Result<DeviceStateSpace, Error> {
        let count = |value: usize| value as u32;
        let mut convolution = self.short_convolution(&block.convolution, windows, LmShortConv::SILU)?;
        convolution.constants.x_offset = count(block.values());
        let per_head = [&block.step_bias, &block.decay, &block.skip].map(|vector| (Some(vector), block.heads));
        let norm_flags = match &block.output_norm {
            Some(_) => LmGatedRmsNorm::GATE_FIRST | LmGatedRmsNorm::EACH_HEAD,
            None => LmGatedRmsNorm::UNNORMED,
        };
        let weight = block.output_norm.as_ref().map(|norm| (Some(&norm.weight), block.values()));
        Ok(DeviceStateSpace {
            norm: self.norm(&block.norm, block.output.matrix.outputs())?,
            projections: self.exact_concatenated(&[&block.gate, &block.channels, &block.step])?,
            scan: LmSsmScan {
                heads: count(block.heads),
                groups: count(block.groups),
                length: count(block.length),
                state: count(block.state),
                lanes: LmSsmScan::lanes(count(block.state)),
                steps_offset: count(block.values()) + convolution.constants.channels,
                ..LmSsmScan::default()
            },
            convolution,
            heads: self.loader.vectors(&per_head)?,
            output_norm: LmGatedRmsNorm {
                heads: count(block.groups),
                length: count(block.values() / block.groups),
                epsilon: block.output_norm.as_ref().map_or(0.0, |norm| norm.epsilon),
                flags: norm_flags,
                ..LmGatedRmsNorm::default()
            },
            output_norm_weight: weight.map(|weight| self.loader.vectors(&[weight])).transpose()?,
            output: self.linear(&block.output, 0)?,
            states,
        })
    }
}
