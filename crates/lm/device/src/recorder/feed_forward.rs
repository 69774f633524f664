//! The feed-forward block of a layer, dense or with experts.

use roci_kernels::params::{LmGlu, LmLinear, LmMoeCombine, LmMoeTopK, LmRmsNorm, Params as _};

use super::StepRecorder;
use super::linear::LinearInput;
use crate::Error;
use crate::kernel_id::KernelId;
use crate::layer::{DeviceExperts, DeviceFeedForward, DeviceFeedForwardKind, DeviceLinear, GateUp};

impl StepRecorder<'_> {
    pub(super) fn feed_forward(&mut self, block: &DeviceFeedForward) -> Result<(), Error> {
        match &block.kind {
            DeviceFeedForwardKind::Dense { gate_up: GateUp::Interleaved(gate_up), down } => {
                self.interleaved(block, gate_up, down)
            }
            DeviceFeedForwardKind::Dense { gate_up: GateUp::Separate(gate_up), down } => {
                self.separate(block, gate_up, down)
            }
            DeviceFeedForwardKind::Experts(experts) => self.experts(block, experts),
        }
    }

    /// Gate and up projections in one product, which applies the activation.
    fn interleaved(
        &mut self,
        block: &DeviceFeedForward,
        gate_up: &DeviceLinear,
        down: &DeviceLinear,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let input = self.normed_residual(block.norm.as_ref(), std::slice::from_ref(gate_up))?;
        let f16_output = self.can_output_f16(&gate_up.matrix, &down.matrix);
        let packed = if f16_output { LmLinear::PACKED } else { 0 };
        self.linear(gate_up, &input, tokens, &scratch.activated, block.activation | packed)?;
        self.barrier();
        self.state.input_changed();
        let input = LinearInput { f16: f16_output, ..LinearInput::f32(&scratch.activated) };
        self.add_to_residual(down, &input, block.post_norm.as_ref())
    }

    /// Gate and up projections side by side, and a kernel for the activation.
    fn separate(
        &mut self,
        block: &DeviceFeedForward,
        gate_up: &[DeviceLinear],
        down: &DeviceLinear,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let input = self.normed_residual(block.norm.as_ref(), gate_up)?;
        for linear in gate_up {
            self.linear(linear, &input, tokens, &scratch.gate_up, 0)?;
        }
        self.barrier();
        let glu = LmGlu {
            tokens: tokens as u32,
            width: block.width as u32,
            x_stride: scratch.gate_up.stride as u32,
            y_stride: scratch.activated.stride as u32,
            gelu: u32::from(block.activation == LmLinear::GELU),
        };
        self.dispatch(KernelId::GLU, glu.grid(), &[&scratch.gate_up.range, &scratch.activated.range], &glu)?;
        self.barrier();
        self.state.input_changed();
        self.add_to_residual(down, &LinearInput::f32(&scratch.activated), block.post_norm.as_ref())
    }

    fn experts(&mut self, block: &DeviceFeedForward, experts: &DeviceExperts) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let DeviceExperts { router, gate_up, down, count, used } = experts;
        let input = match &block.norm {
            Some(norm) => {
                self.norm(norm, &scratch.residual, &scratch.normed, 0)?;
                &scratch.normed
            }
            None => {
                self.flush_partial_sums()?;
                &scratch.residual
            }
        };
        self.linear(router, &LinearInput::f32(input), tokens, &scratch.gate_up, 0)?;
        self.barrier();
        let routing = LmMoeTopK {
            tokens: tokens as u32,
            experts: *count as u32,
            used: *used as u32,
            stride: scratch.gate_up.stride as u32,
        };
        let bindings = [&scratch.gate_up.range, &scratch.expert_ids, &scratch.expert_weights];
        self.dispatch(KernelId::EXPERT_ROUTING, routing.grid(), &bindings, &routing)?;
        self.barrier();
        let pairs = tokens * used;
        self.expert_linear(gate_up, input, pairs, &scratch.activated, block.activation, (*count, *used))?;
        self.barrier();
        self.expert_linear(down, &scratch.activated, pairs, &scratch.expert_outputs, 0, (*count, 1))?;
        self.barrier();
        let (target, add) = match &block.post_norm {
            Some(_) => (&scratch.normed, 0),
            None => (&scratch.residual, 1),
        };
        let combine = LmMoeCombine {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            used: *used as u32,
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
