//! Time mixing of RWKV 6.

use super::{Linear, LowRankVector, Norm, Vector};

/// Time mixing of RWKV 6, from its norm to the value added to the residual stream.
///
/// With the normalized input `x` and that of the previous token, `p`, a first input is
/// `x + (p - x) * shift`. From it, each of `shifts` computes, with tanh between two projections,
/// the factor of `p - x` in the input of another projection. Each head has a matrix `S` of
/// `length` x `length` as its state, zero at the start. A token has a receptance `r`, a decay `w`,
/// a key `k` and a value `v`:
///
/// ```text
/// w = exp(-exp(decay))
/// read = S r + ((r * bonus) · k) * v
/// S = S diag(w) + v kᵀ
/// output = group_norm(read) * silu(gate)
/// ```
///
/// Without a bonus, `k` is multiplied by `1 - w`, and `read` is the product of the updated state
/// and `r`, divided by the square root of `length`. There is no norm, and the activation of the
/// gate is a sigmoid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DynamicTimeMix {
    /// Norm of the input.
    pub norm: Norm,
    /// Factors of the difference to the previous token in the first input.
    pub shift: Vector,
    /// Factors of the difference in the inputs of decay, key, value, receptance and gate.
    pub shifts: Vec<LowRankVector>,
    /// Projection to the receptance.
    pub receptance: Linear,
    /// Decay; the activation between its projections is tanh.
    pub decay: LowRankVector,
    /// Projection to the key.
    pub key: Linear,
    /// Projection to the value.
    pub value: Linear,
    /// Projection to the gate.
    pub gate: Linear,
    /// Factors of `r` in the weight with which a token reads its own value.
    pub bonus: Option<Vector>,
    /// Layer norm of each head of the output, with weights and biases for all heads.
    pub output_norm: Option<Norm>,
    /// Output projection to the embedding length.
    pub output: Linear,
    /// Heads.
    pub heads: usize,
    /// Heads of keys and values, which consecutive heads share.
    pub kv_heads: usize,
    /// Length of a head.
    pub length: usize,
    /// Token shifts of the layer: its own, and that of feed-forward if it has one.
    pub token_shifts: usize,
}

impl DynamicTimeMix {
    fn low_rank(&self) -> impl Iterator<Item = &LowRankVector> {
        self.shifts.iter().chain([&self.decay])
    }

    /// All projections.
    pub fn linears(&self) -> impl Iterator<Item = &Linear> {
        let own = [&self.receptance, &self.key, &self.value, &self.gate, &self.output].into_iter();
        own.chain(self.low_rank().flat_map(|vector| [&vector.down, &vector.up]))
    }

    /// All vectors but the biases of projections.
    pub fn vectors(&self) -> impl Iterator<Item = &Vector> {
        let norms = self.norm.vectors().chain(self.output_norm.iter().flat_map(Norm::vectors));
        norms.chain([&self.shift]).chain(&self.bonus).chain(self.low_rank().map(|vector| &vector.bias))
    }

    /// Values of all heads.
    pub fn values(&self) -> usize {
        self.heads * self.length
    }
}
