//! Multi-head latent attention (MLA).

use super::{Linear, Norm};

/// Multi-head latent attention: all keys and values of a token are projections of one latent vector.
///
/// It is computed in its absorbed form, which is attention with a single KV head. The key of a token
/// is a part with position embedding, then the latent; its value is the latent. Each query head is
/// multiplied with the projection from the latent to its keys, each head's output with that to its
/// values:
///
/// ```text
/// query of a head = [rotated part, keys[head] * other part]
/// output of a head = values[head] * attended latents
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Latent {
    /// Projection of the input that the query projection reads; `None` if it reads the input.
    pub low_rank: Option<LowRankQuery>,
    /// Norm of the latent.
    pub norm: Norm,
    /// Per query head, the projection of the part of a query without position embedding to the
    /// latent.
    pub keys: Vec<Linear>,
    /// Whether the matrices of `keys` are the other way round: from the latent to that part. Their
    /// transposes are the projections.
    pub transposed_keys: bool,
    /// Per query head, the projection of the latent to the output of the head.
    pub values: Vec<Linear>,
    /// Length of a projected query head: the part without position embedding, then the rotated one.
    pub query_length: usize,
    /// Length of the output of a head.
    pub output_length: usize,
}

/// A projection of the input of attention to a shorter vector, from which queries are computed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LowRankQuery {
    /// The projection.
    pub projection: Linear,
    /// Norm of its result.
    pub norm: Norm,
}

impl Latent {
    /// The projections of each head.
    pub fn heads(&self) -> impl Iterator<Item = &Linear> {
        self.keys.iter().chain(&self.values)
    }

    /// All norms.
    pub fn norms(&self) -> impl Iterator<Item = &Norm> {
        self.low_rank.iter().map(|query| &query.norm).chain([&self.norm])
    }
}
