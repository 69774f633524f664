//! Time mixing of RWKV with its weights and recurrent states on a device, and token shifts.

use roci_hal::BufferRange;
use roci_kernels::params::{LmGatedRmsNorm, LmGlu, LmShortConv, LmWkv};
use roci_lm::architecture::blocks::{FeedForwardGate, Linear, LowRankVector, TimeMix, Vector};

use crate::Error;
use crate::layer::{DeviceLinear, LayerBuilder};
use crate::norms::DeviceNorm;
use crate::recurrent::DeviceConvolution;

/// Exponent of the decay in the limit of a large score: `-1 / √e`, as in llama.cpp.
const DECAY: f32 = -0.606_531;
/// Minimum of the norm of a removal key.
pub(crate) const EPSILON: f32 = 1e-12;

/// Inputs with their own token shifts, each a plane of a buffer. In RWKV 6, the last one is the
/// input from which the others are computed.
pub(crate) const PLANES: usize = 6;
/// Low-rank planes: one for each input, then as many after an activation.
pub(crate) const LOW_RANK_PLANES: usize = 2 * PLANES;

/// Columns of the projections, in units of the embedding length. The first layer writes its values
/// where all later layers read them.
#[derive(Clone, Copy)]
pub(crate) enum Column {
    Receptance,
    Key,
    Value,
    Decay,
    Rate,
    ValueMix,
    FirstValue,
    Gate,
}

/// Columns of the projections of a token.
pub(crate) fn projected_columns(values: usize) -> usize {
    (Column::Gate as usize + 1) * values
}

/// Maximum rank of the low-rank projections.
pub(crate) fn low_rank_columns(block: &TimeMix) -> usize {
    let gate = block.gate.iter().map(|[down, _]| down);
    let vectors = [&block.decay, &block.rate, &block.value_mix].map(|vector| &vector.down);
    gate.chain(vectors).map(|linear| linear.matrix.outputs()).max().unwrap_or(0)
}

/// A vector that two low-rank projections compute from a token's input.
#[derive(Clone)]
pub(crate) struct DeviceLowRankVector {
    pub(crate) down: DeviceLinear,
    pub(crate) up: DeviceLinear,
    /// Constants of the activation between them, without those of a step.
    pub(crate) activation: Option<LmGlu>,
}

/// The projections of an input with its own token shift.
#[derive(Clone, Default)]
pub(crate) struct ShiftedProjections {
    pub(crate) linear: Option<DeviceLinear>,
    pub(crate) low_rank: Option<DeviceLowRankVector>,
}

/// Time mixing.
#[derive(Clone)]
pub(crate) struct DeviceTimeMix {
    pub(crate) norm: DeviceNorm,
    /// Token shifts, whose results are planes.
    pub(crate) shifts: DeviceConvolution,
    /// Projections of the shifted input to the factors of the token shifts of all planes, in RWKV
    /// 6.
    pub(crate) dynamic_shifts: Vec<DeviceLowRankVector>,
    /// The projections of each plane.
    pub(crate) projections: Vec<ShiftedProjections>,
    /// Constants of the recurrence, without those of a step.
    pub(crate) wkv: LmWkv,
    /// Factors of removal keys, factors of rates in keys, and factors of the bonus.
    pub(crate) vectors: BufferRange,
    /// Constants of the output norm and the gate, without those of a step.
    pub(crate) output_norm: LmGatedRmsNorm,
    pub(crate) output_norm_weight: Option<BufferRange>,
    pub(crate) output: DeviceLinear,
    /// Recurrent states of all slots. A state has a matrix for each head.
    pub(crate) states: BufferRange,
}

/// Refuses lengths of heads that the kernels do not support.
pub(crate) fn check(length: usize) -> Result<(), Error> {
    let longest = LmWkv::LONGEST as usize;
    if length.is_multiple_of(4) && length <= longest {
        return Ok(());
    }
    Err(Error::file(format!(
        "heads of {length} elements in time mixing are not supported, only multiples of 4 up to {longest}"
    )))
}

impl LayerBuilder<'_> {
    /// `is_first` is for the first layer of the model.
    pub(crate) fn time_mix(
        &self,
        block: &TimeMix,
        is_first: bool,
        [windows, states]: [BufferRange; 2],
    ) -> Result<DeviceTimeMix, Error> {
        let values = block.values();
        let column = |column: Column| column as usize * values;
        let count = |column: Column| (column as usize * values) as u32;
        let linear = |linear: &Linear, to: Column| self.exact_linear(linear, column(to)).map(Some);
        let low_rank = |vector: &LowRankVector, to: Column, activation: Option<u32>| {
            self.biased_vector(vector, column(to), activation).map(Some)
        };
        let value = if is_first { Column::FirstValue } else { Column::Value };
        let value_mix = if is_first { None } else { low_rank(&block.value_mix, Column::ValueMix, None)? };
        let gate = match &block.gate {
            Some([down, up]) => Some(self.low_rank_vector(down, up, column(Column::Gate), Some(LmGlu::SIGMOID))?),
            None => None,
        };
        let plain = |linear: Option<DeviceLinear>| ShiftedProjections { linear, low_rank: None };
        let only = |low_rank: Option<DeviceLowRankVector>| ShiftedProjections { linear: None, low_rank };
        let projections = vec![
            plain(linear(&block.receptance, Column::Receptance)?),
            only(low_rank(&block.decay, Column::Decay, Some(LmGlu::TANH))?),
            plain(linear(&block.key, Column::Key)?),
            ShiftedProjections { linear: linear(&block.value, value)?, low_rank: value_mix },
            only(low_rank(&block.rate, Column::Rate, None)?),
            only(gate),
        ];
        let vectors = [&block.key_scale, &block.key_rate, &block.bonus].map(|vector| (Some(vector), values));
        let norm_flags = match &block.output_norm {
            Some(norm) if norm.bias.is_some() => LmGatedRmsNorm::BIAS | LmGatedRmsNorm::CENTERED,
            Some(_) => LmGatedRmsNorm::CENTERED,
            None => LmGatedRmsNorm::UNNORMED,
        };
        let gate_flag = if block.gate.is_some() { LmGatedRmsNorm::LINEAR } else { LmGatedRmsNorm::UNGATED };
        let output_norm = block.output_norm.as_ref();
        Ok(DeviceTimeMix {
            norm: self.norm(&block.norm, values)?,
            shifts: self.token_shifts(&block.shifts.iter().take(PLANES).collect::<Vec<_>>(), windows)?,
            dynamic_shifts: Vec::new(),
            projections,
            wkv: LmWkv {
                heads: block.heads as u32,
                key_heads: block.heads as u32,
                length: block.length as u32,
                lanes: LmWkv::lanes(block.length as u32),
                kind: LmWkv::WKV7,
                keys_offset: count(Column::Key),
                values_offset: count(value),
                decays_offset: count(Column::Decay),
                rates_offset: count(Column::Rate),
                mix_offset: if is_first { 0 } else { count(Column::ValueMix) },
                decay: DECAY,
                epsilon: EPSILON,
                scale: 1.0,
                ..LmWkv::default()
            },
            vectors: self.loader.vectors(&vectors)?,
            output_norm: LmGatedRmsNorm {
                heads: block.heads as u32,
                length: block.length as u32,
                gates_offset: count(Column::Gate),
                epsilon: output_norm.map_or(0.0, |norm| norm.epsilon),
                flags: LmGatedRmsNorm::EACH_HEAD | LmGatedRmsNorm::ADDEND | norm_flags | gate_flag,
                ..LmGatedRmsNorm::default()
            },
            output_norm_weight: output_norm.map(|norm| self.norm(norm, values)).transpose()?.map(|norm| norm.weight),
            output: self.linear(&block.output, 0)?,
            states,
        })
    }

    /// A vector and its bias.
    pub(crate) fn biased_vector(
        &self,
        vector: &LowRankVector,
        offset: usize,
        activation: Option<u32>,
    ) -> Result<DeviceLowRankVector, Error> {
        let mut up = vector.up.clone();
        up.bias = Some(vector.bias.clone());
        self.low_rank_vector(&vector.down, &up, offset, activation)
    }

    pub(crate) fn low_rank_vector(
        &self,
        down: &Linear,
        up: &Linear,
        offset: usize,
        activation: Option<u32>,
    ) -> Result<DeviceLowRankVector, Error> {
        let width = down.matrix.outputs() as u32;
        Ok(DeviceLowRankVector {
            down: self.exact_linear(down, 0)?,
            up: self.exact_linear(up, offset)?,
            activation: activation.map(|activation| LmGlu { width, activation, ..LmGlu::default() }),
        })
    }

    /// Token shifts of the same rows: convolutions of two taps, a plane for each vector of factors.
    pub(crate) fn token_shifts(&self, shifts: &[&Vector], windows: BufferRange) -> Result<DeviceConvolution, Error> {
        let mut weights = Vec::new();
        let mut channels = 0;
        for shift in shifts {
            let factors = self.loader.host_floats(shift)?;
            channels = factors.len();
            weights.extend(factors.into_iter().flat_map(|factor| [factor, 1.0 - factor]));
        }
        Ok(DeviceConvolution {
            constants: LmShortConv {
                channels: channels as u32,
                taps: 2,
                copies: shifts.len() as u32,
                ..LmShortConv::default()
            },
            weights: self.loader.floats(&weights)?,
            windows,
        })
    }

    /// The token shifts of a feed-forward block: of its input, and of that of its gate.
    pub(crate) fn channel_shift(
        &self,
        shift: &Vector,
        gate: Option<&FeedForwardGate>,
    ) -> Result<DeviceConvolution, Error> {
        let shifts: Vec<&Vector> = [shift].into_iter().chain(gate.map(|gate| &gate.token_shift)).collect();
        self.token_shifts(&shifts, self.state_buffer(4 * shift.values.len() as u64)?)
    }
}
