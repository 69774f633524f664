//! The feed-forward block of a layer, dense or with experts.

use std::ops::Range;

use roci_hal::BufferRange;
use roci_kernels::params::{
    LmGlu, LmLayerNorm, LmLinear, LmMoeCombine, LmMoeTopK, LmRmsNorm, LmSigmoidGate, Params as _,
};

use super::StepRecorder;
use super::linear::{ExpertPairs, LinearInput};
use crate::Error;
use crate::experts::{DeviceExperts, ExpertMatrices};
use crate::kernel_id::KernelId;
use crate::layer::{
    DeviceActivation, DeviceFeedForward, DeviceFeedForwardKind, DeviceLinear, DeviceSharedExpert, GateUp,
};
use crate::scratch::RowBuffer;

/// A feed-forward network that all tokens use.
struct Network<'n> {
    gate_up: &'n GateUp,
    down: &'n DeviceLinear,
    /// Length of the activated vector.
    width: usize,
    sparsity: Option<f32>,
    /// Receives the activated vectors.
    activated: &'n RowBuffer,
}

impl StepRecorder<'_> {
    /// `input` replaces the normalized residual stream.
    pub(super) fn feed_forward(&mut self, block: &DeviceFeedForward, input: Option<&RowBuffer>) -> Result<(), Error> {
        let shifted = match (&block.norm, &block.token_shift) {
            (Some(norm), Some(shift)) => Some(self.shifted_residual(norm, shift)?),
            _ => None,
        };
        let input = shifted.as_ref().or(input);
        match &block.kind {
            DeviceFeedForwardKind::Dense { gate_up, down } => {
                let input = match input {
                    Some(rows) => LinearInput::f32(rows),
                    None => self.normed_residual(block.norm.as_ref(), gate_up.products())?,
                };
                let activated = &self.scratch.activated;
                let network = Network { gate_up, down, width: block.width, sparsity: block.sparsity, activated };
                let activated = self.activated(&network, &input, block.activation)?;
                if let Some(gate) = &block.output_gate {
                    return self.add_gated(down, &activated, gate);
                }
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

    /// Gate and up projections, or a single projection without a gate, then a kernel for the
    /// activation.
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
        if let Some(cutoff) = network.sparsity {
            self.sparsify(network.width, cutoff)?;
        }
        self.activate(network.width, tokens, network.activated, (activation, gated))
    }

    /// Sets gates in `Scratch::gate_up` to 0 that are not above the mean by `cutoff` standard
    /// deviations, and subtracts that bound from the others.
    fn sparsify(&mut self, width: usize, cutoff: f32) -> Result<(), Error> {
        let scratch = self.scratch;
        let stride = scratch.gate_up.stride as u32;
        let constants = LmLayerNorm {
            rows: self.shape.tokens as u32,
            columns: width as u32,
            x_stride: stride,
            y_stride: stride,
            epsilon: cutoff,
            flags: LmLayerNorm::SPARSE | LmLayerNorm::IN_PLACE,
            first: 0,
            offset: 0,
        };
        let unused = &scratch.unused;
        let bindings = [unused, unused, &scratch.inputs, &scratch.gate_up.range];
        self.dispatch(KernelId::LAYER_NORM, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(())
    }

    /// The activation of rows of `Scratch::gate_up`.
    fn activate(
        &mut self,
        width: usize,
        rows: usize,
        activated: &RowBuffer,
        (activation, gated): (DeviceActivation, bool),
    ) -> Result<(), Error> {
        let x = &self.scratch.gate_up;
        let glu = LmGlu {
            tokens: rows as u32,
            width: width as u32,
            x_stride: x.stride as u32,
            y_stride: activated.stride as u32,
            activation: activation.glu,
            gated: u32::from(gated),
        };
        self.dispatch(KernelId::GLU, glu.grid(), &[&x.range, &activated.range], &glu)
    }

    fn experts(
        &mut self,
        block: &DeviceFeedForward,
        input: Option<&RowBuffer>,
        experts: &DeviceExperts,
    ) -> Result<(), Error> {
        if input.is_none() && self.single_token_experts(block, experts)? {
            return Ok(());
        }
        let (tokens, scratch) = (self.shape.tokens, self.scratch);
        let router = &experts.router;
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
        let routed = self.own_input(experts.router_norm.as_ref(), rows)?;
        self.linear(router, &routed, tokens, &scratch.gate_up, 0)?;
        self.barrier();
        if experts.router_norm.is_some() {
            self.state.input_changed();
        }
        self.select_experts(experts)?;
        self.barrier();
        let (target, add) = match &block.post_norm {
            Some(_) => (&scratch.normed, 0),
            None => (&scratch.residual, 1),
        };
        // With `experts_norm`, the shared expert has a norm and so writes its output to another
        // buffer.
        let sum = if block.experts_norm.is_some() { (&scratch.shared_output, 0) } else { (target, add) };
        if matches!(experts.matrices, ExpertMatrices::Native { .. }) && !self.features.native_kernels {
            self.host_experts(block, experts, rows, sum)?;
        } else {
            if let Some(shared) = &block.shared {
                let input = self.own_input(shared.norm.as_ref(), rows)?;
                self.shared_expert(shared, &input, block.activation)?;
            }
            self.routed_experts(experts, (block.activation, block.width), rows, sum)?;
        }
        if let Some(norm) = &block.experts_norm {
            self.norm(norm, sum.0, target, 0)?;
        }
        if let Some(shared) = &block.shared {
            self.add_shared_expert(shared, target)?;
            self.barrier();
        }
        if let Some(norm) = &block.post_norm {
            self.norm(norm, &scratch.normed, &scratch.residual, LmRmsNorm::ADD)?;
        }
        Ok(())
    }

    /// Selects the experts of each token by the scores in
    /// [`Scratch::gate_up`](crate::scratch::Scratch::gate_up).
    pub(super) fn select_experts(&mut self, experts: &DeviceExperts) -> Result<(), Error> {
        let (tokens, scratch) = (self.shape.tokens as u32, self.scratch);
        let routing = LmMoeTopK { tokens, stride: scratch.gate_up.stride as u32, ..experts.routing };
        let bias = experts.selection_bias.as_ref().unwrap_or(&scratch.unused);
        let bindings = [&scratch.gate_up.range, bias, &scratch.expert_ids, &scratch.expert_weights];
        self.dispatch(KernelId::MOE_TOP_K, routing.grid(), &bindings, &routing)
    }

    /// Records the experts selected by the router. Adds the sum of their outputs to `target` or
    /// overwrites it. The buffers have a row for each pair of a token and an expert, and their size
    /// is limited. If a step has more tokens than fit, it is computed in parts.
    pub(super) fn routed_experts(
        &mut self,
        experts: &DeviceExperts,
        activation: (DeviceActivation, usize),
        rows: &RowBuffer,
        (target, add): (&RowBuffer, u32),
    ) -> Result<(), Error> {
        let (tokens, most) = (self.shape.tokens, self.scratch.expert_tokens.max(1));
        for first in (0..tokens).step_by(most) {
            if tokens > most {
                // The converted input has the rows of all tokens or of the previous part.
                self.state.input_changed();
            }
            let part = first..tokens.min(first + most);
            let target = (&target.starting_at(first)?, add);
            self.expert_part(experts, activation, &rows.starting_at(first)?, target, part)?;
        }
        Ok(())
    }

    /// The experts of some of the tokens. `rows` and the target start with their rows.
    fn expert_part(
        &mut self,
        experts: &DeviceExperts,
        (activation, width): (DeviceActivation, usize),
        rows: &RowBuffer,
        (target, add): (&RowBuffer, u32),
        part: Range<usize>,
    ) -> Result<(), Error> {
        let (tokens, scratch) = (part.len(), self.scratch);
        let DeviceExperts { count, experts_per_token, .. } = experts;
        let words = |all: &BufferRange| {
            let start = 4 * (part.start * experts_per_token) as u64;
            all.range(start, all.length() - start)
        };
        let (ids, weights) = (&words(&scratch.expert_ids)?, &words(&scratch.expert_weights)?);
        let tile = match &experts.matrices {
            ExpertMatrices::Planar { gate_up, down } => {
                self.tile_of([gate_up, down], tokens * experts_per_token, *count)
            }
            ExpertMatrices::Native { .. } => None,
        };
        let tiles = &scratch.expert_tiles;
        if let Some(tile) = tile {
            self.group_pairs(tile, (tokens * experts_per_token, *count), ids, tiles)?;
        }
        let tile = tile.map(|tile| (tile, tiles));
        let pairs =
            |sharing: usize| ExpertPairs { pairs: tokens * experts_per_token, experts: *count, sharing, ids, tile };
        let (rows, sharing) = if experts.weighted_input {
            self.weigh_inputs(rows, weights, (tokens, *experts_per_token))?;
            self.state.input_changed();
            (&scratch.expert_outputs, 1)
        } else {
            (rows, *experts_per_token)
        };
        match &experts.matrices {
            ExpertMatrices::Planar { gate_up, down } => {
                let input = LinearInput::f32(rows);
                let f16 = experts.gated && self.can_output_expert_f16(gate_up, width, pairs(1));
                if experts.gated {
                    let flags = flag(activation)? | if f16 { LmLinear::PACKED } else { 0 };
                    self.expert_linear(gate_up, &input, &scratch.activated, flags, pairs(sharing))?;
                } else {
                    self.expert_linear(gate_up, &input, &scratch.gate_up, 0, pairs(sharing))?;
                    self.barrier();
                    self.activate(width, pairs(1).pairs, &scratch.activated, (activation, false))?;
                }
                self.barrier();
                self.state.input_changed();
                let activated = LinearInput { f16, ..LinearInput::f32(&scratch.activated) };
                self.expert_linear(down, &activated, &scratch.expert_outputs, 0, pairs(1))?;
                self.state.input_changed();
            }
            ExpertMatrices::Native { gate_up, down } => {
                self.native_expert_products(gate_up, rows, &scratch.gate_up, pairs(sharing))?;
                self.barrier();
                self.activate(width, pairs(1).pairs, &scratch.activated, (activation, experts.gated))?;
                self.barrier();
                self.state.input_changed();
                self.native_expert_products(down, &scratch.activated, &scratch.expert_outputs, pairs(1))?;
                self.state.input_changed();
            }
        }
        self.barrier();
        let weights = if experts.weighted_input { &scratch.ones } else { weights };
        self.combine_experts((tokens, *experts_per_token), weights, (target, add))
    }

    /// Adds the weighted sum of each token's experts to `target`, or overwrites it.
    pub(super) fn combine_experts(
        &mut self,
        (tokens, experts_per_token): (usize, usize),
        weights: &BufferRange,
        (target, add): (&RowBuffer, u32),
    ) -> Result<(), Error> {
        let scratch = self.scratch;
        let combine = LmMoeCombine {
            tokens: tokens as u32,
            columns: scratch.embedding as u32,
            used: experts_per_token as u32,
            x_stride: scratch.expert_outputs.stride as u32,
            y_stride: target.stride as u32,
            add,
            sharing: 1,
        };
        let bindings = [&scratch.expert_outputs.range, weights, &target.range];
        self.dispatch(KernelId::MOE_COMBINE, combine.grid(), &bindings, &combine)?;
        self.barrier();
        Ok(())
    }

    /// Writes the input of each expert of each token, multiplied by its weight, to
    /// [`expert_outputs`](crate::scratch::Scratch::expert_outputs).
    fn weigh_inputs(
        &mut self,
        rows: &RowBuffer,
        weights: &BufferRange,
        (tokens, experts_per_token): (usize, usize),
    ) -> Result<(), Error> {
        let scratch = self.scratch;
        let constants = LmMoeCombine {
            tokens: (tokens * experts_per_token) as u32,
            columns: scratch.embedding as u32,
            used: 1,
            x_stride: rows.stride as u32,
            y_stride: scratch.expert_outputs.stride as u32,
            add: 0,
            sharing: experts_per_token as u32,
        };
        let bindings = [&rows.range, weights, &scratch.expert_outputs.range];
        self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)?;
        self.barrier();
        Ok(())
    }

    /// Records the output of the shared expert and its gate.
    pub(super) fn shared_expert(
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
            sparsity: None,
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
    pub(super) fn add_shared_expert(&mut self, shared: &DeviceSharedExpert, target: &RowBuffer) -> Result<(), Error> {
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
                factor: 1.0,
            };
            let bindings = [x, &scratch.shared_gates.range, &target.range];
            self.dispatch(KernelId::SIGMOID_GATE, constants.grid(), &bindings, &constants)?;
        } else {
            let constants = LmMoeCombine { tokens, columns, used: 1, x_stride, y_stride, add: 1, sharing: 1 };
            let bindings = [x, &scratch.ones, &target.range];
            self.dispatch(KernelId::MOE_COMBINE, constants.grid(), &bindings, &constants)?;
        }
        Ok(())
    }
}

/// The flag of a product that applies the activation.
pub(super) fn flag(activation: DeviceActivation) -> Result<u32, Error> {
    activation.linear.ok_or_else(|| Error::file("no product applies this activation"))
}
