//! Feed-forward networks and mixtures of experts.

use super::Reference;
use super::ops::{activate, sigmoid, softmax, sparsify, swiglu_oai};
use super::recurrent::LayerState;
use crate::architecture::blocks::{
    Activation, ExpertScores, FeedForward, FeedForwardKind, GatedFeedForward, Routing, Vector,
};

/// The sum of the chosen weights that they are divided by is at least the smallest normal f16, as
/// in llama.cpp.
const LOWEST_SUM: f32 = 6.103_515_6e-5;

impl Reference {
    pub(super) fn feed_forward(&self, block: &FeedForward, state: &[f32]) -> Vec<f32> {
        let input = self.weights.optional_norm(block.norm.as_ref(), state);
        let mut output = match &block.kind {
            FeedForwardKind::Dense(dense) => self.network(dense, block, &input),
            FeedForwardKind::Experts { router, experts, routing } => {
                let mut output = vec![0.0; state.len()];
                let routed = match &routing.norm {
                    Some(norm) => self.weights.norm(norm, state),
                    None => input.clone(),
                };
                let routed: Vec<f32> = routed.iter().map(|value| value * routing.input_scale).collect();
                for (expert, weight) in self.route(routing, self.weights.apply(router, &routed)) {
                    let (before, after) = if routing.weighted_input { (weight, 1.0) } else { (1.0, weight) };
                    let input: Vec<f32> = input.iter().map(|value| value * before).collect();
                    let part = self.network(&experts[expert], block, &input);
                    output.iter_mut().zip(&part).for_each(|(sum, part)| *sum += after * part);
                }
                output
            }
        };
        output = self.weights.optional_norm(block.experts_norm.as_ref(), &output);
        if let Some(shared) = &block.shared {
            let own = shared.norm.as_ref().map(|norm| self.weights.norm(norm, state));
            let input = own.as_ref().unwrap_or(&input);
            let factor = shared.gate.as_ref().map_or(1.0, |gate| sigmoid(self.weights.apply(gate, input)[0]));
            let part = self.network(&shared.network, block, input);
            let part = self.weights.optional_norm(shared.post_norm.as_ref(), &part);
            output.iter_mut().zip(part).for_each(|(sum, part)| *sum += factor * part);
        }
        self.weights.optional_norm(block.post_norm.as_ref(), &output)
    }

    /// [`feed_forward`](Self::feed_forward) with a token shift. The previous input is the second half
    /// of the window.
    pub(super) fn shifted_feed_forward(
        &self,
        block: &FeedForward,
        shift: &Vector,
        state: &[f32],
        memory: &mut LayerState,
    ) -> Vec<f32> {
        let input = self.weights.optional_norm(block.norm.as_ref(), state);
        let (_, before) = memory.window.split_at_mut(input.len());
        let shifted = self.shifted(shift, &input, before);
        let gates = block
            .output_gate
            .as_ref()
            .map(|gate| self.weights.apply(&gate.projection, &self.shifted(&gate.token_shift, &input, before)));
        before.copy_from_slice(&input);
        let unnormed = FeedForward { norm: None, ..block.clone() };
        let mut output = self.feed_forward(&unnormed, &shifted);
        output.iter_mut().zip(gates.into_iter().flatten()).for_each(|(value, gate)| *value *= sigmoid(gate));
        output
    }

    fn network(&self, network: &GatedFeedForward, block: &FeedForward, input: &[f32]) -> Vec<f32> {
        let activation = block.activation;
        let mut gate = self.weights.apply(&network.gate, input);
        if let Some(cutoff) = block.sparsity {
            sparsify(&mut gate, cutoff);
        }
        match (&network.up, activation) {
            (None, _) => gate.iter_mut().for_each(|gate| *gate = activate(activation, *gate)),
            (Some(up), Activation::SwigluOai) => {
                let up = self.weights.apply(up, input);
                gate.iter_mut().zip(&up).for_each(|(gate, up)| *gate = swiglu_oai(*gate, *up));
            }
            (Some(up), _) => {
                let up = self.weights.apply(up, input);
                gate.iter_mut().zip(&up).for_each(|(gate, up)| *gate = activate(activation, *gate) * up);
            }
        }
        self.weights.apply(&network.down, &gate)
    }

    /// The chosen experts and their weights.
    fn route(&self, routing: &Routing, mut weights: Vec<f32>) -> Vec<(usize, f32)> {
        let squares: f32 = weights.iter().map(|score| score * score).sum();
        let scale = (squares / weights.len() as f32).sqrt();
        match routing.scores {
            ExpertScores::Softmax => softmax(&mut weights),
            ExpertScores::Sigmoid => weights.iter_mut().for_each(|weight| *weight = sigmoid(*weight)),
        }
        let bias = routing.bias.as_ref().map(|bias| self.weights.vector(bias));
        let rank = |expert: usize| weights[expert] + bias.map_or(0.0, |bias| bias[expert]);
        let mut order: Vec<usize> = (0..weights.len()).collect();
        if let Some(groups) = routing.groups {
            let size = weights.len() / groups.count;
            let score = |group: usize| {
                let mut ranks: Vec<f32> = (group * size..(group + 1) * size).map(rank).collect();
                ranks.sort_by(|a, b| b.total_cmp(a));
                ranks[0] + ranks[1]
            };
            let mut eligible: Vec<usize> = (0..groups.count).collect();
            eligible.sort_by(|&a, &b| score(b).total_cmp(&score(a)));
            eligible.truncate(groups.used);
            order.retain(|expert| eligible.contains(&(expert / size)));
        }
        order.sort_by(|&a, &b| rank(b).total_cmp(&rank(a)));
        self.choices.note(&mut order, routing.experts_per_token, scale, |last, next| {
            match (routing.scores, bias) {
                (ExpertScores::Softmax, None) => (weights[last] / weights[next]).ln(),
                // The slope of sigmoid and softmax is at most 1/4.
                _ => 4.0 * (rank(last) - rank(next)),
            }
        });
        order.truncate(routing.experts_per_token);
        let sum: f32 = order.iter().map(|&expert| weights[expert]).sum();
        let scale = if routing.normalized { routing.scale / sum.max(LOWEST_SUM) } else { routing.scale };
        order.into_iter().map(|expert| (expert, weights[expert] * scale)).collect()
    }
}
