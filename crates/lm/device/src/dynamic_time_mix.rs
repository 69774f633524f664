//! Time mixing of RWKV 6 with its weights and recurrent states on a device.

use roci_hal::BufferRange;
use roci_kernels::params::{LmGatedRmsNorm, LmGlu, LmShortConv, LmWkv};
use roci_lm::architecture::blocks::{DynamicTimeMix, Linear};

use crate::Error;
use crate::layer::LayerBuilder;
use crate::time_mix::{Column, DeviceTimeMix, EPSILON, ShiftedProjections};

/// Maximum rank of the low-rank projections.
pub(crate) fn low_rank_columns(block: &DynamicTimeMix) -> usize {
    let vectors = block.shifts.iter().chain([&block.decay]);
    vectors.map(|vector| vector.down.matrix.outputs()).max().unwrap_or(0)
}

impl LayerBuilder<'_> {
    pub(crate) fn dynamic_time_mix(
        &self,
        block: &DynamicTimeMix,
        [windows, states]: [BufferRange; 2],
    ) -> Result<DeviceTimeMix, Error> {
        let values = block.values();
        let column = |column: Column| column as usize * values;
        let count = |column: Column| (column as usize * values) as u32;
        let projection = |linear: &Linear, to: Column| -> Result<ShiftedProjections, Error> {
            Ok(ShiftedProjections { linear: Some(self.exact_linear(linear, column(to))?), low_rank: None })
        };
        let tanh = Some(LmGlu::TANH);
        let decay = self.biased_vector(&block.decay, column(Column::Decay), tanh)?;
        let mut shifts = self.token_shifts(&[&block.shift], windows)?;
        // The token shifts that depend on this one read the state after it.
        shifts.constants.flags = LmShortConv::KEEP;
        let (norm_flags, gate) = match &block.output_norm {
            Some(norm) if norm.bias.is_some() => (LmGatedRmsNorm::CENTERED | LmGatedRmsNorm::BIAS, 0),
            Some(_) => (LmGatedRmsNorm::CENTERED, 0),
            None => (LmGatedRmsNorm::UNNORMED, LmGatedRmsNorm::SIGMOID),
        };
        let output_norm = block.output_norm.as_ref();
        let has_bonus = block.bonus.is_some();
        Ok(DeviceTimeMix {
            norm: self.norm(&block.norm, values)?,
            shifts,
            dynamic_shifts: block
                .shifts
                .iter()
                .map(|shift| self.biased_vector(shift, 0, tanh))
                .collect::<Result<_, _>>()?,
            projections: vec![
                ShiftedProjections { linear: None, low_rank: Some(decay) },
                projection(&block.key, Column::Key)?,
                projection(&block.value, Column::Value)?,
                projection(&block.receptance, Column::Receptance)?,
                projection(&block.gate, Column::Gate)?,
            ],
            wkv: LmWkv {
                heads: block.heads as u32,
                key_heads: block.kv_heads as u32,
                length: block.length as u32,
                lanes: LmWkv::lanes(block.length as u32),
                kind: if has_bonus { LmWkv::WKV6 } else { LmWkv::GATED },
                keys_offset: count(Column::Key),
                values_offset: count(Column::Value),
                decays_offset: count(Column::Decay),
                epsilon: EPSILON,
                scale: if has_bonus { 1.0 } else { 1.0 / (block.length as f32).sqrt() },
                ..LmWkv::default()
            },
            vectors: match &block.bonus {
                Some(bonus) => self.loader.vectors(&[(Some(bonus), values)])?,
                None => self.loader.padded_floats(vec![0.0])?,
            },
            output_norm: LmGatedRmsNorm {
                heads: block.heads as u32,
                length: block.length as u32,
                gates_offset: count(Column::Gate),
                epsilon: output_norm.map_or(0.0, |norm| norm.epsilon),
                flags: LmGatedRmsNorm::EACH_HEAD | norm_flags | gate,
                ..LmGatedRmsNorm::default()
            },
            output_norm_weight: output_norm.map(|norm| self.norm(norm, values)).transpose()?.map(|norm| norm.weight),
            output: self.linear(&block.output, 0)?,
            states,
        })
    }
}
