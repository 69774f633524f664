//! Time mixing of RWKV.

use super::{Linear, Norm, Vector};

/// Time mixing (RWKV 7), from its norm to the value added to the residual stream.
///
/// With the normalized input `x` and that of the previous token, `p`, every projection reads
/// `x + (p - x) * shift` with factors of its own. Each head has a matrix `S` of `length` x `length`
/// as its state, zero at the start. A token has a receptance `r`, a decay `w`, a key `k`, a value `v`
/// and a rate `a` per element:
///
/// ```text
/// w = exp(-sigmoid(decay) / √e)
/// a = sigmoid(rate)
/// v = v + (v of the first layer - v) * sigmoid(value_mix)
/// n = normalized(k * key_scale)
/// k = k + (a - 1) * k * key_rate
/// S = S diag(w) - (S n)(n * a)ᵀ + v kᵀ
/// output = (group_norm(S r) + ((r * bonus) · k) * v) * gate
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TimeMix {
    /// Norm of the input.
    pub norm: Norm,
    /// Factors of the difference to the previous token in the inputs of receptance, decay, key,
    /// value, rate and gate. Without a gate the last may be missing.
    pub shifts: Vec<Vector>,
    /// Projection to the receptance.
    pub receptance: Linear,
    /// Decay; the activation between its projections is tanh.
    pub decay: LowRankVector,
    /// Projection to the key.
    pub key: Linear,
    /// Projection to the value.
    pub value: Linear,
    /// How much of the first layer's value replaces the value; without effect in the first layer.
    pub value_mix: LowRankVector,
    /// Rate.
    pub rate: LowRankVector,
    /// Projections of the gate of the output, with a sigmoid between them.
    pub gate: Option<[Linear; 2]>,
    /// Factors of the key before it is normalized.
    pub key_scale: Vector,
    /// Factors of the rate in the key.
    pub key_rate: Vector,
    /// Factors of the receptance in the weight of the value itself.
    pub bonus: Vector,
    /// Layer norm of each head of the output, with weights and biases for all heads.
    pub output_norm: Option<Norm>,
    /// Output projection to the embedding length.
    pub output: Linear,
    /// Heads.
    pub heads: usize,
    /// Length of a head.
    pub length: usize,
    /// Token shifts of the layer: its own, and that of feed-forward if it has one.
    pub token_shifts: usize,
}

/// A vector that depends on a token by two projections, with few values between them, and a bias.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LowRankVector {
    /// Projection to few values.
    pub down: Linear,
    /// Projection to the vector.
    pub up: Linear,
    /// Added to the vector.
    pub bias: Vector,
}

impl TimeMix {
    fn low_rank(&self) -> impl Iterator<Item = &LowRankVector> {
        [&self.decay, &self.rate, &self.value_mix].into_iter()
    }

    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let own =
            [&self.receptance, &self.key, &self.value, &self.output].into_iter().chain(self.gate.iter().flatten());
        own.chain(self.low_rank().flat_map(|vector| [&vector.down, &vector.up]))
    }

    /// All vectors but the biases of projections.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let factors = [&self.key_scale, &self.key_rate, &self.bonus].into_iter().chain(&self.shifts);
        let norms = self.norm.vectors().chain(self.output_norm.iter().flat_map(Norm::vectors));
        norms.chain(factors).chain(self.low_rank().map(|vector| &vector.bias))
    }

    /// Values of all heads.
    pub fn values(&self) -> usize {
        self.heads * self.length
    }
}
