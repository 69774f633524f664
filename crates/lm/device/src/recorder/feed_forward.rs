//! The feed-forward block of a layer, dense or with experts.

use roci_kernels::params::{LmGlu, LmLinear, LmMoeCombine, LmMoeTopK, LmRmsNorm, Params as _};

use super::StepRecorder;
use super::linear::{ExpertPairs, LinearInput};
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::{DeviceExperts, DeviceFeedForward, DeviceFeedForwardKind, DeviceLinear, GateUp};
use crate::scratch::RowBuffer;

impl StepRecorder<'_> {
    /// The block, and its output added to the residual stream. `input` replaces the normalized
    /// residual stream.
    pub(super) fn feed_forward(&mut self, block: &DeviceFeedForward, input: Option<&RowBuffer>) -> Result<(), Error> {
        match &block.kind {
            DeviceFeedForwardKind::Dense { gate_up: GateUp::Interleaved(gate_up), down } => {
                self.interleaved(block, input, gate_up, down)
            }
            DeviceFeedForwardKind::Dense { gate_up: GateUp::Separate(gate_up), down } => {
                self.separate(block, input, gate_up, down)
            }
            DeviceFeedForwardKind::Experts(experts) => self.experts(block, input, experts),
        }
    }

    /// Gate and up projections in one product, which applies the activation.
    fn interleaved(
        &mut self,
        block: &DeviceFeedForward,
        input: Option<&RowBuffer>,
        gate_up: &DeviceLinear,
        down: &DeviceLinear,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let input = match input {
            Some(rows) => LinearInput::f32(rows),
            None => self.normed_residual(block.norm.as_ref(), std::slice::from_ref(gate_up))?,
        };
        let f16_output = self.can_output_f16(&gate_up.matrix, &down.matrix);
        let packed = if f16_output { LmLinear::PACKED } else { 0 };
        let activation = block.activation.linear.unwrap_or(LmLinear::SILU);
        self.linear(gate_up, &input, tokens, &scratch.activated, activation | packed)?;
        self.barrier();
        self.state.input_changed();
        let input = LinearInput { f16: f16_output, ..LinearInput::f32(&scratch.activated) };
        self.add_to_residual(down, &input, block.post_norm.as_ref())
    }

    /// Gate and up projections side by side, and a kernel for the activation.
    fn separate(
        &mut self,
        block: &DeviceFeedForward,
        input: Option<&RowBuffer>,
        gate_up: &[DeviceLinear],
        down: &DeviceLinear,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let input = match input {
            Some(rows) => LinearInput::f32(rows),
            None => self.normed_residual(block.norm.as_ref(), gate_up)?,
        };
        for linear in gate_up {
            self.linear(linear, &input, tokens, &scratch.gate_up, 0)?;
        }
        self.barrier();
        let glu = LmGlu {
            tokens: tokens as u32,
            width: block.width as u32,
            x_stride: scratch.gate_up.stride as u32,
            y_stride: scratch.activated.stride as u32,
            activation: block.activation.glu,
            gated: u32::from(block.gated),
        };
        self.dispatch(KernelId::GLU, glu.grid(), &[&scratch.gate_up.range, &scratch.activated.range], &glu)?;
        self.barrier();
        self.state.input_changed();
        self.add_to_residual(down, &LinearInput::f32(&scratch.activated), block.post_norm.as_ref())
    }

    fn experts(
        &mut self,
        block: &DeviceFeedForward,
        input: Option<&RowBuffer>,
        experts: &DeviceExperts,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let &DeviceExperts { count, used, .. } = experts;
        let input = match (input, &block.norm) {
            (Some(input), _) => input,
            (None, Some(norm)) => {
                self.norm(norm, &scratch.residual, &scratch.normed, 0)?;
                &scratch.normed
            }
            (None, None) => {
                self.flush_partial_sums()?;
                &scratch.residual
            }
        };
        self.linear(&experts.router, &LinearInput::f32(input), tokens, &scratch.gate_up, 0)?;
        self.barrier();
        let routing = LmMoeTopK { tokens: tokens as u32, stride: scratch.gate_up.stride as u32, ..experts.routing };
        let bias = experts.selection_bias.as_ref().unwrap_or(&scratch.unused);
        let bindings = [&scratch.gate_up.range, bias, &scratch.expert_ids, &scratch.expert_weights];
        self.dispatch(KernelId::EXPERT_ROUTING, routing.grid(), &bindings, &routing)?;
        self.barrier();
        let pairs = |sharing| ExpertPairs { pairs: tokens * used, experts: count, sharing };
        let activation = block.activation.linear.unwrap_or(LmLinear::SILU);
        let bias = experts.gate_up_bias.as_ref();
        self.expert_linear(&experts.gate_up, bias, input, &scratch.activated, activation, pairs(used))?;
        self.barrier();
        let bias = experts.down_bias.as_ref();
        self.expert_linear(&experts.down, bias, &scratch.activated, &scratch.expert_outputs, 0, pairs(1))?;
        self.barrier();
        let (target, add) = match &block.post_norm {
            Some(_) => (&scratch.normed, 0),
            None => (&scratch.residual, 1),
        };
        let combine = LmMoeCombine {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            used: used as u32,
            x_stride: scratch.expert_outputs.stride as u32,
            y_stride: target.stride as u32,
            add,
        };
        let bindings = [&scratch.expert_outputs.range, &scratch.expert_weights, &target.range];
        self.dispatch(KernelId::WEIGHTED_SUM, combine.grid(), &bindings, &combine)?;
        self.barrier();
        if let Some(norm) = &block.post_norm {
            self.norm(norm, &scratch.normed, &scratch.residual, LmRmsNorm::ADD)?;
        }
        Ok(())
    }
}
