//! The experts of a single token. Every product applies the norm itself, and the shared expert runs
//! concurrently with the others: five dependent steps instead of nine.

use super::StepRecorder;
use super::feed_forward::flag;
use super::linear::{ExpertPairs, LinearInput};
use crate::Error;
use crate::experts::{DeviceExperts, ExpertMatrices, ExpertShard};
use crate::layer::{DeviceFeedForward, DeviceLinear, DeviceSharedExpert, GateUp};
use crate::norms::DeviceNorm;

/// A mixture of experts whose products apply the norm of the block's input.
struct NormedExperts<'b> {
    norm: &'b DeviceNorm,
    gate_up: &'b [ExpertShard],
    down: &'b [ExpertShard],
    shared: Option<(&'b DeviceSharedExpert, &'b DeviceLinear)>,
}

impl<'b> NormedExperts<'b> {
    /// `None` if a product needs normalized rows, or if something follows the experts.
    fn of(block: &'b DeviceFeedForward, experts: &'b DeviceExperts) -> Option<Self> {
        let ExpertMatrices::Planar { gate_up, down } = &experts.matrices else { return None };
        let norm = block.norm.as_ref().filter(|norm| norm.is_plain_rms())?;
        let is_plain = block.post_norm.is_none()
            && block.experts_norm.is_none()
            && experts.router_norm.is_none()
            && experts.gated
            && !experts.weighted_input
            && experts.router.adapters.is_none();
        let shared = match &block.shared {
            None => None,
            Some(shared) => {
                let GateUp::Interleaved(gate_up) = &shared.gate_up else { return None };
                let gate = shared.gate.as_ref();
                let has_adapters = gate_up.adapters.is_some() || gate.is_some_and(|gate| gate.adapters.is_some());
                if shared.norm.is_some() || shared.post_norm.is_some() || has_adapters {
                    return None;
                }
                Some((shared, gate_up))
            }
        };
        is_plain.then_some(Self { norm, gate_up, down, shared })
    }
}

impl StepRecorder<'_> {
    /// Records the experts of a single token, if all products can apply the norm; otherwise returns
    /// false.
    pub(super) fn single_token_experts(
        &mut self,
        block: &DeviceFeedForward,
        experts: &DeviceExperts,
    ) -> Result<bool, Error> {
        if self.shape.tokens != 1 || self.features.native_kernels {
            return Ok(false);
        }
        let Some(NormedExperts { norm, gate_up, down, shared }) = NormedExperts::of(block, experts) else {
            return Ok(false);
        };
        let scratch = self.scratch;
        self.flush_partial_sums()?;
        let input = LinearInput { norm: Some(norm), ..LinearInput::f32(&scratch.residual) };
        let activation = flag(block.activation)?;
        self.linear(&experts.router, &input, 1, &scratch.gate_up, 0)?;
        if let Some((shared, gate_up)) = shared {
            if let Some(gate) = &shared.gate {
                self.linear(gate, &input, 1, &scratch.shared_gates, 0)?;
            }
            self.linear(gate_up, &input, 1, &scratch.shared_activated, activation)?;
        }
        self.barrier();
        self.select_experts(experts)?;
        if let Some((shared, _)) = shared {
            self.linear(&shared.down, &LinearInput::f32(&scratch.shared_activated), 1, &scratch.shared_output, 0)?;
        }
        self.barrier();
        let DeviceExperts { count, experts_per_token, .. } = *experts;
        let ids = &scratch.expert_ids;
        let pairs = |sharing: usize| ExpertPairs { pairs: experts_per_token, experts: count, sharing, ids, tile: None };
        self.expert_linear(gate_up, &input, &scratch.activated, activation, pairs(experts_per_token))?;
        self.barrier();
        let activated = LinearInput::f32(&scratch.activated);
        self.expert_linear(down, &activated, &scratch.expert_outputs, 0, pairs(1))?;
        // Concurrent dispatches do not read the residual stream.
        if let Some((shared, _)) = shared {
            self.add_shared_expert(shared, &scratch.residual)?;
        }
        self.barrier();
        self.combine_experts((1, experts_per_token), &scratch.expert_weights, (&scratch.residual, 1))?;
        self.state.input_changed();
        Ok(true)
    }
}
