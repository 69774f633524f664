//! Feed-forward blocks, dense or with experts.

use super::{Linear, Norm, Vector};

/// Activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`.
    Silu,
    /// `x * (1 + tanh(√(2/π) * (x + 0.044715 x³))) / 2`.
    Gelu,
    /// `max(x, 0)²`.
    ReluSquared,
    /// SwiGLU of gpt-oss, with both inputs clamped: `g / (1 + exp(-1.702 g)) * (u + 1)`, where `g`
    /// is the gate up to 7 and `u` is the up projection from -7 to 7.
    SwigluOai,
}

/// A feed-forward network: `down(activation(gate(x)) * up(x))`, or `down(activation(gate(x)))`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatedFeedForward {
    /// Projection whose result is activated.
    pub gate: Linear,
    /// Up projection. Networks without a gate have none: their `ffn_up` is what is activated.
    pub up: Option<Linear>,
    /// Down projection to the embedding length.
    pub down: Linear,
}

impl GatedFeedForward {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.gate_up().chain([&self.down])
    }

    /// The projections of the input.
    pub fn gate_up(&self) -> impl Iterator<Item = &Linear> {
        std::iter::once(&self.gate).chain(&self.up)
    }
}

/// How a router's scores become weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertScores {
    /// Softmax over all experts.
    Softmax,
    /// Sigmoid of each.
    Sigmoid,
}

/// Groups of consecutive experts, of which only some are eligible for a token. Groups are ranked by
/// the sum of their two highest weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpertGroups {
    /// Number of groups.
    pub count: usize,
    /// Eligible groups.
    pub used: usize,
}

/// How a mixture chooses experts for a token and weighs them: the `experts_per_token` experts with the highest
/// weights.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Routing {
    /// Norm of the residual stream, whose result is the router's input; if `None`, the router reads
    /// the block's input.
    pub norm: Option<Norm>,
    /// Factor of the router's input.
    pub input_scale: f32,
    /// Experts per token.
    pub experts_per_token: usize,
    /// How scores become weights.
    pub scores: ExpertScores,
    /// Added to the weights for the choice alone, a value per expert.
    pub bias: Option<Vector>,
    /// Whether weights are divided by the sum of those of the chosen experts. After a softmax that
    /// is the softmax over the chosen experts.
    pub normalized: bool,
    /// Factor of the weights.
    pub scale: f32,
    /// Groups of experts; groups are selected before experts.
    pub groups: Option<ExpertGroups>,
    /// Whether weights multiply the inputs of experts instead of their outputs.
    pub weighted_input: bool,
}

/// Dense network or mixture of experts.
#[derive(Clone, Debug, PartialEq)]
pub enum FeedForwardKind {
    /// One network for all tokens.
    Dense(GatedFeedForward),
    /// A mixture of experts.
    Experts {
        /// Computes a score per expert.
        router: Linear,
        /// All experts.
        experts: Vec<GatedFeedForward>,
        /// How they are chosen and weighed.
        routing: Routing,
    },
}

/// An expert for all tokens, beside those that the router chooses.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SharedExpert {
    /// The network.
    pub network: GatedFeedForward,
    /// Norm of the residual stream, whose result is the input; if `None`, the network reads the
    /// block's input.
    pub norm: Option<Norm>,
    /// Norm of the output.
    pub post_norm: Option<Norm>,
    /// Projection to one value, whose sigmoid is the factor of the network's output.
    pub gate: Option<Linear>,
}

impl SharedExpert {
    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        self.network.linears().chain(&self.gate)
    }
}

/// The gate of a feed-forward block's output: the sigmoid of a projection of the normalized input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedForwardGate {
    /// Factors of the difference to the previous token's normalized input that is added to the
    /// input.
    pub token_shift: Vector,
    /// The projection.
    pub projection: Linear,
    /// Factor of the residual stream after the output is added.
    pub factor: f32,
}

/// A feed-forward block, from its norm to the value added to the residual stream.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeedForward {
    /// Norm of the input.
    pub norm: Option<Norm>,
    /// The network.
    pub kind: FeedForwardKind,
    /// Activation of the gate.
    pub activation: Activation,
    /// Sparse activation of a dense network: applies the activation to `max(g - m - c * s, 0)`,
    /// where `g` is the gate, `m` the mean of its values, `s` their sample standard deviation and
    /// `c` this number.
    pub sparsity: Option<f32>,
    /// Factors of the difference to the previous token's normalized input that is added to the
    /// input. Only beside [`TimeMix`](super::TimeMix) and
    /// [`DynamicTimeMix`](super::DynamicTimeMix), in whose state that input is.
    pub token_shift: Option<Vector>,
    /// Gate of the output. Only with a token shift.
    pub output_gate: Option<FeedForwardGate>,
    /// Norm of the experts' sum, before the output of the shared expert is added.
    pub experts_norm: Option<Norm>,
    /// Shared expert, whose output is added to that of the network.
    pub shared: Option<SharedExpert>,
    /// Norm of the output, before it is added to the residual stream.
    pub post_norm: Option<Norm>,
}

impl FeedForward {
    /// Whether it is a mixture of experts.
    pub fn has_experts(&self) -> bool {
        matches!(self.kind, FeedForwardKind::Experts { .. })
    }

    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let (router, networks) = match &self.kind {
            FeedForwardKind::Dense(network) => (None, std::slice::from_ref(network)),
            FeedForwardKind::Experts { router, experts, .. } => (Some(router), experts.as_slice()),
        };
        let shared = self.shared.iter().flat_map(SharedExpert::linears);
        let gate = self.output_gate.iter().map(|gate| &gate.projection);
        router.into_iter().chain(networks.iter().flat_map(GatedFeedForward::linears)).chain(shared).chain(gate)
    }

    /// All vectors but the biases of projections.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let bias = match &self.kind {
            FeedForwardKind::Dense(_) => None,
            FeedForwardKind::Experts { routing, .. } => routing.bias.as_ref(),
        };
        let gate = self.output_gate.iter().map(|gate| &gate.token_shift);
        self.norms().flat_map(Norm::vectors).chain(bias).chain(&self.token_shift).chain(gate)
    }

    /// All norms.
    pub fn norms(&self) -> impl Iterator<Item = &Norm> {
        let router = match &self.kind {
            FeedForwardKind::Dense(_) => None,
            FeedForwardKind::Experts { routing, .. } => routing.norm.as_ref(),
        };
        let shared = self.shared.iter().flat_map(|shared| shared.norm.iter().chain(&shared.post_norm));
        self.norm.iter().chain(router).chain(shared).chain(&self.experts_norm).chain(&self.post_norm)
    }
}
