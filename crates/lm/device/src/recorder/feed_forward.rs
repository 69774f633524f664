//! The feed-forward block of a layer, dense or with experts.

use roci_kernels::params::{LmGlu, LmLinear, LmMoeCombine, LmMoeTopK, LmRmsNorm, LmSigmoidGate, Params as _};

use super::StepRecorder;
use super::linear::{ExpertPairs, LinearInput};
use crate::Error;
use crate::experts::DeviceExperts;
use crate::kernel_id::KernelId;
use crate::layer::{
    DeviceActivation, DeviceFeedForward, DeviceFeedForwardKind, DeviceLinear, DeviceSharedExpert, GateUp,
};
use crate::norms::DeviceNorm;
use crate::scratch::RowBuffer;

/// A network that all tokens share.
struct Network<'n> {
    gate_up: &'n GateUp,
    down: &'n DeviceLinear,
    /// Length of the activated vector.
    width: usize,
    /// Receives the activated vectors.
    activated: &'n RowBuffer,
}

impl StepRecorder<'_> {
    /// `input` replaces the normalized residual stream.
    pub(super) fn feed_forward(&mut self, block: &DeviceFeedForward, input: Option<&RowBuffer>) -> Result<(), Error> {
        match &block.kind {
            DeviceFeedForwardKind::Dense { gate_up, down } => {
                let input = match input {
                    Some(rows) => LinearInput::f32(rows),
                    None => self.normed_residual(block.norm.as_ref(), gate_up.products())?,
                };
                let network = Network { gate_up, down, width: block.width, activated: &self.scratch.activated };
                let activated = self.activated(&network, &input, block.activation)?;
                self.add_to_residual(down, &activated, block.post_norm.as_ref())
            }
            DeviceFeedForwardKind::Experts(experts) => self.experts(block, input, experts),
        }
    }

    /// Gate and up projections and the activation: the input of the down projection.
    fn activated<'n>(
        &mut self,
        network: &Network<'n>,
        input: &LinearInput<'_>,
        activation: DeviceActivation,
    ) -> Result<LinearInput<'n>, Error> {
        let f16 = match network.gate_up {
            GateUp::Interleaved(product) => self.interleaved(network, product, input, activation)?,
            GateUp::Separate(products) => {
                self.separate(network, products, input, (activation, true))?;
                false
            }
            GateUp::Plain(product) => {
                self.separate(network, std::slice::from_ref(product), input, (activation, false))?;
                false
            }
        };
        self.barrier();
        self.state.input_changed();
        Ok(LinearInput { f16, ..LinearInput::f32(network.activated) })
    }

    /// Gate and up projections in one product, which applies the activation. Returns whether it
    /// writes 16-bit floats.
    fn interleaved(
        &mut self,
        network: &Network<'_>,
        gate_up: &DeviceLinear,
        input: &LinearInput<'_>,
        activation: DeviceActivation,
    ) -> Result<bool, Error> {
        let f16_output = self.can_output_f16(&gate_up.matrix, &network.down.matrix);
        let packed = if f16_output { LmLinear::PACKED } else { 0 };
        self.linear(gate_up, input, self.shape.tokens, network.activated, flag(activation)? | packed)?;
        Ok(f16_output)
    }

    /// Projections side by side, with a gate two and without one, and a kernel for the activation.
    fn separate(
        &mut self,
        network: &Network<'_>,
        gate_up: &[DeviceLinear],
        input: &LinearInput<'_>,
        (activation, gated): (DeviceActivation, bool),
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        for linear in gate_up {
            self.linear(linear, input, tokens, &scratch.gate_up, 0)?;
        }
        self.barrier();
        let glu = LmGlu {
            tokens: tokens as u32,
            width: network.width as u32,
            x_stride: scratch.gate_up.stride as u32,
            y_stride: network.activated.stride as u32,
            activation: activation.glu,
            gated: u32::from(gated),
        };
        self.dispatch(KernelId::GLU, glu.grid(), &[&scratch.gate_up.range, &network.activated.range], &glu)
    }

    fn experts(
        &mut self,
        block: &DeviceFeedForward,
        input: Option<&RowBuffer>,
        experts: &DeviceExperts,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let DeviceExperts { router, count, experts_per_token, .. } = experts;
        let rows = match (input, &block.norm) {
            (Some(rows), _) => rows,
            (None, Some(norm)) => {
                self.norm(norm, &scratch.residual, &scratch.normed, 0)?;
                &scratch.normed
            }
            (None, None) => {
                self.flush_partial_sums()?;
                &scratch.residual
            }
        };
        // A router or a shared expert with a norm of its own reads its result in another buffer.
        let own_input = |recorder: &mut Self, norm: &Option<DeviceNorm>| match norm {
            Some(norm) => {
                recorder.norm(norm, &scratch.residual, &scratch.parallel, 0)?;
                Ok::<_, Error>(LinearInput::f32(&scratch.parallel))
            }
            None => Ok(LinearInput::f32(rows)),
        };
        let routed = own_input(self, &experts.router_norm)?;
        self.linear(router, &routed, tokens, &scratch.gate_up, 0)?;
        self.barrier();
        let routing = LmMoeTopK { tokens: tokens as u32, stride: scratch.gate_up.stride as u32, ..experts.routing };
        let bias = experts.selection_bias.as_ref().unwrap_or(&scratch.unused);
        let bindings = [&scratch.gate_up.range, bias, &scratch.expert_ids, &scratch.expert_weights];
        self.dispatch(KernelId::MOE_TOP_K, routing.grid(), &bindings, &routing)?;
        self.barrier();
        if let Some(shared) = &block.shared {
            let input = own_input(self, &shared.norm)?;
            self.shared_expert(shared, &input, block.activation)?;
        }
        let pairs = |sharing: usize| ExpertPairs { pairs: tokens * experts_per_token, experts: *count, sharing };
        let (rows, sharing) = if experts.weighted_input {
            self.weigh_inputs(rows, *experts_per_token)?;
            (&scratch.expert_outputs, 1)
        } else {
            (rows, *experts_per_token)
        };
        let bias = experts.gate_up_bias.as_ref();
        let activation = flag(block.activation)?;
        self.expert_linear(&experts.gate_up, bias, rows, &scratch.activated, activation, pairs(sharing))?;
        self.barrier();
        let bias = experts.down_bias.as_ref();
        self.expert_linear(&experts.down, bias, &scratch.activated, &scratch.expert_outputs, 0, pairs(1))?;
        self.barrier();
        let (target, add) = match &block.post_norm {
            Some(_) => (&scratch.normed, 0),
            None => (&scratch.residual, 1),
        };
        // The output of the shared expert is in another buffer by now.
        let (sum, add) = if block.experts_norm.is_some() { (&scratch.shared_output, 0) } else { (target, add) };
        let combine = LmMoeCombine {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            used: *experts_per_token as u32,
            x_stride: scratch.expert_outputs.stride as u32,
            y_stride: sum.stride as u32,
            add,
            sharing: 1,
        };
        let weights = if experts.weighted_input { &scratch.ones } else { &scratch.expert_weights };
        let bindings = [&scratch.expert_outputs.range, weights, &sum.range];
        self.dispatch(KernelId::MOE_COMBINE, combine.grid(), &bindings, &combine)?;
        self.barrier();
        if let Some(norm) = &block.experts_norm {
            self.norm(norm, sum, target, 0)?;
        }
        if let Some(shared) = &block.shared {
            self.add_shared_expert(shared, target)?;
        }
        if let Some(norm) = &block.post_norm {
            self.norm(norm, &scratch.normed, &scratch.residual, LmRmsNorm::ADD)?;
        }
        Ok(())
    }

    /// Writes the input of each expert of each token, multiplied by its weight, to
    /// [`expert_outputs`](crate::scratch::Scratch::expert_outputs).
    fn weigh_inputs(&mut self, rows: &RowBuffer, experts_per_token: usize) -> Result<(), Error> {
        let scratch = self.scratch;
        let constants = LmMoeCombine {
            tokens: (self.shape.tokens * experts_per_token) as u32,
            columns: scratch.embedding as u32,
            used: 1,
            x_stride: rows.stride as u32,
            y_stride: scratch.expert_outputs.stride as u32,
            add: 0,
            sharing: experts_per_token as u32,
        };
        let bindings = [&rows.range, &scratch.expert_weights, &scratch.expert_outputs.range];
        self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(())
    }

    /// Computes the output of the shared expert and its gate.
    fn shared_expert(
        &mut self,
        shared: &DeviceSharedExpert,
        input: &LinearInput<'_>,
        activation: DeviceActivation,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        if let Some(gate) = &shared.gate {
            self.linear(gate, input, tokens, &scratch.shared_gates, 0)?;
        }
        let network = Network {
            gate_up: &shared.gate_up,
            down: &shared.down,
            width: shared.width,
            activated: &scratch.shared_activated,
        };
        let activated = self.activated(&network, input, activation)?;
        self.linear(&shared.down, &activated, tokens, &scratch.shared_output, 0)?;
        self.barrier();
        if let Some(norm) = &shared.post_norm {
            self.norm(norm, &scratch.shared_output, &scratch.parallel, 0)?;
        }
        self.state.input_changed();
        Ok(())
    }

    /// Adds the output of the shared expert, multiplied by the sigmoid of its gate if it has one.
    fn add_shared_expert(&mut self, shared: &DeviceSharedExpert, target: &RowBuffer) -> Result<(), Error> {
        let scratch = self.scratch;
        let (tokens, columns) = (self.shape.tokens as u32, scratch.embedding as u32);
        let output = if shared.post_norm.is_some() { &scratch.parallel } else { &scratch.shared_output };
        let (x_stride, y_stride) = (output.stride as u32, target.stride as u32);
        let x = &output.range;
        if shared.gate.is_some() {
            let constants = LmSigmoidGate {
                tokens,
                columns,
                x_stride,
                gates_stride: scratch.shared_gates.stride as u32,
                gates_offset: 0,
                y_stride,
                flags: LmSigmoidGate::ONE_PER_ROW | LmSigmoidGate::ADD,
            };
            let bindings = [x, &scratch.shared_gates.range, &target.range];
            self.dispatch(KernelId::SIGMOID_GATE, constants.grid(), &bindings, &constants)?;
        } else {
            let constants = LmMoeCombine { tokens, columns, used: 1, x_stride, y_stride, add: 1, sharing: 1 };
            let bindings = [x, &scratch.ones, &target.range];
            self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)?;
        }
        self.barrier();
        Ok(())
    }
}

/// The flag of a product that applies the activation.
fn flag(activation: DeviceActivation) -> Result<u32, Error> {
    activation.linear.ok_or_else(|| Error::file("no product applies this activation"))
}
