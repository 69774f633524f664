//! Per-layer embeddings: computes the inputs of all layers, and applies a layer's input.

use roci_kernels::params::{LmGlu, LmRmsNorm, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::per_layer::{DevicePerLayer, LayerInputs};
use crate::scratch::RowBuffer;

impl StepRecorder<'_> {
    /// Records the inputs of all layers, from the embeddings in the residual stream and the rows in
    /// the staging buffer.
    pub(super) fn layer_inputs(&mut self, block: &LayerInputs) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let bytes = block.rows.bytes(tokens);
        self.commands.copy(block.staging.range(0, bytes)?, block.rows.range.range(0, bytes)?)?;
        self.state.input_changed();
        self.linear(&block.projection, &LinearInput::f32(&scratch.residual), tokens, &block.projected, 0)?;
        self.barrier();
        let norm = LmRmsNorm {
            rows: (tokens * block.layers) as u32,
            columns: block.length as u32,
            x_stride: block.length as u32,
            y_stride: 2 * block.length as u32,
            epsilon: block.norm.epsilon,
            flags: LmRmsNorm::ADD,
            first: 0,
            y_offset: block.length as u32,
            factor: 1.0,
        };
        let bindings = [&block.projected.range, &block.norm.weight, &scratch.inputs, &block.rows.range];
        self.dispatch(KernelId::RMS_NORM, norm.grid(), &bindings, &norm)?;
        self.barrier();
        self.state.input_changed();
        Ok(())
    }

    /// Adds the output of a layer's per-layer embedding to the residual stream.
    pub(super) fn per_layer(&mut self, block: &DevicePerLayer, inputs: &LayerInputs) -> Result<(), Error> {
        let residual = &self.scratch.residual;
        self.flush_partial_sums()?;
        self.per_layer_input(block, inputs, residual)?;
        let input = LinearInput::f32(&inputs.activated);
        self.add_to_residual(&block.projection, &input, Some(&block.post_norm))
    }

    /// The input of a layer after its gate, a projection of these rows.
    pub(super) fn per_layer_input(
        &mut self,
        block: &DevicePerLayer,
        inputs: &LayerInputs,
        from: &RowBuffer,
    ) -> Result<(), Error> {
        let tokens = self.shape.tokens;
        self.state.input_changed();
        let rows = inputs.layer(block.layer)?;
        self.linear(&block.gate, &LinearInput::f32(from), tokens, &rows, 0)?;
        self.barrier();
        let glu = LmGlu {
            tokens: tokens as u32,
            width: inputs.length as u32,
            x_stride: rows.stride as u32,
            y_stride: inputs.activated.stride as u32,
            activation: block.activation.glu,
            gated: 1,
        };
        self.dispatch(KernelId::GLU, glu.grid(), &[&rows.range, &inputs.activated.range], &glu)?;
        self.barrier();
        self.state.input_changed();
        Ok(())
    }
}
