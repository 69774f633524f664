//! Short convolutions and state spaces of a layer.

use roci_kernels::params::{LmGatedRmsNorm, LmShortConv, LmSsmScan, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::DeviceLinear;
use crate::norms::DeviceNorm;
use crate::recurrent::{DeviceConvolution, DeviceGatedConvolution, DeviceStateSpace};

impl StepRecorder<'_> {
    pub(super) fn gated_convolution(&mut self, block: &DeviceGatedConvolution) -> Result<(), Error> {
        self.project(&block.norm, &block.projections)?;
        self.convolve(&block.convolution)?;
        self.state.input_changed();
        self.add_to_residual(&block.output, &LinearInput::f32(&self.scratch.convolved), None)
    }

    pub(super) fn state_space(&mut self, block: &DeviceStateSpace) -> Result<(), Error> {
        self.state_space_values(block)?;
        self.state_space_output(block)
    }

    /// Records a state space up to its output projection. Its values are in `Scratch::gated`, which
    /// attention without an output gate does not write.
    pub(super) fn state_space_values(&mut self, block: &DeviceStateSpace) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        self.project(&block.norm, &block.projections)?;
        self.convolve(&block.convolution)?;

        let projected = &scratch.qkv;
        let scan = LmSsmScan {
            sequences: shape.sequences as u32,
            first: shape.sequences_offset() as u32,
            x_stride: scratch.convolved.stride as u32,
            steps_stride: projected.stride as u32,
            y_stride: scratch.attended.stride as u32,
            ..block.scan
        };
        let (convolved, values) = (&scratch.convolved.range, &scratch.attended.range);
        let bindings = [&scratch.inputs, convolved, &projected.range, &block.heads, &block.states, values];
        self.dispatch(KernelId::SSM_SCAN, scan.grid(), &bindings, &scan)?;
        self.barrier();

        let norm = LmGatedRmsNorm {
            tokens: shape.tokens as u32,
            x_stride: scratch.attended.stride as u32,
            gates_stride: projected.stride as u32,
            y_stride: scratch.gated.stride as u32,
            ..block.output_norm
        };
        let weight = block.output_norm_weight.as_ref().unwrap_or(&scratch.unused);
        let bindings = [values, &projected.range, weight, &scratch.gated.range];
        self.dispatch(KernelId::GATED_RMS_NORM, norm.grid(), &bindings, &norm)?;
        self.barrier();
        self.state.input_changed();
        Ok(())
    }

    /// The output projection of a state space.
    pub(super) fn state_space_output(&mut self, block: &DeviceStateSpace) -> Result<(), Error> {
        self.state.input_changed();
        self.add_to_residual(&block.output, &LinearInput::f32(&self.scratch.gated), None)
    }

    /// Projects the normalized residual stream to `Scratch::qkv`.
    pub(super) fn project(&mut self, norm: &DeviceNorm, projections: &[DeviceLinear]) -> Result<(), Error> {
        let input = self.normed_residual(Some(norm), projections)?;
        for linear in projections {
            self.linear(linear, &input, self.shape.tokens, &self.scratch.qkv, 0)?;
        }
        self.barrier();
        Ok(())
    }

    /// A short convolution, from `Scratch::qkv` to `Scratch::convolved`.
    pub(super) fn convolve(&mut self, block: &DeviceConvolution) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let [tokens, sequences, first] =
            [shape.tokens, shape.sequences, shape.sequences_offset()].map(|count| count as u32);
        let constants = LmShortConv {
            sequences,
            first,
            x_stride: scratch.qkv.stride as u32,
            y_stride: scratch.convolved.stride as u32,
            splits: LmShortConv::splits(tokens, sequences),
            ..block.constants
        };
        let bindings = [&scratch.inputs, &scratch.qkv.range, &block.weights, &block.windows, &scratch.convolved.range];
        self.dispatch(KernelId::SHORT_CONVOLUTION, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(())
    }
}
