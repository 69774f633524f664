//! Per-layer embeddings on a device.
//!
//! The embedding table is larger than the rest of a small model, but a token needs only one row of
//! it. The table stays in the file, and the host looks up rows, as for token embeddings.

use roci_gguf::Gguf;
use roci_hal::{Buffer, BufferDesc, Device, DeviceInfo};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{PerLayerEmbedding, PerLayerInput};

use crate::Error;
use crate::embedding::{Placed, look_up};
use crate::layer::{DeviceActivation, DeviceLinear, LayerBuilder};
use crate::norms::DeviceNorm;
use crate::pack::GROUP;
use crate::scratch::RowBuffer;

/// Weights and buffers that compute the inputs of all layers.
pub(crate) struct LayerInputs {
    pub(crate) projection: DeviceLinear,
    /// Norm of each layer's part of the projection; includes the factor of the sum.
    pub(crate) norm: DeviceNorm,
    /// Length of the input of a layer.
    pub(crate) length: usize,
    pub(crate) layers: usize,
    /// The projected embeddings.
    pub(crate) projected: RowBuffer,
    /// For each layer, room for its gate, then its input.
    pub(crate) rows: RowBuffer,
    /// Input of a layer after the gate.
    pub(crate) activated: RowBuffer,
    /// Rows as the host writes them: room for gates, and rows of the embedding table.
    pub(crate) staging: Buffer,
}

/// A layer's projections of its per-layer input.
#[derive(Clone)]
pub(crate) struct DevicePerLayer {
    pub(crate) gate: DeviceLinear,
    pub(crate) activation: DeviceActivation,
    pub(crate) projection: DeviceLinear,
    pub(crate) post_norm: DeviceNorm,
    /// Index of the layer.
    pub(crate) layer: usize,
}

/// Floats per token: the projected embedding, the rows with room for gates, and the input of a
/// layer after the gate.
fn token_floats(block: &PerLayerEmbedding) -> [usize; 3] {
    let all = block.embedding.columns;
    [all, 2 * all, block.length.next_multiple_of(GROUP)]
}

/// Bytes of the buffers on the device, without weights.
pub(crate) fn buffer_bytes(model: &Model, tokens: usize) -> [u64; 3] {
    model.per_layer.as_ref().map_or([0; 3], |block| token_floats(block).map(|floats| 4 * (floats * tokens) as u64))
}

/// Checks that kernels can bind the inputs of each layer.
pub(crate) fn check(model: &Model, info: &DeviceInfo) -> Result<(), Error> {
    let Some(block) = &model.per_layer else { return Ok(()) };
    let aligned = (8 * block.length as u64).is_multiple_of(info.binding_alignment.max(1));
    if aligned && block.length.is_multiple_of(GROUP) {
        return Ok(());
    }
    Err(Error::file(format!("per-layer embeddings of {} values are not supported on {}", block.length, info.uri)))
}

impl LayerInputs {
    pub(crate) fn new(
        builder: &LayerBuilder<'_>,
        block: &PerLayerEmbedding,
        device: &Device,
        tokens: usize,
    ) -> Result<Self, Error> {
        let mut weights = match &block.norm.weight {
            Some(weight) => builder.loader.host_floats(weight)?,
            None => vec![1.0; block.length],
        };
        weights.iter_mut().for_each(|weight| *weight *= block.scale);
        let mut recorder = device.record();
        let mut zeroed = |stride: usize| -> Result<RowBuffer, Error> {
            let bytes = (4 * tokens * stride) as u64;
            let range = device.allocate(BufferDesc::device(bytes.next_multiple_of(16)).label("scratch"))?.whole();
            recorder.fill(&range, 0)?;
            Ok(RowBuffer { range, stride })
        };
        let [projected, rows, activated] = token_floats(block);
        let [projected, rows, activated] = [zeroed(projected)?, zeroed(rows)?, zeroed(activated)?];
        let staging = device.allocate(BufferDesc::host(rows.bytes(tokens)).label("inputs"))?;
        let done = device.semaphore(0);
        device.queue(0)?.submit(&recorder.finish()?, roci_hal::Submit::new().signal(&done, 1).label("scratch"))?;
        done.wait(1, roci_hal::Deadline::default())?;
        Ok(Self {
            projection: builder.linear(&block.projection, 0)?,
            norm: DeviceNorm {
                weight: builder.loader.padded_floats(weights)?,
                ..builder.norm(&block.norm, block.length)?
            },
            length: block.length,
            layers: block.embedding.columns / block.length,
            projected,
            rows,
            activated,
            staging,
        })
    }

    /// The gate and the input of a layer: a view of the rows of all layers.
    pub(crate) fn layer(&self, layer: usize) -> Result<RowBuffer, Error> {
        let RowBuffer { range, stride } = &self.rows;
        let start = (8 * self.length * layer) as u64;
        Ok(RowBuffer { range: range.range(start, range.length() - start)?, stride: *stride })
    }

    /// Writes the table rows of these tokens to the staging buffer.
    pub(crate) fn fill(&self, file: &Gguf, block: &PerLayerEmbedding, tokens: &[Placed]) -> Result<(), Error> {
        let mut staged = self.staging.range(0, self.rows.bytes(tokens.len()))?.map_write()?;
        let rows: &mut [f32] = bytemuck::cast_slice_mut(&mut staged);
        let scale = block.embedding_scale * block.scale;
        look_up(file, &block.embedding, tokens, self.rows.stride, rows, |values, row| {
            let parts = values.chunks_exact(self.length).zip(row.chunks_exact_mut(2 * self.length));
            for (values, part) in parts {
                let (gate, input) = part.split_at_mut(self.length);
                gate.fill(0.0);
                input.iter_mut().zip(values).for_each(|(input, value)| *input = value * scale);
            }
        })
    }
}

impl LayerBuilder<'_> {
    pub(crate) fn per_layer(&self, block: &PerLayerInput, layer: usize) -> Result<DevicePerLayer, Error> {
        Ok(DevicePerLayer {
            gate: self.linear(&block.gate, 0)?,
            activation: DeviceActivation::of(block.activation),
            projection: self.linear(&block.projection, 0)?,
            post_norm: self.norm(&block.post_norm, block.projection.matrix.outputs())?,
            layer,
        })
    }
}
