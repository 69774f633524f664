//! Records the gated delta net of a layer.

use roci_kernels::params::{LmDeltaRule, LmGatedRmsNorm, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::delta_net::DeviceDeltaNet;
use crate::kernel_id::KernelId;

impl StepRecorder<'_> {
    pub(super) fn delta_net(&mut self, block: &DeviceDeltaNet) -> Result<(), Error> {
        let (shape, scratch) = (self.shape, self.scratch);
        let [tokens, sequences, first] =
            [shape.tokens, shape.sequences, shape.sequences_offset()].map(|count| count as u32);
        self.project(&block.norm, &block.projections)?;
        self.convolve(&block.convolution)?;
        let projected = &scratch.qkv;

        let rule = LmDeltaRule {
            sequences,
            first,
            x_stride: scratch.convolved.stride as u32,
            scores_stride: projected.stride as u32,
            y_stride: scratch.attended.stride as u32,
            ..block.rule
        };
        let (convolved, attended) = (&scratch.convolved.range, &scratch.attended.range);
        let bindings = [&scratch.inputs, convolved, &projected.range, &block.decays, &block.states, attended];
        self.dispatch(KernelId::DELTA_RULE, rule.grid(), &bindings, &rule)?;
        self.barrier();

        let norm = LmGatedRmsNorm {
            tokens,
            x_stride: scratch.attended.stride as u32,
            gates_stride: projected.stride as u32,
            y_stride: scratch.gated.stride as u32,
            ..block.output_norm
        };
        let bindings = [attended, &projected.range, &block.output_norm_weight, &scratch.gated.range];
        self.dispatch(KernelId::GATED_RMS_NORM, norm.grid(), &bindings, &norm)?;
        self.barrier();
        self.state.input_changed();
        self.add_to_residual(&block.output, &LinearInput::f32(&scratch.gated), None)
    }
}
